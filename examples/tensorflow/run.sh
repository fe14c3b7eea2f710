#!/usr/bin/env bash
# Trains the Keras model of model/ on several processes, without TensorFlow: run.sh [FOLDER [PROCESSES [STEPS]]]
# FOLDER (default: tensorflow-out) gets the checkpoints, and trained/, a SavedModel with the trained weights. HLORUN names the
# command, if it is not on the path; MODEL another folder that export.py wrote.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hlorun=${HLORUN:-hlorun}
model=${MODEL:-$here/model}
out=${1:-tensorflow-out}
processes=${2:-8}
steps=${3:-200}
digits=$here/../digits
mkdir -p "$out"

# Each process takes 16 images a step from its own part of the data; Adam sees the mean of their gradients.
"$hlorun" -n "$processes" --signature step --data-parallel loss --feed 'images=u8[16,64]' --feed 'labels=u8[16]' \
  --feed "0=$digits/train_images.npy" --feed "1=$digits/train_labels.npy" --steps "$steps" --metric 0=loss \
  --checkpoint "$out/checkpoints" --every "$steps" --checkpoint-format tensor-bundle --overwrite "$model" |
  grep -v '^out'

# The checkpoint has TensorFlow's form, with the names of the model's own: it takes the place of the model's variables.
rm -rf "$out/trained"
cp -r "$model" "$out/trained"
last=$(printf '%s/checkpoints/step-%012d' "$out" "$steps")
cp "$last"/variables.index "$last"/variables.data-00000-of-00001 "$out/trained/variables/"

# Images that the training has not seen.
"$hlorun" --signature accuracy --feed 'images=u8[357,64]' --feed 'labels=u8[357]' --input "0=$digits/test_images.npy" \
  --input "1=$digits/test_labels.npy" --metric 0=accuracy "$out/trained" |
  awk '/^accuracy/ { printf "test accuracy: %.1f%%\n", 100 * $2 }'
"$hlorun" --feed 'images=u8[357,64]' --input "0=$digits/test_images.npy" --output "$out/scores.npz" "$out/trained"
echo "trained model: $out/trained, scores of the test images: $out/scores.npz"
