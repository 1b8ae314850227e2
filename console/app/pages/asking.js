// The form of a check, shared by Explain and Try it.

import { html, useState } from '../../vendor/htm-preact/standalone.module.js';
import { query } from '../api.js';
import { problemsOf } from '../document.js';
import { attributesOf } from '../limits.js';
import { Field, Text } from '../ui.js';

/** What the form holds, from an address and back. */
export function useAsked(asked) {
  const [form, setForm] = useState({
    tenant: asked.tenant || '', resource: asked.resource || '', subject: asked.subject || '', attributes: asked.attributes || '', cost: asked.cost || '',
  });
  const set = (member) => (value) => setForm((f) => ({ ...f, [member]: value }));
  return [form, set];
}

/** The address of a page with the form filled in. */
export const withAsked = (page, form) => `#/${page}${query(form)}`;

/** The body of a check. */
export function checkOf({ tenant, resource, subject, attributes, cost }) {
  const body = { tenant: tenant.trim(), resource };
  if (subject) body.subject = subject;
  const named = attributesOf(attributes);
  if (Object.keys(named).length > 0) body.attributes = named;
  if (cost !== '') body.cost = /^\d{1,15}$/.test(cost) ? Number(cost) : cost;
  return body;
}

export function CheckFields({ form, set, problems }) {
  const of = (member) => problemsOf(problems, member);
  return html`
    <div class="fields">
      <${Text} label="Tenant" className="mono" required value=${form.tenant} placeholder="acme" problems=${of('tenant')} onInput=${set('tenant')} />
      <${Text} label="Resource" className="mono" required value=${form.resource} placeholder="GET /search" problems=${of('resource')} onInput=${set('resource')} />
      <${Text} label="Subject" className="mono" value=${form.subject} placeholder="user:42" problems=${of('subject')} onInput=${set('subject')} />
      <${Field} label="Attributes" className="mono" hint="one a line, ip: 203.0.113.9" problems=${of('attributes')}>
        ${(a) => html`<textarea rows=${Math.max(1, form.attributes.split('\n').length)} spellcheck="false" ...${a} value=${form.attributes} onInput=${(e) => set('attributes')(e.target.value)}></textarea>`}
      <//>
      <${Text} label="Cost" inputmode="numeric" value=${form.cost} placeholder="1" problems=${of('cost')} onInput=${set('cost')} />
    </div>`;
}
