#!/usr/bin/env bash
# Products with parts of an operand, or of the result, that go round (--gather-limit 1): both engines against one process,
# sizes that divide and others, batches, sums over axes of a mesh of two; reports, memory, and random programs.
set -u
. "$(dirname "$0")/common.sh"

# write_dot MESH TYPE X W OUT X_CUT W_CUT OUT_CUT DIMS: a product of slices, so that parts are uneven, into $work/dot.mlir.
# Sizes are "13,21"; parameters are rounded up to 12, which all meshes divide.
write_dot() {
  awk -v mesh="$1" -v type="$2" -v x="$3" -v w="$4" -v out="$5" -v xc="$6" -v wc="$7" -v oc="$8" -v dims="$9" '
    function tensor(sizes) { gsub(",", "x", sizes); return "tensor<" sizes "x" type ">" }
    function rounded(sizes,  n, s, k, all) {
      n = split(sizes, s, ",")
      for (k = 1; k <= n; k++) all = all (k > 1 ? "," : "") int((s[k] + 11) / 12) * 12
      return all
    }
    function slice(sizes) { gsub(",", ", 0:", sizes); return "[0:" sizes "]" }
    function given(name, sizes, cut) {
      return "%" name ": " tensor(rounded(sizes)) " {sdy.sharding = #sdy.sharding<@mesh, " cut ">}"
    }
    function part(name, sizes, cut) {
      printf "    %%%s1 = stablehlo.slice %%%s %s : (%s) -> %s\n", name, name, slice(sizes), tensor(rounded(sizes)), tensor(sizes)
      printf "    %%%s2 = sdy.sharding_constraint %%%s1 <@mesh, %s> : %s\n", name, name, cut, tensor(sizes)
    }
    BEGIN {
      printf "module @dot {\n  sdy.mesh @mesh = <[%s]>\n", mesh
      printf "  func.func @main(%s, %s) -> %s {\n", given("x", x, xc), given("w", w, wc), tensor(out)
      part("x", x, xc)
      part("w", w, wc)
      printf "    %%y = stablehlo.dot_general %%x2, %%w2, %s : (%s, %s) -> %s\n", dims, tensor(x), tensor(w), tensor(out)
      printf "    %%z = sdy.sharding_constraint %%y <@mesh, %s> : %s\n", oc, tensor(out)
      printf "    return %%z : %s\n  }\n}\n", tensor(out)
    }' >"$work/dot.mlir"
}

# goes_round NAME PROCESSES EXPLAINED MESH TYPE ...: as write_dot.
goes_round() {
  local name=$1 processes=$2 explained=$3 tolerance=()
  write_dot "${@:4}"
  [ "$5" != bf16 ] || tolerance=(--rtol 0.02 --atol 0.02)
  expect_exit "$name is explained" 0 "$hlorun" -n "$processes" --gather-limit 1 --explain-sharding "$work/dot.mlir"
  expect_text "$name is explained" "$explained"
  ! grep -q 'dot_general.*\(all-gather\|reduce-scatter\)' "$work/out" && pass || fail "$name goes round" "$work/out"
  expect_exit "$name on one process" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/dot.mlir"
  for engine in compiled reference; do
    expect_exit "$name, $engine" 0 "$hlorun" -n "$processes" --engine "$engine" --gather-limit 1 --random-inputs \
      --expect "$work/one.npz" "${tolerance[@]}" "$work/dot.mlir"
  done
}

matrices='contracting_dims = [1] x [0]'
batches='batching_dims = [0] x [0], contracting_dims = [2] x [1]'
for cut in '4|{"d"}|"d"=4' '4|{"m","d"}|"d"=2, "m"=2' '3|{"d"}|"d"=3'; do
  IFS='|' read -r processes a mesh <<<"$cut"
  times=", $((processes - 1)) times"
  for type in f32 bf16 i32; do
    sizes=("$mesh" "$type" 13,21 21,37 13,37)
    goes_round "free dimension, $type, $a" "$processes" "$times" "${sizes[@]}" "[$a, {}]" "[{}, $a]" "[{}, $a]" "$matrices"
    goes_round "summed dimension, $type, $a" "$processes" "$times" "${sizes[@]}" "[$a, {}]" "[$a, {}]" "[$a, {}]" "$matrices"
    goes_round "result, $type, $a" "$processes" "$times" "${sizes[@]}" "[{}, $a]" "[$a, {}]" "[$a, {}]" "$matrices"
  done
  goes_round "batch, $a" "$processes" "$times" "$mesh" f32 5,9,7 5,7,11 5,9,11 "[{}, $a, {}]" "[{}, $a, {}]" \
    "[{}, $a, {}]" "$batches"
done
goes_round "one of two axes" 4 "among 4" '"d"=2, "m"=2' f32 12,24 24,36 12,36 '[{"d"}, {"m"}]' '[{"d"}, {"m"}]' \
  '[{"d"}, {"m"}]' "$matrices"

# Below the limit nothing goes round.
"$hlorun" -n 4 --explain-sharding "$work/dot.mlir" >"$work/out" 2>&1
! grep -q times "$work/out" && pass || fail "small products are gathered" "$work/out"

# arena LIMIT: bytes of the arena of a product whose summands are eight times as large as their part.
cat >"$work/sum.mlir" <<'PROGRAM'
module @sum {
  func.func @main(%x: tensor<512x1024xf32>, %w: tensor<1024x512xf32>) -> tensor<512x512xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
    return %0 : tensor<512x512xf32>
  }
}
PROGRAM
arena() {
  "$hlorun" --mesh d=8 --sharding 'in0=-,d;in1=d,-;out0=d,-' --gather-limit "$1" --random-inputs --quiet \
    --stats "$work/stats.json" "$work/sum.mlir" >/dev/null 2>&1
  sed -n 's/.*"arena_bytes": *\([0-9]*\).*/\1/p' "$work/stats.json" | head -n 1
}
whole=$(arena 1000000000) round=$(arena 1000000)
[ "${round:-0}" -gt 0 ] && [ $((round * 10)) -lt $((whole * 8)) ] && pass ||
  fail "less memory: $round bytes, of $whole" "$work/stats.json"
expect_exit "a limit that is no number" 2 "$hlorun" --gather-limit x "$work/sum.mlir"

command -v python3 >/dev/null || { skip "python3 is not there"; finish; }
python3 "$source_dir/tests/random/search_partition.py" --hlorun "$hlorun" --gather-limit 1 --kinds patterns,exact,sharded \
  7000 "${TEST_RING_COUNT:-10}" >"$work/out" 2>&1 && pass || fail "random programs go round" "$work/out"
finish
