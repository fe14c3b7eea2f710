#!/usr/bin/env bash
# JAX on several processes of hlorun, and how it ends: worlds, checkpoints, a process that dies, programs in different order,
# an exit or an interrupt while a program runs, forks, garbage. HLORUN_JAX_PYTHON (default: python3) must have jax.
set -u
. "$(dirname "$0")/common.sh"
python=${HLORUN_JAX_PYTHON:-python3}
cases=$source_dir/tests/pjrt/processes/cases.py
export PYTHONDONTWRITEBYTECODE=1
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PORT
unset JAX_PLATFORMS PJRT_NAMES_AND_LIBRARY_PATHS
if ! "$python" -c 'import jax' 2>/dev/null; then
  skip "JAX is not installed (HLORUN_JAX_PYTHON)"
  finish
fi

# processes COUNT CASE CODE TEXT...: runs a case, and looks for the texts.
processes() {
  local count=$1 case=$2 code=$3 text
  shift 3
  expect_exit "$case on $count processes" "$code" "$hlorun" -n "$count" "$python" "$cases" "$case" "$work"
  for text in "$@"; do expect_text "$case on $count processes" "$text"; done
}
processes 2 world 0 "process 0 of 2: 1 of 2 devices, gathered [0.0, 1.0], root 7, sum 8.0" \
  "process 1 of 2: 1 of 2 devices, gathered [0.0, 1.0], root 7, sum 8.0"
processes 4 world 0 "process 3 of 4: 1 of 4 devices, gathered [0.0, 1.0, 2.0, 3.0], root 7, sum 16.0"
processes 2 initialized 0 "process 1 of 2: 1 of 2 devices, gathered [0.0, 1.0], root 7, sum 8.0"
# Parts of the world, other orders, and several devices in each process.
processes 3 parts 0 "process 0 of 3: 12.0 [20.0], none, 24.0 [22.0], 24.0 [30.0], none, 12.0 [20.0]" \
  "process 1 of 3: 12.0 [11.0], 12.0 [11.0], 24.0 [11.0], 24.0 [11.0], 12.0 [20.0], 12.0 [11.0]" \
  "process 2 of 3: none, 12.0 [20.0], 24.0 [30.0], 24.0 [22.0], 12.0 [11.0], none"
HLORUN_DEVICES=2 processes 2 parts 0 \
  "process 0 of 2: 12.0 [11.0, 20.0], 24.0 [22.0], 40.0 [22.0, 33.0], 40.0 [11.0, 40.0], 24.0 [30.0], 12.0 [11.0, 20.0]" \
  "process 1 of 2: none, 24.0 [11.0, 30.0], 40.0 [11.0, 40.0], 40.0 [22.0, 33.0], 24.0 [11.0, 22.0], none"
processes 3 elsewhere 0 "process 0 has [[141.0], [], []], sum 12.0" "process 2 has [[], [], [141.0]], sum 12.0"
HLORUN_DEVICES=2 processes 2 elsewhere 0 "process 1 has [[], [142.0, 142.0]], sum 16.0"
mkdir "$work/site"
echo 'import os; os.environ["HIDDEN"] = "was run"' >"$work/site/sitecustomize.py"
PYTHONPATH=$work/site processes 2 initialized_without_arguments 0 \
  "process 1 of 2: 1 of 2 devices, gathered [0.0, 1.0], root 7, sum 8.0"
# Without hlorun -n: processes that only JAX joins.
for rank in 0 1 2; do
  JAX_PLATFORMS=hlorun PJRT_NAMES_AND_LIBRARY_PATHS=hlorun:$build_dir/libpjrt_hlorun.so \
    timeout -k 5 120 "$python" "$cases" joined "$work" 3 "$rank" >"$work/joined.$rank" 2>&1 &
done
wait
cat "$work"/joined.? >"$work/out"
for rank in 0 1 2; do
  expect_text "3 processes that JAX joins" \
    "process $rank of 3: 1 of 3 devices, gathered [0.0, 1.0, 2.0], root 7, sum 12.0"
done
if "$python" -c 'import orbax.checkpoint' 2>/dev/null; then
  for case in orbax orbax_imported_late; do
    rm -rf "$work/state"
    processes 2 "$case" 0 "process 0 restored 5 24.0" "process 1 restored 5 24.0"
  done
else
  skip "orbax is not installed (HLORUN_JAX_PYTHON)"
fi
# Compiled in different order, and launched in different order.
processes 2 order 1 "rank 1 runs a different program than rank 0" "rank 0: jit__lambda" "rank 1: jit_second" "cases.py:"
processes 2 launches 1 "process 0 launches jit_first" "process 1 launches jit_second" "cases.py:" \
  "all processes must launch the same programs in the same order"
processes 2 compiled_behind_launches 0 "process 0 has 12.0" "process 1 has 12.0"
begin=$(date +%s)
processes 3 death 5 "rank 1 has ended" "process 0 after" "process 2 after"
took=$(($(date +%s) - begin))
if [ "$took" -lt 30 ]; then pass; else fail "the death of a process ends the others after $took s"; fi

# single CASE TEXT: one process.
single() {
  expect_exit "$1" 0 "$hlorun" "$python" "$cases" "$1" && expect_text "$1" "$2"
}
single ends_while_running leaves
single interrupted interrupted
single forked "child says 45"
expect_text forked "exit code 0 parent has 500.0"
single forked_computes "child says [3.0, True, True, True]"
expect_text forked_computes "exit code 0"
single collected collected
single flat "memory is flat"
finish
