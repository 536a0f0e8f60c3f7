// The crosshair that all plots share, and the values at it.
import { $, $$, make, setText } from './dom.js';
import { clock, count, rounded } from './format.js';
import { view } from './model.js';
import { drawHair, timeAt, xOf } from './range.js';
import { lowerBound } from './series.js';
import { drawTimelineHair } from './timeline.js';

export const PLOT = { height: 112, left: 34, top: 6, bottom: 97 };

const nearestPoint = time =>
  view.points[lowerBound(view.points, 'time', time, view.points.length - 1)];

function valueText(value, series) {
  if (value == null) return '–';
  if (series.metric) return value.toFixed(3);
  return series.digits != null ? value.toFixed(series.digits) : rounded(value);
}

// Marks the value of the point on the curve.
function drawDot(figure, svg, point, value) {
  const scale = svg.timeScale;
  const time = view.hoverTime;
  if (time == null || value == null || !scale || !figure.yOf) return;
  if (!(time >= scale.start && time <= scale.end)) return;
  const x = xOf(scale, point.time - point.width / 2);
  svg.append(make('circle', { class: 'dot', r: 3.2, cx: x, cy: figure.yOf(value) }));
}

function drawFigureHair(figure, point) {
  const svg = $('svg', figure);
  const series = figure.series;
  drawHair(svg, PLOT.top, PLOT.bottom);
  $$('.dot', svg).forEach(dot => dot.remove());
  if (!series) return;
  const value = point ? series.value(point) : null;
  setText($('b', figure), valueText(value, series));
  $('figcaption', figure).classList.toggle('hov', view.hoverTime != null);
  drawDot(figure, svg, point, value);
}

function hoverText(time, point) {
  if (time == null) return view.other ? `dashed: ${view.other.job}` : '';
  return `at ${clock(time)}${point?.step != null ? `, step ${count(point.step)}` : ''}`;
}

// Draws the crosshair and the values at it, or the last values.
export function drawCrosshair() {
  const time = view.hoverTime;
  const point = time == null ? view.points.at(-1) : nearestPoint(time);
  for (const figure of $$('#charts figure')) drawFigureHair(figure, point);
  drawTimelineHair();
  setText($('#hovtime'), hoverText(time, point));
}

function moveCrosshair({ start, end }, time) {
  view.hoverTime = Math.min(end, Math.max(start, time));
  drawCrosshair();
}

// Lets the pointer and the arrow keys move the crosshair on the plot.
export function addCrosshair(svg) {
  svg.addEventListener('pointermove', event => {
    const scale = svg.timeScale;
    if (!scale) return;
    moveCrosshair(scale, timeAt(scale, event.clientX - svg.getBoundingClientRect().left));
  });
  svg.addEventListener('pointerleave', () => {
    view.hoverTime = null;
    drawCrosshair();
  });
  svg.addEventListener('keydown', event => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const scale = svg.timeScale;
    if (!direction || !scale) return;
    event.preventDefault();
    const step = direction * (scale.end - scale.start) / 100;
    moveCrosshair(scale, (view.hoverTime ?? scale.end) + step);
  });
}
