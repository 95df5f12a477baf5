#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# format.sh [--check]: clang-format over the C and C++ sources; with --check only says what differs.
# kmod/ follows the kernel's style; coll.h is laid out by hand, its lists of names as tables.
set -eu

cd "$(dirname "$0")/.."
case ${1-} in
'') mode=-i ;;
--check) mode='--dry-run -Werror' ;;
*) printf 'format: %s is not an option; usage: scripts/format.sh [--check]\n' "$1" >&2 && exit 2 ;;
esac
# Debian 12's version decides: another one lays out some lines differently.
version=$(clang-format --version | sed -E 's/.*version ([0-9]+).*/\1/')
[ "$version" = 14 ] || printf 'format: clang-format %s is not 14, which the project uses; expect differences\n' "$version" >&2
git -c "safe.directory=$PWD" ls-files --cached --others --exclude-standard -- '*.h' '*.hpp' '*.c' '*.cc' ':!:kmod' \
    ':!:include/uapi' ':!:include/coll/coll.h' |
  xargs -r -n 16 clang-format --style=file $mode
# The kernel's style; tracepoints are laid out by hand.
git -c "safe.directory=$PWD" ls-files --cached --others --exclude-standard -- 'kmod/*.[ch]' include/uapi ':!:kmod/trace.h' |
  xargs -r -n 16 clang-format --style=file:kmod/.clang-format $mode
