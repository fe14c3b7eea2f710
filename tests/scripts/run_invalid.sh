#!/usr/bin/env bash
# tests/cases/invalid: broken programs by op. A file holds many, each after a line "// ----- NAME". A program says in its
# first line what is expected of the message:
#   // EXPECT: LINE:COLUMN TEXT     the place, and a text that the message holds; ":COLUMN" and TEXT may be left out
# where line 1 is that line. It must be refused by the command with exit code 3, at that place.
set -u
. "$(dirname "$0")/common.sh"

# Writes the programs of a file as NAME.EXTENSION into a folder.
split_programs() {
  awk -v folder="$2" -v extension="${1##*.}" \
    '/^\/\/ ----- / { if (out) close(out); out = folder "/" $3 "." extension; next } { print > out }' "$1"
}

for file in "$source_dir"/tests/cases/invalid/*.hlo "$source_dir"/tests/cases/invalid/*.mlir; do
  folder=$work/$(basename "$file")
  mkdir "$folder"
  split_programs "$file" "$folder"
  for program in "$folder"/*; do
    name=$(basename "$program")
    expected=$(sed -n '1s|^// EXPECT: ||p' "$program")
    place=${expected%% *}
    text=
    case "$expected" in *' '*) text=${expected#* } ;; esac
    case "$place" in
      [0-9]*) ;;
      *) fail "$file: $name does not begin with '// EXPECT: LINE...'"; continue ;;
    esac
    expect_exit "$name" 3 "$hlorun" check "$program" || continue
    expect_text "$name" "$name:$place:"
    [ -z "$text" ] || expect_text "$name" "$text"
  done
done
finish
