#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lint.sh MAN: mandoc has no warning about the built pages in the folder MAN, and those of section 3 fit 80 columns.
set -eu

command -v mandoc >/dev/null 2>&1 || { echo "mandoc is not installed (apt-get install mandoc)"; exit 77; }

cd "$1"
# Files of one line only refer to another page.
pages=$(for page in *.[1-8]; do [ "$(wc -l <"$page")" -le 1 ] || printf '%s ' "$page"; done)
[ -n "$pages" ] || { echo "no pages in $1"; exit 1; }

status=0
# shellcheck disable=SC2086
# From 1.11.3 on, scdoc writes a paragraph macro before and after every block, which roff readers skip. The sources have
# no macros.
warnings=$(mandoc -T lint -W warning $pages | grep -v 'WARNING: skipping paragraph macro: PP ') && {
  printf '%s\n' "$warnings"
  status=1
}
for page in $pages; do
  case $page in
    *.3) mandoc -T ascii -O width=78 "$page" | col -b | expand | awk -v page="$page" '
      length > 80 { print page ": wider than 80 columns: " $0; wide = 1 } END { exit wide }' || status=1 ;;
  esac
done
exit $status
