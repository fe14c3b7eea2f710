#!/usr/bin/env bash
# The documents say what is so: every command that a console block of README.md or of a manual page shows exits with 0, or
# with the code that the block names, and prints the lines that stand below it; pages render without a warning; every
# option and variable is on a page; what the README calls by a path exists.
#   Markdown:  ```console exit=N needs=NAME   manual pages: the comment `.\" exit N` before .EX
# needs=NAME,...: commands, or modules of JAX_PYTHON (default python3), which is `python` in the block; without one of
# them the block is skipped.
# A line below a command must be among those printed, or begin one if it ends in "..."; "..." alone stands for others. Commands run in a copy of examples/.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
mkdir "$work/bin" "$work/tree" "$work/tmp" || exit 99
ln -s "$hlorun" "$work/bin/hlorun"
[ "$mpirun" = mpirun ] || ln -s "$mpirun" "$work/bin/mpirun"
cp -r "$source_dir/examples" "$work/tree/"
export PATH=$work/bin:$PATH HLORUN_MODULE_DIR=${HLORUN_MODULE_DIR:-$build_dir}

# blocks_of_markdown FILE, blocks_of_page FILE: "@ CODE LINE" before each console block, then its lines.
blocks_of_markdown() {
  awk '/^```console/ { code = 0; if (match($0, /exit=[0-9]+/)) code = substr($0, RSTART + 5, RLENGTH - 5)
         need = "-"; if (match($0, /needs=[a-z_,-]+/)) need = substr($0, RSTART + 6, RLENGTH - 6)
         print "@ " code " " NR " " need; inside = 1; next }
       /^```/ { inside = 0 } inside' "$1"
}
blocks_of_page() {
  awk '/^\.\\" exit [0-9]+$/ { code = $3 + 0; next }
       /^\.EX/ { held = "@ " code + 0 " " NR " -"; next } /^\.EE/ { inside = 0; held = ""; code = 0; next }
       held != "" { inside = /^\$ /; if (inside) print held; held = "" }
       inside { gsub(/\\e/, "\\"); gsub(/\\-/, "-"); print }' "$1"
}

# Is there each such command, or module of Python? A module is asked for once.
declare -A is_there
has() { # NAME,...
  local name
  for name in ${1//,/ }; do has_one "$name" || return 1; done
}
has_one() { # NAME
  [ "$1" != - ] || return 0
  if [ -z "${is_there[$1]:-}" ]; then
    is_there[$1]=no
    if command -v "$1" >/dev/null || "${JAX_PYTHON:-python3}" -c "import $1" 2>/dev/null; then is_there[$1]=yes; fi
  fi
  [ "${is_there[$1]}" = yes ]
}
printf '#!/bin/sh\nJAX_PLATFORMS=cpu exec %s "$@"\n' "${JAX_PYTHON:-python3}" >"$work/bin/python"
chmod +x "$work/bin/python"

# run_block NAME CODE COMMANDS EXPECTED NEED: one shell for the block, which stops at the first command that fails.
run_block() {
  local name=$1 code=$2 line got=0
  if ! has "$5"; then
    skip "$name: there is no $5"
    return
  fi
  (cd "$folder" && timeout -k 5 600 bash -e -o pipefail "$3" >"$work/out" 2>&1 </dev/null) || got=$?
  if [ "$got" -ne "$code" ]; then
    echo "exit code $got, want $code" >>"$work/out"
    fail "$name" "$work/out"
    return
  fi
  while IFS= read -r line; do
    case $line in *[![:space:].]*) ;; *) continue ;; esac
    case $line in
      *...) grep -qF -e "${line%...}" "$work/out" && continue ;;
      *) grep -qxF -e "$line" "$work/out" && continue ;;
    esac
    echo "want the line: $line" >>"$work/out"
    fail "$name" "$work/out"
    return
  done <"$4"
  pass
}

# run_blocks NAME: runs the blocks that standard input holds.
run_blocks() {
  local name=$1 line code='' at='' need=- more=0 count=0
  : >"$work/commands"; : >"$work/expected"
  while IFS= read -r line; do
    case $line in
      '@ '*)
        [ -z "$code" ] || run_block "$name:$at" "$code" "$work/commands" "$work/expected" "$need"
        read -r _ code at need <<<"$line"
        : >"$work/commands"; : >"$work/expected"
        more=0 count=$((count + 1)) ;;
      '$ '*) echo "${line#'$ '}" | sed "s|/tmp/|$work/tmp/|g" >>"$work/commands" ;;
      *) if [ "$more" = 1 ]; then echo "$line" | sed "s|/tmp/|$work/tmp/|g" >>"$work/commands"
         else echo "$line" >>"$work/expected"; fi ;;
    esac
    case $line in '$ '*'\') more=1 ;; *'\') ;; *) more=0 ;; esac
  done
  [ -z "$code" ] || run_block "$name:$at" "$code" "$work/commands" "$work/expected" "$need"
  blocks=$((blocks + count))
}

blocks=0
folder=$work/tree
run_blocks README.md < <(blocks_of_markdown "$source_dir/README.md")
for page in "$source_dir"/runtime/cli/*.[1-9].in; do
  run_blocks "${page##*/}" < <(blocks_of_page "$page")
done
# Pages for those who come from elsewhere: their commands run in examples/.
mkdir -p "$work/tree/tests"
cp -r "$source_dir/tests/forms" "$work/tree/tests/"
folder=$work/tree/examples
for page in "$source_dir"/examples/README.md "$source_dir"/examples/from/*.md; do
  run_blocks "${page#"$source_dir"/examples/}" < <(blocks_of_markdown "$page")
done
# A document whose blocks are not found would pass by testing nothing.
if [ "$blocks" -ge 28 ]; then pass; else fail "only $blocks console blocks were found"; fi

size=$(wc -c <"$source_dir/README.md")
if [ "$size" -le 10240 ]; then pass; else fail "README.md has $size bytes, want at most 10240"; fi

# --- pages ---
if command -v groff >/dev/null 2>&1; then
  for page in "$build_dir"/runtime/cli/*.[1-9]; do
    groff -t -man -Tutf8 -ww -z "$page" >"$work/out" 2>&1
    if [ -s "$work/out" ]; then fail "${page##*/} renders with warnings" "$work/out"; else pass; fi
  done
else
  skip "rendering of manual pages: there is no groff"
fi
names=$("$hlorun" --list-options | grep -o -e '--[a-z][a-z-]*' -e 'HLORUN_[A-Z_]*' | sort -u)
expect_some "options and variables" 100 "$(wc -w <<<"$names")"
for name in $names; do
  if grep -qF -e "${name//-/\\-}" "$build_dir"/runtime/cli/*.1; then pass; else fail "$name is on no manual page"; fi
done

# --- paths ---
paths=$(grep -oE '`(runtime|ops|transport|tests|examples)/[^` *]*`' "$source_dir/README.md" \
  "$source_dir/runtime/GLOSSARY.md" "$source_dir/tests/README.md" | sed 's/.*:`//; s/`$//' | sort -u)
expect_some "paths" 40 "$(wc -w <<<"$paths")"
for path in $paths; do
  if [ -e "$source_dir/$path" ] || grep -qF -e "$path" "$build_dir/Makefile"; then pass; else fail "$path is named, and is not there"; fi
done
# Names of types, functions and headers in the glossary are in the sources; it has at most 50 terms.
names=$(grep -oE '`[a-z0-9_]+(\.h)?`' "$source_dir/runtime/GLOSSARY.md" | tr -d '`' | sort -u)
expect_some "names in the glossary" 15 "$(wc -w <<<"$names")"
for name in $names; do
  case $name in
    *.h) found=$(find "$source_dir/runtime" "$source_dir/ops" "$source_dir/transport" -name "$name" | head -n 1) ;;
    *) found=$(grep -rlwF -e "$name" --include='*.[ch]' --include='*.def' \
                 "$source_dir/runtime" "$source_dir/ops" "$source_dir/transport" | head -n 1) ;;
  esac
  if [ -n "$found" ]; then pass; else fail "the glossary names $name, which is nowhere"; fi
done
terms=$(grep -c '^| ' "$source_dir/runtime/GLOSSARY.md")
if [ "$terms" -le 51 ]; then pass; else fail "the glossary has $((terms - 1)) terms, want at most 50"; fi
finish
