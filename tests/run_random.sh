#!/usr/bin/env bash
# Random programs (random_programs.py) mean the same before and after the passes, in the reference engine: exact ones,
# and those of rarer types, to the bit, those with sums of floats within the usual tolerance. With
# RANDOM_ENGINE=compiled that engine runs them, and is compared with the reference engine. RANDOM_COUNT programs of each
# kind, from RANDOM_SEED on; RANDOM_KEEP=FOLDER keeps those that fail.
set -u
. "$(dirname "$0")/common.sh"

if ! python3 -c '' 2>/dev/null; then skip "random programs: there is no python3"; finish; fi
count=${RANDOM_COUNT:-25} seed=${RANDOM_SEED:-1} engine=${RANDOM_ENGINE:-}

# compare KIND SEED TOLERANCE...
compare() {
  local kind=$1 number=$2
  shift 2
  local program=$work/$kind-$number.hlo after=$work/after.hlo want=$work/want.npz
  python3 "$source_dir/tests/random_programs.py" "$number" "$kind" >"$program" \
    || { fail "random_programs.py $number"; return; }
  if ! "$hlorun" run --engine reference "$program" --random-inputs="$number" -o "$want" >"$work/out" 2>&1; then
    fail "$kind program $number does not run" "$work/out"
  elif [ -n "$engine" ]; then
    check "$kind" "$number" "$hlorun" run --engine "$engine" "$program" --random-inputs="$number" --expect "$want" "$@"
  elif ! HLORUN_VERIFY=1 "$hlorun" run --stop-after passes -o "$after" "$program" >"$work/out" 2>&1; then
    fail "the passes on $kind program $number" "$work/out"
  else
    check "$kind" "$number" "$hlorun" run --engine reference "$after" --random-inputs="$number" --expect "$want" "$@"
  fi
  if [ "$failed" -ne "$before" ] && [ -n "${RANDOM_KEEP:-}" ]; then
    mkdir -p "$RANDOM_KEEP" && cp "$program" "$RANDOM_KEEP/"
  fi
  rm -f "$program"
}

check() {
  local kind=$1 number=$2
  shift 2
  if timeout -k 5 60 "$@" >"$work/out" 2>&1; then pass; else fail "$kind program $number" "$work/out"; fi
}

for ((i = seed; i < seed + count; i++)); do
  before=$failed
  compare exact "$i" --ulp 0
  before=$failed
  compare rounding "$i"
  before=$failed
  compare types "$i" --ulp 0
done
finish
