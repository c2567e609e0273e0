bats_require_minimum_version 1.5.0
load common
load node

# The node detector under node:test and without a runner: a project for each trap, its leaking
# candidate and its clean self. Jest, mocha and vitest: node_runners.bats.

setup() {
  command -v node >/dev/null || skip "no node"
}

node_test() { # NAME: a file of node:test that acquires and releases NAME
  cat >a.test.js <<EOF
const test = require('node:test');
const { acquire, release } = require('./lib');
test('uses a $1', async () => { await release('$1', await acquire('$1')); });
EOF
}

leaks() { # NAME KIND: found under node:test, and the base is clean against itself
  project && node_test "$1" && revisions 'async () => {}'
  gate 20 "\"resource\": *\"$2\"" '"file": *"lib.js"' -- node --test
  CANDIDATE=base gate 0 -- node --test
}

@test "node: a server" { leaks server server; }
@test "node: a server without a reference" { leaks unref_server server; }
@test "node: a connection" { leaks socket socket; }
@test "node: a UDP socket" { leaks udp socket; }
@test "node: an interval" { leaks interval timer; }
@test "node: a pending timer" { leaks timeout pending_timer; }
@test "node: a descriptor of openSync" { leaks fd fd; }
@test "node: a descriptor of open" { leaks fdcb fd; }
@test "node: a FileHandle" { leaks filehandle fd; }
@test "node: a child" { leaks child child; }
@test "node: a child without a reference" { leaks unref_child child; }
@test "node: a worker" { leaks worker thread; }
@test "node: a watcher" { leaks watcher handle; }

@test "node: in the sandbox" {
  needs_sandbox
  project && node_test server && revisions 'async () => {}'
  export ISOLATION=sandbox CYCLES=2
  gate 20 '"resource": *"server"' '"file": *"lib.js"' '"isolation": *"sandbox"' -- node --test
  CANDIDATE=base gate 0 -- node --test
}

@test "node: a suite that never exits on base is an invalid baseline" {
  project && node_test server && revisions 'async () => {}'
  BASE=candidate gate 30 'did not exit by itself' -- node --test
}

@test "node: an unref'd timer is a note" {
  project && node_test interval && revisions '(n, t) => t.unref()'
  gate 0 'without a reference' -- node --test
}

@test "node: growing listeners are a note" {
  project && node_test interval
  revisions '(n, t) => { clearInterval(t); const e = new (require("events"))(); for (let i = 0; i < 12; i++) e.on("x", () => {}); }'
  gate 0 "listeners grow: 11 of 'x' on one EventEmitter" -- node --test
}

@test "node: growing listeners of an AbortSignal, and a promise for ever, are a note at most" {
  project && node_test interval
  revisions '(n, t) => { clearInterval(t); const a = new AbortController(); for (let i = 0; i < 12; i++) a.signal.addEventListener("abort", () => i); exports.p = new Promise(() => {}); }'
  gate 0 "listeners grow: 11 of 'abort' on one AbortSignal" '"findings": *\[\]' -- node --test
}

@test "node: connections that fetch and agents keep for a server that is closed are none" {
  project && node_test interval && commit_all base && git tag base
  cat >b.test.js <<'EOF'
const { test, before, after } = require('node:test');
const http = require('http');
let server;
before(() => new Promise((r) => { server = http.createServer((q, s) => s.end('x')).listen(0, r); }));
// What close() does by itself since node 19.
after(() => new Promise((r) => { server.close(r); server.closeIdleConnections(); }));
test('fetch', async () => { await (await fetch(`http://localhost:${server.address().port}`)).text(); });
test('get', () => new Promise((r) => http.get({ port: server.address().port }, (s) => s.resume().on('end', r))));
EOF
  commit_all candidate && git tag candidate
  gate 0 -- node --test
}

@test "node: --test-force-exit hides nothing" {
  project && node_test server && revisions 'async () => {}'
  node --test --test-force-exit a.test.js >/dev/null 2>&1 || skip "this node has no --test-force-exit"
  gate 20 '"resource": *"server"' -- node --test --test-force-exit
}

@test "node: process.exit() in a test of the candidate is a harness error, on both an invalid baseline" {
  project && node_test interval && revisions 'async () => process.exit(0)'
  gate 50 'process.exit' 'lib.js' -- node --test
  BASE=candidate gate 30 -- node --test
}

@test "node: an end without exit handlers is a forced exit" {
  project && node_test interval && revisions 'async () => process.reallyExit(0)'
  gate 50 'without its exit handlers' -- node --test
}

@test "node: a test that kills its process is no clean run" {
  project && node_test interval && revisions "() => process.kill(process.pid, 'SIGKILL')"
  gate '10|50' -- node --test
}

@test "node: no test at all is no clean run" {
  project && node_test interval && revisions 'async () => {}'
  gate 50 'no test was executed' -- node --test lib.js
}

@test "node: tests that break the adapter are no clean run" {
  project && node_test interval
  revisions '() => { Error.prepareStackTrace = () => { throw 1; }; }'
  gate 50 'planted' -- node --test
}

@test "node: a script" {
  project && echo "const l = require('./lib'); l.acquire('fd').then((t) => l.release('fd', t));" >main.js
  revisions 'async () => {}'
  gate 20 '"resource": *"fd"' '"file": *"lib.js"' -- node main.js
  CANDIDATE=base gate 0 -- node main.js
}

@test "node: what a script opens over and over is a leak of base as well" {
  project
  echo "const l = require('./lib'); (async () => { for (let i = 0; i < 5; i++) l.release('fd', await l.acquire('fd')); })();" >main.js
  revisions 'async () => {}'
  BASE=candidate gate 30 -- node main.js
}

@test "node: npm test that sets NODE_OPTIONS of its own" {
  project && node_test server
  echo '{"scripts": {"test": "NODE_OPTIONS=--no-warnings node --test"}}' >package.json
  revisions 'async () => {}'
  gate 20 '"resource": *"server"' -- npm test
}

@test "node: modules, with awaits between the tests" {
  project
  cat >a.test.mjs <<'EOF'
import test, { after } from 'node:test';
import lib from './lib.js';
await test('first', async () => { await new Promise((r) => setTimeout(r, 50)); });
await test('second', async () => { await lib.release('server', await lib.acquire('server')); });
after(() => {});
EOF
  revisions 'async () => {}'
  gate 20 '"resource": *"server"' -- node --test
  CANDIDATE=base gate 0 -- node --test
}

@test "node: nothing is expected of other commands" {
  project && revisions 'async () => {}'
  run --separate-stderr "$EXITPATH_BIN" leak --isolation none --base base --candidate candidate \
    --warmup 0 --cycles 1 --detector ledger,node --quiet --json -- /bin/true
  [ "$status" -eq 50 ]
  [[ "$output" == *"no node program ran"* ]]
}

@test "node: auto picks it beside the ledger, and asks for no heap" {
  project && node_test server && revisions 'async () => {}'
  run --separate-stderr "$EXITPATH_BIN" leak --isolation none --base base --candidate candidate \
    --warmup 0 --cycles 1 --quiet --json -- node --test
  ended 20 '"detector": *"node"' '"detector": *"ledger"'
  [[ "$output" != *"watched the heap"* ]]
  [[ "$output" != *'"detector": "valgrind"'* ]]
}
