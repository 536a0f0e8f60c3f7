// The list of jobs, and which of them is looked at.
import { $, E, plain, set } from './dom.js';
import { dayOf, hm, known, or0, plural, span } from './format.js';
import { commandOf } from './head.js';
import { isOver, stateOf, view } from './model.js';

function item({ status: job, nodes, progress, state, mark }) {
  const mine = job.job_id === view.job, snapshot = mine && view.snapshot ? view.snapshot : null;
  const [cls, glyph, words] = stateOf(snapshot ?? { state, mark });
  const now = (snapshot ?? { progress }).progress, step = known(now?.step), total = known(now?.total);
  const over = isOver(job), share = !over && total ? Math.min(100, step / total * 100) : null, started = or0(job.started_ms);
  return E('li', {}, E('a', { href: '#' + job.job_id, 'aria-current': mine ? 'page' : null, 'data-job': job.job_id },
    E('i', { class: 'g ' + cls, title: words }, glyph), E('b', { title: plain((job.command || []).join(' ')) }, job.name ? plain(job.name) : commandOf(job)), E('span', { class: 's' }, share == null ? '' : `${Math.round(share)} %`),
    E('small', {}, E('span', { class: 'mono' }, job.job_id.slice(-6)), E('span', { class: over ? cls : '' }, over ? words.split(':')[0].replace('exit code', 'exit').replace('ended, ', '') : plural(nodes, 'node')),
      E('span', {}, over ? `${dayOf(started)}${or0(job.ended_ms) ? span(or0(job.ended_ms) - started).replace(/ min \d\d s$/, ' min') : hm(started)}` : `since ${dayOf(started)}${hm(started)}`)),
    share == null ? '' : E('span', { class: 'p' }, E('i', { style: `width:${share}%` }))));
}

let told = '';
export function drawJobs() {
  if (!view.jobs) return;
  const list = view.jobs.jobs, running = list.filter(j => !isOver(j.status)), over = list.filter(j => isOver(j.status));
  const nav = $('#jobs'), focus = nav.contains(document.activeElement) ? document.activeElement.dataset.job : null, scroll = nav.scrollTop;
  const made = [['Running', running], ['Ended', over]].flatMap(([head, jobs]) => [E('h2', {}, head, E('span', {}, jobs.length)),
    E('ul', {}, jobs.length ? jobs.map(item) : E('li', { class: 's', style: 'padding:4px 8px' }, 'none'))]);
  const now = made.map(e => e.outerHTML).join('');
  if (now !== told) {
    told = now;
    nav.replaceChildren(...made);
    nav.scrollTop = scroll;
    if (focus) $(`[data-job="${focus}"]`, nav)?.focus();
  }
  set($('#host'), view.jobs.host);
  drawOthers(list);
}

let others = '';
// Runs to compare with.
function drawOthers(list) {
  const choice = list.filter(j => j.status.job_id !== view.job), now = choice.map(j => j.status.job_id).join() + view.job;
  if (now === others) return;
  others = now;
  $('#cmp').hidden = !choice.length;
  $('#cmp').replaceChildren(E('option', { value: '' }, 'Compare with…'), ...choice.map(({ status: j }) => E('option', { value: j.job_id, selected: view.other?.job === j.job_id }, `${j.job_id.slice(-6)} · ${j.name || commandOf(j)}`)));
}
