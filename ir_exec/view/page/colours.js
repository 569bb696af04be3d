// The colours of layers. Each way of colouring returns the colour of a layer, or null without information.

import { bytes, number, percent, seconds } from "./dom.js";

const KINDS = [
  ["ends", "input, output", /^(parameter|result|input|output)$/i],
  ["matrix", "matrix product, convolution", /(convolution|matmul|gemm|lstm|gru|rnn|attention|einsum|fullyconnected|embeddingbag|^conv(?!ert))/i],
  ["control", "body, state", /^(if|loop|tensoriterator|assign|readvalue|scan)$/i],
  ["norm", "normalisation, reduction, pooling", /(norm|mvn|reduce|pool|softmax|lrn|cumsum)/i],
  ["activation", "activation", /(relu|gelu|swish|mish|elu|sigmoid|tanh|clamp|hswish|softplus|softsign|erf$|^exp$)/i],
  ["quantise", "conversion, quantisation", /(convert|quantize|quantise|cast)/i],
  ["shape", "shape, movement", /(reshape|squeeze|transpose|concat|split|slice|gather|scatter|shapeof|broadcast|tile|pad|shuffle|reverse|roll|interpolate|select|range|flatten|expand)/i],
  ["constant", "constant", /^const/i],
];

const ELEMENTS = { f: "matrix", b: "quantise", i: "shape", u: "activation", s: "control", n: "norm" };

const STATUS = { wrong: "error", failed: "error", carried: "warning", step: "info", reference: "info", close: "good", equal: "good" };

const CHANGES = { added: "good", removed: "error", changed: "warning", consequence: "info" };

export function kindOf(type) {
  return (KINDS.find(([, , test]) => test.test(type)) ?? ["plain"])[0];
}

function elementOf(layer) {
  return layer.type.replace(/\[.*|\?.*/s, "").trim();
}

// Steps of a scale from least to greatest: `heat-0` to `heat-6`.
function heat(share) {
  return `heat-${Math.max(0, Math.min(6, Math.round(6 * share)))}`;
}

function scaled(read) {
  return (network) => {
    let most = 0;
    for (const layer of network.layers.values()) most = Math.max(most, read(layer) ?? 0);
    return (layer) => {
      const found = read(layer);
      return found === null || found === undefined || !most ? null : heat(Math.sqrt(found / most));
    };
  };
}

const timeOf = (layer) => layer.view.time?.seconds ?? null;
const memoryOf = (layer) => layer.view.time?.bytes ?? null;

function oddOf(layer) {
  const values = layer.outputs.map((output) => output.values).filter((one) => one);
  if (!values.length) return null;
  const share = (name) => Math.max(...values.map((one) => (one.elements ? (one[name] ?? 0) / one.elements : 0)));
  return { bad: share("nans") + share("infinities"), zeros: share("zeros"), saturated: share("saturated") };
}

const heatLegend = (least, most) => [["heat-0", least], ["heat-3", ""], ["heat-6", most]];

export const WAYS = {
  kind: {
    title: "Layer kind",
    applies: () => true,
    prepare: () => (layer) => kindOf(layer.view.type),
    legend: (layers) => {
      const seen = new Set(layers.map((layer) => kindOf(layer.view.type)));
      return KINDS.filter(([name]) => seen.has(name)).map(([name, title]) => [name, title]);
    },
    text: () => "",
  },
  "element type": {
    title: "Element type",
    applies: () => true,
    prepare: () => (layer) => ELEMENTS[elementOf(layer)[0]] ?? "plain",
    legend: () => [["matrix", "float"], ["quantise", "bfloat, boolean"], ["shape", "signed integer"], ["activation", "unsigned integer"], ["control", "string"]],
    text: elementOf,
  },
  error: {
    title: "Error (compare)",
    applies: (layers) => layers.some((layer) => layer.view.error),
    prepare: () => (layer) => (layer.view.error ? STATUS[layer.view.error.status] ?? "plain" : null),
    legend: () => [["error", "wrong by itself"], ["warning", "carried from earlier layers"], ["info", "at a discontinuity, or the reference is inconsistent"], ["good", "equal or close"]],
    text: (layer) => {
      const error = layer.view.error;
      // The error of a layer that is right by itself is its carried error.
      const found = error?.status === "wrong" ? error.own : error?.carried ?? error?.own;
      return error ? `${error.status}${found ? ` ${number(found.max_abs ?? 0)}` : ""}` : "";
    },
  },
  time: {
    title: "Time (profile)",
    applies: (layers) => layers.some((layer) => timeOf(layer) !== null),
    prepare: scaled(timeOf),
    legend: () => heatLegend("short", "long"),
    text: (layer) => (timeOf(layer) === null ? "" : seconds(timeOf(layer))),
  },
  memory: {
    title: "Memory (profile)",
    applies: (layers) => layers.some((layer) => memoryOf(layer) !== null),
    prepare: scaled(memoryOf),
    legend: () => heatLegend("small", "large"),
    text: (layer) => (memoryOf(layer) === null ? "" : bytes(memoryOf(layer))),
  },
  values: {
    title: "Values (run)",
    applies: (layers) => layers.some((layer) => layer.outputs.some((output) => output.values)),
    prepare: () => (layer) => {
      const odd = oddOf(layer);
      if (!odd) return null;
      if (odd.bad) return "error";
      if (odd.saturated > 0.01) return "warning";
      return heat(odd.zeros);
    },
    legend: () => [["error", "NaN, infinite"], ["warning", "saturated"], ["heat-0", "no zeros"], ["heat-6", "zeros only"]],
    text: (layer) => {
      const odd = oddOf(layer);
      if (!odd) return "";
      if (odd.bad) return `${percent(odd.bad)} NaN, inf`;
      return odd.saturated > 0.01 ? `${percent(odd.saturated)} saturated` : `${percent(odd.zeros)} zeros`;
    },
  },
  change: {
    title: "Changes (diff)",
    applies: (layers) => layers.some((layer) => layer.view.change),
    prepare: () => (layer) => (layer.view.change ? CHANGES[layer.view.change.kind] : null),
    legend: () => [["good", "added"], ["error", "removed"], ["warning", "changed"], ["info", "types changed as a consequence"]],
    text: (layer) => layer.view.change?.kind ?? "",
  },
};

// The colour of a collapsed group: that of its worst or hottest layer.
export function colourOfGroup(group, colourOf) {
  const counts = new Map();
  for (const layer of group.layers()) {
    const colour = colourOf(layer);
    if (colour && !layer.isConstant) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  for (const loud of ["error", "warning"]) if (counts.has(loud)) return loud;
  const hottest = [...counts.keys()].filter((name) => name.startsWith("heat-")).sort().at(-1);
  if (hottest) return hottest;
  for (const mild of ["info", "good"]) if (counts.has(mild)) return mild;
  return null;
}
