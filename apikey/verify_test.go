package apikey

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// askedSource counts how often it is asked, and can be down.
type askedSource struct {
	records Static
	asked   atomic.Int64
	down    atomic.Bool
	delay   time.Duration
}

var errDown = errors.New("the table is away")

func (s *askedSource) Key(ctx context.Context, id string) (Record, bool, error) {
	s.asked.Add(1)
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-ctx.Done():
			return Record{}, false, ctx.Err()
		}
	}
	if s.down.Load() {
		return Record{}, false, errDown
	}
	if err := ctx.Err(); err != nil {
		return Record{}, false, err
	}
	return s.records.Key(ctx, id)
}

// desk is a verifier at a time of its own, with one key.
type desk struct {
	*Verifier
	t      *testing.T
	source *askedSource
	now    time.Time
	key    string
	id     string
}

func newDesk(t *testing.T, o Options) *desk {
	t.Helper()
	o.Now = start
	key, r := Mint(operatorSecret, o)
	d := &desk{t: t, now: start, key: key, id: r.ID, source: &askedSource{records: Static{r.ID: r}}}
	d.Verifier = NewVerifier(operatorSecret, d.source, VerifierOptions{Now: func() time.Time { return d.now }})
	return d
}

// presented verifies the desk's key and expects an error (nil: the key is good) after so many questions in all.
func (d *desk) presented(want error, asked int64) {
	d.t.Helper()
	if _, err := d.Verify(d.t.Context(), d.key); !errors.Is(err, want) {
		d.t.Errorf("at %s: got %v, want %v", d.now.Sub(start), err, want)
	}
	if got := d.source.asked.Load(); got != asked {
		d.t.Errorf("at %s: the source was asked %d times, want %d", d.now.Sub(start), got, asked)
	}
}

func (d *desk) after(elapsed time.Duration) { d.now = d.now.Add(elapsed) }

func TestGenuineKeyVerifies(t *testing.T) {
	d := newDesk(t, Options{Scopes: []Scope{CheckOwn}, Tenant: "acme"})
	r, err := d.Verify(t.Context(), d.key)
	if err != nil || r.Tenant != "acme" || !slices.Equal(r.Scopes, []Scope{CheckOwn}) {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestMalformedKeyIsRefusedWithoutAsking(t *testing.T) {
	d := newDesk(t, Options{})
	keys := malformedKeys(d.key)
	maps.Copy(keys, forgedKeys(d.key))
	for name, key := range keys {
		if _, err := d.Verify(t.Context(), key); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want %v", name, err, ErrMalformed)
		}
	}
	if n := d.source.asked.Load(); n != 0 {
		t.Errorf("the source was asked %d times", n)
	}
}

func TestKeyOfAnotherSecretIsRefusedWithoutAsking(t *testing.T) {
	d := newDesk(t, Options{})
	d.key, _ = Mint([]byte("another operator's secret"), Options{Now: start})
	d.presented(ErrMalformed, 0)
}

func TestMacCoversTheWholeKey(t *testing.T) {
	a, _ := Mint(operatorSecret, Options{Now: start})
	b, _ := Mint(operatorSecret, Options{Now: start})
	d := newDesk(t, Options{})
	d.key = a[:secretAt] + b[secretAt:] // the id of one, secret and mac of the other
	d.presented(ErrMalformed, 0)
}

func TestSecretPartIsComparedWithTheRecord(t *testing.T) {
	d := newDesk(t, Options{})
	_, other := Mint(operatorSecret, Options{Now: start})
	for name, hash := range map[string][]byte{"another": other.Hash, "none": nil, "shorter": other.Hash[:31]} {
		r := d.source.records[d.id]
		r.Hash = hash
		d.source.records[d.id] = r
		d.Forget(d.id)
		if _, err := d.Verify(t.Context(), d.key); !errors.Is(err, ErrUnknown) {
			t.Errorf("hash %s: got %v, want %v", name, err, ErrUnknown)
		}
	}
}

func TestRecordIsAskedForOnceAMinute(t *testing.T) {
	d := newDesk(t, Options{})
	d.presented(nil, 1)
	d.after(59 * time.Second)
	d.presented(nil, 1)
	d.after(time.Second)
	d.presented(nil, 2)
}

func TestUnknownKeyIsAskedForEveryFiveSeconds(t *testing.T) {
	d := newDesk(t, Options{})
	r := d.source.records[d.id]
	delete(d.source.records, d.id)
	d.presented(ErrUnknown, 1)
	d.source.records[d.id] = r
	d.after(4 * time.Second)
	d.presented(ErrUnknown, 1)
	d.after(time.Second)
	d.presented(nil, 2)
}

func TestExpiredKeyIsRefusedFromTheMoment(t *testing.T) {
	d := newDesk(t, Options{ExpiresAt: start.Add(30 * time.Second)})
	d.after(30*time.Second - 1)
	d.presented(nil, 1)
	d.after(1)
	d.presented(ErrExpired, 1)
}

func TestRevokedKeyIsRefusedWithinAMinute(t *testing.T) {
	d := newDesk(t, Options{})
	d.presented(nil, 1)
	r := d.source.records[d.id]
	r.RevokedAt = start
	d.source.records[d.id] = r
	d.after(59 * time.Second)
	d.presented(nil, 1)
	d.after(time.Second)
	d.presented(ErrRevoked, 2)
}

func TestForgottenKeyIsAskedForAgain(t *testing.T) {
	d := newDesk(t, Options{})
	d.presented(nil, 1)
	d.Forget(d.id)
	d.presented(nil, 2)
}

func TestRecordStandsInForASourceThatIsDown(t *testing.T) {
	d := newDesk(t, Options{})
	d.presented(nil, 1)
	d.source.down.Store(true)
	d.after(time.Minute)
	d.presented(nil, 2)
	d.after(4 * time.Second) // it is left alone for a while
	d.presented(nil, 2)
	d.after(time.Second)
	d.presented(nil, 3)
	d.after(9*time.Minute - 5*time.Second) // ten minutes old
	d.presented(nil, 4)
	d.after(5 * time.Second)
	d.presented(ErrUnavailable, 5)
	d.presented(errDown, 6)
	d.source.down.Store(false)
	d.presented(nil, 7)
}

func TestSourceThatIsDownKnowsNoNewKey(t *testing.T) {
	d := newDesk(t, Options{})
	d.source.down.Store(true)
	d.presented(ErrUnavailable, 1)
}

func TestAbsenceDoesNotStandInForASourceThatIsDown(t *testing.T) {
	d := newDesk(t, Options{})
	delete(d.source.records, d.id)
	d.presented(ErrUnknown, 1)
	d.source.down.Store(true)
	d.after(5 * time.Second)
	d.presented(ErrUnavailable, 2)
}

func TestManyCallersAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		d.source.delay = 100 * time.Millisecond
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := d.Verify(t.Context(), d.key); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := d.source.asked.Load(); n != 1 {
			t.Errorf("the source was asked %d times", n)
		}
	})
}

func TestCallerWhoLeavesDoesNotSpoilTheAnswer(t *testing.T) {
	d := newDesk(t, Options{})
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := d.Verify(gone, d.key); err != nil {
		t.Error(err)
	}
}

func TestSourceThatHangsIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		d.source.delay = time.Hour
		began := time.Now()
		d.presented(ErrUnavailable, 1)
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %s, want 1s", took)
		}
	})
}

// A monotonic clock stands still while an instance is frozen.
func TestKeysGrowOldByTheWallClock(t *testing.T) {
	v := NewVerifier(operatorSecret, Static{}, VerifierOptions{})
	if now := v.options.Now(); now != now.Round(0) {
		t.Errorf("%s has a monotonic reading", now)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	source := Static{}
	v := NewVerifier(operatorSecret, source, VerifierOptions{Size: 10})
	for range 50 {
		key, r := Mint(operatorSecret, Options{Now: start})
		source[r.ID] = r
		if _, err := v.Verify(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if n := v.known.Len(); n != 10 {
		t.Errorf("%d records are remembered, want 10", n)
	}
}

func BenchmarkVerify(b *testing.B) {
	key, r := Mint(operatorSecret, Options{Now: start})
	v := NewVerifier(operatorSecret, Static{r.ID: r}, VerifierOptions{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}
