package migrate

import (
	"math"
	"testing"
	"time"
)

func TestRatesAreTakenExactlyWhereTheyCanBe(t *testing.T) {
	for text, want := range map[string]rate{
		"10.0":       {quota: 10, period: "1s", exact: true},
		"0.5":        {quota: 1, period: "2s", exact: true},
		"33.3":       {quota: 333, period: "10s", exact: true},
		"2.5e2":      {quota: 250, period: "1s", exact: true},
		"0.25":       {quota: 1, period: "4s", exact: true},
		"0.001":      {quota: 1, period: "1000s", exact: true},
		"0.0125":     {quota: 1, period: "80s", exact: true},
		"0.05":       {quota: 1, period: "20s", exact: true},
		"0.0166667":  {quota: 1, period: "1m"},
		"0.00027778": {quota: 1, period: "1h"},
		"1.1574e-05": {quota: 1, period: "86401s"},
		"1e-12":      {quota: 1, period: "8760h"},
		"0":          {exact: true, zero: true},
		"0.0":        {exact: true, zero: true},
		"0e9":        {exact: true, zero: true},
	} {
		if got := newRate(text); got != want {
			t.Errorf("%s a second is %+v, want %+v", text, got, want)
		}
	}
}

func TestNearestRatesAreNear(t *testing.T) {
	for _, f := range []float64{math.Pi, 1.0 / 3, 1.0 / 7, 99.987654321, 1234.56789, 0.000277, 0.3333} {
		r := nearest(f)
		d, err := time.ParseDuration(string(r.period))
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(r.quota) / d.Seconds(); math.Abs(got-f)/f > 0.005 {
			t.Errorf("%v a second is %+v, %v a second", f, r, got)
		}
	}
}
