// The search field: layers found by name, type, tensor name or id are listed, and highlighted in the graph.

import { fill, make } from "./dom.js";

const MOST_SHOWN = 50;

export class Search {
  constructor(field, list, networks, events) {
    Object.assign(this, { field, list, events, found: [], at: -1 });
    this.texts = networks.flatMap((network) =>
      [...network.layers.values()].map((layer) => {
        const tensors = layer.outputs.flatMap((output) => output.names ?? []);
        return [layer, [layer.key, layer.view.name, layer.view.port ?? "", layer.view.type, ...tensors].join("\n").toLowerCase()];
      }));
    field.addEventListener("input", () => this.#look());
    field.addEventListener("focus", () => field.value && this.#look());
    field.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("pointerdown", (event) => {
      if (!list.contains(event.target) && event.target !== field) this.#close();
    });
  }

  #look() {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.at = -1;
    if (!words.length) {
      this.#close();
      this.events.found(null);
      return;
    }
    this.found = this.texts.filter(([, text]) => words.every((word) => text.includes(word))).map(([layer]) => layer);
    this.events.found(new Set(this.found));
    const items = this.found.slice(0, MOST_SHOWN).map((layer, index) =>
      make("li", { role: "option", id: `found-${index}`, on: { click: () => this.#choose(layer) } },
        make("span", { class: "type", text: layer.view.type }), " ", layer.view.name, make("span", { class: "key", text: layer.key })));
    const count = this.found.length;
    const rest = count > MOST_SHOWN ? `${count} layers, first ${MOST_SHOWN} listed` : `${count} ${count === 1 ? "layer" : "layers"}`;
    fill(this.list, ...items, make("li", { class: "count", role: "presentation", text: rest }));
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
  }

  #key(event) {
    if (event.key === "Escape") {
      this.field.value = "";
      this.#look();
      this.field.blur();
    } else if (event.key === "Enter") {
      const layer = this.found[Math.max(0, this.at)];
      if (layer) this.#choose(layer);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const most = Math.min(this.found.length, MOST_SHOWN);
      if (!most) return;
      this.at = (this.at + (event.key === "ArrowDown" ? 1 : -1) + most) % most;
      [...this.list.children].forEach((item, index) => item.toggleAttribute("aria-selected", index === this.at));
      this.list.children[this.at].scrollIntoView({ block: "nearest" });
      this.field.setAttribute("aria-activedescendant", `found-${this.at}`);
    } else return;
    event.stopPropagation();
  }

  #choose(layer) {
    this.#close();
    this.field.blur();
    this.events.found(null);
    this.events.chosen(layer);
  }

  #close() {
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
  }
}
