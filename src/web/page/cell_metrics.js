// The values that a cell of the grid may show.
const percent = value => value == null ? null : value * 100;
const gigabytes = value => value == null ? null : value / 1e9;
export const shareOf = (value, total) => value == null || !total ? null : value / total;

// `total` of a node, per cell.
const perCell = (total, node) => total ? total / node.cells.length : null;

// `value` is the number in the cell, `part` the share of the maximum, which selects the colour.
// `gpus`: whether the job must have GPUs, or must have none.
export const CELL_METRICS = {
  use: {
    name: 'use',
    unit: '%',
    gpus: true,
    value: ({ gpu }) => percent(gpu?.use),
    part: ({ gpu }) => gpu?.use,
  },
  mem: {
    name: 'memory',
    unit: 'GB',
    gpus: true,
    value: ({ gpu }) => gigabytes(gpu?.memory_used),
    part: ({ gpu }) => shareOf(gpu?.memory_used, gpu?.memory_total),
  },
  power: {
    name: 'power',
    unit: 'W',
    gpus: true,
    value: ({ gpu }) => gpu?.power ?? null,
    part: ({ gpu }) => shareOf(gpu?.power, gpu?.power_limit),
  },
  temp: {
    name: 'temp',
    unit: '°C',
    gpus: true,
    value: ({ gpu }) => gpu?.temperature ?? null,
    part: ({ gpu }) => gpu?.temperature == null ? null : (gpu.temperature - 30) / 60,
  },
  cpu: {
    name: 'cpu',
    unit: 'cores',
    digits: 1,
    gpus: false,
    value: ({ rank }) => rank?.cpu ?? null,
    part: ({ rank }, node) => shareOf(rank?.cpu, perCell(node.cores, node)),
  },
  rss: {
    name: 'memory',
    unit: 'GB',
    digits: 1,
    gpus: false,
    value: ({ rank }) => gigabytes(rank?.memory),
    part: ({ rank }, node) => shareOf(rank?.memory, perCell(node.memory, node)),
  },
  step: {
    name: 'step',
    unit: 's',
    digits: 2,
    value: ({ rank }) => rank?.stepTime ?? null,
    part: ({ rank }, node, { median }) => shareOf(rank?.stepTime, median ? median * 1.6 : null),
  },
};

// Returns the keys of the metrics that have values.
export function availableMetrics({ nodes, gpus }) {
  const cells = nodes.flatMap(node => node.cells);
  return Object.keys(CELL_METRICS).filter(key => {
    const metric = CELL_METRICS[key];
    const fits = metric.gpus == null || metric.gpus === gpus;
    return fits && cells.some(cell => metric.value(cell) != null);
  });
}
