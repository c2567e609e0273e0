"""The Go adapter over plain `go test -count=N`: what one more pass over the tests costs in CPU time.

The gate is the whole of exitpath: of two numbers of cycles the difference counts, so that neither
compiling nor checkouts do. It measures both sides, so half of it is one pass.
"""
import resource
import shutil
import statistics
import subprocess
import tempfile

SUITE = """
package m

import (
	"net"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestAll(t *testing.T) {
	for i := 0; i < 200; i++ {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for k := 0; k < 200; k++ {
				f, err := os.Open("/dev/null")
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
				tick := time.NewTicker(time.Hour)
				tick.Stop()
				done := make(chan bool)
				go close(done)
				<-done
			}
		})
	}
}
"""
FEW, MANY = 2, 22


def seconds(command, directory):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_module(directory):
    for name, text in (("go.mod", "module m\n\ngo 1.19\n"), ("m_test.go", SUITE)):
        with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "bench"]):
        subprocess.run(git + command, cwd=directory, check=True)


def plain(directory, passes):
    return seconds(["go", "test", f"-count={passes}", "."], directory)


def watched(exitpath, directory, cycles):
    return seconds([exitpath, "leak", "--base", "HEAD", "--candidate", "HEAD", "--detector", "go", "--fresh",
                    "--isolation", "none", "--warmup", "0", "--cycles", str(cycles), "--quiet", "--",
                    "go", "test", "."], directory)


def measure(exitpath, runs):
    """Medians of the seconds of one pass, (plain, watched), in turns."""
    times = ([], [])
    with tempfile.TemporaryDirectory() as directory:
        make_module(directory)
        plain(directory, 1)
        watched(exitpath, directory, 1)
        for _ in range(runs):
            times[0].append((plain(directory, MANY) - plain(directory, FEW)) / (MANY - FEW))
            times[1].append((watched(exitpath, directory, MANY) - watched(exitpath, directory, FEW))
                            / (MANY - FEW) / 2)
    return tuple(statistics.median(t) for t in times)


def bench(exitpath, runs, row):
    if not shutil.which("go"):
        return
    bare, all_of_it = measure(exitpath, runs)
    row("go adapter against plain go test -count=N, CPU of a pass of handles alone", f"{all_of_it / bare:.2f}x",
        "none")
