#!/usr/bin/env bash
# Programs that JAX wrote, with XLA's results: ops on one process, spmd, shard_map and auto_spmd on eight; by both engines.
# HLORUN_CORPORA names a folder with more of the same kinds, to be run too.
set -u
. "$(dirname "$0")/common.sh"

run_folder() {
  local counted=$failed
  timeout -k 5 900 "$hlorun" test --engine "$1" "$2" >"$work/out" 2>&1 </dev/null
  add_counts "$work/out" || fail "hlorun test --engine $1 $2" "$work/out"
  [ "$failed" -eq "$counted" ] || grep -v '^passed' "$work/out" | head -n 200
}

more=${HLORUN_CORPORA:-}
unset HLORUN_CORPORA # the command would ask what it is
for folder in "$source_dir/tests/corpora" ${more:+"$more"}; do
  for kind in ops spmd shard_map auto_spmd; do
    [ -d "$folder/$kind" ] || continue
    run_folder reference "$folder/$kind"
    run_folder compiled "$folder/$kind"
  done
done
finish
