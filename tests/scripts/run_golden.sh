#!/usr/bin/env bash
# Goldens of the passes: tests/passes/PASS.hlo, or PASS-WHAT.hlo, as it is after that pass, must be PASS.after; and what
# is there must read back. GOLDEN_UPDATE=1 writes them anew.
set -u
. "$(dirname "$0")/common.sh"

for program in "$source_dir"/tests/passes/*.hlo; do
  name=$(basename "$program" .hlo)
  expect_exit "$name" 0 env HLORUN_VERIFY=1 "$hlorun" run --stop-after "${name%%-*}" -o "$work/after.hlo" "$program" \
    || continue
  [ -z "${GOLDEN_UPDATE:-}" ] || cp "$work/after.hlo" "${program%.hlo}.after"
  if diff -u "${program%.hlo}.after" "$work/after.hlo" >"$work/out"; then pass; else fail "$name" "$work/out"; fi
  expect_exit "$name reads back" 0 "$hlorun" check "$work/after.hlo"
done

# Every pass has one.
read -ra passes < <("$hlorun" run --stop-after ? x 2>&1 | sed -n 's/.*or a pass: //p' | tr -d ',')
expect_some "passes" 25 "${#passes[@]}"
for pass in "${passes[@]}"; do
  if compgen -G "$source_dir/tests/passes/$pass.hlo" >/dev/null || compgen -G "$source_dir/tests/passes/$pass-*.hlo" >/dev/null
  then
    pass
  else
    fail "the pass $pass has no golden"
  fi
done
finish
