#!/usr/bin/env bash
# Keeps the map of the source true: includes point one way, mpi.h stays in one file, every file is listed in
# Makefile.am, every unit test has its row, no kernel reads a clock, and file names are unique.
set -u
source_dir=${TEST_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$source_dir" || exit 99
failed=0 passed=0

# Folder, or file, and what it may include besides itself and the system. The first row that matches a file counts.
layers() {
  cat <<'ROWS'
runtime/base/       base/
ops/opcode.         base/ ops/opcode.h ops/ops.def ops/attrs.def ops/op_attrs.def ops/enums.def
ops/                base/ ir/ ops/
runtime/ir/         base/ ir/ ops/opcode.h
runtime/mlir/       base/ ir/ mlir/
runtime/stablehlo/  base/ ir/ ops/ mlir/ stablehlo/
runtime/proto/      base/ ir/ ops/ proto/
runtime/read/       base/ ir/ ops/ mlir/ stablehlo/ proto/ read/
runtime/passes/     base/ ir/ ops/ passes/
runtime/plan/       base/ ir/ ops/ plan/
runtime/check/      base/ ir/ ops/ plan/ check/
runtime/schedule/   base/ ir/ ops/ plan/ check/ schedule/
runtime/jit/kir/    base/ jit/kir/
runtime/jit/x64/    base/ jit/kir/ jit/x64/ jit/target.h
runtime/jit/llvm/llvm_preload. base/ ir/ ops/ jit/llvm/ jit/x64/x64.h jit/target.h
runtime/jit/llvm/   base/ jit/kir/ jit/llvm/ jit/target.h
runtime/jit/        base/ ir/ ops/ plan/ jit/
runtime/topo/       base/ topo/
transport/          base/ transport/
runtime/exec/feed    base/ ir/ ops/ read/npy.h read/zip.h plan/ exec/ transport/
runtime/exec/probe_files.    base/ ir/ read/npy.h exec/
runtime/exec/       base/ ir/ ops/ plan/ check/ jit/ exec/ transport/ topo/
runtime/compiler.   base/ ir/ ops/ read/ passes/ plan/ check/ jit/ compiler.h
runtime/prove.      base/ ir/ ops/ read/ passes/ plan/ check/ exec/ compiler.h prove.h
runtime/variants.   base/ ir/ ops/ passes/pass_equal.h plan/ exec/ compiler.h variants.h
runtime/api/        base/ ir/ ops/ read/ plan/ exec/ topo/ transport/ compiler.h hlorun.h prove.h variants.h
runtime/hlorun.     hlorun.h
runtime/cli/        base/ ir/ ops/ mlir/ stablehlo/ proto/ read/ passes/ plan/ check/ schedule/ exec/ topo/ transport/launched.h transport/loop.h transport/transport.h compiler.h hlorun.h cli/
ROWS
}

problem() {
  failed=$((failed + 1))
  echo "$*"
}

mapfile -t rows < <(layers)

# Sets `allowed`: what the first row that matches a file says; empty if none does.
find_allowed() {
  local row
  allowed=
  for row in "${rows[@]}"; do
    case "$1" in "${row%% *}"*) allowed=${row#* }; return ;; esac
  done
}

# An include of a file beside the includer, without a folder, is the layer's own.
check_include() {
  local file=$1 included=$2 allowed=$3 prefix
  case "$included" in */*) ;; *) [ ! -f "${file%/*}/$included" ] || return 0 ;; esac
  for prefix in $allowed; do
    case "$included" in "$prefix"*) return 0 ;; esac
  done
  problem "$file includes $included; its layer may include: $allowed"
}

check_includes() {
  local file allowed= included last= before=$failed
  for file in "$@"; do
    find_allowed "$file"
    [ -n "$allowed" ] || problem "$file belongs to no layer"
  done
  while IFS=: read -r file included; do
    included=${included#*\"}
    [ "$file" = "$last" ] || find_allowed "$file"
    last=$file
    check_include "$file" "${included%\"*}" "$allowed"
  done < <(grep -HE '^[[:space:]]*#[[:space:]]*include "' "$@")
  passed=$((passed + $# - failed + before))
}

check_only_in() {
  local header=$1 where=$2 found
  shift 2
  found=$(grep -l "#[[:space:]]*include <$header" "$@" | grep -v "^$where" | tr '\n' ' ')
  if [ -n "$found" ]; then problem "$header is included outside $where: $found"; else passed=$((passed + 1)); fi
}

check_listed() {
  local file
  declare -A listed
  for file in $(<Makefile.am); do listed[$file]=1; done
  for file in "$@"; do
    if [ -n "${listed[$file]:-}" ]; then passed=$((passed + 1)); else problem "$file is not listed in Makefile.am"; fi
  done
}

check_suites() {
  local file name
  for file in tests/unit/test_*.c; do
    name=${file##*/} name=${name%.c}
    if grep -q "^SUITE(${name#test_})" tests/unit/suites.def; then passed=$((passed + 1))
    else problem "tests/unit/suites.def has no row SUITE(${name#test_})"; fi
  done
}

check_unique() {
  local twice
  twice=$(printf '%s\n' "$@" | sed 's|.*/||' | sort | uniq -d | tr '\n' ' ')
  if [ -n "$twice" ]; then problem "file names used twice: $twice"; else passed=$((passed + 1)); fi
}

# Kernels and plans follow from the program and the machine, never from the time that something took: runs and
# processes would come to other choices, and other bits.
check_no_clocks() {
  local file
  for file in "$@"; do
    case "$file" in ops/* | runtime/passes/* | runtime/plan/* | runtime/ir/*) ;; *) continue ;; esac
    if grep -qE 'clock_gettime|gettimeofday|rdtsc|clock\(\)|<time\.h>' "$file"; then problem "$file reads a clock"
    else passed=$((passed + 1)); fi
  done
}

mapfile -t sources < <(find runtime ops transport -name '*.[ch]' -o -name '*.def' | sort)
mapfile -t tests < <(find tests -name '*.[ch]' -o -name '*.def' | sort)
code=()
for file in "${sources[@]}"; do case "$file" in *.[ch]) code+=("$file") ;; esac; done

check_includes "${code[@]}"
check_only_in mpi.h transport/mpi.c "${code[@]}"
check_only_in llvm-c/ runtime/jit/llvm/ "${code[@]}"
check_listed "${sources[@]}" "${tests[@]}"
check_suites
check_no_clocks "${code[@]}"
check_unique "${sources[@]}" "${tests[@]}"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
