#!/usr/bin/env bash
# No program reaches beyond its arrays: sizes that are not those declared are refused (cases/lying), kernels of other
# sizes are told apart, and all cases and some random programs (fuzz/fuzz_memory.c) run with their arrays between pages
# that nobody may touch. FUZZ_MEMORY_COUNT programs, from FUZZ_MEMORY_SEED on; a long run is
#   nice tests/fuzz_memory FIRST_SEED COUNT
set -u
. "$(dirname "$0")/common.sh"
export HLORUN_CACHE=none

# In the first lines of a program: "// HONEST: K=VALUE ..." runs, each "// LYING: K=VALUE ..." must be refused.
run_lying() {
  local program=$1 engine=$2 name what inputs
  name="$(basename "$program"), $engine"
  while read -r what inputs; do
    local options=()
    for input in $inputs; do options+=(--input "$input"); done
    case "$what" in
      HONEST:) expect_exit "$name: $inputs" 0 "$hlorun" --engine "$engine" --random-inputs "${options[@]}" "$program" ;;
      LYING:) expect_exit "$name: $inputs" 3 "$hlorun" --engine "$engine" --random-inputs "${options[@]}" "$program" ;;
    esac
  done < <(sed -n 's|^// \([A-Z]*: \)|\1|p' "$program")
}

for program in "$source_dir"/tests/cases/lying/*; do
  expect_some "lies in $(basename "$program")" 1 "$(grep -cE '^// (HONEST|LYING): ' "$program")"
  run_lying "$program" reference
  run_lying "$program" compiled
done

# Two reductions that an earlier, forgetful hash could not tell apart: rows, and two numbers of their functions.
write_keys() {
  local file=$1 row=0 functions= body= shapes= names=
  shift
  while [ $# -gt 0 ]; do
    functions+="f$row {
  a = s64[] parameter(0)
  b = s64[] parameter(1)
  r = s64[] constant($2)
  c = s64[] constant($3)
  d = s64[] and(b, r)
  e = s64[] xor(d, c)
  ROOT f = s64[] add(a, e)
}
"
    body+="  x$row = s64[$1,8] parameter($row)
  i$row = s64[] constant(0)
  y$row = s64[$1] reduce(x$row, i$row), dimensions={1}, to_apply=f$row
"
    shapes+="${shapes:+, }s64[$1]" names+="${names:+, }y$row"
    row=$((row + 1))
    shift 3
  done
  printf 'HloModule keys\n%sENTRY main {\n%s  ROOT t = (%s) tuple(%s)\n}\n' "$functions" "$body" "$shapes" "$names" >"$file"
}

first="4194304 4185630284415790737 -3318162265346561394" second="4096 -3772438724678573178 1119265558277729764"
# shellcheck disable=SC2086 # three words each
{
  write_keys "$work/both.hlo" $first $second
  write_keys "$work/first.hlo" $first
  write_keys "$work/second.hlo" $second
}
export HLORUN_VECTOR=64
expect_exit "two kernels in one program" 0 "$hlorun" --random-inputs --output "$work/both.npz" "$work/both.hlo"
expect_exit "one leaves its code" 0 "$hlorun" --cache "$work/cache" --random-inputs --output "$work/f.npz" "$work/first.hlo"
expect_exit "the other, by the reference engine" 0 "$hlorun" --engine reference --random-inputs --output "$work/want.npz" \
  "$work/second.hlo"
expect_exit "the other runs its own" 0 "$hlorun" --cache "$work/cache" --random-inputs --expect "$work/want.npz" \
  "$work/second.hlo"
unset HLORUN_VECTOR

# A short sort needs no counters of a radix sort.
cat >"$work/short.hlo" <<'PROGRAM'
HloModule short
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY main {
  x = f32[64] parameter(0)
  ROOT r = f32[64] sort(x), dimensions={0}, to_apply=less
}
PROGRAM
expect_exit "a short sort" 0 "$hlorun" --random-inputs --quiet --stats "$work/stats.json" "$work/short.hlo"
bytes=$(sed -n 's/.*"arena_bytes": *\([0-9]*\).*/\1/p' "$work/stats.json" | head -n 1)
[ "${bytes:-99999}" -lt 8192 ] && pass || fail "memory of a short sort: $bytes bytes" "$work/stats.json"

# A loop's product by few columns keeps no panels that are mostly padding: 32768 x 5 would take 2 MB more, 6 with AVX-512.
cat >"$work/few.hlo" <<'PROGRAM'
HloModule few
more {
  s = (s32[], f32[32,5], f32[32768,32], f32[32768,5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(30)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[32,5], f32[32768,32], f32[32768,5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[32,5] get-tuple-element(s), index=1
  a = f32[32768,32] get-tuple-element(s), index=2
  b = f32[32768,5] get-tuple-element(s), index=3
  first = f32[1,1] slice(x), slice={[0:1], [0:1]}
  scalar = f32[] reshape(first)
  scale = f32[32768,32] broadcast(scalar), dimensions={}
  scaled = f32[32768,32] multiply(a, scale)
  y = f32[32,5] dot(scaled, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  z = f32[32,5] tanh(y)
  ROOT t = (s32[], f32[32,5], f32[32768,32], f32[32768,5]) tuple(next, z, a, b)
}
ENTRY main {
  x = f32[32,5] parameter(0)
  a = f32[32768,32] parameter(1)
  b = f32[32768,5] parameter(2)
  zero = s32[] constant(0)
  t = (s32[], f32[32,5], f32[32768,32], f32[32768,5]) tuple(zero, x, a, b)
  loop = (s32[], f32[32,5], f32[32768,32], f32[32768,5]) while(t), condition=more, body=body
  ROOT r = f32[32,5] get-tuple-element(loop), index=1
}
PROGRAM
expect_exit "a product by few columns" 0 "$hlorun" --random-inputs --quiet --stats "$work/stats.json" "$work/few.hlo"
bytes=$(sed -n 's/.*"arena_bytes": *\([0-9]*\).*/\1/p' "$work/stats.json" | head -n 1)
[ "${bytes:-9999999}" -lt 5500000 ] && pass || fail "memory of a product by few columns: $bytes bytes" "$work/stats.json"

for check in memory memory:start; do
  for engine in reference compiled; do
    HLORUN_CHECK=$check timeout -k 5 300 "$hlorun" test --engine $engine "$source_dir/tests/cases" >"$work/out" 2>&1 </dev/null
    add_counts "$work/out" || fail "HLORUN_CHECK=$check, $engine" "$work/out"
    [ "$failed" -eq 0 ] || cat "$work/out"
  done
done

expect_exit "random programs" 0 "$build_dir/tests/fuzz_memory" "${FUZZ_MEMORY_SEED:-1}" "${FUZZ_MEMORY_COUNT:-2000}" 60
tail -n 1 "$work/out"
finish
