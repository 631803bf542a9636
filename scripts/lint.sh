#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Blanks at line ends, syntax of the shell scripts, and clang's own warnings.
set -eu
cd "$(dirname "$0")/.."
bad=0
for f in $(git ls-files 'src/*.c' 'src/*.h' 'tests/*.c'); do
	if grep -nE '[[:blank:]]+$' "$f"; then
		echo "$f: blanks at the end of a line"
		bad=1
	fi
done
[ -f build-clang/build.ninja ] || CC=clang meson setup build-clang > /dev/null
ninja --quiet -C build-clang > build-clang/lint.log || { cat build-clang/lint.log; bad=1; }
for f in $(git ls-files '*.sh' '.ci/run' scripts/*.sh); do
	sh -n "$f" 2> /dev/null || bash -n "$f" || bad=1
done
[ $bad = 0 ] && echo "lint: nothing found"
exit $bad
