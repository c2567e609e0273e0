"""Faults: all distinct single failures of a real program, sqlite3's shell, in processor time.

Against running it again for every N (the N-th malloc fails, by a library of a page below), and per point
against `strace -e inject` and libfiu, where they can do the same: fail one call of one run.

FAULT_ROWS, FAULT_SAMPLE, FAULT_POINTS make it shorter; JANSSON names a checkout of jansson, whose tests are
explored too.
"""
import glob
import json
import os
import resource
import shutil
import subprocess
import sys

ROWS = int(os.environ.get("FAULT_ROWS", "200000"))
SAMPLE = int(os.environ.get("FAULT_SAMPLE", "20"))
POINTS = int(os.environ.get("FAULT_POINTS", "500"))

NTH = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
void *__libc_malloc(size_t n);
static long nth = -1, count;
__attribute__((constructor)) static void init(void)
{
	nth = getenv("NTH") ? atol(getenv("NTH")) : 0;
}
void *malloc(size_t n)
{
	if (++count == nth) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_malloc(n);
}
"""


def cpu(command, env=None, cwd=None):
    """Seconds of the processor, of the command and all that it waits for; and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def write_script(path, rows):
    with open(path, "w", encoding="ascii") as f:
        f.write("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);\nBEGIN;\n")
        for i in range(rows):
            f.write(f"INSERT INTO t (name, n) VALUES ('name {i}', {i * 7 % 1000});\n")
        f.write("COMMIT;\nSELECT count(*), sum(n) FROM t;\n")


VARIED = """
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER CHECK (n >= 0), at REAL DEFAULT 1.5);
CREATE TABLE u (t INTEGER REFERENCES t (id) ON DELETE CASCADE, tag TEXT COLLATE NOCASE, UNIQUE (t, tag));
CREATE INDEX by_name ON t (name, n DESC);
CREATE INDEX some ON t (n) WHERE n > 500;
CREATE VIEW v AS SELECT name, count(*) AS c FROM t JOIN u ON u.t = t.id GROUP BY name HAVING c > 0;
CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO u VALUES (new.id, 'tag ' || new.n % 7); END;
PRAGMA foreign_keys = ON;
BEGIN;
WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 50)
  INSERT INTO t (name, n) SELECT printf('name %d', x), x * 7 % 1000 FROM c;
SAVEPOINT s;
UPDATE t SET name = upper(name), at = at * 2 WHERE n BETWEEN 100 AND 200;
ROLLBACK TO s;
DELETE FROM t WHERE id % 5 = 0;
COMMIT;
SELECT * FROM v ORDER BY c DESC, name LIMIT 5;
SELECT name, row_number() OVER (PARTITION BY n % 3 ORDER BY name), sum(n) OVER (ORDER BY id) FROM t LIMIT 9;
SELECT group_concat(DISTINCT tag), total(t), avg(t), min(tag) FROM u WHERE tag LIKE '%3' OR tag GLOB 'tag [45]';
SELECT a.id FROM t a LEFT JOIN u b ON b.t = a.id WHERE a.id IN (SELECT t FROM u EXCEPT SELECT 3) AND EXISTS
  (SELECT 1 FROM t c WHERE c.n > a.n) UNION SELECT id FROM t INTERSECT SELECT t FROM u ORDER BY 1 LIMIT 4;
SELECT json_extract('{"a": [1, {"b": 2}]}', '$.a[1].b'), json_group_array(n), date('2020-01-31', '+1 month') FROM t;
SELECT CASE WHEN n > 3 THEN hex(name) ELSE quote(at) END, substr(name, 2), replace(name, 'a', 'b') FROM t LIMIT 3;
INSERT INTO u VALUES (1, 'x') ON CONFLICT DO UPDATE SET tag = excluded.tag || '!';
EXPLAIN QUERY PLAN SELECT * FROM t WHERE name = 'name 7';
ATTACH ':memory:' AS other;
CREATE TABLE other.w AS SELECT * FROM t NATURAL JOIN (SELECT t AS id, tag FROM u);
ALTER TABLE other.w RENAME COLUMN tag TO label;
ALTER TABLE other.w ADD COLUMN more BLOB;
ANALYZE;
REINDEX by_name;
PRAGMA integrity_check;
DROP TABLE other.w;
.mode csv
.headers on
SELECT * FROM t LIMIT 3;
.mode column
SELECT tag, count(*) FROM u GROUP BY 1;
.schema
.dump u
"""


def shell(script):
    return ["sh", "-c", f"exec sqlite3 :memory: <{script}"]


def explore(exitpath, directory, *options, command=None):
    command = command or shell("script.sql")
    took, out = cpu([exitpath, "fault", "--quiet", "--json", *options, "--", *command], cwd=directory)
    report = json.loads(out)
    if not report["explored"]:
        sys.exit(f"bench: fault: {report}")
    return took, report


def every_nth(library, directory, calls, command=None):
    """The mean cost of a run whose N-th malloc fails, for a sample of all N."""
    took = 0.0
    command = command or shell("script.sql")
    for i in range(SAMPLE):
        env = {**os.environ, "LD_PRELOAD": library, "NTH": str(1 + i * calls // SAMPLE)}
        took += cpu(command, env, directory)[0]
    return took / SAMPLE


def same_verdicts(exitpath, directory, points):
    def verdicts(report):
        return sorted((f["key"], f["defect"]) for f in report["findings"])

    _, forked = explore(exitpath, directory, "--points", str(points))
    alone_s, alone = explore(exitpath, directory, "--points", str(points), "--no-fork")
    return forked, alone, verdicts(forked) == verdicts(alone), alone_s / max(alone["explored"], 1)


def peers(directory, per_point):
    for tool, what, command in (
            ("strace", "strace -e inject, a read", ["strace", "-f", "-o", "/dev/null", "-e", "trace=read", "-e",
                                                    "inject=read:error=EIO:when=3", *shell("script.sql")]),
            ("fiu-run", "libfiu, the first malloc (it knows no N-th)",
             ["fiu-run", "-x", "-f", "", "-c", "enable name=libc/mm/malloc,onetime", *shell("script.sql")])):
        if not shutil.which(tool):
            print(f"  {tool} is not installed")
            continue
        took = min(cpu(command, cwd=directory)[0] for _ in range(3))
        print(f"  a point by {what}: {took * 1e3:.1f} ms of CPU, {per_point * 1e3:.1f} ms here")


def build_jansson(checkout, directory):
    """Its own tests that pass, each a program below directory."""
    os.mkdir(f"{directory}/conf")
    with open(f"{directory}/conf/jansson_private_config.h", "w", encoding="ascii"):
        pass
    for test in sorted(glob.glob(f"{checkout}/test/suites/api/test_*.c")):
        name = os.path.basename(test)[:-2]
        command = ["gcc", "-w", "-g", "-O1", "-DHAVE_CONFIG_H", "-DHAVE_STDINT_H", "-DHAVE_LOCALE_H",
                   "-DHAVE_SETLOCALE", f"-I{directory}/conf", f"-I{checkout}/android", f"-I{checkout}/src", "-o",
                   f"{directory}/{name}", test, *glob.glob(f"{checkout}/src/*.c"), "-lm"]
        if subprocess.run(command, check=False).returncode == 0 and subprocess.run(
                [f"./{name}"], cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                check=False).returncode == 0:
            yield name


def jansson(row, exitpath, library, work):
    checkout = os.environ.get("JANSSON")
    if not checkout:
        print("fault: JANSSON names no checkout of jansson, its tests are left out")
        return
    directory = f"{work}/jansson"
    os.mkdir(directory)
    subprocess.run(["git", "init", "-q"], cwd=directory, check=True)
    sums = dict.fromkeys(("calls", "points", "forked", "rerun"), 0)
    took = every = 0.0
    for name in build_jansson(os.path.abspath(checkout), directory):
        spent, report = explore(exitpath, directory, "--classes", "memory", command=[f"./{name}"])
        took += spent
        every += every_nth(library, directory, report["calls"], [f"./{name}"]) * report["calls"]
        for key in sums:
            sums[key] += report[key]
    print(f"fault: jansson's tests: {sums['calls']} calls of the class memory, {sums['points']} distinct stacks,"
          f" {sums['forked']} in forks, {sums['rerun']} by runs of their own, {took:.1f} s of CPU")
    row("fault: jansson's tests against every N (extrapolated)", f"1/{every / took:.1f}", "1/50")


def bench(exitpath, work, row):
    if not shutil.which("sqlite3"):
        print("fault: sqlite3 is not installed")
        return
    directory = f"{work}/fault"
    os.mkdir(directory)
    subprocess.run(["git", "init", "-q"], cwd=directory, check=True)
    with open(f"{directory}/nth.c", "w", encoding="ascii") as f:
        f.write(NTH)
    library = f"{directory}/nth.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, f"{directory}/nth.c"], check=True)
    script = f"{directory}/script.sql"

    write_script(script, ROWS)
    took, report = explore(exitpath, directory, "--classes", "memory")
    print(f"fault: sqlite3, {ROWS} rows: {report['calls']} calls of the class memory, {report['points']} distinct stacks,"
          f" {report['forked']} in forks, {report['rerun']} by runs of their own, {took:.1f} s of CPU")
    each = every_nth(library, directory, report["calls"])
    print(f"  every N: {each * 1e3:.0f} ms of CPU a run in a sample of {SAMPLE},"
          f" {each * report['calls']:.0f} s extrapolated")
    row("fault: all distinct single faults against every N (extrapolated)",
        f"1/{each * report['calls'] / took:.0f}", "1/50")

    with open(script, "w", encoding="ascii") as f:
        f.write(VARIED)
    forked, alone, same, each_alone = same_verdicts(exitpath, directory, POINTS)
    took = forked["cpu_ms"] / 1e3
    row(f"fault: verdicts of forks and runs, {forked['explored']} points, {forked['forked']} in forks",
        "same" if same else "DIFFER", "same")
    row("fault: forks against a run for each of those points, CPU", f"{took / (alone['cpu_ms'] / 1e3):.2f}", "< 1")
    peers(directory, took / forked["explored"])
    print(f"  a point by a run of its own here: {each_alone * 1e3:.1f} ms")
    jansson(row, exitpath, library, work)
