// Calls of a tenant over time, and which limits refused them.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, query } from '../api.js';
import { Chart } from '../chart.js';
import { at, count } from '../say.js';
import { Failure, Loading, Section, Select, useEvery, useLoad } from '../ui.js';

const spans = [['5', 'last 5 minutes'], ['15', 'last 15 minutes'], ['60', 'last hour']];

export function Activity({ tenant }) {
  const [minutes, setMinutes] = useState('15');
  const [limit, setLimit] = useState('*');
  const loaded = useLoad((signal) => admin(`activity${query({ tenant, minutes })}`, { signal }).then((a) => a.body), [tenant, minutes]);
  const none = loaded.error?.status === 404;
  useEvery(5000, () => none || loaded.reload());
  const names = (loaded.value?.series || []).map((s) => s.limit);
  const rows = loaded.value ? rowsOf(loaded.value, limit) : [];
  const choose = loaded.value && html`
    <div class="filters beside">
      <${Select} label="Limit" value=${limit} options=${[['*', 'all calls'], ...names.map((n) => [n, n || 'no limit matched'])]} onInput=${setLimit} />
      <${Select} label="Time" value=${minutes} options=${spans} onInput=${setMinutes} />
    </div>`;
  return html`
    <${Section} title="Calls over time" note="What was let through and refused, by the limit that decided." actions=${choose}>
      ${none && html`<p class="note">There is no chart here: only penstock serve keeps what it decided in memory. On Lambda the counts are in CloudWatch, in the metrics of the check function.</p>`}
      ${!none && html`<${Failure} error=${loaded.error} retry=${loaded.reload} />`}
      ${!none && !loaded.error && !loaded.value && html`<${Loading} what="the calls" />`}
      ${loaded.value && html`<${Chart} rows=${rows} label=${summary(rows)} />`}
    <//>`;
}

/** One row a step, oldest first, of one limit or of all. */
export function rowsOf({ step_ms: step, to, series }, limit) {
  const chosen = series.filter((s) => limit === '*' || s.limit === limit);
  const steps = Math.max(0, ...series.map((s) => s.allowed.length));
  const end = Date.parse(to);
  const sum = (member, i) => chosen.reduce((n, s) => n + (s[member][i] || 0), 0);
  return Array.from({ length: steps }, (_, i) => ({ at: end - (steps - i) * step, allowed: sum('allowed', i), refused: sum('refused', i) }));
}

/** What the chart shows, for those who do not see it. */
function summary(rows) {
  const total = (member) => rows.reduce((n, r) => n + r[member], 0);
  const worst = rows.reduce((w, r) => (r.refused > (w?.refused || 0) ? r : w), null);
  return `Chart of calls over time: ${count(total('allowed'))} allowed, ${count(total('refused'))} refused${worst ? `, most of them at ${at(worst.at)}` : ''}.`;
}
