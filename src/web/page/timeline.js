// The whole job: attempts, events, and where the curves are of it. One crosshair for all of them.
import { $, E, plain, set } from './dom.js';
import { clock, dayOf, hm, or0, span } from './format.js';
import { endOf, view } from './model.js';
import { hair, rangeOf } from './range.js';

const HEIGHT = 66;

// From each change of phase to the next.
function phases(snapshot, end) {
  const changes = (snapshot.events || []).filter(e => e.job_phase)
    .map(e => ({ from: Number(e.time_ms), phase: e.job_phase, attempt: e.attempt || 0 }));
  const start = or0(snapshot.job.started_ms) || changes[0]?.from || end;
  if (!changes.length || changes[0].from > start + 1000) {
    changes.unshift({ from: start, phase: changes.length ? '' : snapshot.job.phase, attempt: changes[0]?.attempt ?? or0(snapshot.job.attempt) });
  }
  return changes.map((c, i) => ({ ...c, to: changes[i + 1]?.from ?? end })).filter(c => c.phase !== 'JOB_PHASE_ENDED');
}

// Glyph, colour and words of what is worth a mark.
function marks(snapshot) {
  const list = [];
  for (const event of snapshot.events || []) {
    const t = Number(event.time_ms), who = event.rank != null ? `rank ${event.rank}` : event.node;
    if (event.node_phase === 'NODE_PHASE_RECONNECTING') list.push([t, '↻', `${who} away`, 'away', event.what]);
    else if (event.node_phase === 'NODE_PHASE_LOST') list.push([t, '✕', `${who} lost`, 'bad', event.what]);
    else if (event.rank != null && !/with code 0\b|exit code 0\b/.test(event.what || '') && /exit|signal|killed|kill|failed|ended/.test(event.what || '')) list.push([t, '✕', who, 'bad', event.what]);
  }
  for (const issue of snapshot.issues || []) {
    const t = or0(issue.since_ms), who = issue.ranks?.length ? `rank ${issue.ranks[0]}` : '';
    if (t && issue.kind === 'KIND_SLOW') list.push([t, '▲', who, 'slow', issue.what]);
    if (t && issue.kind === 'KIND_STALLED') list.push([t, '■', 'stalled', 'bad', issue.what]);
  }
  return list.sort((a, b) => a[0] - b[0]);
}

function ticks(start, end, most) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080].map(m => m * 60000);
  const step = steps.find(s => (end - start) / s <= most) ?? steps.at(-1);
  const zone = new Date(start).getTimezoneOffset() * 60000, list = [];
  for (let t = Math.ceil((start - zone) / step) * step + zone; t < end; t += step) list.push(t);
  return list;
}

export function drawTimeline() {
  const svg = $('#timeline svg'), snapshot = view.snapshot, w = svg.clientWidth || 1000, end = endOf(snapshot);
  const bars = phases(snapshot, end), start = Math.min(bars[0]?.from ?? end, end - 1000);
  const x = t => (t - start) / (end - start) * (w - 2) + 1, add = (...a) => svg.append(E(...a));
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${w} ${HEIGHT}`);
  svg._x = [start, end, 1, w - 1];
  for (const t of ticks(start, end, w < 600 ? 4 : 12)) {
    if (x(t) < 14 || x(t) > w - 14) continue;
    add('line', { x1: x(t), x2: x(t), y1: 4, y2: 52, class: 'grid' });
    add('text', { x: x(t), y: 64, 'text-anchor': 'middle', class: 'ax' }, hm(t));
  }
  const last = bars.at(-1)?.attempt ?? 0, labelled = new Set();
  for (const bar of bars) {
    const runs = bar.phase === 'JOB_PHASE_RUNNING';
    const width = Math.max(1.5, x(bar.to) - x(bar.from) - 0.8);
    add('rect', { x: x(bar.from), y: 6, width, height: 14, rx: 1.5, fill: runs ? 'var(--accent)' : 'var(--ink3)', opacity: runs ? (bar.attempt === last ? 0.75 : 0.42) : bar.phase ? 0.8 : 0.3 },
      E('title', {}, `${(bar.phase || 'not known').replace('JOB_PHASE_', '').toLowerCase()}, attempt ${bar.attempt + 1}, ${span(bar.to - bar.from)}`));
    if (runs && !labelled.has(bar.attempt) && width > 16) {
      labelled.add(bar.attempt);
      add('text', { x: x(bar.from) + 6, y: 16.5, fill: bar.attempt === last ? 'var(--bg)' : 'var(--ink)', 'font-size': 10.5, 'font-weight': 600, 'pointer-events': 'none' }, width > 70 ? `attempt ${bar.attempt + 1}` : bar.attempt + 1);
    }
  }
  for (const issue of snapshot.issues || []) {
    const t = or0(issue.since_ms), fill = { KIND_SLOW: 'var(--slow-fill)', KIND_STALLED: 'var(--bad)' }[issue.kind];
    if (fill && t) add('rect', { x: x(Math.max(t, start)), y: 6, width: Math.max(2, x(end) - x(Math.max(t, start))), height: 14, rx: 1.5, fill });
  }
  let free = -1, drawn = -9;
  for (const [t, glyph, words, colour, why] of marks(snapshot)) {
    const X = x(t), text = w < 600 ? glyph : `${glyph} ${plain(words)}`, long = text.length * 6 + 8;
    if (X - drawn < 3) continue;
    drawn = X;
    add('line', { x1: X, x2: X, y1: 4, y2: 44, stroke: `var(--${colour})` }, E('title', {}, `${clock(t)} ${plain(why || '')}`));
    const turned = X + long > w;
    if ((turned ? X - long : X) < free) continue;
    free = turned ? X : X + long;
    add('text', { x: X + (turned ? -4 : 4), y: 44, fill: `var(--${colour})`, 'font-size': 10.5, 'text-anchor': turned ? 'end' : 'start' }, text);
  }
  const [from] = rangeOf();
  if (view.points.length) add('path', { d: `M${x(Math.max(start, from))} 54v-3H${w - 1}v3`, fill: 'none', stroke: 'var(--ink3)' });
  set($('#tlnote'), view.points.length && w >= 600 ? 'bracket: range of the curves' : '');
  hair(svg, 4, 52);
}

let told = '';
export function drawEvents() {
  const events = view.snapshot.events || [], now = view.job + events.length + (events.at(-1)?.time_ms ?? '');
  if (now === told) return;
  told = now;
  const last = events.at(-1), who = e => e.rank != null ? `rank ${e.rank}` : plain(e.node || '');
  $('#events').hidden = !events.length;
  if (!last) return;
  set($('#events summary'), `Events, ${events.length}; last: ${clock(Number(last.time_ms))} ${who(last)} ${plain(last.what || '')}`);
  $('#events ol').replaceChildren(...[...events].reverse().map(e => E('li', {}, E('span', { title: dayOf(Number(e.time_ms)) }, clock(Number(e.time_ms))), E('span', {}, who(e)), E('span', {}, plain(e.what || '')))));
}
