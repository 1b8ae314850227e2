// Calls over time, as a chart and as a table.

import uPlot from '../vendor/uplot/uPlot.esm.js';
import { html, useEffect, useRef } from '../vendor/htm-preact/standalone.module.js';
import { count } from './say.js';

const colour = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia('(prefers-color-scheme: dark)');

const axis = (more) => ({
  stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif', ...more,
});

const line = (label, name, more = {}) => ({ label, stroke: colour(name), width: 2, points: { show: false }, value: (_, v) => (v == null ? '–' : count(v)), ...more });

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** rows: [{at: milliseconds, allowed, refused}], oldest first. */
export function Chart({ rows, label }) {
  const place = useRef();
  const plot = useRef();
  const data = [rows.map((r) => r.at / 1000), rows.map((r) => r.allowed), rows.map((r) => r.refused)];
  useEffect(() => {
    const height = 220;
    const width = () => Math.max(200, place.current.clientWidth);
    plot.current = new uPlot({
      width: width(), height, cursor: { y: false },
      scales: { y: { range: (_, __, max) => [0, Math.max(4, max * 1.1)] } },
      axes: [axis({ values: (_, splits) => splits.map((s) => clock.format(s * 1000)), space: 90 }), axis({ values: (_, splits) => splits.map((v) => (Number.isInteger(v) ? count(v) : '')), size: 56 })],
      series: [{ label: 'Time', value: (_, v) => (v == null ? '–' : clock.format(v * 1000)) }, line('Allowed', '--series-allowed'), line('Refused', '--series-refused', { fill: colour('--series-refused-fill') })],
    }, data, place.current);
    const resized = new ResizeObserver(() => plot.current.setSize({ width: width(), height }));
    const recoloured = () => plot.current.redraw(false, true);
    resized.observe(place.current);
    dark.addEventListener('change', recoloured);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', recoloured);
      plot.current.destroy();
    };
  }, []);
  useEffect(() => plot.current.setData(data), [rows]);
  const busy = rows.filter((r) => r.allowed + r.refused > 0).reverse();
  return html`
    <div class="chart" role="img" aria-label=${label} ref=${place}></div>
    <details class="chart-table">
      <summary>As a table</summary>
      ${busy.length === 0 ? html`<p class="note">No calls in this time.</p>` : html`
        <table>
          <thead><tr><th scope="col">From</th><th scope="col" class="end">Allowed</th><th scope="col" class="end">Refused</th></tr></thead>
          <tbody>${busy.map((r) => html`<tr><th scope="row">${clock.format(r.at)}</th><td class="end">${count(r.allowed)}</td><td class="end">${count(r.refused)}</td></tr>`)}</tbody>
        </table>`}
    </details>`;
}
