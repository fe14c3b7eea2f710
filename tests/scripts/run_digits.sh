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

# The same bits in every run, however it is started, compiled and divided among threads.
expect_exit "8 processes, a thread each" 0 "$hlorun" -n 8 --threads 1 --output "$work/bits.npz" "${two_epochs[@]}"
same_bits() { # NAME COMMAND...
  local name=$1
  shift
  rm -f "$work/again.npz"
  expect_exit "$name" 0 "$@" --output "$work/again.npz" "${two_epochs[@]}" || return 0
  if cmp -s "$work/bits.npz" "$work/again.npz"; then pass; else fail "$name: other bits"; fi
}
for run in 1 2 3; do same_bits "8 processes, run $run" "$hlorun" -n 8; done
same_bits "8 processes, two threads each" "$hlorun" -n 8 --threads 2
same_bits "8 processes, nothing from the cache" "$hlorun" -n 8 --cache none
for algorithm in shm machines gather direct; do
  HLORUN_ALLREDUCE=$algorithm same_bits "8 processes, all-reduce by $algorithm" "$hlorun" -n 8
done
if command -v "$mpirun" >/dev/null; then
  same_bits "8 processes, started by mpirun" "$mpirun" -n 8 "$hlorun"
  OMPI_MCA_btl=self,tcp same_bits "8 processes, messages by TCP" "$mpirun" -n 8 "$hlorun"
else
  skip "no mpirun"
fi

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
