#!/usr/bin/env bash
# The plugin for JAX: its function table, called from C; its own headers against those that are published, where they are
# installed (HLORUN_TF_INCLUDE: the include folder of a TensorFlow wheel; jaxlib's is found); programs of Python, where
# HLORUN_JAX_PYTHON (default: python3) has jax.
set -u
. "$(dirname "$0")/common.sh"
python=${HLORUN_JAX_PYTHON:-python3}
plugin=$build_dir/libpjrt_hlorun.so

for program in pjrt_driver pjrt_promises pjrt_newer pjrt_host pjrt_raw; do
  timeout -k 5 300 "$build_dir/tests/pjrt/$program" "$plugin" >"$work/driver" 2>&1
  add_counts "$work/driver" || fail "$program" "$work/driver"
  grep -q ', 0 failed' "$work/driver" || grep -v ' passed' "$work/driver" | tail -n 20
done
timeout -k 5 300 "$build_dir/tests/pjrt/pjrt_random" "$plugin" 1 300 >"$work/random" 2>&1
add_counts "$work/random" || fail "pjrt_random" "$work/random"
grep '^FAILED' "$work/random"

# compare NAME INCLUDE: compiles and runs tests/pjrt/NAME.c.
compare() {
  "${cc[@]}" -D_GNU_SOURCE -I"$source_dir" -I"$source_dir/runtime" -I"$2" "$source_dir/tests/pjrt/$1.c" \
    -o "$work/$1" >"$work/$1.log" 2>&1 || { fail "$1 compiles" "$work/$1.log"; return; }
  "$work/$1" >"$work/$1.log" 2>&1
  add_counts "$work/$1.log" || fail "$1" "$work/$1.log"
  grep -v ' passed' "$work/$1.log"
}

tf_include=${HLORUN_TF_INCLUDE:-$(python3 -c 'import importlib.util as u; print(u.find_spec("tensorflow").submodule_search_locations[0] + "/include")' 2>/dev/null)}
if [ -f "$tf_include/xla/pjrt/c/pjrt_c_api.h" ]; then compare abi_compare "$tf_include"
else skip "no TensorFlow wheel with the header of PJRT (HLORUN_TF_INCLUDE)"; fi

if ! "$python" -c 'import jax' 2>/dev/null; then
  skip "JAX is not installed (HLORUN_JAX_PYTHON)"
  finish
fi
jax_include=$("$python" -c 'import jaxlib, os; print(os.path.dirname(jaxlib.__file__) + "/include")')
if [ -f "$jax_include/xla/ffi/api/c_api.h" ]; then compare ffi_compare "$jax_include"
else skip "jaxlib has no header of the FFI"; fi

export JAX_PLATFORMS=hlorun PJRT_NAMES_AND_LIBRARY_PATHS=hlorun:$plugin
for program in "$source_dir"/tests/pjrt/jax_*.py; do
  timeout -k 5 600 env HLORUN_DEVICES=8 "$python" "$program" >"$work/out" 2>&1
  add_counts "$work/out" || fail "${program##*/}" "$work/out"
  grep -E '^(FAILED|skipped)' "$work/out"
done

# Handlers of C++, by jaxlib's header.
compiler=${CXX:-g++}
if ! command -v "${compiler##* }" >/dev/null || [ ! -f "$jax_include/xla/ffi/api/ffi.h" ]; then
  skip "there is no C++ compiler ($compiler), or jaxlib has no C++ header of the FFI"
else
  # shellcheck disable=SC2086 # CXX may be several words
  expect_exit "ffi_handlers.cpp compiles" 0 $compiler -std=c++17 -w -O1 -shared -fPIC -I"$jax_include" \
    -o "$work/ffi_handlers.so" "$source_dir/tests/pjrt/ffi_handlers.cpp"
  timeout -k 5 300 env HLORUN_DEVICES=8 "$python" "$source_dir/tests/pjrt/ffi_errors.py" "$work/ffi_handlers.so" \
    >"$work/out" 2>&1
  add_counts "$work/out" || fail "ffi_errors.py" "$work/out"
  grep -E '^(FAILED|skipped)' "$work/out"
fi

# Wrong counts, and arrays that no machine holds, are told by the exceptions that JAX's users know.
cat >"$work/devices.py" <<'PROGRAM'
import jax
print(len(jax.devices()), "devices")
PROGRAM
for count in 0 8x -1 100000; do
  expect_exit "HLORUN_DEVICES=$count" 1 env HLORUN_DEVICES=$count "$python" "$work/devices.py"
  expect_text "HLORUN_DEVICES=$count" "HLORUN_DEVICES is \"$count\", want 1 to 1024"
done
# Devices that a program asks of JAX's CPU backend, by either way; HLORUN_DEVICES counts before them.
cat >"$work/requested.py" <<'PROGRAM'
import jax, os, sys
if sys.argv[1:]:
    try: jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
    except AttributeError: os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=" + sys.argv[1]
print(len(jax.devices()), "devices")
PROGRAM
force="--xla_cpu_use_onednn=true --xla_force_host_platform_device_count"
for setting in XLA_FLAGS="$force=5" XLA_FLAGS="$force=2 $force=5 " JAX_NUM_CPU_DEVICES=5 HLORUN_DEVICES=5; do
  [ "$setting" = JAX_NUM_CPU_DEVICES=5 ] && set -- 5 || set --
  expect_exit "$setting" 0 env "$setting" "$python" "$work/requested.py" "$@"
  expect_text "$setting" "5 devices"
done
expect_exit "3 devices of JAX's configuration" 0 env XLA_FLAGS="$force=5" "$python" "$work/requested.py" 3
expect_text "3 devices of JAX's configuration" "3 devices"
expect_exit "HLORUN_DEVICES and others" 0 env XLA_FLAGS="$force=5" HLORUN_DEVICES=2 "$python" "$work/requested.py" 3
expect_text "HLORUN_DEVICES and others" "2 devices"
expect_exit "XLA_FLAGS with a wrong count" 1 env XLA_FLAGS="$force=x" "$python" "$work/requested.py"
expect_text "XLA_FLAGS with a wrong count" 'xla_force_host_platform_device_count is "x", want 1 to 1024'
expect_exit "HLORUN_THREADS=x" 1 env HLORUN_THREADS=x "$python" "$work/devices.py"
expect_text "HLORUN_THREADS=x" 'HLORUN_THREADS is "x", want 1 to 1024'
expect_exit "HLORUN_THREADS=1" 0 env HLORUN_DEVICES=3 HLORUN_THREADS=1 "$python" "$work/devices.py"
expect_text "HLORUN_THREADS=1" "3 devices"

examples=$source_dir/examples/jax
expect_exit "examples/jax/callback.py" 0 "$python" "$examples/callback.py" &&
  expect_text "the callback's median" 'the median is 5.0'
expect_exit "scale_ffi.c compiles" 0 "${cc[@]}" -O2 -shared -fPIC -I"$source_dir" -o "$work/scale_ffi.so" \
  "$examples/scale_ffi.c" &&
  expect_exit "examples/jax/scale_ffi.py" 0 "$python" "$examples/scale_ffi.py" "$work/scale_ffi.so" &&
  expect_text "the handler's result" '[ 1.  4.  7. 10.]'
gpt=$source_dir/examples/gpt
expect_exit "examples/jax/gpt.py on 1 device" 0 "$python" "$examples/gpt.py" "$gpt"
sed -n 's/^step 200 //p' "$work/out" >"$work/loss"
expect_exit "examples/jax/gpt.py on 8 devices" 0 env HLORUN_DEVICES=8 "$python" "$examples/gpt.py" "$gpt" &&
  expect_text "its loss" "$(cat "$work/loss")" &&
  expect_text "its devices" "mesh {'data': 4, 'model': 2} of 8 devices in 1 processes"
expect_exit "examples/jax/gpt.py on 8 processes" 0 "$hlorun" -n 8 "$python" "$examples/gpt.py" "$gpt" &&
  expect_text "its loss" "$(cat "$work/loss")" &&
  expect_text "its processes" "mesh {'data': 4, 'model': 2} of 8 devices in 8 processes"
if "$python" -c 'import flax, optax' 2>/dev/null; then
  expect_exit "examples/jax/digits.py on 8 devices" 0 env HLORUN_DEVICES=8 "$python" "$examples/digits.py" \
    "$source_dir/examples/digits" && expect_text "its accuracy" 'accuracy 0.9'
  expect_exit "examples/jax/digits.py on 4 processes" 0 "$hlorun" -n 4 "$python" "$examples/digits.py" \
    "$source_dir/examples/digits" && expect_text "its processes" 'on 4 devices of 4 processes'
else
  skip "flax and optax are not installed (HLORUN_JAX_PYTHON)"
fi
finish
