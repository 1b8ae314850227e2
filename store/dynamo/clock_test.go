package dynamo

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// A skewed machine's clock is off by skew, and its clock is compared with the true one.
type skewed struct {
	*Clock
	at   time.Time // true
	skew time.Duration
}

func newSkewed(skew time.Duration) *skewed {
	s := &skewed{at: noon, skew: skew}
	s.Clock = NewClock(func() time.Time { return s.at.Add(s.skew) })
	return s
}

// answer has a server, lie ahead of the true time, answer a request of so long, having
// read its clock after there.
func (s *skewed) answer(there, back, lie time.Duration) {
	sent := s.wall()
	date := s.at.Add(there + lie).Truncate(time.Second)
	s.at = s.at.Add(there + back)
	s.compare(sent, s.wall(), date)
}

// off is how far the corrected clock is from the true time.
func (s *skewed) off() time.Duration { return s.Now().Sub(s.at).Abs() }

func TestWhatAnAnswerTells(t *testing.T) {
	sent := noon.Add(ms(400))
	for _, tt := range []struct {
		name        string
		received    time.Duration // after sent
		date        time.Time
		least, most time.Duration
		difference  time.Duration // for certain
	}{
		{"the same second", 0, noon, ms(-400), ms(600), 0},
		{"the same second, 100 ms on the way", ms(100), noon, ms(-500), ms(600), 0},
		{"the second before", 0, noon.Add(-time.Second), ms(-1400), ms(-400), ms(400)},
		{"the second before, 500 ms on the way", ms(500), noon.Add(-time.Second), ms(-1900), ms(-400), ms(400)},
		{"the next second", 0, noon.Add(time.Second), ms(600), ms(1600), ms(600)},
		{"the next second, which began on the way", ms(700), noon.Add(time.Second), ms(-100), ms(1600), 0},
		{"ten seconds later", ms(10), noon.Add(10 * time.Second), ms(9590), ms(10600), ms(9590)},
		{"ten seconds before", ms(10), noon.Add(-10 * time.Second), ms(-10410), ms(-9400), ms(9400)},
	} {
		o := possible(sent, sent.Add(tt.received), tt.date)
		if want := (offsets{tt.least, tt.most}); o != want || o.difference(0) != tt.difference {
			t.Errorf("%s: %v, off by %s; want %v, %s", tt.name, o, o.difference(0), want, tt.difference)
		}
	}
}

func TestWhichCorrectionIsMade(t *testing.T) {
	for _, tt := range []struct {
		name          string
		possible      offsets
		inForce, want time.Duration
	}{
		{"no difference", offsets{ms(-400), ms(600)}, 0, 0},
		{"2 s are tolerated", offsets{ms(2000), ms(3000)}, 0, 0},
		{"2 s behind the other way", offsets{ms(-3000), ms(-2000)}, 0, 0},
		{"more are not: the middle", offsets{ms(2001), ms(3001)}, 0, ms(2501)},
		{"nor the other way", offsets{ms(-3001), ms(-2001)}, 0, ms(-2501)},
		{"a correction that is possible stays", offsets{ms(2001), ms(3001)}, ms(2900), ms(2900)},
		{"it stays below 2 s too", offsets{ms(500), ms(1500)}, ms(1500), ms(1500)},
		{"it is trimmed up to what is possible", offsets{ms(2001), ms(3001)}, ms(1500), ms(2001)},
		{"it is trimmed down to what is possible", offsets{ms(2001), ms(3001)}, ms(3900), ms(3001)},
		{"another difference", offsets{ms(20000), ms(21000)}, ms(10000), ms(20500)},
		{"it ends when there may be no difference", offsets{ms(-1), ms(999)}, ms(900), 0},
	} {
		if got := tt.possible.correction(tt.inForce); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestThreeAnswersInARow(t *testing.T) {
	s := newSkewed(-10 * time.Second)
	if s.Now() != s.at.Add(s.skew) || s.Offset() != 0 || s.Corrections() != 0 {
		t.Fatalf("a new clock shows %s", s.Now())
	}
	s.answer(ms(1), ms(1), 0)
	s.answer(ms(1), ms(1), 0)
	s.answer(ms(1), ms(1), time.Minute) // another opinion
	s.answer(ms(1), ms(1), 0)
	s.answer(ms(1), ms(1), 0)
	if s.Offset() != 0 {
		t.Fatalf("corrected by %s after two in a row", s.Offset())
	}
	s.answer(ms(1), ms(1), 0)
	if s.Offset() == 0 || s.off() > ms(510) || s.Corrections() != 1 {
		t.Fatalf("offset %s, still %s off, %d corrections", s.Offset(), s.off(), s.Corrections())
	}

	s.skew = time.Hour // it was set, but wrong
	for range agreeingAnswers {
		s.answer(ms(1), ms(1), 0)
	}
	if s.off() > ms(510) || s.Corrections() != 2 {
		t.Fatalf("offset %s, still %s off, %d corrections", s.Offset(), s.off(), s.Corrections())
	}

	s.skew = ms(1) // it was set
	for range agreeingAnswers {
		s.answer(ms(1), ms(1), 0)
	}
	if s.Offset() != 0 || s.Corrections() != 2 {
		t.Fatalf("offset %s, %d corrections", s.Offset(), s.Corrections())
	}
}

// What was on its way for long, as while a function is frozen, agrees with everything.
func TestASlowAnswerTellsNothing(t *testing.T) {
	s := newSkewed(10 * time.Second)
	for range 10 * agreeingAnswers {
		s.answer(ms(500), ms(501), 0)
	}
	if s.Offset() != 0 {
		t.Fatalf("corrected by %s", s.Offset())
	}
	for range agreeingAnswers {
		s.answer(ms(500), ms(500), 0)
	}
	if s.Offset() == 0 {
		t.Fatal("not corrected")
	}
	before := s.Offset()
	for range 10 * agreeingAnswers {
		s.answer(time.Hour, 0, 0)
	}
	if s.Offset() != before {
		t.Fatalf("offset %s, before %s", s.Offset(), before)
	}
}

// The clock is set while a request is on its way.
func TestAnAnswerAcrossAStepTellsNothing(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -1, time.Hour} {
		s := newSkewed(0)
		for range agreeingAnswers {
			sent := s.wall()
			s.compare(sent, sent.Add(step), s.at.Add(step/2))
		}
		if s.Offset() != 0 {
			t.Errorf("a step of %s: corrected by %s", step, s.Offset())
		}
	}
}

var (
	onTheWay = rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(ms(100))).Draw(t, "way"))
	})
	pauses = rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "pause"))
	})
)

func skews(from, to time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		d := time.Duration(rapid.Int64Range(int64(from), int64(to)).Draw(t, "skew"))
		if rapid.Bool().Draw(t, "behind") {
			return -d
		}
		return d
	})
}

func (s *skewed) honest(t *rapid.T) {
	s.at = s.at.Add(pauses.Draw(t, "pause"))
	s.answer(onTheWay.Draw(t, "there"), onTheWay.Draw(t, "back"), 0)
}

func TestAClockWithinTwoSecondsIsNeverCorrected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSkewed(skews(0, toleratedSkew).Draw(t, "skew"))
		for range rapid.IntRange(1, 50).Draw(t, "answers") {
			s.honest(t)
			if s.Offset() != 0 {
				t.Fatalf("corrected by %s", s.Offset())
			}
		}
	})
}

// A single answer tells the difference to a second and its round trip. What follows only helps.
func TestAClockThatIsOffIsCorrectedOnceAndWell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSkewed(skews(toleratedSkew+time.Second+ms(200), 24*time.Hour).Draw(t, "skew"))
		for range agreeingAnswers {
			s.honest(t)
		}
		off := s.off()
		if off > ms(600) || s.Corrections() != 1 {
			t.Fatalf("%s off after %d corrections", off, s.Corrections())
		}
		for range rapid.IntRange(1, 50).Draw(t, "answers") {
			s.honest(t)
			if s.off() > off || s.Corrections() != 1 {
				t.Fatalf("%s off, before %s; %d corrections", s.off(), off, s.Corrections())
			}
			off = s.off()
		}
	})
}

func TestLiesThatAreNotThreeInARowDoNothing(t *testing.T) {
	lies := skews(0, time.Hour)
	rapid.Check(t, func(t *rapid.T) {
		s := newSkewed(0)
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			for range rapid.IntRange(1, agreeingAnswers-1).Draw(t, "lies") {
				s.answer(onTheWay.Draw(t, "there"), onTheWay.Draw(t, "back"), lies.Draw(t, "lie"))
			}
			s.honest(t)
			if s.Offset() != 0 {
				t.Fatalf("corrected by %s", s.Offset())
			}
		}
	})
}

func TestOneAnswerInASecondIsCompared(t *testing.T) {
	s := newSkewed(0)
	var compared []time.Duration
	for ; s.at.Before(noon.Add(ms(3000))); s.at = s.at.Add(ms(100)) {
		if s.due() {
			compared = append(compared, s.at.Sub(noon))
			s.answer(0, 0, 0)
		}
	}
	if !slices.Equal(compared, []time.Duration{0, ms(1000), ms(2000)}) {
		t.Errorf("compared at %s", compared)
	}
	s.skew = -time.Hour // a clock that is set back does not put off the next by an hour
	if !s.due() {
		t.Error("not compared after the clock was set back")
	}
}

func TestEachAnswerIsComparedWhileOneDiffers(t *testing.T) {
	s := newSkewed(time.Minute)
	for n := range agreeingAnswers {
		if !s.due() || s.due() {
			t.Fatalf("after %d answers", n)
		}
		s.answer(ms(1), ms(1), 0)
	}
	if s.due() || s.Offset() == 0 {
		t.Errorf("offset %s", s.Offset())
	}
}

func TestTheNextIsComparedAfterASlowAnswer(t *testing.T) {
	s := newSkewed(0)
	if !s.due() {
		t.Fatal("the first is not compared")
	}
	s.compare(s.wall().Add(-ms(1001)), s.wall(), s.at)
	if !s.due() {
		t.Error("the next is not compared")
	}
}

func TestNowHasNoMonotonicReading(t *testing.T) {
	c := NewClock(nil)
	now := c.Now()
	if now != now.Round(0) || time.Since(now).Abs() > time.Minute {
		t.Errorf("now is %s", now)
	}
}

func TestDates(t *testing.T) {
	for _, tt := range []struct {
		date, age string
		ok        bool
	}{
		{"Sat, 14 Mar 2026 12:00:00 GMT", "", true},
		{"Saturday, 14-Mar-26 12:00:00 GMT", "", true},
		{"Sat Mar 14 12:00:00 2026", "", true},
		{"Saturday, 14-Mar-26 12:00:00 EST", "", false},
		{"Sat, 14 Mar 2026 12:00:00 +0100", "", false},
		{"2026-03-14T12:00:00Z", "", false},
		{"soon", "", false},
		{"", "", false},
		{"Sat, 14 Mar 2026 12:00:00 GMT", "0", false}, // from a cache
	} {
		h := http.Header{}
		h.Set("Date", tt.date)
		if tt.age != "" {
			h.Set("Age", tt.age)
		}
		got, ok := serverTime(h)
		if ok != tt.ok || ok && !got.Equal(noon) {
			t.Errorf("%q, age %q: %s, %t", tt.date, tt.age, got, ok)
		}
	}
}

func BenchmarkClock(b *testing.B) {
	b.Run("time.Now", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now()
		}
	})
	b.Run("Now", func(b *testing.B) {
		b.ReportAllocs()
		c := NewClock(nil)
		for b.Loop() {
			_ = c.Now()
		}
	})
	b.Run("a call in between", func(b *testing.B) {
		b.ReportAllocs()
		c := NewClock(nil)
		var o dynamodb.Options
		for b.Loop() {
			c.option(&o)
		}
	})
	b.Run("an answer that is compared", func(b *testing.B) {
		b.ReportAllocs()
		c := NewClock(nil)
		h := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
		for b.Loop() {
			if date, ok := serverTime(h); ok {
				now := c.wall()
				c.compare(now, now, date)
			}
		}
	})
}
