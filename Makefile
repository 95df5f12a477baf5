# SPDX-License-Identifier: BSD-3-Clause
# Short names for calls of CMake and CTest; CONTRIBUTING.md has their options.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=

# Continuous integration, which sets CI, makes warnings errors; in all targets, so that none of them compiles again.
ifneq ($(CI),)
override CMAKE_FLAGS += -DCOLL_WERROR=ON
endif

# The sanitizer builds of `make test`, without parts that no sanitized test uses. The thread sanitizer follows one
# process.
ASAN_BUILD = $(BUILD)-asan
ASAN_FLAGS = -DCOLL_SANITIZE=address,undefined -DCOLL_BENCH=OFF
TSAN_BUILD = $(BUILD)-tsan
TSAN_FLAGS = -DCOLL_SANITIZE=thread -DCOLL_BENCH=OFF -DCOLL_SHIM=OFF -DCOLL_TOOLS=OFF
# Unless CC or CXX chooses a compiler, that build has the second one, if it is installed. So each `make test` compiles with
# both. A directory that exists keeps its compiler.
TSAN_COMPILER = $(if $(CC_CXX_CHOSEN),,$(if $(shell command -v clang++),CC=clang CXX=clang++))
CC_CXX_CHOSEN = $(filter-out default undefined,$(origin CC) $(origin CXX))

# What a target does, and how long it takes on two cores without cached compilations; printed before it starts.
about_build = builds everything: library, shims, collctl, benchmarks and tests (about 20 minutes)
about_demo = builds the library and the MPI shims (about 4 minutes), then runs an MPI program with and without libcoll, \
  side by side (about 90 seconds)
about_check = builds the library, the shims, collctl and the quick tests (about 15 minutes), then runs these (under 2 \
  minutes); needs no virtual machine
about_test = builds everything, plain and with sanitizers (up to 50 minutes), then runs all tests but the long sweeps \
  (about 25 minutes)
about_test-long = builds everything, plain and with sanitizers (up to 50 minutes), then runs the long sweeps that make \
  test leaves out (about 50 minutes)
about_test-arm64 = cross-compiles everything but what needs MPI for 64-bit Arm in a Debian root (about as long as make \
  build), then runs the tests in an emulator
about_test-arm64-mpi = cross-compiles the library and the MPI shims for 64-bit Arm in a Debian root, with Open MPI and MPICH \
  for arm64, then runs tests of the shims with 2 to 4 ranks in an emulator
about_test-torch = builds the library (about 4 minutes), then installs torch in a Debian root, builds torch_coll there twice \
  and runs its tests (about 20 minutes)
about_test-torch-upstream = builds the library (about 4 minutes), then runs torch's own tests of torch.distributed on torch_coll in \
  a Debian root (about 25 minutes)
about_test-applications = builds the library and the MPI shims (about 4 minutes), then installs programs in a Debian root and \
  runs each without a shim and with it (20 to 40 minutes)
about_wheel = builds the library (about 4 minutes) and packs it with the Python module
about_test-wheel = builds a wheel (about 4 minutes) and runs it in a clean root of each release (about a minute each)
about_deb = builds the Debian packages of HEAD (about 10 minutes)
about_rpm = builds the RPM packages of HEAD (about 10 minutes)
about_test-deb = builds, installs, tests and removes the Debian packages in a clean root of each release (about 20 minutes each)
about_test-readme = types README.md's install lines in a clean root of each release (about 3 minutes each)
about_install = builds what is installed: library, shims, collctl and manual pages (about 8 minutes), then installs it
about_bench = builds everything (about 20 minutes), then measures libcoll beside the MPI libraries (about 30 minutes)
$(foreach goal,$(MAKECMDGOALS),$(if $(about_$(goal)),$(info make $(goal): $(about_$(goal)))))

.DEFAULT_GOAL := help
.PHONY: help build demo demo-program check test test-long bench bench-before bench-peers bench-check install style format clean \
	packages machine sanitizers test-systems module-here test-arm64 test-arm64-here test-arm64-mpi test-arm64-mpi-here \
	test-launchers fuzz \
	test-torch test-torch-here test-torch-upstream test-torch-upstream-here test-applications test-applications-here dist sbom \
	wheel test-wheel test-wheel-here deb deb-here rpm test-deb test-deb-here \
	test-readme test-readme-here

help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Packages that are missing are installed first (packages/debian.txt); COLL_SKIP_PACKAGES=1 leaves them alone."
	@echo "Variables: BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) JOBS=$(JOBS) CMAKE_FLAGS=$(CMAKE_FLAGS)"

demo: packages machine ## run an unmodified MPI program with and without libcoll, side by side
	@scripts/build.sh $(BUILD) $(JOBS) -t demo $(CMAKE_FLAGS)
	@bench/demo.sh $(BUILD)

demo-program: packages machine ## run only the program of the demo, once
	@scripts/build.sh $(BUILD) $(JOBS) -t demo $(CMAKE_FLAGS)
	@bench/demo.sh $(BUILD) --short

check: packages machine ## build and run the quick tests: no sanitizer, no virtual machine
	@scripts/build.sh $(BUILD) $(JOBS) -t check_programs $(CMAKE_FLAGS)
	@scripts/run-tests.sh $(JOBS) $(BUILD) -- -L '^check$$'

test: build sanitizers ## build all, plain and with sanitizers, and run every test but the long sweeps
	@scripts/run-tests.sh $(JOBS) $(BUILD) $(ASAN_BUILD) $(TSAN_BUILD) -- -LE '^long$$'

test-long: build sanitizers ## run the long sweeps that make test leaves out
	@scripts/run-tests.sh $(JOBS) $(BUILD) $(ASAN_BUILD) $(TSAN_BUILD) -- -L '^long$$'

# The launchers of this system; in a root of another Debian: see scripts/README.md.
test-launchers: build ## run the tests of real launchers and containers, those of make test-long included
	@scripts/run-tests.sh $(JOBS) $(BUILD) -- -R '^(launch|containers)_'

FUZZ_BUILD = $(BUILD)-fuzz
SECONDS ?= 60
fuzz: ## run each fuzzer of tests/fuzz for a minute, with clang, ASan and UBSan [SECONDS=N]
	@CC=clang CXX=clang++ scripts/build.sh $(FUZZ_BUILD) $(JOBS) -t fuzzers -DCOLL_FUZZ=ON -DCOLL_BENCH=OFF -DCOLL_SHIM=OFF \
	  -DCOLL_TOOLS=ON -DCOLL_SANITIZE=address,undefined
	@scripts/fuzz.sh $(FUZZ_BUILD) $(SECONDS)

# Debian 12, 13 or sid, and gcc or clang; without a value all of them.
SYSTEM ?=
COMPILER ?=
test-systems: ## run `make check` and build the module in a root of another Debian: SYSTEM=12|13|sid [COMPILER=gcc|clang] (as root)
	@scripts/test-systems.sh '$(SYSTEM)' '$(COMPILER)'

module-here: ## build the kernel module for every kernel whose headers this machine has
	@scripts/build-module-here.sh

test-arm64: ## cross-compile for 64-bit Arm in a root of Debian and run the tests under qemu-user (as root) [SYSTEM=12|13|sid]
	@scripts/test-arm64.sh $(SYSTEM)

test-arm64-here: ## the same on this system, which it changes (as root)
	@JOBS=$(JOBS) CMAKE_FLAGS='$(CMAKE_FLAGS)' scripts/test-arm64-here.sh

test-arm64-mpi: ## the same for the MPI shims, with MPI libraries for arm64 (as root) [SYSTEM=12|13|sid]
	@scripts/test-arm64.sh --mpi $(SYSTEM)

test-arm64-mpi-here: ## the same on this system, which it changes (as root)
	@JOBS=$(JOBS) CMAKE_FLAGS='$(CMAKE_FLAGS)' scripts/test-arm64-here.sh --mpi

test-torch: packages machine ## test the PyTorch backend in a root of another Debian: SYSTEM=12|13|sid (as root)
	@scripts/build.sh $(BUILD) $(JOBS) -t coll $(CMAKE_FLAGS)
	@scripts/test-torch.sh $(BUILD) '$(SYSTEM)'

test-torch-here: ## test the PyTorch backend with the torch and the libcoll that this machine has
	@scripts/test-torch-here.sh

test-torch-upstream: packages machine ## run torch's own tests on the backend in a root of another Debian: SYSTEM=12|13|sid (as root)
	@scripts/build.sh $(BUILD) $(JOBS) -t coll $(CMAKE_FLAGS)
	@scripts/test-torch.sh $(BUILD) '$(SYSTEM)' test-torch-upstream-here

test-torch-upstream-here: ## the same with the torch and the libcoll that this machine has
	@scripts/test-torch-here.sh --upstream

# Where scripts/test-applications.sh places them in its root.
SHIMS ?= /added/lib/libcoll
MPI4PY ?= $(if $(wildcard /added/test),/added)
test-applications: packages machine ## run packaged MPI programs without and with the shims: SYSTEM=12|13|sid (as root) [MPI4PY=DIR]
	@scripts/build.sh $(BUILD) $(JOBS) -t demo $(CMAKE_FLAGS)
	@MPI4PY='$(MPI4PY)' scripts/test-applications.sh $(BUILD) '$(SYSTEM)'

test-applications-here: ## the same with the programs that this machine has [SHIMS=DIR]
	@python3 -B tests/applications/run.py --shims '$(SHIMS)' $(if $(MPI4PY),--mpi4py '$(MPI4PY)') \
	  $(if $(wildcard /result),--json /result/applications.json)

dist: ## pack the sources of HEAD into BUILD/libcoll-VERSION.tar.gz
	@version=$$(sed -n 's/^project(libcoll VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt); mkdir -p $(BUILD); \
	  git archive --prefix=libcoll-$$version/ --output=$(BUILD)/libcoll-$$version.tar.gz HEAD && echo $(BUILD)/libcoll-$$version.tar.gz

sbom: dist ## list what `make dist` has packed, with licences, in BUILD/libcoll-VERSION.spdx, an SPDX document (needs reuse)
	@version=$$(sed -n 's/^project(libcoll VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt); \
	  work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; tar -C "$$work" -xzf $(BUILD)/libcoll-$$version.tar.gz && \
	  reuse --root "$$work/libcoll-$$version" spdx --output $(BUILD)/libcoll-$$version.spdx && echo $(BUILD)/libcoll-$$version.spdx

wheel: packages machine ## build a wheel of the Python module that contains libcoll, in BUILD/wheel (needs patchelf)
	@scripts/build.sh $(BUILD) $(JOBS) -t coll $(CMAKE_FLAGS)
	@scripts/make-wheel.sh $(BUILD) $(BUILD)/wheel

test-wheel: wheel ## test the wheel in clean roots with nothing but Python (as root) [SYSTEM=12|13|sid]
	@scripts/test-wheel.sh $(BUILD)/wheel $(SYSTEM)

test-wheel-here: ## the same on this system, with the wheel in /added
	@scripts/test-wheel-here.sh

deb: ## build the Debian packages of HEAD in BUILD/deb; with SYSTEM=12|13|sid in a clean root (as root), in BUILD/deb-SYSTEM
	@$(if $(SYSTEM),scripts/test-deb.sh --build-only $(BUILD) $(SYSTEM),JOBS=$(JOBS) scripts/make-deb.sh $(BUILD)/deb)

deb-here: ## install what building them needs, and build them in /result (as root)
	@apt-get -qq update && JOBS=$(JOBS) scripts/make-deb.sh --needs /result

rpm: ## build the RPM packages of HEAD in BUILD/rpm, by rpmbuild --nodeps on Debian (needs rpm)
	@JOBS=$(JOBS) scripts/make-rpm.sh $(BUILD)/rpm

test-deb: ## build, install, test and remove the Debian packages in clean roots (as root) [SYSTEM=12|13|sid]
	@scripts/test-deb.sh $(BUILD) $(SYSTEM)

test-deb-here: ## the same on this system, which it changes (as root)
	@scripts/test-deb-here.sh

test-readme: ## type README.md's install lines in clean roots, with the packages that make test-deb left (as root)
	@scripts/test-readme.sh $(BUILD) $(SYSTEM)

test-readme-here: ## the same on this system, which it changes, with the packages in /added or from source (as root)
	@scripts/test-readme-here.sh

bench: build ## measure against the MPI libraries of this machine
	@bench/run.sh $(BUILD)

bench-before: ## compare with another build, BEFORE=DIR: is any collective slower now? [RANKS= SIZES= COLLECTIVES= RUNS=]
	@[ -n '$(BEFORE)' ] || { echo 'make bench-before needs BEFORE=DIR: the build directory, or the checkout with a build/, to compare with' >&2; exit 2; }
	@[ -d '$(BEFORE)' ] || { echo 'make bench-before: BEFORE=$(BEFORE) is not a directory' >&2; exit 2; }
	@$(MAKE) --no-print-directory build
	@python3 -B bench/driver/before.py '$(BEFORE)' '$(BUILD)' $(if $(RANKS),--ranks $(RANKS)) $(if $(SIZES),--sizes $(SIZES)) \
	  $(if $(COLLECTIVES),--collectives $(COLLECTIVES)) $(if $(RUNS),--runs $(RUNS))

bench-peers: build ## measure against MPI libraries in each of their settings, and the limits of the machine
	@python3 -B bench/driver/peers.py $(BUILD) --pages 4k --json $(BUILD)/peers-4k.json
	@python3 -B bench/driver/peers.py $(BUILD) --pages 2m --json $(BUILD)/peers-2m.json
	@$(BUILD)/tools/collctl report -o $(BUILD)/peers.html --bench $(BUILD)/peers-4k.json $(BUILD)/peers-2m.json && echo 'page: $(BUILD)/peers.html'

bench-check: build ## compare instructions of representative calls with recorded ones (callgrind)
	@python3 -B bench/instructions/check.py $(BUILD)

build: packages machine ## configure and build in BUILD
	@scripts/build.sh $(BUILD) $(JOBS) $(CMAKE_FLAGS)

sanitizers: build
	@scripts/build.sh $(ASAN_BUILD) $(JOBS) $(ASAN_FLAGS) $(CMAKE_FLAGS)
	@$(TSAN_COMPILER) scripts/build.sh $(TSAN_BUILD) $(JOBS) $(TSAN_FLAGS) $(CMAKE_FLAGS)

install: packages machine ## install library, shims, tools and manual pages under DESTDIR and PREFIX
	@scripts/build.sh $(BUILD) $(JOBS) -t installables -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_FLAGS)
	@DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --strip
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

style: packages ## check layers, licences, format, prose and subjects of commits
	@python3 tests/style/check.py .
	@scripts/format.sh --check

format: packages ## rewrite the C and C++ sources in the project's format
	@scripts/format.sh

clean: ## remove what make built
	rm -rf $(BUILD) $(ASAN_BUILD) $(TSAN_BUILD) $(FUZZ_BUILD)

packages:
	@packages/ensure.sh

machine:
	@scripts/check-machine.sh

# make kmod, vm, test-kmod, test-kmod-debug, bench-kmod
include mk/kmod.mk
