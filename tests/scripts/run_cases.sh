#!/usr/bin/env bash
# tests/cases: programs with their arrays beside them, or with check ops inside, run by `hlorun test`; tests/denormals:
# those whose results depend on what arithmetic makes of denormal numbers, which are kept.
set -u
. "$(dirname "$0")/common.sh"

# run_folder NAME ARGUMENT...
run_folder() {
  timeout -k 5 300 "$hlorun" test "${@:2}" >"$work/out" 2>&1 </dev/null
  add_counts "$work/out" || fail "hlorun test, $1" "$work/out"
  [ "$failed" -eq 0 ] || cat "$work/out"
}

run_both() {
  run_folder "cases, $1" "${@:2}" "$source_dir/tests/cases"
  run_folder "denormal numbers, $1" "${@:2}" --denormals keep "$source_dir/tests/denormals"
}

run_both reference --engine reference
run_both compiled --engine compiled
# The compiled engine, every step beside its reference kernel.
export HLORUN_CHECK=1
run_both checked --engine compiled
finish
