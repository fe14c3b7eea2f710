#!/usr/bin/env bash
# Code for AVX2, on a processor that has AVX-512, too: the unit suites of generated code and the cases with vectors of 32
# bytes. No kernel of the cases is left to LLVM, as one with an instruction that AVX2 lacks would be.
set -u
. "$(dirname "$0")/common.sh"
export HLORUN_VECTOR=32 HLORUN_CACHE=none
suites="x64 x64_division x64_lanes jit_math jit_ops jit_random jit_reduce"

# shellcheck disable=SC2086 # several suites
timeout -k 5 300 "$build_dir/tests/unit_tests" $suites >"$work/out" 2>&1 </dev/null
add_counts "$work/out" || fail "unit suites with vectors of 32 bytes" "$work/out"

HLORUN_LOG=jit:debug timeout -k 5 300 "$hlorun" test --engine compiled "$source_dir/tests/cases" >"$work/out" 2>&1 </dev/null
add_counts "$work/out" || fail "hlorun test tests/cases with vectors of 32 bytes" "$work/out"
if ! grep -q avx2 /proc/cpuinfo; then skip "kernels left to LLVM: there is no AVX2"; finish; fi
grep 'left to LLVM' "$work/out" >"$work/left"
if [ -s "$work/left" ]; then fail "kernels of the cases are left to LLVM" "$work/left"; else pass; fi

finish
