bats_require_minimum_version 1.5.0
load common

# expect STATUS FILE RULES: what scan says of standard input, as "rule:line …".
expect() {
  cat >"$2"
  run --separate-stderr "$EXITPATH_BIN" scan --json "$2"
  if [ "$status" -ne "$1" ] || [ "$(jq -r '[.findings[] | "\(.rule):\(.line)"] | join(" ")' <<<"$output")" != "$3" ]; then
    echo "exit status $status, expected $1; expected rules $3"
    echo "$output" "$stderr"
    return 1
  fi
}

setup() { cd "$BATS_TEST_TMPDIR" || exit; }

@test "scan: cleanup that an earlier call can skip, and its repair" {
  expect 20 a.py cleanup-skipped:5 <<'EOF'
def f(db):
    try:
        return db.query(1)
    finally:
        db.commit()
        db.close()
EOF
  expect 0 b.py "" <<'EOF'
def f(db):
    try:
        return db.query(1)
    finally:
        try:
            db.commit()
        finally:
            db.close()
EOF
  expect 0 c.py "" <<'EOF'
def f(task, event):
    try:
        work()
    finally:
        event.set()
        task.cancel()
        task.close()
EOF
}

@test "scan: a lock that stays held when the work raises" {
  expect 20 a.py release-not-protected:3 <<'EOF'
def f(lock):
    lock.acquire()
    work()
    lock.release()
EOF
  expect 0 b.py "" <<'EOF'
def f(lock):
    lock.acquire()
    try:
        work()
    finally:
        lock.release()
    with lock:
        work()
EOF
}

@test "scan: exits of C that skip a release" {
  expect 20 a.c "early-exit:7 early-exit:17" <<'EOF'
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
int g(const char *p)
{
	FILE *f;
	if ((f = fopen(p, "r")) == NULL)
		return -1;
	if (fputs("x", f) < 0 || fclose(f) != 0)
		return 1;
	return 0;
}
EOF
  expect 20 b.c "exit-skips-label:7" <<'EOF'
int f(const char *p)
{
	char *s = strdup(p);
	if (!s)
		return -1;
	if (*p == 'x')
		return 1;
	if (*p == 'y')
		goto out;
	use(1);
out:
	free(s);
	return 0;
}
EOF
}

@test "scan: what has another owner is left alone" {
  expect 0 a.c "" <<'EOF'
FILE *returned(const char *p)
{
	FILE *f = fopen(p, "r");
	return f;
}
int stored(struct s *s, const char *p)
{
	s->f = fopen(p, "r");
	int fd = open(p, 0);
	if (fd < 0)
		return -1;
	s->fd = fd;
	return 0;
}
int tested(const char *p)
{
	int rc;
	struct h h;
	rc = open_it(&h, p);
	if (rc < 0)
		return rc;
	free_it(&h);
	return 0;
}
EOF
  expect 0 b.py "" <<'EOF'
def returned(p):
    f = open(p)
    return f

def stored(self, p):
    self.f = open(p)
    s = socket.socket()
    self.s = s

def kept(stack, p):
    s = socket.socket()
    stack.append(s)
EOF
}

@test "scan: text names the way, broken files are survived, nothing to read is an error" {
  printf 'def f(:\n  x = (((\n' >broken.py
  run "$EXITPATH_BIN" scan broken.py
  [ "$status" -eq 0 ]
  run "$EXITPATH_BIN" scan nothing.txt
  [ "$status" -eq 2 ]
  printf 'def f(lock):\n    lock.acquire()\n    work()\n    lock.release()\n' >a.py
  run "$EXITPATH_BIN" scan a.py
  [ "$status" -eq 20 ]
  [[ "$output" == *"a.py:3:5: "*"[release-not-protected]"*"2  acquired: lock.acquire()"*"3  may raise: work()"*"4  not reached: lock.release()"* ]]
}

lock_bug() { # FILE [TEXT]: a lock that stays held, TEXT behind the work
  printf 'def f(lock):\n    lock.acquire()\n    work()%s\n    lock.release()\n' "${2:-}" >"$1"
}

@test "scan: a finding is ignored with a reason, and only then" {
  lock_bug a.py '  # exitpath: ignore[release-not-protected] work() cannot raise'
  run "$EXITPATH_BIN" scan a.py
  [ "$status" -eq 0 ]
  [[ "$output" == *"1 were ignored"* ]]
  lock_bug a.py '  # exitpath: ignore[release-not-protected]'
  run "$EXITPATH_BIN" scan --json a.py
  [ "$(jq -r '.findings[].rule' <<<"$output")" = ignore-without-reason ]
  lock_bug a.py '  # exitpath: ignore[early-exit] another rule'
  run "$EXITPATH_BIN" scan --json a.py
  [ "$(jq -r '.findings[].rule' <<<"$output")" = release-not-protected ]
}

@test "scan: --diff says what the working tree adds" {
  make_repo
  lock_bug old.py
  git add . && git commit -qm base
  run "$EXITPATH_BIN" scan --diff HEAD
  [ "$status" -eq 0 ]
  lock_bug new.py
  printf '\n\n' | cat - old.py >moved.py && mv moved.py old.py
  run "$EXITPATH_BIN" scan --json --diff HEAD
  [ "$status" -eq 20 ]
  [ "$(jq -r '.findings[].path' <<<"$output")" = new.py ]
  [ "$(git status --short | tr '\n' ' ')" = " M old.py ?? new.py " ]
  run "$EXITPATH_BIN" scan --diff nowhere
  [ "$status" -eq 2 ]
  run "$EXITPATH_BIN" scan --diff HEAD old.py
  [ "$status" -eq 2 ]
  [[ "$output" == *"not at \`old.py\`"*"next: leave out the path"* ]]
}

@test "scan: rules of a project, and what is wrong with one" {
  lock_bug a.py
  mkdir -p .exitpath/rules
  cat >.exitpath/rules/no-work.yaml <<'YAML'
id: no-work
shape: K
languages: [python]
query: |
  (call function: (identifier) @name (#eq? @name "work")) @here
message: "`{name}` is not called here"
explain: We do not work.
fix: Rest.
bad: [{language: python, code: "work()"}]
good: [{language: python, code: "rest()"}]
YAML
  run "$EXITPATH_BIN" scan --json --rule no-work a.py
  [ "$(jq -r '.findings[] | "\(.line) \(.message)"' <<<"$output")" = '3 `work` is not called here' ]
  run "$EXITPATH_BIN" scan --explain no-work
  [[ "$output" == "no-work (K: "*"We do not work."*"repair: Rest."* ]]
  sed -i 's/(call /(cal /' .exitpath/rules/no-work.yaml
  run "$EXITPATH_BIN" scan a.py
  [ "$status" -eq 2 ]
  [[ "$output" == *"no-work.yaml:"*": query for python: "* ]]
  run "$EXITPATH_BIN" scan --rule nothing a.py
  [ "$status" -eq 2 ]
}

@test "scan: SARIF has what GitHub asks for; annotations, reviewdog and GitLab" {
  mkdir 'a b'
  lock_bug 'a b/x,y.py'
  run "$EXITPATH_BIN" scan --format sarif .
  [ "$status" -eq 20 ]
  jq -e '.version == "2.1.0" and (.runs | length) == 1' <<<"$output"
  jq -e '.runs[0] | .automationDetails.id and (.tool.driver.rules | all(.id and .shortDescription.text
    and .fullDescription.text and .help.text))' <<<"$output"
  jq -e '.runs[0].results | length == 1 and all((.locations[0].physicalLocation.region | .startLine and
    .startColumn and .endLine and .endColumn) and .partialFingerprints.primaryLocationLineHash and
    .codeFlows[0].threadFlows[0].locations[0].location.message.text)' <<<"$output"
  jq -e '.runs[0] | .tool.driver.rules[.results[0].ruleIndex].id == .results[0].ruleId' <<<"$output"
  [ "$(jq -r '.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri' <<<"$output")" = "a%20b/x%2Cy.py" ]
  run "$EXITPATH_BIN" scan --format github .
  [[ "$output" == "::warning file="*"a b/x%2Cy.py,line=3,"*",title=release-not-protected::when this raises, "*"%0A2  acquired"* ]]
  run "$EXITPATH_BIN" scan --format rdjsonl .
  jq -e '.location.range.start.line == 3 and .severity == "WARNING"' <<<"$output"
  run "$EXITPATH_BIN" scan --format gitlab .
  jq -e '.[0] | .check_name == "release-not-protected" and (.fingerprint | length) == 16 and .location.lines.begin == 3' <<<"$output"
  run "$EXITPATH_BIN" scan --format json .
  [ "$(jq -r .outcome <<<"$output")" = defect ]
  run "$EXITPATH_BIN" scan --format morse .
  [ "$status" -eq 2 ]
}

@test "scan: --diff where nothing is committed yet" {
  rm -rf .git && git init -q .
  echo 'x = 1' >a.py
  run --separate-stderr "$EXITPATH_BIN" scan --diff HEAD
  [ "$status" -eq 2 ]
  [[ "$stderr" == *"has no commits yet"*"git commit"* ]]
}

@test "scan: columns of SARIF count as it says, in UTF-16" {
  printf 'def f(s):\n    try:\n        g(s)\n    finally:\n        x = "\xc3\xa9\xf0\x9f\x98\x80"; s.commit()\n        s.close()\n' >a.py
  run "$EXITPATH_BIN" scan --format sarif .
  [ "$(jq -r '.runs[0].columnKind' <<<"$output")" = utf16CodeUnits ]
  # eight blanks, `x = "`, one and two units, `"; `: the next is the 21st; ten more are s.commit()
  [ "$(jq -c '.runs[0].results[0].locations[0].physicalLocation.region' <<<"$output")" = \
    '{"startLine":5,"startColumn":20,"endLine":5,"endColumn":30}' ]
  run "$EXITPATH_BIN" scan --format rdjsonl . # counts bytes
  [ "$(jq -c '.location.range.start' <<<"$output")" = '{"column":23,"line":5}' ]
}

@test "scan: exitpath's own sources hold" {
  cd "$EXITPATH_ROOT"
  run "$EXITPATH_BIN" scan src shim
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}
