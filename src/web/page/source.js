// What the chief tells: the jobs, a job's snapshot as it changes, its history. A hidden page keeps the
// one stream of the snapshot, so that its title stays true, and asks for nothing else.
import { known } from './format.js';

export async function get(path, signal) {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `answer ${answer.status}`);
  return answer.json();
}

// Refused unless this server lets one do more than look.
export async function post(path) {
  const answer = await fetch(path, { method: 'POST', headers: { 'X-Autodist': '1' } });
  if (!answer.ok) throw new Error((await answer.text()).replace(/^\{"error":"(.*)"\}$/, '$1').trim());
  return answer.json();
}

const RETRY_MS = 3000;

// Calls `snapshot` with each, `state` with 'live', 'lost' or 'ended' and why. Returns what ends it.
export function follow(job, { snapshot, state }) {
  let stream = null, timer = 0, closed = false;
  const connect = () => {
    stream = new EventSource(`/api/jobs/${job}/events`);
    stream.addEventListener('snapshot', event => { state('live'); snapshot(JSON.parse(event.data)); });
    stream.addEventListener('end', () => { stream.close(); state('ended'); });
    stream.onerror = async () => {
      stream.close();
      if (closed) return;
      let why = 'no connection to autodist';
      try {
        const jobs = await get('/api/jobs');
        why = jobs.viewers >= 64 ? '64 viewers already' : 'connecting';
      } catch (error) {
        if (error.message.includes('403')) why = 'this address is an old one';
      }
      if (closed) return;
      state('lost', why);
      timer = setTimeout(connect, RETRY_MS);
    };
  };
  connect();
  return () => { closed = true; clearTimeout(timer); stream.close(); };
}

const MOST_POINTS = 5000;  // twice what a whole history has
const KEPT = ['step', 'rate', 'gpu_use', 'gpu_memory', 'gpu_power', 'cpu', 'memory', 'received', 'sent'];

// A point as the curves want it: `t` its end, `w` its width, then what is known.
function pointOf(told) {
  const point = { t: Number(told.time_ms), w: Number(told.width_ms || 0), attempt: told.attempt || 0 };
  for (const name of KEPT) point[name] = known(told[name]);
  for (const metric of told.metrics || []) point['m:' + metric.name] = known(metric.value);
  return point;
}

// The points so far and the new ones, which replace what they overlap.
export async function moreHistory(job, points) {
  // The server has thinned what is old meanwhile.
  const last = points.length > MOST_POINTS ? 0 : points.at(-1)?.t ?? 0;
  const told = (await get(`/api/jobs/${job}/history?since=${last}`)).points || [];
  if (!told.length) return points;
  const fresh = told.map(pointOf), begin = fresh[0].t - fresh[0].w;
  return [...points.filter(p => p.t <= begin + 1), ...fresh];
}
