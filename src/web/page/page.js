// The start, what happens when, and the keys.
import { $, $$, E, plain, set } from './dom.js';
import { drawCurves, hook } from './curves.js';
import { drawGrid, drawOne } from './grid.js';
import { drawBeat, drawHead, drawWhy } from './head.js';
import { drawJobs } from './jobs.js';
import { drawLog, hasLog, hideLog, openLog, resetLog, searchSoon, setFollow, startLog } from './log.js';
import { isOver, model, view } from './model.js';
import { onPick, pick } from './picked.js';
import { drawRanks } from './ranks.js';
import { drawEvents, drawTimeline } from './timeline.js';
import { follow, get, moreHistory, post } from './source.js';

const JOBS_MS = 3000, SLOW_MS = 2000;

// == What is shown ==
let due = 0, marks = '';
// At once: state, diagnosis, events, a rank's end. Cells, ranks and curves: every two seconds.
function draw() {
  if (!view.snapshot) return;
  $('#job').hidden = false;
  $('#nojob').hidden = true;
  drawHead();
  drawWhy();
  drawEvents();
  drawBeat();
  const now = view.job + model().ranks.map(r => r.mark + r.over).join() + model().nodes.map(n => n.away).join() + model().over;
  if (now !== marks || Date.now() >= due) {
    marks = now;
    due = Date.now() + (view.snapshot.sample_ms ? SLOW_MS : SLOW_MS / 2);
    drawGrid();
    drawRanks();
    if (view.hoverTime == null) drawTimeline();
  }
  drawLog();
}

async function history() {
  const job = view.job;
  if (!view.snapshot || document.hidden || (view.hoverTime != null && view.points.length)) return;
  try {
    const points = await moreHistory(job, view.points);
    if (job !== view.job || points === view.points) return;
    view.points = points;
    drawCurves();
    drawTimeline();
    drawHead();
  } catch { /* nothing is kept of it, or there is no connection: what there is stays */ }
}

let end = () => {};
function show(job) {
  end();
  resetLog();
  Object.assign(view, { job, snapshot: null, points: [], other: null, picked: null, hoverTime: null, received: 0, range: '' });
  $('#job').hidden = true;
  $('#charts').replaceChildren();
  $('#curves').hidden = true;
  $('#body').classList.add('nocurves');
  document.body.classList.remove('open');
  if (!job) return empty();
  say('', '');
  end = follow(job, {
    snapshot: snapshot => {
      const first = !view.snapshot;
      view.snapshot = snapshot;
      view.received = Date.now();
      due = first ? 0 : due;
      draw();
      if (first) { history(); drawJobs(); }
    },
    state: (state, why) => {
      view.live = state === 'lost' ? why : state;
      drawBeat();
      if (!view.snapshot && state === 'lost') once(job);
    },
  });
}

// Without a stream, as when 64 others look: how it is now.
async function once(job) {
  try {
    const snapshot = await get(`/api/jobs/${job}/snapshot`);
    if (job !== view.job || view.snapshot) return;
    Object.assign(view, { snapshot, received: Date.now() });
    draw();
    history();
  } catch (error) {
    if (job === view.job && !view.snapshot) say('Nothing is known of this job', error.message);
  }
}

function say(head, text, code) {
  $('#nojob').hidden = !head;
  set($('#nojob h1'), head);
  set($('#nojob span'), plain(text));
  $('#nojob code').hidden = !code;
}

function empty() {
  document.title = 'autodist';
  set($('#crumb'), 'jobs');
  say(view.jobs?.jobs.length ? 'No job is running on this machine' : 'There is no job on this machine',
    view.jobs?.jobs.length ? 'Those that have ended are in the list.' : 'Start one; it shows up here.', true);
}

// The job of the address; else the one that was meant on the command line; else the newest that runs.
function choose() {
  const wanted = decodeURIComponent(location.hash.slice(1)), list = view.jobs.jobs.map(j => j.status);
  const job = wanted || view.jobs.job || list.find(j => !isOver(j))?.job_id || list[0]?.job_id || '';
  if (job !== view.job || !job) show(job);
  drawJobs();
}

let asking = false;
async function jobs() {
  if (asking) return;
  asking = true;
  try {
    const first = !view.jobs;
    view.jobs = await get('/api/jobs');
    if (view.live !== 'live' && !view.job) view.live = 'live';
    if (first || !view.job) choose(); else drawJobs();
  } catch (error) {
    if (!view.job) view.live = 'no connection to autodist';
  }
  asking = false;
  drawBeat();
}

// == What one does ==
view.open = rank => pick(rank, true);
onPick((rank, open) => {
  if (!view.snapshot) return;
  if (open) openLog(rank, rank != null && model().byRank.get(rank)?.failed ? 'err' : 'out');
  drawGrid();
  drawRanks();
});

async function compare(job) {
  view.other = null;
  if (job) {
    try {
      view.other = { job: job.slice(-6), points: await moreHistory(job, []) };
    } catch {
      set($('#hovtime'), 'nothing is kept of how that job was');
    }
  }
  drawCurves();
}

async function stacks() {
  const list = $('#stacks ol');
  list.replaceChildren(E('li', {}, 'asking the nodes; up to 40 s'));
  $('#stacks').showModal();
  try {
    const told = await post(`/api/stacks?job=${view.job}`);
    list.replaceChildren(...(told.groups || []).map(g => E('li', {}, E('b', {}, `${(g.ranks || []).length === 1 ? 'rank' : 'ranks'} ${(g.ranks || []).join(', ')}${g.unlike_most ? ', unlike most' : ''}`),
      E('code', {}, plain(g.doing || g.missing || g.unknown || '')), g.called_by ? E('code', {}, plain('called by ' + g.called_by)) : '')), told.file ? E('li', { class: 's' }, `all of them: ${plain(told.file)}`) : '');
  } catch (error) {
    list.replaceChildren(E('li', { class: 'bad' }, plain(error.message)));
  }
}

function stop() {
  set($('#askwhat'), `${$('#name').textContent}, ${view.job}: its ranks get SIGTERM, and SIGKILL when its grace period is over.`);
  $('#ask').showModal();
}

const dark = () => document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
function theme(value) {
  document.documentElement.dataset.theme = value;
  try { localStorage.setItem('theme', value); } catch { /* not kept */ }
}

// == Keys ==
let going = 0;
const GOALS = { j: '#jobs [aria-current]', w: '#whys summary', t: '#timeline svg', g: '#grid .c[tabindex="0"]', s: '#slow', c: '#curves', l: '#lines' };
function step(by) {
  if ($('#jobs').contains(document.activeElement)) {
    const list = $$('#jobs a');
    return list[Math.min(list.length - 1, Math.max(0, list.indexOf(document.activeElement) + by))].focus();
  }
  const list = $$('#slow tbody tr').map(row => Number(row.dataset.rank)), i = list.indexOf(view.picked);
  if (list.length) pick(list[Math.min(list.length - 1, Math.max(0, i + by))], false);
}
const KEYS = {
  g: () => { going = Date.now(); }, j: () => step(1), k: () => step(-1), f: setFollow,
  '/': () => $('#lfind').focus(), d: () => theme(dark() ? 'light' : 'dark'), '?': () => $('#keys').showModal(),
  e: () => { const all = $$('#whys details'), open = !all[0]?.open; all.forEach(d => { d.open = open; }); },
};

function key(event) {
  if ($('dialog[open]')) return;
  if (event.key === 'Escape') {
    document.activeElement.blur();
    document.body.classList.remove('open');
    if ($('#lfind').value && hasLog()) { $('#lfind').value = ''; return searchSoon(true); }
    $('#lfind').value = '';
    return pick(null, true);
  }
  if (/INPUT|SELECT/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey || !view.snapshot) return;
  if (going && Date.now() - going < 1200) {
    going = 0;
    const goal = GOALS[event.key] && $(GOALS[event.key]);
    if (goal) { event.preventDefault(); goal.scrollIntoView({ block: 'nearest' }); goal.focus(); }
    return;
  }
  if (KEYS[event.key]) { event.preventDefault(); KEYS[event.key](); }
  else if (event.key === 'Enter' && view.picked != null && !/BUTTON|A|SUMMARY/.test(event.target.tagName)) { pick(view.picked, true); $('#lines').focus(); }
}

// == The start ==
try { const kept = localStorage.getItem('theme'); if (kept) document.documentElement.dataset.theme = kept; } catch { /* none */ }
const asked = new URLSearchParams(location.search).get('theme');
if (asked === 'dark' || asked === 'light') document.documentElement.dataset.theme = asked;
startLog();
hook($('#timeline svg'));
$('#theme').addEventListener('click', () => theme(dark() ? 'light' : 'dark'));
$('#help').addEventListener('click', () => $('#keys').showModal());
$('#menu').addEventListener('click', () => document.body.classList.toggle('open'));
$('#cmp').addEventListener('change', e => compare(e.target.value));
$('#dostacks').addEventListener('click', stacks);
$('#dostop').addEventListener('click', stop);
$('#askno').addEventListener('click', () => $('#ask').close());
$('#askyes').addEventListener('click', async () => {
  $('#ask').close();
  try { await post(`/api/stop?job=${view.job}`); } catch (error) { set($('#meta'), error.message); }
});
for (const dialog of $$('dialog')) dialog.addEventListener('click', e => { if (e.target === dialog) dialog.close(); });
addEventListener('keydown', key);
addEventListener('hashchange', () => view.jobs && choose());
document.addEventListener('visibilitychange', () => { hideLog(document.hidden); if (!document.hidden) { due = 0; draw(); history(); } });
new ResizeObserver(() => { if (view.snapshot) { drawTimeline(); drawCurves(); } }).observe($('main'));
setInterval(jobs, JOBS_MS);
setInterval(() => { history(); if (view.snapshot) { drawOne(); drawBeat(); } }, SLOW_MS);
jobs();
