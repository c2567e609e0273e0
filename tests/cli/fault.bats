bats_require_minimum_version 1.5.0
load common

# program NAME [FLAG…]: ./t from tests/programs/fault_NAME.c, in a repository.
program() {
  [ "$PWD" = "$BATS_TEST_TMPDIR/repo" ] || make_repo
  local name=$1
  shift
  ${CC:-gcc} -g -O1 -Wno-unused-result "$@" -o t "$EXITPATH_ROOT/tests/programs/fault_$name.c" -pthread
}

fault() { # STATUS OPTION…: its JSON is $output
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json "$@"
  ended "$expected"
}

defects() { jq -r '.findings[] | .defect + " " + .call' <<<"$output" | sort; }

@test "fault: what is not survived is found, and gone when it is repaired" {
  while read -r name flags expected; do
    program "$name" ${flags#-}
    fault 20 -- ./t
    [ "$(defects | tr '\n' ,)" = "$expected," ] || { echo "$name: $output"; return 1; }
    program "$name" ${flags#-} -DFIXED
    fault 0 -- ./t
    [ "$(jq '.explored == .chosen and .explored > 0' <<<"$output")" = true ]
  done <<'CASES'
leak --fsanitize=address leak malloc
crash - crash malloc
double_free - crash realloc
double_free --fsanitize=address sanitizer realloc
hang - hang write
held - held read,held read
CASES
}

@test "fault: an error that nobody is told of" {
  program swallowed
  fault 20 -- ./t
  [ "$(defects | tr '\n' ,)" = "swallowed fclose,swallowed fflush,swallowed fsync,swallowed fwrite," ]
  program swallowed -DFIXED
  fault 0 -- ./t
  [ ! -e saved.txt ] || [ "$EXITPATH_ISOLATION" = none ]
  program children
  fault 20 --call write -- ./t
  [ "$(defects)" = "swallowed write" ]
  program children -DFIXED
  fault 0 -- ./t
}

@test "fault: threads, and what is called in them" {
  program threads
  fault 0 -- ./t
  [ "$(jq .explored <<<"$output")" -ge 2 ]
}

@test "fault: a finding has its call chain, and is replayed by its key" {
  program swallowed
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --call fsync -- ./t
  [ "$status" -eq 20 ]
  [[ "$output" == *"swallowed: fsync fails with EIO on "*"called by"*"save "*"fault_swallowed.c:"*"main "* ]]
  replay=$(sed -n 's/^ *replay *exitpath //p' <<<"$output")
  [[ "$replay" == *"--replay "*" -- ./t" ]]
  run --separate-stderr "$EXITPATH_BIN" $replay
  [ "$status" -eq 20 ]
  [[ "$output" == *"1 of 1 made to fail"*"swallowed: fsync"* ]]
  fault 50 --replay 0123456789abcdef -- ./t
  [[ "$(jq -r .why <<<"$output")" == *"was not reached" ]]
}

@test "fault: forever, some classes, one call, few points" {
  program swallowed
  fault 20 --layer libc --mode forever --classes file -- ./t
  [[ "$(jq -r '.findings[0].replay' <<<"$output")" == *"--layer=libc --mode forever --classes file --replay "* ]]
  fault 0 --call fopen -- ./t
  [ "$(jq .chosen <<<"$output")" = 1 ]
  fault 20 --points 1 -- ./t
  [ "$(jq -c '[.explored, .chosen]' <<<"$output")" = "[1,5]" ]
}

@test "fault: not the first time that a point is reached, but a later one" {
  make_repo
  cat >nth.c <<'C'
#include <stdio.h>
#include <stdlib.h>

static char *take(void)
{
	return malloc(77);
}

int main(void)
{
	char *kept[3] = {NULL};

	for (int i = 0; i < 3; i++) {
		kept[i] = take();
		if (!kept[i]) {
			fputs("out of memory\n", stderr);
			if (i == 2) /* what came before is lost the third time alone */
				kept[0] = NULL;
			break;
		}
	}
	for (int i = 0; i < 3; i++)
		free(kept[i]);
	return 0;
}
C
  ${CC:-gcc} -g -O1 -o t nth.c
  fault 0 --classes memory -- ./t
  fault 0 --classes memory --nth 2 -- ./t
  fault 20 --classes memory --nth 3 -- ./t
  [ "$(defects)" = "leak malloc" ]
  replay=$(jq -r '.findings[0].replay' <<<"$output")
  [[ "$replay" == "exitpath fault --nth=3 --replay "* ]]
  run --separate-stderr sh -c "\"$(dirname "$EXITPATH_BIN")\"/$replay"
  ended 20 'leak: malloc'
  fault 2 --nth 3 --base HEAD -- ./t
}

@test "fault: a check that fails behind the run" {
  program swallowed
  fault 20 --check 'test -s saved.txt || { echo "lost: $EXITPATH_STATUS"; false; }' --call fwrite -- ./t
  [ "$(defects)" = "check fwrite" ]
  [ "$(jq -r '.findings[0].what' <<<"$output")" = "the check fails with 1: lost: 0" ]
  [[ "$(jq -r '.findings[0].replay' <<<"$output")" == *"exitpath fault --check 'test -s"*" --replay "*" -- ./t" ]]
  fault 20 --check 'test -z "$LD_PRELOAD$EXITPATH_FAULT"' --call fwrite -- ./t
  [ "$(defects)" = "swallowed fwrite" ]
  fault 30 --check 'echo no; exit 3' -- ./t
  [ "$(jq -r .why <<<"$output")" = "without any fault the check fails with 3: no" ]
}

@test "fault: what cannot be explored is no clean run" {
  program swallowed -static
  fault 50 -- ./t
  [[ "$(jq -r .why <<<"$output")" == *"did not load the library"* ]]
  program swallowed
  fault 50 --classes net -- ./t
  [[ "$(jq -r .why <<<"$output")" == "no call that could fail was reached" ]]
  fault 30 -- sh -c './t; exit 3'
  [[ "$(jq -r .why <<<"$output")" == *"does not pass: exit 3"* ]]
  fault 50 -- ./no-such-program
  fails_with 2 "$EXITPATH_BIN" fault
  for option in '--classes paper' '--mode twice' '--call nothing' '--replay xyz' '--base nowhere' '--diff HEAD' '--format sarif'; do
    fails_with 2 "$EXITPATH_BIN" fault $option -- ./t
  done
}

@test "fault: nothing is left behind" {
  program held
  export TMPDIR=$BATS_TEST_TMPDIR/tmp && mkdir "$TMPDIR"
  fault 20 -- ./t
  [ -z "$(ls -A "$TMPDIR")" ]
}

@test "fault: forked where that changes nothing, else a run of its own, with the same verdict" {
  program state
  fault 0 --no-fork -- ./t file
  alone=$(jq -c '[.explored, .missed, .unconfirmed]' <<<"$output")
  [ "$(jq .forked <<<"$output")" -eq 0 ]
  fault 0 -- ./t file
  [ "$(jq -c '[.explored, .missed, .unconfirmed]' <<<"$output")" = "$alone" ]
  [ "$(jq '.forked > 15 and .rerun > 2 and .forked + .rerun == .explored' <<<"$output")" = true ]
}

@test "fault: input, threads, sockets, children, handlers at exit" {
  program state
  echo 123456789abcdefghijklmnop >in
  fault 0 -- sh -c 'exec ./t input <in'
  [ "$(jq '.forked > 10 and .rerun < 3' <<<"$output")" = true ]
  # What a fork read of a pipe the program could not read again.
  fault 0 -- sh -c 'cat in | ./t input'
  [ "$(jq '.forked == 0 and .rerun > 10 and .missed == 0 and .unconfirmed == 0' <<<"$output")" = true ]
  fault 0 -- ./t thread socket child
  [ "$(jq '.forked > 4 and .rerun > 10' <<<"$output")" = true ]
  [[ "$(jq -r '.notes[]' <<<"$output")" == *children*sockets* ]]
  fault 0 --mode forever -- ./t
  [ "$(jq '.forked > 10' <<<"$output")" = true ]
}

@test "fault: files of the project, a timer, blocked signals" {
  program state
  # All that comes before would make the file: it is left to a run of its own.
  fault 0 -- ./t project
  [ "$(jq '.forked < 8 and .rerun > 10 and .missed == 0' <<<"$output")" = true ]
  [[ "$(jq -r '.notes[]' <<<"$output")" == *"would change files"* ]]
  [ ! -e state.txt ]
  fault 0 -- ./t alarm
  [[ "$(jq -r '.notes[]' <<<"$output")" == *"an interval timer"* ]]
  # Where SIGSYS cannot come the exit of a child cannot be looked at.
  fault 0 -- ./t blocked
  [ "$(jq '.rerun > 3 and .missed == 0' <<<"$output")" = true ]
}

@test "fault: what a killed run leaves is removed by the next" {
  program hang
  export TMPDIR=$BATS_TEST_TMPDIR/tmp && mkdir "$TMPDIR"
  "$EXITPATH_BIN" fault --quiet -- ./t >/dev/null 2>&1 3>&- &
  until [ -n "$(find "$TMPDIR" -name fault.map 2>/dev/null)" ]; do sleep 0.05; done
  kill -9 $!
  wait $! || :
  [ -n "$(ls -A "$TMPDIR")" ]
  program state
  fault 0 --call malloc --points 1 -- ./t
  [ -z "$(ls -A "$TMPDIR")" ]
}

@test "fault: some callers, some paths" {
  program state
  while IFS='|' read -r expected options; do
    fault 0 $options -- ./t file
    [ "$(jq .chosen <<<"$output")" -eq "$expected" ] || { echo "$options: $output"; return 1; }
  done <<'CASES'
6|--caller put
4|--caller at_exit
2|--caller put --call fopen --path */state
CASES
  fault 50 --caller nobody -- ./t file
}

@test "fault: what a fork finds is found by a run" {
  for test in leak held; do
    program $test
    fault 20 -- ./t
    alone=$(defects)
    fault 20 --no-fork -- ./t
    [ "$(defects)" = "$alone" ]
  done
}

@test "fault: fifty points of sqlite3's shell, the same verdicts in forks and in runs" {
  command -v sqlite3 >/dev/null || skip "no sqlite3"
  make_repo
  cat >script.sql <<'SQL'
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
BEGIN;
INSERT INTO t (name) VALUES ('a'), ('b');
COMMIT;
CREATE INDEX i ON t (name);
SELECT name, count(*) FROM t GROUP BY name ORDER BY 1;
SQL
  verdicts() { jq -c '[.outcome, .explored, .missed, .unconfirmed], (.findings[] | [.key, .defect])' <<<"$output"; }
  fault '0|20' --points 50 -- sh -c 'exec sqlite3 :memory: <script.sql'
  forked=$(verdicts)
  [ "$(jq '.explored == 50 and .forked > 25' <<<"$output")" = true ]
  fault '0|20' --points 50 --no-fork -- sh -c 'exec sqlite3 :memory: <script.sql'
  [ "$(jq .forked <<<"$output")" -eq 0 ]
  [ "$(verdicts)" = "$forked" ] || { diff <(echo "$forked") <(verdicts); return 1; }
}

@test "fault: lists of arguments, vfork, less than was asked for, a database" {
  local options="-D_GNU_SOURCE -O2 -D_FORTIFY_SOURCE=2"
  program calls $options
  fault 20 -- ./t
  [ "$(jq -r '.findings[] | "\(.defect) \(.call) \(.error)"' <<<"$output")" = "swallowed write one byte less" ]
  replay=$(jq -r '.findings[].replay' <<<"$output")
  run --separate-stderr $EXITPATH_BIN ${replay#exitpath }
  [ "$status" -eq 20 ]
  fault 20 --classes db -- ./t d
  [ "$(jq -r '.findings[] | "\(.defect) \(.call) \(.error)"' <<<"$output")" = "swallowed sqlite3_exec SQLITE_IOERR" ]
  program calls $options -DFIXED
  fault 0 -- ./t
  [ "$(jq '.explored == .chosen and .explored > 10' <<<"$output")" = true ]
  fault 0 --classes db -- ./t d
  for call in vfork execl asprintf printf; do
    fault 0 --call $call -- ./t
    [ "$(jq '.explored > 0' <<<"$output")" = true ] || { echo "$call: $output"; return 1; }
  done
}
