// What the user can do with a job: compare it, ask why, collect its stacks, stop it.
import { drawCurves } from './curves.js';
import { $, make, plain, setText } from './dom.js';
import { makeDiagnosis } from './issues.js';
import { view } from './model.js';
import { get, moreHistory, post } from './source.js';

// Shows the curves of another job as well; an empty `job` shows none.
async function compare(job) {
  view.other = null;
  if (job) {
    try {
      view.other = { job: job.slice(-6), points: await moreHistory(job, []) };
    } catch {
      setText($('#hovtime'), 'that job has no history');
    }
  }
  drawCurves();
}

// A group is ranks with equal stacks.
function makeGroup(group) {
  const ranks = group.ranks || [];
  const noun = ranks.length === 1 ? 'rank' : 'ranks';
  const note = group.unlike_most ? ', unlike most' : '';
  return make('li', {},
    make('b', {}, `${noun} ${ranks.join(', ')}${note}`),
    make('code', {}, plain(group.doing || group.missing || group.unknown || '')),
    group.called_by ? make('code', {}, plain('called by ' + group.called_by)) : '');
}

async function showStacks() {
  const list = $('#stacks ol');
  list.replaceChildren(make('li', {}, 'asking the nodes; up to 40 s'));
  $('#stacks').showModal();
  try {
    const { groups, file } = await post(`/api/stacks?job=${view.job}`);
    list.replaceChildren(
      ...(groups || []).map(makeGroup),
      file ? make('li', { class: 's' }, `all of them: ${plain(file)}`) : '');
  } catch (error) {
    list.replaceChildren(make('li', { class: 'bad' }, plain(error.message)));
  }
}

// Asks why the job makes no progress, or slowly.
export async function showDiagnosis() {
  const place = $('#diagnosis div');
  const show = (...children) => place.replaceChildren(...children);
  show('asking the nodes; about 5 s, up to two minutes with gdb');
  $('#diagnosis').showModal();
  try {
    const { issue } = await get(`/api/jobs/${view.job}/why`);
    show(makeDiagnosis(issue));
  } catch (error) {
    show(make('p', { class: 'bad' }, plain(error.message)));
  }
}

function askToStop() {
  const name = $('#name').textContent;
  const effect = 'its ranks get its stop signal, and SIGKILL when its grace period ends.';
  setText($('#askwhat'), `${name}, ${view.job}: ${effect}`);
  $('#ask').showModal();
}

async function stop() {
  $('#ask').close();
  try {
    await post(`/api/stop?job=${view.job}`);
  } catch (error) {
    setText($('#meta'), error.message);
  }
}

export function startActions() {
  $('#cmp').addEventListener('change', event => compare(event.target.value));
  $('#dowhy').addEventListener('click', showDiagnosis);
  $('#dostacks').addEventListener('click', showStacks);
  $('#dostop').addEventListener('click', askToStop);
  $('#askno').addEventListener('click', () => $('#ask').close());
  $('#askyes').addEventListener('click', stop);
}
