#!/usr/bin/env bash
# A short, repeatable run of the fuzz targets: every program of the tree as it is, then changed copies of them. Longer
# runs: configure with --enable-fuzzing CC=clang-19, then tests/fuzz_hlo_text -max_total_time=SECONDS FOLDER
set -u
. "$(dirname "$0")/common.sh"

for form in hlo mlir; do
  fuzz=$build_dir/tests/fuzz_${form}_text
  mapfile -t programs < <(find "$source_dir/examples" "$source_dir/tests" -name "*.$form" | sort)
  expect_exit "$form: own texts" 0 "$fuzz"
  expect_exit "$form: programs as they are" 0 "$fuzz" "${programs[@]}"
  for seed in 1 2 3; do
    expect_exit "$form: changed programs, seed $seed" 0 "$fuzz" --mutate 10000 "$seed" "${programs[@]}"
  done
done
# Inputs that libFuzzer kept, each of which reached code that no other did.
for corpus in "$source_dir"/tests/fuzz/corpus/*; do
  target=$(basename "$corpus")
  expect_exit "kept inputs of $target" 0 "$build_dir/tests/$target" --corpus "$corpus"
  grep -qE '^[1-9][0-9]* inputs$' "$work/out" || fail "kept inputs of $target: none" "$work/out"
done
expect_exit "bytecode: own files" 0 "$build_dir/tests/fuzz_bytecode"
expect_exit "protos: own files" 0 "$build_dir/tests/fuzz_hlo_proto"
expect_exit "objects: own files" 0 "$build_dir/tests/fuzz_object"
expect_exit "shardings: own texts" 0 "$build_dir/tests/fuzz_partition"
expect_exit "shardings: changed programs" 0 "$build_dir/tests/fuzz_partition" --mutate 20000 1 \
  "$source_dir"/tests/corpora/auto_spmd/*/*.mlir
expect_exit "arrays, feeds, checkpoints, cache: own files" 0 "$build_dir/tests/fuzz_files"
expect_exit "attributes for handlers of the FFI" 0 "$build_dir/tests/fuzz_ffi"
expect_exit "calls of the C API" 0 "$build_dir/tests/fuzz_api"
expect_exit "graphs: own texts" 0 "$build_dir/tests/fuzz_graph"
mapfile -t graphs < <(find "$source_dir/tests/cases/tf" "$source_dir/tests/forms" -size -40k \
  \( -name '*.pb' -o -name '*.jax_export' \) | sort)
expect_exit "graphs: changed files" 0 "$build_dir/tests/fuzz_graph" --mutate 1000 1 "${graphs[@]}"
finish
