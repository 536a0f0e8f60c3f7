// The list of jobs, with the shown job marked.
import { $, make, plain, setText } from './dom.js';
import { dayPrefix, duration, known, orZero, plural, shortClock } from './format.js';
import { commandOf, isOver, stateOf, view } from './model.js';

// Returns the progress in percent; null if it is unknown or the job is over.
function progressOf(job, progress) {
  const step = known(progress?.step);
  const total = known(progress?.total);
  return !isOver(job) && total ? Math.min(100, step / total * 100) : null;
}

function timeText(job) {
  const started = orZero(job.started_ms);
  const ended = orZero(job.ended_ms);
  if (!isOver(job)) return `since ${dayPrefix(started)}${shortClock(started)}`;
  const time = ended
    ? duration(ended - started).replace(/ min \d\d s$/, ' min')
    : shortClock(started);
  return dayPrefix(started) + time;
}

const shortState = text =>
  text.split(':')[0].replace('exit code', 'exit').replace('ended, ', '');

function makeItem({ status: job, nodes, progress, state, mark }) {
  const isShown = job.job_id === view.job;
  const current = isShown && view.snapshot ? view.snapshot : { state, mark, progress };
  const { className, glyph, text } = stateOf(current, job);
  const share = progressOf(job, current.progress);
  const over = isOver(job);
  const link = make('a',
    { href: '#' + job.job_id, 'aria-current': isShown ? 'page' : null, 'data-job': job.job_id },
    make('i', { class: 'g ' + className, title: text }, glyph),
    make('b', { title: plain((job.command || []).join(' ')) },
      job.name ? plain(job.name) : commandOf(job)),
    make('span', { class: 's' }, share == null ? '' : `${Math.round(share)} %`),
    make('small', {},
      make('span', { class: 'mono' }, job.job_id.slice(-6)),
      make('span', { class: over ? className : '' },
        over ? shortState(text) : plural(nodes, 'node')),
      make('span', {}, timeText(job))),
    share == null ? '' : make('span', { class: 'p' }, make('i', { style: `width:${share}%` })));
  return make('li', {}, link);
}

function makeGroup(head, jobs) {
  const items = jobs.length
    ? jobs.map(makeItem)
    : make('li', { class: 's', style: 'padding:4px 8px' }, 'none');
  return [
    make('h2', {}, head, make('span', {}, jobs.length)),
    make('ul', {}, items),
  ];
}

// Replaces the list; the focus and the scroll position stay.
function replaceList(elements) {
  const list = $('#jobs');
  const focused = list.contains(document.activeElement)
    ? document.activeElement.dataset.job
    : null;
  const scrollTop = list.scrollTop;
  list.replaceChildren(...elements);
  list.scrollTop = scrollTop;
  if (focused) $(`[data-job="${focused}"]`, list)?.focus();
}

let shownList = '';

export function drawJobs() {
  if (!view.jobs) return;
  const jobs = view.jobs.jobs;
  const elements = [
    ...makeGroup('Running', jobs.filter(job => !isOver(job.status))),
    ...makeGroup('Ended', jobs.filter(job => isOver(job.status))),
  ];
  const now = elements.map(element => element.outerHTML).join('');
  if (now !== shownList) {
    shownList = now;
    replaceList(elements);
  }
  setText($('#host'), view.jobs.host);
  drawOtherJobs(jobs.map(job => job.status).filter(job => job.job_id !== view.job));
}

let offered = '';

// Offers jobs to compare with.
function drawOtherJobs(jobs) {
  const now = jobs.map(job => job.job_id).join() + view.job;
  if (now === offered) return;
  offered = now;
  const select = $('#cmp');
  select.hidden = !jobs.length;
  select.replaceChildren(
    make('option', { value: '' }, 'Compare with…'),
    ...jobs.map(job => make('option',
      { value: job.job_id, selected: view.other?.job === job.job_id },
      `${job.job_id.slice(-6)} · ${job.name || commandOf(job)}`)));
}
