#!/usr/bin/env bash
# Links each lower layer with the layers below it alone, by its object files: a symbol that it needs and that only a
# higher layer defines is a failure. check_layers.sh sees includes; this sees declarations implemented elsewhere.
set -u
build_dir=${TEST_BUILD:-$PWD}
source_dir=${TEST_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$build_dir" || exit 99
failed=0 passed=0

# The layers from below; each may use itself and the rows above it.
layers() {
  cat <<'ROWS'
runtime/base
runtime/io
runtime/mlir
ops/table runtime/ir
ops/rules ops/query
ROWS
}

# Object files of folders: of the sources that there are, as an old build may hold others.
objects() {
  local folder object source
  for folder in "$@"; do
    while IFS= read -r object; do
      source=${object/.libs\//}
      [ ! -f "$source_dir/${source%.o}.c" ] || echo "$object"
    done < <(find "$folder" -path '*/.libs/*.o')
  done
}

# Symbols of the project only: a symbol that no object file defines is the system's.
defined() { nm --defined-only --extern-only --format=posix "$@" 2>/dev/null | awk 'NF > 1 { print $1 }' | sort -u; }
undefined() { nm --undefined-only --format=posix "$@" 2>/dev/null | awk 'NF > 1 { print $1 }' | sort -u; }

command -v nm >/dev/null || { echo "0 passed, 0 failed, 1 skipped: no nm"; exit 77; }
mapfile -t everything < <(objects runtime ops transport)
if [ "${#everything[@]}" -le 100 ]; then
  echo "found ${#everything[@]} object files in $build_dir, want those of a build"
  exit 1
fi
defined "${everything[@]}" >"${TMPDIR:-/tmp}/check_links.$$"
trap 'rm -f "${TMPDIR:-/tmp}/check_links.$$"' EXIT
below=()
while read -r row; do
  read -ra folders <<<"$row"
  mapfile -t layer < <(objects "${folders[@]}")
  below+=("${layer[@]}")
  needed=$(comm -23 <(undefined "${below[@]}") <(defined "${below[@]}") |
    comm -12 - "${TMPDIR:-/tmp}/check_links.$$" | tr '\n' ' ')
  if [ -n "$needed" ]; then
    failed=$((failed + 1))
    echo "$row needs of higher layers: $needed"
  else
    passed=$((passed + 1))
  fi
done < <(layers)

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
