#!/usr/bin/env bash
# Random programs (random/generate.py) mean the same in the reference engine before and after the passes, and in the
# compiled engine with vectors of all widths, with and without own code, on one worker and on several: exact ones to the
# bit, those with sums of floats within the usual tolerance. RANDOM_COUNT programs of each kind, from RANDOM_SEED on, each
# compiled in RANDOM_WAYS ways; RANDOM_SECONDS bounds the time; RANDOM_KEEP=FOLDER keeps those that fail, as small as
# they still do.
set -u
. "$(dirname "$0")/common.sh"

if ! python3 -c '' 2>/dev/null; then skip "random programs: there is no python3"; finish; fi

# search OPTION...: random programs in all engines.
search() {
  PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/random/search.py" --engines "$build_dir/tests/compare_engines" \
    ${RANDOM_KEEP:+--keep "$RANDOM_KEEP"} "$@" >"$work/found" 2>&1
  sed '$d' "$work/found"
  add_counts "$work/found" || fail "the search for programs that fail" "$work/found"
}

# Those that failed once: rows turned in registers of 36 lanes, several rows to a register, parts of inner loops; sums
# of windows as large as the image; numbers beside NaN.
search --kinds patterns --seed 5485 --count 1
search --kinds smooth --seed 5352 --count 1
search --kinds patterns --seed 3828 --count 1
search --kinds layers --seed 79 --count 1
search --wild --kinds orders --seed 117 --count 1
search --wild --count $((${RANDOM_COUNT:-40} / 4)) --seed "${RANDOM_SEED:-1}" --ways 1 --jobs "${RANDOM_JOBS:-2}"
search --count "${RANDOM_COUNT:-40}" --seed "${RANDOM_SEED:-1}" --ways "${RANDOM_WAYS:-2}" \
  --seconds "${RANDOM_SECONDS:-0}" --jobs "${RANDOM_JOBS:-2}"
finish
