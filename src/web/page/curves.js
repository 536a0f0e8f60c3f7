// Curves of the job's history, in plain SVG. One time under the crosshair for all of them.
import { $, $$, E, plain, set } from './dom.js';
import { clock, count, figure, hm } from './format.js';
import { model, view } from './model.js';
import { hair, MINUTE, rangeOf } from './range.js';

const H = 112, LEFT = 34, TOP = 6, BOTTOM = H - 15;
const RANGES = [['15 min', 15 * MINUTE], ['1 h', 60 * MINUTE], ['attempt', 'attempt'], ['job', 'job']];
const METRICS = 4;  // curves of these at most

// What is told of a point, as curves want it: `min` and `max` are of the axis.
const SERIES = [
  { key: 'rate', name: 'Rate', unit: 'steps/s', min: 0, value: p => p.rate },
  { key: 'gpu_use', name: 'GPU use', unit: '%', min: 0, max: 100, tick: 50, digits: 0, value: p => p.gpu_use == null ? null : p.gpu_use * 100 },
  { key: 'gpu_memory', name: 'GPU memory', unit: 'GB', min: 0, digits: 1, limit: g => g.memory_total / 1e9, value: p => p.gpu_memory == null ? null : p.gpu_memory / 1e9 },
  { key: 'gpu_power', name: 'GPU power', unit: 'W', min: 0, digits: 0, limit: g => g.power_limit, value: p => p.gpu_power },
  { key: 'net', name: 'Network', unit: '/s a node', min: 0, bytes: true, value: p => p.received == null && p.sent == null ? null : Math.max(p.received ?? 0, p.sent ?? 0) },
  { key: 'cpu', name: 'CPU', unit: '% of all cores', min: 0, max: 100, tick: 50, digits: 0, noGpu: true, value: p => p.cpu == null ? null : p.cpu * 100 },
  { key: 'memory', name: 'Memory', unit: ' a node', min: 0, bytes: true, noGpu: true, value: p => p.memory },
];

function series() {
  const names = [...new Set(view.points.flatMap(p => Object.keys(p).filter(k => k.startsWith('m:'))))];
  names.sort((a, b) => (b === 'm:loss') - (a === 'm:loss'));
  const metrics = names.slice(0, METRICS).map(key => ({ key, metric: true, name: plain(key.slice(2)).replace(/^./, c => c.toUpperCase()), unit: '', value: p => p[key] }));
  const there = SERIES.filter(s => view.points.some(p => s.value(p) != null));
  const gpu = there.some(s => s.key.startsWith('gpu'));
  return [...metrics, ...there.filter(s => !gpu || !s.noGpu).map(inUnit)];
}

const ticksOf = (lo, hi) => {
  const raw = (hi - lo) / 2.9, size = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].map(m => m * size).find(m => m >= raw) ?? raw;
};

const UNITS = [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3], ['B', 1]];
// Bytes in one unit, for all of the curve.
function inUnit(s) {
  if (!s.bytes) return s;
  const most = view.points.reduce((most, p) => Math.max(most, s.value(p) ?? 0), 0), [name, size] = UNITS.find(u => most >= u[1]) || UNITS.at(-1);
  return { ...s, unit: name + s.unit, digits: 1, value: p => s.value(p) == null ? null : s.value(p) / size };
}

// By columns of pixels: the mean, and the lowest and highest.
function columns(points, s, x) {
  const made = [];
  for (const p of points) {
    const v = s.value(p), X = Math.round(x(p.t - p.w / 2));
    const last = made.at(-1);
    if (v == null) { if (last && last.n) made.push({ X, n: 0 }); continue; }
    if (last?.n && last.X === X) {
      last.sum += v; last.n++; last.lo = Math.min(last.lo, v); last.hi = Math.max(last.hi, v);
    } else {
      // A gap in what was told is one in the curve, too.
      if (last?.n && p.t - p.w - last.t > 3 * Math.max(p.w, last.w, 2000)) made.push({ X, n: 0 });
      made.push({ X, sum: v, n: 1, lo: v, hi: v });
    }
    Object.assign(made.at(-1), { t: p.t, w: p.w });
  }
  return made;
}

function path(list, y) {
  let d = '', pen = 'M';
  for (const c of list) {
    if (!c.n) { pen = 'M'; continue; }
    d += `${pen}${c.X} ${y(c.sum / c.n).toFixed(1)}`;
    pen = 'L';
  }
  return d;
}

// The other run as this one's: at the same steps, or where none are told after the same time.
function otherPoints() {
  const mine = view.points, theirs = view.other?.points;
  if (!theirs?.length) return [];
  const by = theirs.some(p => p.step) && mine.some(p => p.step) ? 'step' : 't';
  const zero = by === 't' ? [mine[0].t - mine[0].w, theirs[0].t - theirs[0].w] : [0, 0];
  const sorted = theirs.filter(p => p[by] != null).sort((a, b) => a[by] - b[by]);
  return mine.filter(p => p[by] != null).map(p => {
    const want = p[by] - zero[0] + zero[1];
    let lo = 0, hi = sorted.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (sorted[mid][by] < want) lo = mid + 1; else hi = mid; }
    return lo < sorted.length ? { ...sorted[lo], t: p.t, w: p.w } : null;
  }).filter(Boolean);
}

function axis(svg, s, lo, hi, y, w, t0, t1) {
  const tick = s.tick || ticksOf(lo, hi);
  const digits = [0, 1, 2, 3, 4].find(n => Math.abs(tick * 10 ** n - Math.round(tick * 10 ** n)) < 1e-6) ?? 5;
  const label = v => digits ? v.toFixed(digits) : count(v);
  for (let v = Math.ceil(lo / tick) * tick, n = 0; v <= hi * 1.0001 && n < 9; v += tick, n++) {
    svg.append(E('line', { class: 'grid', x1: LEFT, x2: w - 3, y1: y(v), y2: y(v) }), E('text', { class: 'ax', x: LEFT - 5, y: y(v) + 3.5, 'text-anchor': 'end' }, label(v)));
  }
  svg.append(E('text', { class: 'ax', x: LEFT, y: H - 2 }, hm(t0)), E('text', { class: 'ax', x: (LEFT + w) / 2, y: H - 2, 'text-anchor': 'middle' }, hm((t0 + t1) / 2)),
    E('text', { class: 'ax', x: w - 3, y: H - 2, 'text-anchor': 'end' }, model().over ? hm(t1) : 'now'));
}

function draw(figure_, s, points, others, t0, t1) {
  const svg = $('svg', figure_), w = svg.clientWidth || 300, right = w - 3;
  const x = t => LEFT + (t - t0) / (t1 - t0) * (right - LEFT);
  const mine = columns(points, s, x), theirs = columns(others, s, x), all = [...mine, ...theirs].filter(c => c.n);
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${w} ${H}`);
  svg._x = [t0, t1, LEFT, right];
  figure_._y = null;
  if (!all.length) { svg.append(E('text', { x: w / 2, y: 56, 'text-anchor': 'middle', class: 'nodata' }, 'nothing in this range')); return; }
  const gpu = s.limit && model().nodes.flatMap(n => n.cells).find(c => c.gpu)?.gpu, limit = gpu ? s.limit(gpu) : null;
  let lo = s.min ?? Math.min(...all.map(c => c.lo)), hi = s.max ?? (limit > 0 ? limit : Math.max(...all.map(c => c.hi)));
  if (s.min == null) { const pad = (hi - lo) * 0.12 || Math.abs(hi) * 0.1 || 1; lo -= pad; hi += pad; } else if (s.max == null && !(limit > 0)) hi = hi * 1.12 || 1;
  const y = v => BOTTOM - (Math.min(hi, Math.max(lo, v)) - lo) / (hi - lo) * (BOTTOM - TOP);
  axis(svg, limit > 0 ? { ...s, tick: limit / 2 } : s, lo, hi, y, w, t0, t1);
  for (const event of view.snapshot.events || []) {
    const t = Number(event.time_ms), colour = event.node_phase === 'NODE_PHASE_RECONNECTING' ? 'away' : event.job_phase === 'JOB_PHASE_RESTARTING' ? 'bad' : '';
    if (colour && t > t0) svg.append(E('line', { class: 'ev', x1: x(t), x2: x(t), y1: TOP, y2: BOTTOM, stroke: `var(--${colour})` }));
  }
  const band = mine.filter(c => c.n > 1 && c.hi > c.lo);
  if (band.length > 2) svg.append(E('path', { class: 'band', d: 'M' + mine.filter(c => c.n).map(c => `${c.X} ${y(c.hi).toFixed(1)}`).join('L') + 'L' + mine.filter(c => c.n).reverse().map(c => `${c.X} ${y(c.lo).toFixed(1)}`).join('L') + 'Z' }));
  if (theirs.length) svg.append(E('path', { class: 'cmp', d: path(theirs, y) }));
  svg.append(E('path', { class: 'ln', d: path(mine, y), opacity: s.metric ? 0.35 : null }));
  if (s.metric) svg.append(E('path', { class: 'ln', d: path(smooth(mine), y) }));
  figure_._y = y;
}

// Both ways, so that it does not lag; anew behind gaps and jumps.
function smooth(list) {
  const oneWay = columns_ => {
    let mean = null;
    return columns_.map(c => {
      if (!c.n) return (mean = null);
      const v = c.sum / c.n;
      mean = mean == null || Math.abs(v - mean) > Math.abs(mean) * 0.2 ? v : mean * 0.88 + v * 0.12;
      return mean;
    });
  };
  const there = oneWay(list), back = oneWay([...list].reverse()).reverse();
  return list.map((c, i) => c.n ? { ...c, sum: (there[i] + back[i]) / 2, n: 1 } : c);
}

let built = '';
export function drawCurves() {
  const box = $('#charts'), list = series();
  $('#curves').hidden = !list.length;
  $('#body').classList.toggle('nocurves', !list.length);
  if (!list.length) return;
  const now = view.job + list.map(s => s.key).join();
  if (now !== built) {
    built = now;
    box.replaceChildren(...list.map(s => {
      const svg = E('svg', { class: 'plot', height: H, tabindex: 0, role: 'img', 'aria-label': s.name });
      hook(svg);
      return E('figure', { 'data-k': s.key }, E('figcaption', {}, E('span', {}, s.name), E('b'), E('span', { class: 's' }, s.unit), E('span', { class: 's w2' })), svg);
    }));
  }
  const [t0, t1, range] = rangeOf();
  if (!$('#range').firstChild) $('#range').append(...RANGES.map(([name, r]) => E('button', { 'data-r': r, on: () => { view.range = r; drawCurves(); } }, name)));
  $$('#range button').forEach(b => b.setAttribute('aria-pressed', b.dataset.r === String(range)));
  const points = view.points.filter(p => p.t > t0 && p.t - p.w < t1), others = otherPoints().filter(p => p.t > t0 && p.t - p.w < t1);
  for (const s of list) {
    const figure_ = $(`figure[data-k="${CSS.escape(s.key)}"]`, box);
    figure_._s = s;
    set($('.s', figure_), s.unit);
    draw(figure_, s, points, others, t0, t1);
  }
  cross();
}

const nearest = t => {
  const list = view.points;
  let lo = 0, hi = list.length - 1;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (list[mid].t < t) lo = mid + 1; else hi = mid; }
  return list[lo];
};

// The crosshair, and the values under it.
export function cross() {
  const t = view.hoverTime, at = t == null ? view.points.at(-1) : nearest(t);
  for (const figure_ of $$('#charts figure')) {
    const svg = $('svg', figure_), s = figure_._s;
    hair(svg, TOP, BOTTOM);
    $$('.dot', svg).forEach(e => e.remove());
    if (!s) continue;
    const v = at ? s.value(at) : null;
    set($('b', figure_), v == null ? '–' : s.metric ? v.toFixed(3) : s.digits != null ? v.toFixed(s.digits) : figure(v));
    $('figcaption', figure_).classList.toggle('hov', t != null);
    const [a, b, l, r] = svg._x || [];
    if (t != null && v != null && figure_._y && t >= a && t <= b) svg.append(E('circle', { class: 'dot', r: 3.2, cx: l + (at.t - at.w / 2 - a) / (b - a) * (r - l), cy: figure_._y(v) }));
  }
  hair($('#timeline svg'), 4, 52);
  set($('#hovtime'), t == null ? (view.other ? `dashed: ${view.other.job}` : '') : `at ${clock(t)}${at?.step != null ? `, step ${count(at.step)}` : ''}`);
}

export function hook(svg) {
  svg.addEventListener('pointermove', e => {
    if (!svg._x) return;
    const [a, b, l, r] = svg._x;
    view.hoverTime = Math.min(b, Math.max(a, a + (e.clientX - svg.getBoundingClientRect().left - l) / (r - l) * (b - a)));
    cross();
  });
  svg.addEventListener('pointerleave', () => { view.hoverTime = null; cross(); });
  svg.addEventListener('keydown', e => {
    const d = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!d || !svg._x) return;
    e.preventDefault();
    const [a, b] = svg._x;
    view.hoverTime = Math.min(b, Math.max(a, (view.hoverTime ?? b) + d * (b - a) / 100));
    cross();
  });
}
