// Who is signed in. The key lives in this tab's session storage, which ends with the tab;
// it is never in an address, a cookie or the page.

const slot = 'penstock.key';
const listeners = new Set();
let notice = '';

export const session = {
  get key() { return sessionStorage.getItem(slot) || ''; },
  /** What the sign-in page says of why one is there. */
  get notice() { return notice; },
  begin(key) {
    sessionStorage.setItem(slot, key);
    notice = '';
    changed();
  },
  end(why = '') {
    sessionStorage.removeItem(slot);
    notice = why;
    changed();
  },
  onChange(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

function changed() { for (const listener of listeners) listener(); }
