#!/usr/bin/env bash
# TensorFlow graphs: the cases of tests/cases/tf, whose results are TensorFlow's, in both engines; feeds, fetches and
# variables of a graph as text; the list of unsupported operations; damaged files.
set -u
. "$(dirname "$0")/common.sh"

cases=$source_dir/tests/cases/tf
count=$(find "$cases" -maxdepth 1 -name '*.pb' | wc -l)
for engine in reference compiled; do
  timeout -k 5 300 "$hlorun" test --engine="$engine" "$cases"/*.pb >"$work/out" 2>&1 </dev/null
  if [ "$(tail -n 1 "$work/out")" = "$count passed, 0 failed" ]; then passed=$((passed + count))
  else fail "tests/cases/tf, $engine engine" "$work/out"; fi
done

# Each statement of XlaCompiler's documentation has a test that is there.
expect_some "statements" 40 "$(grep -v '^#' "$source_dir/tests/unit/xla_statements.list" | grep -c .)"
while IFS='|' read -r statement where; do
  where=${where# }
  name=${where#*: }
  if [ -n "$name" ] && grep -qF "{\"$name\"," "$source_dir/tests/unit/test_${where%%:*}.c"; then pass
  else fail "statement \"$statement\": no test \"$where\"" /dev/null; fi
done < <(grep -v '^#' "$source_dir/tests/unit/xla_statements.list" | grep .)

# The order of parameters: feeds, then variables; of results: fetches, then updated variables.
cat >"$work/step.pbtxt" <<'TEXT'
# One step: y = x w, then w += x.
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node {
  name: "w" op: "VarHandleOp"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } }
  attr { key: "shared_name" value { s: "weights" } }
}
node { name: "read" op: "ReadVariableOp" input: "w" }
node { name: "y" op: "Mul" input: "x" input: "read" }
node { name: "step" op: "AssignAddVariableOp" input: "w" input: "x" input: "^y" }
node { name: "after" op: "ReadVariableOp" input: "w" input: "^step" }
versions { producer: 2000 }
TEXT
"$hlorun" --feed x:0='f32[2]' --fetch y:0 --fetch after --input '0={1,2}' --input '1={3,4}' "$work/step.pbtxt" \
  >"$work/out" 2>&1
printf 'out0 = f32[2] {3, 8}\nout1 = f32[2] {4, 6}\nout2 = f32[2] {4, 6}\n' >"$work/want"
if cmp -s "$work/out" "$work/want"; then pass; else fail "feeds, fetches and variables" "$work/out"; fi

"$hlorun" --feed x='f32[2]' --fetch y --fetch after --steps 3 --carry 2:1 --input '0={1,2}' --input '1={3,4}' \
  "$work/step.pbtxt" >"$work/out" 2>/dev/null
printf 'out0 = f32[2] {5, 16}\nout1 = f32[2] {6, 10}\nout2 = f32[2] {6, 10}\n' >"$work/want"
if cmp -s "$work/out" "$work/want"; then pass; else fail "three steps" "$work/out"; fi

"$hlorun" --fetch y:0 --input '0={1,2}' "$work/step.pbtxt" >"$work/out" 2>&1
code=$?
if [ $code -ne 0 ] && grep -q 'shape of x:0 is not known.*--feed x:0=' "$work/out"; then pass
else fail "a placeholder of unknown shape: exit code $code" "$work/out"; fi

# Of a batch of any size the other sizes are known, and stand in the option that the message suggests.
"$hlorun" check "$cases/adam" >"$work/out" 2>&1
code=$?
if [ $code -eq 2 ] && grep -q 'is not known: f32\[?,4\]; give it as --feed .*=f32\[1,4\]' "$work/out"; then pass
else fail "a batch of any size: exit code $code" "$work/out"; fi

# Sizes that the graph leaves open are those of the arrays of --input, in all its forms, by number or by name.
python3 - "$work" <<'PROGRAM' || fail "no NumPy-like files" /dev/null
import struct, sys, zipfile

def npy(shape, values):
    head = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    head += b" " * ((-len(head) - 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values)

rows, folder = npy((3, 4), range(12)), sys.argv[1]
with open(folder + "/rows.npy", "wb") as file:
    file.write(rows)
with open(folder + "/narrow.npy", "wb") as file:
    file.write(npy((3, 2), range(6)))
for name in ("in0", "x", "arr_0"):
    with zipfile.ZipFile(f"{folder}/{name}.npz", "w") as file:
        file.writestr(name + ".npy", rows)
PROGRAM
literal='f32[3,4]{{0,1,2,3},{4,5,6,7},{8,9,10,11}}'
"$hlorun" --feed x='f32[3,4]' --input 0="$work/rows.npy" "$cases/adam" >"$work/want" 2>&1
for input in "$work/rows.npy" 0="$work/rows.npy" x="$work/rows.npy" x="$work/x.npz:x" "$work/in0.npz" "$work/x.npz" \
  "$work/arr_0.npz" 0="$literal" x="$literal"; do
  "$hlorun" --input "$input" "$cases/adam" >"$work/out" 2>&1
  if grep -q 'f32\[3,3\]' "$work/out" && cmp -s "$work/out" "$work/want"; then pass
  else fail "the sizes of --input $input" "$work/out"; fi
done
expect_exit "an array that does not fit" 2 "$hlorun" --input "$work/narrow.npy" "$cases/adam"
expect_text "an array that does not fit" 'its array in --input has the sizes [3,2]'
expect_exit "an array that is not there" 5 "$hlorun" --input x="$work/none.npy" "$cases/adam"
expect_text "an array that is not there" 'none.npy'

"$hlorun" convert --feed 'x=f32[2]' --fetch y "$work/step.pbtxt" >"$work/out" 2>&1
if grep -q 'multiply' "$work/out"; then pass; else fail "convert" "$work/out"; fi

# A SavedModel: signatures, variables of the checkpoint as constants, and as parameters that steps carry.
model=$cases/adam
for engine in reference compiled; do
  "$hlorun" --engine="$engine" --feed x='f32[5,4]' --input "$model/predict.npz" --expect "$model/predict.npz" "$model" \
    >"$work/out" 2>&1
  code=$?
  if [ $code -eq 0 ]; then pass; else fail "SavedModel, $engine engine: exit code $code" "$work/out"; fi
done
"$hlorun" --signature step --feed x='f32[5,4]' --feed y='f32[5,3]' --steps 5 --input "$model/step.npz" \
  --expect "$model/step.npz" "$model/saved_model.pb" >"$work/out" 2>&1
code=$?
if [ $code -eq 0 ]; then pass; else fail "five steps of Adam: exit code $code" "$work/out"; fi

# A variable that is written every second step, as a restored counter says.
for engine in reference compiled; do
  expect_exit "a step that writes at times, $engine engine" 0 "$hlorun" --engine="$engine" --steps 5 \
    --input "$cases/accumulation/step.npz" --expect "$cases/accumulation/step.npz" "$cases/accumulation"
done

# A bundle in several files, as MergeV2Checkpoints leaves it; training writes one file.
rm -rf "$work/shards"
cp -r "$model" "$work/shards"
rm "$work/shards/variables"/*
cp "$cases/adam_in_shards"/* "$work/shards/variables"
for engine in reference compiled; do
  expect_exit "a bundle in three files, $engine engine" 0 "$hlorun" --engine="$engine" --feed x='f32[5,4]' \
    --input "$model/predict.npz" --expect "$model/predict.npz" "$work/shards"
done
expect_exit "five steps from three files" 0 "$hlorun" --signature step --feed x='f32[5,4]' --feed y='f32[5,3]' --steps 5 \
  --every 5 --checkpoint "$work/steps" --checkpoint-format tensor-bundle --input "$model/step.npz" --expect "$model/step.npz" \
  "$work/shards"
rm "$work/shards/variables"/*
cp "$work/steps/step-000000000005"/variables.* "$work/shards/variables"
expect_exit "the checkpoint of these steps" 0 "$hlorun" --feed x='f32[5,4]' --input "$model/predict.npz" "$work/shards"
cp "$cases/adam_in_shards"/* "$work/shards/variables"
rm "$work/shards/variables/variables.data-00001-of-00003"
expect_exit "a missing file of three" 5 "$hlorun" --feed x='f32[5,4]' --input "$model/predict.npz" "$work/shards"
expect_text "a missing file of three" 'variables.data-00001-of-00003'

# What a user gets wrong: a checkpoint that is not there or cut short, inputs of other types, shapes cut short.
broken=$work/broken
fresh() { rm -rf "$broken"; cp -r "$model" "$broken"; }
for part in variables variables/variables.index variables/variables.data-00000-of-00001; do
  fresh
  rm -r "${broken:?}/$part"
  expect_exit "a SavedModel without $part" 5 "$hlorun" --feed x='f32[5,4]' --random-inputs "$broken"
  expect_text "a SavedModel without $part" 'broken/variables/variables.'
done
for part in variables/variables.index variables/variables.data-00000-of-00001 saved_model.pb; do
  fresh
  truncate -s 40 "$broken/$part"
  expect_exit "a SavedModel with a short $part" 3 "$hlorun" --feed x='f32[5,4]' --random-inputs "$broken"
done
for feed in 'x=s32[5,4]' 'x=f32[5]' 'x=f64[5,4,1]'; do
  expect_exit "--feed $feed" 2 "$hlorun" --feed "$feed" --random-inputs "$model"
  expect_text "--feed $feed" 'input x of the signature is f32[?,4]'
done
expect_exit "--feed of no input" 2 "$hlorun" --feed z='f32[5,4]' --random-inputs "$model"
expect_text "--feed of no input" 'the signature has no such input, its inputs are x'
expect_text "--feed of no input" "while reading the TensorFlow graph $model"
for feed in 'x=f32[' 'x=f32[5,4' 'x=f32[5,4]]' 'x=f32' 'x=f32[5;4]'; do
  expect_exit "--feed $feed" 2 "$hlorun" --feed "$feed" --random-inputs "$model"
  expect_text "--feed $feed" 'want a shape such as f32[2,3]'
done

# Variables of a Keras model, to which only the object graph gives values; its own Adam.
keras=$cases/keras_training
for engine in reference compiled; do
  expect_exit "Keras model, $engine engine" 0 "$hlorun" --engine="$engine" --feed x='f32[6,4]' --input "$keras/predict.npz" \
    --expect "$keras/predict.npz" "$keras"
  expect_exit "gradients of a loop, the batch by --feed, $engine engine" 0 "$hlorun" --engine="$engine" --feed x='f32[4,5,2]' \
    --feed y='f32[4,1]' --steps 3 --input "$cases/recurrent_training/step.npz" --expect "$cases/recurrent_training/step.npz" \
    "$cases/recurrent_training"
  expect_exit "Adam of Keras, $engine engine" 0 "$hlorun" --engine="$engine" --signature step --feed x='f32[6,4]' \
    --feed y='f32[6,3]' --steps 4 --input "$keras/step.npz" --expect "$keras/step.npz" "$keras"
done
for engine in reference compiled; do
  "$hlorun" --engine="$engine" --input "$cases/optimizers/step.npz" --expect "$cases/optimizers/step.npz" "$cases/optimizers" \
    >"$work/out" 2>&1
  code=$?
  if [ $code -eq 0 ]; then pass; else fail "optimisers, $engine engine: exit code $code" "$work/out"; fi
done
"$hlorun" --signature nothing "$model" >"$work/out" 2>&1
code=$?
if [ $code -eq 2 ] && grep -q 'serving_default' "$work/out" && grep -q 'step' "$work/out"; then pass
else fail "an unknown signature: exit code $code" "$work/out"; fi
"$hlorun" "$model" >"$work/out" 2>&1
if grep -q 'give it as --feed x=' "$work/out"; then pass; else fail "an unknown batch" "$work/out"; fi

"$hlorun" convert --to json --signature step --feed x='f32[5,4]' --feed y='f32[5,3]' "$model" >"$work/out" 2>&1
if grep -q '"input_mapping": \[0, 1, 2, 3, 4, 5\]' "$work/out" && grep -q '"name": "loss", "shape": "f32\[\]", "result": 0' "$work/out" &&
  grep -q '"name": "w", .*"input_index": 2, "result": 1, "modified": true' "$work/out" &&
  grep -q '"name": "w", "kind": "variable", .*"checkpoint": "w/.ATTRIBUTES/VARIABLE_VALUE"' "$work/out"
then pass; else fail "convert --to json" "$work/out"; fi

cat >"$work/config.pbtxt" <<'TEXT'
feed { id { node_name: "x" } shape { dim { size: 2 } } }
fetch { id { node_name: "y" } name: "product" }
TEXT
"$hlorun" --config "$work/config.pbtxt" --input '0={1,2}' --input '1={3,4}' "$work/step.pbtxt" >"$work/out" 2>&1
if grep -q '^out0 = f32\[2\] {3, 8}$' "$work/out"; then pass; else fail "a config" "$work/out"; fi

# Damaged checkpoints: each byte of the index and of the model in turn, some of them.
damage() { # FILE OFFSET
  rm -rf "$work/model"
  cp -r "$model" "$work/model"
  printf '\377' | dd of="$work/model/$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
  timeout -k 5 30 "$hlorun" --feed x='f32[5,4]' --input "$model/predict.npz" "$work/model" >"$work/out" 2>&1
  code=$?
  if [ $code -lt 100 ]; then pass; else fail "$1, byte $2: exit code $code" "$work/out"; fi
}
for at in 0 1 7 40 100 150 200 250 300 310 320 330 340; do damage variables/variables.index $at; done
for at in 0 2 5 30 300 1000 5000 10000 15000 20000; do damage saved_model.pb $at; done
damage variables/variables.data-00000-of-00001 20
if [ $code -eq 3 ] && grep -q 'check sum' "$work/out"; then pass; else fail "a wrong check sum: $code" "$work/out"; fi

# A graph of _Arg and _Retval nodes: all of them, by index; a resource is a variable.
cat >"$work/arguments.pbtxt" <<'TEXT'
node { name: "r1" op: "_Retval" input: "read" attr { key: "index" value { i: 1 } } }
node { name: "v" op: "_Arg" attr { key: "T" value { type: DT_RESOURCE } } attr { key: "index" value { i: 0 } } }
node { name: "a" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 1 } }
  attr { key: "_shape" value { shape { dim { size: 2 } } } } }
node { name: "read" op: "ReadVariableOp" input: "v" }
node { name: "twice" op: "AddV2" input: "a" input: "a" }
node { name: "step" op: "AssignAddVariableOp" input: "v" input: "a" input: "^read" }
node { name: "r0" op: "_Retval" input: "twice" input: "^step" attr { key: "index" value { i: 0 } } }
TEXT
"$hlorun" --feed 'v=f32[2]' --input '0={1,2}' --input '1={10,20}' "$work/arguments.pbtxt" >"$work/out" 2>&1
printf 'out0 = f32[2] {2, 4}\nout1 = f32[2] {10, 20}\nout2 = f32[2] {11, 22}\n' >"$work/want"
if cmp -s "$work/out" "$work/want"; then pass; else fail "_Arg and _Retval nodes" "$work/out"; fi
sed 's/i: 1 } }$/i: 0 } }/' "$work/arguments.pbtxt" >"$work/twice.pbtxt"
expect_exit "two arguments of one index" 3 "$hlorun" check "$work/twice.pbtxt"
expect_text "two arguments of one index" 'Multiple _Arg nodes with index 0'

# All unsupported operations in one message.
cat >"$work/strange.pbtxt" <<'TEXT'
node { name: "a" op: "StrangeOne" }
node { name: "b" op: "StrangeTwo" input: "a" }
node { name: "c" op: "StrangeOne" input: "b" }
TEXT
"$hlorun" check "$work/strange.pbtxt" >"$work/out" 2>&1
code=$?
if [ $code -ne 0 ] && grep -q 'StrangeOne (.*a.*c\|StrangeOne (.*c.*a' "$work/out" && grep -q 'StrangeTwo (b)' "$work/out"
then pass; else fail "unsupported operations: exit code $code" "$work/out"; fi

# Messages have no effect on the results, and a text is no result.
cat >"$work/message.pbtxt" <<'TEXT'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "text" op: "AsString" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "line" op: "StringFormat" input: "x" input: "text" }
node { name: "both" op: "StringJoin" input: "line" input: "text" attr { key: "N" value { i: 2 } } }
node { name: "print" op: "PrintV2" input: "both" }
node { name: "twice" op: "AddV2" input: "x" input: "x" input: "^print" }
TEXT
"$hlorun" --feed x='f32[2]' --fetch twice --input '0={1,2}' "$work/message.pbtxt" >"$work/out" 2>&1
printf 'out0 = f32[2] {2, 4}\n' >"$work/want"
if cmp -s "$work/out" "$work/want"; then pass; else fail "a graph that prints" "$work/out"; fi
expect_exit "a text that is fetched" 3 "$hlorun" check --feed x='f32[2]' --fetch both "$work/message.pbtxt"
expect_text "a text that is fetched" 'result 0 is no array'

# The gradient of reduce_prod permutes by what ListDiff gives of constants.
cat >"$work/order.pbtxt" <<'TEXT'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "all" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
  dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 0 int_val: 1 } } } }
node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
  dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
  dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "other" op: "ListDiff" input: "all" input: "axis" attr { key: "T" value { type: DT_INT32 } } }
node { name: "order" op: "ConcatV2" input: "axis" input: "other" input: "zero" attr { key: "N" value { i: 2 } } }
node { name: "y" op: "Transpose" input: "x" input: "order" }
TEXT
"$hlorun" --feed x='f32[1,2]' --fetch y --fetch other:1 --input '0={{1,2}}' "$work/order.pbtxt" >"$work/out" 2>&1
printf 'out0 = f32[2,1] {{1}, {2}}\nout1 = s32[1] {0}\n' >"$work/want"
if cmp -s "$work/out" "$work/want"; then pass; else fail "a permutation by ListDiff" "$work/out"; fi

# Damaged files are refused, or are shorter graphs; none crashes.
for name in loops movement; do
  size=$(stat -c %s "$cases/$name.pb")
  for part in 3 10 25 50 75 90 99; do
    head -c $((size * part / 100)) "$cases/$name.pb" >"$work/cut.pb"
    timeout -k 5 30 "$hlorun" check "$work/cut.pb" >"$work/out" 2>&1
    code=$?
    if [ $code -lt 100 ]; then pass
    else fail "$name.pb cut to $part%: exit code $code" "$work/out"; fi
  done
done

finish
