#!/usr/bin/env bash
# The plugin under several versions of JAX: tests/pjrt/jax_programs.py, and the callbacks of examples/jax. HLORUN_JAX_VERSIONS
# is a list of Pythons that have JAX, with a colon between; without it there is nothing to do.
set -u
. "$(dirname "$0")/common.sh"
if [ -z "${HLORUN_JAX_VERSIONS:-}" ]; then
  skip "no Pythons with other versions of JAX (HLORUN_JAX_VERSIONS)"
  finish
fi
export JAX_PLATFORMS=hlorun PJRT_NAMES_AND_LIBRARY_PATHS=hlorun:$build_dir/libpjrt_hlorun.so PYTHONDONTWRITEBYTECODE=1
IFS=: read -ra pythons <<<"$HLORUN_JAX_VERSIONS"
for python in "${pythons[@]}"; do
  version=$("$python" -c 'import jax; print(jax.__version__)' 2>/dev/null)
  if [ -z "$version" ]; then skip "$python has no JAX"; continue; fi
  timeout -k 5 600 env HLORUN_DEVICES=8 "$python" "$source_dir/tests/pjrt/jax_programs.py" >"$work/out" 2>&1
  echo "JAX $version: $(tail -n 1 "$work/out")"
  add_counts "$work/out" || fail "jax_programs.py with JAX $version" "$work/out"
  grep -E '^(FAILED|skipped)' "$work/out"
  expect_exit "callback.py with JAX $version" 0 "$python" "$source_dir/examples/jax/callback.py" &&
    expect_text "callback.py with JAX $version" 'the median is 5.0'
  expect_exit "two processes with JAX $version" 0 "$hlorun" -n 2 "$python" -c "
import jax, jax.numpy as jnp
from jax.experimental import multihost_utils
print(f'seen by {jax.process_index()} {multihost_utils.process_allgather(jnp.float32(jax.process_index() + 1)).sum()}\\n', end='')" &&
    expect_text "two processes with JAX $version" 'seen by 1 3.0'
done
finish
