package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// minColumn is what a column keeps at least on a narrow terminal.
const minColumn = 8

// table prints rows below the names of their columns, cut to fit a terminal.
func (s screen) table(columns []string, rows [][]string) {
	widths := make([]int, len(columns))
	for i, name := range columns {
		widths[i] = text.StringWidth(name)
	}
	for _, row := range rows {
		for i := range row {
			row[i] = printable(row[i])
			widths[i] = max(widths[i], text.StringWidth(row[i]))
		}
	}
	if s.width > 0 {
		fit(widths, s.width)
	}
	w := table.NewWriter()
	w.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: "  "}, Format: table.FormatOptions{Header: text.FormatUpper}})
	w.SuppressTrailingSpaces()
	header := make(table.Row, len(columns))
	for i, name := range columns {
		header[i] = s.colour(text.Bold, strings.ToUpper(name))
	}
	w.Style().Format.Header = text.FormatDefault
	w.AppendHeader(header)
	for _, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cells[i] = text.Snip(cell, widths[i], "…")
		}
		w.AppendRow(cells)
	}
	fmt.Fprintln(s.out, w.Render())
}

// fit takes from the widest columns until they fit beside each other, two spaces apart.
func fit(widths []int, most int) {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	for ; sum > most; sum-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			return
		}
		widths[widest]--
	}
}

// printable is a text without what would move the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
