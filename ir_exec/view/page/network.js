// Models for traversal by the page: layers by key, their neighbours, and groups of layers by name components.

const LONGEST_GROUPS = 12;
const LEAST_GROUP = 4; // layers without constants; fewer are shown without a group
const LEAST_NODE = 2; // layers that one node of another format was converted to
const MOST_GROUP = 0.6; // maximum share of a graph

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
    this.parts = view.name.split(/[/.]/).filter((part) => part !== "").slice(0, LONGEST_GROUPS);
  }

  get id() {
    return this.key.slice(this.key.lastIndexOf("/") + 1);
  }

  get tail() {
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
  for (const layer of layers) {
    let held = trie;
    // The Result `conv/sink_port_0` is not one of the layers that the node `conv` was converted to.
    const isSink = layer.view.type === "Result" && layer.parts.at(-1)?.startsWith("sink_port_");
    for (const part of layer.parts.slice(0, isSink ? -2 : -1)) {
      // `aten::add` is an operation of PyTorch that many layers of a module derive from.
      if (part.includes("::")) break;
      if (!held.groups.has(part)) held.groups.set(part, emptyPlace());
      held = held.groups.get(part);
    }
    held.layers.push(layer);
  }
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
