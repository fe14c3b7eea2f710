#!/usr/bin/env bash
# Options of global programs as users mistype them: --mesh, --sharding, and arrays for one process, as options and in archives.
# Each is refused with what was found and what was wanted.
set -u
. "$(dirname "$0")/common.sh"

cat >"$work/plain.mlir" <<'PROGRAM'
module @plain {
  func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x10xf32>) -> tensor<8x10xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x10xf32>) -> tensor<8x10xf32>
    return %0 : tensor<8x10xf32>
  }
}
PROGRAM
expect_exit "an axis that is none" 2 "$hlorun" -n 4 --mesh data=4 --sharding 'in0=model' --random-inputs "$work/plain.mlir"
expect_text "an axis that is none" 'option --sharding: the mesh has no axis "model", want one of ["data"=4]'
expect_exit "too many dimensions" 2 "$hlorun" -n 4 --mesh data=4 --sharding 'in0=-,-,data' --random-inputs \
  "$work/plain.mlir"
expect_text "too many dimensions" '"in0=-,-,data": axes for dimension 2 of a value of rank 2'
expect_exit "an input that is none" 2 "$hlorun" -n 4 --mesh data=4 --sharding 'in5=data' --random-inputs \
  "$work/plain.mlir"
expect_text "an input that is none" 'in5 of a program of 2 inputs'
expect_exit "a mesh that does not fit" 2 "$hlorun" -n 3 --mesh data=4 --random-inputs "$work/plain.mlir"
expect_text "a mesh that does not fit" 'has 4 devices, which do not fit 3 processes'
expect_exit "a mesh of the program that does not fit" 2 "$hlorun" -n 3 --random-inputs \
  "$source_dir/tests/corpora/auto_spmd/matmul_blocks/prog.mlir"
expect_text "a mesh of the program that does not fit" \
  'start them with hlorun -n 8, a divisor of that, or give the axes other sizes by --mesh'
expect_exit "a mesh with an axis twice" 2 "$hlorun" -n 4 --mesh data=2,data=2 --random-inputs "$work/plain.mlir"
expect_text "a mesh with an axis twice" 'two axes "data"'
expect_exit "an axis twice" 2 "$hlorun" -n 4 --mesh data=4 --sharding in0=data,data --random-inputs "$work/plain.mlir"
expect_exit "no mesh" 2 "$hlorun" -n 4 --sharding in0=data --random-inputs "$work/plain.mlir"
expect_text "no mesh" 'give one with --mesh'
expect_exit "check: a mesh that does not fit" 2 "$hlorun" check -n 3 --mesh data=4 "$work/plain.mlir"
for mesh in data data:4 4 data=0; do
  expect_exit "--mesh $mesh" 2 "$hlorun" -n 4 --mesh "$mesh" --random-inputs "$work/plain.mlir"
  expect_text "--mesh $mesh" "option --mesh: \"$mesh\": "
  expect_text "--mesh $mesh" "write axes and sizes as in data=4,model=2"
done
while IFS='|' read -r sharding message; do
  expect_exit "--sharding '$sharding'" 2 "$hlorun" --mesh data=2 --sharding "$sharding" --random-inputs "$work/plain.mlir"
  expect_text "--sharding '$sharding'" "$message"
done <<'SHARDINGS'
in0=|option --sharding: "in0=": no axis for dimension 0, want axes, '-' or '?'
in0=,data|"in0=,data": no axis for dimension 0
in0=data,|"in0=data,": no axis for dimension 1
in0=data+|"in0=data+": no axis for dimension 0 after '+'
in0=data+-|"in0=data+-": '-' beside an axis of dimension 0
in0=data+data|"in0=data+data": axis "data" is used twice
in0=data:2|"in0=data:2": ":2", want ',' between dimensions and '+' between axes
in0=data;|"in0=data": nothing after ';', want inN=AXES or outN=AXES
in0=data;;in1=-|option --sharding: "", want inN=AXES or outN=AXES
in0=data;in0=data|"in0=data": in0 is named twice
in7=data|"in7=data": in7 of a program of 2 inputs, want at most in1
out1=data|"out1=data": out1 of a program of 1 output, want at most out0
0=data|option --sharding: "0=data", want inN=AXES or outN=AXES
SHARDINGS
while IFS='|' read -r mesh message; do
  expect_exit "--mesh '$mesh'" 2 "$hlorun" --mesh "$mesh" --random-inputs "$work/plain.mlir"
  expect_text "--mesh '$mesh'" "$message"
done <<'MESHES'
=2|the list has "=2", want the name of an axis
data=2,|the list ends early, want the name of an axis
-=2|an axis "-", which means none in --sharding
data=99999|99999 devices or more, want at most 32767
data=1000,model=1000|1000000 devices or more, want at most 32767
MESHES

# Arrays of one process, in archives and as options.
parts=(--mesh data=2 --sharding 'in0=data' --random-inputs --quiet)
row='{1,2,3,4,5,6}'
rows="{$row,$row,$row,$row}"
expect_exit "two parts" 0 "$hlorun" "${parts[@]}" --input "0@0=f32[4,6]$rows" --input "in0@1=f32[4,6]$rows" --input in1=0.5 \
  --output "$work/parts.npz" "$work/plain.mlir"
expect_exit "two parts are the whole" 0 "$hlorun" -n 1 --input "0=f32[8,6]{${rows:1:-1},${rows:1:-1}}" --input 1=0.5 --quiet \
  --expect "$work/parts.npz" "$work/plain.mlir"
expect_exit "a part of other sizes" 2 "$hlorun" "${parts[@]}" --input "0@1=f32[3,6]{$row,$row,$row}" "$work/plain.mlir"
expect_text "a part of other sizes" "no value of f32[4,6]"
for name in 0@2 in0@2 0@x 0@ 0@-1; do
  expect_exit "--input $name" 2 "$hlorun" "${parts[@]}" --input "$name=1" "$work/plain.mlir"
  expect_text "--input $name" "--input has $name, want a process from 0 to 1 after '@'"
done
expect_exit "--input in2" 2 "$hlorun" "${parts[@]}" --input "in2=1" "$work/plain.mlir"
expect_text "--input in2" "there is no parameter 2, the program has 2"
if command -v python3 >/dev/null; then
  # member NAME ROWS: an archive with this array of zeros
  member() {
    python3 - "$work/member.npz" "$@" <<'SCRIPT'
import struct, sys, zipfile
path, name, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 6), }}"
header = header.ljust(117) + "\n"
with zipfile.ZipFile(path, "w") as archive:
    archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(rows * 24))
SCRIPT
  }
  while IFS='|' read -r name count message; do
    member "$name" "$count"
    expect_exit "an archive with $name of $count rows" 2 "$hlorun" "${parts[@]}" --input "$work/member.npz" "$work/plain.mlir"
    expect_text "an archive with $name of $count rows" "$message"
  done <<'MEMBERS'
in0@9|4|member.npz has in0@9, want a process from 0 to 1 after '@'
in0@x|4|member.npz has in0@x, want a process from 0 to 1 after '@'
in0@|4|member.npz has in0@, want a process from 0 to 1 after '@'
in0@00|4|member.npz has in0@00, want a process from 0 to 1 after '@'
in00|8|member.npz has in00, want in0
in2|8|member.npz has in2, the program has 2 parameters
in0@0|3|member.npz is float32[3,6], the program has f32[4,6] (float32)
in0@0|8|f32[4,6] is this process's part of f32[8,6]
in0|4|member.npz is float32[4,6], the program has f32[8,6] (float32)
MEMBERS
  member in0@0 4
  expect_exit "an archive with a part" 0 "$hlorun" "${parts[@]}" --input "$work/member.npz" "$work/plain.mlir"
else
  skip "python3 is not there"
fi
finish
