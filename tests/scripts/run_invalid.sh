#!/usr/bin/env bash
# tests/cases/invalid: broken programs. Each says in its first lines what is expected of the message:
#   // EXPECT: LINE:COLUMN TEXT     the place, and a text that the message holds; ":COLUMN" and TEXT may be left out
# and must be refused with exit code 3, at that place, within a second or so.
set -u
. "$(dirname "$0")/common.sh"

for program in "$source_dir"/tests/cases/invalid/*.hlo "$source_dir"/tests/cases/invalid/*.mlir; do
  name=$(basename "$program")
  expected=$(sed -n 's|^// EXPECT: ||p' "$program" | head -n 1)
  place=${expected%% *}
  text=
  case "$expected" in *' '*) text=${expected#* } ;; esac
  case "$place" in
    [0-9]*) ;;
    *) fail "$name: no line '// EXPECT: LINE...'"; continue ;;
  esac
  expect_exit "$name" 3 "$hlorun" check "$program" || continue
  expect_text "$name" "$name:$place:"
  [ -z "$text" ] || expect_text "$name" "$text"
done
finish
