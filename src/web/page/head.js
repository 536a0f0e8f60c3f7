// What comes first: how the job is, how far, and what is wrong.
import { $, $$, E, plain, set } from './dom.js';
import { clock, count, dayOf, figure, hm, known, or0, plural, span } from './format.js';
import { endOf, isOver, kindOf, model, stateOf, view } from './model.js';
import { pick } from './picked.js';

export const commandOf = job => {
  const words = (job.command || []).map(word => word.replace(/^.*\//, ''));
  if (/^python[\d.]*$/.test(words[0] || '') && words.length > 1) words.shift();
  return plain(words.join(' '));
};

function fact(key, name, value, unit = '', note = '', cls = '') {
  let e = $(`#facts [data-k=${key}]`);
  if (!e) {
    e = E('div', { 'data-k': key }, E('dt'), E('dd', {}, E('span'), E('small')), E('dd', { class: 'n' }));
    $('#facts').append(e);
  }
  e.dataset.now = '1';
  set($('dt', e), name);
  set($('dd span', e), value);
  set($('dd small', e), unit ? ' ' + unit : '');
  const n = $('.n', e);
  if (key !== 'good') set(n, note);
  n.className = 'n ' + cls;
  return e;
}

// Of the rate against what was usual before, from the curves.
function rateNote(rate) {
  const rates = view.points.map(p => p.rate).filter(r => r > 0).sort((a, b) => a - b);
  if (rates.length < 12) return '';
  const more = rate / rates[Math.floor(rates.length / 2)] - 1;
  if (Math.abs(more) < 0.05) return 'as usual';
  return `${more < 0 ? '▼' : '▲'} ${Math.round(Math.abs(more) * 100)} % ${more < 0 ? 'below' : 'above'} the median`;
}

function timeParts(snapshot) {
  const told = snapshot.goodput_parts;
  if (!told) return;
  const parts = [['training', or0(told.training), 'var(--accent)'], ['lost steps', or0(told.lost_steps), 'var(--bad)'],
                 ['stalled', or0(told.stalled), 'var(--slow-fill)'],
                 ['start-up, stopping, restarting', or0(told.start_up) + or0(told.stopping) + or0(told.restarting), 'var(--ink3)']];
  const wall = parts.reduce((all, part) => all + part[1], 0);
  if (wall <= 0) return;
  const n = $('.n', fact('good', 'Goodput', (parts[0][1] / wall * 100).toFixed(1), '%'));
  if (!n.firstChild) n.append(E('div', { class: 'time-parts' }, parts.map(p => E('i', { style: `background:${p[2]}` }))), E('span'));
  $$('i', n).forEach((e, i) => { e.style.width = parts[i][1] / wall * 100 + '%'; e.style.display = parts[i][1] ? '' : 'none'; });
  n.title = parts.filter(p => p[1]).map(p => `${p[0]} ${span(p[1])}`).join('\n');
  const lost = parts.slice(1).filter(p => p[1] >= 1000).sort((a, b) => b[1] - a[1]).slice(0, 2);
  set($('span', n), lost.map(p => `${p[0].split(',')[0]} ${span(p[1])}`).join(' · '));
}

function facts(snapshot, slow, stalled) {
  $$('#facts > div').forEach(e => delete e.dataset.now);
  const progress = snapshot.progress || {}, over = isOver(snapshot.job);
  const step = known(progress.step), total = known(progress.total), rate = known(progress.rate);
  if (step != null) {
    const share = total ? `${(step / total * 100).toFixed(1)} %` : '';
    fact('step', 'Step', count(step), total ? '/ ' + count(total) : '', [share, plain(progress.what || '')].filter(Boolean).join(' · '));
  }
  if (rate != null && !over) fact('rate', 'Rate', figure(rate), 'steps/s', stalled ? 'no steps' : rateNote(rate), stalled ? 'bad' : slow ? 'slow' : '');
  for (const metric of (progress.metrics || []).slice(0, 1)) {
    const name = plain(metric.name), best = view.points.map(p => p['m:' + metric.name]).filter(v => v != null);
    fact('metric', name[0].toUpperCase() + name.slice(1), known(metric.value) == null ? String(metric.value) : known(metric.value).toFixed(3), '',
      best.length > 2 ? `lowest ${best.reduce((a, b) => Math.min(a, b)).toFixed(3)}` : '');
  }
  const end = endOf(snapshot), eta = known(progress.eta);
  if (over && or0(snapshot.job.ended_ms)) fact('eta', 'Ended', hm(end), '', dayOf(end).trim() || 'today');
  else if (eta != null && !stalled) fact('eta', 'ETA', span(eta * 1000), '', `at ${dayOf(end + eta * 1000)}${hm(end + eta * 1000)}`);
  if (or0(snapshot.job.started_ms)) {
    const started = or0(snapshot.job.started_ms);
    fact('elapsed', over ? 'Ran for' : 'Elapsed', span(end - started), '', `since ${dayOf(started)}${clock(started)}`);
  }
  timeParts(snapshot);
  const order = ['step', 'rate', 'metric', 'eta', 'elapsed', 'good'];
  for (const e of $$('#facts > div')) if (!e.dataset.now) e.remove();
  const there = order.map(key => $(`#facts [data-k=${key}]`)).filter(Boolean);
  if (there.some((e, i) => $('#facts').children[i] !== e)) $('#facts').append(...there);
  $('#facts').style.setProperty('--facts', there.length);
  $('#prog').hidden = !total || step == null;
  if (total && step != null) {
    $('#prog i').style.width = Math.min(100, step / total * 100) + '%';
    $('#prog').setAttribute('aria-valuenow', Math.round(step / total * 100));
  }
  return total && step != null ? `${Math.floor(step / total * 100)} %` : '';
}

export function drawHead() {
  const snapshot = view.snapshot, job = snapshot.job, issues = snapshot.issues || [], m = model();
  const [cls, glyph, words] = stateOf(snapshot);
  $('#state').className = 'state ' + cls;
  set($('#state'), `${glyph} ${words}`);
  set($('#name'), job.name ? plain(job.name) : commandOf(job) || job.job_id);
  $('#name').title = plain((job.command || []).join(' '));
  const gpus = m.nodes.reduce((all, n) => all + n.cells.filter(c => c.gpu).length, 0), nodes = m.nodes.length;
  const even = m.nodes.every(n => n.cells.length === m.nodes[0].cells.length);
  const size = !nodes ? '' : gpus && even ? `${plural(nodes, 'node')} × ${plural(gpus / nodes, 'GPU')}`
    : `${plural(nodes, 'node')}, ${gpus ? plural(gpus, 'GPU') : plural(m.ranks.length || or0(job.world_size), 'rank')}`;
  const attempt = or0(job.attempt), restarts = or0(job.max_restarts);
  const meta = [job.job_id, size, attempt || restarts ? `attempt ${attempt + 1}` + (restarts ? `, restart ${attempt} of ${restarts}` : '') : ''].filter(Boolean);
  if ($('#meta').textContent !== meta.join('')) $('#meta').replaceChildren(...meta.map((text, i) => E('span', { class: i ? '' : 'mono' }, text)));
  const share = facts(snapshot, issues[0]?.kind === 'KIND_SLOW', issues[0]?.kind === 'KIND_STALLED');
  document.title = [cls === 'running' ? '' : glyph, share, share && '·', set && (job.name || commandOf(job).split(' ')[0]), '· autodist'].filter(Boolean).join(' ');
  $('#actions').hidden = !view.jobs?.control || isOver(job);
  set($('#crumb'), job.name ? plain(job.name) : job.job_id || '');
}

// How long it has been so is shown by the time since, as this is announced again when it changes.
const said = issue => plain((issue.what || '').replace(/^(stalled: no [^;]*?) for [^;]*/, '$1'));

function box(issue) {
  const [cls, glyph] = kindOf(issue), ranks = issue.ranks || [], evidence = issue.evidence || [];
  const since = or0(issue.since_ms);
  return E('aside', { class: 'why ' + cls },
    E('p', {}, E('span', { class: 'g', 'aria-hidden': true }, glyph),
      E('span', {}, E('strong', {}, said(issue)),
        issue.cost || since ? E('small', {}, [plain(issue.cost || ''), since ? `Since ${dayOf(since)}${clock(since)}.` : ''].filter(Boolean).join(' ')) : ''),
      E('span', {}, ranks.length ? E('button', { class: 'link', on: () => pick(ranks[0], true) }, `Log of rank ${ranks[0]}`) : '')),
    issue.text ? E('pre', {}, plain(issue.text)) : '',
    evidence.length ? E('details', { 'data-of': `${issue.kind} ${ranks} ${issue.nodes || ''}` }, E('summary', {}, `Evidence, ${evidence.length}`),
      E('ol', {}, evidence.map(e => E('li', {}, E('span', {}, e.against ? 'not the cause' : plain(e.what || '')),
        E('span', {}, (e.against && e.what && e.what !== 'not the cause' ? plain(e.what) + ': ' : '') + plain(e.value || '')), E('span', {}, plain(e.source || '')))))) : '');
}

let told = '';
// Announced, so only touched when it has changed; evidence that is unfolded stays so.
export function drawWhy() {
  const snapshot = view.snapshot, list = [...(snapshot.issues || [])];
  if (isOver(snapshot.job) && snapshot.job.report && !list.some(t => t.kind === 'KIND_FAILED')) {
    const [first, ...rest] = snapshot.job.report.split('\n');
    list.unshift({ kind: or0(snapshot.job.exit_code) ? 'KIND_FAILED' : '', what: first, text: rest.join('\n') });
  }
  const now = view.job + JSON.stringify(list.map(t => ({ ...t, what: said(t) })));
  if (now === told) return;
  told = now;
  const open = new Set($$('#whys details[open]').map(d => d.dataset.of));
  $('#whys').replaceChildren(...list.slice(0, 6).map(box));
  $$('#whys details').forEach(d => { d.open = open.has(d.dataset.of); });
}

export function drawBeat() {
  const beat = $('#beat'), age = view.received ? Date.now() - view.received : 0;
  const gone = view.live === 'live' && view.snapshot?.job.chief_gone;
  const words = gone ? 'no answer from its autodist' : { live: 'live', ended: 'ended', connecting: 'connecting' }[view.live] ??
    `${view.live}${view.received ? `, values of ${clock(view.received)}` : ''}`;
  const away = view.live === 'live' ? model()?.nodes.filter(n => n.away || n.lost).length : 0;
  beat.className = view.live === 'live' && !gone ? '' : 'off';
  set($('span', beat), gone ? words : away ? `live, ${model().nodes.length - away} of ${model().nodes.length} nodes` : age > 15000 && view.live === 'live' ? `live, unchanged for ${span(age)}` : words);
  if (view.jobs) set($('#who'), `${plural(Math.max(view.jobs.viewers, view.live === 'live' ? 1 : 0), 'viewer')} · ${view.jobs.control ? 'may stop jobs' : 'read only'}`);
}
