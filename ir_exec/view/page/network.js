// Models for traversal by the page: layers by key, their neighbours, and groups of layers by name components.

const LONGEST_GROUPS = 12;
const LEAST_GROUP = 4; // layers without constants; fewer are shown without a group
const LEAST_NODE = 2; // layers that one node of another format was converted to
const MOST_GROUP = 0.6; // maximum share of a graph
const GENERATED = /^[^/.]*_\d+$/; // `Multiply_5495`, the name of a layer that a transformation made

export class Layer {
  constructor(view, network, around, body) {
    this.view = view;
    this.network = network;
    this.around = around; // the layer whose body contains this layer
    this.body = body;
    this.key = view.key;
    this.inputs = [];
    this.readers = [];
    this.findings = [];
    this.groups = []; // one for each body
    this.group = null;
    // Names of some exporters lack the path of the module.
    const path = view.code?.module && !view.name.includes(view.code.module) ? `${view.code.module}/${view.name}` : view.name;
    this.parts = path.split(/[/.]/).filter((part) => part !== "").slice(0, LONGEST_GROUPS);
  }

  get id() {
    return this.key.slice(this.key.lastIndexOf("/") + 1);
  }

  get tail() {
    if (this.view.port) return this.view.port;
    const [last, before] = [this.parts.at(-1), this.parts.at(-2)];
    // `tok.11` is not shortened to 11.
    return last && /^\d+$/.test(last) && before ? `${before}.${last}` : last ?? this.view.name;
  }

  get isConstant() {
    return Boolean(this.view.constant);
  }

  get outputs() {
    return this.view.outputs ?? [];
  }

  get type() {
    const first = this.outputs[0] ?? (this.view.inputs ?? [])[0];
    return first ? first.inferred ?? first.declared : "";
  }

  get severity() {
    for (const kind of ["error", "warning", "info"]) if (this.findings.some((one) => one.severity === kind)) return kind;
    return null;
  }
}

export class Group {
  constructor(key, name, parent) {
    this.key = key;
    this.name = name;
    this.parent = parent; // a Group, or the Layer whose body this is
    this.children = [];
    this.isOpen = false;
    this.isBody = false;
    this.node = null; // the full name of the converted node: `conv` for the layers `conv` and `conv/WithoutBiases`
  }

  *layers() {
    for (const child of this.children) {
      if (child instanceof Group) yield* child.layers();
      else yield child;
    }
  }
}

export class Network {
  constructor(view, index) {
    this.view = view;
    this.index = index;
    this.layers = new Map();
    this.root = this.#read(view.graph, null, "");
    this.root.isOpen = true;
    for (const finding of view.findings ?? []) this.layers.get(finding.layer)?.findings.push(finding);
  }

  // The group of a whole graph; the bodies of a layer are groups of this layer.
  #read(graph, around, body) {
    const layers = (graph.layers ?? []).map((view) => new Layer(view, this, around, body));
    layers.forEach((layer, order) => {
      layer.order = order;
      layer.siblings = layers;
      this.layers.set(layer.key, layer);
      for (const [position, input] of (layer.view.inputs ?? []).entries()) {
        const from = input.layer === undefined || input.layer === null ? null : layers[input.layer];
        layer.inputs.push({ from, port: input.port ?? 0, view: input });
        from?.readers.push({ to: layer, port: input.port ?? 0, position });
      }
      for (const held of layer.view.bodies ?? []) {
        const group = this.#read(held.graph, layer, held.name);
        group.isBody = true;
        layer.groups.push(group);
      }
    });
    return grouped(layers, around ? `${around.key}/${body}` : "", around, body);
  }

  *allGroups(group = this.root) {
    for (const child of group.children) {
      if (child instanceof Group) {
        yield child;
        yield* this.allGroups(child);
      } else {
        for (const body of child.groups) {
          yield body;
          yield* this.allGroups(body);
        }
      }
    }
  }

  // Expands groups, outer groups first, as long as at most `most` items are visible.
  openUpTo(most) {
    const shown = (group) => group.children.filter((child) => child instanceof Group || !child.isConstant).length;
    let count = shown(this.root);
    let level = [this.root];
    while (level.length) {
      const next = level.flatMap((group) => group.children.filter((child) => child instanceof Group));
      next.sort((a, b) => shown(a) - shown(b));
      for (const group of next) {
        group.isOpen = count + shown(group) - 1 <= most;
        if (group.isOpen) count += shown(group) - 1;
      }
      level = next.filter((group) => group.isOpen);
    }
  }

  // Expands all groups that contain a layer, to make it visible.
  reveal(layer) {
    let changed = false;
    for (let group = layer.group; group; group = group instanceof Group ? group.parent : group.group) {
      if (group instanceof Group && !group.isOpen) changed = group.isOpen = true;
    }
    return changed;
  }
}

function grouped(layers, key, parent, name) {
  const root = new Group(`${key}/`, name, parent);
  const trie = emptyPlace();
  const pathOf = new Map(); // the places that contain a layer, outer places first
  for (const layer of layers) {
    let held = trie;
    const path = [trie];
    // The Result `conv/sink_port_0` is not one of the layers that the node `conv` was converted to.
    const isSink = layer.view.type === "Result" && layer.parts.at(-1)?.startsWith("sink_port_");
    for (const part of layer.parts.slice(0, isSink ? -2 : -1)) {
      // `aten::add` is an operation of PyTorch that many layers of a module derive from.
      if (part.includes("::")) break;
      if (!held.groups.has(part)) held.groups.set(part, emptyPlace());
      held = held.groups.get(part);
      path.push(held);
    }
    held.layers.push(layer);
    pathOf.set(layer, path);
  }
  joinNeighbours(layers, pathOf);
  takeHeads(trie);
  add(trie, root, key);
  // A group of nearly all layers is not informative.
  const total = count(trie);
  for (;;) {
    const whole = root.children.find((child) => child instanceof Group && !child.node && seenIn(child) >= MOST_GROUP * total);
    if (!whole) return root;
    root.children = root.children.flatMap((child) => (child === whole ? whole.children : [child]));
    for (const child of whole.children) setParent(child, root);
  }
}

function emptyPlace() {
  return { groups: new Map(), layers: [], node: null };
}

// Moves a layer into the group that contains all of its neighbours. A convolution that OpenVINO renamed joins the module
// around its reader, the normalization: its input may be in another module.
function joinNeighbours(layers, pathOf) {
  const moves = [];
  for (const layer of layers) {
    const own = pathOf.get(layer);
    if (layer.isConstant || /^(parameter|result)$/i.test(layer.view.type)) continue;
    const isRenamed = (one) => pathOf.get(one).length === own.length && GENERATED.test(one.view.name);
    const paths = (ends) => ends.filter((one) => one && !one.isConstant && !isRenamed(one)).map((one) => pathOf.get(one));
    const readers = paths(layer.readers.map((reader) => reader.to));
    let joined = commonPath([...paths(layer.inputs.map((input) => input.from)), ...readers]);
    if (isRenamed(layer)) {
      const around = commonPath(readers).slice(0, -1);
      if (around.length > joined.length) joined = around;
    }
    if (joined.length > own.length && joined[own.length - 1] === own.at(-1)) moves.push([layer, own.at(-1), joined.at(-1)]);
  }
  for (const [layer, from, to] of moves) {
    from.layers.splice(from.layers.indexOf(layer), 1);
    to.layers.push(layer);
  }
}

// The places that all paths have in common, outer places first.
function commonPath(paths) {
  if (!paths.length) return [];
  return paths.reduce((a, b) => a.slice(0, a.findIndex((place, depth) => place !== b[depth]) >>> 0));
}

// A layer with the name of a group is its last layer: the node `conv` was converted to `conv/WithoutBiases` and `conv`.
function takeHeads(held) {
  held.layers = held.layers.filter((layer) => {
    const inner = held.groups.get(layer.parts.at(-1));
    const isHead = inner && !layer.isConstant && !layer.view.name.includes("::");
    if (isHead) {
      inner.layers.push(layer);
      inner.node ??= layer.view.name;
    }
    return !isHead;
  });
  for (const inner of held.groups.values()) takeHeads(inner);
}

function add(place, group, path) {
  for (const layer of place.layers) {
    layer.group = group;
    group.children.push(layer);
  }
  for (const [name, inner] of place.groups) {
    let [title, held] = [name, inner];
    // A group whose only child is a group is merged with it.
    while (!held.layers.length && held.groups.size === 1) {
      const [[next, only]] = held.groups;
      [title, held] = [`${title}/${next}`, only];
    }
    if (count(held) < (held.node ? LEAST_NODE : LEAST_GROUP)) {
      add(held, group, `${path}/${title}`);
      continue;
    }
    const made = new Group(`${path}/${title}/`, title, group);
    made.node = held.node;
    add(held, made, `${path}/${title}`);
    group.children.push(made);
  }
}

function setParent(child, group) {
  if (child instanceof Group) child.parent = group;
  else child.group = group;
}

function seenIn(group) {
  return [...group.layers()].filter((layer) => !layer.isConstant).length;
}

// The number of visible layers in a group.
function count(place) {
  let found = place.layers.filter((layer) => !layer.isConstant).length;
  for (const inner of place.groups.values()) found += count(inner);
  return found;
}
