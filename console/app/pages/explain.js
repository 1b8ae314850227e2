// Why a call is let through or refused: which limits match, where they come from, what they have counted.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin } from '../api.js';
import { link } from '../router.js';
import { algorithm, at, lasting, plural, policy } from '../say.js';
import { announce, Empty, Failure, Page, Section, Table, Tag, Time, useAction } from '../ui.js';
import { CheckFields, checkOf, useAsked, withAsked } from './asking.js';
import { Bar } from './usage.js';

export function ExplainPage({ query }) {
  const [form, set] = useAsked(query);
  const [answer, setAnswer] = useState(null);
  const [busy, error, ask] = useAction(async () => {
    const { body } = await admin('explain', { method: 'POST', body: checkOf(form) });
    setAnswer(body);
    announce(verdict(body));
  });
  const problems = error?.members || [];
  return html`
    <${Page} title="Explain" actions=${html`<a class="button" href=${withAsked('try', form)}>Try this call</a>`}>
      <${Section} title="A call" note="Nothing is counted.">
        <form onSubmit=${(e) => { e.preventDefault(); ask(); }}>
          <${CheckFields} form=${form} set=${set} problems=${problems} />
          <div class="actions"><button type="submit" class="button primary" aria-disabled=${busy} disabled=${!form.tenant || !form.resource}>Explain</button></div>
        </form>
        <${Failure} error=${error && problems.length === 0 ? error : null} />
      <//>
      ${answer && html`<div class="stack"><${Explanation} answer=${answer} /></div>`}
    <//>`;
}

/** The first sentence. */
function verdict(x) {
  if (x.allowed === undefined) return 'What was counted cannot be known at the moment.';
  if (x.allowed) return 'It would pass now.';
  if (x.never) return `Refused by ${x.limit}, for ever: a cost of ${x.cost} is more than it can ever hold.`;
  return `Refused by ${x.limit}; it passes in ${lasting(x.retry_after_ms)}.`;
}

function Explanation({ answer: x }) {
  const matched = x.limits.filter((l) => l.matched).length;
  return html`
    <${Section} title="Answer">
      <p class="verdict"><${Tag} kind=${x.allowed === undefined ? 'warn' : x.allowed ? 'good' : 'bad'}>${x.allowed === undefined ? 'unknown' : x.allowed ? 'passes' : 'refused'}<//> ${verdict(x)}</p>
      <dl class="facts">
        <div><dt>Tenant</dt><dd>${x.known ? html`<a href=${link('tenants', x.tenant)}>${x.tenant}</a>` : html`${x.tenant} <${Tag} kind="warn">not known by name: default plan<//>`}</dd></div>
        <div><dt>Plan</dt><dd><a href=${link('plans', x.plan)}>${x.plan}</a></dd></div>
        <div><dt>Limits that match</dt><dd>${matched} of ${x.limits.length}</dd></div>
        <div><dt>Cost</dt><dd>${x.cost}</dd></div>
        <div><dt>Configuration</dt><dd class="mono">${x.version}</dd></div>
        <div><dt>As of</dt><dd>${at(x.at)}</dd></div>
      </dl>
    <//>
    ${x.limits.length === 0 ? html`<${Empty}><p>The plan has no limits: everything passes.</p><//>` : html`
      <${Table} label="Limits" head=${['Limit', 'Matches', 'State now', 'Where it comes from']}>
        ${x.limits.map((l) => html`<${Explained} limit=${l} />`)}
      <//>`}`;
}

function Explained({ limit: l }) {
  return html`
    <tr>
      <th scope="row">${l.name}<br /><span class="muted small">${policy(l)}</span><br /><span class="muted small">${algorithm(l.algorithm)}${l.by && l.by.length > 0 ? `, by ${l.by.join(', ')}` : ''}${l.mode && l.mode !== 'enforce' ? `, mode ${l.mode}` : ''}</span></th>
      <td>${l.matched ? html`<${Tag} kind="good">matches<//>` : html`<${Tag}>no match<//><br /><span class="muted">${l.reason}</span>`}</td>
      <td class="wide">${stateOf(l)}</td>
      <td>${origin(l)}${l.changed && html`<br /><span class="muted small">${l.changed.action} by <span class="mono">${l.changed.who}</span> <${Time} value=${l.changed.at} /></span>`}</td>
    </tr>`;
}

function stateOf({ name, matched, count: n }) {
  if (!matched) return html`<span class="muted">does not apply</span>`;
  if (!n) return html`<span class="muted">cannot be known at the moment</span>`;
  const says = n.allowed ? 'passes' : n.never ? 'can never pass' : `${plural(n.short, 'permit')} too few, passes in ${lasting(n.retry_after_ms)}`;
  return html`<${Bar} name=${name} used=${n.used} of=${n.capacity} /><span class=${n.allowed ? 'muted small' : 'refused small'}>${says}${n.over ? ', over its quota' : ''}</span>`;
}

function origin(l) {
  if (l.from === 'tenant') return html`<${Tag} kind="info">override<//>${l.replaces ? ' in place of the plan’s' : ' of the tenant’s own'}`;
  return html`<${Tag}>plan<//>`;
}
