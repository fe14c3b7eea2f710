#!/usr/bin/env bash
# Keeps the map of the source true: includes point one way, mpi.h stays in one file, every file is listed in the
# sources.am of its folder, every unit test has its row, and file names are unique.
set -u
source_dir=${TEST_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$source_dir" || exit 99
failed=0 passed=0

# Folder, or file, and what it may include besides the system. The first row that matches a file counts.
layers() {
  cat <<'ROWS'
runtime/base/            base/
runtime/io/              base/ io/
runtime/mlir/            base/ mlir/
ops/table/               base/ ops/table/
runtime/ir/              base/ io/npy.h ops/table/ ir/
ops/rules/               base/ ir/ ops/table/ ops/query/ ops/rules/
ops/query/               base/ ir/ mlir/mlir_dict.h ops/table/ ops/rules/ ops/query/
ops/kernels/simd/        base/ ops/kernels/simd/
ops/kernels/env.h        base/ ir/ ops/table/
ops/kernels/kernel.      base/ ir/ ops/table/ ops/query/op_step.h ops/kernels/env.h ops/kernels/kernel.h
ops/kernels/pure.        base/ ir/ ops/table/ ops/query/op_step.h ops/kernels/kernel.h ops/kernels/pure.h
ops/kernels/native.      base/ ir/ ops/table/ ops/kernels/kernel.h ops/kernels/native.h
ops/kernels/libs/        base/ ops/kernels/native.h ops/kernels/libs/
ops/kernels/common/      base/ ir/ ops/table/ ops/rules/ ops/query/ ops/kernels/kernel.h ops/kernels/native.h ops/kernels/simd/ ops/kernels/common/
ops/kernels/elementwise/ base/ ir/ ops/table/ ops/kernels/kernel.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/elementwise/
ops/kernels/gemm/        base/ ir/ ops/table/ ops/query/ ops/kernels/kernel.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/gemm/
ops/kernels/reference/   base/ ir/ ops/table/ ops/rules/ ops/query/ ops/kernels/kernel.h ops/kernels/simd/ ops/kernels/libs/ ops/kernels/common/ ops/kernels/elementwise/ ops/kernels/gemm/ ops/kernels/reference/
ops/kernels/comm/        base/ ir/ ops/table/ ops/rules/ ops/query/ ops/kernels/kernel.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/elementwise/ ops/kernels/comm/
ops/kernels/custom/      base/ ir/ mlir/ ops/table/ ops/rules/ ops/query/ ops/kernels/kernel.h ops/kernels/native.h ops/kernels/common/ ops/kernels/elementwise/ ops/kernels/gemm/ ops/kernels/reference/ ops/kernels/custom/
ops/kernels/conv/        base/ ir/ ops/table/ ops/query/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/libs/ ops/kernels/common/ ops/kernels/gemm/ ops/kernels/reference/ ops/kernels/move/ ops/kernels/conv/
ops/kernels/dot/         base/ ir/ ops/table/ ops/query/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/libs/ ops/kernels/common/ ops/kernels/gemm/ ops/kernels/reference/ ops/kernels/move/ ops/kernels/conv/ ops/kernels/dot/
ops/kernels/linalg/      base/ ir/ ops/table/ ops/query/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/move/ ops/kernels/gemm/ ops/kernels/custom/ ops/kernels/linalg/
ops/kernels/fft/         base/ ir/ ops/table/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/libs/ ops/kernels/common/ ops/kernels/fft/
ops/kernels/sort/        base/ ir/ ops/table/ ops/query/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/elementwise/ ops/kernels/reference/ ops/kernels/custom/ ops/kernels/sort/
ops/kernels/window/      base/ ir/ ops/table/ ops/query/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/elementwise/ ops/kernels/window/
ops/kernels/indexed/     base/ ir/ ops/table/ ops/query/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/elementwise/ ops/kernels/indexed/
ops/kernels/move/        base/ ir/ ops/table/ ops/query/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/common/ ops/kernels/move/
ops/kernels/random/      base/ ir/ ops/table/ ops/kernels/native.h ops/kernels/simd/ ops/kernels/random/
runtime/stablehlo/       base/ ir/ mlir/ ops/table/ ops/rules/ ops/query/ stablehlo/
runtime/proto/           base/ ir/ ops/table/ ops/rules/ ops/query/ proto/
runtime/tf/              base/ ir/ ops/table/ ops/rules/ ops/query/ passes/lib/pass_evaluate.h proto/ stablehlo/import/import_formula.h tf/
runtime/read/            base/ ir/ io/ mlir/ ops/table/ ops/rules/ ops/query/ stablehlo/ proto/ read/ tf/
runtime/passes/          base/ ir/ ops/table/ ops/rules/ ops/query/ ops/kernels/pure.h passes/
runtime/partition/       base/ ir/ ops/table/ ops/rules/ ops/query/ passes/ partition/ transport/core/coll_cost.h
runtime/plan/            base/ ir/ ops/table/ ops/rules/ ops/query/ ops/kernels/kernel.h ops/kernels/native.h ops/kernels/common/ plan/
runtime/jit/             base/ ir/ ops/table/ ops/rules/ ops/query/ ops/kernels/kernel.h ops/kernels/native.h ops/kernels/elementwise/ plan/ jit/
runtime/topo/            base/ topo/
transport/               base/ transport/
runtime/comm/model/      base/ ir/ ops/table/ ops/query/ ops/kernels/pure.h plan/ comm/model/
runtime/check/           base/ ir/ ops/table/ ops/query/ plan/ comm/model/ check/
runtime/schedule/        base/ ir/ ops/table/ ops/query/ plan/ check/ comm/model/ schedule/
runtime/comm/peers/      base/ ir/ ops/table/ ops/query/ ops/kernels/kernel.h ops/kernels/common/ plan/ comm/ transport/
runtime/feed/            base/ ir/ io/ plan/ comm/ feed/ transport/
runtime/observe/         base/ ir/ io/ ops/table/ ops/query/ ops/kernels/kernel.h ops/kernels/common/ plan/ jit/ comm/ observe/ transport/
runtime/exec/            base/ ir/ ops/ plan/ jit/ comm/ feed/ observe/ exec/ transport/ topo/
runtime/compiler.        base/ ir/ ops/table/ ops/rules/ ops/query/ read/ passes/ partition/ plan/ check/ jit/ compiler.h
runtime/prove.           base/ ir/ ops/table/ ops/rules/ ops/query/ read/ passes/ partition/ plan/ check/ comm/ exec/ compiler.h prove.h
runtime/shape_specializations. base/ ir/ ops/table/ ops/query/ passes/lib/pass_equal.h plan/ exec/ compiler.h shape_specializations.h
runtime/api/             base/ io/gzip.h ir/ ops/table/ ops/query/ read/ plan/ comm/ feed/ observe/ exec/ topo/ transport/ compiler.h hlorun.h prove.h shape_specializations.h
runtime/hlorun.          hlorun.h
runtime/pjrt/            base/ ir/ proto/ ops/table/ ops/query/custom_ffi.h ops/query/custom_host.h ops/query/host_transfer.h ops/kernels/custom/ffi_abi.h partition/host.h read/read.h api/ transport/core/transport.h hlorun.h pjrt/
runtime/cli/             base/ ir/ io/ mlir/ ops/ stablehlo/ proto/ read/ tf/file/tf_read.h tf/file/tensor_bundle.h passes/ partition/ plan/ check/ schedule/ comm/ observe/ exec/ topo/ transport/shm/local_launch.h transport/core/event_loop.h transport/core/transport.h compiler.h hlorun.h cli/
ROWS
}

# Includes against the direction that are still to be cut, by file. A row whose include is gone must go too.
exceptions() {
  cat <<'EXCEPTIONS'
EXCEPTIONS
}

problem() {
  failed=$((failed + 1))
  echo "$*"
}

mapfile -t rows < <(layers)
declare -A excepted
while read -r file included; do
  [ -z "$file" ] || excepted["$file $included"]=unseen
done < <(exceptions)

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
  if [ -n "${excepted["$file $included"]:-}" ]; then excepted["$file $included"]=seen; return 0; fi
  problem "$file includes $included; its layer may include: $allowed"
}

check_includes() {
  local file allowed='' included last='' before=$failed
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

check_exceptions() {
  local row
  for row in "${!excepted[@]}"; do
    if [ "${excepted[$row]}" = seen ]; then passed=$((passed + 1))
    else problem "the exception \"$row\" is needed no more"; fi
  done
}

check_only_in() {
  local header=$1 where=$2 found
  shift 2
  found=$(grep -l "#[[:space:]]*include <$header" "$@" | grep -v "^$where" | tr '\n' ' ')
  if [ -n "$found" ]; then problem "$header is included outside $where: $found"; else passed=$((passed + 1)); fi
}

# A folder's files are in its sources.am; those of single programs and modules are in Makefile.am, or a part of it.
check_listed() {
  local file word folder makefile
  declare -A listed
  while IFS= read -r makefile; do
    folder=${makefile%/*}
    [ "$folder" != "$makefile" ] || folder=.
    for word in $(<"$makefile"); do listed[${word/\%D\%/$folder}]=1; done
  done < <(find Makefile.am runtime ops transport tests -name '*.am')
  for file in "$@"; do
    if [ -n "${listed[$file]:-}" ]; then passed=$((passed + 1))
    else problem "$file is not listed in ${file%/*}/sources.am"; fi
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

mapfile -t sources < <(find runtime ops transport -name '*.[ch]' -o -name '*.def' | sort)
mapfile -t tests < <(find tests -name '*.[ch]' -o -name '*.def' | sort)
[ "${#sources[@]}" -gt 1000 ] || problem "found ${#sources[@]} sources, want those of the tree"
code=()
for file in "${sources[@]}"; do case "$file" in *.[ch]) code+=("$file") ;; esac; done

check_includes "${code[@]}"
check_exceptions
check_only_in mpi.h transport/mpi/mpi.c "${code[@]}"
check_only_in llvm-c/ runtime/jit/ "${code[@]}"
check_listed "${sources[@]}" "${tests[@]}"
check_suites
check_unique "${sources[@]}" "${tests[@]}"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
