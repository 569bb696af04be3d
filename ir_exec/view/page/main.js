// The page: its components and their interaction.

import { hrefOf, layerAt } from "./address.js";
import { WAYS } from "./colours.js";
import { aboutGroup, aboutLayer, overview } from "./details.js";
import { fill, make } from "./dom.js";
import { LayersTable } from "./layers.js";
import { Group, Network } from "./network.js";
import { Scene } from "./scene.js";
import { Search } from "./search.js";
import { hasTimes, times } from "./times.js";

const OPEN_AT_FIRST = 80; // items; further groups are collapsed initially
const OPEN_IN_NOTEBOOK = 24;
const PALETTE = [
  "canvas", "frame", "line", "dim", "edge", "ink", "group", "plain", "rim", "accent", "mark-error", "mark-warning",
  ...["ends", "matrix", "control", "norm", "activation", "quantise", "shape", "constant"],
  ...["error", "warning", "info", "good"].flatMap((name) => [name, `on-${name}`]),
  ...[0, 1, 2, 3, 4, 5, 6].flatMap((step) => [`heat-${step}`, `on-heat-${step}`]),
];

class Page {
  constructor(view) {
    this.view = view;
    // Inside a notebook, the page has no address.
    this.isFramed = window.location.protocol === "about:";
    this.networks = view.networks.map((network, index) => new Network(network, index));
    this.partners = linked(view.links ?? [], this.networks);
    this.at = (id) => document.getElementById(id);
    document.title = `${view.title} – ir_exec`;
    this.at("title").textContent = view.title;
    this.at("title").title = view.title;
    for (const network of this.networks) network.openUpTo(view.folded ? OPEN_IN_NOTEBOOK : OPEN_AT_FIRST);
    document.body.classList.toggle("folded", Boolean(view.folded));
    this.isOneByOne = view.arrangement === "one" && this.networks.length > 1;
    this.scenes = this.networks.map((network) => this.#scene(network));
    this.#choice();
    this.#verdict();
    this.#colours();
    this.#tabs();
    this.search = new Search(this.at("search"), this.at("found"), this.networks, {
      found: (layers) => this.#find(layers),
      chosen: (layer) => this.go(layer),
    });
    this.#buttons();
    this.#keys();
    this.#theme();
    for (const scene of this.isOneByOne ? [this.scenes[this.current]] : this.scenes) {
      scene.layOut();
      scene.fit(true);
    }
    window.addEventListener("hashchange", () => this.#follow());
    document.addEventListener("click", (event) => {
      const link = this.isFramed && event.target.closest("a[href^='#']");
      if (!link) return;
      event.preventDefault();
      this.#show(layerAt(link.getAttribute("href"), this.networks));
    });
    if (this.fault && !layerAt(window.location.hash, this.networks)) this.#show(this.fault);
    else this.#follow();
    document.documentElement.dataset.ready = "true";
  }

  // Selects a layer at once, because the next key may follow, and sets the address.
  go(layer) {
    const href = hrefOf(layer);
    if (!this.isFramed && window.location.hash !== href) window.history.pushState(null, "", href);
    this.#show(layer);
  }

  toggle(group) {
    group.isOpen = !group.isOpen;
    const scene = this.scenes.find((one) => [...one.network.allGroups()].includes(group));
    scene.layOut(group.isBody ? group.parent : group);
    if (this.selected instanceof Group) this.#tell();
    else if (this.selected) this.#show(this.selected);
    this.#announce(`${group.name || "body"} is ${group.isOpen ? "expanded" : "collapsed"}`);
  }

  #scene(network) {
    const canvas = make("canvas", { tabindex: "0", role: "application", "aria-label": `Graph of ${network.view.title}; arrow keys move from layer to layer` });
    const pane = make("section", { class: "graph" }, this.networks.length > 1 ? make("h2", { text: network.view.title }) : "", canvas);
    this.at("graphs").append(pane);
    return new Scene(canvas, network, {
      picked: (box) => this.#pick(box),
      opened: (box) => box && this.#open(box.item),
    });
  }

  // The selection of a model, if models are shown one at a time.
  #choice() {
    const choice = this.at("networks");
    choice.hidden = !this.isOneByOne;
    if (!this.isOneByOne) return;
    const told = (network) => {
      const errors = (network.view.findings ?? []).filter((one) => one.severity === "error").length;
      return `${network.view.title}: ${errors ? `${errors} ${errors === 1 ? "error" : "errors"}` : `${network.view.findings?.length ?? 0} findings`}`;
    };
    fill(choice, ...this.networks.map((network, index) => make("option", { value: index, text: told(network) })));
    choice.addEventListener("change", () => {
      this.#clear();
      this.#present(Number(choice.value));
    });
    // The first file with errors, or else with any findings.
    const has = (severity) => this.networks.findIndex((network) => network.view.findings?.some((one) => one.severity === severity));
    this.#present(Math.max(0, ["error", "warning", "info"].map(has).find((index) => index >= 0) ?? 0));
  }

  // The first line of a comparison, as a link to the layer that it names. The page opens at this layer.
  #verdict() {
    const { verdict } = this.view;
    const bar = this.at("verdict");
    bar.hidden = !verdict;
    if (!verdict) return;
    bar.className = verdict.good ? "good" : "bad";
    this.fault = this.networks[0].layers.get(verdict.layer) ?? null;
    const follow = (event) => {
      event.preventDefault();
      this.go(this.fault);
    };
    fill(bar, this.fault ? make("a", { href: hrefOf(this.fault), text: verdict.text, on: { click: follow } }) : verdict.text);
  }

  #present(index) {
    if (!this.isOneByOne) return;
    this.at("networks").value = String(index);
    this.current = index;
    [...this.at("graphs").children].forEach((pane, place) => (pane.hidden = place !== index));
    [...this.at("tables").children].forEach((pane, place) => (pane.hidden = place !== index));
    const scene = this.scenes[index];
    // A canvas that was hidden gets its size in the next frame.
    if (this.search) {
      if (!scene.layout) scene.layOut();
      requestAnimationFrame(() => scene.fit(true));
    }
    if (!this.selected) this.#tell();
  }

  get shown() {
    return this.isOneByOne ? [this.networks[this.current]] : this.networks;
  }

  #pick(box) {
    this.at("graphs").ownerDocument.activeElement?.blur();
    if (!box) this.#clear();
    else if (box.item instanceof Group && !box.item.isBody) this.#selectGroup(box.item);
    else this.go(box.item instanceof Group ? box.item.parent : box.item);
  }

  #open(item) {
    if (item instanceof Group) this.toggle(item);
    else for (const group of item.groups) this.toggle(group);
  }

  #selectGroup(group) {
    this.#forget();
    this.selected = group;
    for (const scene of this.scenes) scene.select(null);
    this.#tell();
  }

  #clear() {
    this.#forget();
    this.#show(null);
  }

  #forget() {
    if (!this.isFramed && window.location.hash) window.history.replaceState(null, "", "#");
  }

  #follow() {
    this.#show(layerAt(window.location.hash, this.networks));
  }

  #show(layer) {
    this.selected = layer;
    if (layer && this.isOneByOne && layer.network.index !== this.current) this.#present(layer.network.index);
    const others = layer ? this.partners.get(layer) ?? [] : [];
    for (const scene of this.scenes) {
      const own = layer && [layer, ...others].filter((one) => one.network === scene.network);
      const revealed = (own ?? []).map((one) => scene.network.reveal(one)).some(Boolean);
      scene.marked = new Set(own ?? []);
      if (!scene.layout) continue; // not shown yet
      if (revealed) scene.layOut();
      scene.select(own?.[0] ?? null, { centre: true });
    }
    for (const table of this.tables ?? []) table.select(layer);
    this.#tell();
    if (layer) this.#announce(`${layer.view.type} ${layer.view.name}`);
  }

  #tell() {
    const pane = this.at("details");
    const { selected } = this;
    const toggle = (group) => this.toggle(group);
    if (!selected) fill(pane, ...overview(this.view, this.shown, hrefOf));
    else if (selected instanceof Group) fill(pane, ...aboutGroup(selected, hrefOf, toggle));
    else {
      const others = this.networks.map((network) => [network.view.title, (this.partners.get(selected) ?? []).filter((one) => one.network === network)]);
      fill(pane, ...aboutLayer(selected, hrefOf, toggle, others.filter(([, found]) => found.length)));
    }
    pane.scrollTop = 0;
    document.body.classList.toggle("has-selection", Boolean(selected));
  }

  #announce(text) {
    this.at("said").textContent = text;
  }

  #find(layers) {
    for (const scene of this.scenes) {
      scene.found = layers;
      scene.draw();
    }
  }

  #colours() {
    const layers = this.networks.flatMap((network) => [...network.layers.values()]);
    const choices = Object.entries(WAYS).filter(([, way]) => way.applies(layers));
    const choice = this.at("colours");
    fill(choice, ...choices.map(([name, way]) => make("option", { value: name, text: way.title })));
    choice.value = this.view.colour ?? "kind";
    const use = () => {
      const way = WAYS[choice.value] ?? WAYS.kind;
      for (const scene of this.scenes) {
        scene.colourOf = way.prepare(scene.network);
        scene.textOf = way.text;
        scene.draw();
      }
      fill(this.at("legend"), ...way.legend(layers).map(([colour, text]) => make("li", {}, make("span", { class: "swatch", style: { background: `var(--${colour})` } }), text)));
    };
    choice.addEventListener("change", use);
    use();
  }

  #tabs() {
    const panes = { graph: this.at("graphs"), table: this.at("tables"), time: this.at("times") };
    const withTimes = this.networks.filter(hasTimes);
    const bar = this.at("tabs");
    const show = (name) => {
      for (const [one, pane] of Object.entries(panes)) pane.hidden = one !== name;
      for (const button of bar.children) button.setAttribute("aria-selected", String(button.dataset.tab === name));
      this.at("legend").hidden = name !== "graph";
      if (name === "table" && !this.tables) {
        this.tables = this.networks.map((network) => {
          const holder = make("section", { class: "layers" }, this.networks.length > 1 ? make("h2", { text: network.view.title }) : "");
          panes.table.append(holder);
          return new LayersTable(holder, network, { chosen: (layer) => this.go(layer) });
        });
        if (this.isOneByOne) this.#present(this.current);
        if (this.selected && !(this.selected instanceof Group)) for (const table of this.tables) table.select(this.selected);
      }
      if (name === "time" && !panes.time.children.length) {
        for (const network of withTimes) panes.time.append(...times(network, { chosen: (layer) => this.go(layer) }));
      }
    };
    const tab = (name, text) => make("button", { role: "tab", "data-tab": name, text, on: { click: () => show(name) } });
    fill(bar, tab("graph", "Graph"), tab("table", "Table"), withTimes.length ? tab("time", "Time") : "");
    this.showTab = show;
    show("graph");
  }

  #buttons() {
    const every = (act) => () => this.scenes.filter((scene) => scene.layout).forEach(act);
    const on = (id, act) => this.at(id).addEventListener("click", act);
    on("fit", every((scene) => scene.fit()));
    on("closer", every((scene) => scene.zoom(1.3)));
    on("farther", every((scene) => scene.zoom(1 / 1.3)));
    on("unfold", every((scene) => this.#openAll(scene, true)));
    on("fold", every((scene) => this.#openAll(scene, false)));
    on("close", () => this.#clear());
    this.at("constants").addEventListener("change", (event) => {
      for (const scene of this.scenes) {
        scene.withConstants = event.target.checked;
        if (scene.layout) scene.layOut(this.selected instanceof Group ? null : this.selected);
      }
    });
  }

  #openAll(scene, isOpen) {
    for (const group of scene.network.allGroups()) if (!isOpen || !group.isBody) group.isOpen = isOpen;
    scene.layOut();
    scene.fit(true);
  }

  #keys() {
    const acts = {
      "/": () => this.at("search").focus(),
      Escape: () => this.#clear(),
      f: () => this.at("fit").click(),
      "+": () => this.at("closer").click(),
      "=": () => this.at("closer").click(),
      "-": () => this.at("farther").click(),
      g: () => this.showTab("graph"),
      t: () => this.showTab("table"),
      c: () => this.at("constants").click(),
      "?": () => this.at("help").showModal(),
      Enter: () => this.selected && this.#open(this.selected),
      ArrowUp: () => this.#step((layer) => layer.inputs.map((input) => input.from)),
      ArrowDown: () => this.#step((layer) => layer.readers.map((reader) => reader.to)),
      ArrowLeft: () => this.#beside(-1),
      ArrowRight: () => this.#beside(1),
    };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, summary, dialog, .scroller")) return;
      if (event.key === "Enter" && event.target.closest("button, a")) return;
      const act = acts[event.key];
      if (!act || this.at("help").open) return;
      event.preventDefault();
      act();
    });
    this.at("keys").addEventListener("click", () => this.at("help").showModal());
  }

  // Goes to the first neighbour that is not a constant, or to the first layer of the model.
  #step(neighbours) {
    const from = this.selected;
    const start = this.shown[0];
    if (!from || from instanceof Group) {
      const first = from ? [...from.layers()].find((layer) => !layer.isConstant) : [...start.layers.values()].find((layer) => !layer.isConstant);
      if (first) this.go(first);
      return;
    }
    const found = neighbours(from).filter((layer) => layer && (!layer.isConstant || this.scenes[0].withConstants));
    if (found.length) this.go(found[0]);
  }

  // Goes to the next layer that reads the same layer, or to the next input of the same reader.
  #beside(by) {
    const layer = this.selected;
    if (!layer || layer instanceof Group) return;
    const seen = (one) => one && (!one.isConstant || this.scenes[0].withConstants);
    const source = layer.inputs.map((input) => input.from).find((from) => seen(from) && from.readers.length > 1);
    const reader = layer.readers[0]?.to;
    const row = source ? source.readers.map((one) => one.to) : reader ? reader.inputs.map((input) => input.from) : [];
    const unique = [...new Set(row.filter(seen))];
    const at = unique.indexOf(layer);
    if (at >= 0 && unique.length > 1) this.go(unique[(at + by + unique.length) % unique.length]);
  }

  #theme() {
    const root = document.documentElement;
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const use = () => {
      for (const scene of this.scenes) scene.usePalette(PALETTE);
    };
    dark.addEventListener("change", use);
    this.at("theme").addEventListener("click", () => {
      const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
      root.dataset.theme = isDark ? "light" : "dark";
      use();
    });
    use();
  }
}

function linked(links, networks) {
  const partners = new Map();
  const join = (a, b) => {
    if (!partners.has(a)) partners.set(a, []);
    if (!partners.get(a).includes(b)) partners.get(a).push(b);
  };
  for (const link of links) {
    const layer = networks[0].layers.get(link.layer);
    for (const key of link.others) {
      const other = networks[link.network]?.layers.get(key);
      if (layer && other) {
        join(layer, other);
        join(other, layer);
      }
    }
  }
  // Links from the second model to the third through the first.
  for (const [layer, others] of [...partners]) {
    if (layer.network.index !== 0) continue;
    for (const one of others) for (const other of others) if (one.network !== other.network) join(one, other);
  }
  return partners;
}

window.page = new Page(JSON.parse(document.getElementById("data").textContent));
