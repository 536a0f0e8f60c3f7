// The details of one rank, in a line below the grid.
import { $, make, plain } from './dom.js';
import { byteSize, clock, duration, orZero, plural } from './format.js';
import { currentModel, view } from './model.js';

const badText = text => make('span', { class: 'bad' }, text);

function gpuDetails(gpu) {
  const details = [];
  if (gpu.use != null) details.push(`${Math.round(gpu.use * 100)} %`);
  if (gpu.memory_used != null) {
    const total = gpu.memory_total ? ` of ${Math.round(gpu.memory_total / 1e9)}` : '';
    details.push(`${(gpu.memory_used / 1e9).toFixed(1)}${total} GB`);
  }
  if (gpu.power != null) {
    const limit = gpu.power_limit ? ` of ${Math.round(gpu.power_limit)}` : '';
    details.push(`${Math.round(gpu.power)}${limit} W`);
  }
  if (gpu.temperature != null) details.push(`${Math.round(gpu.temperature)} °C`);
  if (gpu.clock != null) details.push(`${Math.round(gpu.clock)} MHz`);
  if (orZero(gpu.ecc_errors)) details.push(badText(plural(gpu.ecc_errors, 'ECC error')));
  if (gpu.xid) details.push(badText(`XID ${gpu.xid}`));
  return details;
}

function runningDetails(rank, model) {
  const now = orZero(view.snapshot.time_ms);
  const details = rank.gpus.slice(0, 1).flatMap(gpuDetails);
  if (rank.cpu != null) details.push(`${rank.cpu.toFixed(1)} cores`);
  if (rank.memory != null && !rank.gpus.length) details.push(byteSize(rank.memory));
  if (rank.wroteAt) details.push(`wrote ${duration(now - rank.wroteAt)} ago`);
  if (rank.cause) details.push(make('span', { class: rank.mark }, plain(rank.cause)));
  if (rank.stale) {
    const time = model.nodes[rank.node]?.lastContact || now;
    details.push(make('span', { class: 'disconnected' }, `values of ${clock(time)}`));
  }
  return details;
}

// Shows the rank under the pointer, else the selected rank, else the worst.
export function drawRankDetails() {
  const model = currentModel();
  const number = view.hoverRank ?? view.picked ?? model.worstFirst[0]?.number;
  const rank = model.byRank.get(number);
  if (!rank) {
    $('#one').replaceChildren();
    return;
  }
  const details = [
    make('b', {}, plain(rank.name)),
    rank.where,
    rank.pid && !rank.over ? `pid ${rank.pid}` : '',
    plain(rank.state),
  ];
  if (!rank.over) details.push(...runningDetails(rank, model));
  const items = details.filter(Boolean).map(detail => make('span', {}, detail));
  $('#one').replaceChildren(...items);
}
