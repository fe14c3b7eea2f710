#!/usr/bin/env bash
# Every op of ops/table/ops.def occurs in a program that the tests run and compare: under tests/cases (not
# tests/cases/invalid), tests/corpora or examples, by its HLO name, or by its name in StableHLO or CHLO: that of its row,
# else its HLO name with underscores.
set -u
source_dir=${TEST_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$source_dir" || exit 99
passed=0 failed=0

# The ops that programs use, one of a line: `NAME(` of HLO text after " = TYPE", and dialect.NAME of MLIR.
used=$(find tests/cases tests/denormals tests/corpora examples -path tests/cases/invalid -prune -o \( -name '*.hlo' -o -name '*.mlir' \) -print0 |
  xargs -0 grep -hoE '[]})] [a-z][a-z0-9-]*\(|\b(stablehlo|chlo|mhlo)\.[a-z0-9_]+' |
  sed -E 's/^[]})] //; s/\($//; s/^(stablehlo|chlo|mhlo)\./mlir:/' | sort -u)

while IFS='|' read -r name stablehlo; do
  if grep -qxF -e "$name" <<<"$used"; then passed=$((passed + 1))
  elif grep -qxF -e "mlir:${stablehlo:-${name//-/_}}" <<<"$used"; then passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "no case has the op $name${stablehlo:+ ($stablehlo)}: add one under tests/cases"
  fi
done < <(sed -nE 's/^OP\([A-Z0-9_]+, *"([^"]*)", *"([^"]*)".*/\1|\2/p' ops/table/ops.def)
[ $((passed + failed)) -gt 100 ] || { echo "ops.def was not understood"; failed=$((failed + 1)); }

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
