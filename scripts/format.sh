#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# format.sh [--check]: runs clang-format on the C and C++ sources; with --check only reports differences.
# kmod/ follows the kernel's style; coll.h is laid out by hand, its lists of names as tables; lib/mpi/abi is not this project's.
set -eu

cd "$(dirname "$0")/.."
case ${1-} in
'') mode=-i ;;
--check) mode='--dry-run -Werror' ;;
*) printf 'format: %s is not an option; usage: scripts/format.sh [--check]\n' "$1" >&2 && exit 2 ;;
esac
# The version of Debian 12 decides, because others format some lines differently.
version=$(clang-format --version | sed -E 's/.*version ([0-9]+).*/\1/')
[ "$version" = 14 ] || printf 'format: clang-format %s is not 14, which the project uses; expect differences\n' "$version" >&2
# All files of the checkout, new ones too; in an unpacked archive all but build directories.
sources() {
  top=$(git -c "safe.directory=$PWD" rev-parse --show-toplevel 2>/dev/null || true)
  if [ "$top" = "$(pwd -P)" ]; then
    git -c "safe.directory=$PWD" ls-files --cached --others --exclude-standard
  else
    find . \( -path './build*' -o -path ./.cache \) -prune -o -type f -printf '%P\n'
  fi | grep -E '\.(h|hpp|c|cc)$'
}
[ -n "$(sources)" ] || { echo 'format: no sources found' >&2 && exit 2; }
sources | grep -vE '^(kmod/|include/uapi/|include/coll/coll\.h$|lib/mpi/abi/)' | xargs -r -n 16 clang-format --style=file $mode
# The kernel's style; tracepoints are laid out by hand.
sources | grep -E '^(kmod|include/uapi)/' | grep -v '^kmod/trace\.h$' |
  xargs -r -n 16 clang-format --style=file:kmod/.clang-format $mode
