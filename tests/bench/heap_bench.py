#!/usr/bin/env python3
"""One run under the heap library, against the plain program, AddressSanitizer and valgrind.

tests/bench/heap_bench.py [--runs N]    EXITPATH names another binary

Two programs: a loop that does nothing but allocate, and one that works on what it allocates, a sorted
map of strings. CPU time of the program alone, without exitpath's own, in turns in one run.
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

LOOP = """
#include <stdlib.h>
__attribute__((noinline)) static void *deep(int depth, size_t n)
{
	void *p = depth ? deep(depth - 1, n) : malloc(n);
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}
int main(void)
{
	static void *slots[1024];
	unsigned seed = 1;
	for (int i = 0; i < 3000000; i++) {
		seed = seed * 1103515245 + 12345;
		free(slots[seed >> 22]);
		slots[seed >> 22] = deep(10, 16 + (seed >> 10) % 200);
	}
	for (int i = 0; i < 1024; i++)
		free(slots[i]);
	return 0;
}
"""
WORK = """
#include <map>
#include <string>
int main()
{
	std::map<std::string, std::string> words;
	unsigned seed = 1;
	for (int i = 0; i < 400000; i++) {
		seed = seed * 1103515245 + 12345;
		std::string key = "a key that is longer than " + std::to_string(seed % 50000);
		words[key] += "x";
		if (seed % 3 == 0)
			words.erase(key);
	}
	return words.empty();
}
"""


def cpu(command, env):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def build(work, name, compiler, source):
    with open(f"{work}/{name}", "w", encoding="utf-8") as file:
        file.write(source)
    for suffix, flags in (("", []), (".asan", ["-fsanitize=address"])):
        subprocess.run([compiler, "-g", "-O2", *flags, "-o", f"{work}/{name}.out{suffix}", f"{work}/{name}"],
                       check=True)


def ways(work, program):
    """{way: (command, environment)}"""
    library = f"{ROOT}/build/release/shim/heap.so"
    plain = dict(os.environ, ASAN_OPTIONS="detect_leaks=1")
    records = f"{work}/records"
    os.makedirs(records, exist_ok=True)
    found = {
        "plain": ([program], plain),
        "heap": ([program], dict(plain, LD_PRELOAD=library, EXITPATH_HEAP=records)),
        "AddressSanitizer": ([program + ".asan"], plain),
    }
    if shutil.which("valgrind"):
        found["valgrind"] = (["valgrind", "--leak-check=full", "-q", program], plain)
    return found


def bench(runs, row):
    with tempfile.TemporaryDirectory() as work:
        for name, compiler, source, what in (("loop.c", "gcc", LOOP, "3,000,000 allocations, nothing else"),
                                             ("work.cc", "g++", WORK, "a map of strings, 800,000 allocations")):
            build(work, name, compiler, source)
            times = {way: [] for way in ways(work, f"{work}/{name}.out")}
            for _ in range(runs):
                for way, (command, env) in ways(work, f"{work}/{name}.out").items():
                    times[way].append(cpu(command, env))
            plain = statistics.median(times["plain"])
            others = ", ".join(f"{way} {statistics.median(t) / plain:.1f}x" for way, t in times.items()
                               if way not in ("plain", "heap"))
            row(f"heap library, {what} ({others})", f"{statistics.median(times['heap']) / plain:.1f}x",
                "less than AddressSanitizer")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    bench(parser.parse_args().runs, lambda what, value, goal: print(f"{what:<62} {value:>9}   goal {goal}"))
