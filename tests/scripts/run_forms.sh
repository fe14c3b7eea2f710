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
sed 's/mhlo.erf/mhlo.topk/' mhlo.mlir >alone.mlir
expect_exit "mhlo without an equal" 3 "$hlorun" check alone.mlir
expect_text "mhlo without an equal" "has no equal in StableHLO"

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
foreign a.gz '\037\213\010' "a file of gzip"
foreign a.so '\177ELF' "an executable or a library"
foreign a.h5 '\211HDF\r\n' "a file of HDF5"
foreign a.pkl '\200\004\225' "a pickle of Python"
foreign a.onnx '\010\007\022\007pytorch' "a protocol buffer of another program"
foreign saved_model.pb '\010\001\022\377' "a SavedModel"
foreign a.safetensors '\002\0\0\0\0\0\0\0{}' "a file of arrays"
expect_text "what to do" "give it with --input"
finish
