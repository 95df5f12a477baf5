# SPDX-License-Identifier: BSD-3-Clause
# Runs a make target in clean roots of several Debian releases and keeps a line of result for each; to be sourced, after
# debian-root.sh. The caller defines scripts, the directory of clean-root.sh, and die.
results=() failed=0

# in_system SYSTEM NAME OPTION... TARGET: runs the target in a root of the release. NAME, which may be empty, tells
# several results of a release apart.
in_system() {
  local system=$1 name=$2 started=$SECONDS result=passed
  shift 2
  "$scripts/clean-root.sh" --suite "$(suite_of "$system")" "$@" || { result=FAILED failed=1; }
  results+=("$(printf '%-4s %s (%d s)' "$system" "${name:+$(printf '%-6s ' "$name")}$result" $((SECONDS - started)))")
}

# Prints the lines, with a word before each, and ends the script: with 1 if any run has failed.
end_with_results() {
  printf "$1: %s\\n" "${results[@]}"
  exit "$failed"
}
