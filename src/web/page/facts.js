// The row of facts below the title of a job, and its progress bar.
import { $, $$, make, plain, setText } from './dom.js';
import { clock, count, dayPrefix, duration, known, orZero, rounded, shortClock } from './format.js';
import { endOf, isOver, view } from './model.js';

const ORDER = ['step', 'rate', 'metric', 'eta', 'elapsed', 'good', 'recovery'];
const MIN_RATES = 12;  // fewer have no meaningful median

function makeFact(key) {
  return make('div', { 'data-k': key },
    make('dt'),
    make('dd', {}, make('span'), make('small')),
    make('dd', { class: 'n' }));
}

// Returns the element of the fact. A note of null stays as it is.
function drawFact({ key, name, value, unit = '', note = '', className = '' }) {
  let element = $(`#facts [data-k=${key}]`);
  if (!element) {
    element = makeFact(key);
    $('#facts').append(element);
  }
  element.dataset.now = '1';
  setText($('dt', element), name);
  setText($('dd span', element), value);
  setText($('dd small', element), unit ? ' ' + unit : '');
  const noteElement = $('.n', element);
  if (note != null) setText(noteElement, note);
  noteElement.className = 'n ' + className;
  return element;
}

function drawStep(step, total, what) {
  const share = total ? `${(step / total * 100).toFixed(1)} %` : '';
  drawFact({
    key: 'step',
    name: 'Step',
    value: count(step),
    unit: total ? '/ ' + count(total) : '',
    note: [share, plain(what || '')].filter(Boolean).join(' · '),
  });
}

// Compares the rate with its usual value in the curves.
function rateNote(rate) {
  const rates = view.points.map(point => point.rate).filter(value => value > 0);
  if (rates.length < MIN_RATES) return '';
  rates.sort((a, b) => a - b);
  const excess = rate / rates[Math.floor(rates.length / 2)] - 1;
  if (Math.abs(excess) < 0.05) return 'as usual';
  const percent = Math.round(Math.abs(excess) * 100);
  return excess < 0 ? `▼ ${percent} % below the median` : `▲ ${percent} % above the median`;
}

function drawRate(rate, { slow, stalled }) {
  const fact = { key: 'rate', name: 'Rate', value: rounded(rate), unit: 'steps/s' };
  if (stalled) drawFact({ ...fact, note: 'no steps', className: 'bad' });
  else drawFact({ ...fact, note: rateNote(rate), className: slow ? 'slow' : '' });
}

function drawMetric(metric) {
  const name = plain(metric.name);
  const value = known(metric.value);
  const earlier = view.points.map(point => point['m:' + metric.name]).filter(item => item != null);
  const lowest = earlier.reduce((a, b) => Math.min(a, b), Infinity);
  drawFact({
    key: 'metric',
    name: name[0].toUpperCase() + name.slice(1),
    value: value == null ? 'not finite' : value.toFixed(3),
    note: earlier.length > 2 ? `lowest ${lowest.toFixed(3)}` : '',
  });
}

// Shows when the job ended, or when it may end.
function drawEnd(snapshot, eta, { over, stalled }) {
  const end = endOf(snapshot);
  if (over && orZero(snapshot.job.ended_ms)) {
    const note = dayPrefix(end).trim() || 'today';
    drawFact({ key: 'eta', name: 'Ended', value: shortClock(end), note });
  } else if (eta != null && !stalled) {
    const time = end + eta * 1000;
    const note = `at ${dayPrefix(time)}${shortClock(time)}`;
    drawFact({ key: 'eta', name: 'ETA', value: duration(eta * 1000), note });
  }
}

function drawElapsed(snapshot, over) {
  const started = orZero(snapshot.job.started_ms);
  if (!started) return;
  drawFact({
    key: 'elapsed',
    name: over ? 'Ran for' : 'Elapsed',
    value: duration(endOf(snapshot) - started),
    note: `since ${dayPrefix(started)}${clock(started)}`,
  });
}

// Returns how the time of the job was spent; training is the first part.
function timeParts(spent) {
  const other = orZero(spent.start_up) + orZero(spent.stopping) + orZero(spent.restarting);
  return [
    { name: 'training', time: orZero(spent.training), colour: 'var(--accent)' },
    { name: 'lost steps', time: orZero(spent.lost_steps), colour: 'var(--bad)' },
    { name: 'stalled', time: orZero(spent.stalled), colour: 'var(--slow-fill)' },
    { name: 'start-up, stopping, restarting', time: other, colour: 'var(--ink3)' },
  ];
}

const sum = parts => parts.reduce((time, part) => time + part.time, 0);

// Draws a bar of the parts in the note of a fact; returns the element for text below the bar.
function drawTimeParts(fact, parts) {
  const total = sum(parts);
  const note = $('.n', fact);
  if (!note.firstChild) {
    const bars = parts.map(part => make('i', { style: `background:${part.colour}` }));
    note.append(make('div', { class: 'time-parts' }, bars), make('span'));
  }
  $$('i', note).forEach((bar, index) => {
    const { time } = parts[index];
    bar.style.width = time / total * 100 + '%';
    bar.style.display = time ? '' : 'none';
  });
  note.title = parts
    .filter(part => part.time)
    .map(part => `${part.name} ${duration(part.time)}`)
    .join('\n');
  return $('span', note);
}

function drawGoodput(spent) {
  if (!spent) return;
  const parts = timeParts(spent);
  const total = sum(parts);
  if (total <= 0) return;
  const value = (parts[0].time / total * 100).toFixed(1);
  const fact = drawFact({ key: 'good', name: 'Goodput', value, unit: '%', note: null });
  const losses = parts.slice(1)
    .filter(part => part.time >= 1000)
    .sort((a, b) => b.time - a.time)
    .slice(0, 2)
    .map(part => `${part.name.split(',')[0]} ${duration(part.time)}`);
  if (!spent.steps_known) losses.push('steps unknown');
  setText(drawTimeParts(fact, parts), losses.join(' · '));
}

// The last restart: how long each part took, from the cause to the first step.
function drawRecovery(recoveries) {
  if (!recoveries?.length) return;
  const last = recoveries[recoveries.length - 1];
  const parts = [
    { name: 'notice', time: orZero(last.notice), colour: 'var(--bad)' },
    { name: 'stopping', time: orZero(last.stopping), colour: 'var(--ink3)' },
    { name: 'preparing', time: orZero(last.preparing), colour: 'var(--slow-fill)' },
    { name: 'starting', time: orZero(last.starting), colour: 'var(--ink3)' },
    { name: 'first step', time: orZero(last.first_step), colour: 'var(--accent)' },
  ];
  const total = sum(parts);
  if (total <= 0) return;
  const value = duration(total);
  const fact = drawFact({ key: 'recovery', name: 'Last restart', value, note: null });
  const longest = parts.reduce((one, other) => other.time > one.time ? other : one);
  setText(drawTimeParts(fact, parts), `${longest.name} ${duration(longest.time)}`);
}

function removeOldFacts() {
  for (const element of $$('#facts > div')) if (!element.dataset.now) element.remove();
}

function sortFacts() {
  const row = $('#facts');
  const elements = ORDER.map(key => $(`#facts [data-k=${key}]`)).filter(Boolean);
  if (elements.some((element, index) => row.children[index] !== element)) row.append(...elements);
  row.style.setProperty('--facts', elements.length);
}

// `share` is null if the progress is unknown.
function drawProgressBar(share) {
  const bar = $('#prog');
  bar.hidden = share == null;
  if (share == null) return;
  $('i', bar).style.width = Math.min(100, share * 100) + '%';
  bar.setAttribute('aria-valuenow', Math.round(share * 100));
}

// `condition`: whether the job is slow or stalled. Returns the progress as text.
export function drawFacts(snapshot, condition) {
  const progress = snapshot.progress || {};
  const over = isOver(snapshot.job);
  const step = known(progress.step);
  const total = known(progress.total);
  const rate = known(progress.rate);
  $$('#facts > div').forEach(element => delete element.dataset.now);
  if (step != null) drawStep(step, total, progress.what);
  if (rate != null && !over) drawRate(rate, condition);
  if (progress.metrics?.length) drawMetric(progress.metrics[0]);
  drawEnd(snapshot, known(progress.eta), { over, stalled: condition.stalled });
  drawElapsed(snapshot, over);
  drawGoodput(snapshot.goodput_parts);
  drawRecovery(snapshot.recoveries);
  removeOldFacts();
  sortFacts();
  const share = total && step != null ? step / total : null;
  drawProgressBar(share);
  return share == null ? '' : `${Math.floor(share * 100)} %`;
}
