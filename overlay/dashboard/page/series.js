// What is drawn, worked out of samples: the counters of two neighbours make rates.

export const spanMs = 120_000; // as long as the daemon remembers
const gapMs = 3_000; // two samples further apart than this have nothing between them

// frameOf compares a sample with the one before.
function frameOf(s, before) {
  const dt = before ? (s.t - before.t) / 1000 : 0;
  const joined = dt > 0 && dt * 1000 < gapMs;
  const frame = { t: s.t, from: joined ? before.t : s.t, peers: new Map() };
  frame.out = joined ? 8 * since(s.read, before.read) / dt : null;
  frame.in = joined ? 8 * since(s.written, before.written) / dt : null;
  const old = new Map(joined ? before.peers.map((p) => [p.key + p.name, p]) : []);
  for (const p of s.peers) frame.peers.set(p.key + p.name, peerOf(p, old.get(p.key + p.name), dt));
  return frame;
}

// since is how much a counter grew; one that fell began again.
function since(now, before) { return now >= before ? now - before : now; }

function peerOf(p, before, dt) {
  const v = { key: p.key + p.name, name: p.name || p.key + "…", raw: p, paths: new Map(), active: 0, down: 0 };
  const old = new Map(before ? before.paths.map((a) => [a.l + a.r, a]) : []);
  let weights = 0, rtt = 0, queue = 0;
  v.worst = null;
  for (const a of p.paths) {
    const cell = cellOf(a, old.get(a.l + a.r), dt);
    v.paths.set(a.l + a.r, cell);
    if (a.s === "down") v.down++;
    if (a.s !== "active") continue;
    v.active++;
    weights += a.w + 1;
    rtt += (a.w + 1) * a.rtt;
    queue += (a.w + 1) * a.q;
    v.worst = Math.max(v.worst ?? 0, a.rtt / 1000);
  }
  v.rtt = weights ? rtt / weights / 1000 : null;
  v.queue = weights ? queue / weights / 1000 : null;
  v.wait = null;
  v.late = v.sent = v.again = 0;
  v.limit = "";
  if (before) compare(v, p, before, dt);
  return v;
}

// compare adds what takes two samples of a peer.
function compare(v, p, before, dt) {
  const frames = since(p.reordered, before.reordered);
  v.wait = frames ? since(p.held_us, before.held_us) / frames / 1000 : 0;
  v.late = frames / dt;
  v.sent = since(p.messages, before.messages) / dt;
  v.again = v.sent ? since(p.repeated, before.repeated) / dt / v.sent : 0;
  let most = 0;
  for (const [limit, us] of Object.entries(p.waited_us ?? {})) {
    const share = since(us, before.waited_us?.[limit] ?? 0) / (dt * 1e6);
    if (share > most) { most = share; v.limit = limit; v.limited = Math.min(1, share); }
  }
}

function cellOf(a, before, dt) {
  const cell = { local: a.l, remote: a.r, state: a.s, rtt: a.rtt / 1000, share: a.w / 1000, rate: null, loss: null };
  if (!before) return cell;
  const packets = since(a.p, before.p), lost = since(a.lost, before.lost);
  cell.rate = 8 * since(a.b, before.b) / dt;
  cell.loss = packets ? Math.min(1, lost / packets) : 0;
  return cell;
}

// Series is the last two minutes.
export class Series {
  constructor() { this.clear(); }

  clear() { this.frames = []; this.last = null; this.dead = new Map(); }

  // add takes a sample, in the order of time, and returns its frame.
  add(s) {
    if (this.last && (s.up < this.last.up || s.name !== this.last.name)) this.clear(); // another daemon
    if (this.last && s.t <= this.last.t) return null; // had already
    const frame = frameOf(s, this.last);
    this.last = s;
    this.frames.push(frame);
    while (this.frames[0].t < s.t - spanMs) this.frames.shift();
    return frame;
  }

  // newest is the last frame, or undefined.
  get newest() { return this.frames[this.frames.length - 1]; }

  // before is the frame ahead of the last.
  get before() { return this.frames[this.frames.length - 2]; }
}

const mostDead = 4096;

// changes puts into words what happened to paths and sessions since the frame before, for
// a daemon that does not tell. In dead it keeps the paths that are down, by peer: one may
// be taken out meanwhile, and come back as a new one.
export function changes(before, now, dead) {
  const lines = [];
  for (const key of dead.keys()) if (!now.peers.has(key)) dead.delete(key);
  for (const [key, p] of now.peers) {
    const known = dead.get(key) ?? new Set(), gone = [], back = [], all = [...p.paths.values()];
    for (const [id, c] of p.paths) {
      if (c.state === "down" && !known.has(id)) { known.add(id); gone.push(c); }
      if (c.state === "active" && known.delete(id)) back.push(c);
    }
    dead.set(key, known);
    if (gone.length) lines.push(["warning", `${count(gone.length)} to ${p.name} down: ${places(gone, all)}`]);
    if (back.length) lines.push(["notice", `${count(back.length)} to ${p.name} back: ${places(back, all)}`]);
    if (!all.length || known.size > mostDead) known.clear(); // those that never came back
    const q = before?.peers.get(key);
    if (q) lines.push(...sessions(q.raw, p.raw, p.name));
  }
  return lines;
}

// sessions tells of keys and answers.
function sessions(q, p, name) {
  const lines = [];
  if (!q.cipher && p.cipher) lines.push(["notice", `session with ${name}, ${p.cipher}`]);
  if (q.cipher && !p.cipher) lines.push(["warning", `no session with ${name} any more`]);
  if (!q.silent && p.silent) lines.push(["error", `${name} does not answer`]);
  if (q.silent && !p.silent) lines.push(["notice", `${name} answers again`]);
  return lines;
}

function count(n) { return n === 1 ? "1 path" : `${n} paths`; }

// address and port of "address:port".
export function address(at) { return at.slice(0, at.lastIndexOf(":")); }
function port(at) { return at.slice(at.lastIndexOf(":") + 1); }

// labelsOf names paths by the port that tells them apart: their own one, or with an
// arrow the peer's, where all of them leave by the same port.
export function labelsOf(cells) {
  const uses = new Map();
  for (const c of cells) uses.set(c.local, (uses.get(c.local) ?? 0) + 1);
  return new Map(cells.map((c) => [c.local + c.remote, uses.get(c.local) > 1 ? "→ " + port(c.remote) : port(c.local)]));
}

const mostNamed = 6;

// places names paths by their addresses, and some of them by their labels.
function places(cells, all) {
  const labels = labelsOf(all), by = new Map();
  for (const c of cells) {
    const name = `${address(c.local)} → ${address(c.remote)}`;
    by.set(name, [...(by.get(name) ?? []), labels.get(c.local + c.remote)]);
  }
  return [...by].map(([name, v]) => `${name}, ports ${v.slice(0, mostNamed).join(", ")}${v.length > mostNamed ? ", …" : ""}`).join("; ");
}
