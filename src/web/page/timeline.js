// The whole job: attempts, events, and the range of the curves. All plots share one crosshair.
import { $, make, plain, setText } from './dom.js';
import { clock, dayPrefix, duration, orZero, shortClock } from './format.js';
import { endOf, view } from './model.js';
import { drawHair, MINUTE, selectedRange, xOf } from './range.js';

const HEIGHT = 66;
const BAR = { y: 6, height: 14, rx: 1.5 };
const NARROW = 600;       // pixels; a narrower timeline has fewer labels
const MIN_DISTANCE = 3;   // pixels between marks
const TICK_MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080];
const ISSUE_COLOURS = { slow: 'var(--slow-fill)', stalled: 'var(--bad)' };

// Returns the intervals between changes of phase.
function phasesOf(snapshot, end) {
  const changes = (snapshot.events || []).filter(event => event.job_phase).map(event => ({
    from: event.time_ms,
    phase: event.job_phase,
    attempt: event.attempt || 0,
  }));
  const first = changes[0];
  const start = orZero(snapshot.job.started_ms) || first?.from || end;
  if (!first || first.from > start + 1000) {
    changes.unshift({
      from: start,
      phase: first ? '' : snapshot.job.state,
      attempt: first?.attempt ?? orZero(snapshot.job.attempt),
    });
  }
  return changes
    .map((change, index) => ({ ...change, to: changes[index + 1]?.from ?? end }))
    .filter(change => change.phase !== 'ended');
}

function isFailure({ rank, what }) {
  const text = what || '';
  if (rank == null || /with code 0\b|exit code 0\b/.test(text)) return false;
  return /exit|signal|kill|failed|ended/.test(text);
}

function eventMark(event) {
  const subject = event.rank != null ? `rank ${event.rank}` : event.node;
  const mark = { time: event.time_ms, reason: event.what };
  if (event.node_phase === 'reconnecting') {
    return { ...mark, glyph: '↻', text: `${subject} disconnected`, colour: 'disconnected' };
  }
  if (event.node_phase === 'lost') {
    return { ...mark, glyph: '✕', text: `${subject} lost`, colour: 'bad' };
  }
  return isFailure(event) ? { ...mark, glyph: '✕', text: subject, colour: 'bad' } : null;
}

function issueMark(issue) {
  const time = orZero(issue.since_ms);
  const mark = { time, reason: issue.what };
  if (time && issue.kind === 'slow') {
    const text = issue.ranks?.length ? `rank ${issue.ranks[0]}` : '';
    return { ...mark, glyph: '▲', text, colour: 'slow' };
  }
  if (time && issue.kind === 'stalled') {
    return { ...mark, glyph: '■', text: 'stalled', colour: 'bad' };
  }
  return null;
}

// Returns the marks of events and issues, sorted by time.
function marksOf({ events, issues }) {
  const marks = [...(events || []).map(eventMark), ...(issues || []).map(issueMark)];
  return marks.filter(Boolean).sort((a, b) => a.time - b.time);
}

// Returns round local times: at most `max` of them, unless they are a week apart.
function ticksOf(start, end, max) {
  const steps = TICK_MINUTES.map(minutes => minutes * MINUTE);
  const step = steps.find(size => (end - start) / size <= max) ?? steps.at(-1);
  const zone = new Date(start).getTimezoneOffset() * MINUTE;
  const ticks = [];
  for (let time = Math.ceil((start - zone) / step) * step + zone; time < end; time += step) {
    ticks.push(time);
  }
  return ticks;
}

function drawTicks(svg, scale, width) {
  for (const time of ticksOf(scale.start, scale.end, width < NARROW ? 4 : 12)) {
    const x = xOf(scale, time);
    if (x < 14 || x > width - 14) continue;
    svg.append(
      make('line', { x1: x, x2: x, y1: 4, y2: 52, class: 'grid' }),
      make('text', { x, y: 64, 'text-anchor': 'middle', class: 'ax' }, shortClock(time)));
  }
}

function phaseOpacity({ phase, attempt }, lastAttempt) {
  if (phase !== 'running') return phase ? 0.8 : 0.3;
  return attempt === lastAttempt ? 0.75 : 0.42;
}

function makePhase(phase, x, width, lastAttempt) {
  const running = phase.phase === 'running';
  const name = phase.phase || 'not known';
  const title = `${name}, attempt ${phase.attempt + 1}, ${duration(phase.to - phase.from)}`;
  const attributes = {
    x,
    y: BAR.y,
    width,
    height: BAR.height,
    rx: BAR.rx,
    fill: running ? 'var(--accent)' : 'var(--ink3)',
    opacity: phaseOpacity(phase, lastAttempt),
  };
  return make('rect', attributes, make('title', {}, title));
}

function makeAttemptLabel(attempt, x, width, isLast) {
  const attributes = {
    x: x + 6,
    y: 16.5,
    fill: isLast ? 'var(--bg)' : 'var(--ink)',
    'font-size': 10.5,
    'font-weight': 600,
    'pointer-events': 'none',
  };
  return make('text', attributes, width > 70 ? `attempt ${attempt + 1}` : attempt + 1);
}

function drawPhases(svg, scale, phases) {
  const lastAttempt = phases.at(-1)?.attempt ?? 0;
  const labelled = new Set();
  for (const phase of phases) {
    const { attempt } = phase;
    const x = xOf(scale, phase.from);
    const width = Math.max(1.5, xOf(scale, phase.to) - x - 0.8);
    svg.append(makePhase(phase, x, width, lastAttempt));
    if (phase.phase === 'running' && !labelled.has(attempt) && width > 16) {
      labelled.add(attempt);
      svg.append(makeAttemptLabel(attempt, x, width, attempt === lastAttempt));
    }
  }
}

function drawIssueBars(svg, scale, issues) {
  for (const issue of issues) {
    const since = orZero(issue.since_ms);
    const fill = ISSUE_COLOURS[issue.kind];
    if (!fill || !since) continue;
    const x = xOf(scale, Math.max(since, scale.start));
    const width = Math.max(2, xOf(scale, scale.end) - x);
    svg.append(make('rect', { x, y: BAR.y, width, height: BAR.height, rx: BAR.rx, fill }));
  }
}

// A label that would overlap the one before it is left out.
function drawMarks(svg, scale, marks, width) {
  let labelEnd = -1;
  let lastX = -9;
  for (const { time, glyph, text, colour, reason } of marks) {
    const x = xOf(scale, time);
    if (x - lastX < MIN_DISTANCE) continue;
    lastX = x;
    svg.append(make('line',
      { x1: x, x2: x, y1: 4, y2: 44, stroke: `var(--${colour})` },
      make('title', {}, `${clock(time)} ${plain(reason || '')}`)));
    const label = width < NARROW ? glyph : `${glyph} ${plain(text)}`;
    const length = label.length * 6 + 8;
    const isLeft = x + length > width;
    if ((isLeft ? x - length : x) < labelEnd) continue;
    labelEnd = isLeft ? x : x + length;
    svg.append(make('text', {
      x: x + (isLeft ? -4 : 4),
      y: 44,
      fill: `var(--${colour})`,
      'font-size': 10.5,
      'text-anchor': isLeft ? 'end' : 'start',
    }, label));
  }
}

// Marks the range of the curves.
function drawBracket(svg, scale, width) {
  const hasCurves = view.points.length > 0;
  if (hasCurves) {
    const x = xOf(scale, Math.max(scale.start, selectedRange().start));
    const bracket = `M${x} 54v-3H${width - 1}v3`;
    svg.append(make('path', { d: bracket, fill: 'none', stroke: 'var(--ink3)' }));
  }
  setText($('#tlnote'), hasCurves && width >= NARROW ? 'bracket: range of the curves' : '');
}

export const drawTimelineHair = () => drawHair($('#timeline svg'), 4, 52);

export function drawTimeline() {
  const { snapshot } = view;
  const svg = $('#timeline svg');
  const width = svg.clientWidth || 1000;
  const end = endOf(snapshot);
  const phases = phasesOf(snapshot, end);
  const start = Math.min(phases[0]?.from ?? end, end - 1000);
  const scale = { start, end, left: 1, right: width - 1 };
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
  svg.timeScale = scale;
  drawTicks(svg, scale, width);
  drawPhases(svg, scale, phases);
  drawIssueBars(svg, scale, snapshot.issues || []);
  drawMarks(svg, scale, marksOf(snapshot), width);
  drawBracket(svg, scale, width);
  drawTimelineHair();
}

let shownEvents = '';

export function drawEvents() {
  const events = view.snapshot.events || [];
  const last = events.at(-1);
  const now = view.job + events.length + (last?.time_ms ?? '');
  if (now === shownEvents) return;
  shownEvents = now;
  $('#events').hidden = !events.length;
  if (!last) return;
  const subjectOf = event => event.rank != null ? `rank ${event.rank}` : plain(event.node || '');
  const textOf = event => plain(event.what || '');
  const timeOf = event => clock(event.time_ms);
  const summary = `${timeOf(last)} ${subjectOf(last)} ${textOf(last)}`;
  setText($('#events summary'), `Events, ${events.length}; last: ${summary}`);
  $('#events ol').replaceChildren(...[...events].reverse().map(event => make('li', {},
    make('span', { title: dayPrefix(event.time_ms) }, timeOf(event)),
    make('span', {}, subjectOf(event)),
    make('span', {}, textOf(event)))));
}
