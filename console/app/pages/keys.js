// Keys: a tenant's, or those of services and administrators.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, query, seg } from '../api.js';
import { announce, Confirm, Copyable, Dialog, Empty, Failure, Loaded, Page, Pager, Section, Select, Table, Tag, Text, Time, useAction, useLoad, usePages } from '../ui.js';

const kinds = { active: 'good', expired: 'warn', revoked: 'bad' };
const lasts = [['', 'does not expire'], ['1h', '1 hour'], ['24h', '1 day'], ['720h', '30 days'], ['2160h', '90 days'], ['8760h', '1 year']];

export const KeysPage = () => html`
  <${Page} title="Service keys">
    <${Keys} note="They are no tenant's: a service checks for every tenant, an administrator may do everything here." />
  <//>`;

/** The keys of a tenant; without one those of services and administrators. */
export function Keys({ tenant = '', note }) {
  const base = tenant ? `tenants/${seg(tenant)}/keys` : 'keys';
  const pages = usePages([base]);
  const list = useLoad((signal) => admin(`${base}${query({ limit: 50, cursor: pages.cursor })}`, { signal }).then((a) => a.body), [base, pages.cursor]);
  const [dialog, setDialog] = useState(null);
  const close = () => setDialog(null);
  const actions = html`<button type="button" class="button primary" onClick=${() => setDialog({ create: true })}>New key</button>`;
  return html`
    <${Section} title="Keys" note=${note} actions=${actions}>
      <${Loaded} of=${list} what="keys">
        ${(found) => (found.items.length === 0 ? html`<${Empty}><p>No keys yet.</p><//>` : html`
          <${Table} label="All keys" head=${['Key', 'Name', 'Scopes', 'State', 'Created', 'Expires', { text: html`<span class="unseen">What to do</span>`, className: 'end' }]}>
            ${found.items.map((k) => html`
              <tr>
                <th scope="row" class="mono">${k.id}</th>
                <td>${k.name || html`<span class="muted">none</span>`}</td>
                <td>${k.scopes.join(', ') || html`<span class="muted">none</span>`}</td>
                <td><${Tag} kind=${kinds[k.state]}>${k.state}<//></td>
                <td><${Time} value=${k.created_at} /></td>
                <td>${k.expires_at ? html`<${Time} value=${k.expires_at} />` : html`<span class="muted">never</span>`}</td>
                <td class="end">${k.state !== 'revoked' && html`
                  ${k.state === 'active' && html`<button type="button" class="button small" aria-label=${`Rotate ${k.id}`} onClick=${() => setDialog({ rotate: k })}>Rotate</button>`}
                  <button type="button" class="button small" aria-label=${`Revoke ${k.id}`} onClick=${() => setDialog({ revoke: k })}>Revoke</button>`}</td>
              </tr>`)}
          <//>`)}
      <//>
      <${Pager} pages=${pages} cursor=${list.value && list.value.cursor} />
    <//>
    ${dialog?.create && html`<${NewKey} base=${base} tenant=${tenant} onMade=${list.reload} onClose=${close} />`}
    ${dialog?.rotate && html`<${Rotate} base=${base} old=${dialog.rotate} onMade=${list.reload} onClose=${close} />`}
    ${dialog?.revoke && html`
      <${Confirm} title=${`Revoke key ${dialog.revoke.id}?`} verb="Revoke" onClose=${close}
        act=${async () => { await admin(`${base}/${seg(dialog.revoke.id)}`, { method: 'DELETE' }); announce(`Key ${dialog.revoke.id} is revoked.`); list.reload(); }}>
        <p>Calls with it are refused within seconds, everywhere. This cannot be undone.</p>
      <//>`}`;
}

function NewKey({ base, tenant, onMade, onClose }) {
  const scopes = tenant ? ['check:own'] : ['check:any', 'admin'];
  const [name, setName] = useState('');
  const [scope, setScope] = useState(scopes[0]);
  const [expires, setExpires] = useState('');
  const [made, setMade] = useState(null);
  const [busy, error, create] = useAction(async () => {
    const { body } = await admin(base, { method: 'POST', body: { name, scopes: [scope], ...(expires && { expires_in: expires }) } });
    setMade(body);
    onMade();
  });
  if (made) return html`<${Made} key="made" made=${made} onClose=${onClose} />`;
  const problems = (member) => (error?.members || []).filter((p) => p.member === member);
  return html`
    <${Dialog} title="New key" onClose=${onClose}>
      <form onSubmit=${(e) => { e.preventDefault(); create(); }}>
        <${Text} label="Name" value=${name} hint="What it is for, so that it is known when it is to be revoked." problems=${problems('name')} onInput=${setName} />
        <${Select} label="Scope" value=${scope} options=${scopes.map((s) => [s, said[s]])} problems=${problems('scopes')} onInput=${setScope} />
        <${Select} label="Works for" value=${expires} options=${lasts} problems=${problems('expires_in')} onInput=${setExpires} />
        <${Failure} error=${error && !error.members?.length ? error : null} />
        <div class="actions end">
          <button type="button" class="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class="button primary" aria-disabled=${busy}>Create</button>
        </div>
      </form>
    <//>`;
}

const said = { 'check:own': 'check:own, for this tenant', 'check:any': 'check:any, for every tenant', admin: 'admin, everything here' };

function Rotate({ base, old, onMade, onClose }) {
  const [grace, setGrace] = useState('24h');
  const [made, setMade] = useState(null);
  const [busy, error, rotate] = useAction(async () => {
    const { body } = await admin(`${base}/${seg(old.id)}/rotate`, { method: 'POST', body: { grace } });
    setMade(body);
    onMade();
  });
  if (made) return html`<${Made} key="made" made=${made} onClose=${onClose} />`;
  return html`
    <${Dialog} title=${`Rotate key ${old.id}`} onClose=${onClose}>
      <form onSubmit=${(e) => { e.preventDefault(); rotate(); }}>
        <div class="prose"><p>A new key with the same name and scopes takes its place.</p></div>
        <${Select} label="The old one works for" value=${grace} options=${[['0s', 'no longer'], ['1h', '1 hour'], ['24h', '1 day'], ['168h', '7 days']]} onInput=${setGrace} />
        <${Failure} error=${error} />
        <div class="actions end">
          <button type="button" class="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class="button primary" aria-disabled=${busy}>Rotate</button>
        </div>
      </form>
    <//>`;
}

/** A key that was made: shown this once. */
const Made = ({ made, onClose }) => html`
  <${Dialog} title="The new key" onClose=${onClose}>
    <div class="prose"><p>Copy it now: it is shown this once, and only its hash is kept.</p></div>
    <${Copyable} label="Key" value=${made.key} />
    <div class="actions end"><button type="button" class="button primary" onClick=${onClose}>Done</button></div>
  <//>`;
