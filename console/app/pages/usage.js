// What a tenant's limits have counted, now.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, query, seg } from '../api.js';
import { at, count, lasting, plural, policy } from '../say.js';
import { announce, Confirm, Empty, Loaded, Section, Table, Tag, Text, useEvery, useLoad, useSettled } from '../ui.js';

/** How often it is asked for while the page can be seen. */
const often = 3000;

export function Usage({ tenant, plan }) {
  const [named, setNamed] = useState({});
  const asked = useSettled(JSON.stringify(named), 300);
  const [reset, setReset] = useState(null);
  const used = useLoad((signal) => admin(`tenants/${seg(tenant)}/usage${query(JSON.parse(asked))}`, { signal }).then((a) => a.body), [tenant, asked]);
  useEvery(often, used.reload);
  const resetTenant = html`<button type="button" class="button small" onClick=${() => setReset({ body: {}, what: `all counts of ${tenant}` })}>Reset all</button>`;
  return html`
    <${Section} title="Use now" note=${used.value && `plan ${plan}, as of ${at(used.value.at)}, renewed every ${often / 1000} s`} actions=${resetTenant}>
      <${Loaded} of=${used} what="the use">
        ${(value) => html`
          <${Whose} used=${value} named=${named} onNamed=${setNamed} />
          ${value.limits.length === 0 && value.more.length === 0 ? html`<${Empty}><p>No limits: everything passes.</p><//>` : html`
          <${Table} label="Use of each limit" className="usage-table" head=${['Limit', 'Used', { text: 'Left', className: 'end' }, 'State', 'Whole again in', { text: html`<span class="unseen">Reset</span>`, className: 'end' }]}>
            ${value.limits.map((l) => html`<${UsedLimit} key=${l.name} limit=${l} named=${named} onReset=${() => setReset(resetOf(l, named))} />`)}
            ${value.more.map((l) => html`
              <tr key=${l.name}>
                <th scope="row">${l.name}</th>
                <td colspan="4" class="muted">counts for each ${l.by.join(' and ')}: enter one above to see its count</td>
                <td class="end"><button type="button" class="button small" aria-label=${`Reset ${l.name}`} onClick=${() => setReset({ body: { limit: l.name }, what: `all counts of ${l.name}` })}>Reset</button></td>
              </tr>`)}
          <//>`}`}
      <//>
    <//>
    ${reset && html`
      <${Confirm} title=${`Reset ${reset.what}?`} verb="Reset" onClose=${() => setReset(null)} act=${async () => {
    const { body } = await admin(`tenants/${seg(tenant)}/reset`, { method: 'POST', body: reset.body });
    announce(`Reset: ${body.limits.join(', ') || 'nothing'}. Everywhere within ${lasting(body.within_ms)}.`);
    used.reload();
  }}>
        <p>They begin afresh, as if nothing had been used. This cannot be undone.</p>
      <//>`}`;
}

/** Inputs for whose counts to show: what the limits are by. */
function Whose({ used, named, onNamed }) {
  const all = new Set([...used.limits, ...used.more].flatMap((l) => l.by));
  const by = [...['subject', 'resource'].filter((p) => all.has(p)), ...[...all].filter((p) => p.startsWith('attributes.')).sort()];
  return by.length > 0 && html`
    <div class="filters" role="search" aria-label="Whose counts to show">
      ${by.map((part) => html`<${Text} key=${part} label=${titleOf(part)} type="search" className="mono" placeholder=${examples[part] || ''} value=${named[part] || ''} onInput=${(v) => onNamed({ ...named, [part]: v })} />`)}
    </div>`;
}

const examples = { subject: 'user:42', resource: 'GET /search', 'attributes.ip': '203.0.113.9' };

const titleOf = (part) => (part.startsWith('attributes.') ? `Attribute ${part.slice('attributes.'.length)}` : part[0].toUpperCase() + part.slice(1));

/** What resets one count: the limit with what it is by. */
function resetOf(l, named) {
  const body = { limit: l.name };
  for (const part of l.by) {
    if (part.startsWith('attributes.')) body.attributes = { ...body.attributes, [part.slice('attributes.'.length)]: named[part] };
    else body[part] = named[part];
  }
  return { body, what: l.by.length > 0 ? `${l.name} of ${l.by.map((p) => named[p]).join(', ')}` : `the count of ${l.name}` };
}

function UsedLimit({ limit: l, named, onReset }) {
  return html`
    <tr>
      <th scope="row">${l.name}<br /><span class="muted small">${policy(l)}${l.by.length > 0 && ` · ${l.by.map((p) => named[p]).join(', ')}`}</span></th>
      <td class="wide"><${Bar} name=${l.name} used=${l.used} of=${l.capacity} /></td>
      <td class="end">${count(l.remaining)}</td>
      <td><${State} limit=${l} /></td>
      <td>${l.reset_after_ms ? lasting(l.reset_after_ms) : html`<span class="muted">is whole</span>`}</td>
      <td class="end"><button type="button" class="button small" aria-label=${`Reset ${l.name}`} onClick=${onReset}>Reset</button></td>
    </tr>`;
}

function State({ limit: l }) {
  const tags = [];
  if (!l.allowed) tags.push(html`<${Tag} kind="bad">${l.mode === 'shadow' || l.shadows ? 'would refuse' : 'refuses'}${l.retry_after_ms ? `, again in ${lasting(l.retry_after_ms)}` : ''}<//>`);
  else tags.push(html`<${Tag} kind="good">passes<//>`);
  if (l.over) tags.push(html` <${Tag} kind="warn">over its quota<//>`);
  if (l.from === 'tenant') tags.push(html` <${Tag} kind="info">override<//>`);
  return tags;
}

/** How much is used, as a bar and in numbers. */
export function Bar({ name, used, of }) {
  const share = of > 0 ? Math.min(1, used / of) : 0;
  return html`
    ${count(used)} of ${count(of)}
    <div class=${`bar ${share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : ''}`} role="meter" aria-label=${`Used of ${name}`} aria-valuemin="0" aria-valuemax=${of} aria-valuenow=${Math.min(used, of)}
      aria-valuetext=${`${count(used)} of ${plural(of, 'permit')}`}><span style=${{ width: `${share * 100}%` }}></span></div>`;
}
