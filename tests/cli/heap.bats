bats_require_minimum_version 1.5.0
load common

# Programs that are built without any instrumentation.
export DETECTOR=heap TRAP_FLAGS='-g -O1'

@test "heap: a leak" { trap_case leak_heap 20 leak_here 'program.c|trap.h' '"bytes": *77|77 bytes'; }
@test "heap: a leak, built with -O2 and without frame pointers" { TRAP_FLAGS='-g -O2' trap_case leak_heap 20; }
@test "heap: base against itself is clean" { TRAP_CANDIDATE_FLAGS='' trap_case leak_heap 0; }
@test "heap: a leak on both is a broken baseline" { TRAP_BASE_FLAGS=-DLEAK trap_case leak_heap 30 leak_here; }
@test "heap: many leaks" { trap_case leak_many 20; }
@test "heap: a leak in a forked child" { trap_case leak_fork 20; }
@test "heap: a leak in an exec'ed child" { trap_case leak_exec 20; }
@test "heap: a leak in a thread" { trap_case leak_thread 20; }
@test "heap: threads, one of which still runs" { trap_case heap_threads 20 leak_here; }
@test "heap: threads without a leak" { TRAP_CANDIDATE_FLAGS='' trap_case heap_threads 0; }
@test "heap: a pure cycle" { trap_case leak_cycle 20; }
@test "heap: a chain of realloc()" { trap_case heap_realloc 20 grow; }
@test "heap: a list that base gives back, and the candidate keeps" { trap_case leak_reachable 20 reachable grow; }
@test "heap: a list that base keeps, too" { TRAP_BASE_FLAGS=-DLEAK trap_case leak_reachable 0; }
@test "heap: a global that is filled once is no leak" { trap_case heap_cache 0 'no leak' fill; }
@test "heap: _exit" { trap_case exit_forced 50; }
@test "heap: SIGKILL" { trap_case exit_killed 10; }
@test "heap: abort" { trap_case exit_abort 10; }
@test "heap: a hang" { TIMEOUT=1s trap_case hang 40; }
@test "heap: a static binary" { TRAP_FLAGS='-g -static' trap_case leak_heap 50 static; }
@test "heap: a binary built for AddressSanitizer" {
  TRAP_FLAGS='-g -fsanitize=address' TRAP_CANDIDATE_FLAGS='' trap_case leak_heap 50 'built with a sanitizer'
}
@test "heap: LD_PRELOAD is cleared" { COMMAND='env -u LD_PRELOAD ./build/t' trap_case leak_heap 50; }

# gate STATUS [REGEX…]: the repository that is made, built by build.sh.
gate() {
  local expected=$1
  shift
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --setup 'sh build.sh' \
    --detector heap --warmup 0 --cycles "${CYCLES-2}" --timeout 20s --quiet --json -- ${COMMAND-./build/t}
  ended "$expected" "$@"
}

# two_commits: what is there is the base; `flags` says -DLEAK on the candidate.
two_commits() {
  printf 'build/\n' >.gitignore
  : >flags
  commit_all base && git tag base
  echo -DLEAK >flags
  commit_all candidate && git tag candidate
}

@test "heap: a static program below a shell is not seen" {
  make_trap leak_heap
  git checkout -q base && git tag -d base candidate >/dev/null
  echo 'mkdir -p build && gcc -g -static $(cat flags) -o build/t program.c' >build.sh
  two_commits
  COMMAND='sh -c ./build/t' gate 50 'no heap of a program of the repository was seen'
}

@test "heap: a program with an allocator of its own is not seen" {
  make_repo
  cat >t.c <<'EOC'
#include <stddef.h>
#include <string.h>
static char pool[1 << 22];
static size_t used;
void *malloc(size_t n) { n = (n + 31) & ~15UL; used += n; return pool + used - n; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t s) { return malloc(n * s); }
void *realloc(void *p, size_t n) { void *q = malloc(n); return p ? memcpy(q, p, n) : q; }
int main(void) { return 0; }
EOC
  echo 'mkdir -p build && gcc -fno-builtin -g $(cat flags) -o build/t t.c' >build.sh
  two_commits
  gate 50 'allocator of its own'
}

@test "heap: C++, operator new and a container" {
  make_repo
  cat >t.cc <<'EOC'
#include <memory>
#include <string>
#include <vector>
struct Thing { std::string name = "a name that is too long for the string itself"; };
static std::vector<std::unique_ptr<Thing>> kept;
__attribute__((noinline)) void make_thing() {
  auto *t = new Thing;
  asm volatile("" : "+r"(t) : : "memory");
#ifndef LEAK
  delete t;
#endif
}
__attribute__((noinline)) void deep() { volatile char gap[2048]; gap[0] = 0; make_thing(); gap[2047] = 0; }
__attribute__((noinline)) void scrub() { volatile char dead[16384]; for (auto &c : dead) c = 0; }
int main() {
  for (int i = 0; i < 10; i++) kept.push_back(std::make_unique<Thing>());
  deep();
  scrub();
}
EOC
  echo 'mkdir -p build && g++ -g -O1 $(cat flags) -o build/t t.cc' >build.sh
  two_commits
  gate 20 make_thing 'hang off the leaked ones'
}

@test "heap: a module that is unloaded keeps its names" {
  make_repo
  cat >plugin.c <<'EOC'
#include <stdlib.h>
void *taken_by_plugin(void) { return malloc(55); }
EOC
  cat >t.c <<'EOC'
#include <dlfcn.h>
#include <stdlib.h>
__attribute__((noinline)) static void use(void) {
  volatile char gap[2048];
  gap[0] = 0;
  for (int i = 0; i < 20; i++) {
    void *h = dlopen("./build/plugin.so", RTLD_NOW);
    void *(*take)(void) = (void *(*)(void))dlsym(h, "taken_by_plugin");
    void *p = take();
    __asm__ volatile("" : "+r"(p) : : "memory");
#ifdef LEAK
    if (i % 2)
#endif
      free(p);
    dlclose(h);
  }
}
__attribute__((noinline)) static void scrub(void) { volatile char d[16384]; for (int i = 0; i < 16384; i++) d[i] = 0; }
int main(void) { use(); scrub(); return 0; }
EOC
  echo 'mkdir -p build && gcc -g -O1 -shared -fPIC -o build/plugin.so plugin.c &&
    gcc -g -O1 $(cat flags) -o build/t t.c -ldl' >build.sh
  two_commits
  gate 20 taken_by_plugin 'plugin.c' '10 allocations'
}

@test "heap: what destructors and exit handlers release is not held" {
  make_repo
  cat >t.c <<'EOC'
#include <stdlib.h>
static void *one, *two;
static void release_one(void) { free(one); }
__attribute__((destructor)) static void release_two(void) { free(two); }
__attribute__((noinline)) static void take(void) { one = malloc(10); two = malloc(20); }
int main(void) { atexit(release_one); take(); return 0; }
EOC
  echo 'mkdir -p build && gcc -g -O1 $(cat flags) -o build/t t.c' >build.sh
  two_commits
  gate 0
  ! grep -q '"what": "[0-9]* bytes"' <<<"$output"
}

@test "heap: thread-local memory, a pointer in the middle, memory that is mapped" {
  make_repo
  cat >t.c <<'EOC'
#include <stdlib.h>
#include <sys/mman.h>
static __thread void *mine;
static char *middle;
__attribute__((noinline)) static void take(void) {
  void **map = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mine = malloc(33);
  middle = (char *)malloc(1000) + 500;
  map[1000000] = malloc(44);
  void **big = malloc(1 << 20);
  big[100000] = malloc(66);
  map[7] = big;
}
int main(void) {
#ifdef LEAK
  take();
#endif
  return 0;
}
EOC
  echo 'mkdir -p build && gcc -g -O1 $(cat flags) -o build/t t.c' >build.sh
  two_commits
  gate 0
}

@test "heap: a record that the program writes is not believed" {
  make_trap leak_heap
  run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate --setup 'sh build.sh' \
    --detector heap --warmup 0 --cycles 1 --quiet --json -- \
    sh -c 'dd if=/dev/urandom of="$EXITPATH_HEAP/heap.99" bs=1k count=5 2>/dev/null; ./build/t'
  ended 50 'no record of the heap library'
}

@test "heap: what a shell starts and kills is noted, and no more" {
  make_repo
  cp "$EXITPATH_ROOT/tests/programs/leak_heap.c" "$EXITPATH_ROOT/tests/programs/trap.h" .
  echo 'mkdir -p build && gcc -g -O1 $(cat flags) -o build/t leak_heap.c' >build.sh
  printf 'sleep 100 &\nsleep 0.2\nkill -9 $!\nwait\n./build/t\n' >run.sh
  two_commits
  COMMAND='sh run.sh' gate 20 leak_here 'sleep made no report'
}

@test "heap: in auto, it takes the place of valgrind" {
  trap_case_auto() {
    make_trap leak_heap
    run --separate-stderr "$EXITPATH_BIN" leak --base base --candidate candidate \
      --setup 'sh build.sh' --warmup 0 --cycles 2 --quiet --json -- ./build/t
  }
  trap_case_auto
  ended 20 '"detector": "heap"' leak_here
  ! grep -q '"detector": "valgrind"' <<<"$output"
}

@test "heap: a million blocks, of which some are lost" {
  make_repo
  cat >t.c <<'EOC'
#include <stdlib.h>
enum { BLOCKS = 1000000 };
void **volatile table;
__attribute__((noinline)) static void *block(void) { return malloc(24); }
int main(void) {
  table = malloc(BLOCKS * sizeof(*table));
  for (int i = 0; i < BLOCKS; i++) table[i] = block();
  for (int i = 0; i < BLOCKS; i += 3) { free(table[i]); table[i] = NULL; }
#ifdef LEAK
  for (int i = 1; i < BLOCKS; i += 1000) table[i] = NULL;
#endif
  return 0;
}
EOC
  echo 'mkdir -p build && gcc -g -O1 $(cat flags) -o build/t t.c' >build.sh
  two_commits
  CYCLES=1 gate 20 block '66[67] allocations'
}

@test "heap: threads that allocate and fork at the same time" {
  make_repo
  cat >t.c <<'EOC'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { THREADS = 6, ROUNDS = 20000, SLOTS = 64 };
static void *churn(void *arg) {
  void *slots[SLOTS] = {0};
  for (unsigned i = 0; i < ROUNDS; i++) {
    slots[i % SLOTS] = realloc(slots[i % SLOTS], 1 + i % 900);
    if (i % 7 == 0) { free(slots[i % SLOTS]); slots[i % SLOTS] = NULL; }
    if (i % 5000 == 4999) {
      pid_t pid = fork();
      int status;
      if (!pid) { free(malloc(10)); _exit(0); }
      if (waitpid(pid, &status, 0) != pid || status) abort();
    }
  }
  for (int i = 0; i < SLOTS; i++) free(slots[i]);
  return arg;
}
#include "trap.h"
int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, churn, NULL);
  work();
  scrub();
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return 0;
}
EOC
  cp "$EXITPATH_ROOT/tests/programs/trap.h" .
  echo 'mkdir -p build && gcc -g -O1 $(cat flags) -o build/t t.c -pthread' >build.sh
  two_commits
  gate 20 leak_here '"class": "new"'
  [ "$(jq '[.checks[].findings[] | select(.class == "new")] | length' <<<"$output")" -eq 1 ]
}

@test "heap: another allocator, in a library" {
  for name in jemalloc.so.2 tcmalloc_minimal.so.4; do
    lib=$(ls /usr/lib/*/lib$name ${ALLOCATORS-}/lib$name 2>/dev/null | head -1)
    [ -n "$lib" ] || continue
    export LINK="-Wl,--no-as-needed $lib -Wl,-rpath,$(dirname "$lib")"
    [ $name = jemalloc.so.2 ] || { trap_case leak_heap 20 leak_here && continue; }
    trap_case leak_heap 50 'keeps pointers'
    cd .. && rm -rf repo
  done
  [ -n "${lib-}" ] || skip "there is no libjemalloc or libtcmalloc here"
}

# fault_of STATUS PROGRAM FLAGS [REGEX…]: one of tests/programs without any instrumentation.
fault_of() {
  local expected=$1
  cd "$BATS_TEST_TMPDIR"
  gcc -g -O1 $3 -o t "$EXITPATH_ROOT/tests/programs/$2.c"
  run --separate-stderr "$EXITPATH_BIN" fault --quiet --json -- ./t
  shift 3
  ended "$expected" "$@"
}

@test "heap: fault, memory that a failed allocation loses" {
  fault_of 20 fault_leak '' '"defect": "leak"' 'heap lost: 40 bytes' pair_init
  ! grep -q 'not seen' <<<"$output"
}
@test "heap: fault, memory that is given back" { fault_of 0 fault_leak -DFIXED; }
@test "heap: fault, memory that a global keeps though the program goes on" {
  fault_of 20 fault_kept '' '"defect": "held"' 'reachable held at exit'
}
@test "heap: fault, memory that a global would keep is given back" { fault_of 0 fault_kept -DFIXED; }
@test "heap: fault, a program with a sanitizer is left to that" {
  fault_of 20 fault_leak '-fsanitize=address' '"defect": "leak"' 'heap lost: 40 bytes'
}
