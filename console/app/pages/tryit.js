// Makes real checks and shows what is answered.

import { html, useRef, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin, check } from '../api.js';
import { count, lasting, plural } from '../say.js';
import { announce, Failure, Page, Section, Table, Tag, Text, useAction } from '../ui.js';
import { CheckFields, checkOf, useAsked, withAsked } from './asking.js';

/** How many calls "until refused" makes at most. */
const most = 100;

/** How many answers are listed. */
const listed = 100;

export function TryPage({ query }) {
  const [form, set] = useAsked(query);
  const [key, setKey] = useState('');
  const [asksForKey, setAsksForKey] = useState(false);
  const [answers, setAnswers] = useState([]);
  const stop = useRef(false);
  const number = useRef(0);
  const once = async () => {
    const began = performance.now();
    const answer = { ...(await check(checkOf(form), key.trim())), took: performance.now() - began, number: ++number.current };
    setAnswers((before) => [answer, ...before].slice(0, listed));
    if (answer.status === 401) setAsksForKey(true);
    return answer;
  };
  const [busy, error, send] = useAction(async (until) => {
    stop.current = false;
    let answer;
    let made = 0;
    do {
      answer = await once();
      made++;
    } while (until && answer.status === 200 && made < most && !stop.current);
    announce(`${made > 1 ? `${plural(made, 'call')}, the last one: ` : ''}${said(answer)}.`);
  });
  const [making, keyError, makeKey] = useAction(async () => {
    const { body } = await admin('keys', { method: 'POST', body: { name: 'console try it', scopes: ['check:any'], expires_in: '1h' } });
    setKey(body.key);
    announce('A key for an hour is filled in. Send again.');
  });
  const last = answers[0];
  const problems = last?.status === 400 ? last.body?.errors || [] : [];
  return html`
    <${Page} title="Try it" actions=${html`<a class="button" href=${withAsked('explain', form)}>Explain this call</a>`}>
      <${Section} title="A check" note="It is a real one, and counts.">
        <form onSubmit=${(e) => { e.preventDefault(); send(false); }}>
          <${CheckFields} form=${form} set=${set} problems=${problems} />
          ${(asksForKey || key) && html`
            <div class="filters">
              <${Text} label="Key" className="mono" type="password" value=${key} hint="This server asks for a key with the scope check:any or check:own." onInput=${setKey} />
              <button type="button" class="button" aria-disabled=${making} onClick=${makeKey}>Make one for an hour</button>
            </div>
            <${Failure} error=${keyError} />`}
          <div class="actions">
            <button type="submit" class="button primary" aria-disabled=${busy} disabled=${!form.tenant || !form.resource}>Send</button>
            <button type="button" class="button" disabled=${!form.tenant || !form.resource} onClick=${() => (busy ? (stop.current = true) : send(true))}>
              ${busy ? 'Stop' : 'Send until refused'}</button>
          </div>
        </form>
        <${Failure} error=${error} />
      <//>
      ${last && html`
        <${Section} title="Answer" note=${`${lasting(Math.round(last.took))}`}>
          <${Verdict} answer=${last} />
          <${Headers} headers=${last.headers} />
          <details><summary>Body</summary><pre class="code" tabindex="0">${last.body ? JSON.stringify(last.body, null, 2) : last.text}</pre></details>
        <//>
        <${Section} title="Calls so far" actions=${html`<button type="button" class="button small" onClick=${() => setAnswers([])}>Clear</button>`}>
          <${Table} label="All calls" className="calls" head=${[{ text: '#', className: 'end' }, 'Status', 'Answer', 'Limit', { text: 'Remaining', className: 'end' }, { text: 'Again in', className: 'end' }, 'Source']}>
            ${answers.map((a) => html`
              <tr key=${a.number}>
                <td class="end muted">${a.number}</td>
                <td><${Status} answer=${a} /></td>
                <td>${a.body?.allowed === undefined ? a.body?.title || 'no answer' : a.body.allowed ? 'allowed' : 'refused'}</td>
                <td>${a.body?.limit || html`<span class="muted">none</span>`}</td>
                <td class="end">${a.body?.remaining === undefined ? '' : count(a.body.remaining)}</td>
                <td class="end">${a.body?.retry_after_ms ? lasting(a.body.retry_after_ms) : ''}</td>
                <td>${a.body?.source || ''}</td>
              </tr>`)}
          <//>
        <//>`}
    <//>`;
}

const Status = ({ answer: a }) => html`<${Tag} kind=${a.status < 300 ? 'good' : a.status === 429 ? 'bad' : 'warn'}>${a.status}<//>`;

/** An answer in a sentence. */
function said({ status, body }) {
  if (!body || body.allowed === undefined) return `${status} ${body?.detail || body?.title || ''}`.trim();
  if (body.allowed) return body.limit ? `allowed, ${count(body.remaining)} left of ${body.limit}` : 'allowed, no limit matches';
  if (body.never) return `refused by ${body.limit}, and always will be at this cost`;
  return `refused${body.limit ? ` by ${body.limit}` : ''}, again in ${lasting(body.retry_after_ms)}`;
}

const Verdict = ({ answer }) => html`<p class="verdict"><${Status} answer=${answer} /> ${said(answer)}</p>`;

const shown = ['retry-after', 'ratelimit', 'ratelimit-policy', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-retry-after', 'content-type'];

/** The headers that clients act on, in one order. */
function Headers({ headers }) {
  const rows = shown.filter((name) => headers.has(name));
  return html`<dl class="headers">${rows.map((name) => html`<div><dt>${name}</dt><dd>${headers.get(name)}</dd></div>`)}</dl>`;
}
