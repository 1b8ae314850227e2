// All tenants: search, pages, a new one.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, Failed, query as asked, seg } from '../api.js';
import { go, link } from '../router.js';
import { count, plural } from '../say.js';
import { announce, Dialog, Empty, Failure, Loaded, Page, Pager, Select, Table, Text, useAction, useLoad, usePages, useSettled } from '../ui.js';

const perPage = 50;

export function TenantsPage({ query }) {
  const [search, setSearch] = useState(query.search || '');
  const [plan, setPlan] = useState(query.plan || '');
  const [creating, setCreating] = useState(false);
  const settled = useSettled(search.trim(), 250);
  const pages = usePages([settled, plan]);
  const plans = useLoad((signal) => allPlans(signal), []);
  const list = useLoad(async (signal) => {
    const { body } = await admin(`tenants${asked({ search: settled, plan, cursor: pages.cursor, limit: perPage })}`, { signal });
    if (settled || plan) announce(`${plural(body.items.length, 'tenant')} found${body.cursor ? ' on this page' : ''}.`);
    return body;
  }, [settled, plan, pages.cursor]);
  const names = (plans.value || []).map((p) => p.name);
  return html`
    <${Page} title="Tenants" actions=${html`<button type="button" class="button primary" onClick=${() => setCreating(true)}>New tenant</button>`}>
      <div class="filters" role="search">
        <${Text} label="Search" type="search" placeholder="part of a name" value=${search} onInput=${setSearch} />
        <${Select} label="Plan" value=${plan} options=${[['', 'all plans'], ...names.map((n) => [n, n])]} onInput=${setPlan} />
      </div>
      <${Loaded} of=${list} what="tenants">
        ${(found) => (found.items.length === 0
    ? html`<${Empty}>${settled || plan
      ? html`<p>No tenant matches.</p><p><button type="button" class="button" onClick=${() => { setSearch(''); setPlan(''); }}>Show all</button></p>`
      : html`<p>No tenants yet. A tenant is a customer with a plan; ${names.length === 0 ? html`<a href="#/new-plan">create a plan</a> first.` : 'create the first one.'}</p>`}<//>`
    : html`
          <${Table} label="Tenants" head=${['Tenant', 'Plan', { text: 'Overrides', className: 'end' }, { text: 'Revision', className: 'end' }]}>
            ${found.items.map((t) => html`
              <tr>
                <th scope="row"><a href=${link('tenants', t.name)}>${t.name}</a></th>
                <td><a href=${link('plans', t.plan)}>${t.plan}</a></td>
                <td class="end">${t.limits && t.limits.length > 0 ? count(t.limits.length) : html`<span class="muted">none</span>`}</td>
                <td class="end mono muted">${t.revision}</td>
              </tr>`)}
          <//>`)}
      <//>
      <${Pager} pages=${pages} cursor=${list.value && list.value.cursor} />
      ${creating && html`<${NewTenant} plans=${names} onClose=${() => setCreating(false)} />`}
    <//>`;
}

/** Every plan by name; there are few. */
export async function allPlans(signal) {
  const found = [];
  let cursor = '';
  do {
    const { body } = await admin(`plans${asked({ limit: 1000, cursor })}`, { signal });
    found.push(...body.items);
    cursor = body.cursor;
  } while (cursor);
  return found;
}

function NewTenant({ plans, onClose }) {
  const [name, setName] = useState('');
  const [plan, setPlan] = useState(plans[0] || '');
  const [busy, error, create] = useAction(async () => {
    try {
      await admin(`tenants/${seg(name)}`, { method: 'PUT', body: { plan }, headers: { 'If-None-Match': '*' } });
    } catch (failed) {
      throw failed.status === 412 ? new Failed(412, { detail: `${name} is there already.` }) : failed;
    }
    announce(`Tenant ${name} is created.`);
    go(link('tenants', name));
  });
  const problems = (member) => (error && error.members ? error.members.filter((p) => p.member === member) : []);
  return html`
    <${Dialog} title="New tenant" onClose=${onClose}>
      <form onSubmit=${(e) => { e.preventDefault(); create(); }}>
        <${Text} label="Name" className="mono" value=${name} required hint="1 to 128 of A-Z, a-z, 0-9 and . _ : @ -" problems=${problems('')} onInput=${setName} />
        <${Select} label="Plan" value=${plan} options=${plans.map((p) => [p, p])} problems=${problems('plan')} onInput=${setPlan} />
        ${plans.length === 0 && html`<p class="hint">There is no plan yet: <a href="#/new-plan">create one</a>.</p>`}
        <${Failure} error=${error && !error.members?.length ? error : null} />
        <div class="actions end">
          <button type="button" class="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class="button primary" aria-disabled=${busy} disabled=${!name || !plan}>Create</button>
        </div>
      </form>
    <//>`;
}
