# The whole project in a few words: make demo, make test, make bench, make fuzz. Everything a target needs is set up first, and what
# is already there is left alone.
SHELL := /bin/bash
BUILD ?= build
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: build demo test bench fuzz sweep validate format format-check lint lint-changed packages packages-build packages-test packages-bench asan asan-fast tsan clean

build: packages-build $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target spindrift

demo: build
	$(BUILD)/spindrift run scenes/dam_break.toml

test: packages-build packages-test
	cmake -S . -B $(BUILD) -G Ninja -DSPINDRIFT_TESTS=ON -DSPINDRIFT_FUZZ=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

$(BUILD)/build.ninja:
	cmake -S . -B $(BUILD) -G Ninja -DSPINDRIFT_TESTS=OFF $(CMAKE_FLAGS)

# packages.txt names every package once; the first column says who needs it.
define install_packages
	@missing=$$(for p in $$(awk '$$1 == "$(1)" {print $$2}' packages.txt); do \
	    dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	    echo "installing" $$missing; \
	    $(SUDO) apt-get update -q && \
	    $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
	fi
endef

packages-build:
	$(call install_packages,build)
packages-test:
	$(call install_packages,test)
packages-bench:
	$(call install_packages,bench)
packages: packages-build packages-test packages-bench

bench: packages-build packages-bench
	cmake -S . -B $(BUILD)-bench -G Ninja -DSPINDRIFT_TESTS=OFF -DSPINDRIFT_BENCH=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD)-bench -j $(JOBS)
	$(BUILD)-bench/spindrift_bench

# Bad files for every reader, a minute each, with sanitizers. `make test` has a few seconds of it without.
fuzz: packages-build packages-test
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS) --target spindrift_fuzz
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 build-asan/spindrift_fuzz --seconds $(or $(SECONDS),60)

# The extremes of every number that a scene can set, on tiny shots: half an hour.
sweep: packages-build packages-test
	cmake -S . -B $(BUILD) -G Ninja -DSPINDRIFT_TESTS=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)
	SPINDRIFT_SWEEP=0/1 SPINDRIFT_PROGRAM=$(BUILD)/spindrift $(BUILD)/spindrift_tests --gtest_filter='ValuesSweep.*'

validate: packages-build
	cmake -S . -B $(BUILD) -G Ninja -DSPINDRIFT_VALIDATE=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS) --target spindrift_validate
	$(BUILD)/spindrift_validate

CODE = git ls-files 'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' 'bench/*.cpp' 'bench/*.h' 'fuzz/*.cpp' 'fuzz/*.h' \
    'validate/*.h' 'validate/*.cpp' 'examples/*.cpp'

format:
	$(CODE) | xargs clang-format -i

format-check: packages-test
	$(CODE) | xargs clang-format --dry-run -Werror

# Batches of files share the time that headers take; precompiled headers are those of GCC.
LINT = cmake -S . -B $(BUILD)-lint -G Ninja -DSPINDRIFT_TESTS=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON > /dev/null && \
    tools/lint.py $(BUILD)-lint $(JOBS)

lint: packages-build packages-test format-check
	$(LINT)

# The same for the files that differ from BASE: by default the last commit that is a day older than HEAD, whatever the time now. A
# clone without such a commit has nothing to compare with: it checks one batch in sixteen, other ones for each commit, so that lint
# never passes without looking at a file.
BASE ?= $(shell git rev-list -1 --before=@$$(( $$(git show -s --format=%ct HEAD) - 86400 )) HEAD)
lint-changed: packages-build packages-test
	if [ -z "$(BASE)" ]; then $(LINT) --sample $$(git rev-parse HEAD); exit; fi; \
	changed=$$(git diff --name-only --diff-filter=d $(BASE) -- 'src/*.cpp' 'src/*.h'); \
	[ -z "$$changed" ] || { $(LINT) $$changed; }

asan tsan: packages-build packages-test
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS)
	ctest --preset $@ -j $(JOBS)

# The fast tests with sanitizers.
asan-fast: packages-build packages-test
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS) --target spindrift_tests spindrift_examples
	ctest --preset asan -L fast -j $(JOBS)

clean:
	rm -rf $(BUILD) $(BUILD)-bench $(BUILD)-lint build-asan build-tsan fuzz-findings out
