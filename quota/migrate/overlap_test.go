package migrate

import "testing"

func TestPatternsMeetAndCover(t *testing.T) {
	for _, test := range []struct {
		p, q          string
		meets, covers bool
	}{
		{"*", "*", true, true},
		{"*", "a", true, true},
		{"a", "*", true, false},
		{"a", "a", true, true},
		{"a", "b", false, false},
		{"a*", "ab*", true, true},
		{"ab*", "a*", true, false},
		{"a*", "b*", false, false},
		{"a*c", "a*", true, false},
		{"a*", "a*c", true, true},
		{"a*c", "*d", false, false},
		{"a*c", "*bc", true, false},
		{"a*b*c", "axbyc", true, true},
		{"a*b*c", "axyc", false, false},
		{"aa*a", "aa", false, false},
	} {
		if meets(test.p, test.q) != test.meets || meets(test.q, test.p) != test.meets {
			t.Errorf("%q and %q: meet is %t, the other way round %t", test.p, test.q, meets(test.p, test.q), meets(test.q, test.p))
		}
		if covers(test.p, test.q) != test.covers {
			t.Errorf("%q covers %q: %t", test.p, test.q, covers(test.p, test.q))
		}
	}
}
