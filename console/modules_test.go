package console_test

import (
	"testing"
)

// The modules that decide something are tried by themselves, in the browser that runs them.

func TestMerge(t *testing.T) {
	p := serve(t).open()
	for name, c := range map[string]struct{ base, mine, theirs, choices, merged, conflicts string }{
		"both the same":            {`{a:1}`, `{a:2}`, `{a:2}`, `{}`, `{a:2}`, ``},
		"only mine":                {`{a:1,b:1}`, `{a:2,b:1}`, `{a:1,b:1}`, `{}`, `{a:2,b:1}`, ``},
		"only theirs":              {`{a:1,b:1}`, `{a:1,b:1}`, `{a:1,b:2}`, `{}`, `{a:1,b:2}`, ``},
		"each another":             {`{a:1,b:1}`, `{a:2,b:1}`, `{a:1,b:2}`, `{}`, `{a:2,b:2}`, ``},
		"both the one, mine":       {`{a:1}`, `{a:2}`, `{a:3}`, `{}`, `{a:2}`, `a`},
		"both the one, theirs":     {`{a:1}`, `{a:2}`, `{a:3}`, `{a:'theirs'}`, `{a:3}`, `a`},
		"added by each":            {`{a:1}`, `{a:1,b:1}`, `{a:1,c:1}`, `{}`, `{a:1,c:1,b:1}`, ``},
		"removed by me":            {`{a:1,b:1}`, `{a:1}`, `{a:1,b:1}`, `{}`, `{a:1}`, ``},
		"removed by them":          {`{a:1,b:1}`, `{a:1,b:1}`, `{a:1}`, `{}`, `{a:1}`, ``},
		"removed by me, changed":   {`{a:1}`, `{}`, `{a:2}`, `{}`, `{}`, `a`},
		"changed, removed by them": {`{a:1}`, `{a:2}`, `{}`, `{a:'theirs'}`, `{}`, `a`},
	} {
		// {a:1} stands for a limit a with the quota 1.
		got := eval[[]string](p, `import('/console/app/merge.js').then(({ merge }) => {
			const body = (quotas) => ({ limits: Object.entries(quotas).map(([name, quota]) => ({ name, quota })) });
			const { merged, conflicts } = merge(body(`+c.base+`), body(`+c.mine+`), body(`+c.theirs+`), `+c.choices+`);
			const said = (limits) => '{' + limits.map((l) => l.name + ':' + l.quota).join(',') + '}';
			return [said(merged.limits), conflicts.map((f) => f.name).join(',')];
		})`)
		if got[0] != c.merged || got[1] != c.conflicts {
			t.Errorf("%s: %q, want %q", name, got, []string{c.merged, c.conflicts})
		}
	}
}

// Whatever the texts, the lines of a difference without the added ones are the old text, and
// without the removed ones the new one; and none is both without need.
func TestDifference(t *testing.T) {
	p := serve(t).open()
	wrong := eval[[]string](p, `import('/console/app/diff.js').then(({ diffLines, hunks }) => {
		const wrong = [];
		let seed = 7;
		const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
		const text = () => Array.from({ length: random(9) }, () => 'abc'[random(3)]).join('\n');
		for (let i = 0; i < 3000; i++) {
			const [before, after] = [text(), text()];
			const lines = diffLines(before, after);
			const side = (sign) => lines.filter((l) => l.sign !== sign).map((l) => l.text).join('\n');
			if (side('+') !== before || side('-') !== after) wrong.push(JSON.stringify([before, after, lines]));
			if (before === after && lines.some((l) => l.sign !== ' ')) wrong.push('equal texts differ: ' + before);
			const shown = hunks(lines, 1);
			if (shown.reduce((n, l) => n + (l.skipped || 1), 0) !== lines.length) wrong.push('lines are lost: ' + JSON.stringify(shown));
			if (shown.filter((l) => l.sign === '+' || l.sign === '-').length !== lines.filter((l) => l.sign !== ' ').length) wrong.push('changes are not shown: ' + JSON.stringify(shown));
		}
		const one = diffLines('a\nb\nc\nd', 'a\nx\nc\nd').map((l) => l.sign + l.text).join(' ');
		if (one !== ' a -b +x  c  d') wrong.push(one);
		return wrong.slice(0, 3);
	})`)
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestWhatIsSaid(t *testing.T) {
	p := serve(t).open()
	for expression, want := range map[string]string{
		`lasting(0)`:        "0 ms",
		`lasting(999)`:      "999 ms",
		`lasting(1000)`:     "1 s",
		`lasting(4250)`:     "4.3 s",
		`lasting(60000)`:    "1 min",
		`lasting(200000)`:   "3 min 20 s",
		`lasting(3600000)`:  "1 h",
		`lasting(90000000)`: "1 d 1 h",
		`ago('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:05:00Z'))`:              "5 min. ago",
		`ago('2026-01-04T00:00:00Z', Date.parse('2026-01-01T00:00:00Z'))`:              "in 3 days",
		`ago('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:01Z'))`:              "just now",
		`policy({ algorithm: 'token_bucket', quota: 1000, period: 'day', burst: 50 })`: "1,000 per day, burst 50",
		`policy({ algorithm: 'concurrency', quota: 5, ttl: '30s' })`:                   "5 at once",
		`matching({ match: { resource: 'POST /a*', attributes: { ip: '*' } } })`:       "POST /a*, ip = *",
	} {
		if got := eval[string](p, `import('/console/app/say.js').then(({ lasting, ago, policy, matching }) => `+expression+`)`); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
}
