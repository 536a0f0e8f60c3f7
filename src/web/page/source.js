// Fetches the server's data: jobs, a job's snapshots, its history. A hidden page keeps only the
// stream of snapshots, so that its title stays correct.
import { known } from './format.js';

const MAX_VIEWERS = 64;
const RETRY_MS = 3000;
const MAX_POINTS = 5000;  // twice the length of a whole history
const KEPT_VALUES = [
  'step', 'rate', 'gpu_use', 'gpu_memory', 'gpu_power', 'cpu', 'memory', 'received', 'sent',
];

// Throws the reason of the server, unless it has accepted the request.
export async function requireSuccess(answer) {
  if (answer.ok) return;
  const body = await answer.json().catch(() => ({}));
  throw new Error(body.error || `answer ${answer.status}`);
}

export async function get(path, signal) {
  const answer = await fetch(path, { signal });
  await requireSuccess(answer);
  return answer.json();
}

// Fails unless the server allows actions.
export async function post(path) {
  const answer = await fetch(path, { method: 'POST', headers: { 'X-Autodist': '1' } });
  if (!answer.ok) {
    const text = await answer.text();
    throw new Error(text.replace(/^\{"error":"(.*)"\}$/, '$1').trim());
  }
  return answer.json();
}

// Returns why a stream was lost. An EventSource does not report the status.
async function lossReason() {
  try {
    const jobs = await get('/api/jobs');
    return jobs.viewers >= MAX_VIEWERS ? `${MAX_VIEWERS} viewers already` : 'connecting';
  } catch (error) {
    return error.message.includes('403') ? 'this address has expired' : 'no connection to autodist';
  }
}

// Calls `onSnapshot` with each snapshot, and `onState` with 'live', 'lost' or 'ended' and the
// reason. Returns a function that ends the stream.
export function follow(job, { onSnapshot, onState }) {
  let stream = null;
  let timer = 0;
  let closed = false;

  async function retry() {
    stream.close();
    if (closed) return;
    const reason = await lossReason();
    if (closed) return;
    onState('lost', reason);
    timer = setTimeout(connect, RETRY_MS);
  }

  function connect() {
    stream = new EventSource(`/api/jobs/${job}/events`);
    stream.addEventListener('snapshot', event => {
      onState('live');
      onSnapshot(JSON.parse(event.data));
    });
    stream.addEventListener('end', () => {
      stream.close();
      onState('ended');
    });
    stream.onerror = retry;
  }

  connect();
  return () => {
    closed = true;
    clearTimeout(timer);
    stream.close();
  };
}

// Converts a point for the curves: its end, its width, then the known values.
function pointOf(raw) {
  const point = {
    time: raw.time_ms,
    width: raw.width_ms || 0,
    attempt: raw.attempt || 0,
  };
  for (const name of KEPT_VALUES) point[name] = known(raw[name]);
  for (const metric of raw.metrics || []) point['m:' + metric.name] = known(metric.value);
  return point;
}

// Returns the points with the new ones, which replace those that they overlap.
export async function moreHistory(job, points) {
  // The server has thinned old points meanwhile: fetch all again.
  const since = points.length > MAX_POINTS ? 0 : points.at(-1)?.time ?? 0;
  const raw = (await get(`/api/jobs/${job}/history?since=${since}`)).points || [];
  if (!raw.length) return points;
  const added = raw.map(pointOf);
  const begin = added[0].time - added[0].width;
  return [...points.filter(point => point.time <= begin + 1), ...added];
}
