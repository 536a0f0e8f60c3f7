// Draws the log of a rank, or the last lines of all ranks. Only the lines in view are elements of
// the page.
import { $, highlighted, make, plain, setText } from './dom.js';
import { byteSize, clock, count, plural } from './format.js';
import { lastAttempt, lastState, mayGrow } from './log_data.js';
import { currentModel } from './model.js';
import { pick } from './picked.js';

export const ROW = 18;       // pixels
const AHEAD = 12;            // rows drawn beyond the visible ones
const MAX_LENGTH = 4000;     // characters shown of a line

function lastLines() {
  const query = $('#lfind').value.toLowerCase();
  return [...currentModel().byRank.values()].filter(({ lastLine }) =>
    lastLine && (!query || lastLine.toLowerCase().includes(query)));
}

function itemsOf(log) {
  return log.rank == null ? lastLines() : log.hits ?? log.lines;
}

function makeRankRow(rank, style) {
  const attributes = {
    class: rank.mark === 'bad' ? 'row rank bad' : 'row rank',
    style,
    title: rank.name,
    onClick: () => pick(rank.number, true),
  };
  const text = lastState(rank.lastLine).slice(0, MAX_LENGTH);
  return make('div', attributes,
    make('span', { class: 't' }, rank.wroteAt ? clock(rank.wroteAt) : ''),
    make('span', { class: 'r' }, rank.number),
    make('span', { class: 'x' }, highlighted(text, $('#lfind').value.toLowerCase())));
}

function makeLineRow(log, line, style, openHit) {
  const at = line.at ?? line.line;
  const text = lastState(line.text);
  const shortText = text.length > MAX_LENGTH ? text.slice(0, MAX_LENGTH) + ' …' : text;
  const makeText = query => make('span', { class: 'x' }, highlighted(shortText, query));
  if (log.hits) {
    const open = () => openHit(at, log.query);
    return make('div', { class: 'row hit', style, onClick: open }, makeText(log.query));
  }
  if (log.mark?.at === at) {
    return make('div', { class: 'row at', style }, makeText(log.mark.text));
  }
  return make('div', { class: 'row', style }, makeText(''));
}

// Returns what is shown instead of lines.
function emptyText(log) {
  const all = log.rank == null;
  const query = $('#lfind').value;
  if (log.error) return log.error;
  if (!query) {
    return all
      ? 'No rank has written anything yet.'
      : 'This rank has not written to this stream yet.';
  }
  const isSearched = all || (log.next == null && log.took);
  if (!isSearched) return '';
  return `“${plain(query)}” is not in ` +
    (all ? 'the last lines of the ranks.' : 'this stream of this rank.');
}

function drawRows(log, items, openHit) {
  const { scrollTop, clientHeight } = $('#lines');
  const first = Math.max(0, Math.floor(scrollTop / ROW) - AHEAD);
  const last = Math.min(items.length, Math.ceil((scrollTop + clientHeight) / ROW) + AHEAD);
  const message = items.length ? '' : emptyText(log);
  if (message) {
    $('#lspace').replaceChildren(make('div', { class: 's none' }, message));
    return;
  }
  const rows = items.slice(first, last).map((item, index) => {
    const style = `top:${(first + index) * ROW}px`;
    return log.rank == null ? makeRankRow(item, style) : makeLineRow(log, item, style, openHit);
  });
  $('#lspace').replaceChildren(...rows);
}

// Rows are not replaced while text in them is selected.
function hasSelection() {
  const selection = getSelection();
  return !selection.isCollapsed && $('#lines').contains(selection.anchorNode);
}

function countText({ hits, next, took }) {
  if (!hits) return '';
  if (!took) return 'searching';
  return `${next != null ? 'last ' : ''}${plural(hits.length, 'hit')}, newest first · ${took}`;
}

function followText({ follow, unseen }) {
  if (follow) return '↓ Following';
  return unseen ? `↓ ${plural(unseen, 'new line')}` : '↓ Follow';
}

// Offers the attempts of the job, newest first.
export function drawAttempts(log) {
  const select = $('#lattempt');
  const last = lastAttempt();
  select.hidden = log.rank == null || last === 0;
  if (select.options.length !== last + 1) {
    const attempts = Array.from({ length: last + 1 }, (_, index) => last - index);
    select.replaceChildren(...attempts.map(attempt =>
      make('option', { value: attempt }, `attempt ${attempt + 1}`)));
  }
  select.value = log.attempt;
}

function positionText(log) {
  if (log.rank == null) return '';
  const first = log.lines[Math.floor($('#lines').scrollTop / ROW)];
  if (!log.size || !first || log.hits) return byteSize(log.size);
  return `byte ${count(first.at)} of ${byteSize(log.size)}`;
}

// Draws the line below the log.
export function drawLogBar(log) {
  const rank = log.rank == null ? null : currentModel()?.byRank.get(log.rank);
  setText($('#lbar b'), rank ? rank.name : 'last line of each rank');
  setText($('#lbar span'), rank ? plain(lastState(rank.lastLine)) : '');
  setText($('#lbar .pos'), positionText(log));
}

// Calls `openHit` with a hit that is clicked.
export function drawLogView(log, openHit) {
  const items = itemsOf(log);
  $('#lspace').style.height = items.length * ROW + 'px';
  if (!hasSelection()) drawRows(log, items, openHit);
  setText($('#lcount'), countText(log));
  const button = $('#follow');
  button.hidden = log.rank == null || !mayGrow(log);
  button.setAttribute('aria-pressed', log.follow);
  setText(button, followText(log));
  drawLogBar(log);
}
