#!/usr/bin/env bash
# Programs in the forms that people have: files of jax.export, operations of mhlo, XLA's newest text; and files that are no
# programs, which are told by their first bytes.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99
forms=$source_dir/tests/forms

# --- jax.export: Exported.serialize() ---
for file in one several; do
  for engine in compiled reference; do
    expect_exit "$file, $engine" 0 "$hlorun" --engine $engine --input "$forms/io.npz" --expect "$forms/io.npz" \
      "$forms/$file.jax_export"
  done
  expect_exit "$file, names" 0 "$hlorun" -i "params['w']=1" -i x=2 -i params__b__=0.5 "$forms/$file.jax_export"
  expect_text "$file, names" "out1 = f32[] 12"
  expect_exit "check of $file" 0 "$hlorun" check "$forms/$file.jax_export"
  expect_exit "convert of $file" 0 "$hlorun" convert --to hlo "$forms/$file.jax_export"
  expect_text "convert of $file" "params__w__"
done
# Damaged ones: any byte may be another, or the file shorter.
python3 - "$forms/several.jax_export" <<'END'
import random, sys
data = open(sys.argv[1], "rb").read()
random.seed(1)
for number in range(120):
    copy = bytearray(data)
    for _ in range(random.choice((1, 1, 4))):
        copy[random.randrange(len(copy) if number % 2 else 400)] = random.randrange(256)
    if number % 5 == 0:
        copy = copy[: random.randrange(len(copy))]
    open(f"damaged{number}.bin", "wb").write(copy)
END
bad=0
for number in $(seq 0 119); do
  timeout 20 "$hlorun" check "damaged$number.bin" >out 2>&1 </dev/null
  case $? in 0|2|3|4) ;; *) bad=$((bad + 1)); echo "damaged$number.bin" >>out; cp out worst ;; esac
done
[ $bad -eq 0 ] && pass || fail "$bad damaged files end otherwise than by a refusal" worst

# --- mhlo ---
cat >mhlo.mlir <<'END'
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mhlo.copy %a : tensor<2xf32>
  %1 = mhlo.add %0, %0 : tensor<2xf32>
  %2 = mhlo.erf %1 : tensor<2xf32>
  %c = mhlo.constant dense<1.0> : tensor<f32>
  %3 = "mhlo.broadcast_in_dim"(%c) {broadcast_dimensions = dense<> : tensor<0xi64>} : (tensor<f32>) -> tensor<2xf32>
  %4 = mhlo.compare LT, %2, %3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %5 = mhlo.select %4, %2, %3 : tensor<2xi1>, tensor<2xf32>
  return %5 : tensor<2xf32>
}
END
expect_exit "mhlo" 0 "$hlorun" -i 0=1 mhlo.mlir && expect_text "mhlo" "out0 = f32[2] {0.995322"
expect_exit "mhlo as StableHLO" 0 "$hlorun" convert --to mlir mhlo.mlir && expect_text "mhlo as StableHLO" "stablehlo.select"
cat >topk.mlir <<'END'
func.func @main(%a: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x2xf32>) {
  %values, %indices = mhlo.topk(%a, k = 2) : tensor<2x4xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %0:2 = "mhlo.topk"(%a) <{k = 2 : i64, largest = false}> : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return %values, %indices, %0#0 : tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x2xf32>
}
END
expect_exit "mhlo.topk" 0 "$hlorun" -i '0=f32[2,4]{{1,4,2,3},{8,5,6,7}}' topk.mlir
for line in 'out0 = f32[2,2] {{4, 3}, {8, 7}}' 'out1 = s32[2,2] {{1, 3}, {0, 3}}' 'out2 = f32[2,2] {{1, 2}, {5, 6}}'; do
  expect_text "mhlo.topk" "$line"
done
# Operations that StableHLO has not: text and bytecode as XLA's own dialect writes them.
for file in mhlo.mlir mhlo.mlirbc; do
  for engine in compiled reference; do
    expect_exit "$file, $engine" 0 "$hlorun" --engine $engine --input "$forms/mhlo.npz" --expect "$forms/mhlo.npz" "$forms/$file"
  done
  for form in hlo mlir mlirbc pb; do
    expect_exit "$file as $form" 0 "$hlorun" convert --to $form -o "ops.$form" "$forms/$file"
    expect_exit "$file as $form runs" 0 "$hlorun" --input "$forms/mhlo.npz" --expect "$forms/mhlo.npz" "ops.$form"
  done
done
expect_exit "an attribute that becomes CHLO's" 0 "$hlorun" convert --to mlir "$forms/mhlo.mlirbc"
expect_text "an attribute that becomes CHLO's" \
  'precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting'
sed 's/#mhlo.dot</</' "$forms/mhlo.mlir" >unnamed.mlir
expect_exit "a structure without its name" 0 "$hlorun" --input "$forms/mhlo.npz" --expect "$forms/mhlo.npz" unnamed.mlir
printf 'func.func @main() -> tensor<2xui64> {\n  %%0 = mhlo.xla.rng_get_and_update_state {delta = 1 : i64}\n  return %%0 : tensor<2xui64>\n}\n' >state.mlir
expect_exit "the state of a generator" 0 "$hlorun" state.mlir && expect_text "the state of a generator" "out0 = u64[2]"
cat >call.mlir <<'END'
func.func @main(%a: tensor<2xf32>, %b: tensor<2xui32>) -> tensor<2xi8> {
  %0 = stablehlo.custom_call @mhlo.stochastic_convert(%a, %b) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf32>, tensor<2xui32>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}
END
expect_exit "a call that stands for an operation of mhlo" 0 "$hlorun" -i '0={1.5,-3}' -i '1={0,7}' call.mlir
expect_text "a call that stands for an operation of mhlo" "out0 = s8[2] {2, -3}"
sed 's/mhlo.erf/mhlo.dynamic_topk/' mhlo.mlir >alone.mlir
expect_exit "mhlo without an equal" 3 "$hlorun" check alone.mlir
expect_text "mhlo without an equal" "has no equal in StableHLO"

# --- the shape dialect ---
cat >ranks.mlir <<'END'
func.func @main(%a: tensor<2xf32>, %b: tensor<1x2xf32>) -> tensor<2xf32> {
  %s = shape.shape_of %a : tensor<2xf32> -> tensor<1xindex>
  %t = shape.shape_of %b : tensor<1x2xf32> -> tensor<2xindex>
  %w = shape.cstr_eq %s, %t : tensor<1xindex>, tensor<2xindex>
  %r = shape.assuming %w -> (tensor<2xf32>) {
    shape.assuming_yield %a : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}
END
for engine in compiled reference; do
  expect_exit "shapes of different ranks, $engine" 3 "$hlorun" --engine $engine --random-inputs ranks.mlir
  expect_text "shapes of different ranks, $engine" "the shapes are not equal"
done
sed 's/cstr_eq/cstr_broadcastable/' ranks.mlir >joint.mlir
expect_exit "shapes that broadcast to each other" 0 "$hlorun" --random-inputs joint.mlir

# --- MLIR from before 2022, other dialects, misspelt names ---
printf 'module {\n  func @main(%%x: tensor<2xf32>) -> tensor<2xf32> {\n    %%0 = "mhlo.add"(%%x, %%x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n    return %%0 : tensor<2xf32>\n  }\n}\n' >old.mlir
sed '1d; $d; s/^  //' old.mlir >bare.mlir
for file in old bare; do
  expect_exit "func without a dialect, $file" 0 "$hlorun" -i 0=1 $file.mlir && expect_text "func without a dialect" "out0 = f32[2] {2, 2}"
done
sed 's/mhlo.add/linalg.add/' old.mlir >linalg.mlir
sed 's/"mhlo.add"/tosa.add/' old.mlir >tosa.mlir
sed 's/mhlo.add/stablehlo.ad/' old.mlir >misspelt.mlir
for file in linalg tosa; do
  expect_exit "$file" 3 "$hlorun" check $file.mlir && expect_text "$file" "$file is another dialect of MLIR: want StableHLO"
done
expect_exit "a misspelt operation" 3 "$hlorun" check misspelt.mlir && expect_text "a misspelt operation" "nearest: stablehlo."

# --- text of newer XLA ---
cat >elements.hlo <<'END'
HloModule m
ENTRY test {
  p0 = (f32[10], (f32[10], f32[30])) parameter(0)
  a = f32[10] subtract(%p0#1#0, f32[10] %p0#0)
  ROOT root = f32[10] subtract(f32[10] %p0#1#0, a)
}
END
expect_exit "compact elements" 0 "$hlorun" -i 0=3 -i 1=5 -i 2=7 elements.hlo
expect_text "compact elements" "out0 = f32[10] {3, 3, 3"
sed 's/#1#0/#1#2/' elements.hlo >beyond.hlo
expect_exit "an element that is not there" 3 "$hlorun" check beyond.hlo
expect_text "an element that is not there" "beyond.hlo:4:29: error"
sed 's/%p0#0)/a0#0)/; s/^  a =/  a0 = f32[10] constant({...})\n  a =/' elements.hlo >no_tuple.hlo
expect_exit "an element of no tuple" 3 "$hlorun" check no_tuple.hlo && expect_text "an element of no tuple" "has no element 0"
printf 'HloModule m\nENTRY test {\n  c = f32[2,2] constant(1)\n  ROOT root = f32[2,2] add(c, c)\n}\n' >scalar.hlo
expect_exit "a number for an array" 0 "$hlorun" scalar.hlo
expect_text "a number for an array" "out0 = f32[2,2] {{2, 0}, {0, 0}}"
expect_text "a number for an array" "scalar.hlo:3:25: one number for f32[2,2]"
expect_exit "a warning of four processes" 0 "$hlorun" -n 4 scalar.hlo
if [ "$(grep -c 'one number for' "$work/out")" -eq 1 ]; then pass; else fail "a warning of four processes" "$work/out"; fi

printf 'HloModule m\nENTRY test {\n  c = u64[] constant(-1)\n  s = u64[] custom-call(c), custom_call_target="ShardBarrierTo"\n  ROOT r = f64[] exponential(f64[] convert(s)), result_accuracy={mode=HIGHEST}, metadata={metadata_payload="a"}\n}\n' >small.hlo
expect_exit "small things of XLA's text" 0 "$hlorun" small.hlo && expect_text "small things of XLA's text" "out0 = f64[] inf"

# --- floats of several types in one op, and other things that XLA takes; the numbers are XLA's ---
cat >mixed.hlo <<'END'
HloModule m
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
one { x.1 = f32[] parameter(0) y.1 = f32[] parameter(1) z.1 = f32[] add(x.1, y.1) ROOT t.1 = (f32[]) tuple(z.1) }
ENTRY e {
  a = bf16[3] parameter(0)
  b = f32[3] parameter(1)
  m = f32[2,3] parameter(2)
  n = f32[3,2] parameter(3)
  p = pred[3,2] parameter(4)
  zero = f32[] constant(0)
  added = f32[3] add(a, b)
  narrow = bf16[3] subtract(a, b)
  less = pred[3] compare(b, a), direction=LT
  chosen = f32[3] select(less, a, b)
  half = f16[3] negate(b)
  whole = f32[] reduce(a, zero), dimensions={0}, to_apply=sum
  alone = (f32[2]) reduce(m, zero), dimensions={1}, to_apply=one
  row = f32[2] get-tuple-element(alone), index=0
  ints = s32[2,2] dot(m, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  any = pred[2,2] dot(m, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  masked = f32[2,2] dot(m, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sizes = s32[1] constant({3})
  end = f32[] constant(1)
  drawn = f32[3] rng(zero, end, sizes), distribution=rng_uniform
  below = f32[3] floor(drawn)
  seed = u64[] custom-call(), custom_call_target="GetRngSeed"
  again = u64[] custom-call(), custom_call_target="GetRngSeed"
  same = pred[] compare(seed, again), direction=EQ
  ROOT r = (f32[3], bf16[3], f32[3], f16[3], f32[], f32[2], s32[2,2], pred[2,2], f32[2,2], f32[3], pred[]) tuple(added, narrow, chosen, half, whole, row, ints, any, masked, below, same)
}
END
for engine in compiled reference; do
  expect_exit "mixed types, $engine" 0 "$hlorun" --engine $engine -i '0=bf16[3]{1,2,3}' -i '1=f32[3]{0.001,4,1}' \
    -i '2=f32[2,3]{{0.6,1.5,2.7},{-1.6,0.4,3.2}}' -i '3=f32[3,2]{{1.5,0.6},{2.5,-0.7},{0.5,1.9}}' -i 4=1 mixed.hlo
  for line in 'out0 = f32[3] {1.001, 6, 4}' 'out1 = bf16[3] {1, -2, 2}' 'out2 = f32[3] {1, 4, 3}' \
    'out3 = f16[3] {-0.0010004, -4, -1}' 'out4 = f32[] 6' 'out5 = f32[2] {4.8' 'out6 = s32[2,2] {{6, 4}, {0, 4}}' \
    'out7 = pred[2,2] {{true, true}, {true, true}}' 'out8 = f32[2,2] {{4.8' 'out9 = f32[3] {0, 0, 0}' 'out10 = pred[] false'; do
    expect_text "mixed types, $engine" "$line"
  done
done
printf 'HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n  a = bf16[4,6] parameter(0)\n  ROOT r = bf16[4,3,2] reshape(a)\n}\n' >shared.hlo
expect_exit "an alias of another shape and as many bytes" 0 "$hlorun" check shared.hlo

# --- exported for several platforms: MLIR does not name them ---
cat >platforms.mlir <<'END'
func.func public @main(%which: tensor<i32> {jax.global_constant = "_platform_index"}, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.case"(%which) ({
    %1 = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }, {
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
END
expect_exit "several platforms" 0 "$hlorun" -i 0=3 platforms.mlir && expect_text "several platforms" "out0 = f32[2] {-3, -3}"
expect_text "several platforms" "--platform N takes another"
expect_exit "the second platform" 0 "$hlorun" --platform 1 -i 0=3 platforms.mlir
expect_text "the second platform" "out0 = f32[2] {3, 3}"
expect_exit "--platform of another program" 2 "$hlorun" --platform 1 mixed.hlo
expect_exit "--platform where they are named" 2 "$hlorun" --platform 1 --input "$forms/io.npz" "$forms/several.jax_export"

# The number goes on to private functions; branches of other platforms have calls that are not here. Their products may
# have an integer beside a float, as TPUs take them.
cat >branches.mlir <<'END'
func.func public @main(%which: tensor<i64> {jax.global_constant = "_platform_index"}, %x: tensor<2x2xf32>, %k: tensor<i32>) -> tensor<2x2xf32> {
  %0 = func.call @inner(%which, %x, %k) : (tensor<i64>, tensor<2x2xf32>, tensor<i32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func private @inner(%which: tensor<i64> {jax.global_constant = "_platform_index"}, %x: tensor<2x2xf32>, %k: tensor<i32>) -> tensor<2x2xf32> {
  %0 = stablehlo.convert %which : (tensor<i64>) -> tensor<i32>
  %1 = stablehlo.add %0, %k : tensor<i32>
  %2 = "stablehlo.case"(%1) ({
    %4 = stablehlo.iota dim = 0 : tensor<2x2xi64>
    %5 = stablehlo.dot_general %x, %4, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
    stablehlo.return %5 : tensor<2x2xf32>
  }, {
    %4 = stablehlo.custom_call @cusolver_getrf_ffi(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    stablehlo.return %4 : tensor<2x2xf32>
  }, {
    %4 = stablehlo.custom_call @my_function(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    stablehlo.return %4 : tensor<2x2xf32>
  }, {
    %4 = stablehlo.custom_call @LuDecomposition(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    stablehlo.return %4 : tensor<2x2xf32>
  }) : (tensor<i32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
END
for engine in compiled reference; do
  expect_exit "branches of other platforms, $engine" 0 "$hlorun" --engine $engine -i '0=f32[2,2]{{1,2},{3,4}}' -i 1=0 branches.mlir
  expect_text "branches of other platforms, $engine" "out0 = f32[2,2] {{2, 2}, {4, 4}}"
  for branch in "1 is of a library for GPUs" "2 no custom call 'my_function' here" "3 it is how TPUs spell lu"; do
    expect_exit "a branch that cannot run, $engine" 3 "$hlorun" --engine $engine -i 0=1 -i 1=${branch%% *} branches.mlir
    expect_text "a branch that cannot run, $engine" "${branch#* }"
  done
done
expect_exit "a branch that is always run" 3 "$hlorun" --platform 1 -i 0=1 -i 1=0 branches.mlir

# --- snapshots have their arguments with them ---
"$hlorun" convert -o hello.hlo.pb "$source_dir/examples/hello.hlo"
python3 - <<'END'
import struct
def field(number, data):
    size, out = len(data), bytes([number << 3 | 2])
    while size > 127:
        out += bytes([size & 127 | 128])
        size >>= 7
    return out + bytes([size]) + data
def literal(*values):
    shape = b"\x10\x0b" + field(3, bytes([len(values)])) + field(5, field(1, b"\0"))
    return field(1, shape) + field(8, struct.pack("<%df" % len(values), *values))
program = field(1, open("hello.hlo.pb", "rb").read())
open("snapshot.pb", "wb").write(program + field(2, literal(1, 2, 3)) + field(2, literal(10, 20, 30)))
open("short.pb", "wb").write(program + field(2, literal(1, 2, 3)) + field(2, literal(10, 20)))
open("broken.pb", "wb").write(program + field(2, b"\x0a\x7f"))
END
expect_exit "a snapshot" 0 "$hlorun" snapshot.pb && expect_text "a snapshot" "out0 = f32[3] {11, 22, 33}"
expect_exit "a snapshot, another argument" 0 "$hlorun" -i 1=1 snapshot.pb && expect_text "a snapshot, another argument" "{2, 3, 4}"
expect_exit "a snapshot whose argument does not fit" 2 "$hlorun" short.pb
expect_text "a snapshot whose argument does not fit" "parameter 1 (b: f32[3]) has no value"
expect_exit "a damaged snapshot" 3 "$hlorun" broken.pb

# --- a folder that torch_xla 2.9 wrote ---
expect_exit "torch_xla's own folder" 0 "$hlorun" -i 'input0=f32[2]{3,4}' "$forms/bundle"
expect_text "torch_xla's own folder" "out0 = f32[2] {103, 208}"
expect_exit "its weights by name" 0 "$hlorun" -i input0=1 -i fc.weight=2 "$forms/bundle"
expect_text "its weights by name" "out0 = f32[2] {102, 202}"

# --- folders of torch_xla: weights and constants by their places, inputs by the caller ---
python3 - <<'END'
import json, os, struct
def npy(*values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values)
places = [{"type_": "parameter", "position": -1, "name": "fc.weight"}, {"type_": "input_arg", "position": 0, "name": ""},
          {"type_": "constant", "position": 0, "name": ""}]
for name, list_ in (("good", places), ("outside", [dict(places[0], name="../x")] + places[1:]), ("long", places * 2)):
    for folder in ("data", "constants", "functions"):
        os.makedirs(f"{name}/{folder}")
    open(f"{name}/data/fc.weight", "wb").write(npy(1, 2))
    open(f"{name}/constants/0", "wb").write(npy(100, 200))
    meta = {"name": "forward", "stablehlo_version": "0.0.0", "input_signature": [], "input_locations": list_}
    json.dump(meta, open(f"{name}/functions/forward.meta", "w"))
    open(f"{name}/functions/forward.mlir", "w").write("""func.func @main(%w: tensor<2xf32>, %x: tensor<2xf32>, %c: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.multiply %w, %x : tensor<2xf32>
  %1 = stablehlo.add %0, %c : tensor<2xf32>
  return %1 : tensor<2xf32>
}
""")
open("x.npy", "wb").write(npy(3, 4))
END
expect_exit "a folder of torch_xla" 0 "$hlorun" -i x.npy good && expect_text "a folder of torch_xla" "out0 = f32[2] {103, 208}"
for command in check "convert --to hlo" "--stop-after verify"; do
  expect_exit "$command of a folder of torch_xla" 0 "$hlorun" $command good
done
python3 -c 'import zipfile; zipfile.ZipFile("arr.npz", "w").write("x.npy", "arr_0.npy")'
expect_exit "its first input by position" 0 "$hlorun" -i arr.npz good && expect_text "its first input" "{103, 208}"
expect_exit "its inputs and weights by name" 0 "$hlorun" -i input0=1 -i fc.weight=2 good
expect_text "its inputs and weights by name" "{102, 202}"
expect_exit "an input without a value" 2 "$hlorun" good && expect_text "an input without a value" "1 (input0: f32[2])"
expect_exit "the program in it" 0 "$hlorun" -i 1=1 good/functions/forward.mlir && expect_text "the program in it" "{101, 202}"
expect_exit "another weight" 0 "$hlorun" -i 0=0 -i 1=1 good && expect_text "another weight" "{100, 200}"
expect_exit "a weight outside of the folder" 3 "$hlorun" -i x.npy outside
expect_exit "places that are too many" 3 "$hlorun" -i x.npy long
expect_exit "a folder that is none" 5 "$hlorun" "$work/good/data"
expect_text "a folder that is none" "it is a folder, and has no program"
expect_exit "a folder of programs" 5 "$hlorun" check "$work/good/functions"
expect_text "a folder of programs" "give a program in it, such as $work/good/functions/forward.mlir"

# --- callbacks: refused where every run reaches them, else when one does ---
cat >callback.hlo <<'END'
HloModule callback
fine { x = f32[2] parameter(0) ROOT y = f32[2] add(x, x) }
wrong { x.1 = f32[2] parameter(0)
  ROOT c = f32[2] custom-call(x.1), custom_call_target="xla_ffi_python_cpu_callback", api_version=API_VERSION_TYPED_FFI }
ENTRY e {
  x = f32[2] parameter(0)
  bad = pred[] parameter(1)
  ROOT y = f32[2] conditional(bad, x, x), true_computation=wrong, false_computation=fine
}
END
for engine in compiled reference; do
  expect_exit "a callback that is not reached" 0 "$hlorun" --engine $engine -i 0=1 -i 1=false callback.hlo
  expect_text "a callback that is not reached" "out0 = f32[2] {2, 2}"
  expect_exit "a callback that is reached" 3 "$hlorun" --engine $engine -i 0=1 -i 1=true callback.hlo
  expect_text "a callback that is reached" "callback.hlo:4:8: error"
  expect_text "a callback that is reached" "EQX_ON_ERROR=nan"
done
sed -n '1p; /^wrong/,/}/{s/^wrong/ENTRY e/; p}' callback.hlo >always.hlo
expect_exit "a callback of every run" 3 "$hlorun" -i 0=1 always.hlo

# --- custom calls that are not here, and programs larger than this machine ---
printf 'HloModule c\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] custom-call(x), custom_call_target="my_function"\n}\n' >mine.hlo
expect_exit "a function of nobody" 3 "$hlorun" -i 0=1 mine.hlo
expect_text "a function of nobody" "no custom call 'my_function' here; --plugin LIBRARY.so"
sed 's/"my_function"/"__cublas$gemm"/' mine.hlo >gpu.hlo
expect_exit "a function of GPUs" 3 "$hlorun" -i 0=1 gpu.hlo && expect_text "a function of GPUs" "lower the program for the cpu platform"
printf 'HloModule b\nENTRY e {\n  x = f32[32000,39296,64,128] parameter(0)\n  ROOT y = f32[32000,39296,64,128] add(x, x)\n}\n' >huge.hlo
for command in check "convert --to mlir" "--stop-after passes" "--stop-after flat" --explain-sharding; do
  expect_exit "$command of a program larger than memory" 0 "$hlorun" $command huge.hlo
done
expect_exit "a program larger than memory" 3 "$hlorun" --random-inputs huge.hlo

# --- Python for arguments and results ---
cat >tree.mlir <<'END'
#loc1 = loc("params['w']")
#loc2 = loc("x")
module @jit_f {
  func.func public @main(%arg0: tensor<2xf32> loc("params['w']"), %arg1: tensor<2xf32> loc("x")) -> (tensor<2xf32> {jax.result_info = "result['n'][0]"}, tensor<2xf32> {jax.result_info = "result['y']"}) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2xf32>
    return %arg0, %0 : tensor<2xf32>, tensor<2xf32>
  }
}
END
expect_exit "convert to Python" 0 "$hlorun" convert -o tree.py tree.mlir
python=
for one in ${TEST_PYTHON:-} python3 ${JAX_PYTHON:-}; do
  if "$one" -c 'import numpy' 2>/dev/null; then python=$one; break; fi
done
if [ -n "$python" ]; then
  expect_exit "save_arguments" 0 "$python" -c 'import tree
tree.save_arguments("tree.npz", params={"w": [1, 2]}, x=[10, 20])'
  expect_exit "a run of it" 0 "$hlorun" -i tree.npz -o results.npz tree.mlir
  expect_exit "load_results" 0 "$python" -c 'import tree
print(tree.load_results("results.npz"))'
  expect_text "load_results" "{'n': [array([1., 2.], dtype=float32)], 'y': array([11., 22.], dtype=float32)}"
else
  skip "arguments by Python: there is no Python with NumPy (TEST_PYTHON)"
fi

# --- numbers of Python, which NumPy saves in 64 bits; tokens, which no file has ---
cat >numbers.hlo <<'END'
HloModule m
ENTRY e {
  t = token[] parameter(0)
  i = s8[] parameter(1)
  x = bf16[] parameter(2)
  a = token[] after-all(t)
  ROOT r = (token[], s8[], bf16[]) tuple(a, i, x)
}
END
python3 - <<'END'
import struct, zipfile
def npy(letter, code, value):
    head = "{'descr': '<%s8', 'fortran_order': False, 'shape': (), }" % letter
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(code, value)
for name, integer, number in (("numbers", -3, 0.1), ("many", 300, 0.1)):
    for first in (0, 1):
        with zipfile.ZipFile(f"{name}{first}.npz", "w") as archive:
            for prefix in ("in", "out") if first == 0 and name == "numbers" else ("in",):
                archive.writestr(f"{prefix}{first}.npy", npy("i", "<q", integer))
                archive.writestr(f"{prefix}{first + 1}.npy", npy("f", "<d", number))
with zipfile.ZipFile("other.npz", "w") as archive:
    archive.writestr("in0.npy", npy("f", "<d", 1.0))
    archive.writestr("in1.npy", npy("f", "<d", 1.0))
END
for first in 0 1; do
  expect_exit "numbers, the first is in$first" 0 "$hlorun" -i numbers$first.npz numbers.hlo
  expect_text "numbers, the first is in$first" "out1 = s8[] -3" && expect_text "numbers" "out2 = bf16[] 0.1"
  expect_exit "a number that is too large" 2 "$hlorun" -i many$first.npz numbers.hlo
  expect_text "a number that is too large" "is int64[], the program has s8[]"
done
expect_exit "a float for an integer" 2 "$hlorun" -i other.npz numbers.hlo
expect_exit "what is expected must have the type" 2 "$hlorun" -i numbers1.npz --expect numbers0.npz numbers.hlo
expect_text "what is expected must have the type" "out0 of numbers0.npz is int64[], the program has s8[]"

# --- what gzip packed ---
printf 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] add(x, x)\n}\n' >twice.hlo
gzip -c "$source_dir/examples/hello.hlo" >hello.hlo.gz
gzip -c hello.hlo.pb >packed
gzip -c arr.npz >arr.npz.gz
gzip -c "$source_dir/examples/argmax.hlo" >argmax.gz
python3 - <<'END'
import gzip
gzip.open("x.npy.gz", "wb").write(open("x.npy", "rb").read())
text = open("hello.hlo.gz", "rb").read()
plain = gzip.decompress(text)
open("members.gz", "wb").write(gzip.compress(plain[:40]) + gzip.compress(plain[40:]))
open("cut.gz", "wb").write(text[:-5])
open("flipped.gz", "wb").write(text[:30] + bytes([text[30] ^ 255]) + text[31:])
open("after.gz", "wb").write(text + b"more")
END
expect_exit "a packed program" 0 "$hlorun" -i 0=1 -i 1=2 hello.hlo.gz && expect_text "a packed program" "out0 = f32[3] {3, 3, 3}"
expect_exit "a packed proto" 0 "$hlorun" -i 0=1 -i 1=2 packed
expect_exit "a packed array" 0 "$hlorun" -i 0=x.npy.gz twice.hlo && expect_text "a packed array" "out0 = f32[2] {6, 8}"
expect_exit "a packed archive" 0 "$hlorun" -i arr.npz.gz twice.hlo && expect_text "a packed archive" "out0 = f32[2] {6, 8}"
expect_exit "a packed file of several members" 0 "$hlorun" check members.gz
for command in check "convert --to hlo" "--stop-after verify"; do
  expect_exit "$command of a packed program" 0 "$hlorun" $command hello.hlo.gz
done
expect_exit "as many processes as a packed program names" 0 "$hlorun" -i "$source_dir/examples/argmax.npz" argmax.gz
expect_text "as many processes as a packed program names" "out0 = f32[] 7.5"
for file in cut flipped after; do
  expect_exit "$file.gz" 3 "$hlorun" -i 0=1 -i 1=2 $file.gz
done

# --- files that are no programs ---
foreign() { # NAME BYTES TEXT
  printf "$2" >"$1"
  expect_exit "$1" 3 "$hlorun" "$1" && expect_text "$1" "$1 is $3"
}
foreign a.npz 'PK\003\004in0.npy' "an archive of arrays"
foreign a.zip 'PK\003\004other' "a zip archive"
foreign a.pt2 'PK\003\004models/model.json' "a program of torch.export"
foreign a.pt 'PK\003\004archive/data.pkl' "a file of torch.save"
foreign a.keras 'PK\003\004model.weights.h5' "a model of Keras"
foreign a.tflite '\034\0\0\0TFL3' "a model of TensorFlow Lite"
foreign a.npy '\223NUMPY\001\0' "an array (.npy)"
foreign a.so '\177ELF' "an executable or a library"
foreign a.h5 '\211HDF\r\n' "a file of HDF5"
foreign a.pkl '\200\004\225' "a pickle of Python"
foreign a.onnx '\010\007\022\007pytorch' "a protocol buffer of another program"
foreign a.gguf 'GGUF\003\0' "a file of weights"
foreign a.jaxpr '{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }' "a jaxpr"
foreign a.py 'import jax\nprint(1)\n' "a Python script"
foreign b.py '# A model.\nfrom jax import numpy\n' "a Python script"
foreign c.py '"""A model."""\n\ndef f(x):\n  return x\n' "a Python script"
foreign a.html '<!DOCTYPE html>\n<html></html>' "a page of HTML"
foreign a.ll '; ModuleID = 1' "LLVM IR"
foreign buffers.txt 'BufferAssignment:\nallocation 0: size 612, constant:\n' "a report of XLA"
expect_text "a report of XLA" "before_optimizations.txt"
printf '\010\001\022\377' >saved_model.pb
expect_exit "a damaged SavedModel" 3 "$hlorun" check saved_model.pb && expect_text "a damaged SavedModel" "SavedModel are damaged"
foreign a.safetensors '\002\0\0\0\0\0\0\0{}' "a file of arrays"
expect_text "what to do" "give it with --input"
finish
