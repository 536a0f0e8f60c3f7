// The log of a rank, of which only the lines in view are in the page; searching it; the last lines
// of all ranks where none is meant.
import { $, $$, E, plain, set, shown } from './dom.js';
import { bytes, clock, count, plural } from './format.js';
import { model, view } from './model.js';
import { get } from './source.js';

const ROW = 18, AHEAD = 12;           // pixels; rows drawn beyond those in view
const PIECE = 128 << 10;              // bytes asked for at a time
const MOST = 20000, LONGEST = 4000;   // lines kept, characters shown of one
const LONGEST_OPEN = 64 << 10;        // characters kept of one that has not ended
const VIEWER = Math.random().toString(36).slice(2);
const decoder = new TextDecoder(), encoder = new TextEncoder();

// What is shown. `lines`: {at, text}, the bytes from `from` to `to` of a file of `size`.
let log = null, serial = 0;
const blank = (rank, stream, attempt) => ({ rank, stream, attempt, lines: [], from: 0, to: 0, size: 0, follow: true, unseen: 0,
                                   hits: null, next: null, query: '', mark: null, error: '', source: null, busy: false, cut: false });

const lastAttempt = () => view.snapshot?.job?.attempt || 0;
// More may come: it is not over, nor an earlier attempt's.
const grows = () => !model()?.over && log.attempt === lastAttempt();

const address = (what, parameters) => `/api/jobs/${view.job}/${what}?${new URLSearchParams({ stream: log.stream, attempt: log.attempt, ...parameters })}`;

// Bars draw over themselves: the last state is what one sees.
const drawn = text => {
  const line = text.endsWith('\r') ? text.slice(0, -1) : text;
  return line.slice(line.lastIndexOf('\r') + 1);
};

// Of a line that goes on: a bar is drawn over for days.
function open(text) {
  const last = text.lastIndexOf('\r', text.length - 2) + 1;
  return text.slice(last, last + LONGEST_OPEN);
}

// Whole lines of the bytes; a first one that began before them is left out.
function split(data, from, whole) {
  const lines = [];
  let begin = 0;
  if (!whole) { const end = data.indexOf(10); if (end >= 0) begin = end + 1; }
  const first = begin;
  while (begin < data.length) {
    let end = data.indexOf(10, begin);
    if (end < 0) end = data.length;
    lines.push({ at: from + begin, text: decoder.decode(data.subarray(begin, end)) });
    begin = end + 1;
  }
  return { lines, from: from + first, open: data.length > 0 && data.at(-1) !== 10 };
}

async function range(parameters) {
  const answer = await fetch(address(`log/${log.rank}`, parameters));
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `answer ${answer.status}`);
  return { data: new Uint8Array(await answer.arrayBuffer()), from: Number(answer.headers.get('X-Log-From')), size: Number(answer.headers.get('X-Log-Size')) };
}

function take(piece) {
  const made = split(piece.data, piece.from, piece.from === 0);
  Object.assign(log, { lines: made.lines, from: made.from, to: piece.from + piece.data.length, size: piece.size, cut: made.open, error: '' });
}

// Null: all ranks.
export async function openLog(rank, stream = log?.stream ?? 'out', attempt = lastAttempt()) {
  log?.source?.close();
  const mine = ++serial;
  log = blank(rank, stream, attempt);
  $('#lrank').value = rank ?? '';
  $$('#stream button').forEach(b => b.setAttribute('aria-pressed', b.dataset.s === stream));
  $('#stream').hidden = rank == null;
  $('#lfind').value = '';
  drawAttempts();
  draw();
  if (rank == null) return;
  try {
    const piece = await range({ bytes: PIECE });
    if (mine !== serial) return;
    take(piece);
  } catch (error) {
    if (mine !== serial) return;
    log.error = error.message;
  }
  draw();
  toEnd();
  if (grows() && !log.error) tail();
}

function tail() {
  const mine = serial;
  log.source = new EventSource(address(`log/${log.rank}/follow`, { from: log.to }));
  log.source.addEventListener('tail', event => { if (mine === serial) append(JSON.parse(event.data)); });
  log.source.onerror = () => {
    if (mine !== serial || log.source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => { if (mine === serial && grows()) tail(); }, 3000);
  };
}

function append({ from, to, size, text }) {
  log.size = size;
  // One reads elsewhere, or there is enough to scroll through.
  if (!log.follow && log.lines.length && (log.to < from || log.lines.length >= MOST)) return drawBar();
  if (!text) return drawBar();
  if (from < log.to && from !== 0) {  // a stream that began anew
    if (to <= log.to) return;
    text = decoder.decode(encoder.encode(text).subarray(log.to - from));
    from = log.to;
  }
  if (from !== log.to) { log.lines = []; log.cut = false; }
  const before = log.lines.length;
  let at = from, pieces = text.split('\n');
  if (!log.lines.length) log.from = from;
  if (log.cut && log.lines.length) log.lines.at(-1).text = open(log.lines.at(-1).text + pieces[0]);
  else if (pieces[0] || pieces.length > 1) log.lines.push({ at, text: pieces[0] });
  at += encoder.encode(pieces[0]).length + 1;
  for (const piece of pieces.slice(1, -1)) { log.lines.push({ at, text: piece }); at += encoder.encode(piece).length + 1; }
  if (pieces.length > 1 && pieces.at(-1)) log.lines.push({ at, text: pieces.at(-1) });
  log.cut = pieces.at(-1) !== '';
  log.to = to;
  if (!log.follow) log.unseen += log.lines.length - before;
  if (log.lines.length > MOST && log.follow) { log.lines = log.lines.slice(-MOST / 2); log.from = log.lines[0].at; }
  draw();
  if (log.follow) toEnd();
}

// More of the file where one scrolls to an end of what is there.
async function more(before) {
  if (log.busy || log.rank == null || log.hits) return;
  if (before ? log.from === 0 : log.to >= log.size) return;
  log.busy = true;
  const mine = serial, box = $('#lines');
  try {
    const from = before ? Math.max(0, log.from - PIECE) : log.to;
    const piece = await range({ from, bytes: before ? log.from - from : PIECE });
    if (mine !== serial) return;
    const made = split(piece.data, piece.from, !before || piece.from === 0);
    if (before) {
      // A line longer than the piece is shown in pieces.
      log.lines = [...made.lines, ...log.lines];
      log.from = made.lines.length ? made.from : piece.from;
      if (log.lines.length > MOST) { log.lines.length = MOST; log.to = log.lines.at(-1).at + encoder.encode(log.lines.at(-1).text).length + 1; log.source?.close(); }
      draw();
      box.scrollTop += made.lines.length * ROW;
    } else {
      if (log.cut && log.lines.length && made.lines.length) log.lines.at(-1).text += made.lines.shift().text;
      log.lines.push(...made.lines);
      log.cut = made.open;
      log.to = piece.from + piece.data.length;
      log.size = piece.size;
      draw();
    }
  } catch { /* it stays as it is */ } finally { if (mine === serial) log.busy = false; }
}

async function goTo(at, text) {
  const mine = ++serial;
  log.source?.close();
  Object.assign(log, { hits: null, follow: false, busy: false });
  const piece = await range({ from: Math.max(0, at - PIECE / 2), bytes: PIECE });
  if (mine !== serial) return;
  take(piece);
  log.mark = { at, text };
  draw();
  const i = log.lines.findLastIndex(l => l.at <= at);
  $('#lines').scrollTop = Math.max(0, i * ROW - $('#lines').clientHeight / 2);
  draw();
}

let running = null, timer = 0;
export function searchSoon(now) {
  clearTimeout(timer);
  if (log.rank == null) { $('#lines').scrollTop = 0; return draw(); }
  timer = setTimeout(search, now ? 0 : 250);
}

async function search(going) {
  const query = $('#lfind').value, mine = serial;
  running?.abort();
  if (!query) { log.hits = null; log.query = ''; draw(); return log.follow && toEnd(); }
  running = new AbortController();
  const begun = performance.now();
  if (going !== true) { log.hits = []; log.next = null; log.query = query; set($('#lcount'), 'searching'); $('#lines').scrollTop = 0; }
  try {
    const told = await get(address(`search/${log.rank}`, { q: query, viewer: VIEWER, ...(going === true ? { from: log.next } : {}) }), running.signal);
    if (mine !== serial || query !== log.query) return;
    log.hits.push(...told.hits);
    log.next = told.next ?? null;
    log.took = `${bytes(told.size)} in ${((performance.now() - begun) / 1000).toFixed(2)} s`;
    draw();
  } catch (error) {
    if (error.name !== 'AbortError' && mine === serial) set($('#lcount'), error.message);
  }
}

// == Drawing ==
function rows() {
  if (log.rank == null) {
    const find = $('#lfind').value.toLowerCase();
    return [...model().byRank.values()].filter(r => r.last && (!find || r.last.toLowerCase().includes(find)));
  }
  return log.hits ?? log.lines;
}

function rowOf(item, i) {
  const style = `top:${i * ROW}px`;
  if (log.rank == null) {
    return E('div', { class: 'row rank' + (item.mark === 'bad' ? ' bad' : ''), style, title: item.name, on: () => view.open(item.r) },
      E('span', { class: 't' }, item.wrote ? clock(item.wrote) : ''), E('span', { class: 'r' }, item.r), E('span', { class: 'x' }, shown(drawn(item.last).slice(0, LONGEST), $('#lfind').value.toLowerCase())));
  }
  const at = item.at ?? item.line, text = drawn(item.text);
  const found = log.hits ? log.query : log.mark?.at === at ? log.mark.text : '';
  return E('div', { class: 'row' + (log.hits ? ' hit' : '') + (log.mark?.at === at && !log.hits ? ' at' : ''), style, on: log.hits ? () => goTo(at, log.query) : null },
    E('span', { class: 'x' }, shown(text.length > LONGEST ? text.slice(0, LONGEST) + ' …' : text, found)));
}

function draw() {
  const box = $('#lines'), space = $('#lspace'), list = rows();
  space.style.height = list.length * ROW + 'px';
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - AHEAD), last = Math.min(list.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + AHEAD);
  if (getSelection().isCollapsed || !box.contains(getSelection().anchorNode)) {
    const say = list.length ? '' : log.error || ($('#lfind').value ? (log.rank == null || log.next == null && log.took ? `“${plain($('#lfind').value)}” is not in what ${log.rank == null ? 'the ranks wrote last' : 'this rank has written to this stream'}.` : '')
      : log.rank == null ? 'The ranks have written nothing yet.' : 'This rank has written nothing to this stream yet.');
    space.replaceChildren(...(say ? [E('div', { class: 's none' }, say)] : list.slice(first, last).map((item, i) => rowOf(item, first + i))));
  }
  if (log.hits) set($('#lcount'), log.took ? `${log.next != null ? 'last ' : ''}${plural(log.hits.length, 'hit')}, newest first · ${log.took}` : 'searching');
  else set($('#lcount'), '');
  const b = $('#follow');
  b.hidden = log.rank == null || !grows();
  b.setAttribute('aria-pressed', log.follow);
  set(b, log.follow ? '↓ Following' : log.unseen ? `↓ ${plural(log.unseen, 'new line')}` : '↓ Follow');
  drawBar();
}

// The last one first.
function drawAttempts() {
  const choice = $('#lattempt'), last = lastAttempt();
  choice.hidden = log.rank == null || last === 0;
  if (choice.options.length !== last + 1) {
    choice.replaceChildren(...Array.from({ length: last + 1 }, (_, i) => E('option', { value: last - i }, `attempt ${last - i + 1}`)));
  }
  choice.value = log.attempt;
}

function drawBar() {
  const rank = log.rank == null ? null : model()?.byRank.get(log.rank);
  set($('#lbar b'), rank ? rank.name : 'last line of each rank');
  set($('#lbar span'), rank ? plain(drawn(rank.last)) : '');
  const first = log.lines[Math.floor($('#lines').scrollTop / ROW)];
  set($('#lbar .pos'), log.rank == null ? '' : log.size && first && !log.hits ? `byte ${count(first.at)} of ${bytes(log.size)}` : bytes(log.size));
}

function toEnd() { const box = $('#lines'); box.scrollTop = box.scrollHeight; draw(); }

export function setFollow() {
  if (log.rank == null) return;
  if (log.to < log.size || log.hits || log.mark) return openLog(log.rank, log.stream, log.attempt);
  Object.assign(log, { follow: true, unseen: 0 });
  if (log.source?.readyState === EventSource.CLOSED) tail();
  toEnd();
}

// With each new snapshot; the log of a rank comes by itself.
let over = false;
export function drawLog() {
  const back = over && !model().over;  // its autodist answers again
  over = model().over;
  if (!log) return openLog(null);
  if (back && log.rank != null && log.follow && !log.source) return openLog(log.rank, log.stream, log.attempt);
  if (log.rank == null) return draw();
  // Who follows goes on with the next attempt; who reads stays.
  if (log.follow && log.source && log.attempt < lastAttempt()) return openLog(log.rank, log.stream);
  drawAttempts();
  drawBar();
}

export function resetLog() { log?.source?.close(); log = null; running?.abort(); }
export const hideLog = hidden => {
  if (!log || log.rank == null || !grows()) return;
  if (hidden) log.source?.close(); else if (log.follow) openLog(log.rank, log.stream);
};

export function startLog() {
  const box = $('#lines');
  $('#stream').append(...['out', 'err'].map(name => E('button', { 'data-s': name, 'aria-pressed': name === 'out', on: () => openLog(log.rank, name, log.attempt) }, name)));
  box.addEventListener('scroll', () => {
    if (!log) return;
    const end = box.scrollTop + box.clientHeight > box.scrollHeight - ROW / 2;
    if (!log.hits && log.rank != null) {
      if (end && log.to < log.size && !log.follow) more(false);
      else if (end !== log.follow && (end ? log.to >= log.size : true)) { log.follow = end; if (end) log.unseen = 0; }
      if (box.scrollTop < 20 * ROW) more(true);
    } else if (log.hits && end && log.next != null && log.hits.length) search(true);
    draw();
  });
  new ResizeObserver(() => log && draw()).observe(box);
  $('#follow').addEventListener('click', setFollow);
  $('#lattempt').addEventListener('change', e => openLog(log.rank, log.stream, Number(e.target.value)));
  $('#lfind').addEventListener('input', () => searchSoon());
  $('#lfind').addEventListener('keydown', e => { if (e.key === 'Enter') searchSoon(true); });
  $('#lrank').addEventListener('change', e => {
    const number = /^\s*(?:rank\s*)?(\d+)\s*$/.exec(e.target.value)?.[1];
    view.open(number == null || !model().byRank.has(Number(number)) ? null : Number(number));
  });
}
export const hasLog = () => log?.rank != null;
