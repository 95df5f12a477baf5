# SPDX-License-Identifier: BSD-3-Clause
# The kernel module: build, run, test. These targets change only a cache outside the tree.
#
#   make kmod [KERNEL=...]                            builds kcoll.ko for 6.1, 6.12, trixie-backports, sid, debug, kcsan,
#                                                     debug-6.12, kcsan-6.12 or running (the kernel of this machine)
#   make vm CMD='...' [KERNEL=...] [PARAMS='...']     boots, loads kcoll, runs CMD, returns its exit status
#   make test-kmod                                    the tests on Debian's 6.1 and 6.12 and its newest kernels
#   make test-kmod-library                            the library's own tests on each transport of the module, there
#   make test-kmod-debug                              the tests under KASAN, lockdep, kmemleak; then under KCSAN
#   make bench-kmod                                   counts per operation, kcoll beside CMA; concurrent accesses
KERNEL ?= 6.1
KMOD_DIR := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/..)

.PHONY: kmod vm test-kmod test-kmod-library test-kmod-debug bench-kmod
kmod vm test-kmod test-kmod-library test-kmod-debug bench-kmod: packages

kmod: ## build kcoll.ko for KERNEL (6.1, 6.12, trixie-backports, sid, debug, running ...)
ifeq ($(KERNEL),running)
	$(MAKE) -C /lib/modules/$$(uname -r)/build M=$(KMOD_DIR)/kmod modules
else
	$(KMOD_DIR)/scripts/vm/build-module.sh $(KERNEL)
endif

# Passed through the environment, so that CMD may contain quotes.
vm: export VM_CMD = $(value CMD)
vm: ## boot KERNEL with kcoll and run CMD in it
	@$(KMOD_DIR)/scripts/vm/run.sh -k $(KERNEL) $(if $(PARAMS),-p '$(PARAMS)') "$$VM_CMD"

test-kmod: ## test the kernel module on Debian's 6.1, 6.12 and newest kernels in virtual machines
	$(KMOD_DIR)/tests/kmod/dkms.sh 6.1 6.12 || [ $$? = 77 ]
	$(KMOD_DIR)/tests/kmod/run-all.sh 6.1 6.12 trixie-backports sid

test-kmod-library: build ## the same, and the library's tests on each transport of the module (20 minutes a kernel)
	$(KMOD_DIR)/tests/kmod/run-all.sh -L $(abspath $(BUILD)) 6.1 6.12

test-kmod-debug: ## the same under KASAN, lockdep, kmemleak, fault injection, and under KCSAN
	$(KMOD_DIR)/tests/kmod/run-all.sh debug kcsan debug-6.12 kcsan-6.12

bench-kmod: build ## count locks, pins, instructions per operation, kcoll beside CMA; plot concurrent accesses, throttled and not
	$(KMOD_DIR)/tests/kmod/bench.sh $(KERNEL) $(BUILD)/tools/collctl $(BUILD)/contention-$(KERNEL).html
