#!/usr/bin/env bash
# Training of TensorFlow's models: examples/tensorflow with the SavedModel that is kept there, on 8 processes; checkpoints in
# TensorFlow's form. TF_PYTHON (default python3) names a Python that has tensorflow: it exports the model again and loads what
# hlorun trained; without it these two steps are skipped.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
example=$source_dir/examples/tensorflow
python=${TF_PYTHON:-python3}

# The accuracy that run.sh prints must be more than that of guessing, which is 10%.
train() { # NAME FOLDER PROCESSES STEPS
  HLORUN=$hlorun expect_exit "$1" 0 "$example/run.sh" "$2" "$3" "$4" || return 1
  if awk '/^test accuracy:/ { good = $3 + 0 > 80 } END { exit !good }' "$work/out"; then pass; else fail "$1: accuracy" "$work/out"; fi
}
train "8 processes" "$work/eight" 8 100
train "1 process" "$work/one" 1 100

# Variables of the checkpoint under the names of the model's own; what is not trained is copied.
sizes() { find "$1" -name 'variables.data-*' -size +1k | wc -l; }
if [ "$(sizes "$work/eight/trained")" = 1 ]; then pass; else fail "a tensor bundle"; fi
last=$work/eight/checkpoints/step-000000000100
if [ -f "$last/variables.index" ] && [ -f "$last/rank7.npz" ]; then pass; else fail "$last is not complete"; fi

# A run goes on from the arrays beside the bundle, with the bits of one that was not interrupted.
step=(--signature step --feed 'images=u8[16,64]' --feed 'labels=u8[16]' --feed "0=$source_dir/examples/digits/train_images.npy"
  --feed "1=$source_dir/examples/digits/train_labels.npy" --data-parallel loss --every 5 --checkpoint-format tensor-bundle)
expect_exit "ten steps" 0 "$hlorun" -n 2 "${step[@]}" --steps 10 --checkpoint "$work/whole" "$example/model"
expect_exit "five steps" 0 "$hlorun" -n 2 "${step[@]}" --steps 5 --checkpoint "$work/parts" "$example/model"
expect_exit "five more" 0 "$hlorun" -n 2 "${step[@]}" --steps 10 --checkpoint "$work/parts" --resume "$example/model"
if cmp -s "$work"/whole/step-000000000010/variables.data* "$work"/parts/step-000000000010/variables.data*; then pass
else fail "the variables of an interrupted run"; fi

# What cannot be written is refused.
expect_exit "an unknown format" 2 "$hlorun" "${step[@]}" --steps 2 --checkpoint "$work/x" --checkpoint-format zip "$example/model"
expect_text "an unknown format" "want npz or tensor-bundle"
expect_exit "no graph" 2 "$hlorun" --steps 2 --carry 0:0 --checkpoint "$work/y" --checkpoint-format tensor-bundle --input '0={1,2,3}' \
  --input '1={1,2,3}' "$source_dir/examples/hello.hlo"
expect_text "no graph" "is no TensorFlow graph"
expect_exit "a format without checkpoints" 2 "$hlorun" --checkpoint-format tensor-bundle --input '0={1,2,3}' --input '1={1,2,3}' \
  "$source_dir/examples/hello.hlo"

if ! "$python" -c 'import tensorflow' 2>/dev/null; then
  skip "TensorFlow is not installed (TF_PYTHON): the model is not exported again, the trained one not loaded"
  finish
fi
export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
expect_exit "TensorFlow loads the trained model" 0 timeout -k 5 240 "$python" "$example/verify.py" "$work/eight"
expect_text "TensorFlow loads the trained model" "test accuracy:"
if timeout -k 5 240 "$python" "$example/export.py" "$work/model" >"$work/out" 2>&1; then pass; else fail "export.py" "$work/out"; fi
MODEL=$work/model train "the model exported now" "$work/again" 8 100
finish
