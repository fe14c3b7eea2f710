#!/usr/bin/env bash
# Propagation of shardings against Shardy's: partition/propagation.mlir.gz holds the programs of corpora/auto_spmd as
# Shardy left them, without its shardings but for those of arguments, results and constraints; "// want" after a line is
# what it gave the value. At least 99.5% of all values must be equal; differences are printed.
set -u
. "$(dirname "$0")/common.sh"

gunzip -c "$source_dir/tests/partition/propagation.mlir.gz" | awk -v work="$work" '
  /^==== / { file = work "/" $2 ".mlir"; next }
  { print >file }' || fail "propagation.mlir.gz unpacks"

# compare PROGRAM: prints "NUMBER equal, NUMBER different" of the values of a line, and the differences.
compare() {
  awk '
    function plain(sharding) {
      if (!match(sharding, /\[[^]]*\]/)) return ""
      sharding = substr(sharding, RSTART, RLENGTH)
      gsub(/, \?|\?/, "", sharding)
      return sharding ~ /"/ ? sharding : ""
    }
    FNR == NR { # what hlorun printed: file:line:column name shape sharding
      split($1, place, ":")
      name = $2
      sub(/#.*/, "", name)
      line = place[length(place) - 1]
      if (index($0, "<@")) text = substr($0, index($0, "<@")); else text = ""
      count[line]++
      names[line, count[line]] = name
      found[line, count[line]] = plain(text)
      next
    }
    !/ \/\/ want / || !count[FNR] { next }
    {
      wanted = split(substr($0, index($0, "// want ") + 8), want, "; ")
      constraint = /constraint/
      marker = constraint || /custom_call|barrier/
      last = ""
      for (i = 1; i <= count[FNR]; i++)
        if (constraint ? last == "" : (marker || names[FNR, i] !~ /^custom-call/)) last = names[FNR, i]
      if (last == "") last = names[FNR, count[FNR]]
      for (k = 1; k <= wanted; k++) {
        same = 0
        leaf = 0
        for (i = 1; i <= count[FNR]; i++) {
          if (names[FNR, i] != last) continue
          leaf++
          if ((wanted == 1 || leaf == k) && found[FNR, i] == plain(want[k])) same = 1
        }
        if (same) equal++; else { different++; print FNR ": want " want[k] ": " $0 }
      }
    }
    END { printf "%d equal, %d different\n", equal, different }' "$1.explained" "$1" >"$1.compared"
  tail -n 1 "$1.compared"
}

equal=0 different=0
for program in "$work"/*.mlir; do
  name=$(basename "$program" .mlir)
  expect_exit "$name" 0 "$hlorun" --explain-sharding --stop-after propagate "$program" || continue
  cp "$work/out" "$program.explained"
  read -r same _ other _ <<<"$(compare "$program" | tr -d ,)"
  equal=$((equal + same)) different=$((different + other))
  [ "$other" -eq 0 ] || sed '$d' "$program.compared" | sed "s/^/$name:/"
done
echo "$equal of $((equal + different)) values as Shardy has them"
if [ "$equal" -ge 1500 ] && [ $((different * 200)) -le $((equal + different)) ]; then
  pass
else
  fail "at least 99.5% of the values are equal"
fi
# A broadcast that only adds dimensions of one element is a reshape, as XLA gives it to Shardy: it goes before products.
cat >"$work/ones.mlir" <<'PROGRAM'
module @ones {
  func.func @main(%w: tensor<8x4xf32>, %v: tensor<4x1xf32>, %x: tensor<8xf32>) -> tensor<8x1xf32> {
    %0 = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
    %1 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x1xf32>
    return %2 : tensor<8x1xf32>
  }
}
PROGRAM
expect_exit "a broadcast to dimensions of one element" 0 "$hlorun" -n 8 --mesh d=4,m=2 --sharding 'in0=m;in2=d' \
  --explain-sharding "$work/ones.mlir"
expect_text "a broadcast to dimensions of one element" 'f32[8,1] <@mesh, [{"d"}, {}]> forward by'
# What a loop reads and leaves as it is has the sharding of its initial value: rows that an earlier loop wrote are cut as
# that loop cut them, not as the products that read them want.
cat >"$work/invariant.mlir" <<'PROGRAM'
module @invariant {
  sdy.mesh @mesh = <["m"=2]>
  func.func @main(%y: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>}, %k: tensor<4x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %none = stablehlo.constant dense<0.0> : tensor<2x8x8xf32>
    %kept:2 = stablehlo.while(%i = %zero, %s = %none) : tensor<i32>, tensor<2x8x8xf32>
    cond {
      %n = stablehlo.constant dense<2> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %dot = stablehlo.dot_general %y, %k, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      %row = stablehlo.reshape %dot : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
      %new = stablehlo.dynamic_update_slice %s, %row, %i, %zero, %zero : (tensor<2x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x8xf32>
      stablehlo.return %next, %new : tensor<i32>, tensor<2x8x8xf32>
    }
    %last:2 = stablehlo.while(%i = %zero, %a = %c) : tensor<i32>, tensor<8x8xf32>
    cond {
      %n = stablehlo.constant dense<2> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %row = stablehlo.dynamic_slice %kept#1, %i, %zero, %zero, sizes = [1, 8, 8] : (tensor<2x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
      %square = stablehlo.reshape %row : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
      %dot = stablehlo.dot_general %a, %square, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %cut = sdy.sharding_constraint %dot <@mesh, [{}, {"m"}]> : tensor<8x8xf32>
      stablehlo.return %next, %cut : tensor<i32>, tensor<8x8xf32>
    }
    return %last#1 : tensor<8x8xf32>
  }
}
PROGRAM
expect_exit "an array that a loop leaves as it is" 0 "$hlorun" --explain-sharding --stop-after propagate "$work/invariant.mlir"
expect_text "an array that a loop leaves as it is" 'f32[1,8,8] <@mesh, [{}, {"m"}, {}]> forward by while'
# An edge with a sharding says it of its value, besides what the op in front says.
expect_exit "an edge with a sharding" 0 "$hlorun" --explain-sharding --stop-after propagate \
  "$source_dir/tests/cases/case_cut.mlir"
expect_text "an edge with a sharding" 'f32[8,4] <@mesh, [{"x"}, {"y"}]> forward by custom-call'
# A loop's result and the values in its body are used by themselves: the reshape is the only user of the result, so that
# its sharding comes before that of the initial value.
cat >"$work/uses.mlir" <<'PROGRAM'
module @uses {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"m", "d"}]>}) -> tensor<8x16xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %back = stablehlo.reverse %x, dims = [0] : tensor<16x8xf32>
    %sum = stablehlo.add %x, %back : tensor<16x8xf32>
    %last:2 = stablehlo.while(%i = %zero, %c = %sum) : tensor<i32>, tensor<16x8xf32>
    cond {
      %n = stablehlo.constant dense<2> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %tanh = stablehlo.tanh %c : tensor<16x8xf32>
      %new = stablehlo.multiply %tanh, %c : tensor<16x8xf32>
      stablehlo.return %next, %new : tensor<i32>, tensor<16x8xf32>
    }
    %y = stablehlo.reshape %last#1 : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %z = sdy.sharding_constraint %y <@mesh, [{}, {"m", "d"}]> : tensor<8x16xf32>
    return %z : tensor<8x16xf32>
  }
}
PROGRAM
expect_exit "the only user of a loop's result" 0 "$hlorun" --explain-sharding --stop-after propagate "$work/uses.mlir"
expect_text "the only user of a loop's result" 'f32[16,8] <@mesh, [{}, {"d"}]> backward by reshape'
# What a closed constraint takes is computed as that says, though it is in a group whose other members have more axes.
cat >"$work/settled.mlir" <<'PROGRAM'
module @settled {
  sdy.mesh @mesh = <["y"=2, "z"=2]>
  func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x16xf32>, %v: tensor<16x16xf32>) -> tensor<16x16xf32> {
    %a = sdy.sharding_constraint %v <@mesh, [{?}, {"z"}]> : tensor<16x16xf32>
    sdy.sharding_group %a group_id=1 : tensor<16x16xf32>
    %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %b = stablehlo.transpose %dot, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    sdy.sharding_group %b group_id=1 : tensor<16x16xf32>
    %c = sdy.sharding_constraint %b <@mesh, [{"y"}, {}]> : tensor<16x16xf32>
    %d = stablehlo.add %a, %c : tensor<16x16xf32>
    return %d : tensor<16x16xf32>
  }
}
PROGRAM
expect_exit "a settled member" 0 "$hlorun" --explain-sharding --stop-after propagate "$work/settled.mlir"
expect_text "a settled member" '7:10 transpose.6 f32[16,16] <@mesh, [{"y"}, {}]>'
# Members whose sharding is closed keep it, but their users take what the group has.
cat >"$work/alike.mlir" <<'PROGRAM'
module @alike {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %y: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
    sdy.sharding_group %x group_id=0 : tensor<8x6xf32>
    sdy.sharding_group %y group_id=0 : tensor<8x6xf32>
    %0 = stablehlo.sine %x : tensor<8x6xf32>
    %1 = stablehlo.cosine %y : tensor<8x6xf32>
    return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
  }
}
PROGRAM
expect_exit "a closed member" 0 "$hlorun" --explain-sharding --stop-after propagate "$work/alike.mlir"
expect_text "a closed member" 'parameter.1 f32[8,6] <@mesh, [{}, {}]> annotated'
expect_text "a closed member" 'cosine.5 f32[8,6] <@mesh, [{"d"}, {}]>'
finish
