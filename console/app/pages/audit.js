// Who changed what, the newest first.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, query } from '../api.js';
import { printed } from '../document.js';
import { Difference } from '../editing.js';
import { link } from '../router.js';
import { Empty, Loaded, Page, Pager, Table, Tag, Text, Time, useLoad, usePages, useSettled } from '../ui.js';

const kinds = { create: 'good', delete: 'bad', revoke: 'bad', reset: 'warn' };

export function AuditPage() {
  const [tenant, setTenant] = useState('');
  const settled = useSettled(tenant.trim(), 300);
  return html`
    <${Page} title="Audit">
      <div class="filters" role="search"><${Text} label="Tenant" type="search" className="mono" placeholder="all" value=${tenant} onInput=${setTenant} /></div>
      <${Audit} tenant=${settled} />
    <//>`;
}

/** The audit, of one tenant or of all. */
export function Audit({ tenant }) {
  const pages = usePages([tenant]);
  const list = useLoad((signal) => admin(`audit${query({ tenant, limit: 50, cursor: pages.cursor })}`, { signal }).then((a) => a.body), [tenant, pages.cursor]);
  return html`
    <${Loaded} of=${list} what="the audit">
      ${(found) => (found.items.length === 0 ? html`<${Empty}><p>Nothing was changed${tenant ? ` of ${tenant}` : ''}.</p><//>` : html`
        <${Table} label="Audit" head=${['When', 'Who', 'Action', 'Object', 'What changed']}>
          ${found.items.map((e) => html`
            <tr key=${e.version}>
              <td><${Time} value=${e.at} /></td>
              <td class="mono">${e.who}</td>
              <td><${Tag} kind=${kinds[e.action]}>${e.action}<//></td>
              <td><${ObjectOf} entry=${e} /></td>
              <td>${!e.before && !e.after ? html`<span class="muted">Version ${e.version}</span>` : html`
                <details class="change"><summary>Version ${e.version}</summary><${Difference} before=${pretty(e.before)} after=${pretty(e.after)} label=${`What version ${e.version} changed`} /></details>`}</td>
            </tr>`)}
        <//>`)}
    <//>
    <${Pager} pages=${pages} cursor=${list.value && list.value.cursor} />`;
}

function ObjectOf({ entry }) {
  const [place, ...rest] = entry.object.split('/');
  const name = rest.join('/');
  if (place === 'tenants' || place === 'plans') return html`<a href=${link(place, name)}>${entry.object}</a>`;
  return html`<span class="mono">${entry.object}</span>${entry.tenant && html` of <a href=${link('tenants', entry.tenant)}>${entry.tenant}</a>`}`;
}

/** An object as it is noted: JSON, unless it was cut off. */
function pretty(text) {
  try { return printed(JSON.parse(text)); } catch { return text || ''; }
}
