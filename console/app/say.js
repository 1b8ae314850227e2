// How things are said: numbers, times, limits.

const number = new Intl.NumberFormat('en');
export const count = (n) => number.format(n);

const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
export const at = (time) => moment.format(new Date(time));

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });
const units = [['year', 31557600], ['month', 2629800], ['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];

/** "5 min. ago", "in 3 days", "just now". */
export function ago(time, now = Date.now()) {
  const seconds = Math.round((new Date(time) - now) / 1000);
  if (Math.abs(seconds) < 2) return 'just now';
  const [unit, size] = units.find(([, s]) => Math.abs(seconds) >= s);
  return relative.format(Math.trunc(seconds / size), unit);
}

/** Milliseconds as "350 ms", "4.2 s", "3 min 20 s", "5 h 2 min", "3 d 4 h". */
export function lasting(ms) {
  if (ms < 1000) return `${ms} ms`;
  const s = ms / 1000;
  if (s < 60) return `${Number.isInteger(s) ? s : s.toFixed(1)} s`;
  const whole = Math.ceil(s);
  const parts = [['d', Math.floor(whole / 86400)], ['h', Math.floor(whole / 3600) % 24], ['min', Math.floor(whole / 60) % 60], ['s', whole % 60]];
  const first = parts.findIndex(([, n]) => n > 0);
  return parts.slice(first, first + 2).filter(([, n]) => n > 0).map(([unit, n]) => `${count(n)} ${unit}`).join(' ');
}

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** "10 per 1s, burst 20". */
export function policy(l) {
  if (!l.algorithm) return l.mode || '';
  const period = l.algorithm === 'concurrency' ? 'at once' : `per ${l.period}`;
  return `${count(l.quota || 0)} ${period}${l.burst ? `, burst ${count(l.burst)}` : ''}`;
}

/** "POST /exports*, ip = *" */
export function matching(l) {
  const match = l.match || {};
  const attributes = Object.entries(match.attributes || {}).map(([name, value]) => `${name} = ${value}`);
  return [match.resource, ...attributes].filter(Boolean).join(', ');
}

export const algorithm = (name) => (name || '').replaceAll('_', ' ');
