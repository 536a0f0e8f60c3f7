// The grid of nodes × GPUs, or × ranks if no GPU is known: each cell is a button.
import { availableMetrics, CELL_METRICS, shareOf } from './cell_metrics.js';
import { $, $$, make, plain, setText } from './dom.js';
import { byteSize, duration, orZero } from './format.js';
import { currentModel, view } from './model.js';
import { pick } from './picked.js';
import { drawRankDetails } from './rank_details.js';

const MANY = 16;  // more nodes, or cells in a row, than this are drawn smaller
const FEW = 4;    // at most as many cells in a row are drawn larger
const SHADES = [0, 1, 2, 3, 4, 5, 6];
const FRESH_MS = 2000;
const MOVES = {
  ArrowLeft: { rows: 0, columns: -1 },
  ArrowRight: { rows: 0, columns: 1 },
  ArrowUp: { rows: -1, columns: 0 },
  ArrowDown: { rows: 1, columns: 0 },
};

function hasIssue(node) {
  return node.lost || node.disconnected ||
    node.cells.some(({ rank }) => rank?.mark && rank.mark !== 'wait');
}

// Sorts many nodes so that those with issues come first. The order changes only with their issues.
function nodeOrder({ nodes }) {
  const order = nodes.map((_, index) => index);
  if (nodes.length <= MANY) return order;
  return order.sort((a, b) => hasIssue(nodes[b]) - hasIssue(nodes[a]) || a - b);
}

// == Building the table ==
function moveFocus(event, row, column) {
  const move = MOVES[event.key];
  if (!move) return;
  event.preventDefault();
  $(`.c[data-n="${row + move.rows}"][data-i="${column + move.columns}"]`)?.focus();
}

function makeCell(model, row, column) {
  const rank = model.nodes[row].cells[column].rank;
  const number = rank?.number ?? null;
  const toggle = () => rank && pick(view.picked === number ? null : number, true);
  const hover = hovered => () => {
    view.hoverRank = hovered;
    drawRankDetails();
  };
  const button = make('button',
    { class: 'c', 'data-n': row, 'data-i': column, 'data-rank': number, onClick: toggle },
    make('small', {}, number ?? ''),
    make('b'),
    make('span', { class: 'm0' }),
    make('span', { class: 'm' }),
    make('i', { class: 'k', 'aria-hidden': true }));
  button.addEventListener('keydown', event => moveFocus(event, row, column));
  button.addEventListener('pointerenter', hover(number));
  button.addEventListener('pointerleave', hover(null));
  button.addEventListener('focus', hover(number));
  return make('td', {}, button);
}

function makeRow(model, row, columns) {
  const node = model.nodes[row];
  const details = make('div', { class: 'd' }, make('span'), make('span', { class: 'wide' }));
  return make('tr', { 'data-n': row },
    make('th', { scope: 'row' },
      make('b', {}, plain(node.name)),
      make('i', { class: 'g' }),
      details),
    columns.map(column =>
      column < node.cells.length ? makeCell(model, row, column) : make('td')));
}

function makeHead(columns, labelled) {
  const heads = columns.map(column => make('th', { scope: 'col' }, labelled ? column : ''));
  return make('thead', {}, make('tr', {}, make('th'), heads));
}

// Describes the nodes and ranks in the table: it is built again when they change.
function shapeOf(model, order) {
  const nodes = order.map(row => {
    const { name, cells } = model.nodes[row];
    return name + ':' + cells.map(({ rank }) => rank?.number ?? '').join(',');
  });
  return `${view.job}|${nodes.join(';')}${model.gpus}`;
}

function sizeClass(columns, nodes) {
  if (columns > MANY || nodes > MANY) return 'dense';
  return columns <= FEW ? 'few' : '';
}

let builtShape = '';
function build(model) {
  const order = nodeOrder(model);
  const shape = shapeOf(model, order);
  if (shape === builtShape) return;
  builtShape = shape;
  const width = Math.max(1, ...model.nodes.map(node => node.cells.length));
  const columns = Array.from({ length: width }, (_, column) => column);
  const table = $('#cells');
  table.className = sizeClass(width, model.nodes.length);
  table.replaceChildren(
    makeHead(columns, width > 1 && model.gpus),
    make('tbody', {}, order.map(row => makeRow(model, row, columns))));
}

// == Drawing the values ==
function endedText({ failed, state }) {
  if (failed) return /code (\d+)/.exec(state)?.[0].replace('code', 'exit') ?? 'failed';
  return /code 0$/.test(state) || state === 'ended' ? '✓' : '–';
}

// The text of a cell without a value.
function stateText(rank) {
  if (rank?.over) return endedText(rank);
  if (!rank?.wroteAt) return '';
  return view.snapshot.time_ms - rank.wroteAt < FRESH_MS ? '●' : '○';
}

function valueText(value, digits) {
  return digits === 2 && value < 1 ? value.toFixed(2).slice(1) : value.toFixed(digits);
}

function shadeOf(part) {
  const last = SHADES.length - 1;
  return part == null ? 0 : Math.min(last, Math.max(0, Math.floor(part * 6.999)));
}

function cellClass({ rank }, node, hasValue) {
  const names = ['c'];
  if (rank?.mark) names.push('m' + rank.mark);
  if (rank?.stale || node.lost) names.push('stale');
  if (!hasValue) names.push('none');
  return names.join(' ');
}

function markGlyph(rank) {
  const glyphs = { slow: '▲', bad: rank?.over ? '✕' : '■', disconnected: '↻', wait: '‖' };
  return glyphs[rank?.mark] || '';
}

function describe(button, rank, valueDescription) {
  const description = `${rank.name}, ${rank.where}, ${rank.state}${valueDescription} ${rank.cause}`;
  button.setAttribute('aria-pressed', view.picked === rank.number);
  button.setAttribute('aria-label', plain(description));
}

function drawMemory(button, gpu, hasValue) {
  const share = gpu ? shareOf(gpu.memory_used, gpu.memory_total) : null;
  const visible = hasValue && share != null;
  $('.m', button).style.width = visible ? share * 100 + '%' : 0;
  $('.m0', button).hidden = !visible;
}

function drawCell(button, cell, node, model, metric) {
  const rank = cell.rank;
  const value = rank?.over ? null : metric?.value(cell, node, model) ?? null;
  const hasValue = value != null;
  button.className = cellClass(cell, node, hasValue);
  if (hasValue) {
    const shade = shadeOf(metric.part(cell, node, model));
    const ink = shade > 4 ? '#fff' : 'var(--ink)';
    button.style.cssText = `--u:var(--u${shade});--t:${ink}`;
    setText($('b', button), valueText(value, metric.digits ?? 0));
  } else {
    button.style.cssText = '';
    setText($('b', button), stateText(rank));
  }
  drawMemory(button, cell.gpu, hasValue);
  setText($('.k', button), markGlyph(rank));
  const spoken = hasValue ? `, ${value.toFixed(metric.digits ?? 0)} ${metric.unit}` : '';
  if (rank) describe(button, rank, spoken);
  // Only one cell is in the tab order; arrow keys reach the others.
  const reachable = view.picked ?? model.ranks[0]?.number;
  button.tabIndex = (rank?.number ?? -1) === reachable ? 0 : -1;
}

function silenceText({ lost, disconnected, lastContact }) {
  if (lost) return 'lost';
  if (!disconnected) return '';
  return lastContact
    ? `silent for ${duration(orZero(view.snapshot.time_ms) - lastContact)}`
    : 'silent';
}

function drawNode(row, node, over) {
  const glyph = $('.g', row);
  glyph.className = 'g ' + (node.lost ? 'bad' : 'disconnected');
  if (node.lost) setText(glyph, '✕');
  else setText(glyph, node.disconnected ? '↻' : '');
  $('th', row).title = plain([node.name, node.detail].filter(Boolean).join(': '));
  const connected = !node.lost && !node.disconnected && !over;
  const cpu = node.cpu == null ? '' : `cpu ${Math.round(node.cpu * 100)} %`;
  const traffic = node.traffic == null ? '' : `${cpu && ' · '}${byteSize(node.traffic)}/s`;
  setText($('.d span', row), connected ? cpu : silenceText(node));
  setText($('.d .wide', row), connected ? traffic : '');
}

// Offers the metrics that have values, if they differ from those shown.
function offerMetrics(keys, gpus) {
  const shown = $$('#metric button').map(button => button.dataset.m);
  if (shown.join() === keys.join()) return;
  const show = key => () => {
    view.metric = key;
    drawGrid();
  };
  $('#metric').replaceChildren(...keys.map(key =>
    make('button', { 'data-m': key, onClick: show(key) }, CELL_METRICS[key].name)));
  const shades = SHADES.map(shade =>
    make('i', { class: 'r', style: `background:var(--u${shade})` }));
  $('#key').replaceChildren(
    make('span', {}, shades, 'low to high, in ', make('span', { class: 'unit' })),
    gpus ? make('span', {}, '▁ memory') : '');
}

export function drawGrid() {
  const model = currentModel();
  $('#grid').hidden = !model.nodes.some(node => node.cells.length);
  if ($('#grid').hidden) return;
  build(model);
  const keys = availableMetrics(model);
  const key = keys.includes(view.metric) ? view.metric : keys[0];
  const metric = CELL_METRICS[key];
  setText($('#gridh'), model.gpus ? 'GPUs' : 'Ranks');
  $('#metric').hidden = keys.length < 2 || model.over;
  offerMetrics(keys, model.gpus);
  $('#key').hidden = !keys.length || model.over;
  if (metric) setText($('#key .unit'), metric.unit);
  for (const button of $$('#metric button')) {
    button.setAttribute('aria-pressed', button.dataset.m === key);
  }
  for (const button of $$('.c')) {
    const node = model.nodes[button.dataset.n];
    drawCell(button, node.cells[button.dataset.i], node, model, metric);
  }
  for (const row of $$('#cells tbody tr')) {
    drawNode(row, model.nodes[row.dataset.n], model.over);
  }
  drawRankDetails();
}
