package migrate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/seed43908478/penstock/quota"
)

// A rate is so many requests in a period, made of a decimal number of requests a second:
// 33.3 is 333 in 10s.
type rate struct {
	quota  int64
	period quota.Period
	exact  bool
	zero   bool
}

const (
	maxQuota  = math.MaxInt32
	maxPeriod = 3600 // seconds of a rate that is given exactly or nearly
)

// decimal returns the number that text is, when it is one of those that a rate can be.
// A number that would take much memory to be exact is none: 1e-99999999.
func decimal(text string) (*big.Rat, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > 40 || f < 0 || f > maxCount || f == 0 && !allZeros(text) || f > 0 && f < 1e-12 {
		return nil, false
	}
	if f == 0 {
		return new(big.Rat), true
	}
	return new(big.Rat).SetString(text)
}

// allZeros reports whether text is 0 as it is written, not only when rounded.
func allZeros(text string) bool {
	for _, c := range text {
		switch {
		case c == 'e' || c == 'E':
			return true
		case '1' <= c && c <= '9':
			return false
		}
	}
	return true
}

func newRate(text string) rate {
	exact, ok := decimal(text)
	if !ok || exact.Sign() == 0 {
		return rate{zero: true, exact: true}
	}
	if exact.Denom().IsInt64() && exact.Denom().Int64() <= maxPeriod && exact.Num().IsInt64() && exact.Num().Int64() <= maxQuota {
		return rate{quota: exact.Num().Int64(), period: seconds(exact.Denom().Int64()), exact: true}
	}
	f, _ := exact.Float64()
	return nearest(f)
}

// nearest returns the rate that is nearest to f, in the shortest period.
func nearest(f float64) rate {
	if f*maxPeriod < 1 {
		const year = 365 * 24 * 3600
		return rate{quota: 1, period: seconds(int64(min(math.Round(1/f), year)))}
	}
	best, least := rate{}, math.Inf(1)
	for s := int64(1); s <= maxPeriod; s++ {
		q := math.Round(f * float64(s))
		if off := math.Abs(q/float64(s) - f); q >= 1 && q <= maxQuota && off < least {
			best, least = rate{quota: int64(q), period: seconds(s)}, off
		}
	}
	return best
}

// seconds returns a period in its largest whole unit.
func seconds(s int64) quota.Period {
	d := time.Duration(s) * time.Second
	switch {
	case d%time.Hour == 0:
		return quota.Period(fmt.Sprintf("%dh", d/time.Hour))
	case d%time.Minute == 0:
		return quota.Period(fmt.Sprintf("%dm", d/time.Minute))
	}
	return quota.Period(fmt.Sprintf("%ds", s))
}
