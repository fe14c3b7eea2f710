#!/usr/bin/env bash
# Adds up what the tests of `make check` counted: summary.sh LOG...
# A test whose log has no "N passed, N failed" line broke down before its end and counts as one failure.
set -u

passed=0 failed=0 skipped=0
for log in "$@"; do
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" 2>/dev/null | tail -n 1)
  if [ -z "$line" ]; then line="0 passed, 1 failed"; fi
  printf '%-28s %s\n' "$(basename "$log" .log)" "$line"
  # What failed, and what it wrote, which is indented.
  awk '/^[^ ]/ { shown = /^FAIL(ED:)? / } shown' "$log" 2>/dev/null | tail -n 60 | sed 's/^/    /'
  # shellcheck disable=SC2086 # the words are wanted apart
  set -- ${line//,/}
  passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + ${5:-0}))
done
tail=
[ "$skipped" -eq 0 ] || tail=", $skipped skipped"
echo "$passed passed, $failed failed$tail"
