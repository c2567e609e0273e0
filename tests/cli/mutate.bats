# `exitpath mutate` on C: which changes do tests notice, and is it the same however they are tried?
bats_require_minimum_version 1.5.0
load common

setup() {
  make_repo
  printf '/t\n' >.gitignore
  cat >max.c <<'CODE'
int max(int a, int b)
{
	if (a > b)
		return a;
	return b;
}

int unused(int a)
{
	return a + 1;
}

char *next(char *p)
{
	return p ? p + 1 : p;
}

int down(int n)
{
	while (n > 0)
		n--;
	return n;
}
CODE
  cat >test.c <<'CODE'
#include <stdlib.h>
int max(int a, int b);
int down(int n);
char *next(char *p);
int main(void)
{
	char s[2] = "a";
	BEFORE
	return max(1, 2) == 2 && max(2, 1) == 2 && down(2) == 0 && *next(s) == 0 ? 0 : 1;
}
CODE
  commit_all one
}

# mutate STATUS OPTION…: its JSON is $output. $FLAGS for the compiler, $TESTS for the command.
mutate() {
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" mutate --json --setup "${CC:-gcc} ${FLAGS--DBEFORE=} -o t max.c test.c" "$@" \
    -- ${TESTS-./t}
  ended "$expected"
}

# verdicts: one line for each mutant.
verdicts() { jq -r '.mutants[] | "\(.line) \(.operator) \(.before) → \(.after): \(.verdict)"' <<<"$output"; }

@test "mutate: killed, survived, unreached and undecided" {
  mutate 0
  verdicts >all
  grep -qxF '3 ROR a > b → a >= b: survived' all # equal: both are the greater one
  grep -qxF '3 ROR a > b → a != b: killed' all
  grep -qxF '3 ROR a > b → 0: killed' all
  grep -qxF '5 RVR b → 0: killed' all
  grep -qxF '10 AOR a + 1 → a - 1: unreached' all
  grep -qxF '21 UOI n-- → n++: undecided' all # it ends, but nobody waits so long
  [ "$(jq .decided_by_fork <<<"$output")" -gt 10 ]
  [ "$(jq '.counts.killed + .counts.survived + .counts.unreached + .counts.undecided == (.mutants | length)' \
    <<<"$output")" = true ]
}

@test "mutate: what does not compile is invalid, and costs no other mutant of its line" {
  sed -i 's/return p ? p + 1 : p;/return p ? p + (p - p) + 1 : p;/' max.c
  mutate 0
  verdicts >all
  grep -qxF '15 AOR p - p → p + p: invalid' all
  [ "$(grep -c ': invalid' all)" -eq 1 ]
  [ "$(grep -c '^15 ' all)" -ge 5 ]
}

@test "mutate: addresses are not put in order" {
  sed -i 's/return p ? p + 1 : p;/return p == (char *)0 ? p : p + 1;/' max.c
  mutate 0
  verdicts >all
  grep -qF '15 ROR p == (char *)0 → 0: ' all
  ! grep -F '15 ROR p == (char *)0 → p <= ' all
}

@test "mutate: the same verdicts without forks, in a shell, and where a fork would spoil something" {
  local how
  mutate 0
  verdicts >expected
  mutate 0 --no-fork
  [ "$(jq .decided_by_fork <<<"$output")" -eq 0 ]
  diff expected <(verdicts)
  TESTS='sh -c ./t' mutate 0
  [ "$(jq .decided_by_fork <<<"$output")" -eq 0 ]
  diff expected <(verdicts)
  # A file that is written, the environment gone, a thread.
  for how in 'fclose(fopen("left", "a"));' 'clearenv();' 'start();'; do
    echo "#define BEFORE $how" >test_before.h
    cat >>test_before.h <<'CODE'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *nothing(void *p) { pause(); return p; }
static void start(void) { pthread_t t; pthread_create(&t, 0, nothing, 0); }
static void (*used)(void) __attribute__((unused)) = start;
CODE
    FLAGS='-D_GNU_SOURCE -pthread -include test_before.h' mutate 0
    diff expected <(verdicts)
  done
  [ "$(jq .decided_by_fork <<<"$output")" -eq 0 ]
}

@test "mutate: warnings as errors do not make mutants invalid" {
  FLAGS='-Wall -Wextra -Werror -O2 -std=gnu99 -DBEFORE=' mutate 0
  [ "$(jq .counts.invalid <<<"$output")" -eq 0 ]
}

@test "mutate: the working tree is left as it is" {
  cp -a . ../before
  mutate 0
  [ -z "$(git status --porcelain)" ]
  diff -r --exclude .git . ../before
}

@test "mutate: only what changed, one mutant a line" {
  sed -i 's/n > 0/n >= 1/' max.c
  mutate 0 --diff HEAD
  [ "$(verdicts)" = '20 ROR n >= 1 → n == 1: killed' ]
}

@test "mutate: below the threshold the outcome is rejected" {
  mutate 60 --threshold 99
  [ "$(jq -r .outcome <<<"$output")" = rejected ]
  mutate 0 --threshold 30
}

@test "mutate: what does not build or fails by itself is said" {
  FLAGS=-DBEFORE=no mutate 2
  [[ $stderr = *'the build fails'*no* ]]
  FLAGS="-DBEFORE='return 1;'" mutate 2
  [[ $stderr = *'do not pass without a mutant'* ]]
  fails_with 2 "$EXITPATH_BIN" mutate --target none.c -- ./t
  [[ $output = *'no code of C to mutate'* ]]
  fails_with 2 "$EXITPATH_BIN" mutate
}
