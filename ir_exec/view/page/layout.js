// The layout of a graph, from top to bottom.
//
// Each expanded group is laid out separately and is then one box in the enclosing group. Within a group, layers on every
// path divide the graph into blocks that are laid out one below the other: dagre, whose time grows with the square of
// the size, only gets small graphs, and repeated blocks are laid out once. Edges across many ranks are drawn, but do not
// affect the layout.

import { Group } from "./network.js";

const GAP = { node: 22, rank: 34, inside: 16, title: 30 };
const FAR = 12; // ranks
const SMALL = 40; // items of a group without far edges
const WIDE = 4; // links of one item; links across more ranks are far even in a small group
const MOST_FOR_DAGRE = 120;

const known = new Map(); // cached layouts of blocks

// The visible boxes of layers and groups, and the edges between them. `size` measures an item.
export function place(network, size, withConstants) {
  const boxes = new Map();
  const edges = [];
  const whole = placeGroup(network.root, { size, withConstants, boxes, edges });
  shift(whole, 0, 0, boxes);
  return { boxes: [...boxes.values()], byItem: boxes, edges: routed(edges, boxes), width: whole.w, height: whole.h };
}

function isSeen(child, withConstants) {
  if (withConstants) return true;
  if (!(child instanceof Group)) return !child.isConstant;
  return child.children.some((inner) => isSeen(inner, false));
}

function placeGroup(group, around) {
  const box = { item: group, inner: [], routes: [], open: true };
  const children = group.children.filter((child) => isSeen(child, around.withConstants));
  const boxes = children.map((child) => placeItem(child, around));
  const holder = new Map();
  children.forEach((child, index) => {
    for (const layer of layersOf(child)) holder.set(layer, index);
  });
  const pairs = new Map();
  for (const [layer, index] of holder) {
    for (const { from } of layer.inputs) {
      if (!from || (!around.withConstants && from.isConstant)) continue;
      const source = holder.get(from);
      if (source === undefined || source === index) continue;
      const pair = source * children.length + index;
      if (!pairs.has(pair)) pairs.set(pair, { from: source, to: index, ends: [] });
      pairs.get(pair).ends.push([from, layer]);
    }
  }
  const order = children.map((child) => firstOf(child));
  const links = [...pairs.values()];
  if (group.parent instanceof Group) links.push(...detours(holder, links));
  const { width, height } = placeLevel(boxes, order, links);
  const top = group.parent ? GAP.title : 0;
  const margin = group.parent ? GAP.inside : 0;
  for (const inner of boxes) {
    inner.x += margin;
    inner.y += margin + top;
  }
  for (const link of links) {
    for (const point of link.points ?? []) {
      point.x += margin;
      point.y += margin + top;
    }
    if (!link.ends) continue;
    const route = { points: link.points ?? [] };
    box.routes.push(route);
    around.edges.push({ ...link, route });
  }
  box.inner = boxes;
  box.w = Math.max(width + 2 * margin, group.parent ? around.size(group).w + 8 : 0);
  box.h = height + 2 * margin + top;
  around.boxes.set(group, box);
  return box;
}

// Invisible links to items that depend on other items of the group only through layers outside the group.
function detours(holder, links) {
  const fed = new Set(links.map((link) => link.to));
  const last = new Map(); // for layers outside, the last item of the group upstream
  const found = [];
  const layers = [...holder.keys()];
  const first = layers.reduce((least, layer) => Math.min(least, layer.order), Infinity);
  const bound = layers.reduce((most, layer) => Math.max(most, layer.order), 0);
  for (const layer of layers[0]?.siblings.slice(first, bound + 1) ?? []) {
    let before = null;
    for (const { from } of layer.inputs) {
      const source = from && (holder.has(from) ? from : last.get(from));
      if (source && (!before || source.order > before.order)) before = source;
    }
    if (!before) continue;
    if (!holder.has(layer)) last.set(layer, before);
    else {
      const [from, to] = [holder.get(before), holder.get(layer)];
      if (from !== to && !fed.has(to)) {
        fed.add(to);
        found.push({ from, to });
      }
    }
  }
  return found;
}

function placeItem(item, around) {
  if (item instanceof Group) {
    if (item.isOpen) return placeGroup(item, around);
    const box = { item, ...around.size(item), open: false, inner: [], routes: [] };
    around.boxes.set(item, box);
    return box;
  }
  const bodies = item.groups.filter((group) => group.isOpen).map((group) => placeGroup(group, around));
  const own = around.size(item);
  const box = { item, ...own, open: bodies.length > 0, inner: bodies, routes: [], head: own.h };
  let x = GAP.inside;
  for (const body of bodies) {
    [body.x, body.y] = [x, own.h + 4];
    x += body.w + GAP.inside;
    box.h = Math.max(box.h, own.h + body.h + GAP.inside);
  }
  if (bodies.length) box.w = Math.max(box.w, x);
  around.boxes.set(item, box);
  return box;
}

function* layersOf(item) {
  if (item instanceof Group) yield* item.layers();
  else yield item;
}

function firstOf(item) {
  let first = Infinity;
  for (const layer of layersOf(item)) first = Math.min(first, layer.order);
  return first;
}

function shift(box, x, y, boxes) {
  box.x = (box.x ?? 0) + x;
  box.y = (box.y ?? 0) + y;
  for (const route of box.routes) {
    for (const point of route.points) {
      point.x += box.x;
      point.y += box.y;
    }
  }
  for (const inner of box.inner) shift(inner, box.x, box.y, boxes);
}

// Sets the place of each box of one level, and the points of each link between its ends.
function placeLevel(boxes, order, links) {
  if (!boxes.length) return { width: 0, height: 0 };
  const sorted = boxes.map((_, index) => index).sort((a, b) => order[a] - order[b]);
  const position = new Array(boxes.length);
  sorted.forEach((index, place) => (position[index] = place));
  const forward = links.filter((link) => position[link.from] < position[link.to]);
  const rank = ranks(sorted, forward, boxes.length);
  const fan = adjacency(forward, boxes.length, "from").map((out) => out.length);
  const limit = (link) => (boxes.length > SMALL ? FAR : fan[link.from] > WIDE ? WIDE : Infinity);
  const near = forward.filter((link) => rank[link.to] - rank[link.from] <= limit(link));
  const sequence = [...sorted].sort((a, b) => rank[a] - rank[b] || position[a] - position[b]);
  shelve(boxes, components(sequence, near), near);
  let [left, right, bottom] = [Infinity, -Infinity, 0];
  for (const box of boxes) {
    left = Math.min(left, box.x);
    right = Math.max(right, box.x + box.w);
    bottom = Math.max(bottom, box.y + box.h);
  }
  for (const link of near) {
    for (const point of link.points ?? []) {
      left = Math.min(left, point.x);
      right = Math.max(right, point.x);
    }
  }
  for (const box of boxes) box.x -= left;
  for (const link of near) for (const point of link.points ?? []) point.x -= left;
  return { width: right - left, height: bottom };
}

// The rank of each item. Items without inputs are moved down to just above their first reader.
function ranks(sorted, links, count) {
  const rank = new Array(count).fill(0);
  const out = adjacency(links, count, "from");
  const into = adjacency(links, count, "to");
  for (const index of sorted) for (const link of out[index]) rank[link.to] = Math.max(rank[link.to], rank[index] + 1);
  for (const index of [...sorted].reverse()) {
    if (into[index].length || !out[index].length) continue;
    rank[index] = Math.min(...out[index].map((link) => rank[link.to])) - 1;
  }
  return rank;
}

function adjacency(links, count, end) {
  const found = Array.from({ length: count }, () => []);
  for (const link of links) found[link[end]].push(link);
  return found;
}

// The connected components, in the given order.
function components(sequence, links) {
  const root = new Map(sequence.map((index) => [index, index]));
  const find = (index) => {
    while (root.get(index) !== index) {
      root.set(index, root.get(root.get(index)));
      index = root.get(index);
    }
    return index;
  };
  for (const link of links) root.set(find(link.from), find(link.to));
  const found = new Map();
  for (const index of sequence) {
    const name = find(index);
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(index);
  }
  return [...found.values()];
}

// Arranges components in rows, each at most as wide as the widest component.
function shelve(boxes, parts, links) {
  const partOf = new Map(parts.flatMap((part, number) => part.map((index) => [index, number])));
  const linksOf = parts.map(() => []);
  for (const link of links) linksOf[partOf.get(link.from)].push(link);
  const placed = parts.map((part, number) => {
    stack(boxes, part, linksOf[number]);
    const left = Math.min(...part.map((index) => boxes[index].x));
    const top = Math.min(...part.map((index) => boxes[index].y));
    const right = Math.max(...part.map((index) => boxes[index].x + boxes[index].w));
    const bottom = Math.max(...part.map((index) => boxes[index].y + boxes[index].h));
    return { part, links: linksOf[number], left, top, w: right - left, h: bottom - top };
  });
  const area = placed.reduce((sum, one) => sum + (one.w + GAP.node) * (one.h + GAP.rank), 0);
  const room = Math.max(...placed.map((one) => one.w), 1.2 * Math.sqrt(area));
  let [x, y, height] = [0, 0, 0];
  for (const one of placed) {
    if (x > 0 && x + one.w > room) [x, y, height] = [0, y + height + GAP.rank, 0];
    const [dx, dy] = [x - one.left, y - one.top];
    for (const index of one.part) {
      boxes[index].x += dx;
      boxes[index].y += dy;
    }
    for (const link of one.links) {
      for (const point of link.points ?? []) {
        point.x += dx;
        point.y += dy;
      }
    }
    x += one.w + 2 * GAP.node;
    height = Math.max(height, one.h);
  }
}

// Arranges blocks one below the other; adjacent blocks share the item at which they were divided.
function stack(boxes, sequence, links) {
  const place = new Array(boxes.length);
  sequence.forEach((index, position) => (place[index] = position));
  const crossing = new Int32Array(sequence.length + 1);
  const touching = new Int32Array(sequence.length + 1);
  for (const link of links) {
    const [a, b] = [place[link.from], place[link.to]];
    if (b > a + 1) {
      crossing[a + 1] += 1;
      crossing[b] -= 1;
    }
    touching[a] += 1;
    touching[b] -= 1;
  }
  const held = new Map();
  let [start, open, between, y, shared] = [0, 0, 0, 0, null];
  const blocks = [];
  const close = (end, isCut) => {
    blocks.push({ from: start, to: end, isCut });
    start = isCut ? end : end + 1;
  };
  for (let position = 0; position < sequence.length; position += 1) {
    open += crossing[position];
    between += touching[position];
    const isLast = position === sequence.length - 1;
    if (isLast) close(position, false);
    else if (between === 0) close(position, false);
    else if (open === 0 && position > start) close(position, true);
  }
  for (const link of links) {
    // The block of a link is that of its later end; blocks were completed in order.
    let [low, high] = [0, blocks.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (blocks[middle].to >= place[link.to]) high = middle;
      else low = middle + 1;
    }
    if (!held.has(low)) held.set(low, []);
    held.get(low).push(link);
  }
  blocks.forEach((block, number) => {
    const items = sequence.slice(block.from, block.to + 1);
    const inside = held.get(number) ?? [];
    const found = layOut(items.map((index) => boxes[index]), items, inside, shared !== null, block.isCut);
    const centre = (position) => found.places[position].x + boxes[items[position]].w / 2;
    const at = shared === null ? 0 : boxes[shared].x + boxes[shared].w / 2;
    const dy = shared === null ? y : boxes[shared].y - found.places[0].y;
    // Blocks that drift repeatedly to the same side are mirrored.
    const drift = centre(items.length - 1) - centre(0);
    const side = Math.abs(at - drift) < Math.abs(at + drift) ? -1 : 1;
    const turned = (x) => at + side * (x - centre(0));
    items.forEach((index, position) => {
      if (position === 0 && shared !== null) return;
      boxes[index].x = turned(centre(position)) - boxes[index].w / 2;
      boxes[index].y = found.places[position].y + dy;
    });
    inside.forEach((link, position) => {
      link.points = found.routes[position].map((point) => ({ x: turned(point.x), y: point.y + dy }));
    });
    const lowest = items.reduce((most, index) => Math.max(most, boxes[index].y + boxes[index].h), 0);
    y = Math.max(y, lowest + GAP.rank);
    shared = block.isCut ? sequence[block.to] : null;
  });
}

// The upper left corners of the items of a block, and the bends of its links.
function layOut(boxes, items, links, hasTop, hasBottom) {
  if (boxes.length === 1) return { places: [{ x: 0, y: 0 }], routes: links.map(() => []) };
  const local = new Map(items.map((index, position) => [index, position]));
  const pairs = links.map((link) => [local.get(link.from), local.get(link.to)]);
  const sign = `${hasTop}${hasBottom}|${boxes.map((box) => `${Math.round(box.w)},${Math.round(box.h)}`).join(";")}|${pairs.join(";")}`;
  let found = known.get(sign);
  if (!found) {
    found = boxes.length === 2
      ? chained(boxes, pairs)
      : boxes.length <= MOST_FOR_DAGRE
        ? withDagre(boxes, pairs, hasTop, hasBottom)
        : layered(boxes, pairs);
    known.set(sign, found);
  }
  return found;
}

function chained([above, below], pairs) {
  const y = pairs.length ? above.h + GAP.rank : 0;
  const x = pairs.length ? (above.w - below.w) / 2 : above.w + GAP.node;
  return { places: [{ x: 0, y: 0 }, { x, y }], routes: pairs.map(() => []) };
}

function withDagre(boxes, pairs, hasTop, hasBottom) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ nodesep: GAP.node, ranksep: GAP.rank, ranker: boxes.length > 40 ? "tight-tree" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  boxes.forEach((box, index) => graph.setNode(String(index), { width: box.w, height: box.h }));
  for (const [from, to] of pairs) graph.setEdge(String(from), String(to));
  // The item shared with another block is alone above or below all others.
  const last = boxes.length - 1;
  boxes.forEach((_, index) => {
    if (hasTop && index > 0 && !pairs.some((pair) => pair[1] === index)) graph.setEdge("0", String(index));
    if (hasBottom && index < last && !pairs.some((pair) => pair[0] === index)) graph.setEdge(String(index), String(last));
  });
  dagre.layout(graph);
  const places = boxes.map((box, index) => {
    const node = graph.node(String(index));
    return { x: node.x - box.w / 2, y: node.y - box.h / 2 };
  });
  const routes = pairs.map(([from, to]) => graph.edge(String(from), String(to)).points.slice(1, -1));
  // A single bend is not needed.
  return { places, routes: routes.map((points) => (points.length > 1 ? points : [])) };
}

// A layered layout, ordered by the means of neighbours, for blocks that are too large for dagre.
function layered(boxes, pairs) {
  const count = boxes.length;
  const links = pairs.map(([from, to]) => ({ from, to }));
  const rank = ranks(boxes.map((_, index) => index), links, count);
  const least = Math.min(...rank);
  const rows = [];
  rank.forEach((number, index) => (rows[number - least] ??= []).push(index));
  const levels = rows.filter((row) => row);
  const [into, out] = [adjacency(links, count, "to"), adjacency(links, count, "from")];
  const centre = new Array(count).fill(0);
  for (let sweep = 0; sweep < 10; sweep += 1) {
    const [all, near, end] = sweep % 2 ? [[...levels].reverse(), out, "to"] : [levels, into, "from"];
    for (const row of all) {
      const wanted = new Map(row.map((index) => {
        const ends = near[index].map((link) => centre[link[end]]);
        return [index, ends.length ? ends.reduce((sum, one) => sum + one, 0) / ends.length : centre[index]];
      }));
      row.sort((a, b) => wanted.get(a) - wanted.get(b));
      spread(row, wanted, boxes, centre);
    }
  }
  const places = new Array(count);
  let y = 0;
  for (const row of levels) {
    let height = 0;
    for (const index of row) {
      places[index] = { x: centre[index] - boxes[index].w / 2, y };
      height = Math.max(height, boxes[index].h);
    }
    y += height + GAP.rank;
  }
  return { places, routes: pairs.map(() => []) };
}

// The centres of a row, as close to the wanted positions as the widths allow.
function spread(row, wanted, boxes, centre) {
  const clusters = [];
  for (const index of row) {
    const width = boxes[index].w + GAP.node;
    let cluster = { items: [index], sum: wanted.get(index), width, at: wanted.get(index) };
    while (clusters.length && clusters.at(-1).at + clusters.at(-1).width / 2 > cluster.at - cluster.width / 2) {
      const before = clusters.pop();
      const items = [...before.items, ...cluster.items];
      const joined = { items, sum: before.sum + cluster.sum, width: before.width + cluster.width };
      joined.at = joined.sum / items.length;
      cluster = joined;
    }
    clusters.push(cluster);
  }
  for (const cluster of clusters) {
    let left = cluster.at - cluster.width / 2;
    for (const index of cluster.items) {
      const width = boxes[index].w + GAP.node;
      centre[index] = left + width / 2;
      left += width;
    }
  }
}

// Edges between visible items, one for each pair, from the lower side of one box to the upper side of another.
function routed(edges, boxes) {
  const seen = (layer) => {
    let found = layer;
    for (let group = layer.group; group && group.parent instanceof Group; group = group.parent) {
      if (!group.isOpen) found = group;
    }
    return boxes.get(found);
  };
  const made = new Map();
  for (const edge of edges) {
    for (const [from, to] of edge.ends) {
      const [a, b] = [seen(from), seen(to)];
      if (!a || !b) continue;
      if (!made.has(a)) made.set(a, new Map());
      if (made.get(a).has(b)) continue;
      const start = { x: a.x + a.w / 2, y: a.y + a.h };
      const end = { x: b.x + b.w / 2, y: b.y };
      made.get(a).set(b, { from: a, to: b, points: [start, ...edge.route.points, end] });
    }
  }
  return [...made.values()].flatMap((ends) => [...ends.values()]);
}
