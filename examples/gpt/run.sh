#!/usr/bin/env bash
# Trains the small GPT: run.sh [FOLDER [PROCESSES [STEPS]]]
# FOLDER (default: gpt-out) gets weights.npz, loss.svg and trace.json. HLORUN names the command, if it is not on the path.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hlorun=${HLORUN:-hlorun}
out=${1:-gpt-out}
processes=${2:-2}
steps=${3:-300}
mkdir -p "$out"

# Results 1 to 60 (weights and the two moments of their gradients) are the next step's parameters 0 to 59; the text comes
# in windows, each process its own part.
"$hlorun" -n "$processes" --steps "$steps" --input "$here/init.npz" --carry 1-60:0-59 --feed "60=$here/windows.npy" \
  --metric 0=loss --curve "$out/loss.svg" --trace "$out/trace.json" --output "$out/weights.npz" "$here/train.hlo"
echo "weights: $out/weights.npz, loss curve: $out/loss.svg, timeline for ui.perfetto.dev: $out/trace.json"
