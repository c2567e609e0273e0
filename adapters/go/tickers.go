// What package time knows of tickers, for the snapshots of cycles.go: added to package
// testing where time.go was added to package time.

//go:build go1.24

package testing

import (
	"runtime"
	"strconv"
	"strings"
	"time"
)

func init() {
	exitpathTickers = exitpathListTickers
	exitpathWatchTickers = time.ExitpathWatchTickers
}

// Those with the same stack together.
func exitpathListTickers() string {
	counts := map[string]int{}
	var order []string
	for _, t := range time.ExitpathTickers() {
		stack := exitpathCallers(t.Callers)
		if counts[stack] == 0 {
			order = append(order, stack)
		}
		counts[stack]++
	}
	var b strings.Builder
	for _, stack := range order {
		b.WriteString("ticker " + strconv.Itoa(counts[stack]) + " ticker\n" + stack)
	}
	return b.String()
}

func exitpathCallers(pc []uintptr) string {
	var b strings.Builder
	frames := runtime.CallersFrames(pc)
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" && f.File != "" {
			b.WriteString("frame " + f.Function + "\t" + exitpathPlace(f.File) + ":" + strconv.Itoa(f.Line) + "\n")
		}
	}
	return b.String()
}
