bats_require_minimum_version 1.5.0
load common

# Every trap of the Go detector: small modules without a dependency.

setup() {
  command -v go >/dev/null || skip "go is not installed"
  unset GOFLAGS GOWORK
  export GOPROXY=off GOTOOLCHAIN=local
  # In the sandbox each revision has a home, and builds the standard library, of its own.
  export AS_CALLED=$EXITPATH_ISOLATION EXITPATH_ISOLATION=none
  make_repo
  module example.com/m
  cat >w.go <<'X'
package m

type W struct{ c chan int }

func New() *W {
	w := &W{make(chan int)}
	go w.loop()
	return w
}

func (w *W) loop() {
	for range w.c {
	}
}

func (w *W) Close() { close(w.c) }
X
  cat >w_test.go <<'X'
package m_test

import (
	"testing"

	"example.com/m"
)

func TestW(t *testing.T) { m.New().Close() }
X
}

# module PATH [DIR]
module() {
  printf 'module %s\n\ngo 1.18\n' "$1" >"${2:-.}/go.mod"
}

# forget: Close() of the worker does nothing any more.
forget() {
  sed -i 's/^func (w \*W) Close.*/func (w *W) Close() {}/' "${1:-w.go}"
}

# internal BODY [IMPORT…]: a test TestX in the package itself, before which goes what $OUTER says.
internal() {
  local body=$1 import
  shift
  {
    printf 'package m\n\nimport (\n\t"testing"\n'
    for import; do printf '\t"%s"\n' "$import"; done
    printf ')\n\n%s\n\nfunc TestX(t *testing.T) {\n%s\n}\n' "${OUTER-}" "$body"
  } >x_test.go
}

needs_sandbox_called() {
  export EXITPATH_ISOLATION=$AS_CALLED
  needs_sandbox
}

base() { commit_all base && git tag base; }
candidate() { commit_all candidate --allow-empty && git tag candidate; }
commit_all() { git add -A && git commit -q --allow-empty -m "$1"; }

# gate STATUS [REGEX…] -- COMMAND…: as trap_case of common.bash.
gate() {
  local expected=$1
  local -a patterns=()
  shift
  while [[ $1 != -- ]]; do
    patterns+=("$1")
    shift
  done
  run --separate-stderr "$EXITPATH_BIN" leak --base "${BASE-base}" --candidate "${CANDIDATE-candidate}" \
    --detector go --warmup "${WARMUP-1}" --cycles "${CYCLES-2}" --timeout "${TIMEOUT-60s}" \
    --quiet --json ${ARGS-} "$@"
  ended "$expected" "${patterns[@]}"
}

# In the sandbox, with one store: the standard library is compiled for both tests.
@test "go: a goroutine, from an external test package" {
  export EXITPATH_ISOLATION=$AS_CALLED
  base && forget && candidate
  ARGS="--store $BATS_FILE_TMPDIR/store" gate 20 '"goroutine"' 'm\.\(\*W\)\.loop \(w\.go:12\)' -- go test ./...
}

@test "go: base against itself is clean" {
  export EXITPATH_ISOLATION=$AS_CALLED
  base && candidate
  ARGS="--store $BATS_FILE_TMPDIR/store" gate 0 -- go test ./...
}

@test "go: what the cache of each revision starts with is a copy, and follows no link" {
  needs_sandbox_called
  local store=$BATS_FILE_TMPDIR/store home
  base && forget && candidate
  ARGS="--store $store" gate 20 'loop' -- go test ./...
  [ "$(find "$store"/cache -name '*-d' | wc -l)" -gt 200 ]
  [ -z "$(find "$store" -type f -name '*-[ad]' -links +1)" ]
  mkdir victim
  for home in "$store"/trees/*/home; do
    [ "$(find "$home/.cache/go-build" -name '*-d' | wc -l)" -gt 200 ]
    rm -r "$home/.cache/go-build/00" "$home/.cache/go-build/01"
    ln -s "$PWD/victim" "$home/.cache/go-build/00"
    printf x >"$home/.cache/go-build/01"
  done
  ARGS="--store $store --fresh" gate '10|20|30|50' -- go test ./...
  [ -z "$(ls victim)" ]
}

@test "go: a leak on both is a broken baseline" {
  forget && base && candidate
  gate 30 'loop' -- go test ./...
}

@test "go: no warm-up" {
  base && forget && candidate
  WARMUP=0 gate 20 'loop' -- go test ./...
}

@test "go: auto picks it for a shell command" {
  base && forget && candidate
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --cycles 2 --quiet --json \
    -- sh -c 'cd . && go test -run "^TestW$" .'
  [ "$status" -eq 20 ]
  grep -q '"detector": *"go"' <<<"$output"
}

@test "go: a result in go's cache does not stand for a run" {
  base && forget && candidate
  go test ./...
  gate 20 'loop' -- go test ./...
}

@test "go: TestMain, os.Exit(m.Run()) as goleak's Cleanup has it" {
  OUTER='func TestMain(m *testing.M) { m.Run(); os.Exit(0) }' internal '' os
  base && forget && candidate
  gate 20 'loop' -- go test ./...
}

@test "go: TestMain, os.Exit(m.Run())" {
  OUTER='func TestMain(m *testing.M) { os.Exit(m.Run()) }' internal '' os
  base && forget && candidate
  gate 20 'loop' -- go test ./...
  CANDIDATE=base gate 0 -- go test ./...
}

# goleak BODY: a module that has goleak, which is this: VerifyTestMain(m) does BODY.
goleak() {
  mkdir -p vendor/go.uber.org/goleak
  printf 'package goleak\n\nimport (\n\t"os"\n\t"runtime"\n\t"time"\n)\n\nfunc VerifyTestMain(m interface{ Run() int }) {\n%s\n}\n\nvar _ = time.Now\nvar _ = runtime.NumGoroutine\n' "$1" >vendor/go.uber.org/goleak/goleak.go
  printf '# go.uber.org/goleak v1.3.0\n## explicit\ngo.uber.org/goleak\n' >vendor/modules.txt
  printf 'require go.uber.org/goleak v1.3.0\n' >>go.mod
  OUTER='func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }' internal '' go.uber.org/goleak
}

# It fails as a failing test does: the leak comes first.
@test "go: goleak, which exits 1 for a leak" {
  goleak '	code := m.Run()
	time.Sleep(50 * time.Millisecond)
	if code == 0 && runtime.NumGoroutine() > 1 {
		println("found unexpected goroutines:")
		code = 1
	}
	os.Exit(code)'
  base && forget && candidate
  gate 20 '"goroutine"' 'm\.\(\*W\)\.loop \(w\.go:12\)' 'also fails' -- go test -mod=vendor ./...
  CANDIDATE=base gate 0 -- go test -mod=vendor ./...
}

@test "go: goleak with RunOnFailure, which always exits 1" {
  goleak '	m.Run()
	os.Exit(1)'
  base && forget && candidate
  gate 30 'fails on base in 3 of 3 cycles: exit 1' -- go test -mod=vendor ./...
}

@test "go: what TestMain starts is no part of a cycle" {
  OUTER='func TestMain(m *testing.M) { w := New(); defer w.Close(); m.Run() }' internal ''
  base && candidate
  gate 0 -- go test ./...
}

@test "go: a TestMain that leaves before m.Run()" {
  base
  OUTER='func TestMain(m *testing.M) { os.Exit(0) }' internal '' os
  candidate
  gate 50 'TestMain left without calling m.Run' -- go test ./...
}

@test "go: a TestMain that leaves before m.Run() on base too" {
  OUTER='func TestMain(m *testing.M) { os.Exit(0) }' internal '' os
  base && candidate
  gate 30 'TestMain left' -- go test ./...
}

@test "go: os.Exit(0) in a test" {
  base && internal 'os.Exit(0)' os && candidate
  gate '10|50' -- go test ./...
}

@test "go: _exit(0) in a test, under go's own check" {
  base && internal 'syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)' syscall && candidate
  gate 50 'left in cycle 1' -- go test ./...
}

@test "go: a failing test that leaks as well" {
  base && forget && internal 't.Fatal("wrong")' && candidate
  gate 20 'loop' 'also fails' -- go test ./...
}

@test "go: a failing test" {
  base && internal 't.Fatal("wrong")' && candidate
  gate 10 'TestX' -- go test ./...
}

@test "go: a panic" {
  base && internal 'panic("wrong")' && candidate
  gate 10 'TestX' -- go test ./...
}

@test "go: a compile error is quoted" {
  base && internal 'undefined()' && candidate
  gate 10 'x_test\.go:[0-9:]+ undefined: undefined' -- go test ./...
}

@test "go: no test that matches" {
  base && candidate
  gate 50 'no test was run' -- go test -run Nope ./...
}

@test "go: tests that are all skipped" {
  base && sed -i 's/m.New().Close()/t.Skip(); _ = m.New/' w_test.go && candidate
  gate 50 'no test was run' -- go test ./...
}

@test "go: no test at all" {
  rm w_test.go && base && candidate
  gate 50 'no test binary' -- go test ./...
}

@test "go: parallel tests" {
  cat >p_test.go <<'X'
package m

import "testing"

func TestP1(t *testing.T) { t.Parallel(); New().Close() }
func TestP2(t *testing.T) { t.Parallel(); New().Close() }
X
  base && sed -i '/TestP2/s/New().Close()/New()/' p_test.go && candidate
  gate 20 'loop' -- go test ./...
}

@test "go: a descriptor that stays" {
  OUTER='var all []*os.File' internal 'f, _ := os.Open("/etc/passwd"); f.Close()' os
  base && sed -i 's/f.Close()/all = append(all, f)/' x_test.go && candidate
  gate 20 '"fd"' '/etc/passwd' -- go test ./...
}

@test "go: a descriptor that only the garbage collector closes" {
  internal 'f, _ := os.Open("/etc/passwd"); f.Close()' os
  base && sed -i 's/f.Close()/_ = f/' x_test.go && candidate
  gate 20 '"fd"' 'closed by the garbage collector only' -- go test ./...
}

@test "go: a listener" {
  OUTER='var all []net.Listener' internal 'l, _ := net.Listen("tcp", "127.0.0.1:0"); l.Close()' net
  base && sed -i 's/l.Close()/all = append(all, l)/' x_test.go && candidate
  gate 20 '"socket"' 'tcp listening on 127.0.0.1' -- go test ./...
}

@test "go: a response body that is not closed" {
  cat >h_test.go <<'X'
package m

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestH(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1<<20)) }))
	defer s.CloseClientConnections()
	c := &http.Client{Transport: &http.Transport{}}
	r, err := c.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	s.Close()
}
X
  base && sed -i -e '/r.Body.Close/d' -e 's/r, err/_, err/' -e 's/s.Close()$/_ = 0/' h_test.go && candidate
  gate 20 '"socket"' -- go test ./...
}

# The module says go 1.18: the collector takes no ticker that runs.
@test "go: a ticker that is not stopped" {
  internal 'x := time.NewTicker(time.Hour); x.Reset(time.Minute); x.Stop()' time
  base && sed -i 's/; x.Stop()//' x_test.go && candidate
  gate 20 '"timer"' 'ticker.*m.TestX \(x_test.go:11\)' -- go test ./...
  sed -i 's/.*x := .*/\t_ = time.Tick(time.Hour)/' x_test.go && commit_all tick && git tag -f candidate
  gate 20 '"timer"' 'ticker.*m.TestX \(x_test.go:11\)' -- go test ./...
}

@test "go: a ticker that the collector takes is none, one that is kept is" {
  printf 'module example.com/m\n\ngo 1.23\n' >go.mod
  OUTER='var all []*time.Ticker' internal 'x := time.NewTicker(time.Hour); _ = x' time
  base && sed -i 's/_ = x/all = append(all, x)/' x_test.go && candidate
  gate 20 '"timer"' 'ticker.*m.TestX \(x_test.go:[0-9]+\)' -- go test ./...
  CANDIDATE=base gate 0 -- go test ./...
}

@test "go: a goroutine that ends late is none" {
  internal 'go time.Sleep(300 * time.Millisecond)' time
  base && candidate
  gate 0 -- go test ./...
}

@test "go: a goroutine that a finalizer ends is none" {
  OUTER='type outer struct{ *W }' internal 'o := &outer{New()}; runtime.SetFinalizer(o, func(o *outer) { o.Close() })' runtime
  base && candidate
  gate 0 -- go test ./...
}

@test "go: growth that comes once is none" {
  OUTER='var n int' internal 'if n++; n == 3 { New() }'
  base && candidate
  CYCLES=4 gate 0 'no growth' -- go test ./...
}

@test "go: a test that passes once and not twice is left out" {
  OUTER='var n int' internal 'if n++; n > 1 { t.Fatal("twice") }'
  base && candidate
  gate 0 'TestX of example.com/m' -- go test ./...
  forget && commit_all candidate && git tag -f candidate
  gate 20 'loop' -- go test ./...
}

@test "go: a test that the candidate can run once only" {
  OUTER='var n int' internal 'if n++; n > 9 { t.Fatal("again") }'
  base && sed -i 's/n > 9/n > 1/' x_test.go && candidate
  gate 20 '"state"' 'TestX of example.com/m' -- go test ./...
}

@test "go: no test that runs twice" {
  rm w_test.go
  OUTER='var n int' internal 'if n++; n > 1 { t.Fatal("twice") }'
  base && candidate
  gate 50 'passes once and fails when it runs again' -- go test ./...
}

# As in hashicorp/golang-lru: it depends on the clock, and on what the machine is busy with.
@test "go: a test, an example and a subtest that fail at times" {
  cat >f_test.go <<'X'
package m

import (
	"fmt"
	"testing"
)

var a, b, c int

func TestA(t *testing.T) {
	New() // in the passes that do not count as well
	if a++; a == 3 {
		t.Error("at times")
	}
}

func ExampleNew() {
	b++
	fmt.Println(b == 2)
	// Output: false
}

func TestC(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		t.Parallel()
		if c++; c == 4 {
			t.Fatal("at times")
		}
	})
}
X
  candidate && sed -i 's|New() //.*|New().Close()|' f_test.go && base
  gate 20 'loop' 'TestA of example.com/m passes at times' ExampleNew TestC -- go test ./...
  CANDIDATE=base gate 0 'ExampleNew' -- go test ./...
}

# Whether the first pass of a process fails is drawn: plain `go test` fails as often.
@test "go: tests that fail at times in the first pass blame nobody" {
  OUTER='var n int' internal 'if n++; n == 1 { t.Fatal("first") }'
  base && candidate
  gate 40 'unstable' 'fails in 1 of 3 cycles' -- go test ./...
  sed -i 's/n == 1/n == 0/' x_test.go && commit_all base && git tag -f base
  gate 40 'fails on the candidate at times, in 1 of 3' -- go test ./...
}

@test "go: a test that panics the second time is left out" {
  internal 'flag.Int("x", 0, "")' flag
  base && forget && candidate
  gate 20 'loop' 'TestX of example.com/m' -- go test ./...
  CANDIDATE=base gate 0 -- go test ./...
}

@test "go: tests that end the process the second time" {
  OUTER='var n int' internal 'if n++; n > 1 { go panic("twice"); select {} }'
  base && candidate
  gate 30 'pass once and end the process' -- go test ./...
}

@test "go: a deadlock" {
  base && internal 'select {}' && candidate
  gate 10 'all goroutines are asleep' -- go test ./...
}

@test "go: a hang" {
  base && internal 'time.Sleep(time.Hour)' time && candidate
  TIMEOUT=6s CYCLES=1 gate 40 -- go test ./...
}

@test "go: a hang, and a -timeout of the command's own" {
  base && internal 'time.Sleep(time.Hour)' time && candidate
  gate 10 'test timed out after 1s' -- go test -timeout 1s ./...
}

@test "go: kill -9 of go leaves no test binary behind" {
  base
  internal 'os.WriteFile("'"$BATS_TEST_TMPDIR"'/pid", []byte(strconv.Itoa(os.Getpid())), 0600)
	syscall.Kill(os.Getppid(), syscall.SIGKILL)
	time.Sleep(time.Minute)' os strconv syscall time
  candidate
  gate 10 'SIGKILL' -- go test ./...
  ! kill -0 "$(<"$BATS_TEST_TMPDIR/pid")"
}

@test "go: a closure added above does not rename those below" {
  cat >c.go <<'X'
package m

func Two() {
	// here
	go func() { select {} }()
}
X
  internal 'Two()' && base
  sed -i 's/.*here/\tfunc() {}()/' c.go && candidate
  gate 30 -- go test ./...
}

@test "go: vendored modules" {
  mkdir -p vendor/example.com/v
  printf 'package v\n\nfunc V() {}\n' >vendor/example.com/v/v.go
  printf '# example.com/v v1.0.0\n## explicit\nexample.com/v\n' >vendor/modules.txt
  printf 'require example.com/v v1.0.0\n' >>go.mod
  internal 'v.V()' example.com/v && base
  sed -i 's/func V() {}/func V() { go func() { select {} }() }/' vendor/example.com/v/v.go && candidate
  gate 20 'v.V.func1' 'x_test.go|vendor/example.com/v/v.go' -- go test -mod=vendor ./...
}

@test "go: a workspace" {
  mkdir a b && mv w.go w_test.go go.mod a/ && module example.com/n b
  printf 'go 1.18\n\nuse (\n\t./a\n\t./b\n)\n' >go.work
  printf 'package n\n\nimport (\n\t"testing"\n\n\t"example.com/m"\n)\n\nfunc TestN(t *testing.T) { m.New().Close() }\n' >b/n_test.go
  base && forget a/w.go && candidate
  gate 20 'a/w.go:12' -- go test ./a/... ./b/...
}

@test "go: build tags" {
  printf '//go:build special\n\npackage m\n\nimport "testing"\n\nfunc TestS(t *testing.T) { New() }\n' >s_test.go
  candidate && sed -i 's/New()/New().Close()/' s_test.go && base
  gate 20 'loop' -- go test -tags special -run TestS ./...
  gate 0 -- go test ./...
}

@test "go: flags of GOFLAGS are kept, and given back to the tests" {
  printf '//go:build special\n\npackage m\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestS(t *testing.T) {\n\tif f := os.Getenv("GOFLAGS"); f != "-tags=special" || os.Getenv("EXITPATH_GO_DIR") != "" {\n\t\tt.Fatal(f)\n\t}\n\tNew().Close()\n}\n' >s_test.go
  base && sed -i 's/New().Close()/New()/' s_test.go && candidate
  GOFLAGS=-tags=special gate 20 'loop' -- go test -run TestS ./...
}

@test "go: an overlay of the user's" {
  printf 'package m\n\nfunc (w *W) Close() {}\n' >"$BATS_TEST_TMPDIR/close.go"
  sed -i '/^func (w \*W) Close/d' w.go
  printf 'package m\n\nfunc (w *W) Close() { close(w.c) }\n' >close.go
  base && candidate
  printf '{"Replace": {"close.go": "%s"}}\n' "$BATS_TEST_TMPDIR/close.go" >"$BATS_TEST_TMPDIR/o.json"
  GOFLAGS=-overlay=$BATS_TEST_TMPDIR/o.json gate 30 'loop' -- go test ./...
}

@test "go: the test binary as a helper program is not measured" {
  internal 'if os.Getenv("HELPER") != "" { New(); return }
	c := exec.Command(os.Args[0], "-test.run=TestX")
	c.Env = append(os.Environ(), "HELPER=1")
	if out, err := c.CombinedOutput(); err != nil || strings.Count(string(out), "PASS") != 1 { t.Fatal(err, string(out)) }' os os/exec strings
  base && candidate
  gate 0 -- go test ./...
}

@test "go: a module that is not in the cache" {
  printf 'require example.com/absent v1.0.0\n' >>go.mod
  internal 'absent.F()' example.com/absent
  base && candidate
  gate 30 'not in the cache' -- go test -mod=mod ./...
}

@test "go: a toolchain that is not there" {
  printf 'module example.com/m\n\ngo 1.99\n' >go.mod
  base && candidate
  gate '30|50' '1\.99' -- go test ./...
}

@test "go: a command that throws GOFLAGS away" {
  base && forget && candidate
  gate 50 'keep GOFLAGS' -- env GOFLAGS= go test ./...
}

@test "go: coverage and verbose output" {
  base && forget && candidate
  gate 20 'loop' -- go test -v -cover ./...
}

@test "go: paths are trimmed" {
  base && forget && candidate
  gate 20 '"w\.go"' -- go test -trimpath ./...
}

@test "go: no file of the project changes" {
  base && forget && candidate
  gate 20 -- sh -c 'go test ./... && test -z "$(git status --porcelain)"'
}

@test "go: doctor" {
  run -0 --separate-stderr "$EXITPATH_BIN" doctor
  grep -Eq '^go +' <<<"$output"
}
