#!/usr/bin/env bash
# valgrind's memcheck over the cases of every op in the reference engine, and over what runs of the compiled one: valgrind
# knows no AVX-512, so that code is made for vectors of 32 bytes, and oneDNN and OpenBLAS take theirs for AVX2.
#
#   run_valgrind.sh HLORUN [CASE...]          the last line is "N passed, N failed"
#
# Reads beyond arrays, values that were never set, and memory that nobody holds any more (definitely lost) count. What
# libraries do is suppressed in valgrind.supp, with reasons. COUNT=N takes every Nth case; ENGINES="reference compiled".
set -u
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
hlorun=${1:?run_valgrind.sh HLORUN [CASE...]}
shift
command -v valgrind >/dev/null || { echo "skipped: valgrind is not there"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export HLORUN_CACHE=none HLORUN_VECTOR=32 ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=1
memcheck=(valgrind --quiet --error-exitcode=77 --leak-check=full --errors-for-leak-kinds=definite
  --show-leak-kinds=definite --suppressions="$source_dir/tests/tools/valgrind.supp" --fair-sched=yes
  --trace-children=yes)
passed=0 failed=0

# expect NAME COMMAND...: exit code 0; other codes of programs that fail by intent are not asked for here.
expect() {
  local name=$1 code=0
  shift
  timeout 600 "${memcheck[@]}" "$@" >"$work/out" 2>&1 </dev/null || code=$?
  if [ $code -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name: exit code $code"
    grep -m 40 '^==' "$work/out" || tail -n 10 "$work/out"
  fi
}

cases=("$@")
if [ $# -eq 0 ]; then
  mapfile -t cases < <(find "$source_dir/tests/cases" -maxdepth 1 \( -name '*.mlir' -o -name '*.hlo' \) | sort |
    awk -v every="${COUNT:-1}" 'NR % every == 0')
fi
for engine in ${ENGINES:-reference compiled}; do
  for case in "${cases[@]}"; do
    expect "$(basename "$case"), $engine" "$hlorun" test --jobs 1 --engine "$engine" "$case"
  done
done
echo "$passed passed, $failed failed"
exit $((failed > 0))
