package quota

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "a", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"**", "a", true},
		{"a*", "a", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*a", "a", false}, // the two a's are not the same one
		{"a*a", "aa", true},
		{"a*b*c", "a-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"*ab*", "aab", true},
		{"*ab*ab", "ab", false},
		{"*ab*ab", "abab", true},
		{"*a*a*", "a", false},
		{"*a*a*", "aa", true},
		{"*aba*ab*", "abab", false},
		{"é*", "éa", true},
		{"GET /search*", "GET /search/a?b=c", true},
		{"GET /*/items", "GET /a/b/items", true},
		{"[a-z]", "b", false}, // nothing else is special
		{"a.c", "abc", false},
		{"a?c", "abc", false},
		{`\*`, "*", false},
		{`\*`, `\x`, true},
	} {
		p := newPattern(c.pattern)
		if got := p.match(c.s); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.s, got, c.want)
		}
	}
}

// naive tries every length for every star.
func naive(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern[0] == '*':
		for i := range len(s) + 1 {
			if naive(pattern[1:], s[i:]) {
				return true
			}
		}
		return false
	}
	return s != "" && s[0] == pattern[0] && naive(pattern[1:], s[1:])
}

func TestPatternMatchesAsTheNaiveOne(t *testing.T) {
	t.Parallel()
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[ab]{0,12}`).Draw(t, "s")
		p := newPattern(pattern)
		got := p.match(s)
		if got != naive(pattern, s) {
			t.Fatalf("%q matches %q: %v", pattern, s, got)
		}
		if got {
			matched++
		}
	})
	if matched == 0 {
		t.Error("no pattern matched: nothing was tested")
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("*a*a*a*b", "aaaaaa")
	f.Add("a**b", "ab")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		// Beyond this the naive one takes too long.
		if len(s) > 40 || len(pattern) > 40 || strings.Count(pattern, "*") > 4 {
			return
		}
		p := newPattern(pattern)
		if got := p.match(s); got != naive(pattern, s) {
			t.Errorf("%q matches %q: %v", pattern, s, got)
		}
	})
}

// A pattern that makes those who go back try 2^n ways.
func TestPatternDoesNotGoBack(t *testing.T) {
	t.Parallel()
	p := newPattern(strings.Repeat("*a", 250) + "*b")
	s := strings.Repeat("a", 1<<20)
	began := time.Now()
	for range 10 {
		if p.match(s) {
			t.Fatal("there is no b")
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func BenchmarkPattern(b *testing.B) {
	for _, pattern := range []string{"GET /search", "GET /search*", "*a*a*a*a*b*"} {
		p := newPattern(pattern)
		s := "GET /search/" + strings.Repeat("a", 500)
		b.Run(pattern, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.match(s)
			}
		})
	}
}
