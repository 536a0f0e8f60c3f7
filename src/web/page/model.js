// What a board means: its nodes, ranks and cells with their marks, in the words of the page.
import { known, or0 } from './format.js';

export const view = {
  jobs: null, job: '', board: null, heard: 0, live: 'connecting', points: [], other: null,
  picked: null, hoverRank: null, hoverTime: null, metric: '', range: '', 
};

const STALLED = 'KIND_STALLED', SLOW = 'KIND_SLOW', FAILED = 'KIND_FAILED', AWAY = 'KIND_AWAY';
export const GLYPH = { bad: '✕', stalled: '■', slow: '▲', away: '↻', info: 'i' };

// Class of colour, and glyph.
export const kindOf = trouble => ({
  [FAILED]: ['bad', '✕'], [STALLED]: ['bad', '■'], [SLOW]: ['slow', '▲'], [AWAY]: ['away', '↻'],
}[trouble.kind] || ['info', 'i']);

export const isOver = job => job.phase === 'JOB_PHASE_ENDED' || !!job.chief_gone;
export const endOf = board => or0(board.job.ended_ms) || or0(board.time_ms) || Date.now();

// Class, glyph and words of a job.
export function stateOf(job, troubles = []) {
  if (job.chief_gone) return ['bad', '⌁', 'crashed: its autodist is gone'];
  const code = or0(job.exit_code);
  if (job.phase === 'JOB_PHASE_ENDED') {
    if (code === 0) return ['quiet', '✓', 'ended, exit code 0'];
    if (job.told_to_stop || code === 130 || code === 143) return ['quiet', '■', `stopped, exit code ${code}`];
    return ['bad', '✕', `failed, exit code ${code}`];
  }
  const words = { JOB_PHASE_LAUNCHING: 'launching', JOB_PHASE_RUNNING: 'running',
                  JOB_PHASE_STOPPING: 'stopping', JOB_PHASE_RESTARTING: 'restarting' }[job.phase];
  const worst = troubles[0];
  if (worst?.kind === STALLED) return ['bad', '■', 'stalled'];
  if (worst?.kind === FAILED) return ['bad', '✕', `${words || 'failed'}, a rank failed`];
  if (worst?.kind === SLOW) return ['slow', '▲', `${words}, slow`];
  if (worst?.kind === AWAY) return ['away', '↻', `${words}, a node is away`];
  return ['running', words === 'launching' ? '○' : '●', words || 'not known'];
}

const RANK_WORDS = {
  RANK_STATE_STARTING: 'starting', RANK_STATE_RUNNING: 'running', RANK_STATE_AWAY: 'no word',
  RANK_STATE_ENDED: 'ended', RANK_STATE_FAILED: 'failed', RANK_STATE_LOST: 'lost with its node',
};

function markOf(rank, troubles) {
  if (rank.state === 'RANK_STATE_FAILED' || rank.state === 'RANK_STATE_LOST') return 'bad';
  if (rank.state === 'RANK_STATE_AWAY') return 'away';
  if (rank.state === 'RANK_STATE_ENDED') return '';
  const mine = troubles.find(t => (t.ranks || []).includes(rank.rank || 0));
  if (mine && mine.kind !== 'KIND_WARNING') return kindOf(mine)[0];
  return troubles.some(t => t.kind === STALLED) ? 'wait' : '';
}

// All that is known of one rank, by name.
function rankFacts(rank, board) {
  const node = board.nodes?.[rank.node || 0] || {};
  const number = rank.rank || 0, troubles = board.troubles || [], sample = rank.sample || {};
  const gpus = (rank.gpus || []).map(i => (node.sample?.gpus || []).find(g => (g.index || 0) === i)).filter(Boolean);
  const mark = markOf(rank, troubles), rate = known(rank.progress?.rate);
  const over = ['RANK_STATE_ENDED', 'RANK_STATE_FAILED', 'RANK_STATE_LOST'].includes(rank.state);
  const trouble = troubles.find(t => (t.ranks || []).includes(number));
  const told = gpus.flatMap(g => g.throttled || []);
  return {
    r: number, name: rank.name || `rank ${number}`, auxiliary: !!rank.auxiliary, node: rank.node || 0,
    host: node.address || '', local: rank.local_rank || 0, gpus, gpu: rank.gpus?.[0] ?? null,
    where: (node.address || '') + (rank.gpus?.length ? ':' + rank.gpus.join(',') : ''),
    state: rank.ended || RANK_WORDS[rank.state] || '', over, failed: mark === 'bad' && over, mark,
    stale: mark === 'away', cpu: known(sample.cpu), memory: known(sample.memory),
    threads: sample.threads, process: sample.state, step: known(rank.progress?.step),
    time: rate > 0 ? 1 / rate : null, pid: rank.pid, last: rank.last_line || '',
    wrote: or0(rank.last_output_ms),
    cause: told.length ? 'throttled: ' + told.join(', ') : rank.ended || (mark && mark !== 'wait' && trouble?.what) || '',
  };
}

let of = null, cached = null;
// Of the board that is shown; made once for each.
export function model() {
  const board = view.board;
  if (!board || of === board) return cached;
  of = board;
  let list = board.ranks || [];
  if (!list.length) {  // nothing is told of ranks: they are there, and where
    list = (board.nodes || []).flatMap((n, i) => (n.ranks || []).map((r, l) => ({ rank: r, node: i, local_rank: l })));
  }
  const all = list.map(rank => rankFacts(rank, board));
  const ranks = all.filter(r => !r.auxiliary);
  const times = ranks.map(r => r.time).filter(t => t != null).sort((a, b) => a - b);
  const nodes = (board.nodes || []).map((node, i) => nodeFacts(node, all.filter(r => r.node === i)));
  cached = { ranks, nodes, byRank: new Map(all.map(r => [r.r, r])), over: isOver(board.job),
             median: times.length > 1 ? times[Math.floor((times.length - 1) / 2)] : null,
             gpus: nodes.some(n => n.cells.some(c => c.gpu)) };
  return cached;
}

const sum = (list, name) => {
  const values = (list || []).map(x => known(x[name])).filter(v => v != null);
  return values.length ? values.reduce((a, b) => a + b, 0) : null;
};

function nodeFacts(node, ranks) {
  const sample = node.sample || {}, host = sample.host || {};
  const traffic = name => {
    const a = sum(sample.interfaces, name), b = sum(sample.infinibands, name);
    return a == null && b == null ? null : (a || 0) + (b || 0);
  };
  const gpus = sample.gpus || [];
  const cells = gpus.length
    ? gpus.map(gpu => ({ gpu, rank: ranks.find(r => r.gpus.includes(gpu)) }))
    : ranks.filter(r => !r.auxiliary).map(rank => ({ gpu: null, rank }));
  const away = node.phase === 'NODE_PHASE_RECONNECTING', lost = node.phase === 'NODE_PHASE_LOST';
  return { name: node.address || '', away, lost, detail: node.detail || '', cells, cpu: known(host.cpu),
           cores: host.cores || null, memory: known(host.memory_total), heard: or0(node.heard_ms),
           net: [traffic('received'), traffic('sent')].filter(v => v != null).sort((a, b) => b - a)[0] ?? null };
}

// Worst first; the rest by what tells them apart.
const BADNESS = { bad: 4, slow: 3, away: 2, wait: 0 };
export function worstFirst() {
  const m = model();
  return [...m.ranks].sort((a, b) => (BADNESS[b.mark] ?? 0) - (BADNESS[a.mark] ?? 0) ||
    (b.time ?? 0) - (a.time ?? 0) || (a.wrote || Infinity) - (b.wrote || Infinity) || a.r - b.r);
}
