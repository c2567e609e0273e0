bats_require_minimum_version 1.5.0
load common
load node

# The node detector under Jest, mocha and vitest, which come from the registry: where it cannot be
# reached, these tests are skipped. node:test: node.bats.

setup() {
  command -v node >/dev/null || skip "no node"
}

# install DIR PACKAGE…
install() {
  local dir=$BATS_FILE_TMPDIR/$1
  shift
  mkdir "$dir"
  (cd "$dir" && npm init -y && timeout 120 npm install --no-audit --no-fund --ignore-scripts "$@") \
    >"$dir.log" 2>&1 && touch "$dir/ready"
}

# Once for this file. Two sets, since a project has one Jest and one vitest.
setup_file() {
  command -v npm >/dev/null || return 0
  install old jest@29.7.0 mocha@10.8.2 vitest@3.2.4 || :
  install new jest@30.0.5 vitest@4.0.18 tsx@4.20.6 ts-jest@29.4.5 typescript@5.9.3 || :
}

# with_runners DIR: the project finds those of DIR in its node_modules, which both revisions share.
with_runners() {
  local dir=$BATS_FILE_TMPDIR/$1
  command -v npm >/dev/null || skip "no npm"
  [ -e "$dir/ready" ] || skip "the npm registry: $(grep -m 1 'npm error' "$dir.log" || echo no answer)"
  ln -s "$dir/node_modules" node_modules
  echo node_modules >.git/info/exclude
  cat >>exitpath.yaml <<'EOF'
version: 1
share: [node_modules]
lifecycles:
  - {name: unused, command: "true"}
EOF
  # Jest takes no test files from below a .git: with no sandbox the checkouts lie elsewhere.
  export STORE=$BATS_TEST_TMPDIR/store
}

# test_file FILE HEAD NAME…: a test for each name that acquires and releases it.
test_file() {
  local file=$1 name
  mkdir -p "$(dirname "$file")"
  echo "$2" >"$file"
  for name in "${@:3}"; do
    echo "test('uses a $name', async () => { await release('$name', await acquire('$name')); });"
  done >>"$file"
}

BIN=node_modules/.bin # npx takes half a second
REQUIRE="const { acquire, release } = require('./lib');"

jest_project() { # DIR CANDIDATE NAME…
  project && echo '{}' >package.json
  test_file a.test.js "$REQUIRE" "${@:3}"
  with_runners "$1" && revisions "$2"
}

jest_server() { # DIR: found, at its line, and base is clean; also with the flags that hide it
  jest_project "$1" 'async () => {}' server
  gate 20 '"resource": *"server"' '"file": *"lib.js"' '"line": *4,' 'did not exit by itself' -- npx jest
  gate 20 '"resource": *"server"' 'forceExit' -- $BIN/jest --forceExit
}

jest_detects() { # DIR: Jest's own detector is asked, which reports, and then never exits
  jest_project "$1" 'async () => {}' server
  gate 20 '"resource": *"server"' -- $BIN/jest --detectOpenHandles --maxWorkers=2
  CANDIDATE=base gate 0 -- $BIN/jest --detectOpenHandles
}

# What Jest does not see itself.
jest_unseen() { # DIR
  jest_project "$1" 'async () => {}' fd filehandle unref_child worker udp
  gate 20 '"resource": *"fd"' '"resource": *"child"' '"resource": *"thread"' '"resource": *"socket"' \
    '"file": *"lib.js"' -- $BIN/jest
  [ "$(grep -c '"resource": *"fd"' <<<"$output")" -eq 2 ]
  CANDIDATE=base gate 0 -- $BIN/jest
}

jest_forced() { # DIR
  jest_project "$1" 'async () => process.exit(0)' fd
  gate 50 'process.exit' 'lib.js' -- $BIN/jest
}

@test "node: Jest 29" { jest_server old; }
@test "node: Jest 30" { jest_server new; }
@test "node: Jest 29 --detectOpenHandles" { jest_detects old; }
@test "node: Jest 30 --detectOpenHandles" { jest_detects new; }
@test "node: what Jest 29 does not see" { jest_unseen old; }
@test "node: what Jest 30 does not see" { jest_unseen new; }
@test "node: Jest 29, process.exit() in a test" { jest_forced old; }
@test "node: Jest 30, process.exit() in a test" { jest_forced new; }

@test "node: Jest, a timer without a reference is a note, in the second of two files, too" {
  jest_project new '(n, t) => t.unref()' interval
  cp a.test.js b.test.js && commit_all two && git tag -f candidate
  gate 0 'without a reference.*lib.js' -- $BIN/jest
}

@test "node: Jest without a test" {
  jest_project old 'async () => {}' fd
  gate 50 'no test was executed' -- $BIN/jest --passWithNoTests nothing
}

# broken CMD…: files of the candidate cannot be loaded, so that none of its tests runs.
broken() {
  commit_all base && git tag base
  echo 'syntax error' >lib.js
  commit_all candidate && git tag candidate
  gate 10 -- "$@"
  BASE=candidate gate 30 -- "$@"
}

@test "node: Jest, files that cannot be loaded fail" {
  project && echo '{}' >package.json && test_file a.test.js "$REQUIRE" fd
  with_runners new && broken $BIN/jest
}

@test "node: node:test, files that cannot be loaded fail" {
  project && test_file a.test.js "const test = require('node:test'); $REQUIRE" fd
  broken node --test
}

@test "node: mocha, files that cannot be loaded fail" {
  project && test_file test/a.js "const test = it, { acquire, release } = require('../lib.js');" fd
  with_runners old && broken $BIN/mocha
}

@test "node: vitest, files that cannot be loaded fail" {
  project && test_file a.test.mjs "import { test } from 'vitest'; import { acquire, release } from './lib.js';" fd
  echo 'export const acquire = async () => 0, release = async () => {};' >lib.js
  with_runners new && broken $BIN/vitest run
}

@test "node: Jest with modules" {
  project
  echo '{"scripts": {"test": "NODE_OPTIONS=--experimental-vm-modules jest"}, "jest": {"testMatch": ["**/*.mjs"]}}' >package.json
  test_file a.test.mjs "import { createRequire } from 'node:module';
const { acquire, release } = createRequire(import.meta.url)('./lib.js');" fd
  with_runners new && revisions 'async () => {}'
  gate 20 '"resource": *"fd"' '"file": *"lib.js"' '"file": *"a.test.mjs"' -- npm test
  CANDIDATE=base gate 0 -- npm test
}

# types DIR: the leak lies in a file of TypeScript, below types that take up lines.
types() {
  project
  cat >open.ts <<'EOF'
import * as fs from 'fs';
interface Unused {
  a: number;
}
export function openIt(name: string): number {
  return fs.openSync(name, 'r');
}
export const LEAKS: boolean = false;
EOF
}

typed() { # CMD…: base is clean; the candidate leaks at line 6
  commit_all base && git tag base
  sed -i 's/boolean = false/boolean = true/' open.ts
  commit_all candidate && git tag candidate
  gate 20 '"resource": *"fd"' '"file": *"open.ts"' '"line": *6,' -- "$@"
  CANDIDATE=base gate 0 -- "$@"
}

typed_test() { # IMPORT
  cat >a.test.ts <<EOF
$1
import * as fs from 'fs';
import { openIt, LEAKS } from './open';
test('opens', (): void => { const fd: number = openIt('/etc/passwd'); if (!LEAKS) fs.closeSync(fd); });
EOF
}

@test "node: Jest with ts-jest" {
  types && typed_test ""
  echo '{"jest": {"transform": {"[.]ts$": ["ts-jest", {"diagnostics": false}]}}}' >package.json
  echo '{"compilerOptions": {"target": "es2022", "module": "commonjs", "isolatedModules": true}}' >tsconfig.json
  with_runners new && typed $BIN/jest
}

@test "node: node:test with tsx" {
  types && typed_test "import test from 'node:test';"
  with_runners new && typed node --import tsx --test a.test.ts
}

vitest() { # DIR
  types && typed_test "import { test } from 'vitest';"
  with_runners "$1" && typed $BIN/vitest run --pool=forks
  gate 50 'use --pool=forks' -- $BIN/vitest run --pool=threads
}

@test "node: vitest 3" { vitest old; }
@test "node: vitest 4" { vitest new; }

vitest_server() { # DIR: two files in a process each, and both in one
  project
  test_file a.test.mjs "import { test } from 'vitest';
import { createRequire } from 'node:module';
const { acquire, release } = createRequire(import.meta.url)('./lib.js');" server
  cp a.test.mjs b.test.mjs
  with_runners "$1" && revisions 'async () => {}'
  gate 20 '"resource": *"server"' '"file": *"lib.js"' 'did not exit by itself' -- $BIN/vitest run
  CANDIDATE=base gate 0 -- $BIN/vitest run --no-isolate
  gate 50 'no test was executed' -- $BIN/vitest run --passWithNoTests nothing
}

@test "node: vitest 3, servers" { vitest_server old; }
@test "node: vitest 4, servers" { vitest_server new; }

@test "node: vitest, an end without exit handlers" {
  project
  test_file a.test.mjs "import { test } from 'vitest';
import { createRequire } from 'node:module';
const { acquire, release } = createRequire(import.meta.url)('./lib.js');" fd
  with_runners new && revisions '() => process.reallyExit(0)'
  gate '10|50' -- $BIN/vitest run
}

mocha_project() { # CANDIDATE NAME…
  project
  test_file test/a.js "const test = it, { acquire, release } = require('../lib.js');" "${@:2}"
  with_runners old && revisions "$1"
}

@test "node: mocha" {
  mocha_project 'async () => {}' server fd
  gate 20 '"resource": *"server"' '"resource": *"fd"' '"file": *"lib.js"' -- $BIN/mocha
  CANDIDATE=base gate 0 -- $BIN/mocha
  gate 20 '"resource": *"server"' -- $BIN/mocha --exit
}

@test "node: mocha --parallel is refused" {
  mocha_project 'async () => {}' fd
  gate 50 'no-parallel' -- $BIN/mocha --parallel
}

@test "node: mocha, process.exit() in a test" {
  mocha_project 'async () => process.exit(0)' fd
  gate 50 'process.exit' 'lib.js' -- $BIN/mocha
}
