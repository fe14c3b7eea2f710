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

# Collectives between replicas, and transfers by key in the order of control inputs.
cat >"$work/replicas.pbtxt" <<'TEXT'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 4 } } } } }
node { name: "groups" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
  dtype: DT_INT32 tensor_shape { dim { size: 1 } dim { size: 2 } } int_val: 0 int_val: 1 } } } }
node { name: "pairs" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
  dtype: DT_INT32 tensor_shape { dim { size: 2 } dim { size: 2 } } int_val: 0 int_val: 1 int_val: 1 int_val: 0 } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "id" op: "XlaReplicaId" }
node { name: "number" op: "Cast" input: "id" attr { key: "DstT" value { type: DT_FLOAT } } }
node { name: "mine" op: "AddV2" input: "x" input: "number" }
node { name: "sum" op: "CrossReplicaSum" input: "mine" input: "groups" }
node { name: "most" op: "XlaAllReduce" input: "mine" input: "groups" attr { key: "reduce_op" value { s: "Max" } } }
node { name: "mean" op: "XlaAllReduce" input: "mine" input: "groups" attr { key: "reduce_op" value { s: "Mean" } } }
node { name: "part" op: "XlaReduceScatter" input: "mine" input: "groups" input: "zero"
  attr { key: "reduce_op" value { s: "Add" } } }
node { name: "assign" op: "CollectiveAssignGroupV2" input: "groups" input: "id" input: "zero" }
node { name: "reduced" op: "CollectiveReduceV2" input: "mine" input: "assign" input: "assign:1" input: "zero"
  attr { key: "merge_op" value { s: "Add" } } attr { key: "final_op" value { s: "Div" } } }
node { name: "turned" op: "CollectivePermute" input: "mine" input: "pairs" }
node { name: "all" op: "AllToAll" input: "mine" input: "groups" attr { key: "split_dimension" value { i: 0 } }
  attr { key: "concat_dimension" value { i: 0 } } attr { key: "split_count" value { i: 2 } } }
TEXT
fetches="--fetch sum --fetch most --fetch mean --fetch part --fetch reduced --fetch turned --fetch all"
# shellcheck disable=SC2086
timeout -k 5 60 "$hlorun" -n 2 $fetches --input '0={1,2,3,4}' "$work/replicas.pbtxt" >"$work/out" 2>&1
printf 'out%d = f32[%d] {%s}\n' 0 4 '3, 5, 7, 9' 1 4 '2, 3, 4, 5' 2 4 '1.5, 2.5, 3.5, 4.5' 3 2 '3, 5' \
  4 4 '1.5, 2.5, 3.5, 4.5' 5 4 '2, 3, 4, 5' 6 4 '1, 2, 2, 3' >"$work/want"
if cmp -s "$work/out" "$work/want"; then pass; else fail "collectives of two replicas" "$work/out"; fi

# --data-parallel: two replicas with half of the examples each train as one process with all of them.
cat >"$work/examples.hlo" <<'TEXT'
HloModule examples
ENTRY main {
  i = f32[16] iota(), iota_dimension=0
  j = f32[12] iota(), iota_dimension=0
  s = f32[16] sine(i)
  c = f32[12] cosine(j)
  x = f32[4,4] reshape(s)
  y = f32[4,3] reshape(c)
  ROOT both = (f32[4,4], f32[4,3]) tuple(x, y)
}
TEXT
"$hlorun" --output "$work/examples.npz" "$work/examples.hlo" >/dev/null 2>&1
"$hlorun" --signature step --feed x='f32[4,4]' --feed y='f32[4,3]' --steps 3 --input "0=$work/examples.npz:out0" \
  --input "1=$work/examples.npz:out1" "$model" 2>/dev/null | grep '^out0' >"$work/want"
timeout -k 5 60 "$hlorun" -n 2 --data-parallel loss --signature step --feed x='f32[2,4]' --feed y='f32[2,3]' --steps 3 \
  --feed "0=$work/examples.npz:out0" --feed "1=$work/examples.npz:out1" --no-shuffle "$model" 2>"$work/err" |
  grep '^out0' >"$work/out"
cat "$work/err" >>"$work/out"
if paste -d ' ' "$work/want" "$work/out" |
  awk '{ d = $4 - $8 } NF == 8 && d < 1e-5 && d > -1e-5 && $4 > 0 { good = 1 } END { exit !good }'
then pass; else fail "data parallelism: want $(cat "$work/want")" "$work/out"; fi

# An update that is no function of means is refused, with the variable's name.
cat >"$work/squares.pbtxt" <<'TEXT'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } } }
node { name: "w" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "total" } } }
node { name: "square" op: "Mul" input: "x" input: "x" }
node { name: "step" op: "AssignAddVariableOp" input: "w" input: "square" }
node { name: "loss" op: "Neg" input: "x" input: "^step" }
TEXT
"$hlorun" check --data-parallel loss --fetch loss "$work/squares.pbtxt" >"$work/out" 2>&1
code=$?
if [ $code -ne 0 ] && grep -q 'new value of variable total is no function of means' "$work/out"; then pass
else fail "an update that has no mean: exit code $code" "$work/out"; fi

# A gradient that is a product of sums over examples, as that of BatchNormalization's scale, is one mean.
vector() { # name, type, field, values
  echo "node { name: \"$1\" op: \"Const\" attr { key: \"dtype\" value { type: $2 } } attr { key: \"value\" value { tensor {"
  echo "dtype: $2 tensor_shape { dim { size: $(wc -w <<<"$4") } } $(printf "$3: %s " $4) } } } }"
}
scalar() { # name, type, field: value
  echo "node { name: \"$1\" op: \"Const\" attr { key: \"dtype\" value { type: $2 } }"
  echo "attr { key: \"value\" value { tensor { dtype: $2 tensor_shape { } $3 } } } }"
}
node() { # name, op, inputs...
  local name=$1 op=$2
  shift 2
  echo "node { name: \"$name\" op: \"$op\"$(printf ' input: "%s"' "$@") attr { key: \"T\" value { type: DT_FLOAT } } }"
}
training_graph() { # sizes of the variable w
  cat <<TEXT
node { name: "w" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { $1 } } } attr { key: "shared_name" value { s: "w" } } }
node { name: "id" op: "XlaReplicaId" }
node { name: "number" op: "Cast" input: "id" attr { key: "DstT" value { type: DT_FLOAT } } }
TEXT
  scalar axis DT_INT32 "int_val: 0"
  node step AssignSubVariableOp w change
  node loss Sum x axis ^step
}
{
  training_graph ''
  vector base DT_FLOAT float_val "1 2"
  node twice AddV2 number number
  node x AddV2 base twice
  node sum Sum x axis
  node squares Mul x x
  node power Sum squares axis
  node rate Rsqrt power
  node change Mul sum rate
} >"$work/product.pbtxt"
timeout -k 5 60 "$hlorun" -n 2 --data-parallel loss --fetch loss --input 0=1 "$work/product.pbtxt" >"$work/out" 2>&1
if grep -q '^out1 = f32\[\] -0.370820' "$work/out"; then pass; else fail "a gradient that is a product of sums" "$work/out"; fi

# Sums of squared rows of a sparse gradient, as Adam takes them, are those of one process with all rows.
rows() { # the rows' inputs of UnsortedSegmentSum and its name
  echo "node { name: \"$2\" op: \"UnsortedSegmentSum\" input: \"$1\" input: \"rows\" input: \"three\" }"
}
{
  training_graph 'dim { size: 3 }'
  vector base DT_FLOAT float_val "2 4"
  vector second DT_FLOAT float_val "0 2"
  scalar three DT_INT32 "int_val: 3"
  scalar one DT_FLOAT "float_val: 1"
  vector last DT_INT32 int_val "0 1"
  echo 'node { name: "rows" op: "Mul" input: "last" input: "id" }'
  node more Mul second number
  node x AddV2 base more
  node squares Mul x x
  rows x sum
  rows squares power
  node root Sqrt power
  node below AddV2 root one
  node change RealDiv sum below
} >"$work/rows.pbtxt"
timeout -k 5 60 "$hlorun" -n 2 --data-parallel loss --fetch loss --input '0={0,0,0}' "$work/rows.pbtxt" >"$work/out" 2>&1
if grep -q '^out1 = f32\[3\] {-1.15959[0-9]*, -0.75, -\{0,1\}0}' "$work/out"; then pass; else fail "squares of rows" "$work/out"; fi

# Rows that are scaled by their own norm would need that of all replicas.
{
  sed '/name: "change"/d; s/input: "x" input: "rows"/input: "clipped" input: "rows"/' "$work/rows.pbtxt"
  node norm Sum squares axis
  node inverse Rsqrt norm
  node clipped Mul x inverse
  node change Mul sum one
} >"$work/clipped.pbtxt"
expect_exit "rows scaled by their norm" 3 "$hlorun" check --data-parallel loss --fetch loss "$work/clipped.pbtxt"
expect_text "rows scaled by their norm" 'new value of variable w is no function of means'
expect_exit "rows scaled by their norm, one process" 0 "$hlorun" check -n 1 --data-parallel loss --fetch loss "$work/clipped.pbtxt"

{
  sed '/name: "change"/d; s/input: "x" input: "rows"/input: "clipped" input: "rows"/' "$work/rows.pbtxt"
  node clipped Minimum x one
  node change Mul sum one
} >"$work/clipped.pbtxt"
expect_exit "rows that are clipped" 3 "$hlorun" check --data-parallel loss --fetch loss "$work/clipped.pbtxt"
expect_text "rows that are clipped" 'new value of variable w is no function of means'

# Rows that an optimizer scales by sums of their squares, of all replicas, are linear in the gradient. Kinds of change that are
# not, such as signs, squares of the sums of equal rows, or maxima, are refused.
scaled() { # rows that are added to the variable, rows whose squares are added to the accumulator, op that adds them
  training_graph 'dim { size: 3 }' | sed '/name: "step"/d; /name: "loss"/d'
  vector base DT_FLOAT float_val "2 4"
  vector second DT_FLOAT float_val "0 2"
  scalar three DT_INT32 "int_val: 3"
  vector last DT_INT32 int_val "0 1"
  echo 'node { name: "rows" op: "Mul" input: "last" input: "id" }'
  node more Mul second number
  node x AddV2 base more
  rows x sum
  echo 'node { name: "all" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "shape" value { shape { dim { size: 3 } } } } attr { key: "shared_name" value { s: "all" } } }'
  node signs Sign x
  echo 'node { name: "sums" op: "GatherV2" input: "sum" input: "rows" input: "axis" }'
  node added Mul "$2" "$2"
  scatter="attr { key: \"dtype\" value { type: DT_FLOAT } } attr { key: \"Tindices\" value { type: DT_INT32 } } }"
  echo "node { name: \"add\" op: \"$3\" input: \"all\" input: \"rows\" input: \"added\" $scatter"
  echo "node { name: \"read\" op: \"ResourceGather\" input: \"all\" input: \"rows\" input: \"^add\" $scatter"
  node rate Rsqrt read
  node change Mul "$1" rate
  echo "node { name: \"step\" op: \"ResourceScatterSub\" input: \"w\" input: \"rows\" input: \"change\" $scatter"
  node loss Sum x axis ^step
}
scaled x x ResourceScatterAdd >"$work/scaled.pbtxt"
timeout -k 5 60 "$hlorun" -n 2 --data-parallel loss --fetch loss --input '0={0,0,0}' --input '1={0,0,0}' "$work/scaled.pbtxt" \
  >"$work/out" 2>&1
if grep -q '^out1 = f32\[3\] {-1.63299[0-9]*, -\(1\|0.99999[0-9]*\), 0}' "$work/out" &&
  grep -q '^out2 = f32\[3\] {6, 9, 0}' "$work/out"
then pass; else fail "rows that are scaled" "$work/out"; fi
for kinds in 'signs x ResourceScatterAdd' 'x sums ResourceScatterAdd' 'x x ResourceScatterMax'; do
  scaled $kinds >"$work/changed.pbtxt"
  expect_exit "rows: $kinds" 3 "$hlorun" check --data-parallel loss --fetch loss "$work/changed.pbtxt"
  expect_text "rows: $kinds" 'is no function of means'
done

# Adagrad on an Embedding of Keras: two replicas train as TensorFlow does with the whole batch.
timeout -k 5 60 "$hlorun" -n 2 --data-parallel loss --signature step --feed x='s32[2,3]' --feed y='f32[2,3]' --steps 4 \
  --feed "0=$cases/embedding_training/step.npz:in0" --feed "1=$cases/embedding_training/step.npz:in1" --no-shuffle \
  --expect "$cases/embedding_training/step.npz" "$cases/embedding_training" >"$work/out" 2>&1
code=$?
if [ $code -eq 0 ] && grep -q '^out0@1 ' "$work/out"; then pass; else fail "Adagrad on an Embedding: exit code $code" "$work/out"; fi

# Where the inputs leave the number of examples open, -n cuts the examples of all processes: signs of rows, and an update
# within a branch, are then those of one process. A graph that numbers its replicas is refused.
branch() { # name, op
  echo "function { signature { name: \"$1\" input_arg { name: \"w\" type: DT_FLOAT } input_arg { name: \"g\" type: DT_FLOAT }
    output_arg { name: \"next\" type: DT_FLOAT } } node_def { name: \"step\" op: \"$2\" input: \"w\" input: \"g\"
    attr { key: \"T\" value { type: DT_FLOAT } } } ret { key: \"next\" value: \"step:z:0\" } }"
}
open_graph() { # input that chooses the branch
  training_graph 'dim { size: 3 }' | sed '/name: "step"/d; /name: "loss"/d'
  echo 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "shape" value { shape { dim { size: -1 } } } } }
  node { name: "rows" op: "Cast" input: "x" attr { key: "SrcT" value { type: DT_FLOAT } } attr { key: "DstT" value { type: DT_INT32 } } }
  node { name: "old" op: "ReadVariableOp" input: "w" attr { key: "dtype" value { type: DT_FLOAT } } }'
  scalar three DT_INT32 "int_val: 3"
  scalar middle DT_FLOAT "float_val: 1"
  node less Sub x middle
  node numbered AddV2 x number
  node mean Mean x axis
  node signs Sign less
  rows signs sum
  node first Mean "$1" axis
  node large Greater first middle
  echo 'node { name: "new" op: "If" input: "large" input: "old" input: "sum" attr { key: "Tcond" value { type: DT_BOOL } }
    attr { key: "Tin" value { list { type: DT_FLOAT type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }
    attr { key: "then_branch" value { func { name: "then" } } } attr { key: "else_branch" value { func { name: "otherwise" } } } }
  node { name: "step" op: "AssignVariableOp" input: "w" input: "new" attr { key: "dtype" value { type: DT_FLOAT } } }'
  node loss Identity mean ^step
  echo "library {"
  branch then Sub
  branch otherwise Mul
  echo "}"
}
open_graph x >"$work/open.pbtxt"
timeout -k 5 60 "$hlorun" -n 2 --data-parallel loss --fetch loss --feed 'x=f32[3]' --input '1={5,6,7}' \
  --input '0={0,2,2,2,0,1}' "$work/open.pbtxt" >"$work/out" 2>&1
if grep -q '^out0 = f32\[\] 1.1666' "$work/out" && grep -q '^out1 = f32\[3\] {7, 6, 4}' "$work/out"; then pass
else fail "examples of all processes" "$work/out"; fi
if "$hlorun" --fetch loss --feed 'less=f32[2]' --feed 'first=f32[]' --feed 'x=f32[2]' --input '0={1,-1}' --input 1=0 \
  --input '2={1,2}' --input '3={1,2,3}' "$work/open.pbtxt" 2>"$work/err" | grep -q '^out1 = f32\[3\] {0, 2, -3}'
then pass; else fail "nodes that are no placeholders are fed" "$work/err"; fi
open_graph numbered >"$work/numbered.pbtxt"
expect_exit "a graph that numbers its replicas" 3 "$hlorun" check -n 2 --data-parallel loss --fetch loss --feed 'x=f32[3]' \
  "$work/numbered.pbtxt"
expect_text "a graph that numbers its replicas" "beside replica-id of the graph's own"

sed 's/dim { size: -1 }/unknown_rank: true/' "$work/open.pbtxt" >"$work/rank.pbtxt"
expect_exit "an input of unknown rank" 2 "$hlorun" check --fetch loss "$work/rank.pbtxt"
expect_text "an input of unknown rank" 'the shape of x:0 is not known; give it as --feed x:0='

# Rows that a branch gives, as many as the data say, are not those of all replicas.
{
  training_graph 'dim { size: 1 }'
  vector base DT_FLOAT float_val "1 2"
  node x AddV2 base number
  scalar zero DT_FLOAT "float_val: 0"
  node some Greater number zero
  echo 'node { name: "rows" op: "If" input: "some" input: "x" attr { key: "Tcond" value { type: DT_BOOL } }
    attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_INT64 } } }
    attr { key: "then_branch" value { func { name: "all" } } } attr { key: "else_branch" value { func { name: "none" } } } }'
  echo 'node { name: "floats" op: "Cast" input: "rows" attr { key: "DstT" value { type: DT_FLOAT } } }'
  node change Sum floats axis
  echo library {
  for branch in all none; do
    echo "function { signature { name: \"$branch\" input_arg { name: \"x\" type: DT_FLOAT }
      output_arg { name: \"found\" type: DT_INT64 } }
      node_def { name: \"sign\" op: \"$([ $branch = all ] && echo Identity || echo Neg)\" input: \"x\"
        attr { key: \"T\" value { type: DT_FLOAT } } }
      node_def { name: \"where\" op: \"Where\" input: \"sign:$([ $branch = all ] && echo output || echo y):0\"
        attr { key: \"T\" value { type: DT_FLOAT } } }
      ret { key: \"found\" value: \"where:index:0\" } }"
  done
  echo }
} >"$work/branches.pbtxt"
expect_exit "rows of branches" 3 "$hlorun" check --data-parallel loss --fetch loss "$work/branches.pbtxt"
expect_text "rows of branches" '--data-parallel: a branch gives rows whose number depends on data'
expect_exit "rows of branches in one process" 0 "$hlorun" --fetch loss --input '0={0}' "$work/branches.pbtxt"

# Numbers in a graph's text do not make the program as large as they are: a Tile is one broadcast, and as many results of
# an Unpack or parts of a Split are refused.
constant() { # name, value
  cat <<TEXT
node { name: "$1" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: $2 } } } }
TEXT
}
huge() { # description, exit code, op, inputs, attributes
  {
    constant count 369098752
    constant axis 0
    cat <<TEXT
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "many" op: "Tile" input: "x" input: "count" }
node { name: "y" op: "$3" $4 $5 }
TEXT
  } >"$work/huge.pbtxt"
  timeout -k 5 30 "$hlorun" check --fetch y "$work/huge.pbtxt" >"$work/out" 2>&1
  code=$?
  if [ $code -eq "$2" ]; then pass; else fail "$1: exit code $code, want $2" "$work/out"; fi
}
huge "many repetitions" 0 Neg 'input: "many"' ''
huge "many results" 3 Unpack 'input: "many"' 'attr { key: "num" value { i: 738197504 } }'
huge "many parts" 3 Split 'input: "axis" input: "many"' 'attr { key: "num_split" value { i: 738197504 } }'

# A large constant of a binary graph is in memory once, and once more as the product packs it;
# not for each reading. Messages are written from the inside.
varint() { # number
  local n=$1
  while [ "$n" -ge 128 ]; do
    printf "\\x$(printf %02x $((n % 128 + 128)))"
    n=$((n / 128))
  done
  printf "\\x$(printf %02x "$n")"
}
field() { # number, file: the bytes of the file as that field
  varint $(($1 * 8 + 2))
  varint "$(stat -c %s "$2")"
  cat "$2"
}
text_field() { # number, text
  varint $(($1 * 8 + 2))
  varint ${#2}
  printf %s "$2"
}
large_constant() { # elements, a multiple of 1024; writes $work/constant.pb: y = x w
  local rows=$(($1 / 1024))
  head -c $((4 * $1)) /dev/zero | tr '\0' '@' >"$work/content"
  { varint 8; varint "$rows"; } >"$work/dim"
  { varint 8; varint 1024; } >"$work/dim2"
  { field 2 "$work/dim"; field 2 "$work/dim2"; } >"$work/shape"
  { varint 8; varint 1; field 2 "$work/shape"; field 4 "$work/content"; } >"$work/tensor"
  field 8 "$work/tensor" >"$work/attr"
  { text_field 1 value; field 2 "$work/attr"; } >"$work/pair"
  { text_field 1 w; text_field 2 Const; field 5 "$work/pair"; } >"$work/node"
  field 1 "$work/node" >"$work/constant.pb"
  { text_field 1 x; text_field 2 Placeholder; } >"$work/node"
  field 1 "$work/node" >>"$work/constant.pb"
  { text_field 1 y; text_field 2 MatMul; text_field 3 x; text_field 3 w; } >"$work/node"
  field 1 "$work/node" >>"$work/constant.pb"
}
peak_of() { # elements: peak memory of a run, in bytes
  large_constant "$1"
  "$hlorun" --threads 1 --random-inputs --cache none --feed "x=f32[1,$(($1 / 1024))]" --stats "$work/stats.json" \
    "$work/constant.pb" >"$work/out" 2>&1 || return 1
  grep -m 1 -o '"peak_rss_bytes": [0-9]*' "$work/stats.json" | grep -o '[0-9]*$'
}
small=$(peak_of 1024) large=$(peak_of $((24 << 20)))
if [ "${large:-0}" -gt $((24 << 20)) ] && [ "$large" -lt $((small + (240 << 20))) ]; then pass
else fail "96 MiB of constant: peak memory $large, without it $small" "$work/out"; fi

# Elements that bytecode is written from where they lie.
large_constant $((1 << 19))
expect_exit "a large constant to bytecode" 0 "$hlorun" convert --to mlirbc --feed 'x=f32[1,512]' \
  -o "$work/constant.mlirbc" "$work/constant.pb"
"$hlorun" --random-inputs=3 --feed 'x=f32[1,512]' "$work/constant.pb" >"$work/want" 2>/dev/null
"$hlorun" --random-inputs=3 "$work/constant.mlirbc" >"$work/out" 2>/dev/null
if [ -s "$work/want" ] && cmp -s "$work/want" "$work/out"; then pass; else fail "bytecode of a large constant" "$work/out"; fi

# Each of thirty functions calls the next one twice: 2^30 bodies are refused, not inlined.
doubling() {
  local call='attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }'
  echo 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }'
  echo "node { name: \"y\" op: \"PartitionedCall\" input: \"x\" attr { key: \"f\" value { func { name: \"f1\" } } } $call } library {"
  for level in $(seq 30); do
    echo "function { signature { name: \"f$level\" input_arg { name: \"x\" type: DT_FLOAT } output_arg { name: \"o\" type: DT_FLOAT } }"
    for node in 'a x' 'b a:output:0'; do
      echo "node_def { name: \"${node% *}\" op: \"PartitionedCall\" input: \"${node#* }\""
      echo "attr { key: \"f\" value { func { name: \"f$((level + 1))\" } } } $call }"
    done
    echo 'ret { key: "o" value: "b:output:0" } }'
  done
  echo 'function { signature { name: "f31" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "o" type: DT_FLOAT } }'
  echo 'node_def { name: "b" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } } ret { key: "o" value: "b:y:0" } } }'
}
doubling >"$work/doubling.pbtxt"
timeout -k 5 120 "$hlorun" check --fetch y "$work/doubling.pbtxt" >"$work/out" 2>&1
code=$?
if [ $code -eq 3 ] && grep -q 'more than 100000 calls' "$work/out"; then pass
else fail "calls by doubling: exit code $code" "$work/out"; fi
huge "a wrong number of results" 3 Unpack 'input: "axis"' 'attr { key: "num" value { i: 2 } }'

# A constant must have the type that its node says.
printf '%s' 'node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {' \
  ' dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }' >"$work/dtype.pbtxt"
"$hlorun" check --fetch c "$work/dtype.pbtxt" >"$work/out" 2>&1
code=$?
if [ $code -eq 3 ] && grep -q 'the value is f32, attribute dtype s32' "$work/out" && grep -q 'in node c' "$work/out"; then pass
else fail "a constant of another type: exit code $code" "$work/out"; fi

# The last id says how many segments there are: ids that decrease, or that nothing tells when the graph is read.
{
  vector x DT_FLOAT float_val "1 2 3"
  vector falling DT_INT32 int_val "0 2 1"
  node y SegmentSum x falling
} >"$work/segments.pbtxt"
expect_exit "segments that decrease" 3 "$hlorun" check --fetch y "$work/segments.pbtxt"
expect_text "segments that decrease" 'segment id 1 follows 2'
{
  vector x DT_FLOAT float_val "1 2 3"
  echo 'node { name: "ids" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
    attr { key: "shape" value { shape { dim { size: 3 } } } } }'
  node y SegmentSum x ids
} >"$work/segments.pbtxt"
expect_exit "segments of any number" 3 "$hlorun" check --fetch y "$work/segments.pbtxt"
expect_text "segments of any number" 'not known at compile time'

# A node has as many inputs as its operation takes.
{
  scalar c DT_FLOAT 'float_val: 1'
  node y Sin c c
} >"$work/inputs.pbtxt"
expect_exit "too many inputs" 3 "$hlorun" check --fetch y "$work/inputs.pbtxt"
expect_text "too many inputs" '2 inputs, want 1'
expect_text "too many inputs" 'in node y (Sin)'

# A size that is added to itself forty times has no bound that is looked for along 2^40 ways.
{
  echo 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "shape" value { shape { dim { size: 6 } } } } }'
  node found Where x
  echo 'node { name: "size0" op: "Shape" input: "found" attr { key: "T" value { type: DT_INT64 } } }'
  for k in $(seq 40); do
    echo "node { name: \"size$k\" op: \"AddV2\" input: \"size$((k - 1))\" input: \"size$((k - 1))\""
    echo 'attr { key: "T" value { type: DT_INT32 } } }'
  done
  node y Reshape x size40
} >"$work/sizes.pbtxt"
expect_exit "a size that doubles" 3 timeout -k 5 60 "$hlorun" check --fetch y "$work/sizes.pbtxt"
expect_text "a size that doubles" 'input 1 must be a compile-time constant'

# Truth values are subtracted modulo 2.
truths() { # name, values
  local name=$1 value; shift
  value="tensor { dtype: DT_BOOL tensor_shape { dim { size: $# } }"
  for truth; do value="$value bool_val: $truth"; done
  echo "node { name: \"$name\" op: \"Const\" attr { key: \"dtype\" value { type: DT_BOOL } } attr { key: \"value\" value { $value } } } }"
}
{
  truths x true false true false
  truths u true true
  echo 'node { name: "i" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {'
  echo 'dtype: DT_INT32 tensor_shape { dim { size: 2 } dim { size: 1 } } int_val: 0 int_val: 1 } } } }'
  echo 'node { name: "y" op: "TensorScatterSub" input: "x" input: "i" input: "u" }'
} >"$work/truths.pbtxt"
"$hlorun" --fetch y "$work/truths.pbtxt" >"$work/out" 2>&1
if grep -q 'pred\[4\] {false, true, true, false}' "$work/out"; then pass; else fail "truth values are subtracted" "$work/out"; fi

# An optimizer changes the rows that the indices name, and leaves the others.
{
  for name in w a; do
    echo "node { name: \"$name\" op: \"VarHandleOp\" attr { key: \"dtype\" value { type: DT_FLOAT } }"
    echo 'attr { key: "shape" value { shape { dim { size: 3 } } } } }'
  done
  scalar rate DT_FLOAT 'float_val: 0.5'
  scalar momentum DT_FLOAT 'float_val: 0.5'
  vector g DT_FLOAT float_val "1 2"
  vector i DT_INT32 int_val "2 0"
  node step ResourceSparseApplyMomentum w a rate g i momentum
  node y ReadVariableOp w ^step
} >"$work/rows.pbtxt"
"$hlorun" --fetch y --input '0={1,2,3}' --input '1={4,5,6}' "$work/rows.pbtxt" >"$work/out" 2>&1
printf 'out0 = f32[3] {-1, 2, 1}\nout1 = f32[3] {-1, 2, 1}\nout2 = f32[3] {4, 5, 4}\n' >"$work/want"
if cmp -s "$work/out" "$work/want"; then pass; else fail "an optimizer on rows" "$work/out"; fi

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
