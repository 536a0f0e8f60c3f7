// Starts the page, and shows the job that is selected.
import { startActions } from './actions.js';
import { addCrosshair } from './crosshair.js';
import { drawCurves } from './curves.js';
import { $, $$, plain, setText } from './dom.js';
import { drawGrid } from './grid.js';
import { drawBeat, drawHead } from './head.js';
import { drawIssues } from './issues.js';
import { drawJobs } from './jobs.js';
import { showKeys, startKeys } from './keys.js';
import { drawLog, hideLog, openLog, resetLog, startLog } from './log.js';
import { currentModel, isOver, view } from './model.js';
import { onPick } from './picked.js';
import { drawRankDetails } from './rank_details.js';
import { drawRanks } from './ranks.js';
import { follow, get, moreHistory } from './source.js';
import { startTheme, toggleTheme } from './theme.js';
import { drawEvents, drawTimeline } from './timeline.js';

const JOBS_MS = 3000;
const SLOW_MS = 2000;

// == Drawing ==
let slowDue = 0;
let drawnMarks = '';

// Describes what has to be visible at once.
function marksOf({ ranks, nodes, over }) {
  const rankMarks = ranks.map(rank => rank.mark + rank.over).join();
  return view.job + rankMarks + nodes.map(node => node.disconnected).join() + over;
}

// Redraws state, diagnosis, events and ended ranks at once; cells, ranks and curves every two
// seconds.
function draw() {
  if (!view.snapshot) return;
  $('#job').hidden = false;
  $('#nojob').hidden = true;
  drawHead();
  drawIssues();
  drawEvents();
  drawBeat();
  const marks = marksOf(currentModel());
  if (marks !== drawnMarks || Date.now() >= slowDue) {
    drawnMarks = marks;
    slowDue = Date.now() + (view.snapshot.sample_ms ? SLOW_MS : SLOW_MS / 2);
    drawGrid();
    drawRanks();
    if (view.hoverTime == null) drawTimeline();
  }
  drawLog();
}

// Shows a text instead of a job; an empty `head` hides it. `example`: also how to start a job.
function showMessage(head, text, example) {
  $('#nojob').hidden = !head;
  setText($('#nojob h1'), head);
  setText($('#nojob span'), plain(text));
  $('#nojob code').hidden = !example;
}

// == The shown job ==
let endStream = () => {};

async function updateHistory() {
  const { job, snapshot, points, hoverTime } = view;
  const isReading = hoverTime != null && points.length;
  if (!snapshot || document.hidden || isReading) return;
  try {
    const updated = await moreHistory(job, points);
    if (job !== view.job || updated === view.points) return;
    view.points = updated;
    drawCurves();
    drawTimeline();
    drawHead();
  } catch {
    // No history, or no connection: keeps the points.
  }
}

function onSnapshot(snapshot) {
  const isFirst = !view.snapshot;
  view.snapshot = snapshot;
  view.receivedAt = Date.now();
  if (isFirst) slowDue = 0;
  draw();
  if (isFirst) {
    updateHistory();
    drawJobs();
  }
}

// Fetches one snapshot if the stream is refused, as with 64 other viewers.
async function fetchSnapshot(job) {
  try {
    const snapshot = await get(`/api/jobs/${job}/snapshot`);
    if (job !== view.job || view.snapshot) return;
    Object.assign(view, { snapshot, receivedAt: Date.now() });
    draw();
    updateHistory();
  } catch (error) {
    if (job === view.job && !view.snapshot) showMessage('No data for this job', error.message);
  }
}

function showNoJob() {
  const hasJobs = view.jobs?.jobs.length > 0;
  document.title = 'autodist';
  setText($('#crumb'), 'jobs');
  showMessage(
    hasJobs ? 'No job is running on this machine' : 'No jobs on this machine',
    hasJobs ? 'The list shows ended jobs.' : 'Start one; it appears here.',
    true);
}

function showJob(job) {
  endStream();
  resetLog();
  Object.assign(view, {
    job,
    snapshot: null,
    points: [],
    other: null,
    picked: null,
    hoverTime: null,
    receivedAt: 0,
    range: '',
  });
  $('#job').hidden = true;
  $('#charts').replaceChildren();
  $('#curves').hidden = true;
  $('#body').classList.add('nocurves');
  document.body.classList.remove('open');
  if (!job) {
    showNoJob();
    return;
  }
  showMessage('', '');
  endStream = follow(job, {
    onSnapshot,
    onState: (state, reason) => {
      view.live = state === 'lost' ? reason : state;
      drawBeat();
      if (!view.snapshot && state === 'lost') fetchSnapshot(job);
    },
  });
}

// Shows the job of the address, else the job of the command line, else the newest that runs.
function chooseJob() {
  const asked = decodeURIComponent(location.hash.slice(1)) || view.jobs.job;
  const all = view.jobs.jobs.map(item => item.status);
  const newest = all.find(item => !isOver(item)) ?? all[0];
  const job = asked || newest?.job_id || '';
  if (job !== view.job || !job) showJob(job);
  drawJobs();
}

let isUpdatingJobs = false;

async function updateJobs() {
  if (isUpdatingJobs) return;
  isUpdatingJobs = true;
  try {
    const isFirst = !view.jobs;
    view.jobs = await get('/api/jobs');
    if (view.live !== 'live' && !view.job) view.live = 'live';
    if (isFirst || !view.job) chooseJob();
    else drawJobs();
  } catch (error) {
    if (!view.job) view.live = 'no connection to autodist';
  }
  isUpdatingJobs = false;
  drawBeat();
}

// == Events ==
function onVisibilityChange() {
  hideLog(document.hidden);
  if (document.hidden) return;
  slowDue = 0;
  draw();
  updateHistory();
}

function onResize() {
  if (!view.snapshot) return;
  drawTimeline();
  drawCurves();
}

function onSlowTimer() {
  updateHistory();
  if (!view.snapshot) return;
  drawRankDetails();
  drawBeat();
}

onPick((rank, open) => {
  if (!view.snapshot) return;
  if (open) openLog(rank, currentModel().byRank.get(rank)?.failed ? 'err' : 'out');
  drawGrid();
  drawRanks();
});

function start() {
  startTheme();
  startLog();
  startActions();
  startKeys();
  addCrosshair($('#timeline svg'));
  $('#theme').addEventListener('click', toggleTheme);
  $('#help').addEventListener('click', showKeys);
  $('#menu').addEventListener('click', () => document.body.classList.toggle('open'));
  for (const dialog of $$('dialog')) {
    dialog.addEventListener('click', event => {
      if (event.target === dialog) dialog.close();
    });
  }
  addEventListener('hashchange', () => view.jobs && chooseJob());
  document.addEventListener('visibilitychange', onVisibilityChange);
  new ResizeObserver(onResize).observe($('main'));
  setInterval(updateJobs, JOBS_MS);
  setInterval(onSlowTimer, SLOW_MS);
  updateJobs();
}

start();
