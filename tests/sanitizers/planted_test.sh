#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# planted_test.sh asan|tsan PROGRAM: PROGRAM fails with each planted fault that the sanitizer is for, and names it.
set -uo pipefail
sanitizer=$1 program=$2

failed=0
expect() {
  local fault=$1 text=$2 output status=0
  output=$("$program" "$fault" 2>&1) || status=$?
  if [ "$status" -eq 0 ]; then
    printf '%s is not found\n' "$fault" >&2
    failed=1
  elif ! grep -qE "$text" <<<"$output"; then
    printf '%s: no "%s" in the output (status %d):\n%s\n' "$fault" "$text" "$status" "$output" >&2
    failed=1
  fi
}

"$program" none || { echo 'a program without a fault fails' >&2; exit 1; }
case $sanitizer in
  asan)
    # With a description of each check (COLL_SANITIZE_REPORTS) the kind of the fault, without one the trap.
    expect overflow 'AddressSanitizer: ILL|AddressSanitizer: TRAP|runtime error: signed integer overflow'
    expect index 'AddressSanitizer: ILL|AddressSanitizer: TRAP|runtime error: index 5 out of bounds'
    expect heap heap-use-after-free
    case ${ASAN_OPTIONS:-} in
      *detect_leaks=0*) echo 'this machine forbids the ptrace that the leak check needs: leaks are not tested' ;;
      *)
        expect leak 'LeakSanitizer: detected memory leaks'
        expect leak_in_child 'LeakSanitizer: detected memory leaks'
        ;;
    esac
    ;;
  tsan) expect race 'ThreadSanitizer: data race' ;;
  *) printf 'unknown sanitizer %s\n' "$sanitizer" >&2; exit 2 ;;
esac
exit "$failed"
