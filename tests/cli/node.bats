bats_require_minimum_version 1.5.0
load common

# The node detector: a project for each trap, its leaking candidate and its clean self.

setup() {
  command -v node >/dev/null || skip "no node"
}

# Runners from the registry, installed once for this file; none: $NODE_RUNNERS stays empty.
setup_file() {
  command -v npm >/dev/null || return 0
  mkdir "$BATS_FILE_TMPDIR/jest30" "$BATS_FILE_TMPDIR/all"
  (cd "$BATS_FILE_TMPDIR/all" && npm init -y && timeout 120 npm install --no-audit --no-fund \
    jest@29.7.0 mocha@10.8.2) >/dev/null 2>&1 &&
    (cd "$BATS_FILE_TMPDIR/jest30" && npm init -y && timeout 120 npm install --no-audit --no-fund \
      jest@30.0.5) >/dev/null 2>&1 && touch "$BATS_FILE_TMPDIR/ready"
  return 0
}

# with_runner DIR: the project finds the runners of DIR below its node_modules, which both share.
with_runner() {
  [ -e "$BATS_FILE_TMPDIR/ready" ] || skip "the npm registry cannot be reached"
  ln -s "$BATS_FILE_TMPDIR/$1/node_modules" node_modules
  echo node_modules >.git/info/exclude
  cat >>exitpath.yaml <<'EOF'
version: 1
share: [node_modules]
lifecycles:
  - {name: unused, command: "true"}
EOF
}

# project: lib.js acquires and releases by name. Tag base releases; candidate.sh makes the candidate.
project() {
  make_repo
  cat >lib.js <<'EOF'
const net = require('net'), fs = require('fs'), { spawn } = require('child_process');
const { Worker } = require('worker_threads');
const things = {
  server: [() => new Promise((r) => { const s = net.createServer().listen(0, () => r(s)); }), (s) => s.close()],
  interval: [() => setInterval(() => {}, 1000), clearInterval],
  timeout: [() => setTimeout(() => {}, 60000), clearTimeout],
  fd: [() => fs.openSync('/etc/passwd'), (fd) => fs.closeSync(fd)],
  fdcb: [() => new Promise((r) => fs.open('/etc/passwd', (e, fd) => r(fd))), (fd) => fs.closeSync(fd)],
  filehandle: [() => fs.promises.open('/etc/passwd'), (h) => h.close()],
  child: [() => spawn('sleep', ['30'], { stdio: 'ignore' }),
    (c) => new Promise((r) => { c.on('exit', r); c.kill(); })],
  worker: [() => new Worker('setInterval(() => {}, 1000)', { eval: true }), (w) => w.terminate()],
  watcher: [() => fs.watch('.'), (w) => w.close()],
};
const kept = [];
exports.acquire = async (name) => { const t = await things[name][0](); kept.push(t); return t; };
exports.release = (name, thing) => things[name][1](thing);
EOF
}

# revisions TEXT: base as it stands; the candidate with exports.release replaced by TEXT.
revisions() {
  commit_all base && git tag base
  sed -i "s/^exports.release.*/exports.release = $1;/" lib.js
  echo candidate >revision
  commit_all candidate && git tag candidate
}

gate() { # STATUS [REGEX…] -- CMD…
  local expected=$1 patterns=()
  shift
  while [ "$1" != -- ]; do patterns+=("$1") && shift; done
  run --separate-stderr "$EXITPATH_BIN" leak --isolation "${ISOLATION-none}" --base "${BASE-base}" \
    --candidate "${CANDIDATE-candidate}" --detector node --warmup 0 --cycles 2 --timeout 30s \
    --quiet --json ${STORE:+--store "$STORE"} "$@"
  ended "$expected" "${patterns[@]}"
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
@test "node: an interval" { leaks interval timer; }
@test "node: a pending timer" { leaks timeout pending_timer; }
@test "node: a descriptor of openSync" { leaks fd fd; }
@test "node: a descriptor of open" { leaks fdcb fd; }
@test "node: a FileHandle" { leaks filehandle fd; }
@test "node: a child" { leaks child child; }
@test "node: a worker" { leaks worker thread; }
@test "node: a watcher" { leaks watcher handle; }

@test "node: in the sandbox" {
  "$EXITPATH_BIN" run -- /bin/true || skip "no sandbox here"
  project && node_test server && revisions 'async () => {}'
  export ISOLATION=sandbox
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

jest_test() {
  echo '{}' >package.json
  cat >a.test.js <<'EOF'
const { acquire, release } = require('./lib');
test('uses a server', async () => { await release('server', await acquire('server')); });
EOF
}

# Jest takes no test files from below a .git: with no sandbox the checkouts lie elsewhere.
jest() { # DIR: Jest of DIR finds the server, and base is clean; with --forceExit too
  export STORE=$BATS_TEST_TMPDIR/store
  project && jest_test && with_runner "$1" && revisions 'async () => {}'
  gate 20 '"resource": *"server"' '"file": *"lib.js"' '"line": *[45],' -- npx jest
  CANDIDATE=base gate 0 -- npx jest
  gate 20 '"resource": *"server"' 'forceExit' -- npx jest --forceExit
  gate 20 '"resource": *"server"' -- npx jest --detectOpenHandles --maxWorkers=2
}

@test "node: Jest 29" { jest all; }
@test "node: Jest 30" { jest jest30; }

@test "node: Jest, process.exit() in a test" {
  export STORE=$BATS_TEST_TMPDIR/store
  project && jest_test && with_runner all && revisions 'async () => process.exit(0)'
  gate 50 'process.exit' -- npx jest
}

@test "node: Jest without a test" {
  export STORE=$BATS_TEST_TMPDIR/store
  project && jest_test && with_runner all && revisions 'async () => {}'
  gate 50 'no test was executed' -- npx jest --passWithNoTests nothing
}

mocha_test() {
  mkdir test
  sed "s/^test(/it(/; s/lib'/lib.js'/; s/.\/lib/..\/lib/" >test/a.js <<'EOF'
const { acquire, release } = require('./lib');
test('uses a server', async () => { await release('server', await acquire('server')); });
EOF
}

@test "node: mocha" {
  project && mocha_test && with_runner all && revisions 'async () => {}'
  gate 20 '"resource": *"server"' '"file": *"lib.js"' -- npx mocha
  CANDIDATE=base gate 0 -- npx mocha
  gate 20 '"resource": *"server"' -- npx mocha --exit
  gate 50 'no-parallel' -- npx mocha --parallel
}
