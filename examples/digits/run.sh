#!/usr/bin/env bash
# Trains the digit classifier and tests it: run.sh [FOLDER [PROCESSES [EPOCHS]]]
# FOLDER (default: digits-out) gets weights.npz and loss.svg. HLORUN names the command, if it is not on the path.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hlorun=${HLORUN:-hlorun}
out=${1:-digits-out}
processes=${2:-8}
epochs=${3:-40}
mkdir -p "$out"

# Results 1 to 13 (weights, Adam's moments, step number) are the next step's parameters 0 to 12; the images and labels of a
# step come from the data set, each process its own part.
"$hlorun" -n "$processes" --epochs "$epochs" --input "$here/init.npz" --carry 1-13:0-12 \
  --feed "13=$here/train_images.npy" --feed "14=$here/train_labels.npy" \
  --metric 0=loss --curve "$out/loss.svg" --output "$out/weights.npz" "$here/train.hlo"

weights=()
for k in 0 1 2 3; do weights+=(--input "$k=$out/weights.npz:out$((k + 1))"); done
"$hlorun" "${weights[@]}" --input "4=$here/test_images.npy" --input "5=$here/test_labels.npy" \
  --metric 0=accuracy "$here/test.hlo" | awk '/^accuracy/ { printf "test accuracy: %.1f%%\n", 100 * $2 }'
echo "weights: $out/weights.npz, loss curve: $out/loss.svg"
