// What a snapshot means: its nodes, ranks and cells with their marks, in the words of the page.
import { known, or0 } from './format.js';

export const view = {
  jobs: null, job: '', snapshot: null, received: 0, live: 'connecting', points: [], other: null,
  picked: null, hoverRank: null, hoverTime: null, metric: '', range: '', 
};

// Class of colour and glyph of a mark; the chief has derived it, as the words beside it.
const MARKS = {
  MARK_FAILED: ['bad', '✕'], MARK_STALLED: ['bad', '■'], MARK_SLOW: ['slow', '▲'], MARK_AWAY: ['away', '↻'],
  MARK_WARNING: ['info', 'i'], MARK_STARTING: ['running', '○'], MARK_ENDED: ['quiet', '✓'],
};
const RANK_CLASSES = { MARK_FAILED: 'bad', MARK_STALLED: 'bad', MARK_SLOW: 'slow', MARK_AWAY: 'away', MARK_WAITING: 'wait' };
const ISSUE_MARKS = { KIND_FAILED: 'MARK_FAILED', KIND_STALLED: 'MARK_STALLED', KIND_SLOW: 'MARK_SLOW', KIND_AWAY: 'MARK_AWAY' };

export const kindOf = issue => MARKS[ISSUE_MARKS[issue.kind] || 'MARK_WARNING'];

export const isOver = job => job.phase === 'JOB_PHASE_ENDED' || !!job.chief_gone;
export const endOf = snapshot => or0(snapshot.job.ended_ms) || or0(snapshot.time_ms) || Date.now();

// Class, glyph and words of a job, of its snapshot or an entry of the list.
export function stateOf({ state, mark }) {
  const [cls, glyph] = MARKS[mark] || ['running', '●'];
  return [cls, glyph, state || 'not known'];
}

// All that is known of one rank, by name.
function rankFacts(rank, snapshot) {
  const node = snapshot.nodes?.[rank.node || 0] || {}, number = rank.rank || 0, sample = rank.sample || {};
  const gpus = (rank.gpus || []).map(i => (node.sample?.gpus || []).find(g => (g.index || 0) === i)).filter(Boolean);
  const mark = RANK_CLASSES[rank.mark] || '';
  const over = ['RANK_STATE_ENDED', 'RANK_STATE_FAILED', 'RANK_STATE_LOST'].includes(rank.state);
  return {
    r: number, name: rank.name || `rank ${number}`, auxiliary: !!rank.auxiliary, node: rank.node || 0,
    host: node.address || '', local: rank.local_rank || 0, gpus, gpu: rank.gpus?.[0] ?? null,
    where: rank.where || node.name || '', state: rank.ended || rank.state_text || '', over, failed: mark === 'bad' && over, mark,
    stale: mark === 'away', cpu: known(sample.cpu), memory: known(sample.memory),
    threads: sample.threads, process: sample.state, step: known(rank.progress?.step),
    time: known(rank.step_time), relative: known(rank.relative), pid: rank.pid, last: rank.last_line || '',
    wrote: or0(rank.last_output_ms), cause: rank.cause || '',
  };
}

let of = null, cached = null;
// Of the snapshot that is shown; made once for each.
export function model() {
  const snapshot = view.snapshot;
  if (!snapshot || of === snapshot) return cached;
  of = snapshot;
  let list = snapshot.ranks || [];
  if (!list.length) {  // nothing is told of ranks: they are there, and where
    list = (snapshot.nodes || []).flatMap((n, i) => (n.ranks || []).map((r, l) => ({ rank: r, node: i, local_rank: l })));
  }
  const all = list.map(rank => rankFacts(rank, snapshot));
  const ranks = all.filter(r => !r.auxiliary);
  const order = snapshot.worst_first || all.map((_, i) => i);
  const nodes = (snapshot.nodes || []).map((node, i) => nodeFacts(node, all.filter(r => r.node === i)));
  cached = { ranks, nodes, byRank: new Map(all.map(r => [r.r, r])), over: isOver(snapshot.job),
             worstFirst: order.map(i => all[i]).filter(r => r && !r.auxiliary),
             median: ranks.some(r => r.relative != null) ? known(snapshot.median_step) : null,
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
  return { name: node.name || node.address || '', away, lost, detail: node.detail || '', cells, cpu: known(host.cpu),
           cores: host.cores || null, memory: known(host.memory_total), lastContact: or0(node.last_contact_ms),
           net: [traffic('received'), traffic('sent')].filter(v => v != null).sort((a, b) => b - a)[0] ?? null };
}
