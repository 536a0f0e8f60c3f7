// The selected rank, and the functions to call when it changes.
import { view } from './model.js';

const listeners = [];
export const onPick = listener => listeners.push(listener);

// `open`: also opens its log. A rank of null selects all ranks.
export function pick(rank, open) {
  view.picked = rank;
  listeners.forEach(listener => listener(rank, open));
}
