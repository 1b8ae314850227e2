package main

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// patience is how long something may take before it is said that it is going on.
const patience = 300 * time.Millisecond

// working does something that may take long. On a terminal it says what, and for how long
// it has been going on; how much is left the server does not tell.
func (s screen) working(what string, do func() error) error {
	if _, ok := terminal(s.errs); !ok {
		return do()
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	w := progress.NewWriter()
	w.SetOutputWriter(s.errs)
	w.SetStyle(progress.StyleBlocks)
	w.SetTrackerLength(20)
	w.Style().Visibility = progress.StyleVisibility{Time: true, Tracker: true}
	t := &progress.Tracker{Message: what, RemoveOnCompletion: true}
	w.AppendTracker(t)
	shown := make(chan struct{})
	go func() { defer close(shown); w.Render() }()
	err := <-done
	t.MarkAsDone()
	w.Stop()
	<-shown
	return err
}
