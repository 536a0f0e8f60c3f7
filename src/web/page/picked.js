// The rank that one looks at, and who wants to know of it.
import { view } from './model.js';

const wanting = [];
export const onPick = action => wanting.push(action);

// `open`: its log, too; null: all ranks.
export function pick(rank, open) {
  view.picked = rank;
  wanting.forEach(action => action(rank, open));
}
