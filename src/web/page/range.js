// The time range of the curves, which the timeline marks, and the crosshair in both.
import { $$, make } from './dom.js';
import { orZero } from './format.js';
import { endOf, view } from './model.js';

export const MINUTE = 60000;

// A time scale maps the times `start` to `end` to the pixels `left` to `right`. Each plot keeps its
// scale as `timeScale`.
export function xOf({ start, end, left, right }, time) {
  return left + (time - start) / (end - start) * (right - left);
}

export function timeAt({ start, end, left, right }, x) {
  return start + (x - left) / (right - left) * (end - start);
}

// Returns the start and the end of the range that is selected, and the choice.
export function selectedRange() {
  const { points, snapshot } = view;
  const first = points[0];
  const last = points.at(-1);
  const started = orZero(snapshot.job.started_ms);
  const end = Math.max(endOf(snapshot), last?.time ?? 0);
  const start = first ? Math.min(first.time - first.width, started || Infinity) : started;
  const choice = view.range || (end - start > 90 * MINUTE ? 60 * MINUTE : 'job');
  if (choice === 'job') return { start, end, choice };
  if (choice === 'attempt') {
    const began = points.find(point => point.attempt === last?.attempt);
    return { start: began ? began.time - began.width : start, end, choice };
  }
  return { start: Math.max(start, end - choice), end, choice };
}

// Draws the vertical line of the crosshair.
export function drawHair(svg, top, bottom) {
  $$('.hair', svg).forEach(line => line.remove());
  const scale = svg.timeScale;
  const time = view.hoverTime;
  if (time == null || !scale || time < scale.start || time > scale.end) return;
  const x = xOf(scale, time);
  svg.append(make('line', { class: 'hair', x1: x, x2: x, y1: top, y2: bottom }));
}
