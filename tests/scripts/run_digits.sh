#!/usr/bin/env bash
# The digits example: the same losses and weights on 1, 2, 4 and 8 processes, and an accuracy of 95% after a short
# training.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
digits=$source_dir/examples/digits

two_epochs=(--epochs 2 --input "$digits/init.npz" --carry 1-13:0-12 --feed "13=$digits/train_images.npy"
  --feed "14=$digits/train_labels.npy" "$digits/train.hlo")

expect_exit "1 process" 0 "$hlorun" --output "$work/one.npz" "${two_epochs[@]}"
for processes in 2 4 8; do
  # The sums are made in another order, and Adam divides by roots of small numbers: rounding, some steps later.
  expect_exit "$processes processes give what one gives" 0 \
    "$hlorun" -n "$processes" --rtol 1e-3 --expect "$work/one.npz" "${two_epochs[@]}"
done

# A copy of the program for the actual number of rows runs compiled.
expect_exit "one process explained" 0 "$hlorun" --explain "${two_epochs[@]}"
if grep -q "generated code" "$work/out"; then
  pass
else
  fail "the compiled engine did not run the training" "$work/out"
fi

HLORUN=$hlorun timeout -k 5 300 "$digits/run.sh" "$work/trained" 8 20 >"$work/out" 2>&1 || fail "run.sh" "$work/out"
for file in weights.npz loss.svg; do
  if [ -s "$work/trained/$file" ]; then pass; else fail "run.sh wrote no $file"; fi
done
percent=$(sed -n 's/^test accuracy: \([0-9]*\).*/\1/p' "$work/out")
if [ "${percent:-0}" -ge 95 ]; then pass; else fail "accuracy is '$percent' percent, want at least 95" "$work/out"; fi
finish
