// Tickers that are not stopped, for exitpath.
//
// This file is added to package time, whose NewTicker, Stop and Reset of Ticker the same
// overlay renames. A ticker is held as long as it is not stopped and the collector has not
// taken it: before Go 1.23, and in modules that say so in their go line, the collector
// takes none that runs.

//go:build go1.24

package time

import (
	"runtime"
	"sync"
	"unsafe"
	"weak"
)

const (
	exitpathFrames = 24
	exitpathPrune  = 10000 // records of tickers; those of dead ones go then
)

type ExitpathTicker struct {
	Callers []uintptr // of NewTicker, innermost first
	ticker  weak.Pointer[Ticker]
	stopped bool
}

var exitpathTickers struct {
	sync.Mutex
	watching bool
	all      map[uintptr]*ExitpathTicker // by address
	prune    int
}

func exitpathKey(t *Ticker) uintptr {
	return uintptr(unsafe.Pointer(t))
}

// ExitpathWatchTickers: those that are made from now on.
func ExitpathWatchTickers() {
	exitpathTickers.Lock()
	defer exitpathTickers.Unlock()
	exitpathTickers.watching = true
	exitpathTickers.all = map[uintptr]*ExitpathTicker{}
	exitpathTickers.prune = exitpathPrune
}

// ExitpathTickers gives what is held, in no order.
func ExitpathTickers() (held []*ExitpathTicker) {
	exitpathTickers.Lock()
	defer exitpathTickers.Unlock()
	exitpathForgetDead()
	for _, t := range exitpathTickers.all {
		if !t.stopped {
			held = append(held, t)
		}
	}
	return held
}

func exitpathForgetDead() {
	for key, t := range exitpathTickers.all {
		if t.ticker.Value() == nil {
			delete(exitpathTickers.all, key)
		}
	}
	exitpathTickers.prune = 2*len(exitpathTickers.all) + exitpathPrune
}

func NewTicker(d Duration) *Ticker {
	t := exitpathNewTicker(d)
	exitpathTickers.Lock()
	defer exitpathTickers.Unlock()
	if exitpathTickers.watching {
		pc := make([]uintptr, exitpathFrames)
		n := runtime.Callers(2, pc)
		exitpathTickers.all[exitpathKey(t)] = &ExitpathTicker{Callers: pc[:n], ticker: weak.Make(t)}
		if len(exitpathTickers.all) > exitpathTickers.prune {
			exitpathForgetDead()
		}
	}
	return t
}

func (t *Ticker) Stop() {
	t.exitpathStop()
	exitpathSetStopped(t, true)
}

func (t *Ticker) Reset(d Duration) {
	t.exitpathReset(d)
	exitpathSetStopped(t, false)
}

func exitpathSetStopped(t *Ticker, stopped bool) {
	exitpathTickers.Lock()
	defer exitpathTickers.Unlock()
	if known := exitpathTickers.all[exitpathKey(t)]; known != nil {
		known.stopped = stopped
	}
}
