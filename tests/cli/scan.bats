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
