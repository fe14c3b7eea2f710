#!/usr/bin/env bash
# tests/cases: programs with their arrays beside them, or with check ops inside, run by `hlorun test`.
set -u
. "$(dirname "$0")/common.sh"

for engine in reference compiled; do
  timeout -k 5 300 "$hlorun" test --denormals keep --engine "$engine" "$source_dir/tests/cases" >"$work/out" 2>&1 </dev/null
  add_counts "$work/out" || fail "hlorun test --engine $engine tests/cases" "$work/out"
  [ "$failed" -eq 0 ] || cat "$work/out"
done
# The compiled engine, every step beside its reference kernel.
HLORUN_CHECK=1 timeout -k 5 300 "$hlorun" test --denormals keep --engine compiled "$source_dir/tests/cases" >"$work/out" 2>&1 </dev/null
add_counts "$work/out" || fail "HLORUN_CHECK=1 hlorun test tests/cases" "$work/out"
finish
