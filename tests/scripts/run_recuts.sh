#!/usr/bin/env bash
# Arrays whose parts do not divide one another: rows over a part of an axis, then over all of it, and back, for many numbers of
# rows; and arrays without elements, which need no collective.
set -u
. "$(dirname "$0")/common.sh"

# recuts PARTS COLUMNS FROM TO: values of 1 to 20 rows on a mesh of PARTS and 2, which go from one sharding of rows to another and
# back. A constraint with two users is what makes them move.
recuts() {
  local n args="" results="" types="" body="" returned=""
  for n in {1..20}; do
    local type="tensor<${n}x$2xf32>"
    args+="${args:+, }%x$n: $type {sdy.sharding = #sdy.sharding<@mesh, [{$3}, {}]>}"
    local result="$type {sdy.sharding = #sdy.sharding<@mesh, [{$3}, {}]>}"
    results+="${results:+, }$result, $result"
    body+="    %a$n = sdy.sharding_constraint %x$n <@mesh, [{$4}, {}]> : $type
    %b$n = stablehlo.negate %a$n : $type
    %c$n = stablehlo.abs %a$n : $type
"
    returned+="${returned:+, }%b$n, %c$n"
    types+="${types:+, }$type, $type"
  done
  cat <<PROGRAM
module @recuts {
  sdy.mesh @mesh = <["d"=$1, "m"=2]>
  func.func @main($args) -> ($results) {
$body    return $returned : $types
  }
}
PROGRAM
}

while read -r parts columns from to; do
  name="$columns columns from $from to $to of $parts"
  recuts "$parts" "$columns" "$from" "$to" >"$work/recuts.mlir"
  expect_exit "$name on one process" 0 "$hlorun" -n 1 --random-inputs --quiet --output "$work/one.npz" "$work/recuts.mlir"
  for engine in reference compiled; do
    expect_exit "$name, $engine" 0 "$hlorun" -n $((2 * parts)) --engine $engine --random-inputs --quiet --ulp 0 \
      --expect "$work/one.npz" "$work/recuts.mlir"
  done
done <<'CUTS'
4 3 "d":(1)2 "d"
4 4096 "d":(1)2 "d"
4 4096 "d" "d":(1)2
6 3 "d":(1)2 "d"
6 3 "d":(1)3 "d"
6 8192 "d" "d":(1)3
3 3 "d" "d","m"
3 5000 "d","m" "d"
4 3 "m" "m","d":(1)2
4 3 "m","d" "d"
CUTS

# Parts of a manual computation that free axes do not divide, on their way in and out.
manual=$(for n in 1 2 3 6; do
  whole="tensor<$((4 * n))xf32>" part="tensor<${n}xf32>"
  cat <<PROGRAM
    %a$n = sdy.sharding_constraint %x$n <@mesh, [{"i", "j"}]> : $whole
    %b$n = sdy.manual_computation(%a$n) in_shardings=[<@mesh, [{"i", ?}]>] out_shardings=[<@mesh, [{"i", ?}]>] manual_axes={"i"} (%y$n: $part) {
      %z$n = stablehlo.negate %y$n : $part
      sdy.return %z$n : $part
    } : ($whole) -> $whole
    %c$n = sdy.sharding_constraint %b$n <@mesh, [{"i", "j"}]> : $whole
PROGRAM
done)
plain=$(for n in 1 2 3 6; do echo "    %c$n = stablehlo.negate %x$n : tensor<$((4 * n))xf32>"; done)
four_arrays() { # body
  cat <<PROGRAM
module @manual {
  sdy.mesh @mesh = <["i"=4, "j"=2]>
  func.func @main(%x1: tensor<4xf32>, %x2: tensor<8xf32>, %x3: tensor<12xf32>, %x6: tensor<24xf32>)
      -> (tensor<4xf32>, tensor<8xf32>, tensor<12xf32>, tensor<24xf32>) {
$1
    return %c1, %c2, %c3, %c6 : tensor<4xf32>, tensor<8xf32>, tensor<12xf32>, tensor<24xf32>
  }
}
PROGRAM
}
four_arrays "$manual" >"$work/manual.mlir"
four_arrays "$plain" >"$work/plain.mlir"
expect_exit "plain parts" 0 "$hlorun" -n 1 --random-inputs --quiet --output "$work/one.npz" "$work/plain.mlir"
for engine in reference compiled; do
  expect_exit "manual parts, $engine" 0 "$hlorun" -n 8 --engine $engine --random-inputs --quiet --ulp 0 --expect "$work/one.npz" \
    "$work/manual.mlir"
done

# 12 rows of 4 pairs of partitions become those of 8 for a loop: each gets what it lacks from one other, and nothing is
# gathered.
cat >"$work/twelve.mlir" <<'PROGRAM'
module @twelve {
  sdy.mesh @mesh = <["d"=8]>
  func.func @main(%x: tensor<12x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d":(1)4}, {}]>})
      -> (tensor<12x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
    %a = sdy.sharding_constraint %x <@mesh, [{"d"}, {}]> : tensor<12x7xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %last:2 = stablehlo.while(%i = %zero, %c = %a) : tensor<i32>, tensor<12x7xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %changed = stablehlo.cosine %c : tensor<12x7xf32>
      %kept = sdy.sharding_constraint %changed <@mesh, [{"d"}, {}]> : tensor<12x7xf32>
      stablehlo.return %next, %kept : tensor<i32>, tensor<12x7xf32>
    }
    return %last#1 : tensor<12x7xf32>
  }
}
PROGRAM
expect_exit "12 rows over 8" 0 "$hlorun" --explain-sharding "$work/twelve.mlir"
expect_text "12 rows over 8" "sends 28 bytes: collective-permute of f32[2,7] among 8"

# Products, sums and pieces without elements.
cat >"$work/empty.mlir" <<'PROGRAM'
module @empty {
  sdy.mesh @mesh = <["d"=4]>
  func.func @main(%x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %w: tensor<4x0xf32>)
      -> (tensor<16x0xf32>, tensor<0x4xf32>, tensor<0x4xcomplex<f32>>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x0xf32>) -> tensor<16x0xf32>
    %1 = stablehlo.slice %x [5:5, 0:4] : (tensor<16x4xf32>) -> tensor<0x4xf32>
    %2 = stablehlo.complex %1, %1 : tensor<0x4xcomplex<f32>>
    return %0, %1, %2 : tensor<16x0xf32>, tensor<0x4xf32>, tensor<0x4xcomplex<f32>>
  }
}
PROGRAM
expect_exit "arrays without elements are explained" 0 "$hlorun" --explain-sharding "$work/empty.mlir"
expect_text "arrays without elements are explained" "0 collectives"
for engine in reference compiled; do
  expect_exit "arrays without elements, $engine" 0 "$hlorun" --engine $engine --random-inputs "$work/empty.mlir"
  expect_text "arrays without elements, $engine" "out0 = f32[16,0]"
done

# A long line that is cut is sorted by columns: no process gathers it. Many equal keys keep their order; zeros of both signs
# and NaN are equal keys that differ. An iota, which an arg-sort has, decides between equal keys.
sorts() { # TYPE COMPARATOR [PLACES]: 2^18 items with a number each, a parameter or PLACES
  cat <<PROGRAM
module @sorts {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%x: tensor<262144x$1> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a"}]>},
                  %n: tensor<262144xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a"}]>})
      -> (tensor<262144x$1> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a"}]>},
          tensor<262144xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", "a"}]>}) {
    %m = ${3:-stablehlo.add %n, %n} : tensor<262144xi32>
    %0:2 = "stablehlo.sort"(%x, %m) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<$1>, %b: tensor<$1>, %c: tensor<i32>, %d: tensor<i32>):
      $2
      stablehlo.return %less : tensor<i1>
    }) : (tensor<262144x$1>, tensor<262144xi32>) -> (tensor<262144x$1>, tensor<262144xi32>)
    return %0#0, %0#1 : tensor<262144x$1>, tensor<262144xi32>
  }
}
PROGRAM
}
sorts f32 '%z = stablehlo.constant dense<0.0> : tensor<f32>
      %e = stablehlo.compare EQ, %a, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %f = stablehlo.select %e, %z, %a : tensor<i1>, tensor<f32>
      %g = stablehlo.compare EQ, %b, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %h = stablehlo.select %g, %z, %b : tensor<i1>, tensor<f32>
      %less = stablehlo.compare LT, %f, %h, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>' >"$work/zeros.mlir"
sorts i8 '%less = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>' >"$work/bytes.mlir"
sorts f32 '%less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>' \
  'stablehlo.iota dim = 0' >"$work/places.mlir"
for program in zeros bytes places; do
  for inputs in --random-inputs --wild-inputs; do
    expect_exit "$program, one process, $inputs" 0 "$hlorun" -n 1 $inputs --quiet --output "$work/one.npz" "$work/$program.mlir"
    expect_exit "$program by columns, $inputs" 0 "$hlorun" -n 8 $inputs --quiet --ulp 0 --expect "$work/one.npz" \
      "$work/$program.mlir"
  done
  "$hlorun" --stop-after partition "$work/$program.mlir" >"$work/out" 2>&1
  expect_text "$program by columns" 'all-to-all('
  if grep -q 'all-gather(' "$work/out"; then fail "$program is gathered" "$work/out"; else pass; fi
done

# Updates at a known place, cut like the operand or not, of sizes that do not divide: halos are fetched, nothing is gathered.
cat >"$work/placed.mlir" <<'PROGRAM'
module @placed {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>},
                  %u: tensor<28x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}, %row: tensor<12xf32>)
      -> (tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}) {
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %at = stablehlo.concatenate %one, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %0 = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<32x16xf32>, tensor<2xi32>, tensor<28x12xf32>) -> tensor<32x16xf32>
    %5 = stablehlo.constant dense<[5, 1]> : tensor<2xi32>
    %1 = "stablehlo.scatter"(%0, %5, %row) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1]>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<32x16xf32>, tensor<2xi32>, tensor<12xf32>) -> tensor<32x16xf32>
    %6 = stablehlo.constant dense<9> : tensor<i32>
    %7 = stablehlo.constant dense<-3> : tensor<i32>
    %2 = stablehlo.dynamic_update_slice %1, %u, %6, %7 : (tensor<32x16xf32>, tensor<28x12xf32>, tensor<i32>, tensor<i32>) -> tensor<32x16xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<32x16xf32>
    return %3 : tensor<32x16xf32>
  }
}
PROGRAM
for inputs in --random-inputs --wild-inputs; do
  expect_exit "updates at a place, one process, $inputs" 0 "$hlorun" -n 1 $inputs --quiet --output "$work/one.npz" "$work/placed.mlir"
  for engine in reference compiled; do
    expect_exit "updates at a place, $engine, $inputs" 0 "$hlorun" -n 8 $inputs --quiet --ulp 0 --engine $engine \
      --expect "$work/one.npz" "$work/placed.mlir"
  done
done
"$hlorun" --stop-after partition "$work/placed.mlir" >"$work/out" 2>&1
expect_text "updates at a place" 'collective-permute('
if grep -q 'all-gather(' "$work/out"; then fail "an update is gathered" "$work/out"; else pass; fi

# A sum over some axes of a large array that stays cut along others is reduced where it is.
cat >"$work/stacked.mlir" <<'PROGRAM'
module @stacked {
  sdy.mesh @mesh = <["d"=4, "m"=2]>
  func.func @main(%x: tensor<64x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"m"}]>}, %y: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>})
      -> (tensor<1x512x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"m"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x512xf32>, tensor<64x128xf32>) -> tensor<512x128xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<512x128xf32>) -> tensor<1x512x128xf32>
    return %1 : tensor<1x512x128xf32>
  }
}
PROGRAM
expect_exit "a large sum" 0 "$hlorun" --explain-sharding "$work/stacked.mlir"
expect_text "a large sum" "sends 196608 bytes: all-reduce of f32[256,128] among 4"
if grep -q 'all-gather' "$work/out"; then fail "a large sum is gathered" "$work/out"; else pass; fi
finish
