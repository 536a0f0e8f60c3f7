// The time that the curves show, of which the timeline shows where it is, and the crosshair in both.
import { $$, E } from './dom.js';
import { or0 } from './format.js';
import { endOf, view } from './model.js';

export const MINUTE = 60000;

export function rangeOf() {
  const end = Math.max(endOf(view.snapshot), view.points.at(-1)?.t ?? 0), first = view.points[0];
  const start = first ? Math.min(first.t - first.w, or0(view.snapshot.job.started_ms) || Infinity) : or0(view.snapshot.job.started_ms);
  const range = view.range || (end - start > 90 * MINUTE ? 60 * MINUTE : 'job');
  if (range === 'job') return [start, end, range];
  if (range === 'attempt') {
    const attempt = view.points.at(-1)?.attempt, began = view.points.find(p => p.attempt === attempt);
    return [began ? began.t - began.w : start, end, range];
  }
  return [Math.max(start, end - range), end, range];
}

export function hair(svg, top, bottom) {
  $$('.hair', svg).forEach(e => e.remove());
  const t = view.hoverTime;
  if (t == null || !svg._x) return;
  const [a, b, l, r] = svg._x;
  if (t < a || t > b) return;
  const X = l + (t - a) / (b - a) * (r - l);
  svg.append(E('line', { class: 'hair', x1: X, x2: X, y1: top, y2: bottom }));
}
