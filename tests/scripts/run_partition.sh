#!/usr/bin/env bash
# The partitioner: bytes that partitions of the corpus send, against XLA's; random programs on random meshes, cut at random,
# against one process of the reference engine. TEST_PARTITION_SEEDS and TEST_PARTITION_COUNT choose others of them.
set -u
. "$(dirname "$0")/common.sh"

command -v python3 >/dev/null || { skip "python3 is not there"; finish; }
random=$source_dir/tests/random

if timeout 300 python3 "$source_dir/tests/tools/spmd_bytes.py" "$hlorun" "$source_dir/tests/corpora/auto_spmd" \
  "$source_dir/tests/partition/xla_bytes.list" >"$work/out" 2>&1; then
  tail -n 1 "$work/out"
  pass
else
  fail "no program sends more bytes than XLA's" "$work/out"
fi

# run_one SEED KIND ENGINE: a program on one process and cut.
run_one() {
  local program=$work/$2-$1.hlo processes mesh cuts
  python3 "$random/generate.py" "$1" "$2" >"$program"
  { read -r processes; read -r mesh; read -r cuts; } < <(python3 "$random/shardings.py" "$1" <"$program")
  [ -n "${cuts:-}" ] || return 0
  expect_exit "$2 $1 on one process" 0 "$hlorun" -n 1 --engine reference --random-inputs="$1" \
    --output "$work/one.npz" "$program" || return 0
  expect_exit "$2 $1 with --mesh $mesh --sharding '$cuts', engine $3" 0 "$hlorun" -n "$processes" --engine "$3" \
    --random-inputs="$1" --mesh "$mesh" --sharding "$cuts" --expect "$work/one.npz" "$program"
  rm -f "$program"
}

first=${TEST_PARTITION_SEEDS:-1} count=${TEST_PARTITION_COUNT:-25}
for ((seed = first; seed < first + count; seed++)); do
  engine=compiled
  [ $((seed % 3)) -ne 0 ] || engine=reference
  for kind in patterns exact orders; do run_one "$seed" "$kind" "$engine"; done
done
finish
