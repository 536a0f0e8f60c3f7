// The head of the page: the job's state and title, and whether the page is up to date.
import { $, make, plain, setText } from './dom.js';
import { drawFacts } from './facts.js';
import { clock, duration, orZero, plural } from './format.js';
import { commandOf, currentModel, isOver, stateOf, view } from './model.js';

const UNCHANGED_MS = 15000;
const PLAIN_STATES = ['live', 'ended', 'connecting'];

// Returns the numbers of nodes and GPUs, or ranks.
function sizeText(job) {
  const { nodes, ranks } = currentModel();
  if (!nodes.length) return '';
  const nodesText = plural(nodes.length, 'node');
  const gpus = nodes.flatMap(node => node.cells).filter(cell => cell.gpu).length;
  if (!gpus) return `${nodesText}, ${plural(ranks.length || orZero(job.world_size), 'rank')}`;
  const alike = nodes.every(node => node.cells.length === nodes[0].cells.length);
  return alike
    ? `${nodesText} × ${plural(gpus / nodes.length, 'GPU')}`
    : `${nodesText}, ${plural(gpus, 'GPU')}`;
}

function attemptText(job) {
  const attempt = orZero(job.attempt);
  const restarts = orZero(job.max_restarts);
  if (!attempt && !restarts) return '';
  return `attempt ${attempt + 1}${restarts ? `, restart ${attempt} of ${restarts}` : ''}`;
}

function drawTitle(job) {
  setText($('#name'), job.name ? plain(job.name) : commandOf(job) || job.job_id);
  $('#name').title = plain((job.command || []).join(' '));
  const texts = [job.job_id, sizeText(job), attemptText(job)].filter(Boolean);
  const meta = $('#meta');
  if (meta.textContent === texts.join('')) return;
  meta.replaceChildren(...texts.map((text, index) =>
    make('span', { class: index ? '' : 'mono' }, text)));
}

export function drawHead() {
  const { snapshot } = view;
  const job = snapshot.job;
  const state = stateOf(snapshot, job);
  $('#state').className = 'state ' + state.className;
  setText($('#state'), `${state.glyph} ${state.text}`);
  drawTitle(job);
  const kind = snapshot.issues?.[0]?.kind;
  const condition = { slow: kind === 'slow', stalled: kind === 'stalled' };
  const share = drawFacts(snapshot, condition);
  document.title = [
    state.className === 'running' ? '' : state.glyph,
    share,
    share && '·',
    job.name || commandOf(job).split(' ')[0],
    '· autodist',
  ].filter(Boolean).join(' ');
  $('#actions').hidden = !view.jobs?.control || isOver(job);
  setText($('#crumb'), job.name ? plain(job.name) : job.job_id || '');
}

// Returns the state of the connection, and whether it is good.
function connectionState() {
  const live = view.live === 'live';
  if (live && (view.snapshot?.job.chief_gone || view.snapshot?.job.chief_silent)) {
    return { text: 'no answer from its autodist', good: false };
  }
  if (live) {
    const nodes = currentModel()?.nodes || [];
    const connected = nodes.filter(node => !node.disconnected && !node.lost).length;
    if (connected < nodes.length) {
      return { text: `live, ${connected} of ${plural(nodes.length, 'node')}`, good: true };
    }
    const age = view.receivedAt ? Date.now() - view.receivedAt : 0;
    if (age > UNCHANGED_MS) return { text: `live, unchanged for ${duration(age)}`, good: true };
  }
  if (PLAIN_STATES.includes(view.live)) return { text: view.live, good: live };
  const values = view.receivedAt ? `, values of ${clock(view.receivedAt)}` : '';
  return { text: view.live + values, good: false };
}

export function drawBeat() {
  const { text, good } = connectionState();
  $('#beat').className = good ? '' : 'off';
  setText($('#beat span'), text);
  if (!view.jobs) return;
  const viewers = Math.max(view.jobs.viewers, view.live === 'live' ? 1 : 0);
  const rights = view.jobs.control ? 'may stop jobs' : 'read only';
  setText($('#who'), `${plural(viewers, 'viewer')} · ${rights}`);
}
