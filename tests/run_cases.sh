#!/usr/bin/env bash
# tests/cases: programs with their arrays beside them, or with check ops inside, run by `hlorun test`.
set -u
. "$(dirname "$0")/common.sh"

timeout -k 5 300 "$hlorun" test "$source_dir/tests/cases" >"$work/out" 2>&1 </dev/null
add_counts "$work/out" || fail "hlorun test tests/cases" "$work/out"
[ "$failed" -eq 0 ] || cat "$work/out"
finish
