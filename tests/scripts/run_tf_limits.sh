#!/usr/bin/env bash
# TensorFlow graphs that ask for too much, or that are wrong: large numbers, memory of large constants, functions that
# double, types, indices.
set -u
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/tf_nodes.sh"

# Numbers in a graph's text do not make the program as large as they are: a Tile is one broadcast, and as many results of
# an Unpack or parts of a Split are refused.
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
finish
