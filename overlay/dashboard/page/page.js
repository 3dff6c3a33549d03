// The page: reads the stream, and shows the newest frame of the peer that is chosen.
import { Series, changes } from "./series.js";
import { bits, heat, lines, measures, millis } from "./draw.js";

const againMs = 5_000; // between tries to connect
const mostEvents = 200;
const series = new Series();
const el = (id) => document.getElementById(id);
let chosen = null, mode = "rate", drawn = null, pointer = null, told = 0;

// text sets what an element says, and its class. Names come from configurations: they
// are never put in as HTML.
function text(id, value, css = "") { el(id).textContent = value; el(id).className = css; }

function connect() {
  const stream = new EventSource("stream");
  stream.onopen = () => text("live", "live");
  stream.onmessage = (e) => take(JSON.parse(e.data));
  // It does not come back by itself: else the pages of one browser would take each other's place in turn.
  stream.addEventListener("gave-way", () => {
    text("live", "closed, because too many pages are open: reload to connect again", "off");
    stream.close();
  });
  stream.onerror = () => {
    text("live", "not connected", "off");
    stream.close();
    setTimeout(connect, againMs);
  };
}

function take(sample) {
  if (series.last && sample.up < series.last.up) {
    told = 0;
    note({ t: sample.t, level: "notice", text: "the daemon was started again" });
  }
  const frame = series.add(sample);
  if (!frame) return;
  for (const e of sample.events) {
    if (e.number > told) { told = e.number; note(e); }
  }
  if (!sample.told) for (const [level, line] of changes(series.before, frame, series.dead)) note({ t: sample.t, level, text: line });
  if (!frame.peers.has(chosen)) chosen = busiest(frame);
  schedule();
}

function note(e) {
  const list = el("events"), item = document.createElement("li"), time = document.createElement("time"), said = document.createElement("span");
  time.textContent = new Date(e.t).toLocaleTimeString("en-GB");
  said.textContent = (e.peer ? e.peer + ": " : "") + e.text;
  said.className = e.level;
  item.append(time, said);
  list.prepend(item);
  while (list.children.length > mostEvents) list.lastChild.remove();
}

// busiest is the peer whose paths carry most.
function busiest(frame) {
  let best = null, most = -1;
  for (const [key, p] of frame.peers) {
    const sent = p.raw.paths.reduce((a, b) => a + b.b, 0);
    if (sent > most) { most = sent; best = key; }
  }
  return best;
}

// schedule draws once, however many samples come at once, as those of the past do.
let due = false;
function schedule() {
  if (due) return;
  due = true;
  setTimeout(() => { due = false; show(); }, 0);
}

function show() {
  const f = series.newest;
  if (!f) return;
  const p = f.peers.get(chosen), s = series.last;
  document.title = `srdtun ${s.name}`;
  text("name", s.name);
  text("about", `${s.version} · up ${duration(s.up)}${s.left_out ? ` · ${s.left_out} not shown` : ""}`);
  showPeers(f);
  text("out", f.out === null ? "–" : bits(f.out));
  text("in", f.in === null ? "–" : bits(f.in));
  text("out-note", "of the whole interface");
  text("in-note", s.drops ? `${s.drops.toLocaleString("en")} drops since start` : "no drops since start");
  if (p) showPeer(p);
  const d = document.body.dataset;
  d.samples = series.frames.length;
  d.active = p ? p.active : 0;
  d.down = p ? p.down : 0;
  d.paths = p ? p.paths.size : 0;
  draw();
}

function showPeer(p) {
  text("rtt", p.rtt === null ? "–" : millis(p.rtt));
  text("rtt-note", p.queue === null ? "" : `${millis(p.queue)} of it in queues`);
  text("wait", p.wait === null ? "–" : p.wait ? millis(p.wait) : "none");
  text("wait-note", `${Math.round(p.late)} frames/s had to wait`);
  text("limit", p.limit ? limits[p.limit] ?? p.limit : "–");
  text("limit-note", p.limit ? `${Math.round(100 * p.limited)} % of the time` : "");
  text("paths", `${p.active} / ${p.paths.size}`, !p.active ? "bad" : p.active < p.paths.size ? "warn" : "");
  text("paths-note", `${p.raw.policy} · ${(100 * p.again).toFixed(1)} % sent again`);
}

// limits says in words what a daemon waits for; data is for the host to send any.
const limits = { data: "no data", window: "window", pacing: "pacing", paths: "paths", outbox: "outbox" };

function showPeers(f) {
  const bar = el("peers");
  const want = [...f.peers.values()].map((p) => [p.key, p.name, !p.raw.cipher ? "none" : p.raw.silent || !p.active ? "bad" : p.down ? "worse" : ""]);
  while (bar.children.length > want.length) bar.lastChild.remove();
  want.forEach(([key, name, css], i) => {
    let b = bar.children[i];
    if (!b) {
      b = document.createElement("button");
      b.onclick = () => { chosen = b.dataset.key; schedule(); };
      bar.append(b);
    }
    b.dataset.key = key;
    if (b.textContent !== name) b.textContent = name;
    b.className = css;
    b.setAttribute("aria-pressed", key === chosen);
  });
}

function draw() {
  drawn = heat(el("map"), series, chosen, mode);
  showLegend(drawn.top);
  const of = (field) => (f) => f.peers.get(chosen)?.[field];
  lines(el("chart-goodput"), series.frames, [
    { colour: "out", of: (f) => f.out, fill: true }, { colour: "in", of: (f) => f.in, fill: true },
  ], bits);
  lines(el("chart-rtt"), series.frames, [
    { colour: "in", of: of("worst") }, { colour: "warn", of: of("queue") }, { colour: "out", of: of("rtt"), fill: true },
  ], millis);
  lines(el("chart-wait"), series.frames, [{ colour: "out", of: of("wait"), fill: true }], millis);
  point();
}

function showLegend(top) {
  const parts = [["0", "ramp", measures[mode].say(top)], ["", "suspect", "suspect"], ["", "down", "down"]];
  el("legend").replaceChildren(...parts.map(([before, css, after]) => {
    const span = document.createElement("span"), i = document.createElement("i");
    i.className = css;
    span.append(before, i, after);
    return span;
  }));
}

// point says what is below the pointer.
function point() {
  const spot = pointer && drawn?.spots.find((s) => pointer.y >= s.y && pointer.y < s.y + s.tall);
  if (!spot) { text("hint", "Point at a path to see more."); return; }
  const frame = series.frames.find((f) => drawn.x(f.t) >= pointer.x) ?? series.newest, c = frame.peers.get(chosen)?.paths.get(spot.id);
  if (!c) { text("hint", ""); return; }
  text("hint", `${new Date(frame.t).toLocaleTimeString("en-GB")} · ${c.local} → ${c.remote} · ${c.state} · ` +
    `${bits(c.rate ?? 0)} · ${millis(c.rtt)} · ${(100 * (c.loss ?? 0)).toFixed(1)} % lost · share ${(100 * c.share).toFixed(1)} %`);
}

function duration(s) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) if (s >= 2 * size) return `${Math.floor(s / size)} ${unit}`;
  return `${s} s`;
}

el("map").onmousemove = (e) => { pointer = { x: e.offsetX, y: e.offsetY }; if (drawn) point(); };
el("map").onmouseleave = () => { pointer = null; if (drawn) point(); };
el("modes").onclick = (e) => {
  if (!e.target.dataset.mode) return;
  mode = e.target.dataset.mode;
  for (const b of el("modes").children) b.setAttribute("aria-pressed", b === e.target);
  schedule();
};
window.onresize = schedule;
matchMedia("(prefers-color-scheme: light)").onchange = schedule;
connect();
