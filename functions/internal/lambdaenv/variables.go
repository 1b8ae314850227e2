package lambdaenv

import (
	"errors"
	"fmt"
	"strconv"
)

// Variables reads what template.yaml tells a function, and collects what is wrong with it.
type Variables struct {
	getenv func(string) string
	faults []error
}

// NewVariables returns a reader of variables; getenv is [os.Getenv].
func NewVariables(getenv func(string) string) *Variables { return &Variables{getenv: getenv} }

// Required returns a variable that must be set.
func (v *Variables) Required(name string) string {
	value := v.getenv(name)
	if value == "" {
		v.Fault("%s is not set", name)
	}
	return value
}

// Instances returns PENSTOCK_MAX_INSTANCES; 0 when it is not known how many there may be.
func (v *Variables) Instances() int {
	const name = "PENSTOCK_MAX_INSTANCES"
	value := v.getenv(name)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		v.Fault("%s is %q: it must be a number from 1", name, value)
	}
	return n
}

// Fault notes what is wrong.
func (v *Variables) Fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Errorf(format, args...))
}

// Err names everything that is wrong; nil when nothing is.
func (v *Variables) Err() error { return errors.Join(v.faults...) }
