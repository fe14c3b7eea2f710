#!/usr/bin/env bash
# The small programs in examples/, each with its arrays beside it, on as many processes as it says.
set -u
. "$(dirname "$0")/common.sh"

timeout -k 5 120 "$hlorun" test "$source_dir"/examples/*.hlo >"$work/out" 2>&1 </dev/null
add_counts "$work/out" || fail "hlorun test examples" "$work/out"
[ "$failed" -eq 0 ] || cat "$work/out"
finish
