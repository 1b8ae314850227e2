// Which page is shown: what follows the # of the address, "#/tenants/acme/keys?cursor=…".

import { useEffect, useState } from '../vendor/htm-preact/standalone.module.js';

export function parse(hash) {
  const [path, search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

/** The address of a page: link('tenants', name). */
export const link = (...path) => `#/${path.map(encodeURIComponent).join('/')}`;

export const go = (to) => { location.hash = to; };

// What is edited and not saved. Leaving it asks first.
let unsaved = null;
let ask = null;

/** While there are changes that are not saved, leaving the page asks. */
export function useUnsaved(dirty) {
  useEffect(() => {
    if (!dirty) return undefined;
    const mine = {};
    unsaved = mine;
    const warn = (event) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => {
      if (unsaved === mine) unsaved = null;
      removeEventListener('beforeunload', warn);
    };
  }, [dirty]);
}

/** What was edited is saved, or given up. */
export const forgetUnsaved = () => { unsaved = null; };

/** The page asked for, and a question while leaving waits for an answer. */
export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  const [leaving, setLeaving] = useState(null);
  ask = setLeaving;
  useEffect(() => {
    let shown = location.hash;
    const changed = () => {
      if (location.hash === shown) return;
      if (unsaved) {
        const target = location.hash;
        history.replaceState(null, '', shown || '#/');
        ask({ leave() { unsaved = null; ask(null); go(target); }, stay: () => ask(null) });
        return;
      }
      shown = location.hash;
      setHash(shown);
    };
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return { ...parse(hash), hash, leaving };
}
