// Drawing: a heat map with a row for each path, and charts of lines.
import { address, labelsOf, spanMs } from "./series.js";

// The colours of the style sheet, which has a light and a dark scheme. Each drawing reads them again.
const names = ["dim", "line", "text", "out", "in", "warn", "bad", "empty", "suspect", "down"];
const said = { suspect: "warn", down: "bad" }; // a state as text, which needs more contrast than a cell
const ink = {};
let ramp = [];
const font = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

function readColours() {
  const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(`--${name}`).trim();
  for (const name of names) ink[name] = of(name);
  ramp = [0, 1, 2, 3, 4].map((i) => [1, 3, 5].map((at) => parseInt(of(`ramp-${i}`).slice(at, at + 2), 16)));
}

// context fits a canvas to its size on this screen.
function context(canvas) {
  readColours();
  const scale = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
    canvas.width = Math.round(w * scale);
    canvas.height = Math.round(h * scale);
  }
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, w, h);
  c.font = font;
  return [c, w, h];
}

// colour of a value from 0 to 1.
function colour(v) {
  const at = Math.max(0, Math.min(1, v)) * (ramp.length - 1), i = Math.min(ramp.length - 2, Math.floor(at)), f = at - i;
  return `rgb(${ramp[i].map((a, k) => Math.round(a + (ramp[i + 1][k] - a) * f)).join(" ")})`;
}

// nice is the next of 1, 2, 5, 10, ... at or above v.
export function nice(v) {
  if (!(v > 0)) return 1;
  const ten = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= v * 0.999);
}

export function bits(v) {
  for (const [unit, size] of [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]]) {
    if (v >= size) return `${short(v / size)} ${unit}`;
  }
  return `${Math.round(v)} bit/s`;
}

export function millis(v) { return v >= 1 || v === 0 ? `${short(v)} ms` : `${short(1000 * v)} µs`; }

function short(v) { return v >= 100 ? Math.round(v).toString() : v >= 10 ? v.toFixed(1).replace(/\.0$/, "") : v.toFixed(2).replace(/\.?0+$/, ""); }

// measures of the heat map: what of a cell is coloured, its scale and how it is said.
export const measures = {
  rate: { of: (c) => c.rate, least: 1e6, say: bits },
  rtt: { of: (c) => c.rtt, least: 1, say: millis },
  loss: { of: (c) => c.loss, least: 0.01, say: (v) => `${short(100 * v)} %` },
};

const head = 19, foot = 20; // of a group of rows, and of the axis
const readable = 9; // as high as a row with a label

// gutters left and right of the cells, for labels if there is room for any.
function gutters(tall) { return tall < readable ? { left: 4, right: 4 } : { left: 62, right: 82 }; }

// rows lists the paths that were there in any frame, grouped by addresses.
function rows(frames, key) {
  const all = new Map();
  for (const f of frames) for (const [id, c] of f.peers.get(key)?.paths ?? []) all.set(id, c);
  const groups = new Map();
  for (const [id, c] of all) {
    const name = `${address(c.local)} → ${address(c.remote)}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push({ id, local: c.local, remote: c.remote });
  }
  const labels = labelsOf([...all.values()]);
  for (const v of groups.values()) {
    for (const p of v) p.label = labels.get(p.local + p.remote);
    v.sort((p, q) => p.label.localeCompare(q.label));
  }
  return [...groups].sort(([a], [b]) => a < b ? -1 : 1);
}

// scale is what most cells are below; a burst in one of them does not darken all others.
function scale(frames, key, m) {
  const v = [];
  for (const f of frames) for (const [, c] of f.peers.get(key)?.paths ?? []) if (c.state === "active") v.push(m.of(c) ?? 0);
  v.sort((a, b) => a - b);
  return nice(Math.max(m.least, v[Math.floor(0.98 * (v.length - 1))] ?? 0));
}

// heat draws the map and returns what is where, for the pointer, and its scale.
export function heat(canvas, series, key, mode) {
  const [c, w, h] = context(canvas), m = measures[mode], now = series.newest.t;
  const groups = rows(series.frames, key), n = groups.reduce((a, [, v]) => a + v.length, 0);
  let tall = Math.max(1, Math.min(22, (h - foot - groups.length * head) / Math.max(1, n)));
  if (tall > readable) tall = Math.floor(tall); // sharp, and as many pixels for all
  const side = gutters(tall), wide = w - side.left - side.right, top = scale(series.frames, key, m);
  const x = (t) => side.left + wide * (1 - (now - t) / spanMs), spots = [];
  let y = 0;
  for (const [name, paths] of groups) {
    c.fillStyle = ink.dim;
    c.textBaseline = "middle";
    c.fillText(name, side.left, y + head / 2 - 2);
    y += head;
    for (const p of paths) {
      row(c, series.frames, key, p, { x, y, tall, m, top, wide, w, side });
      spots.push({ y, tall, ...p });
      y += tall;
    }
  }
  axis(c, y + 5, x, now, side);
  return { spots, top, x };
}

// row draws one path: its cells, its label, and what it does now.
function row(c, frames, key, p, o) {
  const y = Math.round(o.y), inner = o.tall > 4 ? Math.round(o.tall) - 1 : Math.max(1, Math.round(o.y + o.tall) - y);
  c.fillStyle = ink.empty;
  c.fillRect(o.side.left, y, o.wide, inner);
  for (const f of frames) {
    const cell = f.peers.get(key)?.paths.get(p.id);
    if (!cell || f.from === f.t) continue;
    // Whole pixels, so that there are no seams between cells.
    const from = Math.round(Math.max(o.side.left, o.x(f.from))), to = Math.round(o.x(f.t));
    c.fillStyle = cell.state === "active" ? colour((o.m.of(cell) ?? 0) / o.top) : ink[cell.state] ?? ink.empty;
    c.fillRect(from, y, to - from, inner);
  }
  if (o.tall < readable) return;
  c.fillStyle = ink.dim;
  c.textAlign = "right";
  c.fillText(p.label, o.side.left - 8, o.y + inner / 2);
  c.textAlign = "left";
  const cell = frames[frames.length - 1].peers.get(key)?.paths.get(p.id);
  if (!cell) return;
  c.fillStyle = ink[said[cell.state]] ?? ink.text;
  const v = o.m.of(cell);
  c.fillText(cell.state !== "active" ? cell.state : v === null ? "" : o.m.say(v), o.w - o.side.right + 8, o.y + inner / 2);
}

// axis writes the seconds below.
function axis(c, y, x, now, side) {
  c.fillStyle = ink.dim;
  c.textBaseline = "top";
  c.textAlign = "center";
  for (let ago = 0; ago <= spanMs; ago += 30_000) {
    c.textAlign = side.left > 20 ? "center" : ago === 0 ? "right" : ago === spanMs ? "left" : "center";
    c.fillText(ago ? `−${ago / 1000} s` : "now", x(now - ago), y);
  }
  c.textAlign = "left";
  c.textBaseline = "middle";
}

// lines draws a chart. Each line is {colour, of(frame), fill}: the name of a colour, and a value, which is null in a gap.
export function lines(canvas, frames, list, say) {
  if (!frames.length) return;
  const [c, w, h] = context(canvas), left = 66, bottom = 18, high = h - bottom - 6, now = frames[frames.length - 1].t;
  let top = 0;
  for (const f of frames) for (const l of list) top = Math.max(top, l.of(f) ?? 0);
  top = nice(top);
  const x = (t) => left + (w - left - 4) * (1 - (now - t) / spanMs), y = (v) => 6 + high * (1 - v / top);
  c.textBaseline = "middle";
  for (const v of [0, top / 2, top]) {
    c.strokeStyle = ink.line;
    c.beginPath();
    c.moveTo(left, Math.round(y(v)) + 0.5);
    c.lineTo(w - 4, Math.round(y(v)) + 0.5);
    c.stroke();
    c.fillStyle = ink.dim;
    c.textAlign = "right";
    if (v) c.fillText(say(v), left - 6, y(v));
  }
  c.textAlign = "left";
  for (const l of list) line(c, frames, l, x, y);
  c.fillStyle = ink.dim;
  c.textBaseline = "bottom";
  c.fillText("−120 s", left, h);
  c.textAlign = "right";
  c.fillText("now", w - 4, h);
  c.textAlign = "left";
}

function line(c, frames, l, x, y) {
  c.strokeStyle = c.fillStyle = ink[l.colour];
  c.lineWidth = 1.6;
  c.lineJoin = "round";
  for (const run of runs(frames, l.of)) {
    c.beginPath();
    run.forEach(([t, v], i) => i ? c.lineTo(x(t), y(v)) : c.moveTo(x(t), y(v)));
    c.stroke();
    if (!l.fill) continue;
    c.lineTo(x(run[run.length - 1][0]), y(0));
    c.lineTo(x(run[0][0]), y(0));
    c.globalAlpha = 0.12;
    c.fill();
    c.globalAlpha = 1;
  }
  c.lineWidth = 1;
}

// runs are the stretches without gaps.
function runs(frames, of) {
  const all = [];
  let run = [];
  for (const f of frames) {
    const v = of(f);
    if (v === null || v === undefined) {
      if (run.length) all.push(run);
      run = [];
    } else {
      run.push([f.t, v]);
    }
  }
  if (run.length) all.push(run);
  return all;
}
