// The loaded part of a log: its lines, which are the bytes from `from` to `to` of a file of `size`.
import { currentModel, view } from './model.js';
import { requireSuccess } from './source.js';

export const PIECE = 128 << 10;      // bytes requested at a time
export const MAX_LINES = 20000;      // kept
const MAX_OPEN_LENGTH = 64 << 10;    // characters kept of a line that has not ended
const NEWLINE = 10;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const byteLength = text => encoder.encode(text).length;

export const lastAttempt = () => view.snapshot?.job?.attempt || 0;

// Whether more may be written: the job runs, and the log is of the last attempt.
export const mayGrow = log => !currentModel()?.over && log.attempt === lastAttempt();

// A line is {at, text}. `hits` are the lines found by a search, `next` is where it goes on. `mark`
// is the hit that is shown in the log. `cut`: the last line has not ended.
export function newLog(rank, stream, attempt) {
  return {
    rank,
    stream,
    attempt,
    lines: [],
    from: 0,
    to: 0,
    size: 0,
    follow: true,
    unseen: 0,
    hits: null,
    next: null,
    query: '',
    took: '',
    mark: null,
    error: '',
    source: null,
    busy: false,
    cut: false,
  };
}

export function addressOf(log, path, parameters) {
  const { stream, attempt } = log;
  const query = new URLSearchParams({ stream, attempt, ...parameters });
  return `/api/jobs/${view.job}/${path}?${query}`;
}

export async function fetchPiece(log, parameters) {
  const answer = await fetch(addressOf(log, `log/${log.rank}`, parameters));
  await requireSuccess(answer);
  return {
    data: new Uint8Array(await answer.arrayBuffer()),
    from: Number(answer.headers.get('X-Log-From')),
    size: Number(answer.headers.get('X-Log-Size')),
  };
}

// Progress bars overwrite their line: returns the last state.
export function lastState(text) {
  const line = text.endsWith('\r') ? text.slice(0, -1) : text;
  return line.slice(line.lastIndexOf('\r') + 1);
}

// For a line that has not ended: a bar may overwrite it for days.
function openLine(text) {
  const begin = text.lastIndexOf('\r', text.length - 2) + 1;
  return text.slice(begin, begin + MAX_OPEN_LENGTH);
}

// Splits the bytes into lines. Drops a first line that began before them, unless `whole`.
function splitLines({ data, from }, whole) {
  const first = whole ? 0 : data.indexOf(NEWLINE) + 1;
  const lines = [];
  let begin = first;
  while (begin < data.length) {
    const newline = data.indexOf(NEWLINE, begin);
    const end = newline < 0 ? data.length : newline;
    lines.push({ at: from + begin, text: decoder.decode(data.subarray(begin, end)) });
    begin = end + 1;
  }
  return { lines, from: from + first, cut: data.length > 0 && data.at(-1) !== NEWLINE };
}

// Replaces the lines with those of the piece.
export function setPiece(log, piece) {
  const { lines, from, cut } = splitLines(piece, piece.from === 0);
  const to = piece.from + piece.data.length;
  Object.assign(log, { lines, from, to, size: piece.size, cut, error: '' });
}

// Returns the number of lines that were added in front. A line longer than the piece is shown in
// parts.
export function prependPiece(log, piece) {
  const { lines, from } = splitLines(piece, piece.from === 0);
  log.lines = [...lines, ...log.lines];
  log.from = lines.length ? from : piece.from;
  if (log.lines.length > MAX_LINES) {
    log.lines.length = MAX_LINES;
    const last = log.lines.at(-1);
    log.to = last.at + byteLength(last.text) + 1;
    log.source?.close();
  }
  return lines.length;
}

export function appendPiece(log, piece) {
  const { lines, cut } = splitLines(piece, true);
  if (log.cut && log.lines.length && lines.length) log.lines.at(-1).text += lines.shift().text;
  log.lines.push(...lines);
  log.cut = cut;
  log.to = piece.from + piece.data.length;
  log.size = piece.size;
}

// Returns the part of the update that is not in the log yet, or null: the stream has started again.
function newPart(log, { from, to, text }) {
  if (from >= log.to || from === 0) return { from, text };
  if (to <= log.to) return null;
  const bytes = encoder.encode(text).subarray(log.to - from);
  return { from: log.to, text: decoder.decode(bytes) };
}

function addLines(log, text, from) {
  const [first, ...others] = text.split('\n');
  const last = log.lines.at(-1);
  let at = from + byteLength(first) + 1;
  if (log.cut && last) last.text = openLine(last.text + first);
  else if (first || others.length) log.lines.push({ at: from, text: first });
  const end = others.pop();
  for (const line of others) {
    log.lines.push({ at, text: line });
    at += byteLength(line) + 1;
  }
  if (end) log.lines.push({ at, text: end });
  log.cut = (end ?? first) !== '';
}

// Adds an update of the stream. Returns whether there was anything new.
export function appendUpdate(log, update) {
  const part = newPart(log, update);
  if (!part) return false;
  if (part.from !== log.to) Object.assign(log, { lines: [], cut: false });
  const before = log.lines.length;
  if (!before) log.from = part.from;
  addLines(log, part.text, part.from);
  log.to = update.to;
  if (!log.follow) log.unseen += log.lines.length - before;
  if (log.lines.length > MAX_LINES && log.follow) {
    log.lines = log.lines.slice(-MAX_LINES / 2);
    log.from = log.lines[0].at;
  }
  return true;
}
