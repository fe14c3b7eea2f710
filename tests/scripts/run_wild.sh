#!/usr/bin/env bash
# Both engines on wild inputs: NaN, infinities, zeros of both signs, denormal and huge numbers, ends
# of integers, indices out of range. Programs are those of tests/corpora/ops and tests/cases; what need
# not agree is in tests/corpora/wild.list with its reason. WILD_SEEDS lists the seeds.
set -u
. "$(dirname "$0")/common.sh"

list=$source_dir/tests/corpora/wild.list
# patterns KIND: of the list, one a line.
patterns() { awk -v kind="$1" '$1 == kind { print $2 }' "$list"; }

patterns skip >"$work/skip"
patterns differs >"$work/differs"
find "$source_dir/tests/cases" -maxdepth 1 -name '*.npz' | sort | sed 's/\.npz$//' |
  while read -r case; do ls "$case".hlo "$case".mlir 2>/dev/null; done | grep -Evf "$work/skip" >"$work/cases"

for seed in ${WILD_SEEDS:-1 2}; do
  # shellcheck disable=SC2046
  timeout -k 5 300 "$hlorun" test --timeout 30 --wild-inputs="$seed" "$source_dir/tests/corpora/ops" \
    $(cat "$work/cases") >"$work/out" 2>&1 </dev/null
  grep '^FAIL' "$work/out" | sed 's/^FAIL \([^:]*\):.*/\1/' >"$work/failed"
  listed=$(grep -cEf "$work/differs" "$work/failed")
  counts=$(tail -n 1 "$work/out")
  case $counts in
    *" passed, "*" failed"*) ;;
    *) fail "hlorun test --wild-inputs=$seed" "$work/out"; continue ;;
  esac
  # Listed programs that differ are as they should be.
  echo "$counts" | awk -v listed="$listed" '{ printf "%d passed, %d failed\n", $1 + listed, $3 - listed }' \
    >"$work/counts"
  add_counts "$work/counts"
  grep -Evf "$work/differs" "$work/failed" >"$work/wrong"
  grep -Ff "$work/wrong" "$work/out" | sed "s/^/seed $seed: /"
done

# Programs that have no arrays beside them.
for program in "$source_dir"/tests/corpora/wild/*.hlo; do
  for seed in 1 2 3 4; do
    name="wild inputs $seed of $(basename "$program")"
    expect_exit "$name, reference" 0 "$hlorun" --engine reference --wild-inputs=$seed -o "$work/want.npz" "$program"
    expect_exit "$name" 0 "$hlorun" --wild-inputs=$seed --expect "$work/want.npz" "$program"
  done
done
finish
