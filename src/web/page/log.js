// The log of a rank with its search, or the last lines of all ranks if no rank is selected.
import { $, $$, make, setText } from './dom.js';
import { byteSize } from './format.js';
import {
  addressOf, appendPiece, appendUpdate, fetchPiece, lastAttempt, MAX_LINES, mayGrow, newLog, PIECE,
  prependPiece, setPiece,
} from './log_data.js';
import { drawAttempts, drawLogBar, drawLogView, ROW } from './log_view.js';
import { currentModel } from './model.js';
import { pick } from './picked.js';
import { get } from './source.js';

const RETRY_MS = 3000;
const TYPING_MS = 250;
const VIEWER = Math.random().toString(36).slice(2);

// The shown log. `serial` changes with it: answers to earlier requests are dropped.
let log = null;
let serial = 0;

export const hasLog = () => log?.rank != null;

const draw = () => drawLogView(log, goTo);

function scrollToEnd() {
  const box = $('#lines');
  box.scrollTop = box.scrollHeight;
  draw();
}

// == Loading ==
// A rank of null opens the last lines of all ranks.
export async function openLog(rank, stream = log?.stream ?? 'out', attempt = lastAttempt()) {
  log?.source?.close();
  const mine = ++serial;
  log = newLog(rank, stream, attempt);
  $('#lrank').value = rank ?? '';
  for (const button of $$('#stream button')) {
    button.setAttribute('aria-pressed', button.dataset.s === stream);
  }
  $('#stream').hidden = rank == null;
  $('#lfind').value = '';
  drawAttempts(log);
  draw();
  if (rank == null) return;
  try {
    const piece = await fetchPiece(log, { bytes: PIECE });
    if (mine !== serial) return;
    setPiece(log, piece);
  } catch (error) {
    if (mine !== serial) return;
    log.error = error.message;
  }
  draw();
  scrollToEnd();
  if (mayGrow(log) && !log.error) followStream();
}

// Receives what is written from now on.
function followStream() {
  const mine = serial;
  log.source = new EventSource(addressOf(log, `log/${log.rank}/follow`, { from: log.to }));
  log.source.addEventListener('tail', event => {
    if (mine === serial) append(JSON.parse(event.data));
  });
  log.source.onerror = () => {
    if (mine !== serial || log.source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => {
      if (mine === serial && mayGrow(log)) followStream();
    }, RETRY_MS);
  };
}

function append(update) {
  log.size = update.size;
  // The reader is elsewhere in the file, or has enough to scroll through.
  const isElsewhere = !log.follow && log.lines.length &&
    (log.to < update.from || log.lines.length >= MAX_LINES);
  if (isElsewhere || !update.text) {
    drawLogBar(log);
    return;
  }
  if (!appendUpdate(log, update)) return;
  draw();
  if (log.follow) scrollToEnd();
}

async function load(range, add) {
  const mine = serial;
  log.busy = true;
  try {
    const piece = await fetchPiece(log, range);
    if (mine === serial) add(piece);
  } catch {
    // Keeps what is loaded.
  } finally {
    if (mine === serial) log.busy = false;
  }
}

const mayLoad = () => !log.busy && log.rank != null && !log.hits;

// Loads more of the file when the user scrolls to the start of the loaded part.
function loadEarlier() {
  if (!mayLoad() || log.from === 0) return;
  const from = Math.max(0, log.from - PIECE);
  load({ from, bytes: log.from - from }, piece => {
    const added = prependPiece(log, piece);
    draw();
    $('#lines').scrollTop += added * ROW;
  });
}

function loadLater() {
  if (!mayLoad() || log.to >= log.size) return;
  load({ from: log.to, bytes: PIECE }, piece => {
    appendPiece(log, piece);
    draw();
  });
}

// Shows a hit of the search in the log.
async function goTo(at, text) {
  const mine = ++serial;
  log.source?.close();
  Object.assign(log, { hits: null, follow: false, busy: false });
  const piece = await fetchPiece(log, { from: Math.max(0, at - PIECE / 2), bytes: PIECE });
  if (mine !== serial) return;
  setPiece(log, piece);
  log.mark = { at, text };
  draw();
  const box = $('#lines');
  const index = log.lines.findLastIndex(line => line.at <= at);
  box.scrollTop = Math.max(0, index * ROW - box.clientHeight / 2);
  draw();
}

// == Searching ==
let running = null;
let timer = 0;

export function searchSoon(immediately) {
  clearTimeout(timer);
  if (log.rank == null) {
    $('#lines').scrollTop = 0;
    draw();
    return;
  }
  timer = setTimeout(search, immediately ? 0 : TYPING_MS);
}

function endSearch() {
  log.hits = null;
  log.query = '';
  draw();
  if (log.follow) scrollToEnd();
}

// Searches for the text in the field, newest lines first. `goesOn`: continues the last search.
async function search(goesOn = false) {
  const query = $('#lfind').value;
  const mine = serial;
  running?.abort();
  if (!query) {
    endSearch();
    return;
  }
  running = new AbortController();
  const begin = performance.now();
  const parameters = { q: query, viewer: VIEWER };
  if (goesOn) {
    parameters.from = log.next;
  } else {
    Object.assign(log, { hits: [], next: null, query });
    setText($('#lcount'), 'searching');
    $('#lines').scrollTop = 0;
  }
  try {
    const answer = await get(addressOf(log, `search/${log.rank}`, parameters), running.signal);
    if (mine !== serial || query !== log.query) return;
    const seconds = ((performance.now() - begin) / 1000).toFixed(2);
    log.hits.push(...answer.hits);
    log.next = answer.next ?? null;
    log.took = `${byteSize(answer.size)} in ${seconds} s`;
    draw();
  } catch (error) {
    if (error.name !== 'AbortError' && mine === serial) setText($('#lcount'), error.message);
  }
}

// == Following the job ==
export function followLog() {
  if (log.rank == null) return;
  if (log.to < log.size || log.hits || log.mark) {
    openLog(log.rank, log.stream, log.attempt);
    return;
  }
  Object.assign(log, { follow: true, unseen: 0 });
  if (log.source?.readyState === EventSource.CLOSED) followStream();
  scrollToEnd();
}

let wasOver = false;

// Called for each new snapshot; the log of a rank has its own stream.
export function drawLog() {
  const { over } = currentModel();
  const answersAgain = wasOver && !over;
  wasOver = over;
  if (!log) {
    openLog(null);
  } else if (answersAgain && log.rank != null && log.follow && !log.source) {
    openLog(log.rank, log.stream, log.attempt);
  } else if (log.rank == null) {
    draw();
  } else if (log.follow && log.source && log.attempt < lastAttempt()) {
    // A follower continues with the next attempt; a reader stays.
    openLog(log.rank, log.stream);
  } else {
    drawAttempts(log);
    drawLogBar(log);
  }
}

export function resetLog() {
  ++serial;
  log?.source?.close();
  log = null;
  running?.abort();
}

// A hidden page does not follow the log.
export function hideLog(hidden) {
  if (!hasLog() || !mayGrow(log)) return;
  if (hidden) log.source?.close();
  else if (log.follow) openLog(log.rank, log.stream);
}

// == Events ==
function updateFollow(isAtEnd) {
  if (isAtEnd === log.follow || (isAtEnd && log.to < log.size)) return;
  log.follow = isAtEnd;
  if (isAtEnd) log.unseen = 0;
}

function onScroll() {
  if (!log) return;
  const { scrollTop, clientHeight, scrollHeight } = $('#lines');
  const isAtEnd = scrollTop + clientHeight > scrollHeight - ROW / 2;
  if (!log.hits && log.rank != null) {
    if (isAtEnd && log.to < log.size && !log.follow) loadLater();
    else updateFollow(isAtEnd);
    if (scrollTop < 20 * ROW) loadEarlier();
  } else if (log.hits?.length && isAtEnd && log.next != null) {
    search(true);
  }
  draw();
}

function onRankEntered(event) {
  const match = /^\s*(?:rank\s*)?(\d+)\s*$/.exec(event.target.value);
  const rank = match ? Number(match[1]) : null;
  pick(currentModel().byRank.has(rank) ? rank : null, true);
}

export function startLog() {
  const box = $('#lines');
  $('#stream').append(...['out', 'err'].map(name => make('button', {
    'data-s': name,
    'aria-pressed': name === 'out',
    onClick: () => openLog(log.rank, name, log.attempt),
  }, name)));
  box.addEventListener('scroll', onScroll);
  new ResizeObserver(() => log && draw()).observe(box);
  $('#follow').addEventListener('click', followLog);
  $('#lattempt').addEventListener('change', event =>
    openLog(log.rank, log.stream, Number(event.target.value)));
  $('#lfind').addEventListener('input', () => searchSoon());
  $('#lfind').addEventListener('keydown', event => {
    if (event.key === 'Enter') searchSoon(true);
  });
  $('#lrank').addEventListener('change', onRankEntered);
}
