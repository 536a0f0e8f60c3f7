// Numbers and times as text.
const DAY_S = 86400;
const HOUR_S = 3600;
const MINUTE_S = 60;
export const SIZES = [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3]];

const twoDigits = number => String(Math.floor(number)).padStart(2, '0');

// An unknown value is null, and absent from data of the page itself.
export const known = value => value ?? null;
export const orZero = value => known(value) ?? 0;

export const clock = ms => new Date(ms).toLocaleTimeString('en-GB');
export const shortClock = ms => clock(ms).slice(0, 5);

// Returns the day and a space, or nothing for today.
export function dayPrefix(ms) {
  const day = new Date(ms);
  if (day.toDateString() === new Date().toDateString()) return '';
  return day.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' }) + ' ';
}

export function duration(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds >= DAY_S) {
    return `${Math.floor(seconds / DAY_S)} d ${Math.floor(seconds / HOUR_S % 24)} h`;
  }
  if (seconds >= HOUR_S) {
    return `${Math.floor(seconds / HOUR_S)} h ${twoDigits(seconds / MINUTE_S % 60)} min`;
  }
  if (seconds >= MINUTE_S) {
    return `${Math.floor(seconds / MINUTE_S)} min ${twoDigits(seconds % 60)} s`;
  }
  return seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds)} s`;
}

export const count = value => String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

// Rounds to a few digits, at any magnitude.
export function rounded(value) {
  const size = Math.abs(value);
  if (size >= 1000) return count(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1) return value.toFixed(2);
  return size !== 0 && size < 0.001 ? value.toExponential(2) : value.toFixed(3);
}

export function byteSize(value) {
  for (const [unit, size] of SIZES) {
    if (value >= size) return `${(value / size).toFixed(value >= 100 * size ? 0 : 1)} ${unit}`;
  }
  return `${Math.round(value)} B`;
}

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
