// The issues of the job, with their evidence.
import { $, $$, make, plain } from './dom.js';
import { clock, dayPrefix, orZero } from './format.js';
import { isOver, markOf, view } from './model.js';
import { pick } from './picked.js';

const MAX_ISSUES = 6;

// Drops the duration: the text is announced again when it changes, and the start time is shown.
function announcedText(issue) {
  return plain((issue.what || '').replace(/^(stalled: no [^;]*?) for [^;]*/, '$1'));
}

function makeCost(issue) {
  const since = orZero(issue.since_ms);
  if (!issue.cost && !since) return '';
  const sentences = [
    plain(issue.cost || ''),
    since ? `Since ${dayPrefix(since)}${clock(since)}.` : '',
  ];
  return make('small', {}, sentences.filter(Boolean).join(' '));
}

function makeLogLink(ranks) {
  if (!ranks.length) return '';
  const open = () => pick(ranks[0], true);
  return make('button', { class: 'link', onClick: open }, `Log of rank ${ranks[0]}`);
}

function makeEvidenceItem({ against, what, value, source }) {
  const isNamed = against && what && what !== 'not the cause';
  return make('li', {},
    make('span', {}, against ? 'not the cause' : plain(what || '')),
    make('span', {}, (isNamed ? plain(what) + ': ' : '') + plain(value || '')),
    make('span', {}, plain(source || '')));
}

function makeEvidence(issue, ranks) {
  const evidence = issue.evidence || [];
  if (!evidence.length) return '';
  return make('details', { 'data-of': `${issue.kind} ${ranks} ${issue.nodes || ''}` },
    make('summary', {}, `Evidence, ${evidence.length}`),
    make('ol', {}, evidence.map(makeEvidenceItem)));
}

function makeIssue(issue) {
  const { className, glyph } = markOf(issue);
  const ranks = issue.ranks || [];
  return make('aside', { class: 'why ' + className },
    make('p', {},
      make('span', { class: 'g', 'aria-hidden': true }, glyph),
      make('span', {}, make('strong', {}, announcedText(issue)), makeCost(issue)),
      make('span', {}, makeLogLink(ranks))),
    issue.text ? make('pre', {}, plain(issue.text)) : '',
    makeEvidence(issue, ranks));
}

// Shows an answer of `autodist why`, with its evidence unfolded.
export function makeDiagnosis(issue) {
  const evidence = makeEvidence(issue, issue.ranks || []);
  if (evidence) evidence.open = true;
  return make('aside', { class: 'why info' },
    make('p', {},
      make('span', {}),
      make('span', {}, make('strong', {}, plain(issue.what || '')), makeCost(issue))),
    evidence);
}

// Returns the issues; for an ended job, its report is the first if no issue explains the failure.
function issuesOf({ issues, job }) {
  const list = [...(issues || [])];
  if (isOver(job) && job.report && !list.some(issue => issue.kind === 'failed')) {
    const [what, ...lines] = job.report.split('\n');
    const kind = orZero(job.exit_code) ? 'failed' : '';
    list.unshift({ kind, what, text: lines.join('\n') });
  }
  return list;
}

let shownIssues = '';

// Changes the elements only when needed, because they are announced. Unfolded evidence stays open.
export function drawIssues() {
  const issues = issuesOf(view.snapshot);
  const announced = issues.map(issue => ({ ...issue, what: announcedText(issue) }));
  const now = view.job + JSON.stringify(announced);
  if (now === shownIssues) return;
  shownIssues = now;
  const open = new Set($$('#whys details[open]').map(details => details.dataset.of));
  $('#whys').replaceChildren(...issues.slice(0, MAX_ISSUES).map(makeIssue));
  for (const details of $$('#whys details')) details.open = open.has(details.dataset.of);
}
