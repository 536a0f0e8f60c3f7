// Numbers and times as text. Everything takes null for what is not known.
const two = n => String(Math.floor(n)).padStart(2, '0');

// 64-bit numbers come as texts; absent ones are not known.
export const known = value => {
  if (value == null || value === '') return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
};
export const or0 = value => known(value) ?? 0;

export const clock = ms => new Date(ms).toLocaleTimeString('en-GB');
export const hm = ms => clock(ms).slice(0, 5);
export const dayOf = ms => {
  const day = new Date(ms), today = new Date();
  if (day.toDateString() === today.toDateString()) return '';
  return day.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' }) + ' ';
};
export const span = ms => {
  const s = Math.max(0, ms) / 1000;
  if (s >= 86400) return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600 % 24)} h`;
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${two(s / 60 % 60)} min`;
  if (s >= 60) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  return s < 10 ? `${s.toFixed(1)} s` : `${Math.floor(s)} s`;
};
export const count = v => String(Math.round(v)).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
// A few digits of it, whatever its size.
export const figure = v => {
  const size = Math.abs(v);
  if (size >= 1000) return count(v);
  if (size !== 0 && size < 0.001) return v.toExponential(2);
  return v.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
};
export const bytes = v => {
  for (const [unit, size] of [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3]]) {
    if (v >= size) return `${(v / size).toFixed(v >= 100 * size ? 0 : 1)} ${unit}`;
  }
  return `${Math.round(v)} B`;
};
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
