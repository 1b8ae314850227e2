// Two people changed the same plan or tenant: what both want together.

const text = (v) => JSON.stringify(v, (_, value) => (value && typeof value === 'object' && !Array.isArray(value)
  ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value));
export const same = (a, b) => text(a) === text(b);

const byName = (body) => new Map((body.limits || []).map((l) => [l.name, l]));

/**
 * Merges mine into theirs; both come from base. A member or a limit that only one of them
 * changed is taken from that one. Where both changed it, differently, it is a conflict, for
 * which choices[name] is 'mine' or 'theirs' (mine when not chosen).
 * Returns {merged, conflicts: [{name, mine, theirs}]}; undefined stands for what was removed.
 */
export function merge(base, mine, theirs, choices = {}) {
  const conflicts = [];
  const pick = (name, b, m, t) => {
    if (same(m, t) || same(m, b)) return t;
    if (same(t, b)) return m;
    conflicts.push({ name, mine: m, theirs: t });
    return choices[name] === 'theirs' ? t : m;
  };
  const merged = {};
  if ('plan' in mine || 'plan' in theirs) merged.plan = pick('plan', base.plan, mine.plan, theirs.plan);
  const [b, m, t] = [base, mine, theirs].map(byName);
  const names = [...new Set([...t.keys(), ...m.keys()])];
  merged.limits = names.map((name) => pick(name, b.get(name), m.get(name), t.get(name))).filter(Boolean);
  return { merged, conflicts };
}
