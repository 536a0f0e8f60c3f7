// Curves of the job's history, in plain SVG.
import { addCrosshair, drawCrosshair, PLOT } from './crosshair.js';
import { $, $$, make, setText } from './dom.js';
import { count, shortClock } from './format.js';
import { currentModel, view } from './model.js';
import { MINUTE, selectedRange, xOf } from './range.js';
import { availableSeries, columnsOf, otherPoints, smooth } from './series.js';

const RANGES = [
  ['15 min', 15 * MINUTE],
  ['1 h', 60 * MINUTE],
  ['attempt', 'attempt'],
  ['job', 'job'],
];
const MAX_TICKS = 9;

// Returns a round distance between ticks, for about three of them.
function tickSize(low, high) {
  const wanted = (high - low) / 2.9;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 2.5, 5, 10].map(factor => factor * power).find(size => size >= wanted) ?? wanted;
}

// Returns the digits after the point that the tick needs.
function digitsOf(tick) {
  const isWhole = number => Math.abs(number - Math.round(number)) < 1e-6;
  return [0, 1, 2, 3, 4].find(digits => isWhole(tick * 10 ** digits)) ?? 5;
}

function drawTicks(svg, tick, { low, high, yOf }, right) {
  const digits = digitsOf(tick);
  let value = Math.ceil(low / tick) * tick;
  for (let ticks = 0; value <= high * 1.0001 && ticks < MAX_TICKS; ticks++) {
    const y = yOf(value);
    const label = digits ? value.toFixed(digits) : count(value);
    svg.append(
      make('line', { class: 'grid', x1: PLOT.left, x2: right, y1: y, y2: y }),
      make('text', { class: 'ax', x: PLOT.left - 5, y: y + 3.5, 'text-anchor': 'end' }, label));
    value += tick;
  }
}

function drawTimes(svg, { start, end }, width) {
  const makeTime = (x, anchor, text) =>
    make('text', { class: 'ax', x, y: PLOT.height - 2, 'text-anchor': anchor }, text);
  svg.append(
    makeTime(PLOT.left, null, shortClock(start)),
    makeTime((PLOT.left + width) / 2, 'middle', shortClock((start + end) / 2)),
    makeTime(width - 3, 'end', currentModel().over ? shortClock(end) : 'now'));
}

function eventColour(event) {
  if (event.node_phase === 'reconnecting') return 'disconnected';
  return event.job_phase === 'restarting' ? 'bad' : '';
}

function drawEventLines(svg, scale) {
  for (const event of view.snapshot.events || []) {
    const time = event.time_ms;
    const colour = eventColour(event);
    if (!colour || !(time > scale.start)) continue;
    const x = xOf(scale, time);
    const stroke = `var(--${colour})`;
    svg.append(make('line',
      { class: 'ev', x1: x, x2: x, y1: PLOT.top, y2: PLOT.bottom, stroke }));
  }
}

function linePath(columns, yOf) {
  let path = '';
  let command = 'M';
  for (const { x, sum, count: points } of columns) {
    if (points) path += `${command}${x} ${yOf(sum / points).toFixed(1)}`;
    command = points ? 'L' : 'M';
  }
  return path;
}

// Draws the area between the minima and maxima, if enough columns have several values.
function drawBand(svg, columns, yOf) {
  const present = columns.filter(column => column.count);
  if (present.filter(({ count: points, min, max }) => points > 1 && max > min).length <= 2) return;
  const upper = present.map(({ x, max }) => `${x} ${yOf(max).toFixed(1)}`);
  const lower = present.map(({ x, min }) => `${x} ${yOf(min).toFixed(1)}`).reverse();
  svg.append(make('path', { class: 'band', d: `M${upper.join('L')}L${lower.join('L')}Z` }));
}

// Returns the limit of the value of a GPU, or null.
function limitOf(series) {
  if (!series.limit) return null;
  const cells = currentModel().nodes.flatMap(node => node.cells);
  const gpu = cells.find(cell => cell.gpu)?.gpu;
  const limit = gpu ? series.limit(gpu) : null;
  return limit > 0 ? limit : null;
}

// Returns the lowest and the highest value of the axis, and the function that maps to pixels.
function valueScale(series, columns, limit) {
  let low = series.min ?? Math.min(...columns.map(column => column.min));
  let high = series.max ?? limit ?? Math.max(...columns.map(column => column.max));
  if (series.min == null) {
    const padding = (high - low) * 0.12 || Math.abs(high) * 0.1 || 1;
    low -= padding;
    high += padding;
  } else if (series.max == null && limit == null) {
    high = high * 1.12 || 1;
  }
  const yOf = value => {
    const clamped = Math.min(high, Math.max(low, value));
    return PLOT.bottom - (clamped - low) / (high - low) * (PLOT.bottom - PLOT.top);
  };
  return { low, high, yOf };
}

function drawLines(svg, series, mine, theirs, yOf) {
  drawBand(svg, mine, yOf);
  if (theirs.length) svg.append(make('path', { class: 'cmp', d: linePath(theirs, yOf) }));
  const opacity = series.metric ? 0.35 : null;
  svg.append(make('path', { class: 'ln', d: linePath(mine, yOf), opacity }));
  if (series.metric) svg.append(make('path', { class: 'ln', d: linePath(smooth(mine), yOf) }));
}

function drawCurve(figure, series, points, others, { start, end }) {
  const svg = $('svg', figure);
  const width = svg.clientWidth || 300;
  const scale = { start, end, left: PLOT.left, right: width - 3 };
  const mine = columnsOf(points, series, scale);
  const theirs = columnsOf(others, series, scale);
  const present = [...mine, ...theirs].filter(column => column.count);
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${width} ${PLOT.height}`);
  svg.timeScale = scale;
  figure.yOf = null;
  if (!present.length) {
    const attributes = { x: width / 2, y: 56, 'text-anchor': 'middle', class: 'nodata' };
    svg.append(make('text', attributes, 'nothing in this range'));
    return;
  }
  const limit = limitOf(series);
  const values = valueScale(series, present, limit);
  const tick = limit == null ? series.tick || tickSize(values.low, values.high) : limit / 2;
  drawTicks(svg, tick, values, scale.right);
  drawTimes(svg, scale, width);
  drawEventLines(svg, scale);
  drawLines(svg, series, mine, theirs, values.yOf);
  figure.yOf = values.yOf;
}

function makeFigure(series) {
  const svg = make('svg', {
    class: 'plot',
    height: PLOT.height,
    tabindex: 0,
    role: 'img',
    'aria-label': series.name,
  });
  addCrosshair(svg);
  const caption = make('figcaption', {},
    make('span', {}, series.name),
    make('b'),
    make('span', { class: 's' }, series.unit),
    make('span', { class: 's w2' }));
  return make('figure', { 'data-k': series.key }, caption, svg);
}

let builtFigures = '';

function buildFigures(list) {
  const now = view.job + list.map(series => series.key).join();
  if (now === builtFigures) return;
  builtFigures = now;
  $('#charts').replaceChildren(...list.map(makeFigure));
}

function drawRangeButtons(choice) {
  const choose = range => () => {
    view.range = range;
    drawCurves();
  };
  if (!$('#range').firstChild) {
    $('#range').append(...RANGES.map(([name, range]) =>
      make('button', { 'data-r': range, onClick: choose(range) }, name)));
  }
  for (const button of $$('#range button')) {
    button.setAttribute('aria-pressed', button.dataset.r === String(choice));
  }
}

export function drawCurves() {
  const list = availableSeries();
  $('#curves').hidden = !list.length;
  $('#body').classList.toggle('nocurves', !list.length);
  if (!list.length) return;
  buildFigures(list);
  const range = selectedRange();
  drawRangeButtons(range.choice);
  const isVisible = ({ time, width }) => time > range.start && time - width < range.end;
  const points = view.points.filter(isVisible);
  const others = otherPoints().filter(isVisible);
  for (const series of list) {
    const figure = $(`figure[data-k="${CSS.escape(series.key)}"]`, $('#charts'));
    figure.series = series;
    setText($('.s', figure), series.unit);
    drawCurve(figure, series, points, others, range);
  }
  drawCrosshair();
}
