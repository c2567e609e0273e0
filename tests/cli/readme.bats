load common

# README.md, as a newcomer pastes it: every ```sh block, one after the other, in one shell.
@test "README: the tour works when pasted" {
  cd "$EXITPATH_ROOT"
  tour="$BATS_TEST_TMPDIR/tour.sh"
  { echo 'set -e'; awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' README.md; } |
    sed "s|/tmp/exitpath-tour|$BATS_TEST_TMPDIR/tour|" >"$tour"
  [ "$(grep -c exitpath "$tour")" -ge 8 ]
  mkdir "$BATS_TEST_TMPDIR/bin"
  ln -s "$EXITPATH_BIN" "$BATS_TEST_TMPDIR/bin/exitpath"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH fails_with 0 bash "$tour"
  [[ "$output" == *"leak: worker_shutdown"* ]]
  [[ "$output" == *"clean"* ]]
  [[ "$output" == *"swallowed: close fails with EIO"* ]]
  [[ "$output" == *"not reached: close(journal);"* ]]
  [[ "$output" == *"as they were recorded"* ]]
  [ -z "$(git -C "$BATS_TEST_TMPDIR/tour" status --short)" ]
}

# As `git commit` calls what pre-commit would call: the hook's entry.
@test "README: the hook of .pre-commit-hooks.yaml refuses what adds a finding" {
  make_repo
  printf 'int f(void);\n' >a.c && commit_all one
  mkdir "$BATS_TEST_TMPDIR/bin"
  ln -s "$EXITPATH_BIN" "$BATS_TEST_TMPDIR/bin/exitpath"
  printf '#!/bin/sh\nPATH="%s:$PATH"\nexec %s\n' "$BATS_TEST_TMPDIR/bin" \
    "$(sed -n 's/^ *entry: //p' "$EXITPATH_ROOT/.pre-commit-hooks.yaml")" >.git/hooks/pre-commit
  chmod +x .git/hooks/pre-commit
  cat >a.c <<'EOF'
int f(const char *p)
{
	int fd = open(p, 0);
	if (fd < 0)
		return -1;
	if (lseek(fd, 0, 0) == -1)
		return -1;
	close(fd);
	return 0;
}
EOF
  fails_with 1 git commit -q -a -m two
  [[ "$output" == *"a.c:7"*"[early-exit]"* ]]
  sed -i '/lseek/,+1d' a.c
  fails_with 0 git commit -q -a -m two
}

@test "README: every link and every file it names is there" {
  cd "$EXITPATH_ROOT"
  for link in $(grep -o '](\([^)]*\))' README.md | sed 's/](\(.*\))/\1/' | grep -v '^http'); do
    [ -e "$link" ] || { echo "README.md links to $link"; return 1; }
  done
}

@test "README: the table of exit statuses is that of the program" {
  for pair in '0 clean' '10 behavior_failed' '20 leak' '20 defect' '30 baseline_invalid' '40 inconclusive' \
    '50 harness_error' '60 rejected'; do
    set -- $pair
    grep -q "^| $1 | .*\`$2\`" "$EXITPATH_ROOT/README.md"
    grep -q "\"$2\", $1," "$EXITPATH_ROOT/src/model/outcome.def"
  done
}

@test "demo: shows the leaking patch and its repair" {
  EXITPATH=$EXITPATH_BIN fails_with 0 "$EXITPATH_ROOT/demo/run"
  [[ "$output" == *"(exit status 20)"* ]]
  [[ "$output" == *"(exit status 0)"* ]]
}

@test "README: make install puts the program and its manual into place" {
  fails_with 0 make -s -C "$EXITPATH_ROOT" install DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr/local
  fails_with 0 "$BATS_TEST_TMPDIR/root/usr/local/bin/exitpath" --version
  [ -s "$BATS_TEST_TMPDIR/root/usr/local/share/man/man1/exitpath.1" ]
}
