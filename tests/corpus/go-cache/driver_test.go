package cache_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/patrickmn/go-cache"
)

// The janitor ends when its cache is collected, and leaves the ticker running.
func TestCorpus(t *testing.T) {
	before := runtime.NumGoroutine()
	c := cache.New(time.Minute, time.Hour)
	c.Set("key", "value", 0)
	time.Sleep(10 * time.Millisecond) // until the janitor is there
	c = nil
	for i := 0; runtime.NumGoroutine() > before; i++ {
		if i == 100 {
			t.Fatal("the janitor does not end")
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}
