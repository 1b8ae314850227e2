// Calls to the server this page came from. Errors are problems (RFC 9457).

import { session } from './session.js';

// The page is at …/console/; what comes before it is the stage, if the API has one.
const root = new URL('../', document.baseURI);

/** A refused or failed call. status 0: there was no answer. */
export class Failed extends Error {
  constructor(status, problem, headers) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.problem = problem;
    this.etag = headers ? headers.get('ETag') : null;
  }

  /** What is wrong with single members: [{member, detail}]. */
  get members() { return this.problem.errors || []; }
}

/** One segment of a path. */
export const seg = encodeURIComponent;

/** ?a=b of what is not empty. */
export function query(values) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== '' && value != null) q.set(name, value);
  const text = q.toString();
  return text ? `?${text}` : '';
}

async function send(path, { method = 'GET', body, headers = {}, signal, key } = {}) {
  const h = { Accept: 'application/json', ...headers };
  if (key) h.Authorization = `Bearer ${key}`;
  if (body !== undefined) h['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(new URL(path, root), {
      method, headers: h, signal, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store', credentials: 'omit',
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Failed(0, { detail: 'The server cannot be reached. Check that it runs, then try again.' });
  }
  const text = await response.text();
  return { status: response.status, headers: response.headers, etag: response.headers.get('ETag'), body: parsed(text), text };
}

function parsed(text) {
  try { return text ? JSON.parse(text) : null; } catch { return null; }
}

/** Calls below admin/v1/ with the key of the session; a 401 ends the session. */
export async function admin(path, options = {}) {
  const answer = await send(`admin/v1/${path}`, { key: session.key, ...options });
  if (answer.status === 401 && !options.key) session.end('Your key is not accepted any more. Sign in again.');
  if (answer.status >= 400) throw new Failed(answer.status, answer.body || {}, answer.headers);
  return answer;
}

/** Makes a check. Refusals and problems are answers as well. */
export function check(body, key) {
  return send('v1/check', { method: 'POST', body, key });
}
