#!/usr/bin/env bash
# The sanitizer of threads over the unit tests, over cases with 1, 2 and 4 threads and on several processes, and over the
# plugin for JAX, in a build folder of its own:
#
#   run_tsan.sh FOLDER [SUITE...]        FOLDER is configured and built if it is empty (some minutes)
#
# The kernels that make code, OpenBLAS, oneDNN, LLVM and Open MPI are not instrumented: what they do is not seen, and
# reports from inside of them are suppressed (tsan.supp says why). A report ends the process with exit code 66. The last
# line is "N passed, N failed".
set -u
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:?run_tsan.sh FOLDER [SUITE...]}
shift
mkdir -p "$folder" && cd "$folder" || exit 99
# Mappings at random addresses with many bits are not where this sanitizer wants them.
setarch=(setarch -R)
"${setarch[@]}" true 2>/dev/null || setarch=()
if [ ! -e Makefile ]; then
  "$source_dir/configure" --enable-sanitizers=thread --disable-static CC="${CC:-gcc}" CFLAGS="-O1 -g" >configure.out 2>&1 ||
    { tail configure.out; exit 99; }
fi
plugin_tests=(tests/pjrt/pjrt_{driver,promises,newer,host,raw})
make -j"${JOBS:-2}" hlorun libpjrt_hlorun.so tests/unit_tests "${plugin_tests[@]}" tests/pjrt/pjrt_random >make.out 2>&1 || { tail -n 30 make.out; exit 99; }

export TSAN_OPTIONS="suppressions=$source_dir/tests/tools/tsan.supp exitcode=66 history_size=4 second_deadlock_stack=1"
export HLORUN_CACHE=none TEST_SOURCE=$source_dir TEST_BUILD=$PWD TEST_SECONDS=600
passed=0 failed=0

# expect NAME COMMAND...: it ends with exit code 0 and without a report.
expect() {
  local name=$1 code=0
  shift
  timeout 900 "${setarch[@]}" "$@" >out 2>&1 </dev/null || code=$?
  if [ $code -eq 0 ] && ! grep -q "WARNING: ThreadSanitizer" out; then
    passed=$((passed + 1))
    return
  fi
  failed=$((failed + 1))
  echo "FAILED: $name: exit code $code"
  grep -A 40 -m 1 "WARNING: ThreadSanitizer" out || tail -n 20 out
}

mapfile -t suites < <(sed -n 's/^SUITE(\([a-z_0-9]*\).*/\1/p' "$source_dir/tests/unit/suites.def")
[ $# -eq 0 ] || suites=("$@")
for suite in "${suites[@]}"; do expect "suite $suite" tests/unit_tests "$suite"; done
[ $# -eq 0 ] || { echo "$passed passed, $failed failed"; exit $((failed > 0)); }

cases=("$source_dir"/examples/{hello,newton,argmax,ring,heat}.hlo "$source_dir"/tests/cases/{all_reduce,dot,sort,while,send}*.mlir)
for threads in 1 2 4; do
  for engine in compiled reference; do
    expect "cases, $threads threads, $engine" ./hlorun test --engine $engine --threads $threads "${cases[@]}"
  done
done
digits=$source_dir/examples/digits
training=(--epochs 1 --input "$digits/init.npz" --carry 1-13:0-12 --feed "13=$digits/train_images.npy"
  --feed "14=$digits/train_labels.npy" --metric 0=loss --no-progress "$digits/train.hlo")
for ranks in 1 4; do
  expect "training on $ranks" ./hlorun -n $ranks --threads 2 --checkpoint "kept$ranks" --overwrite --every 5 \
    --trace trace.json -o weights.npz "${training[@]}"
done
feed=$source_dir/examples/feed
python3 "$feed/feeder.py" - 3 >values.feed
expect "feeds" ./hlorun --infeed file:values.feed --outfeed file:out.feed "$feed/feed.hlo"
expect "verified communication" ./hlorun -n 4 --verify-comm --random-inputs "$source_dir/examples/argmax.hlo"

for program in "${plugin_tests[@]}"; do expect "${program##*/}" "$program" ./libpjrt_hlorun.so; done
expect "pjrt_random" tests/pjrt/pjrt_random ./libpjrt_hlorun.so 1 60
python=${HLORUN_JAX_PYTHON:-python3}
if "$python" -c 'import jax' 2>/dev/null; then
  expect "JAX from several threads" env JAX_PLATFORMS=hlorun HLORUN_DEVICES=4 \
    PJRT_NAMES_AND_LIBRARY_PATHS="hlorun:$PWD/libpjrt_hlorun.so" LD_PRELOAD="$(${CC:-gcc} -print-file-name=libtsan.so)" \
    "$python" "$source_dir/tests/pjrt/jax_threads.py"
else echo "skipped: JAX is not installed (HLORUN_JAX_PYTHON)"; fi
echo "$passed passed, $failed failed"
exit $((failed > 0))
