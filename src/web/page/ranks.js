// The ranks that matter most: the slowest, or those out of step, or how they ended.
import { $, E, plain, set } from './dom.js';
import { bytes, or0, span } from './format.js';
import { model, view } from './model.js';
import { pick } from './picked.js';

const ROWS = 5;
let columns = '';

function head(...names) {
  if (columns === names.join()) return;
  columns = names.join();
  $('#slow thead').replaceChildren(E('tr', {}, names.map((name, i) =>
    E('th', { class: i < 2 || name === 'Step time' ? 'l' : '', colspan: name === 'Step time' ? 2 : null }, name))));
}

const row = (rank, ...cells) => E('tr', { 'data-rank': rank.r, tabindex: -1, class: rank.mark, 'aria-selected': view.picked === rank.r, on: () => pick(rank.r, true) },
  E('td', { class: 'l' }, rank.r), E('td', { class: 'l' }, plain(rank.where)), ...cells);
const last = text => E('td', { title: plain(text) }, plain(text));

export function drawRanks() {
  const m = model(), top = m.worstFirst.slice(0, ROWS), now = or0(view.snapshot.time_ms);
  $('#slow').hidden = !top.length;
  const where = m.gpus ? 'GPU' : 'Node', stalled = (view.snapshot.issues || []).some(t => t.kind === 'KIND_STALLED');
  let rows;
  if (m.over) {
    set($('#slowh'), 'How the ranks ended');
    const well = m.ranks.every(rank => /code 0$/.test(rank.state));
    set($('#slownote'), well ? `all ${m.ranks.length} exited with code 0` : '');
    head('Rank', where, '');
    rows = well ? [] : top.map(rank => row(rank, last(rank.state || rank.last)));
  } else if (stalled || m.median == null) {
    set($('#slowh'), stalled ? 'Ranks out of step' : 'Ranks');
    set($('#slownote'), 'worst first, then those that have been silent longest');
    const facts = [['CPU', rank => rank.cpu == null ? null : rank.cpu.toFixed(1)], ['Memory', rank => rank.memory == null ? null : bytes(rank.memory)],
                   ['Silent for', rank => rank.wrote ? span(now - rank.wrote) : null]].filter(([, fact]) => top.some(rank => fact(rank) != null));
    head('Rank', where, ...facts.map(([name]) => name), 'Last line');
    rows = top.map(rank => row(rank, ...facts.map(([, fact]) => E('td', {}, fact(rank) ?? '–')), last(rank.cause || rank.last)));
  } else {
    const most = Math.max(...m.ranks.map(rank => rank.time || 0)), alike = most / m.median < 1.1;
    set($('#slowh'), alike ? 'Step times' : 'Slowest ranks');
    set($('#slownote'), `median ${m.median.toFixed(m.median < 10 ? 2 : 1)} s a step${alike ? '; all ranks within 10 % of it' : ''}`);
    head('Rank', where, 'Step time', '× median', 'Cause');
    rows = top.map(rank => row(rank,
      E('td', { class: 'l' }, E('span', { class: 'd' }, E('i', { style: `width:${rank.time ? rank.time / most * 100 : 0}%` }))),
      E('td', {}, rank.time ? `${rank.time.toFixed(rank.time < 10 ? 2 : 1)} s` : '–'), E('td', { class: 'v' }, rank.relative != null ? rank.relative.toFixed(2) : '–'),
      last(rank.cause || '')));
  }
  $('#slow tbody').replaceChildren(...rows);
}
