// A model drawn on a canvas: only the visible region, with fewer details at small scales.

import { Group } from "./network.js";
import { colourOfGroup } from "./colours.js";
import { place } from "./layout.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const BAND = 600; // height of the bands that index boxes and edges
const LONG = 900; // longer edges without bends are drawn only at their ends
const STUB = 16;
const SIZE = { least: 96, most: 230, high: 56, group: 38 };

export class Scene {
  constructor(canvas, network, events) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.network = network;
    this.events = events;
    this.view = { x: 0, y: 0, scale: 1 };
    this.selected = null;
    this.marked = new Set();
    this.found = null; // the layers found by a search
    this.colourOf = () => null;
    this.textOf = () => "";
    this.withConstants = false;
    this.palette = {};
    this.widths = new Map();
    this.frames = 0;
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(canvas);
    this.#resize();
  }

  // Computes the layout again; `keep`, an item, keeps its place on the screen.
  layOut(keep = null) {
    const before = keep && this.layout?.byItem.get(keep);
    this.layout = place(this.network, (item) => this.#size(item), this.withConstants);
    this.#index();
    const after = before && this.layout.byItem.get(keep);
    if (after) {
      this.view.x += (before.x + Math.min(before.w, after.w) / 2 - after.x - Math.min(before.w, after.w) / 2) * this.view.scale;
      this.view.y += (before.y - after.y) * this.view.scale;
    }
    this.draw();
  }

  boxOf(layer) {
    let item = layer;
    for (let group = layer.group; group; group = group instanceof Group ? group.parent : group.group) {
      if (group instanceof Group && group.parent && !group.isOpen) item = group.isBody ? group.parent : group;
    }
    const found = this.layout.byItem.get(item);
    // The box of a constant that is not shown is that of its first reader.
    return found ?? (layer.isConstant && layer.readers.length ? this.boxOf(layer.readers[0].to) : null);
  }

  select(layer, { centre = false } = {}) {
    this.selected = layer;
    const box = layer && this.boxOf(layer);
    if (box && centre && !this.#isInSight(box)) this.centre(box);
    this.draw();
  }

  centre(box) {
    const scale = Math.max(this.view.scale, 0.7);
    this.view.scale = scale;
    this.view.x = this.width / 2 - (box.x + box.w / 2) * scale;
    this.view.y = this.height / 2 - (box.y + Math.min(box.h, this.height / scale) / 2) * scale;
  }

  fit(readable = false) {
    const { width, height } = this.layout;
    const legend = this.width > 600 ? 60 : 0; // overlaps the lower edge
    const whole = Math.min((this.width - 40) / width, (this.height - 40 - legend) / height, 1.1);
    const scale = readable && whole < 0.55 ? Math.min(0.85, Math.max(0.3, (this.width - 40) / width)) : whole;
    this.view.scale = scale;
    this.view.x = (this.width - width * scale) / 2;
    this.view.y = whole === scale ? (this.height - legend - height * scale) / 2 : 20;
    if (readable && width * scale > this.width) {
      // The first layer is centred, independent of the widest level of the model.
      const first = this.layout.boxes.reduce((best, box) => (box.item !== this.network.root && (!best || box.y < best.y) ? box : best), null);
      if (first) this.view.x = this.width / 2 - (first.x + first.w / 2) * scale;
    }
    this.draw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(3, Math.max(0.01, this.view.scale * factor));
    this.view.x = x - ((x - this.view.x) * scale) / this.view.scale;
    this.view.y = y - ((y - this.view.y) * scale) / this.view.scale;
    this.view.scale = scale;
    this.draw();
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.#request();
  }

  draw() {
    this.painted = null;
    this.#request();
  }

  #request() {
    if (this.waiting || !this.layout) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.#paint();
    });
  }

  // The item at a point of the canvas, that of the innermost box.
  hit(x, y) {
    const at = { x: (x - this.view.x) / this.view.scale, y: (y - this.view.y) / this.view.scale };
    let found = null;
    for (const box of this.bands.get(Math.floor(at.y / BAND)) ?? []) {
      const isInside = at.x >= box.x && at.x <= box.x + box.w && at.y >= box.y && at.y <= box.y + box.h;
      if (isInside && (!found || box.w * box.h <= found.w * found.h)) found = box;
    }
    return found;
  }

  // The place of an item on the canvas, in CSS pixels.
  screenBox(item) {
    const box = this.layout.byItem.get(item);
    const { x, y, scale } = this.view;
    return box && { x: box.x * scale + x, y: box.y * scale + y, w: box.w * scale, h: box.h * scale };
  }

  usePalette(names) {
    const style = getComputedStyle(document.documentElement);
    this.palette = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.draw();
  }

  #size(item) {
    const isGroup = item instanceof Group;
    const width = isGroup
      ? this.#textWidth(`▸ ${item.name}`) + 56
      : Math.max(this.#textWidth(item.view.type) + 30, 0.85 * Math.max(this.#textWidth(item.tail), this.#textWidth(item.type)) + 20);
    const w = Math.round(Math.min(SIZE.most, Math.max(SIZE.least, width)) / 4) * 4;
    return { w, h: isGroup ? SIZE.group : SIZE.high };
  }

  #textWidth(text) {
    if (!this.widths.has(text)) {
      this.context.font = `600 13px ${FONT}`;
      this.widths.set(text, this.context.measureText(text.slice(0, 60)).width);
    }
    return this.widths.get(text);
  }

  #index() {
    this.bands = new Map();
    this.edgeBands = new Map();
    this.edgesOf = new Map();
    const put = (bands, from, to, thing) => {
      for (let band = Math.floor(from / BAND); band <= Math.floor(to / BAND); band += 1) {
        if (!bands.has(band)) bands.set(band, []);
        bands.get(band).push(thing);
      }
    };
    for (const box of this.layout.boxes) if (box.item !== this.network.root) put(this.bands, box.y, box.y + box.h, box);
    const fan = new Map();
    for (const edge of this.layout.edges) fan.set(edge.from, (fan.get(edge.from) ?? 0) + 1);
    for (const edge of this.layout.edges) {
      const [across, down] = [edge.points.map((point) => point.x), edge.points.map((point) => point.y)];
      const [top, bottom] = [Math.min(...down), Math.max(...down)];
      edge.extent = [Math.min(...across), top, Math.max(...across), bottom];
      edge.isFar = edge.points.length === 2 && bottom - top > (fan.get(edge.from) > 6 ? LONG / 3 : LONG);
      if (edge.isFar) for (const point of edge.points) put(this.edgeBands, point.y, point.y, edge);
      else put(this.edgeBands, top, bottom, edge);
      for (const box of [edge.from, edge.to]) {
        if (!this.edgesOf.has(box)) this.edgesOf.set(box, []);
        this.edgesOf.get(box).push(edge);
      }
    }
  }

  #isInSight(box) {
    const { x, y, scale } = this.view;
    const [left, top] = [box.x * scale + x, box.y * scale + y];
    return scale >= 0.45 && left >= 0 && top >= 0 && left + box.w * scale <= this.width && top + SIZE.high * scale <= this.height;
  }

  #resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const { clientWidth, clientHeight } = this.canvas;
    if (this.width === clientWidth && this.height === clientHeight && this.ratio === ratio) return;
    const dx = this.width ? (clientWidth - this.width) / 2 : 0;
    [this.width, this.height, this.ratio] = [clientWidth, clientHeight, ratio];
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.view.x += dx;
    this.draw();
  }

  // Paints everything, or, if the graph was only moved, the regions that became visible.
  #paint() {
    const { view, painted, width, height, context, ratio } = this;
    const whole = { left: 0, top: 0, right: width, bottom: height };
    const [dx, dy] = painted ? [view.x - painted.x, view.y - painted.y] : [0, 0];
    const isMoved = painted && [dx * ratio, dy * ratio].every(Number.isInteger) && Math.abs(dx) < width && Math.abs(dy) < height;
    if (isMoved) {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.globalCompositeOperation = "copy";
      context.drawImage(this.canvas, dx * ratio, dy * ratio);
      context.globalCompositeOperation = "source-over";
      if (dy) this.#paintPart(dy > 0 ? { ...whole, bottom: dy } : { ...whole, top: height + dy });
      if (dx) this.#paintPart(dx > 0 ? { ...whole, right: dx } : { ...whole, left: width + dx });
    } else this.#paintPart(whole);
    this.painted = { x: view.x, y: view.y };
    this.frames += 1;
    this.canvas.dataset.drawn = String(this.frames);
  }

  #paintPart(part) {
    const { context, palette, ratio } = this;
    const { x, y, scale } = this.view;
    context.save();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.beginPath();
    context.rect(part.left, part.top, part.right - part.left, part.bottom - part.top);
    context.clip();
    context.fillStyle = palette.canvas;
    context.fillRect(part.left, part.top, part.right - part.left, part.bottom - part.top);
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * x, ratio * y);
    // Marks and lines extend slightly beyond their boxes.
    const sight = {
      left: (part.left - x) / scale - 30,
      top: (part.top - y) / scale - 30,
      right: (part.right - x) / scale + 30,
      bottom: (part.bottom - y) / scale + 30,
    };
    const boxes = this.#inSight(this.bands, sight, (box) => [box.x, box.y, box.x + box.w, box.y + box.h]);
    const edges = this.#inSight(this.edgeBands, sight, (edge) => edge.extent);
    // Outer frames are below inner frames.
    for (const box of boxes.filter((one) => one.open).sort((a, b) => b.w * b.h - a.w * a.h)) this.#paintFrame(box, scale);
    this.#paintEdges(edges, scale);
    for (const box of boxes) if (!box.open || box.head) this.#paintBox(box, scale);
    this.#paintSelection(scale);
    context.restore();
  }

  #inSight(bands, sight, extent) {
    const found = [];
    this.turn = (this.turn ?? 0) + 1;
    for (let band = Math.floor(sight.top / BAND); band <= Math.floor(sight.bottom / BAND); band += 1) {
      for (const thing of bands.get(band) ?? []) {
        if (thing.turn === this.turn) continue;
        thing.turn = this.turn;
        const [left, top, right, bottom] = extent(thing);
        if (left <= sight.right && right >= sight.left && top <= sight.bottom && bottom >= sight.top) found.push(thing);
      }
    }
    return found;
  }

  #paintFrame(box, scale) {
    const { context, palette } = this;
    context.beginPath();
    context.roundRect(box.x, box.y, box.w, box.h, 10);
    context.fillStyle = palette.frame;
    context.fill();
    context.lineWidth = Math.min(2, 1 / scale);
    context.strokeStyle = palette.line;
    context.stroke();
    if (scale < 0.12 || box.head) return;
    context.fillStyle = palette.dim;
    context.font = `600 12px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText(this.#fitted(`▾ ${box.item.name || "body"}`, box.w - 24), box.x + 12, box.y + 17);
  }

  #paintEdges(edges, scale) {
    const { context, palette } = this;
    context.strokeStyle = palette.edge;
    context.lineWidth = Math.max(1.2, 0.7 / scale);
    context.beginPath();
    for (const edge of edges) if (!edge.isFar) this.#trace(edge, scale);
    context.stroke();
    if (scale < 0.3) return;
    context.fillStyle = palette.edge;
    context.beginPath();
    for (const edge of edges) this.#arrow(edge.points.at(-1));
    context.fill();
    this.#paintStubs(edges.filter((edge) => edge.isFar), scale);
  }

  // Both ends of long edges, with the name of the layer that is read.
  #paintStubs(edges, scale) {
    const { context, palette } = this;
    context.beginPath();
    for (const edge of edges) {
      const [start, end] = [edge.points[0], edge.points.at(-1)];
      context.moveTo(start.x, start.y);
      context.lineTo(start.x, start.y + STUB);
      context.moveTo(end.x, end.y);
      context.lineTo(end.x, end.y - STUB);
    }
    context.setLineDash([3, 2]);
    context.stroke();
    context.setLineDash([]);
    if (scale < 0.5) return;
    context.fillStyle = palette.dim;
    context.font = `10px ${FONT}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    const said = new Map();
    for (const edge of edges) {
      const name = edge.from.item instanceof Group ? edge.from.item.name : edge.from.item.tail;
      said.set(edge.to, [...(said.get(edge.to) ?? []), name]);
    }
    for (const [box, names] of said) {
      context.fillText(this.#fitted(names.join(", "), 110), box.x + box.w / 2 + 5, box.y - STUB + 4);
    }
  }

  #trace(edge, scale) {
    const { context } = this;
    const points = edge.points;
    context.moveTo(points[0].x, points[0].y);
    for (let step = 1; step < points.length; step += 1) {
      const [a, b] = [points[step - 1], points[step]];
      if (scale < 0.2 || Math.abs(a.x - b.x) < 1) context.lineTo(b.x, b.y);
      else {
        const bend = Math.min(Math.abs(b.y - a.y) / 2 + 6, 60);
        context.bezierCurveTo(a.x, a.y + bend, b.x, b.y - bend, b.x, b.y);
      }
    }
  }

  #arrow({ x, y }) {
    this.context.moveTo(x, y);
    this.context.lineTo(x - 3.5, y - 7);
    this.context.lineTo(x + 3.5, y - 7);
    this.context.closePath();
  }

  #paintBox(box, scale) {
    const { context, palette } = this;
    const item = box.item;
    const isGroup = item instanceof Group;
    const colour = isGroup ? colourOfGroup(item, this.colourOf) : this.colourOf(item);
    const height = box.head ?? box.h;
    const isDim = this.found && !(isGroup ? [...item.layers()].some((layer) => this.found.has(layer)) : this.found.has(item));
    context.globalAlpha = isDim ? 0.25 : 1;
    context.fillStyle = palette[colour] ?? (isGroup ? palette.group : palette.plain);
    if (scale < 0.14) {
      context.fillRect(box.x, box.y, box.w, height);
      context.globalAlpha = 1;
      return;
    }
    context.beginPath();
    context.roundRect(box.x, box.y, box.w, height, 8);
    if (isGroup && !this.#isLoud(colour)) {
      context.fillStyle = palette.group;
      context.fill();
    } else {
      context.fill();
    }
    context.lineWidth = 1;
    context.strokeStyle = isGroup ? palette.dim : palette.rim;
    if (isGroup) context.setLineDash([5, 3]);
    context.stroke();
    context.setLineDash([]);
    if (scale >= 0.28) this.#paintText(box, isGroup, height, colour);
    this.#paintMarks(box, isGroup);
    context.globalAlpha = 1;
  }

  #isLoud(colour) {
    return Boolean(colour) && (colour.startsWith("heat-") || ["error", "warning", "info", "good"].includes(colour));
  }

  #paintText(box, isGroup, height, colour) {
    const { context, palette } = this;
    const item = box.item;
    const ink = palette[`on-${colour}`] || palette.ink;
    context.textBaseline = "middle";
    context.textAlign = "center";
    const centre = box.x + box.w / 2;
    const room = box.w - 16;
    context.fillStyle = ink;
    if (isGroup) {
      context.font = `600 13px ${FONT}`;
      context.fillText(this.#fitted(`▸ ${item.name}`, room - 26), centre - 12, box.y + height / 2);
      context.font = `11px ${FONT}`;
      context.textAlign = "right";
      context.fillText(String([...item.layers()].length), box.x + box.w - 10, box.y + height / 2);
      return;
    }
    context.font = `600 13px ${FONT}`;
    context.fillText(this.#fitted(item.view.type, room), centre, box.y + 14);
    context.font = `11px ${FONT}`;
    context.fillText(this.#fitted(this.textOf(item) || item.type, room), centre, box.y + 42);
    context.globalAlpha *= 0.75;
    context.fillText(this.#fitted(item.tail, room), centre, box.y + 28);
    context.globalAlpha /= 0.75;
  }

  // Marks at the upper right corner: findings, and bodies that can be expanded.
  #paintMarks(box, isGroup) {
    const { context, palette } = this;
    const layers = isGroup ? [...box.item.layers()] : [box.item];
    let severity = null;
    for (const kind of ["error", "warning"]) severity ??= layers.some((layer) => layer.severity === kind) ? kind : null;
    if (severity) {
      context.beginPath();
      context.arc(box.x + box.w - 3, box.y + 3, 7, 0, 2 * Math.PI);
      context.fillStyle = palette[`mark-${severity}`];
      context.fill();
      context.fillStyle = "#fff";
      context.font = `700 10px ${FONT}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText("!", box.x + box.w - 3, box.y + 3.5);
    }
    if (!isGroup && box.item.groups.length) {
      context.fillStyle = palette.ink;
      context.font = `11px ${FONT}`;
      context.textAlign = "left";
      context.fillText(box.open ? "▾" : "▸", box.x + 6, box.y + 14);
    }
  }

  #paintSelection(scale) {
    const { context, palette } = this;
    const wide = Math.max(2.5, 1.6 / scale);
    for (const layer of [...this.marked, this.selected]) {
      const box = layer && this.boxOf(layer);
      if (!box) continue;
      context.strokeStyle = palette.accent;
      context.lineWidth = wide;
      if (layer === this.selected) {
        context.beginPath();
        for (const edge of this.edgesOf.get(box) ?? []) this.#trace(edge, scale);
        context.stroke();
      }
      context.beginPath();
      context.roundRect(box.x - 2, box.y - 2, box.w + 4, (box.head ?? box.h) + 4, 10);
      context.stroke();
    }
  }

  #fitted(text, room) {
    const { context } = this;
    let shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
    if (context.measureText(shown).width <= room) return shown;
    let [low, high] = [0, shown.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(`${shown.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    return `${shown.slice(0, low)}…`;
  }

  #listen() {
    const { canvas } = this;
    const pointers = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      const now = { x: event.offsetX, y: event.offsetY };
      if (!before) {
        canvas.style.cursor = this.hit(now.x, now.y) ? "pointer" : "grab";
        return;
      }
      const [dx, dy] = [now.x - before.x, now.y - before.y];
      moved += Math.abs(dx) + Math.abs(dy);
      if (pointers.size === 1) this.pan(dx, dy);
      else {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const apart = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
        this.zoom(apart(now) / apart(before), other.x, other.y);
      }
      pointers.set(event.pointerId, now);
    });
    const release = (event) => pointers.delete(event.pointerId);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerup", (event) => {
      if (pointers.size === 1 && moved < 6) this.events.picked(this.hit(event.offsetX, event.offsetY), this);
      release(event);
    });
    canvas.addEventListener("dblclick", (event) => this.events.opened(this.hit(event.offsetX, event.offsetY), this));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 30 : 1;
        if (event.ctrlKey || event.metaKey || !event.shiftKey) {
          this.zoom(Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
        } else this.pan(-event.deltaX * unit - event.deltaY * unit, 0);
      },
      { passive: false },
    );
  }
}
