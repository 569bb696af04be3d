// The table of all layers. Only visible rows are elements.

import { bytes, fill, make, number, percent, seconds } from "./dom.js";

const ROW = 27;

const COLUMNS = [
  { title: "id", read: (layer) => layer.key, order: (layer) => layer.place },
  { title: "layer", read: (layer) => layer.view.name, wide: true },
  { title: "type", read: (layer) => layer.view.type },
  { title: "value", read: (layer) => layer.type },
  { title: "findings", read: (layer) => layer.findings.map((one) => one.code).join(" "), needs: (layer) => layer.findings.length },
  { title: "change", read: (layer) => layer.view.change?.kind ?? "", needs: (layer) => layer.view.change },
  { title: "status", read: (layer) => layer.view.error?.status ?? "", needs: (layer) => layer.view.error },
  numeric("own error", (layer) => layer.view.error?.own && Number(layer.view.error.own.max_abs ?? 0), number),
  numeric("carried error", (layer) => layer.view.error?.carried && Number(layer.view.error.carried.max_abs ?? 0), number),
  numeric("time", (layer) => layer.view.time?.seconds, seconds),
  numeric("memory", (layer) => layer.view.time?.bytes, bytes),
  numeric("min", (layer) => layer.outputs[0]?.values?.min, number),
  numeric("max", (layer) => layer.outputs[0]?.values?.max, number),
  numeric("zeros", (layer) => layer.outputs[0]?.values && (layer.outputs[0].values.zeros ?? 0) / (layer.outputs[0].values.elements || 1), percent),
  numeric("NaN", (layer) => layer.outputs[0]?.values && (layer.outputs[0].values.nans ?? 0), number),
];

function numeric(title, value, show) {
  const read = (layer) => (has(value(layer)) ? show(value(layer)) : "");
  return { title, read, order: (layer) => (has(value(layer)) ? value(layer) : -Infinity), needs: (layer) => has(value(layer)), right: true };
}

function has(value) {
  return value !== undefined && value !== null;
}

export class LayersTable {
  constructor(holder, network, events) {
    Object.assign(this, { network, events, selected: null });
    this.all = [...network.layers.values()];
    this.all.forEach((layer, place) => (layer.place = place));
    this.columns = COLUMNS.filter((column) => !column.needs || this.all.some(column.needs));
    this.order = { column: this.columns[0], isUp: true };
    this.filter = make("input", { type: "search", class: "filter", placeholder: "Filter rows", "aria-label": "Filter rows", on: { input: () => this.#choose() } });
    this.count = make("span", { class: "count" });
    this.heads = make("div", { class: "row heads", role: "row" });
    this.body = make("div", { class: "rows" });
    this.scroller = make("div", { class: "scroller", role: "table", tabindex: "0", on: { scroll: () => this.#paint() } }, this.heads, this.body);
    holder.append(make("div", { class: "bar" }, this.filter, this.count), this.scroller);
    const widths = this.columns.map((column) => (column.wide ? "minmax(160px, 1fr)" : `${this.#widthOf(column)}px`));
    this.scroller.style.setProperty("--columns", widths.join(" "));
    new ResizeObserver(() => this.#paint()).observe(this.scroller);
    this.#choose();
  }

  select(layer) {
    this.selected = layer;
    const row = this.rows.indexOf(layer);
    const top = row * ROW;
    const { scrollTop, clientHeight } = this.scroller;
    if (row >= 0 && (top < scrollTop || top + 3 * ROW > scrollTop + clientHeight)) this.scroller.scrollTop = Math.max(0, top - clientHeight / 3);
    this.#paint();
  }

  /** The width of the longest cell, within limits; the heading has space for the arrow. */
  #widthOf(column) {
    const longest = this.all.reduce((most, layer) => Math.max(most, column.read(layer).length), column.title.length + 2);
    return Math.min(20 + 8 * longest, 220);
  }

  #choose() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (layer) => this.columns.map((column) => column.read(layer)).join("\n").toLowerCase();
    this.rows = words.length ? this.all.filter((layer) => words.every((word) => text(layer).includes(word))) : [...this.all];
    const { column, isUp } = this.order;
    const value = column.order ?? ((layer) => column.read(layer).toLowerCase());
    this.rows.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a.place - b.place) * (isUp ? 1 : -1));
    this.count.textContent = `${number(this.rows.length)} of ${number(this.all.length)} layers`;
    fill(this.heads, ...this.columns.map((one) => {
      const sort = one === column ? (isUp ? "ascending" : "descending") : "none";
      return make("button", { role: "columnheader", "aria-sort": sort, class: one.right ? "right" : "", text: one.title, on: { click: () => this.#sort(one) } });
    }));
    this.body.style.setProperty("height", `${this.rows.length * ROW}px`);
    this.#paint();
  }

  #sort(column) {
    const isUp = this.order.column === column ? !this.order.isUp : !column.right;
    this.order = { column, isUp };
    this.#choose();
  }

  #paint() {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - 5);
    const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + 5);
    fill(this.body, ...this.rows.slice(first, last).map((layer, index) => {
      const row = make("div", { class: `row${layer === this.selected ? " selected" : ""}${layer.severity ? ` ${layer.severity}` : ""}`, role: "row", on: { click: () => this.events.chosen(layer) } },
        ...this.columns.map((column) => make("span", { role: "cell", class: column.right ? "right" : "", title: column.read(layer), text: column.read(layer) })));
      row.style.setProperty("top", `${(first + index) * ROW}px`);
      return row;
    }));
  }
}
