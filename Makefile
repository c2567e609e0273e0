PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all build demo test bench corpus corpus-scan install clean format help packages

all: build

build: packages
	@scripts/build release
	@echo "built ./build/exitpath"

demo: build
	@demo/run

test: packages
	@scripts/test

bench: build
	@ninja -C build/release tests/bench/ledger_bench tests/bench/source_bench >/dev/null
	@tests/bench/run

corpus: build
	@MIRROR="$(MIRROR)" tests/corpus/run
	@MIRROR="$(MIRROR)" tests/corpus/faults/run
	@MIRROR="$(MIRROR)" tests/corpus/pg/run
	@ninja -C build/release tests/corpus/cover_instrument >/dev/null
	@MIRROR="$(MIRROR)" tests/corpus/cover/run

corpus-scan: build
	@MIRROR="$(MIRROR)" tests/corpus/scan/run

install: build
	@meson configure build/release --prefix="$(PREFIX)"
	@scripts/build release
	@DESTDIR="$(DESTDIR)" meson install -C build/release --no-rebuild

format: packages
	@scripts/format

clean:
	@rm -rf build

packages:
	@scripts/install-packages

help:
	@echo "make                 build ./build/exitpath (installs missing Debian packages)"
	@echo "make demo            see the gate at work on a small project"
	@echo "make test            every check; the last line is the sum"
	@echo "make bench           the numbers, each against a named peer"
	@echo "make corpus          real projects (MIRROR=DIR: repositories kept locally)"
	@echo "make corpus-scan     scan on real bugs and their fixes (MIRROR=DIR)"
	@echo "make install         PREFIX=/usr/local DESTDIR="
	@echo "make format          clang-format all sources"
	@echo "make clean           remove build/"
