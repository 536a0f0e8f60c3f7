// The keys of the page. The dialog `keys` lists them.
import { showDiagnosis } from './actions.js';
import { $, $$ } from './dom.js';
import { followLog, hasLog, searchSoon } from './log.js';
import { view } from './model.js';
import { pick } from './picked.js';
import { toggleTheme } from './theme.js';

const GO_MS = 1200;  // between `g` and the key of a place
const PLACES = {
  j: '#jobs [aria-current]',
  w: '#whys summary',
  t: '#timeline svg',
  g: '#grid .c[tabindex="0"]',
  s: '#slow',
  c: '#curves',
  l: '#lines',
};

let goPressed = 0;

const ACTIONS = {
  g: () => { goPressed = Date.now(); },
  j: () => step(1),
  k: () => step(-1),
  f: followLog,
  '/': () => $('#lfind').focus(),
  d: toggleTheme,
  '?': showKeys,
  w: showDiagnosis,
  e: toggleEvidence,
};

export function showKeys() {
  $('#keys').showModal();
}

// Unfolds or folds the evidence of all issues.
function toggleEvidence() {
  const all = $$('#whys details');
  const open = !all[0]?.open;
  for (const details of all) details.open = open;
}

const clampIndex = (index, { length }) => Math.min(length - 1, Math.max(0, index));

// Goes to the next or previous job if a job has the focus, else rank.
function step(by) {
  const focused = document.activeElement;
  if ($('#jobs').contains(focused)) {
    const links = $$('#jobs a');
    links[clampIndex(links.indexOf(focused) + by, links)].focus();
    return;
  }
  const ranks = $$('#slow tbody tr').map(row => Number(row.dataset.rank));
  const index = clampIndex(ranks.indexOf(view.picked) + by, ranks);
  if (ranks.length) pick(ranks[index], false);
}

// Empties the search of the log of a rank, else shows all ranks.
function resetView() {
  document.activeElement.blur();
  document.body.classList.remove('open');
  const field = $('#lfind');
  const searches = field.value && hasLog();
  field.value = '';
  if (searches) searchSoon(true);
  else pick(null, true);
}

function goTo(event) {
  const place = PLACES[event.key] && $(PLACES[event.key]);
  if (!place) return;
  event.preventDefault();
  place.scrollIntoView({ block: 'nearest' });
  place.focus();
}

function openPickedLog() {
  pick(view.picked, true);
  $('#lines').focus();
}

function isForPage({ target, ctrlKey, metaKey, altKey }) {
  const isModified = ctrlKey || metaKey || altKey;
  return !isModified && !/INPUT|SELECT/.test(target.tagName) && view.snapshot != null;
}

function onKey(event) {
  if ($('dialog[open]')) return;
  if (event.key === 'Escape') {
    resetView();
  } else if (!isForPage(event)) {
    return;
  } else if (goPressed && Date.now() - goPressed < GO_MS) {
    goPressed = 0;
    goTo(event);
  } else if (ACTIONS[event.key]) {
    event.preventDefault();
    ACTIONS[event.key]();
  } else if (event.key === 'Enter' && view.picked != null) {
    if (!/BUTTON|A|SUMMARY/.test(event.target.tagName)) openPickedLog();
  }
}

export const startKeys = () => addEventListener('keydown', onKey);
