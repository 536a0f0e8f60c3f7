// Interprets a snapshot: the nodes, ranks and cells with their marks, named as on the page.
import { plain } from './dom.js';
import { known, orZero } from './format.js';

export const view = {
  jobs: null,
  job: '',
  snapshot: null,
  receivedAt: 0,
  live: 'connecting',
  points: [],
  other: null,
  picked: null,
  hoverRank: null,
  hoverTime: null,
  metric: '',
  range: '',
};

// CSS class and glyph of a mark, which the chief derives along with the text beside it. The name
// of a mark is the kind of issue that it marks.
const MARKS = {
  failed: { className: 'bad', glyph: '✕' },
  stalled: { className: 'bad', glyph: '■' },
  slow: { className: 'slow', glyph: '▲' },
  disconnected: { className: 'disconnected', glyph: '↻' },
  warning: { className: 'info', glyph: 'i' },
  starting: { className: 'running', glyph: '○' },
  ended: { className: 'quiet', glyph: '✓' },
};
const STOPPED = { className: 'quiet', glyph: '–' };
const UNMARKED = { className: 'running', glyph: '●' };
const RANK_CLASSES = {
  failed: 'bad',
  stalled: 'bad',
  slow: 'slow',
  disconnected: 'disconnected',
  waiting: 'wait',
};
const OVER_STATES = ['ended', 'failed', 'lost'];

export const markOf = issue => MARKS[issue.kind] || MARKS.warning;
export const isOver = job => job.state === 'ended' || !!job.chief_gone;

export function endOf(snapshot) {
  return orZero(snapshot.job.ended_ms) || orZero(snapshot.time_ms) || Date.now();
}

// CSS class, glyph and text of a job, given its snapshot or its entry in the list.
export function stateOf({ state, mark }, job) {
  const isStopped = mark === 'ended' && job.exit_code !== 0;
  return { ...(isStopped ? STOPPED : MARKS[mark] || UNMARKED), text: state || 'not known' };
}

// Returns the command of a job without folders, and without the interpreter of a script.
export function commandOf(job) {
  const names = (job.command || []).map(argument => argument.replace(/^.*\//, ''));
  const isScript = names.length > 1 && !names[1].startsWith('-');
  if (/^python[\d.]*$/.test(names[0] || '') && isScript) names.shift();
  return plain(names.join(' '));
}

const isPresent = value => value != null;

// All known values of one rank, by name.
function rankFacts(rank, snapshot) {
  const node = snapshot.nodes?.[rank.node || 0] || {};
  const number = rank.rank || 0;
  const sample = rank.sample || {};
  const nodeGpus = node.sample?.gpus || [];
  const mark = RANK_CLASSES[rank.mark] || '';
  const over = OVER_STATES.includes(rank.state);
  return {
    number,
    name: rank.name || `rank ${number}`,
    auxiliary: !!rank.auxiliary,
    node: rank.node || 0,
    where: rank.where || node.name || '',
    gpus: (rank.gpus || [])
      .map(index => nodeGpus.find(gpu => (gpu.index || 0) === index))
      .filter(Boolean),
    state: rank.ended || rank.state_text || '',
    over,
    failed: mark === 'bad' && over,
    mark,
    stale: mark === 'disconnected',
    cpu: known(sample.cpu),
    memory: known(sample.memory),
    stepTime: known(rank.step_time),
    relative: known(rank.relative),
    pid: rank.pid,
    lastLine: rank.last_line || '',
    wroteAt: orZero(rank.last_output_ms),
    cause: rank.cause || '',
  };
}

// Null if no value is known.
function sum(items, name) {
  const values = (items || []).map(item => known(item[name])).filter(isPresent);
  return values.length ? values.reduce((total, value) => total + value, 0) : null;
}

// Bytes per second in one direction.
function trafficOf(sample, name) {
  const interfaces = sum(sample.interfaces, name);
  const infinibands = sum(sample.infinibands, name);
  return interfaces == null && infinibands == null ? null : (interfaces || 0) + (infinibands || 0);
}

function cellsOf(gpus, ranks) {
  if (gpus.length) {
    return gpus.map(gpu => ({ gpu, rank: ranks.find(rank => rank.gpus.includes(gpu)) }));
  }
  return ranks.filter(rank => !rank.auxiliary).map(rank => ({ gpu: null, rank }));
}

function nodeFacts(node, ranks) {
  const sample = node.sample || {};
  const host = sample.host || {};
  const traffic = [trafficOf(sample, 'received'), trafficOf(sample, 'sent')].filter(isPresent);
  return {
    name: node.name || node.address || '',
    disconnected: node.state === 'reconnecting',
    lost: node.state === 'lost',
    detail: node.detail || '',
    cells: cellsOf(sample.gpus || [], ranks),
    cpu: known(host.cpu),
    cores: host.cores || null,
    memory: known(host.memory_total),
    lastContact: orZero(node.last_contact_ms),
    traffic: traffic.length ? Math.max(...traffic) : null,
  };
}

// Returns the ranks of the snapshot. If ranks have reported nothing, only their places are known.
function reportedRanks(snapshot) {
  const ranks = snapshot.ranks || [];
  if (ranks.length) return ranks;
  return (snapshot.nodes || [])
    .flatMap((node, index) => (node.ranks || []).map(rank => ({ rank, node: index })));
}

function buildModel(snapshot) {
  const all = reportedRanks(snapshot).map(rank => rankFacts(rank, snapshot));
  const ranks = all.filter(rank => !rank.auxiliary);
  const sorted = snapshot.worst_first || [];
  const order = sorted.length ? sorted : all.map((_, index) => index);
  const nodes = (snapshot.nodes || [])
    .map((node, index) => nodeFacts(node, all.filter(rank => rank.node === index)));
  return {
    ranks,
    nodes,
    byRank: new Map(all.map(rank => [rank.number, rank])),
    over: isOver(snapshot.job),
    worstFirst: order.map(index => all[index]).filter(rank => rank && !rank.auxiliary),
    median: ranks.some(rank => rank.relative != null) ? known(snapshot.median_step) : null,
    gpus: nodes.some(node => node.cells.some(cell => cell.gpu)),
  };
}

let source = null;
let cached = null;

// The model of the shown snapshot, built once for each snapshot. Without a snapshot: the last one.
export function currentModel() {
  const snapshot = view.snapshot;
  if (snapshot && source !== snapshot) {
    source = snapshot;
    cached = buildModel(snapshot);
  }
  return cached;
}
