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

# refuse NAME MESSAGE INSTRUCTION: a program of which the partitioner cannot do the instruction on x, f32[8] in 4 parts.
refuse() {
  cat >"$work/refused.hlo" <<PROGRAM
HloModule refused, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["d"=4]>}}

ENTRY main {
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}, frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"d\\"}]>"}
  n = s32[] constant(5)
  $3
}
PROGRAM
  expect_exit "$1" 3 "$hlorun" -n 4 --random-inputs "$work/refused.hlo"
  expect_text "$1" "$2"
  expect_text "$1 has a place" 'refused.hlo:6:'
}
refuse "partition-id" "want it inside of a manual computation" "ROOT p = u32[] partition-id()"
refuse "a dynamic dimension" "its size is known only at run time" \
  "ROOT d = f32[<=8] set-dimension-size(x, n), dimensions={0}"

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

# Programs with shardings of their own, of operations that need halos, masks and merging.
for ((seed = first; seed < first + count; seed++)); do
  engine=compiled
  [ $((seed % 3)) -ne 0 ] || engine=reference
  python3 "$random/generate.py" "$seed" sharded >"$work/sharded.hlo"
  processes=$(sed -n '1s/.*num_partitions=//p' "$work/sharded.hlo")
  expect_exit "sharded $seed on one process" 0 "$hlorun" -n 1 --engine reference --quiet --random-inputs="$seed" \
    --output "$work/one.npz" "$work/sharded.hlo" || continue
  expect_exit "sharded $seed, engine $engine" 0 "$hlorun" -n "$processes" --engine "$engine" --quiet \
    --random-inputs="$seed" --ulp 0 --expect "$work/one.npz" "$work/sharded.hlo"
done
finish
