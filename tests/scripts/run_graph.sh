#!/usr/bin/env bash
# The picture of `hlorun check --graph X.html` in a real browser: scrolled, zoomed, dragged. Skipped where there is
# none.
set -u
. "$(dirname "$0")/common.sh"

browser=
for name in chromium chromium-browser google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$name")
done
if [ -z "$browser" ] || ! command -v python3 >/dev/null; then
  skip "no Chromium, or no Python, on this machine: the picture is not opened"
  finish
fi

expect_exit "the deadlock" 0 "$hlorun" schedule to-hlo "$source_dir/examples/pipeline/deadlock.txt" -o "$work/deadlock"
expect_exit "its picture" 4 "$hlorun" check "$work"/deadlock/rank*.hlo --graph "$work/deadlock.html"
timeout 120 python3 "$source_dir/tests/tools/check_graph.py" "$browser" "$work/deadlock.html" >"$work/found" 2>&1 </dev/null
right=$(grep -c '^ok: ' "$work/found")
passed=$((passed + right))
[ "$right" -eq 14 ] || fail "in the browser: $right of 14 findings are right" "$work/found"
finish
