// The plans, and one of them to edit.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, seg } from '../api.js';
import { bodyOf, read } from '../document.js';
import { SaveBar, useValidation } from '../editing.js';
import { LimitsEditor } from '../limits.js';
import { go, link } from '../router.js';
import { policy } from '../say.js';
import { announce, Confirm, Empty, Failure, Loaded, Page, Section, Select, Table, Tag, Text, useAction, useLoad } from '../ui.js';
import { allPlans } from './tenants.js';

export function PlansPage() {
  const loaded = useLoad(async (signal) => {
    const [plans, fallback] = await Promise.all([allPlans(signal), admin('default_plan', { signal })]);
    return { plans, fallback: fallback.body.default_plan };
  }, []);
  return html`
    <${Page} title="Plans" actions=${html`<a class="button primary" href="#/new-plan">New plan</a>`}>
      <${Loaded} of=${loaded} what="plans">
        ${({ plans, fallback }) => (plans.length === 0
    ? html`<${Empty}><p>No plans yet. A plan is a list of limits that tenants share.</p><p><a class="button" href="#/new-plan">Create the first plan</a></p><//>`
    : html`
          <${Table} label="Plans" head=${['Plan', 'Limits', 'Tenants', { text: 'Revision', className: 'end' }]}>
            ${plans.map((p) => html`
              <tr>
                <th scope="row"><a href=${link('plans', p.name)}>${p.name}</a> ${p.name === fallback && html`<${Tag} kind="info">default<//>`}</th>
                <td>${(p.limits || []).length === 0 ? html`<span class="muted">none</span>` : html`<ul class="lines">${p.limits.map((l) => html`<li><b>${l.name}</b> ${policy(l)}</li>`)}</ul>`}</td>
                <td><a href=${`#/tenants?plan=${seg(p.name)}`} >show<span class="unseen"> tenants of ${p.name}</span></a></td>
                <td class="end mono muted">${p.revision}</td>
              </tr>`)}
          <//>
          <${DefaultPlan} plans=${plans} value=${fallback} onSaved=${loaded.reload} />`)}
      <//>
    <//>`;
}

function DefaultPlan({ plans, value, onSaved }) {
  const [chosen, setChosen] = useState(value);
  const [busy, error, save] = useAction(async () => {
    await admin('default_plan', { method: 'PUT', body: { default_plan: chosen } });
    announce(chosen ? `${chosen} is the default plan.` : 'There is no default plan.');
    onSaved();
  });
  return html`
    <${Section} title="Default plan" note="What tenants have that are not known by name. Without one they are refused.">
      <div class="filters">
        <${Select} label="Plan of unknown tenants" value=${chosen} options=${[['', 'none: refuse them'], ...plans.map((p) => [p.name, p.name])]} onInput=${setChosen} />
        <button type="button" class="button" aria-disabled=${busy} disabled=${chosen === value} onClick=${save}>Save</button>
      </div>
      <${Failure} error=${error} />
    <//>`;
}

/** A plan; with no name a new one. */
export function PlanPage({ name }) {
  const loaded = useLoad(async (signal) => {
    if (!name) return { body: { limits: [{ name: 'per-user', by: ['subject'], algorithm: 'token_bucket', quota: 10, period: '1s', burst: 20 }] }, etag: null };
    const answer = await admin(`plans/${seg(name)}`, { signal });
    return { body: bodyOf(answer.body), etag: answer.etag, revision: answer.body.revision };
  }, [name]);
  return html`
    <${Page} title=${name || 'New plan'} crumb=${html`<a href="#/plans">Plans</a>`} actions=${name && html`
      <a class="button" href=${`#/tenants?plan=${seg(name)}`}>Tenants with it</a><${DeletePlan} name=${name} etag=${loaded.value?.etag} />`}>
      <${Loaded} of=${loaded} what="the plan">${(value) => html`<${PlanEditor} name=${name} value=${value} onSaved=${loaded.reload} />`}<//>
    <//>`;
}

function DeletePlan({ name, etag }) {
  const [asking, setAsking] = useState(false);
  return html`
    <button type="button" class="button" disabled=${!etag} onClick=${() => setAsking(true)}>Delete</button>
    ${asking && html`
      <${Confirm} title=${`Delete plan ${name}?`} verb="Delete" onClose=${() => setAsking(false)}
        act=${async () => { await admin(`plans/${seg(name)}`, { method: 'DELETE', headers: { 'If-Match': etag } }); announce(`Plan ${name} is deleted.`); go('#/plans'); }}>
        <p>It must not be the plan of a tenant. This cannot be undone; the audit keeps what it was.</p>
      <//>`}`;
}

function PlanEditor({ name, value, onSaved }) {
  const [loaded, setLoaded] = useState(value);
  const [draft, setDraft] = useState(value.body);
  const [text, setText] = useState(null);
  const [called, setCalled] = useState(name);
  const [told, setTold] = useState({ problems: [], of: null });
  const parsed = text === null ? { body: draft } : read(text);
  const body = parsed.body || draft;
  const checked = useValidation('plans', called, body);
  // What a save was refused for counts until something is changed.
  const problems = told.of === JSON.stringify(body) ? told.problems : checked.problems;
  const take = (next, at) => {
    setDraft(next);
    setText(null);
    if (at) setLoaded(at);
  };
  return html`
    ${!name && html`<div class="filters"><${Text} label="Name of the plan" className="mono" value=${called} hint="1 to 63 of a-z, 0-9 and -"
      problems=${problems.filter((p) => p.member === '')} onInput=${(v) => setCalled(v.trim())} /></div>`}
    <${LimitsEditor} noun="Limit" body=${body} text=${text} problems=${[...problems.filter((p) => name || p.member !== ''), ...checked.warnings]}
      onBody=${setDraft} onText=${(t) => { if (t === null) setDraft(body); setText(t); }} />
    <${SaveBar} kind="plans" name=${called} loaded=${loaded} draft=${body} unreadable=${!!parsed.problem} validation=${{ ...checked, problems }}
      onProblems=${(list) => setTold({ problems: list, of: JSON.stringify(body) })} onRevert=${() => take(loaded.body)} onTake=${take}
      onSaved=${(answer) => {
    const at = { body: bodyOf(answer.body), etag: answer.etag };
    take(at.body, at);
    if (name) onSaved();
    else go(link('plans', called));
  }} />`;
}
