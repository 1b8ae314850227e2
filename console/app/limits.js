// The limits of a plan or a tenant as a form, or as JSON.

import { html, useEffect, useState } from '../vendor/htm-preact/standalone.module.js';
import { pretty, problemsOf, read } from './document.js';
import { Remaining } from './editing.js';
import { algorithm, matching, policy } from './say.js';
import { announce, Empty, Field, Problems, Select, Tag, Text } from './ui.js';

const algorithms = ['token_bucket', 'leaky_bucket', 'fixed_window', 'sliding_window_log', 'sliding_window_counter', 'interval_refill', 'concurrency'];

/** Which algorithms know a member; those that are not here know all. */
const knownBy = {
  burst: ['token_bucket', 'leaky_bucket'],
  ttl: ['concurrency'],
  resolution: ['sliding_window_log'],
  anchor_day: ['fixed_window', 'sliding_window_counter'],
};

const options = (names) => names.map((n) => [n, n === '' ? 'default' : n.replaceAll('_', ' ')]);

/** A number when it looks like one; else the text, so that the server says what is wrong with it. */
const numberOf = (text) => (/^-?\d{1,15}$/.test(text.trim()) ? Number(text) : text);

function withMember(limit, member, value) {
  const { [member]: _, ...rest } = limit;
  const empty = value === '' || (Array.isArray(value) && value.length === 0) || (value && typeof value === 'object' && Object.keys(value).length === 0);
  return empty ? rest : { ...limit, [member]: value }; // where it was, when it was there
}

/** The editor: a form, and JSON for those who would rather paste. */
export function LimitsEditor({ body, onBody, problems, text, onText, noun, children }) {
  const [form, setForm] = useState(true);
  const asJSON = text !== null;
  const limits = Array.isArray(body.limits) ? body.limits : [];
  const own = problems.filter((p) => p.member.startsWith('limits['));
  const put = (next) => onBody({ ...body, limits: next });
  const [focus, setFocus] = useState('');
  useEffect(() => {
    if (!focus) return;
    const at = document.querySelector(focus);
    if (at) at.focus();
    setFocus('');
  }, [focus]);
  const add = () => {
    put([...limits, { name: '', algorithm: 'token_bucket', quota: 10, period: '1s' }]);
    setFocus(`[data-limit="${limits.length}"] input`);
  };
  const remove = (i) => {
    put(limits.filter((_, j) => j !== i));
    announce(`${noun} ${limits[i].name || i + 1} is removed.`);
    setFocus('[data-add]');
  };
  const show = (json) => {
    setForm(!json);
    onText(json ? pretty(body) : null);
  };
  return html`
    <div class="switch" role="group" aria-label="How to edit">
      <button type="button" aria-pressed=${form && !asJSON} onClick=${() => asJSON && show(false)} disabled=${asJSON && !!read(text).problem}>Form</button>
      <button type="button" aria-pressed=${asJSON} onClick=${() => asJSON || show(true)}>JSON</button>
    </div>
    ${asJSON ? html`<${JSONEditor} text=${text} onText=${onText} problems=${problems} />` : html`
      ${children}
      ${limits.length === 0 && html`<${Empty}><p>No ${noun.toLowerCase()} yet.</p><//>`}
      ${limits.map((l, i) => html`<${LimitForm} key=${i} index=${i} limit=${l} problems=${own} noun=${noun}
        onLimit=${(next) => put(limits.map((old, j) => (j === i ? next : old)))} onRemove=${() => remove(i)} />`)}
      <p><button type="button" class="button" data-add onClick=${add}>Add ${noun.toLowerCase()}</button></p>
      <${Remaining} problems=${problems.filter((p) => !own.includes(p) && p.member !== 'plan')} />`}`;
}

function JSONEditor({ text, onText, problems }) {
  const { problem } = read(text);
  return html`
    <${Field} label="JSON" hint="The members of penstock.yaml." problems=${problem ? [problem] : problems}>
      ${(a) => html`<textarea class="mono" rows=${Math.min(40, Math.max(12, text.split('\n').length + 1))} spellcheck="false" ...${a} value=${text} onInput=${(e) => onText(e.target.value)}></textarea>`}
    <//>`;
}

/** The members that most limits do not have. */
const rare = ['mode', 'shadows', 'on_store_error', 'soft_percent', 'slack', 'spread', 'request_ids', 'resolution', 'anchor_day'];

function LimitForm({ index, limit, problems, onLimit, onRemove, noun }) {
  const path = `limits[${index}]`;
  const of = (member) => problemsOf(problems, `${path}.${member}`);
  const whole = problems.filter((p) => p.member === path);
  const set = (member, value) => onLimit(withMember(limit, member, value));
  const applies = (member) => !knownBy[member] || knownBy[member].includes(limit.algorithm) || limit[member] !== undefined;
  const amiss = rare.some((m) => of(m).length > 0);
  const [open, setOpen] = useState(() => rare.some((m) => limit[m] !== undefined));
  const text = (member, label, more = {}) => applies(member) && html`
    <${Text} label=${label} value=${limit[member] ?? ''} problems=${of(member)} onInput=${(v) => set(member, v)} ...${more} />`;
  const number = (member, label, more = {}) => applies(member) && html`
    <${Text} label=${label} inputmode="numeric" value=${limit[member] ?? ''} problems=${of(member)} className="w2" onInput=${(v) => set(member, numberOf(v))} ...${more} />`;
  const match = limit.match || {};
  return html`
    <fieldset class="limit" data-limit=${index}>
      <legend>${limit.name || `New ${noun.toLowerCase()}`}</legend>
      <div class="fields twelfths">
        ${text('name', 'Name', { placeholder: 'per-user' })}
        <${Select} label="Algorithm" value=${limit.algorithm || ''} options=${options(['', ...algorithms])} problems=${of('algorithm')} onInput=${(v) => set('algorithm', v)} />
        ${number('quota', 'Quota')}
        ${limit.algorithm !== 'concurrency' || limit.period !== undefined ? text('period', 'Period', { className: 'w2', placeholder: '1s, hour, day' }) : ''}
        ${number('burst', limit.algorithm === 'leaky_bucket' ? 'Queue' : 'Burst', { placeholder: String(limit.quota ?? '') })}
        ${text('ttl', 'Held at most', { className: 'w2', placeholder: '30s' })}
        <${CountedBy} value=${limit.by || []} problems=${of('by')} onBy=${(v) => set('by', v)} />
        <${Text} label="Resource" className="w4" value=${match.resource ?? ''} placeholder="any" problems=${of('match.resource')} hint="* stands for anything"
          onInput=${(v) => set('match', withMember(match, 'resource', v))} />
        <${Attributes} value=${match.attributes || {}} problems=${of('match.attributes')} onAttributes=${(v) => set('match', withMember(match, 'attributes', v))} />
      </div>
      <${Problems} list=${whole} />
      <details open=${open || amiss} onToggle=${(e) => setOpen(e.target.open)}>
        <summary>More</summary>
        <div class="fields twelfths">
          <${Select} label="Mode" value=${limit.mode || ''} options=${options(['', 'enforce', 'shadow', 'off'])} problems=${of('mode')} onInput=${(v) => set('mode', v)} />
          ${text('shadows', 'Candidate for', { placeholder: 'a limit' })}
          <${Select} label="When the store is away" value=${limit.on_store_error || ''} options=${options(['', 'local', 'allow', 'deny'])} problems=${of('on_store_error')} onInput=${(v) => set('on_store_error', v)} />
          ${number('soft_percent', 'Soft percent')}
          ${text('slack', 'Slack', { className: 'w2', placeholder: '50ms' })}
          ${number('spread', 'Spread')}
          ${number('request_ids', 'Request ids')}
          ${number('resolution', 'Resolution')}
          ${number('anchor_day', 'Anchor day')}
        </div>
      </details>
      <button type="button" class="button small remove" onClick=${onRemove} aria-label=${`Remove ${limit.name || `limit ${index + 1}`}`}>Remove</button>
    </fieldset>`;
}

const listOf = (text) => text.split(/[\s,]+/).filter(Boolean);

/**
 * A text that stands for a value: it stays as it was typed ("subject, ") until the value is
 * changed from outside.
 */
function useTyped(value, say, parse) {
  const [text, setText] = useState(() => say(value));
  const shown = JSON.stringify(parse(text)) === JSON.stringify(value) ? text : say(value);
  return [shown, setText];
}

function CountedBy({ value, problems, onBy }) {
  const [text, setText] = useTyped(value, (v) => v.join(', '), listOf);
  return html`<${Text} label="Counted by" className="w4" value=${text} placeholder="the tenant" problems=${problems} hint="subject, resource, attributes.NAME"
    onInput=${(t) => { setText(t); onBy(listOf(t)); }} />`;
}

function Attributes({ value, problems, onAttributes }) {
  const [text, setText] = useTyped(value, saidAttributes, attributesOf);
  return html`
    <${Field} label="Attributes" className="w4" hint="one a line, ip: *" problems=${problems}>
      ${(a) => html`<textarea rows=${Math.max(1, text.split('\n').length)} spellcheck="false" placeholder="any" ...${a} value=${text}
        onInput=${(e) => { setText(e.target.value); onAttributes(attributesOf(e.target.value)); }}></textarea>`}
    <//>`;
}

/** "ip: *" of {ip: '*'}, one a line. */
const saidAttributes = (value) => Object.entries(value).map(([n, v]) => `${n}: ${v}`).join('\n');

/** {ip: '*'} of "ip: *". */
export const attributesOf = (text) => Object.fromEntries(text.split('\n').filter((l) => l.trim()).map((line) => {
  const colon = line.indexOf(':');
  return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}));

/** Limits to be read, one a row. */
export const LimitRows = ({ limits, extra }) => limits.map((l) => html`
  <tr>
    <th scope="row">${l.name}</th>
    <td>${policy(l)}</td>
    <td>${algorithm(l.algorithm)}</td>
    <td>${(l.by || []).join(', ') || 'tenant'}</td>
    <td>${matching(l) || html`<span class="muted">all</span>`}</td>
    <td>${l.mode && l.mode !== 'enforce' ? html`<${Tag} kind="warn">${l.mode}<//>` : 'enforce'}</td>
    ${extra && html`<td class="end">${extra(l)}</td>`}
  </tr>`);
