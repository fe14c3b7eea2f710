#!/usr/bin/env bash
# A short, repeatable run of the fuzz target: every program of the tree as it is, then changed copies of them. Longer runs:
# configure with --enable-fuzzing CC=clang, then tests/fuzz_hlo_text -max_total_time=SECONDS FOLDER
set -u
. "$(dirname "$0")/common.sh"
fuzz=$build_dir/tests/fuzz_hlo_text
mapfile -t programs < <(find "$source_dir/examples" "$source_dir/tests" -name '*.hlo' | sort)

expect_exit "own texts" 0 "$fuzz"
expect_exit "programs as they are" 0 "$fuzz" "${programs[@]}"
for seed in 1 2 3; do
  expect_exit "changed programs, seed $seed" 0 "$fuzz" --mutate 10000 "$seed" "${programs[@]}"
done
finish
