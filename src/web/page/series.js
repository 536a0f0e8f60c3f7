// The values that have curves, and the columns of pixels that show them.
import { plain } from './dom.js';
import { SIZES } from './format.js';
import { view } from './model.js';
import { xOf } from './range.js';

const MAX_METRICS = 4;
const UNITS = [...SIZES, ['B', 1]];

const scaled = (value, factor) => value == null ? null : value * factor;

// `min` and `max` are of the axis; `limit` of a GPU is the maximum if it is known. A `hostOnly`
// curve is left out if there are curves of GPUs. `bytes` are shown in a unit that fits.
const SERIES = [
  {
    key: 'rate',
    name: 'Rate',
    unit: 'steps/s',
    min: 0,
    value: point => point.rate,
  },
  {
    key: 'gpu_use',
    name: 'GPU use',
    unit: '%',
    min: 0,
    max: 100,
    tick: 50,
    digits: 0,
    value: point => scaled(point.gpu_use, 100),
  },
  {
    key: 'gpu_memory',
    name: 'GPU memory',
    unit: 'GB',
    min: 0,
    digits: 1,
    limit: gpu => gpu.memory_total / 1e9,
    value: point => point.gpu_memory == null ? null : point.gpu_memory / 1e9,
  },
  {
    key: 'gpu_power',
    name: 'GPU power',
    unit: 'W',
    min: 0,
    digits: 0,
    limit: gpu => gpu.power_limit,
    value: point => point.gpu_power,
  },
  {
    key: 'net',
    name: 'Network',
    unit: '/s per node',
    min: 0,
    bytes: true,
    value: ({ received, sent }) =>
      received == null && sent == null ? null : Math.max(received ?? 0, sent ?? 0),
  },
  {
    key: 'cpu',
    name: 'CPU',
    unit: '% of all cores',
    min: 0,
    max: 100,
    tick: 50,
    digits: 0,
    hostOnly: true,
    value: point => scaled(point.cpu, 100),
  },
  {
    key: 'memory',
    name: 'Memory',
    unit: ' per node',
    min: 0,
    bytes: true,
    hostOnly: true,
    value: point => point.memory,
  },
];

// Converts bytes to one unit for the whole curve.
function inUnit(series) {
  if (!series.bytes) return series;
  const max = view.points.reduce((value, point) => Math.max(value, series.value(point) ?? 0), 0);
  const [name, size] = UNITS.find(([, unit]) => max >= unit) || UNITS.at(-1);
  return {
    ...series,
    unit: name + series.unit,
    digits: 1,
    value: point => {
      const value = series.value(point);
      return value == null ? null : value / size;
    },
  };
}

function metricSeries(key) {
  const name = plain(key.slice(2)).replace(/^./, letter => letter.toUpperCase());
  return { key, metric: true, name, unit: '', value: point => point[key] };
}

// Returns the series that have values: first the metrics of the program, with its loss in front.
export function availableSeries() {
  const keys = view.points.flatMap(point => Object.keys(point));
  const metrics = [...new Set(keys.filter(key => key.startsWith('m:')))];
  metrics.sort((a, b) => (b === 'm:loss') - (a === 'm:loss'));
  const present = SERIES.filter(({ value }) => view.points.some(point => value(point) != null));
  const hasGpus = present.some(({ key }) => key.startsWith('gpu'));
  return [
    ...metrics.slice(0, MAX_METRICS).map(metricSeries),
    ...present.filter(series => !hasGpus || !series.hostOnly).map(inUnit),
  ];
}

// Returns the index of the first item whose value is at least `wanted`; `end` if it is missing.
export function lowerBound(items, name, wanted, end = items.length) {
  let low = 0;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle][name] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Maps the other job to this one: by step, or by time since the start if steps are unknown.
export function otherPoints() {
  const mine = view.points;
  const theirs = view.other?.points;
  if (!theirs?.length) return [];
  const hasSteps = theirs.some(point => point.step) && mine.some(point => point.step);
  const name = hasSteps ? 'step' : 'time';
  const myStart = hasSteps ? 0 : mine[0].time - mine[0].width;
  const theirStart = hasSteps ? 0 : theirs[0].time - theirs[0].width;
  const sorted = theirs.filter(point => point[name] != null).sort((a, b) => a[name] - b[name]);
  return mine.filter(point => point[name] != null).map(({ [name]: value, time, width }) => {
    const other = sorted[lowerBound(sorted, name, value - myStart + theirStart)];
    return other ? { ...other, time, width } : null;
  }).filter(Boolean);
}

// A gap in the data is a gap in the curve.
const isGap = (column, { time, width }) =>
  time - width - column.time > 3 * Math.max(width, column.width, 2000);

function addToColumn(column, value) {
  column.sum += value;
  column.count++;
  column.min = Math.min(column.min, value);
  column.max = Math.max(column.max, value);
}

// Reduces the points to one per column of pixels: mean, min and max. A column with a count of zero
// is a gap.
export function columnsOf(points, series, scale) {
  const columns = [];
  for (const point of points) {
    const { time, width } = point;
    const value = series.value(point);
    const x = Math.round(xOf(scale, time - width / 2));
    const last = columns.at(-1);
    const hasLast = last && last.count > 0;
    if (value == null) {
      if (hasLast) columns.push({ x, count: 0 });
      continue;
    }
    if (hasLast && last.x === x) {
      addToColumn(last, value);
    } else {
      if (hasLast && isGap(last, point)) columns.push({ x, count: 0 });
      columns.push({ x, sum: value, count: 1, min: value, max: value });
    }
    Object.assign(columns.at(-1), { time, width });
  }
  return columns;
}

// Returns the means; each depends on those before it. Restarts at gaps and jumps.
function smoothOneWay(columns) {
  let mean = null;
  return columns.map(({ sum, count }) => {
    if (!count) {
      mean = null;
      return mean;
    }
    const value = sum / count;
    const isJump = mean == null || Math.abs(value - mean) > Math.abs(mean) * 0.2;
    mean = isJump ? value : mean * 0.88 + value * 0.12;
    return mean;
  });
}

// Smooths in both directions, so that it does not lag.
export function smooth(columns) {
  const forward = smoothOneWay(columns);
  const backward = smoothOneWay([...columns].reverse()).reverse();
  return columns.map((column, index) => {
    if (!column.count) return column;
    return { ...column, sum: (forward[index] + backward[index]) / 2, count: 1 };
  });
}
