#!/usr/bin/env bash
# runtime/api/python: the module `hlorun` for Python, alone and on several processes. TEST_PYTHON names a Python that has
# NumPy (default: python3, then that of JAX_PYTHON).
set -u
. "$(dirname "$0")/common.sh"
library=$build_dir/.libs/libhlorun.so
python=
for one in ${TEST_PYTHON:-} python3 ${JAX_PYTHON:-}; do
  if "$one" -c 'import numpy' 2>/dev/null; then python=$one; break; fi
done
if [ -z "$python" ]; then
  skip "there is no Python with NumPy (TEST_PYTHON)"
  finish
fi
if [ ! -e "$library" ]; then
  skip "there is no shared library: $library"
  finish
fi
leak_check_off
export HLORUN_LIBRARY=$library PYTHONPATH=$source_dir/runtime/api/python PYTHONDONTWRITEBYTECODE=1
export HLORUN_MODULE_DIR=${HLORUN_MODULE_DIR:-$build_dir/.libs}

run() { # NAME COMMAND...
  local name=$1
  shift
  timeout -k 5 120 "$@" >"$work/out" 2>&1 || fail "$name" "$work/out"
  while read -r line; do
    echo "$line" >"$work/line"
    add_counts "$work/line"
  done < <(grep -E '^[0-9]+ passed' "$work/out")
}
run "one process" "$python" "$source_dir/tests/python/test_hlorun.py"
[ "$passed" -gt 20 ] && pass || fail "one process: too few checks" "$work/out"
if "$mpirun" --version >/dev/null 2>&1; then
  run "two processes" "$mpirun" -n 2 "$python" "$source_dir/tests/python/test_hlorun.py" 2
else
  skip "two processes: there is no mpirun"
fi
finish
