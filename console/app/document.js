// Plans and tenants as what is sent and shown: the members of penstock.yaml, in its order.

const order = ['name', 'match', 'by', 'algorithm', 'quota', 'period', 'anchor_day', 'burst', 'ttl', 'mode', 'shadows', 'on_store_error',
  'soft_percent', 'slack', 'spread', 'resolution', 'request_ids'];

const rank = (name) => (order.indexOf(name) + order.length + 1) % (order.length + 1);

function ordered(limit) {
  if (!limit || typeof limit !== 'object' || Array.isArray(limit)) return limit;
  return Object.fromEntries(Object.entries(limit).sort(([a], [b]) => rank(a) - rank(b)));
}

/** What may be changed of a plan or a tenant, as it was answered. */
export function bodyOf(answer) {
  const body = {};
  if ('plan' in answer) body.plan = answer.plan;
  body.limits = (answer.limits || []).map(ordered);
  return body;
}

export const pretty = (body) => printed({ ...body, ...(Array.isArray(body.limits) && { limits: body.limits.map(ordered) }) });

/** JSON with lists of words in one line each. */
export const printed = (value) => JSON.stringify(value, null, 2).replace(/\[\s+("(?:[^"\\]|\\.)*"(?:,\s+"(?:[^"\\]|\\.)*")*)\s+\]/g, (_, words) => `[${words.replace(/,\s+"/g, ', "')}]`);

/** A text as JSON: {body}, or {problem} that says where it cannot be read. */
export function read(text) {
  try {
    const body = JSON.parse(text);
    if (body && typeof body === 'object' && !Array.isArray(body)) return { body };
    return { problem: { member: 'document', detail: 'must be an object: { … }' } };
  } catch (error) {
    const found = /position (\d+)/.exec(error.message);
    const line = found ? text.slice(0, Number(found[1])).split('\n').length : text.split('\n').length;
    return { problem: { member: `line ${line}`, detail: `is not JSON: ${error.message.replace(/ in JSON at position.*| \(line.*/, '')}` } };
  }
}

/** Those of the problems that are of a member or inside it. */
export const problemsOf = (problems, member) => problems.filter((p) => p.member === member || p.member.startsWith(`${member}.`) || p.member.startsWith(`${member}[`));
