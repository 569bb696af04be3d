// The time of a profiled run: the layers in order, and a tree of groups with their shares.

import { Group } from "./network.js";
import { make, percent, seconds } from "./dom.js";

const MOST_BARS = 1500;

export function hasTimes(network) {
  return [...network.layers.values()].some((layer) => layer.view.time);
}

export function times(network, events) {
  const layers = [...network.layers.values()].filter((layer) => layer.view.time);
  const total = layers.reduce((sum, layer) => sum + layer.view.time.seconds, 0);
  return [
    make("h3", { text: `One run: ${seconds(total)} in ${layers.length} layers` }),
    timeline(layers, events),
    make("h3", { text: "Time by group" }),
    tree(network.root, total, events),
  ];
}

// The layers in topological order, one after the other; layers of bodies with the sum of all iterations.
function timeline(layers, events) {
  let clock = 0;
  const spans = layers.map((layer) => {
    const from = clock;
    clock += layer.view.time.seconds;
    return { layer, from, to: clock };
  });
  const first = spans.reduce((least, span) => Math.min(least, span.from), Infinity);
  const last = spans.reduce((most, span) => Math.max(most, span.to), 0);
  const most = spans.reduce((found, span) => Math.max(found, span.to - span.from), 0);
  const longest = [...spans].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, MOST_BARS);
  const bars = longest.map(({ layer, from, to }) => {
    const depth = layer.key.split("/").length >> 1;
    return make("button", {
      class: `span heat-${Math.round(6 * Math.sqrt((to - from) / (most || 1)))}`,
      title: `${layer.view.name} (${layer.view.type}): ${seconds(to - from)}`,
      tabindex: "-1",
      style: { left: `${(100 * (from - first)) / (last - first || 1)}%`, width: `max(1px, ${(100 * (to - from)) / (last - first || 1)}%)`, top: `${4 + 30 * Math.min(depth, 3)}px` },
      on: { click: () => events.chosen(layer) },
    });
  });
  const deepest = layers.reduce((found, layer) => Math.max(found, layer.key.split("/").length >> 1), 0);
  return make("div", { class: "timeline" },
    make("div", { class: "spans", style: { height: `${34 + 30 * Math.min(deepest, 3)}px` } }, ...bars),
    make("div", { class: "axis" }, make("span", { text: "0" }), make("span", { text: seconds((last - first) / 2) }), make("span", { text: seconds(last - first) })));
}

function spent(item) {
  if (item instanceof Group) return item.children.reduce((sum, child) => sum + spent(child), 0);
  return (item.view.time?.seconds ?? 0) + item.groups.reduce((sum, group) => sum + spent(group), 0);
}

function tree(group, total, events, depth = 0) {
  const children = group.children.map((child) => [child, spent(child)]).filter(([, time]) => time > 0);
  children.sort((a, b) => b[1] - a[1]);
  const shown = children.slice(0, 60);
  const items = shown.map(([child, time]) => {
    const bar = make("span", { class: "share", style: { width: `${Math.max(0.5, (100 * time) / (total || 1))}%` } });
    const text = child instanceof Group ? child.name : `${child.view.type} ${child.tail}`;
    const label = [make("span", { class: "label", text }), make("span", { class: "time", text: `${seconds(time)}, ${percent(time / (total || 1))}` }), bar];
    const inner = child instanceof Group ? [child] : child.groups;
    if (!inner.some((one) => spent(one) > 0)) return make("li", {}, make("button", { class: "leaf", on: { click: () => events.chosen(child) } }, ...label));
    const details = make("details", {}, make("summary", {}, ...label));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(...inner.map((one) => tree(one, total, events, depth + 1)));
    });
    if (depth === 0 && time > total / 4) details.open = true;
    return make("li", {}, details);
  });
  if (children.length > shown.length) items.push(make("li", { text: `… ${children.length - shown.length} more` }));
  return make("ul", { class: "tree" }, ...items);
}
