package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// A screen is where a command prints and asks.
type screen struct {
	ctx       context.Context // of the one command
	in        io.Reader
	out, errs io.Writer
	width     int  // of lines; 0: it is no terminal, and they may be of any length
	colours   bool // may be used
	asks      bool // somebody is there to answer
}

func newScreen(c *cobra.Command) screen {
	s := screen{ctx: c.Context(), in: c.InOrStdin(), out: c.OutOrStdout(), errs: c.ErrOrStderr()}
	if f, ok := terminal(s.out); ok {
		s.colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.width = width
		}
	}
	_, s.asks = terminal(s.in)
	return s
}

func terminal(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// colour colours a text where that may be.
func (s screen) colour(c text.Color, what string) string {
	if !s.colours {
		return what
	}
	return text.Escape(what, c.EscapeSeq())
}

// confirm asks before something is deleted. Where nobody can answer, --yes must have.
func (s screen) confirm(yes bool, what string) error {
	if yes {
		return nil
	}
	if !s.asks {
		return usageError{fmt.Errorf("%s: add --yes, as there is no terminal to ask on; nothing was done", what)}
	}
	fmt.Fprintf(s.errs, "%s. Go on? [y/N] ", what)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(s.in).ReadString('\n') // what cannot be read is no yes
		answered <- line
	}()
	select {
	case <-s.ctx.Done():
		fmt.Fprintln(s.errs)
	case line := <-answered:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
	}
	return errors.New("nothing was done")
}
