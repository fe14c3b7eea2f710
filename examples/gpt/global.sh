#!/usr/bin/env bash
# Trains the small GPT as one global program: global.sh [FOLDER [DATA [MODEL [STEPS]]]]
# DATA processes share the 16 windows of a step, times MODEL processes that share each feed-forward layer (4 and 2; 1 and 1 is
# a single process). FOLDER (default: gpt-out) gets weights.npz. HLORUN names the command, if it is not on the path.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hlorun=${HLORUN:-hlorun}
out=${1:-gpt-out}
data=${2:-4}
model=${3:-2}
steps=${4:-300}
mkdir -p "$out"

# Parameter 60 is the text. Of block b, parameter 6b is the second matrix of the feed-forward layer, cut by rows, and
# 6b + 5 is the first, cut by columns. What these need of all others (gradients, moments) follows from them.
"$hlorun" -n $((data * model)) --mesh "data=$data,model=$model" \
  --sharding 'in60=data;in0=model;in5=-,model;in6=model;in11=-,model;in12=model;in17=-,model' \
  --steps "$steps" --input "$here/init.npz" --carry 1-60:0-59 --feed "60=$here/windows.npy" \
  --metric 0=loss --output "$out/weights.npz" "$here/global.mlir"
echo "weights: $out/weights.npz"
