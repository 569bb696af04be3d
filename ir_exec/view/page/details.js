// The details next to the graph: of the whole page, of a group, or of the selected layer.

import { bytes, make, number, percent, seconds, table } from "./dom.js";

const MOST_READERS = 24;
const MOST_FINDINGS = 200;

// A link to a layer, by its address.
export function linkTo(layer, href) {
  const place = layer.around ? `${layer.key} ` : "";
  return make("a", { href: href(layer), class: "layer-link" },
    make("span", { class: "type", text: layer.view.type }), ` ${place}${layer.view.name}`);
}

export function overview(page, networks, href) {
  const parts = [];
  for (const section of page.sections ?? []) {
    parts.push(heading(section.heading), make("pre", { class: "report", text: section.lines.join("\n") }));
  }
  for (const network of networks) {
    const view = network.view;
    const findings = findingsOf(view.findings ?? [], network, href);
    const facts = table(["", ""], (view.facts ?? []).map(([name, text]) => [name, text]), { class: "facts" });
    const about = [heading(networks.length > 1 ? view.title : "Model"), facts];
    const isFaulty = (view.findings ?? []).some((finding) => finding.severity === "error");
    parts.push(...(isFaulty ? [...findings, ...about] : [...about, ...findings]));
    parts.push(...ends(network, href));
  }
  parts.push(make("p", { class: "hint", text: "Click a layer to show its details; double-click a group or a body to expand it." }));
  return parts;
}

function findingsOf(findings, network, href) {
  if (network.view.unchecked) return [];
  if (!findings.length) return [heading("Findings"), make("p", { class: "none", text: "check reports no findings." })];
  const order = ["error", "warning", "info"];
  const sorted = [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  const shown = sorted.slice(0, MOST_FINDINGS).map((finding) => findingBlock(finding, network.layers.get(finding.layer), href));
  if (findings.length > shown.length) shown.push(make("p", { text: `… ${findings.length - shown.length} more` }));
  return [heading(`Findings (${findings.length})`), ...shown];
}

function findingBlock(finding, layer, href) {
  return make("div", { class: `finding ${finding.severity}` },
    make("div", {}, make("b", { text: finding.severity }), ` ${finding.code} `, make("span", { class: "rule", text: finding.rule }),
      finding.line ? make("span", { class: "line", text: ` line ${finding.line}` }) : ""),
    layer ? make("div", {}, linkTo(layer, href)) : "",
    make("div", { class: "message", text: finding.message }),
    finding.hint ? make("div", { class: "hint", text: `hint: ${finding.hint}` }) : "",
    finding.means ? make("details", {}, make("summary", { text: "rule" }), finding.means) : "");
}

function ends(network, href) {
  const layers = [...network.layers.values()].filter((layer) => !layer.around);
  const parts = [];
  for (const [title, type] of [["Inputs", /^parameter$/i], ["Outputs", /^result$/i]]) {
    const found = layers.filter((layer) => type.test(layer.view.type));
    if (!found.length) continue;
    const items = found.slice(0, 40).map((layer) => make("li", {}, make("a", { href: href(layer), text: layer.view.port ?? layer.view.name }), " ", code(layer.type)));
    if (found.length > 40) items.push(make("li", { text: `… ${found.length - 40} more` }));
    parts.push(heading(`${title} (${found.length})`), make("ul", {}, ...items));
  }
  return parts;
}

export function aboutGroup(group, href, toggle) {
  const layers = [...group.layers()];
  const types = new Map();
  for (const layer of layers) types.set(layer.view.type, (types.get(layer.view.type) ?? 0) + 1);
  const rows = [...types].sort((a, b) => b[1] - a[1]).map(([type, count]) => [type, number(count)]);
  const time = layers.reduce((sum, layer) => sum + (layer.view.time?.seconds ?? 0), 0);
  return [
    make("h2", { text: group.node ?? (group.name || "body") }),
    make("p", { text: `${layers.length} layers${time ? `, ${seconds(time)}` : ""}` }),
    make("p", {}, make("button", { text: group.isOpen ? "Collapse" : "Expand", on: { click: () => toggle(group) } })),
    heading("Types"), table(["type", "layers"], rows),
    heading("Layers"), make("ul", {}, ...layers.slice(0, 100).map((layer) => make("li", {}, linkTo(layer, href)))),
    layers.length > 100 ? make("p", { text: `… ${layers.length - 100} more` }) : "",
  ];
}

export function aboutLayer(layer, href, toggle, partners) {
  const view = layer.view;
  const parts = [
    make("h2", {}, make("span", { text: view.type }), " ", make("small", { text: view.opset ?? "" })),
    make("p", { class: "name", text: view.name }),
    view.port && view.port !== view.name ? make("p", { class: "end" }, /^result$/i.test(view.type) ? "output " : "input ", code(view.port)) : "",
    make("p", { class: "place" }, `layer ${layer.key}`, view.line ? `, line ${view.line}` : "", view.constant && !/^const/i.test(view.type) ? ", computed from constants" : "",
      view.unreachable ? make("b", { text: ", unreachable: no Result depends on it" }) : ""),
  ];
  if (layer.around) parts.push(make("p", {}, `in ${layer.body} of `, linkTo(layer.around, href)));
  for (const group of layer.groups) {
    parts.push(make("button", { text: `${group.isOpen ? "Collapse" : "Expand"} ${group.name}`, on: { click: () => toggle(group) } }), " ");
  }
  for (const [title, found] of partners) {
    parts.push(heading(`In ${title}`), make("ul", {}, ...found.map((one) => make("li", {}, linkTo(one, href)))));
  }
  if (layer.findings.length) parts.push(heading("Findings"), ...layer.findings.map((one) => findingBlock(one, null, href)));
  parts.push(...aboutChange(view.change), ...aboutError(view.error), ...aboutTime(view.time));
  parts.push(...aboutCode(view.code), ...aboutAttributes(view), ...aboutInputs(layer, href), ...aboutOutputs(layer, href));
  if (view.source) parts.push(heading("Source"), make("pre", { class: "source", text: view.source }));
  return parts;
}

function aboutCode(source) {
  if (!source) return [];
  const module = [source.module || "the exported module", source.module_class ? ` (${source.module_class})` : ""].join("");
  return [
    heading("Python"),
    make("p", {}, code(module)),
    source.file ? make("p", { class: "place", text: `${source.file}:${source.line} in ${source.function}` }) : "",
    source.code ? make("pre", { class: "source", text: source.code }) : "",
  ];
}

function aboutChange(change) {
  if (!change) return [];
  return [heading(`Change: ${change.kind}`), make("ul", {}, ...(change.lines ?? []).map((text) => make("li", { text })))];
}

const METRICS = { max_abs: "max |error|", mean_abs: "mean |error|", max_rel: "max relative error", rmse: "RMSE", cosine: "cosine", sqnr_db: "SQNR (dB)", max_ulp: "max ULP", beyond_count: "beyond tolerance" };

function aboutError(error) {
  if (!error) return [];
  const sides = [["own", error.own], ["carried", error.carried]].filter(([, found]) => found);
  const cell = (found, name) => number(found[name] ?? (["cosine", "sqnr_db"].includes(name) ? null : 0));
  const rows = Object.entries(METRICS).map(([name, title]) => [title, ...sides.map(([, found]) => cell(found, name))]);
  return [
    heading(`Error: ${error.status}`),
    error.note ? make("p", { text: error.note }) : "",
    sides.length ? table(["", ...sides.map(([name]) => name)], rows) : "",
    ...sides.filter(([, found]) => found.worst).map(([name, found]) =>
      make("p", { class: "worst", text: `${name}, worst at [${found.worst.join(", ")}]: ${number(found.ours)}, reference ${number(found.reference)}` })),
    error.partner ? make("p", { text: `compared with ${error.partner}` }) : "",
  ];
}

function aboutTime(time) {
  if (!time) return [];
  const rows = [["time", seconds(time.seconds)], ["calls", number(time.calls ?? 1)]];
  if (time.bytes !== undefined) rows.push(["peak memory", bytes(time.bytes)]);
  return [heading("Time"), table(["", ""], rows, { class: "facts" }), time.note ? make("p", { text: time.note }) : ""];
}

function aboutAttributes(view) {
  const rows = Object.entries(view.attributes ?? {}).map(([name, text]) => [name, code(text)]);
  return rows.length ? [heading("Attributes"), table(["", ""], rows, { class: "facts" })] : [];
}

function aboutInputs(layer, href) {
  if (!layer.inputs.length) return [];
  return [heading("Inputs"), ...layer.inputs.map((input, position) => {
    const known = input.from?.outputs[input.port]?.known;
    return make("div", { class: "port" },
      make("div", {}, make("b", { text: input.view.name || String(position) }), " ", code(input.view.declared ?? "")),
      input.from ? make("div", {}, "from ", linkTo(input.from, href), input.from.outputs.length > 1 ? ` output ${input.port}` : "") : make("div", { class: "bad", text: "no edge" }),
      known ? make("div", { class: "known" }, "value ", code(known)) : "");
  })];
}

function aboutOutputs(layer, href) {
  if (!layer.outputs.length) return [];
  return [heading("Outputs"), ...layer.outputs.map((output, position) => {
    const readers = layer.readers.filter((reader) => reader.port === position);
    const differs = output.inferred && output.declared && output.inferred !== output.declared;
    return make("div", { class: "port" },
      make("div", {}, layer.outputs.length > 1 ? make("b", { text: `${position} ` }) : "", "declared ", code(output.declared ?? "")),
      make("div", { class: differs ? "differs" : "" }, "inferred ", output.inferred ? code(output.inferred) : "no type"),
      output.names?.length ? make("div", {}, "tensor ", ...output.names.flatMap((name) => [code(name), " "])) : "",
      output.known ? make("div", { class: "known" }, "value ", code(output.known)) : "",
      ...aboutValues(output.values),
      make("div", {}, readers.length ? "read by" : "no readers"),
      make("ul", {}, ...readers.slice(0, MOST_READERS).map((reader) => make("li", {}, linkTo(reader.to, href)))),
      readers.length > MOST_READERS ? make("p", { text: `… ${readers.length - MOST_READERS} more` }) : "");
  })];
}

function aboutValues(values) {
  if (!values) return [];
  const rows = [["min", number(values.min)], ["max", number(values.max)], ["mean", number(values.mean)], ["std", number(values.std)]];
  for (const name of ["zeros", "nans", "infinities", "saturated"]) {
    if (values[name]) rows.push([name, `${number(values[name])} (${percent(values[name] / values.elements)})`]);
  }
  if ((values.runs ?? 1) > 1) rows.push(["runs", `${number(values.runs)}; the last is shown`]);
  return [
    make("div", { class: "shape" }, "in the run ", code(`[${values.shape.join(",")}]`)),
    values.histogram?.length ? histogram(values) : "",
    table(["", ""], rows, { class: "facts" }),
    values.first?.length ? make("div", { class: "first" }, "first ", code(values.first.map((one) => number(one)).join(", ") + (values.elements > values.first.length ? ", …" : ""))) : "",
  ];
}

function histogram(values) {
  const most = Math.max(...values.histogram);
  const step = (values.max - values.min) / values.histogram.length;
  const bars = values.histogram.map((count, index) => {
    const from = values.min + index * step;
    const height = count ? Math.max(3, (100 * count) / most) : 0;
    return make("span", { title: `${number(from)} to ${number(from + step)}: ${number(count)}`, style: { height: `${height}%` } });
  });
  const label = `histogram from ${number(values.min)} to ${number(values.max)}`;
  return make("figure", { class: "histogram", role: "img", "aria-label": label },
    make("div", { class: "bars" }, ...bars),
    make("figcaption", {}, make("span", { text: number(values.min) }), make("span", { text: number(values.max) })));
}

function heading(text) {
  return make("h3", { text });
}

function code(text) {
  return make("code", { text });
}
