#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# result.sh FILE PROGRAM TEST: prints the result of one test in the TAP of run-all.sh and returns it as exit status: 0,
# 1, 77. PROGRAM "-": whether the machine ran at all. If GTEST_OUTPUT names a report, the reason of a skip is written
# there, too, in the form that scripts/list-skips.py reads.
set -u
file=$1 program=$2 test=$3

result=$(awk -v program="$program" -v test="$test" '
  /^1\.\.0 # SKIP/ { sub(/^1\.\.0 # SKIP /, ""); why = $0; skipped = 1; exit }
  # A second boot starts anew: the last result counts.
  /^# program / { inside = $3 == program; said = ""; next }
  !inside { next }
  /^(not )?ok [0-9]+ - / {
    name = $0; sub(/^(not )?ok [0-9]+ - /, "", name); sub(/ .*/, "", name)
    if (name == test) { found = 1; line = said $0; bad = /^not/; skipped = / # SKIP/; why = last }
    said = ""; last = ""; next
  }
  { said = said $0 "\n"; last = $0; sub(/^# (skipped: )?/, "", last) }
  END {
    if (skipped) { print why; exit 77 }
    if (found) { print line; exit bad }
    exit 2
  }' "$file")
status=$?
case $status in
77)
  report=${GTEST_OUTPUT#xml:}
  if [ -n "$report" ]; then
    mkdir -p "$(dirname "$report")"
    reason=$(printf '%s' "$result" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g')
    printf '<testsuite><testcase classname="%s" name="%s"><skipped message="%s"/></testcase></testsuite>\n' \
      "kmod.$(basename "$file" .tap).$program" "$test" "$reason" > "$report"
  fi
  echo "skipped: $result"
  ;;
2)
  if [ "$program" = - ] && grep -q '^# kernel .*: status ' "$file"; then
    exit 0
  fi
  echo "no result; the end of $file:"
  tail -n 40 "$file"
  status=1
  ;;
*) echo "$result" ;;
esac
exit $status
