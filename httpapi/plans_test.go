package httpapi

import (
	"slices"
	"testing"
)

// Where a newer configuration has counted, it is looked for once, and what is found then decides.
func TestOutdatedPlansAreRefreshedOnce(t *testing.T) {
	for _, c := range []struct {
		name     string
		finds    int64
		decideBy int64
	}{
		{"found", 7, 7},
		{"plans away, or restored", 0, 5},
		{"a newer one again", 6, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			d.revision, d.newest, d.refresh = 5, 7, c.finds
			d.check().has(200, "")
			if !slices.Equal(d.outdated, []int64{5}) {
				t.Errorf("told that %v are outdated, want 5", d.outdated)
			}
			if len(d.calls) != 2 || d.calls[0].AnyRevision || !d.calls[1].AnyRevision || d.calls[1].Items[0].Revision != c.decideBy {
				t.Errorf("decided %+v", d.calls)
			}
		})
	}
}

func TestPlansInForceAreNotRefreshed(t *testing.T) {
	d := newDoor(t)
	d.revision, d.newest = 7, 7
	d.check().has(200, "")
	if len(d.outdated) > 0 || len(d.calls) != 1 {
		t.Errorf("told %v, decided %d times", d.outdated, len(d.calls))
	}
}
