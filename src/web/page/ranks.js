// The most relevant ranks: the slowest, those out of step, or how they ended.
import { $, make, plain, setText } from './dom.js';
import { byteSize, duration, orZero } from './format.js';
import { currentModel, view } from './model.js';
import { pick } from './picked.js';

const MAX_ROWS = 5;
const ALIKE = 1.1;  // step times below this multiple of the median need no attention

const seconds = time => `${time.toFixed(time < 10 ? 2 : 1)} s`;

let shownColumns = '';

function drawColumns(...names) {
  const now = names.join();
  if (shownColumns === now) return;
  shownColumns = now;
  const heads = names.map((name, index) => make('th', {
    class: index < 2 || name === 'Step time' ? 'l' : '',
    colspan: name === 'Step time' ? 2 : null,
  }, name));
  $('#slow thead').replaceChildren(make('tr', {}, heads));
}

function makeRow(rank, ...cells) {
  const attributes = {
    'data-rank': rank.number,
    tabindex: -1,
    class: rank.mark,
    'aria-selected': view.picked === rank.number,
    onClick: () => pick(rank.number, true),
  };
  return make('tr', attributes,
    make('td', { class: 'l' }, rank.number),
    make('td', { class: 'l' }, plain(rank.where)),
    ...cells);
}

const makeLastCell = text => make('td', { title: plain(text) }, plain(text));

function drawEndedRanks(model, worst, place) {
  const good = model.ranks.every(rank => /code 0$/.test(rank.state));
  const all = model.ranks.length > 1 ? `all ${model.ranks.length} ` : '';
  setText($('#slowh'), 'How the ranks ended');
  setText($('#slownote'), good ? `${all}exited with code 0` : '');
  drawColumns('Rank', place, '');
  if (good) return [];
  return worst.map(rank => makeRow(rank, makeLastCell(rank.state || rank.lastLine)));
}

// Shows the activity of the ranks if step times are unknown or the job is stalled.
function drawActivity(worst, place, stalled) {
  const now = orZero(view.snapshot.time_ms);
  const columns = [
    ['CPU', rank => rank.cpu == null ? null : rank.cpu.toFixed(1)],
    ['Memory', rank => rank.memory == null ? null : byteSize(rank.memory)],
    ['Silent for', rank => rank.wroteAt ? duration(now - rank.wroteAt) : null],
  ].filter(([, textOf]) => worst.some(rank => textOf(rank) != null));
  setText($('#slowh'), stalled ? 'Ranks out of step' : 'Ranks');
  setText($('#slownote'), 'worst first, then those that have been silent longest');
  drawColumns('Rank', place, ...columns.map(([name]) => name), 'Last line');
  return worst.map(rank => makeRow(rank,
    ...columns.map(([, textOf]) => make('td', {}, textOf(rank) ?? '–')),
    makeLastCell(rank.cause || rank.lastLine)));
}

function drawStepTimes(model, worst, place) {
  const max = Math.max(...model.ranks.map(rank => rank.stepTime || 0));
  const alike = max / model.median < ALIKE;
  const note = alike ? '; all ranks within 10 % of it' : '';
  setText($('#slowh'), alike ? 'Step times' : 'Slowest ranks');
  setText($('#slownote'), `median ${seconds(model.median)} a step${note}`);
  drawColumns('Rank', place, 'Step time', '× median', 'Cause');
  return worst.map(rank => {
    const width = rank.stepTime ? rank.stepTime / max * 100 : 0;
    const bar = make('span', { class: 'd' }, make('i', { style: `width:${width}%` }));
    return makeRow(rank,
      make('td', { class: 'l' }, bar),
      make('td', {}, rank.stepTime ? seconds(rank.stepTime) : '–'),
      make('td', { class: 'v' }, rank.relative != null ? rank.relative.toFixed(2) : '–'),
      makeLastCell(rank.cause));
  });
}

export function drawRanks() {
  const model = currentModel();
  const worst = model.worstFirst.slice(0, MAX_ROWS);
  const place = model.gpus ? 'GPU' : 'Node';
  const stalled = (view.snapshot.issues || []).some(issue => issue.kind === 'stalled');
  $('#slow').hidden = !worst.length;
  let rows;
  if (model.over) rows = drawEndedRanks(model, worst, place);
  else if (stalled || model.median == null) rows = drawActivity(worst, place, stalled);
  else rows = drawStepTimes(model, worst, place);
  $('#slow tbody').replaceChildren(...rows);
}
