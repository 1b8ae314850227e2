// A tenant: what it uses, its limits, its keys, its audit.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, seg } from '../api.js';
import { bodyOf, problemsOf, read } from '../document.js';
import { SaveBar, useValidation } from '../editing.js';
import { LimitRows, LimitsEditor } from '../limits.js';
import { go, link } from '../router.js';
import { announce, Confirm, Empty, Failure, Loaded, Loading, Page, Section, Select, Table, Tag, useLoad } from '../ui.js';
import { Activity } from './activity.js';
import { Audit } from './audit.js';
import { Keys } from './keys.js';
import { allPlans } from './tenants.js';
import { Usage } from './usage.js';

const parts = [['usage', 'Usage'], ['limits', 'Plan and limits'], ['keys', 'Keys'], ['audit', 'Audit']];

export function TenantPage({ name, part }) {
  const loaded = useLoad(async (signal) => {
    const answer = await admin(`tenants/${seg(name)}`, { signal });
    return { body: bodyOf(answer.body), etag: answer.etag, revision: answer.body.revision };
  }, [name]);
  return html`
    <${Page} title=${name} crumb=${html`<a href="#/tenants">Tenants</a>`} actions=${html`
      <a class="button" href=${`#/try?tenant=${seg(name)}`}>Try it</a><a class="button" href=${`#/explain?tenant=${seg(name)}`}>Explain</a><${DeleteTenant} name=${name} etag=${loaded.value?.etag} />`}>
      <nav class="tabs" aria-label=${`Of ${name}`}>
        <ul>${parts.map(([p, text]) => html`<li><a href=${link('tenants', name, p)} aria-current=${p === part ? 'page' : undefined}>${text}</a></li>`)}</ul>
      </nav>
      <${Loaded} of=${loaded} what="the tenant">
        ${(value) => {
    switch (part) {
      case 'limits': return html`<${TenantEditor} name=${name} value=${value} onSaved=${loaded.reload} />`;
      case 'keys': return html`<${Keys} tenant=${name} note="They may check for this tenant, and nothing else." />`;
      case 'audit': return html`<${Audit} tenant=${name} />`;
      default: return html`<${Usage} tenant=${name} plan=${value.body.plan} /><${Activity} tenant=${name} />`;
    }
  }}
      <//>
    <//>`;
}

function DeleteTenant({ name, etag }) {
  const [asking, setAsking] = useState(false);
  return html`
    <button type="button" class="button" disabled=${!etag} onClick=${() => setAsking(true)}>Delete</button>
    ${asking && html`
      <${Confirm} title=${`Delete tenant ${name}?`} verb="Delete" onClose=${() => setAsking(false)}
        act=${async () => { await admin(`tenants/${seg(name)}`, { method: 'DELETE', headers: { 'If-Match': etag } }); announce(`Tenant ${name} is deleted.`); go('#/tenants'); }}>
        <p>Its keys are revoked, and its calls are refused unless there is a default plan. This cannot be undone; the audit keeps what it was.</p>
      <//>`}`;
}

function TenantEditor({ name, value, onSaved }) {
  const plans = useLoad((signal) => allPlans(signal), []);
  const [loaded, setLoaded] = useState(value);
  const [draft, setDraft] = useState(value.body);
  const [text, setText] = useState(null);
  const [told, setTold] = useState({ problems: [], of: null });
  const parsed = text === null ? { body: draft } : read(text);
  const body = parsed.body || draft;
  const checked = useValidation('tenants', name, body);
  const problems = told.of === JSON.stringify(body) ? told.problems : checked.problems;
  const take = (next, at) => {
    setDraft(next);
    setText(null);
    if (at) setLoaded(at);
  };
  if (!plans.value) return plans.error ? html`<${Failure} error=${plans.error} retry=${plans.reload} />` : html`<${Loading} what="plans" />`;
  const plan = plans.value.find((p) => p.name === body.plan);
  const overridden = new Set((Array.isArray(body.limits) ? body.limits : []).map((l) => l.name));
  const override = (l) => {
    setDraft({ ...body, limits: [...(body.limits || []), l] });
    announce(`${l.name} is overridden. Change it below.`);
  };
  return html`
    <${LimitsEditor} noun="Override" body=${body} text=${text} problems=${[...problems, ...checked.warnings]} onBody=${setDraft} onText=${(t) => { if (t === null) setDraft(body); setText(t); }}>
      <${Section} title="Plan" actions=${plan && html`<a href=${link('plans', plan.name)}>Edit the plan</a>`}>
        <div class="filters">
          <${Select} label="Plan" value=${body.plan} options=${choices(plans.value, body.plan)} problems=${problemsOf(problems, 'plan')} onInput=${(p) => setDraft({ ...body, plan: p })} />
        </div>
        ${plan && ((plan.limits || []).length === 0 ? html`<${Empty}><p>This plan has no limits.</p><//>` : html`
          <${Table} label="Limits of the plan" head=${['Limit', 'Quota', 'Algorithm', 'Counted by', 'Matches', 'Mode', { text: html`<span class="unseen">Override</span>`, className: 'end' }]}>
            <${LimitRows} limits=${plan.limits} extra=${(l) => (overridden.has(l.name) ? html`<${Tag} kind="info">overridden<//>`
    : html`<button type="button" class="button small" aria-label=${`Override ${l.name}`} onClick=${() => override(l)}>Override</button>`)} />
          <//>`)}
      <//>
      <h2 class="between">Overrides</h2>
      <p class="note">An override replaces the plan's limit of the same name as a whole; with mode off it removes it. Another name adds a limit.</p>
    <//>
    <${SaveBar} kind="tenants" name=${name} loaded=${loaded} draft=${body} unreadable=${!!parsed.problem} validation=${{ ...checked, problems }}
      onProblems=${(list) => setTold({ problems: list, of: JSON.stringify(body) })} onRevert=${() => take(loaded.body)} onTake=${take}
      onSaved=${(answer) => {
    const at = { body: bodyOf(answer.body), etag: answer.etag };
    take(at.body, at);
    onSaved();
  }} />`;
}

/** The plans there are, with the one it has, should that be none of them. */
const choices = (plans, chosen) => [...new Set([...plans.map((p) => p.name), chosen])].map((n) => [n, n]);
