#!/usr/bin/env bash
# TensorFlow graphs on several processes: collectives and transfers, --data-parallel, and -n for open sizes.
set -u
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/tf_nodes.sh"

cases=$source_dir/tests/cases/tf
model=$cases/adam

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
finish
