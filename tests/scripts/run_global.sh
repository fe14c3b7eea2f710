#!/usr/bin/env bash
# Global programs: the corpus on fewer processes than its meshes have, whole results in files, meshes and shardings of the
# command line, reports, and what is refused. run_corpora.sh runs the corpus on its own number of processes.
set -u
. "$(dirname "$0")/common.sh"

corpus=$source_dir/tests/corpora/auto_spmd

# On one process annotations are ignored; on two and four a part of the mesh is used. Manual computations fix the number.
for folder in "$corpus"/*/; do
  name=$(basename "$folder")
  for processes in 1 2 4; do
    want=0
    ! grep -qE 'sdy.manual_computation|SPMDFullToShardShape' "$folder/prog.mlir" || want=2
    [ "$processes" -eq 1 ] || ! grep -q '"d"=3' "$folder/prog.mlir" || want=2
    expect_exit "$name on $processes" "$want" "$hlorun" -n "$processes" --quiet --input "$folder/io.npz" \
      --expect "$folder/io.npz" "$folder/prog.mlir"
  done
done

# Whole results, which one process reads back as what it expects; and parts.
folder=$corpus/matmul_blocks
expect_exit "whole results" 0 "$hlorun" -n 8 --input "$folder/io.npz" --output "$work/whole.npz" "$folder/prog.mlir"
expect_exit "whole results are those of one process" 0 "$hlorun" -n 1 --input "$folder/io.npz" \
  --expect "$work/whole.npz" "$folder/prog.mlir"
expect_exit "parts of results" 0 "$hlorun" -n 8 --input "$folder/io.npz" --output "$work/parts.txt" --output-shards \
  "$folder/prog.mlir"
grep -q '^out0@7 = f32\[4,4\]' "$work/parts.txt" && pass || fail "out0@7 is a part" "$work/parts.txt"
"$hlorun" -n 8 --input "$folder/io.npz" "$folder/prog.mlir" >"$work/out" 2>&1
expect_text "whole results are printed" "out0 = f32[16,8]"

# A program without annotations, cut by options.
cat >"$work/plain.mlir" <<'PROGRAM'
module @plain {
  func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x10xf32>) -> tensor<8x10xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x10xf32>) -> tensor<8x10xf32>
    %1 = stablehlo.tanh %0 : tensor<8x10xf32>
    return %1 : tensor<8x10xf32>
  }
}
PROGRAM
expect_exit "the plain program" 0 "$hlorun" -n 1 --random-inputs --output "$work/one.npz" "$work/plain.mlir"
for sharding in 'in0=data,model' 'in0=data,-;in1=-,model;out0=data,model' 'in1=model,data' 'in0=data+model' 'out0=?,data'; do
  expect_exit "--sharding '$sharding'" 0 "$hlorun" -n 4 --mesh data=2,model=2 --sharding "$sharding" --random-inputs \
    --output "$work/four.npz" "$work/plain.mlir"
  expect_exit "--sharding '$sharding': the same" 0 "$hlorun" -n 1 --random-inputs --quiet --expect "$work/four.npz" \
    "$work/plain.mlir"
done
expect_exit "--explain-sharding" 0 "$hlorun" -n 4 --mesh data=2,model=2 --sharding 'in0=data,-' --explain-sharding \
  "$work/plain.mlir"
expect_text "the report has the sharding" '<@mesh, [{"data"}, {}]> forward by'

expect_exit "--explain-sharding of collectives" 0 "$hlorun" -n 4 --mesh data=2,model=2 \
  --sharding 'in0=-,model;in1=model,-;out0=-,-' --explain-sharding "$work/plain.mlir"
expect_text "the report has the collective" 'sends 320 bytes: all-reduce of f32[8,10] among 2'
expect_text "the report has the sum" '1 collective, by which a process sends 320 bytes'

# Refused: with the numbers, and a place where there is one.
expect_exit "an axis that is none" 2 "$hlorun" -n 4 --mesh data=4 --sharding 'in0=model' --random-inputs "$work/plain.mlir"
expect_text "an axis that is none" 'the mesh has no axis "model"'
expect_exit "too many dimensions" 2 "$hlorun" -n 4 --mesh data=4 --sharding 'in0=-,-,data' --random-inputs \
  "$work/plain.mlir"
expect_exit "an input that is none" 2 "$hlorun" -n 4 --mesh data=4 --sharding 'in5=data' --random-inputs \
  "$work/plain.mlir"
expect_text "an input that is none" 'in5 of a program of 2 inputs'
expect_exit "a mesh that does not fit" 2 "$hlorun" -n 3 --mesh data=4 --random-inputs "$work/plain.mlir"
expect_text "a mesh that does not fit" 'has 4 devices, which do not fit 3 processes'
expect_exit "a mesh that is none" 2 "$hlorun" -n 4 --mesh data --random-inputs "$work/plain.mlir"
# annotate SHARDING: the program with this sharding of its first argument.
annotate() {
  printf 'module @m {\n  sdy.mesh @mesh = <["a"=2, "b"=2]>\n  func.func @main(%%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<%s>}) -> tensor<8x6xf32> {\n    %%0 = stablehlo.tanh %%x : tensor<8x6xf32>\n    return %%0 : tensor<8x6xf32>\n  }\n}\n' "$1" >"$work/bad.mlir"
}
while IFS='|' read -r sharding message; do
  annotate "$sharding"
  expect_exit "$sharding" 3 "$hlorun" -n 4 --random-inputs "$work/bad.mlir"
  expect_text "$sharding" "$message"
  expect_text "$sharding has a place" 'bad.mlir:3:'
done <<'CASES'
@mesh, [{"c"}, {}]|mesh @mesh has no axis "c", want one of ["a"=2, "b"=2]
@other, [{"a"}, {}]|there is no mesh @other
@mesh, [{"a"}, {"a"}]|axis "a" is used twice
@mesh, [{"a"}]|a sharding of 1 dimensions for a value of rank 2
@mesh, [{"a":(1)3}, {}]|sub-axis (1)3 of axis "a", want one that divides 2
@mesh, [{"a", "a"}, {}]|axis "a" is used twice
@mesh, [{"a"}, {}], replicated={"a"}|axis "a" is used twice
CASES
finish
