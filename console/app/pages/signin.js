// Signing in with a key that may administer.

import { html, useEffect, useRef, useState } from '../../vendor/htm-preact/standalone.module.js';
import { admin } from '../api.js';
import { session } from '../session.js';
import { Failure, Text, useAction } from '../ui.js';

export function SignIn() {
  const [key, setKey] = useState('');
  const form = useRef();
  useEffect(() => {
    document.title = 'Sign in · Penstock';
    form.current.querySelector('input').focus();
  }, []);
  const [busy, error, signIn] = useAction(async () => {
    try {
      await admin('whoami', { key: key.trim() });
    } catch (failed) {
      if (failed.status === 401) failed.message = 'This key is not accepted. It may be mistyped, expired or revoked.';
      throw failed;
    }
    session.begin(key.trim());
  });
  const submit = async (event) => {
    event.preventDefault();
    if (!(await signIn()) && form.current) form.current.querySelector('input').focus();
  };
  return html`
    <main class="sign-in">
      <form class="panel" ref=${form} onSubmit=${submit}>
        <p class="brand"><img src="app/icon.svg" alt="" width="28" height="28" />Penstock</p>
        <h1>Sign in</h1>
        ${session.notice && !error && html`<p class="notice" role="status">${session.notice}</p>`}
        <${Text} label="Admin key" type="password" className="mono" value=${key} required onInput=${setKey}
          hint="A key with the scope admin, or the bootstrap key that penstock serve printed or was given in PENSTOCK_ADMIN_KEY. It is kept in this tab until you sign out or close it." />
        <${Failure} error=${error} />
        <button type="submit" class="button primary" aria-disabled=${busy} disabled=${!key.trim()}>${busy ? 'Signing in…' : 'Sign in'}</button>
      </form>
    </main>`;
}
