// Warm-up and measured cycles inside of one test binary, for exitpath.
//
// This file is added to the package testing of the standard library by `go test -overlay`;
// the same overlay renames the method Run of M to exitpathRun. So it works for every
// package, with or without a TestMain, in whatever package its tests are, and no file of
// the project changes. Whatever calls m.Run() once gets all cycles, and what a TestMain
// makes before that is no part of them.
//
// Without $EXITPATH_GO_DIR all of it does nothing. The variable is taken away before any
// code of the project runs: programs that the tests start, and be it the test binary
// again, are not measured.

package testing

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	exitpathSettle     = time.Second            // for goroutines that are about to end
	exitpathSettleVain = 250 * time.Millisecond // when that was in vain the last time
	exitpathSettleGC   = 50 * time.Millisecond  // for those that a finalizer ends
	exitpathFinalizers = 100 * time.Millisecond // for the finalizers themselves
	exitpathStackMax   = 64 << 20               // bytes of all stacks
	exitpathMemory     = 256 << 20              // bytes; beyond that the collector runs
	exitpathReportFD   = 100                    // tests may rely on low descriptors
	exitpathStrikes    = 3                      // failures after which a test is left out
	exitpathVoids      = 16                     // passes that may be made again
)

type exitpathState struct {
	fd     int
	warmup int
	cycles int
	path   string
	cwd    string
	module string // its path, and where it lies: -trimpath leaves the path alone
	root   string
	tests  atomic.Int64
	ran    bool
	vain   bool          // the last wait for goroutines was
	m      exitpathLists // all of them; those of M are without the ones left out
	mu     sync.Mutex
	failed map[string]bool // in this pass
	repeat map[string]exitpathRepeat
	voids  int  // passes left that may be made again
	again  bool // all tests passed the first time, and run again
}

type exitpathLists struct {
	tests    []InternalTest
	fuzz     []InternalFuzzTarget
	examples []InternalExample
}

// How a test does that passed the first time.
type exitpathRepeat struct {
	failures int
	passed   bool // in a later pass
}

var exitpath exitpathState

// Set by tickers.go, where that is there.
var (
	exitpathTickers      = func() string { return "" }
	exitpathWatchTickers = func() {}
)

func init() {
	dir := os.Getenv("EXITPATH_GO_DIR")
	if dir == "" {
		return
	}
	exitpath.warmup, _ = strconv.Atoi(os.Getenv("EXITPATH_GO_WARMUP"))
	exitpath.cycles, _ = strconv.Atoi(os.Getenv("EXITPATH_GO_CYCLES"))
	exitpathRestoreEnvironment()
	exitpath.path = dir + "/report." + strconv.Itoa(os.Getpid())
	fd, err := syscall.Open(exitpath.path, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_APPEND|syscall.O_CLOEXEC, 0600)
	if err != nil {
		return // no report: exitpath sees that
	}
	high, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, exitpathReportFD)
	if errno == 0 {
		syscall.Close(fd)
		fd = int(high)
	}
	exitpath.fd = fd
	exitpath.cwd, _ = os.Getwd()
	exitpathWrite("exitpath-go 1\nbinary " + os.Args[0] + "\ncwd " + exitpath.cwd + "\n")
}

func exitpathRestoreEnvironment() {
	flags, had := os.LookupEnv("EXITPATH_GO_GOFLAGS")
	for _, name := range []string{"DIR", "WARMUP", "CYCLES", "GOFLAGS"} {
		os.Unsetenv("EXITPATH_GO_" + name)
	}
	if had {
		os.Setenv("GOFLAGS", flags)
	} else {
		os.Unsetenv("GOFLAGS")
	}
}

func exitpathWrite(s string) {
	for b := []byte(s); len(b) > 0; {
		n, err := syscall.Write(exitpath.fd, b)
		if err != nil && err != syscall.EINTR {
			return // the report stays incomplete
		}
		if n > 0 {
			b = b[n:]
		}
	}
}

// Run is what the project calls. A TestMain may call it more than once: the first call is
// measured.
func (m *M) Run() (code int) {
	if exitpath.fd == 0 || exitpath.ran {
		return m.exitpathRun()
	}
	exitpath.ran = true
	exitpathWrite("run " + m.deps.ImportPath() + "\n")
	exitpathFindModule(m.deps.ImportPath())
	m.exitpathWrap()
	exitpathWatchTickers()
	level := -1
	if exitpath.warmup == 0 {
		exitpathWrite("start\n")
		level = exitpathSnapshot(level, true)
		exitpathWrite("end\n")
	}
	last := exitpath.warmup + exitpath.cycles - 1
	for k, first := 0, true; k <= last; first = false {
		m.exitpathSelect()
		c, tests := m.exitpathCycle()
		exitpath.again = c == 0 || exitpath.again
		kind := "cycle"
		if !first && code == 0 && exitpathIsVoid(c) {
			kind = "void"
		} else if k++; code == 0 {
			code = c
		}
		exitpathWrite(kind + " " + strconv.Itoa(tests) + " " + strconv.Itoa(c) + "\n")
		level = exitpathSnapshot(level, k > last)
		exitpathWrite("end\n")
	}
	exitpathTellRepeats()
	exitpathWrite("done\n")
	m.exitCode = code
	return code
}

// A test that passed the first time may depend on what the first pass changed, or on the
// clock. A pass in which it fails is made again, and after some failures without it:
// what it leaves behind when it fails says nothing about when it passes.
func exitpathIsVoid(code int) bool {
	for name, r := range exitpath.repeat {
		if !exitpath.failed[name] && r.failures < exitpathStrikes {
			r.passed = true
			exitpath.repeat[name] = r
		}
	}
	if code == 0 || len(exitpath.failed) == 0 || exitpath.voids == 0 {
		return false
	}
	exitpath.voids--
	for name := range exitpath.failed {
		r := exitpath.repeat[name]
		r.failures++
		exitpath.repeat[name] = r
	}
	return true
}

func exitpathTellRepeats() {
	for name, r := range exitpath.repeat {
		kind := "once " // passes the first time, and never again
		if r.passed {
			kind = "unsteady "
		}
		exitpathWrite(kind + name + "\n")
	}
}

func exitpathFailed(name string) {
	exitpath.mu.Lock()
	exitpath.failed[name] = true
	exitpath.mu.Unlock()
}

// A test binary starts in the directory of its package.
func exitpathFindModule(pkg string) {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" || !strings.HasPrefix(pkg, info.Main.Path) {
		return
	}
	exitpath.module = info.Main.Path
	exitpath.root = strings.TrimSuffix(exitpath.cwd, pkg[len(exitpath.module):])
}

// One pass over the tests, with the collector at rest: what only a finalizer closes is
// still there at its end.
func (m *M) exitpathCycle() (code, tests int) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	limit := int64(exitpathMemory)
	if twice := 2 * int64(mem.Sys-mem.HeapReleased); limit < twice {
		limit = twice
	}
	if given := debug.SetMemoryLimit(-1); limit > given {
		limit = given
	}
	oldLimit := debug.SetMemoryLimit(limit)
	oldPercent := debug.SetGCPercent(-1)
	before := exitpath.tests.Load()
	code = m.exitpathRun()
	debug.SetGCPercent(oldPercent)
	debug.SetMemoryLimit(oldLimit)
	return code, int(exitpath.tests.Load() - before)
}

// Lets each test, example and fuzz target that is run and not skipped count, and tell when
// it failed: in its last cleanup, when subtests that run in parallel are over.
func (m *M) exitpathWrap() {
	exitpath.repeat = map[string]exitpathRepeat{}
	exitpath.voids = exitpathVoids
	for _, t := range m.tests {
		name, f := t.Name, t.F
		t.F = func(t *T) {
			t.Cleanup(func() { exitpathOver(name, t.Skipped(), t.Failed()) })
			defer exitpathRecover(t.Errorf)
			f(t)
		}
		exitpath.m.tests = append(exitpath.m.tests, t)
	}
	for _, t := range m.fuzzTargets {
		name, f := t.Name, t.Fn
		t.Fn = func(t *F) {
			t.Cleanup(func() { exitpathOver(name, t.Skipped(), t.Failed()) })
			defer exitpathRecover(t.Errorf)
			f(t)
		}
		exitpath.m.fuzz = append(exitpath.m.fuzz, t)
	}
	exitpath.m.examples = m.examples
}

// A test that panics when it runs again, since it registers something a second time, is
// one that fails, and not the end of all others.
func exitpathRecover(fail func(format string, args ...any)) {
	if !exitpath.again {
		return
	}
	if v := recover(); v != nil {
		fail("panic: %v\n%s", v, debug.Stack())
	}
}

func exitpathOver(name string, skipped, failed bool) {
	if !skipped {
		exitpath.tests.Add(1)
	}
	if failed {
		exitpathFailed(name)
	}
}

// In place of runExamples: whether an example failed is known to it alone. Examples are
// not wrapped, since they may print their own stack.
func exitpathRunExamples(match func(pat, str string) (bool, error), examples []InternalExample) (ran, ok bool) {
	if !exitpath.ran {
		return runExamples(match, examples)
	}
	ok = true
	for i := range examples {
		one, passed := runExamples(match, examples[i:i+1])
		if one {
			exitpathOver(examples[i].Name, false, !passed)
		}
		ran, ok = ran || one, ok && passed
	}
	return ran, ok
}

// All but those that are left out.
func (m *M) exitpathSelect() {
	wanted := func(name string) bool { return exitpath.repeat[name].failures < exitpathStrikes }
	exitpath.failed = map[string]bool{}
	m.tests, m.fuzzTargets, m.examples = nil, nil, nil
	for _, t := range exitpath.m.tests {
		if wanted(t.Name) {
			m.tests = append(m.tests, t)
		}
	}
	for _, t := range exitpath.m.fuzz {
		if wanted(t.Name) {
			m.fuzzTargets = append(m.fuzzTargets, t)
		}
	}
	for _, t := range exitpath.m.examples {
		if wanted(t.Name) {
			m.examples = append(m.examples, t)
		}
	}
}

// What is held now, and after a collection. Gives the number of goroutines that stay.
// What ends late is no leak, since it does not add up; the last snapshot decides, and takes
// its time.
func exitpathSnapshot(level int, last bool) int {
	limit := exitpathSettle
	if exitpath.vain && !last {
		limit = exitpathSettleVain
	}
	if level >= 0 {
		exitpath.vain = !exitpathWait(level, limit)
	}
	started, stop, stopped := make(chan bool), make(chan bool), make(chan bool)
	go exitpathCanary(started, stop, stopped)
	<-started // before that it is no frame of its own stack
	exitpathWrite("held\n" + exitpathGoroutines() + exitpathTickers() + exitpathDescriptors())
	exitpathCollect()
	if level >= 0 {
		exitpathWait(level+1, exitpathSettleGC)
	}
	exitpathWrite("collected\n" + exitpathGoroutines() + exitpathTickers() + exitpathDescriptors())
	close(stop)
	<-stopped
	exitpathWait(level, time.Millisecond)
	return runtime.NumGoroutine()
}

// A planted leak: a snapshot without it is worth nothing. The planted descriptor is that
// of the report.
func exitpathCanary(started, stop, stopped chan bool) {
	started <- true
	<-stop
	stopped <- true
}

// Waits until there are no more than level goroutines.
func exitpathWait(level int, limit time.Duration) bool {
	start := time.Now()
	for pause := 50 * time.Microsecond; runtime.NumGoroutine() > level; pause += pause / 2 {
		left := limit - time.Since(start)
		if left <= 0 {
			return false
		}
		if pause > left {
			pause = left
		}
		time.Sleep(pause)
	}
	return true
}

// An object that a finalizer frees may hold another that has one.
func exitpathCollect() {
	for i := 0; i < 3; i++ {
		done := make(chan bool)
		p := new([16]*int)
		runtime.SetFinalizer(p, func(*[16]*int) { close(done) })
		p = nil
		runtime.GC()
		timer := time.NewTimer(exitpathFinalizers)
		select {
		case <-done:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func exitpathStacks() string {
	for n := 64 << 10; ; n *= 4 {
		buf := make([]byte, n)
		if got := runtime.Stack(buf, true); got < n || n >= exitpathStackMax {
			return string(buf[:got])
		}
	}
}

// All goroutines but this one, those with the same stack together. Format of a stack:
//
//	goroutine 7 [chan receive, 2 minutes]:
//	pkg.(*T).f(0x1, {0x2, 0x3})
//		/src/pkg/t.go:12 +0x1d
//	created by pkg.g in goroutine 1
//		/src/pkg/g.go:3 +0x2a
func exitpathGoroutines() string {
	counts := map[string]int{}
	var order []string
	for i, block := range strings.Split(exitpathStacks(), "\n\n") {
		if i == 0 {
			continue
		}
		group := exitpathGroup(block)
		if counts[group] == 0 {
			order = append(order, group)
		}
		counts[group]++
	}
	var b strings.Builder
	for _, group := range order {
		b.WriteString("goroutine " + strconv.Itoa(counts[group]) + " " + group)
	}
	return b.String()
}

func exitpathGroup(block string) string {
	var b strings.Builder
	lines := strings.Split(block, "\n")
	_, state, _ := strings.Cut(lines[0], " [")
	state, _, _ = strings.Cut(strings.TrimSuffix(state, ":"), "]")
	state, _, _ = strings.Cut(state, ",")
	b.WriteString(state + "\n")
	for i := 1; i+1 < len(lines); i++ {
		if !strings.HasPrefix(lines[i+1], "\t") {
			continue
		}
		kind, function := "frame ", lines[i]
		if strings.HasPrefix(function, "created by ") {
			kind = "created "
			function, _, _ = strings.Cut(function[len("created by "):], " in goroutine ")
		} else if at := strings.LastIndexByte(function, '('); at > 0 {
			function = function[:at]
		}
		place, _, _ := strings.Cut(lines[i+1][1:], " +0x")
		b.WriteString(kind + function + "\t" + exitpathPlace(place) + "\n")
		i++
	}
	return b.String()
}

// With -trimpath a file is known by its module.
func exitpathPlace(file string) string {
	if exitpath.module != "" && strings.HasPrefix(file, exitpath.module+"/") {
		return exitpath.root + file[len(exitpath.module):]
	}
	return file
}

// All descriptors by what they are open on, sockets by their ends.
func exitpathDescriptors() string {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return ""
	}
	var sockets map[string]string
	var b strings.Builder
	self := "/proc/" + strconv.Itoa(os.Getpid()) + "/fd"
	for _, e := range names {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || target == self {
			continue
		}
		if strings.HasPrefix(target, "socket:[") {
			if sockets == nil {
				sockets = exitpathSockets()
			}
			name := sockets[strings.Trim(target, "socket:[]")]
			if name == "" {
				name = "of a family that is not looked up"
			}
			b.WriteString("socket " + name + "\n")
			continue
		}
		b.WriteString("fd " + strings.ReplaceAll(target, "\n", "?") + "\n")
	}
	return b.String()
}

// Name by inode of what /proc/self/net lists.
func exitpathSockets() map[string]string {
	ret := map[string]string{}
	for _, proto := range []string{"tcp", "tcp6", "udp", "udp6"} {
		for _, f := range exitpathTable("/proc/self/net/" + proto) {
			if len(f) < 10 {
				continue
			}
			name := strings.TrimSuffix(proto, "6")
			switch {
			case f[3] == "0A":
				name += " listening on " + exitpathAddress(f[1])
			case strings.HasSuffix(f[2], ":0000"):
				name += " bound to " + exitpathAddress(f[1])
			default:
				name += " " + exitpathAddress(f[1]) + " connected to " + exitpathAddress(f[2])
			}
			ret[f[9]] = name
		}
	}
	for _, f := range exitpathTable("/proc/self/net/unix") {
		if len(f) < 7 {
			continue
		}
		name := "unix"
		if flags, _ := strconv.ParseUint(f[3], 16, 32); flags&0x10000 != 0 {
			name += " listening"
		} else if f[5] == "03" {
			name += " connected"
		}
		if len(f) > 7 {
			name += " on " + f[7]
		}
		ret[f[6]] = name
	}
	return ret
}

func exitpathTable(path string) (rows [][]string) {
	text, _ := os.ReadFile(path)
	for i, line := range strings.Split(string(text), "\n") {
		if i > 0 {
			rows = append(rows, strings.Fields(line))
		}
	}
	return rows
}

// "0100007F:1F90" is 127.0.0.1:8080: words of 32 bits in the order of the machine, taken
// for little-endian; on others the digits are turned, and the same in every run.
func exitpathAddress(s string) string {
	host, port, _ := strings.Cut(s, ":")
	n, _ := strconv.ParseUint(port, 16, 16)
	var b []byte
	for i := 0; i+8 <= len(host); i += 8 {
		for j := 6; j >= 0; j -= 2 {
			v, _ := strconv.ParseUint(host[i+j:i+j+2], 16, 8)
			b = append(b, byte(v))
		}
	}
	v4 := b
	if len(b) == 16 && strings.Trim(string(b[:10]), "\x00") == "" && b[10] == 0xff && b[11] == 0xff {
		v4 = b[12:]
	}
	name := "[" + host + "]"
	switch {
	case len(v4) == 4:
		name = strconv.Itoa(int(v4[0]))
		for _, x := range v4[1:] {
			name += "." + strconv.Itoa(int(x))
		}
	case strings.Trim(host, "0") == "":
		name = "[::]"
	case host == "00000000000000000000000001000000":
		name = "[::1]"
	}
	return name + ":" + strconv.FormatUint(n, 10)
}
