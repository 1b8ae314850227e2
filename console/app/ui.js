// The parts that pages are made of.

import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from '../vendor/htm-preact/standalone.module.js';
import { ago, at } from './say.js';

let ids = 0;
export const useID = (prefix) => useState(() => `${prefix}-${++ids}`)[0];

/** Tells a screen reader; the same text twice is told twice. */
export function announce(text) {
  const place = document.getElementById('announcements');
  place.textContent = '';
  setTimeout(() => { place.textContent = text; }, 50);
}

/**
 * Loads something, and again when a dependency changes or reload is called. The value stays
 * while it is loaded again, so that a page that refreshes does not flicker.
 */
export function useLoad(load, dependencies) {
  const [state, setState] = useState({ loading: true });
  const [turn, setTurn] = useState(0);
  const before = useRef(null);
  useEffect(() => {
    const stop = new AbortController();
    const key = JSON.stringify(dependencies);
    setState((s) => (before.current === key ? { ...s, loading: true } : { loading: true }));
    before.current = key;
    load(stop.signal).then(
      (value) => stop.signal.aborted || setState({ value, loading: false }),
      (error) => stop.signal.aborted || error.name === 'AbortError' || setState({ error, loading: false }),
    );
    return () => stop.abort();
  }, [...dependencies, turn]);
  return { ...state, reload: useCallback(() => setTurn((n) => n + 1), []) };
}

/** Calls every so many milliseconds while the page can be seen. */
export function useEvery(milliseconds, call) {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    let timer;
    const tick = () => {
      if (!document.hidden) latest.current();
      timer = setTimeout(tick, milliseconds);
    };
    const seen = () => { if (!document.hidden) latest.current(); };
    timer = setTimeout(tick, milliseconds);
    document.addEventListener('visibilitychange', seen);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [milliseconds]);
}

/** A value that follows another when it has not changed for a while. */
export function useSettled(value, milliseconds) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** A page: its heading takes the focus, so that a screen reader begins there. */
export function Page({ title, crumb, actions, children }) {
  const heading = useRef();
  useEffect(() => {
    document.title = `${title} · Penstock`;
    heading.current.focus();
  }, [title]);
  return html`
    <header class="page-head">
      <div>${crumb && html`<p class="crumb">${crumb}</p>`}<h1 tabindex="-1" ref=${heading}>${title}</h1></div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}`;
}

export function Section({ title, note, actions, children, className = '' }) {
  const id = useID('section');
  return html`
    <section class=${`panel ${className}`} aria-labelledby=${id}>
      <header class="panel-head"><h2 id=${id}>${title}</h2>${note && html`<p class="note">${note}</p>`}${actions && html`<div class="actions">${actions}</div>`}</header>
      ${children}
    </section>`;
}

/** What is wrong with members of what was entered. */
export const Problems = ({ id, list }) => list.length > 0 && html`
  <ul class="problems" id=${id}>
    ${list.map((p) => html`<li class=${p.warning ? 'warning' : ''}>${p.member && html`<code>${p.member}</code> `}${p.detail}</li>`)}
  </ul>`;

/**
 * A labelled control. children is called with the attributes the control needs; problems are
 * those of its member.
 */
export function Field({ label, hint, problems = [], className = '', children }) {
  const id = useID('field');
  const described = [hint && `${id}-hint`, problems.length > 0 && `${id}-problems`].filter(Boolean).join(' ');
  const attributes = { id, 'aria-describedby': described || undefined, 'aria-invalid': problems.some((p) => !p.warning) ? 'true' : undefined };
  return html`
    <div class=${`field ${className}`}>
      <label for=${id}>${label}</label>
      ${children(attributes)}
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
      <${Problems} id=${`${id}-problems`} list=${problems} />
    </div>`;
}

/** A text field: label, value and onInput(text). */
export function Text({ label, hint, problems, className, onInput, ...rest }) {
  return html`
    <${Field} label=${label} hint=${hint} problems=${problems} className=${className}>
      ${(a) => html`<input type="text" autocomplete="off" spellcheck="false" ...${a} ...${rest} onInput=${(e) => onInput(e.target.value)} />`}
    <//>`;
}

export function Select({ label, hint, problems, className, options, value, onInput, ...rest }) {
  return html`
    <${Field} label=${label} hint=${hint} problems=${problems} className=${className}>
      ${(a) => html`
        <select ...${a} ...${rest} value=${value} onChange=${(e) => onInput(e.target.value)}>
          ${options.map(([v, text]) => html`<option value=${v} selected=${v === value}>${text}</option>`)}
        </select>`}
    <//>`;
}

/**
 * What has the focus may go away: a row that is deleted, a button whose work is done. Then the
 * heading has it, and not the top of the document.
 */
export function keepFocus(root) {
  let last = null;
  document.addEventListener('focusin', (e) => { last = e.target; });
  new MutationObserver(() => {
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    last = null;
    document.querySelector('h1')?.focus();
  }).observe(root, { childList: true, subtree: true });
}

/** A dialog over the page. The focus goes into it, stays, and goes back where it was. */
export function Dialog({ title, onClose, children, wide, alert }) {
  const element = useRef();
  const id = useID('dialog');
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog.showModal();
    return () => {
      dialog.close();
      if (before && before.isConnected) before.focus();
    };
  }, []);
  return html`
    <dialog ref=${element} class=${wide ? 'wide' : ''} role=${alert ? 'alertdialog' : undefined} aria-labelledby=${id}
      onCancel=${(e) => { e.preventDefault(); onClose(); }}>
      <h2 id=${id}>${title}</h2>
      ${children}
    </dialog>`;
}

/** Asks before something is done that cannot be undone. act returns a promise. */
export function Confirm({ title, children, verb, act, onClose }) {
  const [busy, error, run] = useAction(act);
  return html`
    <${Dialog} title=${title} onClose=${onClose} alert>
      <div class="prose">${children}</div>
      <${Failure} error=${error} />
      <div class="actions end">
        <button type="button" class="button" onClick=${onClose}>Cancel</button>
        <button type="button" class="button danger" aria-disabled=${busy} onClick=${() => run().then((ok) => ok && onClose())}>${verb}</button>
      </div>
    <//>`;
}

/**
 * Runs something the user asked for: whether it runs, its error, and how to start it. While it
 * runs it cannot be started again. Its button is aria-disabled then and not disabled, which
 * would take the focus from it.
 */
export function useAction(act) {
  const [state, setState] = useState({ busy: false, error: null });
  const running = useRef(false);
  const run = async (...args) => {
    if (running.current) return false;
    running.current = true;
    setState({ busy: true, error: null });
    try {
      await act(...args);
      setState({ busy: false, error: null });
      return true;
    } catch (error) {
      setState({ busy: false, error });
      return false;
    } finally {
      running.current = false;
    }
  };
  return [state.busy, state.error, run];
}

export const Failure = ({ error, retry }) => error && html`
  <div class="failure" role="alert">
    <p>${error.message}</p>
    ${error.members && error.members.length > 0 && html`<${Problems} list=${error.members} />`}
    ${retry && html`<button type="button" class="button small" onClick=${retry}>Try again</button>`}
  </div>`;

export const Empty = ({ children }) => html`<div class="empty">${children}</div>`;

export const Loading = ({ what }) => html`<p class="loading" role="status">Loading ${what}…</p>`;

/** What was loaded, or why it is not there. */
export function Loaded({ of, what, children }) {
  if (of.value !== undefined) return html`<${Failure} error=${of.error} retry=${of.reload} />${children(of.value)}`;
  return of.error ? html`<${Failure} error=${of.error} retry=${of.reload} />` : html`<${Loading} what=${what} />`;
}

export const Tag = ({ kind = '', children }) => html`<span class=${`tag ${kind}`}>${children}</span>`;

export const Time = ({ value }) => html`<time datetime=${value} title=${at(value)}>${ago(value)}</time>`;

/** Cells that are wider than the page scroll, by the keyboard too. */
export const Table = ({ label, head, children, className = '' }) => html`
  <div class="table" role="region" aria-label=${label} tabindex="0">
    <table class=${className}>
      <thead><tr>${head.map((h) => html`<th scope="col" class=${h.className || ''}>${h.text === undefined ? h : h.text}</th>`)}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  </div>`;

/** Pages of a list by cursor: the cursors of the pages before are kept, to go back. */
export function usePages(dependencies) {
  const [cursors, setCursors] = useState(['']);
  useEffect(() => setCursors(['']), dependencies);
  return {
    cursor: cursors.at(-1),
    number: cursors.length,
    next: (cursor) => setCursors([...cursors, cursor]),
    back: () => setCursors(cursors.slice(0, -1)),
  };
}

export const Pager = ({ pages, cursor }) => (pages.number > 1 || cursor) && html`
  <nav class="pager" aria-label="Pages of the list">
    <button type="button" class="button small" aria-disabled=${pages.number === 1} onClick=${() => pages.number > 1 && pages.back()}>Previous</button>
    <span>Page ${pages.number}</span>
    <button type="button" class="button small" aria-disabled=${!cursor} onClick=${() => cursor && pages.next(cursor)}>Next</button>
  </nav>`;

/** Copies a text; where the browser does not let it, selects it. */
export function Copyable({ label, value }) {
  const input = useRef();
  const copy = async () => {
    input.current.select();
    try {
      await navigator.clipboard.writeText(value);
      announce(`${label} copied.`);
    } catch {
      announce(`${label} is selected: copy it with the keyboard.`);
    }
  };
  return html`
    <${Field} label=${label}>
      ${(a) => html`
        <div class="copyable">
          <input type="text" class="mono" readonly ...${a} ref=${input} value=${value} onFocus=${(e) => e.target.select()} />
          <button type="button" class="button" onClick=${copy}>Copy</button>
        </div>`}
    <//>`;
}
