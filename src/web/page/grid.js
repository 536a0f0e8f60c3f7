// Nodes × GPUs, or × ranks where no GPU is known, each cell a button; and the rank that is meant.
import { $, $$, E, plain, set } from './dom.js';
import { bytes, clock, or0, span } from './format.js';
import { model, view } from './model.js';
import { pick } from './picked.js';

const MANY = 16;  // nodes, or cells in a row, that get less room
const share = (value, most) => value == null || !most ? null : value / most;
// What a cell may show: name, whether it is of a GPU, value, unit, and how much of what there is.
const METRICS = {
  use: { gpu: true, name: 'use', unit: '%', value: c => c.gpu?.use == null ? null : c.gpu.use * 100, part: c => c.gpu?.use },
  mem: { gpu: true, name: 'memory', unit: 'GB', value: c => c.gpu?.memory_used == null ? null : c.gpu.memory_used / 1e9, part: c => share(c.gpu?.memory_used, c.gpu?.memory_total) },
  power: { gpu: true, name: 'power', unit: 'W', value: c => c.gpu?.power ?? null, part: c => share(c.gpu?.power, c.gpu?.power_limit) },
  temp: { gpu: true, name: 'temp', unit: '°C', value: c => c.gpu?.temperature ?? null, part: c => c.gpu?.temperature == null ? null : (c.gpu.temperature - 30) / 60 },
  cpu: { name: 'cpu', unit: 'cores', digits: 1, value: c => c.rank?.cpu ?? null, part: (c, n) => share(c.rank?.cpu, n.cores ? n.cores / n.cells.length : null) },
  rss: { name: 'memory', unit: 'GB', digits: 1, value: c => c.rank?.memory == null ? null : c.rank.memory / 1e9, part: (c, n) => share(c.rank?.memory, n.memory ? n.memory / n.cells.length : null) },
  step: { name: 'step', unit: 's', digits: 2, value: c => c.rank?.time ?? null, part: (c, n, m) => share(c.rank?.time, m.median ? m.median * 1.6 : null) },
};

// Those of which something is known.
function metrics(m) {
  return Object.keys(METRICS).filter(key => (!METRICS[key].gpu || m.gpus) && (!m.gpus || !['cpu', 'rss'].includes(key)) &&
    m.nodes.some(n => n.cells.some(c => METRICS[key].value(c) != null)));
}

// Of many nodes, those with issues first: an order that changes with their issues alone.
function orderOf(m) {
  const order = m.nodes.map((_, i) => i), bad = n => n.lost || n.away || n.cells.some(c => c.rank?.mark && c.rank.mark !== 'wait');
  return m.nodes.length > MANY ? order.sort((a, b) => bad(m.nodes[b]) - bad(m.nodes[a]) || a - b) : order;
}

let shape = '';
function build(m) {
  const table = $('#cells'), columns = Math.max(1, ...m.nodes.map(n => n.cells.length)), order = orderOf(m);
  const now = view.job + '|' + order.map(i => m.nodes[i]).map(n => n.name + ':' + n.cells.map(c => c.rank?.r ?? '').join(',')).join(';') + m.gpus;
  if (now === shape) return;
  shape = now;
  table.className = columns > MANY || m.nodes.length > MANY ? 'dense' : columns <= 4 ? 'few' : '';
  const cell = (n, i) => {
    const rank = m.nodes[n].cells[i].rank;
    const b = E('button', { class: 'c', 'data-n': n, 'data-i': i, 'data-rank': rank?.r ?? null, on: () => rank && pick(view.picked === rank.r ? null : rank.r, true) },
      E('small', {}, rank?.r ?? ''), E('b'), E('span', { class: 'm0' }), E('span', { class: 'm' }), E('i', { class: 'k', 'aria-hidden': true }));
    const hover = r => () => { view.hoverRank = r; drawOne(); };
    b.addEventListener('keydown', e => move(e, n, i));
    b.addEventListener('pointerenter', hover(rank?.r ?? null));
    b.addEventListener('pointerleave', hover(null));
    b.addEventListener('focus', hover(rank?.r ?? null));
    return E('td', {}, b);
  };
  const tall = Array.from({ length: columns }, (_, i) => i);
  table.replaceChildren(E('thead', {}, E('tr', {}, E('th'), tall.map(i => E('th', { scope: 'col' }, columns > 1 && m.gpus ? i : '')))),
    E('tbody', {}, order.map(n => E('tr', { 'data-n': n }, E('th', { scope: 'row' }, E('b', {}, plain(m.nodes[n].name)), E('i', { class: 'g' }), E('div', { class: 'd' }, E('span'), E('span', { class: 'wide' }))),
      tall.map(i => i < m.nodes[n].cells.length ? cell(n, i) : E('td'))))));
}

function move(event, n, i) {
  const [dn, di] = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key] || [];
  if (dn == null) return;
  event.preventDefault();
  $(`.c[data-n="${n + dn}"][data-i="${i + di}"]`)?.focus();
}

function drawCell(b, cell, node, m, metric) {
  const rank = cell.rank, mark = rank?.mark || '', value = rank?.over ? null : METRICS[metric]?.value(cell, node, m) ?? null;
  const part = value == null ? null : METRICS[metric].part(cell, node, m), none = value == null;
  const u = part == null ? 0 : Math.min(6, Math.max(0, Math.floor(part * 6.999)));
  b.className = 'c' + (mark ? ' m' + mark : '') + (rank?.stale || node.lost ? ' stale' : '') + (none ? ' none' : '');
  b.style.cssText = none ? '' : `--u:var(--u${u});--t:${u > 4 ? '#fff' : 'var(--ink)'}`;
  const fresh = rank && view.snapshot.time_ms - rank.wrote < 2000;
  const word = rank?.over ? (rank.failed ? /code (\d+)/.exec(rank.state)?.[0].replace('code', 'exit') ?? 'failed' : /code 0$/.test(rank.state) || rank.state === 'ended' ? '✓' : '–') : rank?.wrote ? (fresh ? '●' : '○') : '';
  const digits = METRICS[metric]?.digits ?? 0;
  set($('b', b), none ? word : digits === 2 && value < 1 ? value.toFixed(2).slice(1) : value.toFixed(digits));
  const memory = cell.gpu ? share(or0(cell.gpu.memory_used), or0(cell.gpu.memory_total)) : null;
  $('.m', b).style.width = none || memory == null ? 0 : memory * 100 + '%';
  $('.m0', b).hidden = none || memory == null;
  set($('.k', b), { slow: '▲', bad: rank?.over ? '✕' : '■', away: '↻', wait: '‖' }[mark] || '');
  if (rank) {
    b.setAttribute('aria-pressed', view.picked === rank.r);
    b.setAttribute('aria-label', plain(`${rank.name}, ${rank.where}, ${rank.state}${none ? '' : `, ${Math.round(value)} ${METRICS[metric].unit}`} ${rank.cause}`));
  }
  b.tabIndex = (rank?.r ?? -1) === (view.picked ?? m.ranks[0]?.r) ? 0 : -1;
}

export function drawGrid() {
  const m = model();
  $('#grid').hidden = !m.nodes.some(n => n.cells.length);
  if ($('#grid').hidden) return;
  build(m);
  const list = metrics(m), over = m.over;
  const metric = list.includes(view.metric) ? view.metric : list[0];
  set($('#gridh'), m.gpus ? 'GPUs' : 'Ranks');
  $('#metric').hidden = list.length < 2 || over;
  if ($$('#metric button').map(b => b.dataset.m).join() !== list.join()) {
    $('#metric').replaceChildren(...list.map(key => E('button', { 'data-m': key, on: () => { view.metric = key; drawGrid(); } }, METRICS[key].name)));
    $('#key').replaceChildren(E('span', {}, [0, 1, 2, 3, 4, 5, 6].map(u => E('i', { class: 'r', style: `background:var(--u${u})` })), 'low to high, in ', E('span', { class: 'unit' })), m.gpus ? E('span', {}, '▁ memory') : '');
  }
  $('#key').hidden = !list.length || over;
  if (metric) set($('#key .unit'), METRICS[metric].unit);
  $$('#metric button').forEach(b => b.setAttribute('aria-pressed', b.dataset.m === metric));
  for (const b of $$('.c')) {
    const node = m.nodes[b.dataset.n];
    drawCell(b, node.cells[b.dataset.i], node, m, metric);
  }
  $$('#cells tbody tr').forEach(tr => {
    const node = m.nodes[tr.dataset.n], glyph = $('.g', tr);
    glyph.className = 'g ' + (node.lost ? 'bad' : 'away');
    set(glyph, node.lost ? '✕' : node.away ? '↻' : '');
    $('th', tr).title = plain([node.name, node.detail].filter(Boolean).join(': '));
    const told = !node.lost && !node.away && !over, cpu = node.cpu == null ? '' : `cpu ${Math.round(node.cpu * 100)} %`;
    set($('.d span', tr), told ? cpu : node.lost ? 'lost' : node.away ? (node.lastContact ? `no word, ${span(or0(view.snapshot.time_ms) - node.lastContact)}` : 'no word') : '');
    set($('.d .wide', tr), told && node.net != null ? `${cpu && ' · '}${bytes(node.net)}/s` : '');
  });
  drawOne();
}

export function drawOne() {
  const m = model(), rank = m.byRank.get(view.hoverRank ?? view.picked ?? m.worstFirst[0]?.r);
  if (!rank) return $('#one').replaceChildren();
  const bits = [E('b', {}, plain(rank.name)), rank.where, rank.gpu == null && rank.local != null ? '' : '', rank.pid && !rank.over ? `pid ${rank.pid}` : '', plain(rank.state)];
  if (!rank.over) {
    for (const gpu of rank.gpus.slice(0, 1)) {
      if (gpu.use != null) bits.push(`${Math.round(gpu.use * 100)} %`);
      if (gpu.memory_used) bits.push(`${(gpu.memory_used / 1e9).toFixed(1)} of ${Math.round(gpu.memory_total / 1e9)} GB`);
      if (gpu.power != null) bits.push(`${Math.round(gpu.power)}${gpu.power_limit ? ` of ${Math.round(gpu.power_limit)}` : ''} W`);
      if (gpu.temperature != null) bits.push(`${Math.round(gpu.temperature)} °C`);
      if (gpu.clock != null) bits.push(`${Math.round(gpu.clock)} MHz`);
      if (or0(gpu.ecc_errors)) bits.push(E('span', { class: 'bad' }, `${gpu.ecc_errors} ECC errors`));
      if (gpu.xid) bits.push(E('span', { class: 'bad' }, `XID ${gpu.xid}`));
    }
    if (rank.cpu != null) bits.push(`${rank.cpu.toFixed(1)} cores`);
    if (rank.memory != null && !rank.gpus.length) bits.push(bytes(rank.memory));
    if (rank.wrote) bits.push(`wrote ${span(or0(view.snapshot.time_ms) - rank.wrote)} ago`);
    if (rank.cause) bits.push(E('span', { class: rank.mark }, plain(rank.cause)));
    if (rank.stale) bits.push(E('span', { class: 'away' }, `values of ${clock(m.nodes[rank.node]?.lastContact || or0(view.snapshot.time_ms))}`));
  }
  $('#one').replaceChildren(...bits.filter(Boolean).map(bit => E('span', {}, bit)));
}
