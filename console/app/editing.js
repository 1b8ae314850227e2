// Editing a plan or a tenant: validation while typing, the difference before it is saved, and
// what to do when somebody else was faster.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact/standalone.module.js';
import { admin, Failed, query, seg } from './api.js';
import { diffLines, hunks } from './diff.js';
import { bodyOf, pretty } from './document.js';
import { merge, same } from './merge.js';
import { forgetUnsaved, useUnsaved } from './router.js';
import { announce, Dialog, Failure, Problems, Time, useAction, useSettled } from './ui.js';
import { plural } from './say.js';

/** How long typing pauses before what was typed is validated. */
const pause = 350;

/** What the server says of a plan or tenant: it is tried, and not saved. Warnings are of what is valid. */
async function validate(kind, name, body, signal) {
  try {
    const answer = await admin(`${kind}/${seg(name)}?dry_run=true`, { method: 'PUT', body, signal });
    return { problems: [], warnings: (answer.body.warnings || []).map((w) => ({ ...w, warning: true })) };
  } catch (error) {
    if (!(error instanceof Failed) || error.status !== 400) throw error;
    return { problems: error.members.length > 0 ? error.members : [{ member: '', detail: error.message }], warnings: [] };
  }
}

const nothing = { problems: [], warnings: [] };

/** Validates a body whenever it has not changed for a moment. */
export function useValidation(kind, name, body) {
  const text = useSettled(JSON.stringify(body), pause);
  const [state, setState] = useState({ ...nothing, of: null });
  useEffect(() => {
    if (!name) {
      setState({ ...nothing, of: text });
      return undefined;
    }
    const stop = new AbortController();
    validate(kind, name, JSON.parse(text), stop.signal).then(
      (found) => stop.signal.aborted || setState({ ...found, of: text }),
      (error) => stop.signal.aborted || error.name === 'AbortError' || setState({ ...nothing, of: text, error }),
    );
    return () => stop.abort();
  }, [kind, name, text]);
  const told = useRef(0);
  useEffect(() => {
    if (state.problems.length !== told.current) announce(state.problems.length === 0 ? 'Everything is valid.' : `${plural(state.problems.length, 'problem')}: ${state.problems[0].member} ${state.problems[0].detail}`);
    told.current = state.problems.length;
  }, [state]);
  return { ...state, pending: state.of !== JSON.stringify(body) };
}

export const Difference = ({ before, after, label = 'Difference' }) => html`
  <div class="diff" role="region" aria-label=${label} tabindex="0">
    ${hunks(diffLines(before, after)).map((l) => (l.skipped
    ? html`<div class="skipped">${plural(l.skipped, 'line')} unchanged</div>`
    : html`<div class=${l.sign === '+' ? 'added' : l.sign === '-' ? 'removed' : ''}><span class="sign">${l.sign === '-' ? '−' : l.sign}</span>${l.text}</div>`))}
  </div>`;

/**
 * The bar below what is edited, with its dialogs. loaded is what the server has: {body, etag};
 * etag null creates. onSaved gets the answer, onTake a body and an ETag to edit from now on.
 */
export function SaveBar({ kind, name, loaded, draft, unreadable, validation, onSaved, onRevert, onTake, onProblems }) {
  const [dialog, setDialog] = useState('');
  const [conflict, setConflict] = useState(null);
  const [saves, setSaves] = useState(0);
  const said = useRef();
  useEffect(() => { if (saves > 0) said.current.focus(); }, [saves]); // there is nothing to press any more
  const created = !loaded.etag;
  const dirty = created || !same(loaded.body, draft);
  useUnsaved(dirty && !(created && (draft.limits || []).length === 0));
  const [busy, error, save] = useAction(async () => {
    try {
      const answer = await admin(`${kind}/${seg(name)}`, {
        method: 'PUT', body: draft, headers: created ? { 'If-None-Match': '*' } : { 'If-Match': loaded.etag },
      });
      setDialog('');
      forgetUnsaved();
      announce(`${name} is saved.`);
      onSaved(answer);
      setSaves((n) => n + 1);
    } catch (failed) {
      if (failed.status === 412 && !created) {
        setConflict(await theirs(kind, name));
        setDialog('conflict');
        return;
      }
      if (failed.status === 412) throw new Failed(412, { detail: `${name} is there already. Choose another name, or edit that one.` });
      if (failed.status === 400 && failed.members.length > 0) {
        setDialog('');
        onProblems(failed.members);
        return;
      }
      throw failed;
    }
  });
  const blocked = unreadable || !name || validation.problems.length > 0;
  const review = () => {
    if (!blocked) {
      setDialog('review');
      return;
    }
    const first = document.querySelector('[aria-invalid=true]');
    if (first) first.focus();
    announce('There are problems to be solved first.');
  };
  return html`
    <div class="save-bar">
      <p class=${blocked ? 'state bad' : 'state'} tabindex="-1" ref=${said}>${stateOf({ dirty, created, name, unreadable, validation })}</p>
      <div class="actions">
        ${!created && html`<button type="button" class="button" disabled=${!dirty} onClick=${onRevert}>Revert</button>`}
        <button type="button" class="button primary" disabled=${!dirty} aria-disabled=${blocked} onClick=${review}>Review and save</button>
      </div>
    </div>
    <${Failure} error=${validation.error} />
    ${dialog === 'review' && html`
      <${Dialog} title=${`${created ? 'Create' : 'Save'} ${kind.slice(0, -1)} ${name}?`} wide onClose=${() => setDialog('')}>
        <${Difference} before=${created ? '' : pretty(loaded.body)} after=${pretty(draft)} label="What changes" />
        <${Failure} error=${error} />
        <div class="actions end">
          <button type="button" class="button" onClick=${() => setDialog('')}>Back</button>
          <button type="button" class="button primary" aria-disabled=${busy} onClick=${save}>${created ? 'Create' : 'Save'}</button>
        </div>
      <//>`}
    ${dialog === 'conflict' && html`
      <${Conflict} name=${name} base=${loaded.body} mine=${draft} theirs=${conflict} onClose=${() => setDialog('')}
        onTake=${(body, what) => { setDialog(''); announce(what); onTake(body, conflict); }} />`}`;
}

function stateOf({ dirty, created, name, unreadable, validation }) {
  if (unreadable) return 'The text is not JSON yet.';
  if (!name) return 'Give it a name first.';
  if (validation.problems.length > 0) return `${plural(validation.problems.length, 'problem')} to be solved.`;
  if (!dirty) return 'No changes.';
  if (validation.pending) return 'Checking…';
  return created ? 'Valid, not created yet.' : 'Valid, not saved yet.';
}

/** What is there now, and who made it so. */
async function theirs(kind, name) {
  const now = await admin(`${kind}/${seg(name)}`);
  const audit = await admin(`audit${query({ limit: 200, tenant: kind === 'tenants' ? name : '' })}`);
  return {
    body: bodyOf(now.body), etag: now.etag, revision: now.body.revision,
    entry: audit.body.items.find((e) => e.version === now.body.revision),
  };
}

/** Somebody else saved in between: load theirs, or merge. */
function Conflict({ name, base, mine, theirs: now, onClose, onTake }) {
  const [choices, setChoices] = useState({});
  const { merged, conflicts } = merge(base, mine, now.body, choices);
  const by = now.entry ? html`<b>${now.entry.who}</b>` : 'Somebody else';
  return html`
    <${Dialog} title=${`${name} was changed in between`} wide alert onClose=${onClose}>
      <div class="prose"><p>${by} saved revision ${now.revision}${now.entry && html` <${Time} value=${now.entry.at} />`} while you were editing. Nothing of yours was saved. What they changed:</p></div>
      <${Difference} before=${pretty(base)} after=${pretty(now.body)} label="What they changed" />
      ${conflicts.length > 0 && html`
        <div class="prose"><p>Both of you changed the following. When merging, keep:</p></div>
        ${conflicts.map((c) => html`
          <fieldset class="choice">
            <legend><code>${c.name}</code></legend>
            ${['mine', 'theirs'].map((side) => html`
              <label><input type="radio" name=${`keep-${c.name}`} checked=${(choices[c.name] || 'mine') === side} onChange=${() => setChoices({ ...choices, [c.name]: side })} />
                <span>${side === 'mine' ? 'Mine' : 'Theirs'}: <code>${short(c[side])}</code></span></label>`)}
          </fieldset>`)}`}
      <div class="actions end">
        <button type="button" class="button" onClick=${onClose}>Keep editing</button>
        <button type="button" class="button" onClick=${() => onTake(now.body, 'Their version is loaded; yours is discarded.')}>Discard mine, load theirs</button>
        <button type="button" class="button primary" onClick=${() => onTake(merged, 'Merged. Review it and save again.')}>Merge both</button>
      </div>
    <//>`;
}

const short = (v) => (v === undefined ? 'removed' : typeof v === 'string' ? v : JSON.stringify(v));

/** All problems in one place, for those that belong to no field. */
export const Remaining = ({ problems }) => problems.length > 0 && html`<div class="failure"><${Problems} list=${problems} /></div>`;
