// The console: who is signed in, which page is shown.

import { html, render, useEffect, useState } from '../vendor/htm-preact/standalone.module.js';
import { admin } from './api.js';
import { AuditPage } from './pages/audit.js';
import { ExplainPage } from './pages/explain.js';
import { KeysPage } from './pages/keys.js';
import { PlanPage, PlansPage } from './pages/plans.js';
import { SignIn } from './pages/signin.js';
import { TenantPage } from './pages/tenant.js';
import { TenantsPage } from './pages/tenants.js';
import { TryPage } from './pages/tryit.js';
import { forgetUnsaved, link, useRoute } from './router.js';
import { session } from './session.js';
import { Dialog, Empty, keepFocus, Page } from './ui.js';

const places = [['tenants', 'Tenants'], ['plans', 'Plans'], ['keys', 'Service keys'], ['explain', 'Explain'], ['try', 'Try it'], ['audit', 'Audit']];

function App() {
  const [key, setKey] = useState(session.key);
  useEffect(() => session.onChange(() => setKey(session.key)), []);
  return key ? html`<${Shell} key=${key} />` : html`<${SignIn} />`;
}

function Shell() {
  const route = useRoute();
  const [who, setWho] = useState('');
  // A session that was left open may have ended on the server.
  useEffect(() => { admin('whoami').then((a) => setWho(a.body.who), () => {}); }, []);
  const current = route.path[0] || 'tenants';
  const signOut = () => {
    forgetUnsaved();
    session.end('You are signed out.');
    location.hash = '';
  };
  const skip = (e) => {
    e.preventDefault();
    document.querySelector('h1').focus();
  };
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <div class="shell">
      <aside>
        <p class="brand"><img src="app/icon.svg" alt="" width="24" height="24" />Penstock</p>
        <nav aria-label="Pages">
          <ul>${places.map(([path, text]) => html`<li><a href=${link(path)} aria-current=${path === current ? 'page' : undefined}>${text}</a></li>`)}</ul>
        </nav>
        <div class="who">
          <p>Signed in as<br /><b>${who === 'bootstrap' ? 'bootstrap key' : who || '…'}</b></p>
          <button type="button" class="button small" onClick=${signOut}>Sign out</button>
        </div>
      </aside>
      <main id="main">${pageOf(route)}</main>
    </div>
    ${route.leaving && html`
      <${Dialog} title="Leave without saving?" alert onClose=${route.leaving.stay}>
        <div class="prose"><p>What you changed on this page is not saved.</p></div>
        <div class="actions end">
          <button type="button" class="button" onClick=${route.leaving.stay}>Stay</button>
          <button type="button" class="button danger" onClick=${route.leaving.leave}>Discard changes</button>
        </div>
      <//>`}`;
}

/** The page of an address; key makes another page of another object. */
function pageOf({ path: [place = 'tenants', name, part], query }) {
  switch (place) {
    case 'tenants': return name ? html`<${TenantPage} key=${name} name=${name} part=${part || 'usage'} />` : html`<${TenantsPage} query=${query} />`;
    case 'plans': return name ? html`<${PlanPage} key=${name} name=${name} />` : html`<${PlansPage} />`;
    case 'new-plan': return html`<${PlanPage} key="/new" name="" />`;
    case 'keys': return html`<${KeysPage} />`;
    case 'audit': return html`<${AuditPage} />`;
    case 'explain': return html`<${ExplainPage} query=${query} />`;
    case 'try': return html`<${TryPage} query=${query} />`;
    default: return html`<${Page} title="Not found"><${Empty}><p>There is no such page. <a href="#/tenants">Go to the tenants</a></p><//><//>`;
  }
}

keepFocus(document.getElementById('app'));
render(html`<${App} />`, document.getElementById('app'));
document.querySelector('.starting')?.remove();
