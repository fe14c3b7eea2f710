# shellcheck shell=bash disable=SC2034
# What the test scripts share: the command under test, an environment in which mpirun works in containers and with more
# processes than cores, counting, and the last line "N passed, N failed[, N skipped]". Sourced, after `set -u`.

source_dir=${TEST_SOURCE:-$(cd "$(dirname "$0")" && git rev-parse --show-toplevel)}
build_dir=${TEST_BUILD:-$source_dir/build}
hlorun=${HLORUN:-$build_dir/hlorun}
mpirun=${TEST_MPIRUN:-mpirun}
read -ra cc <<<"${CC:-cc}" # may have arguments, such as "ccache gcc"
[ -x "$hlorun" ] || { echo "$hlorun is not there: build first, or set TEST_BUILD"; exit 99; }
work=$(mktemp -d "${TMPDIR:-/tmp}/hlorun-test.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_plm_rsh_agent="" OMPI_MCA_btl=self,vader

# Variables of the tests are no options of hlorun, which warns of those that it does not know.
export -n HLORUN_CORPORA HLORUN_JAX_PYTHON HLORUN_JAX_VERSIONS HLORUN_TORCH_XLA_PYTHON

passed=0 failed=0 skipped=0

# For commands that start MPI, in builds with sanitizers: Open MPI unloads its modules at the end, and what they still
# hold cannot be told from leaks of ours any more.
leak_check_off() {
  export ASAN_OPTIONS=detect_leaks=0
}
leak_check_on() {
  unset ASAN_OPTIONS
}

# Flags of the sanitizers that the build has; nothing without.
sanitizer_flags() {
  sed -n 's/^HR_SANITIZE = *//p' "$build_dir/Makefile"
}

pass() {
  passed=$((passed + 1))
}

# fail NAME [FILE]: counts a failure and shows what the command wrote.
fail() {
  failed=$((failed + 1))
  echo "FAILED: $1"
  if [ $# -gt 1 ] && [ -s "$2" ]; then tail -n 40 "$2" | sed 's/^/    /'; fi
}

skip() {
  skipped=$((skipped + 1))
  echo "skipped: $1"
}

# expect_exit NAME CODE COMMAND...: runs the command for two minutes at most, its output in $work/out, and checks its
# exit code.
expect_exit() {
  local name=$1 want=$2 got=0
  shift 2
  timeout -k 5 120 "$@" >"$work/out" 2>&1 </dev/null || got=$?
  if [ "$got" -eq "$want" ]; then pass; return 0; fi
  echo "exit code $got, want $want" >>"$work/out"
  fail "$name" "$work/out"
  return 1
}

# expect_text NAME TEXT: the last command's output must hold this text.
expect_text() {
  if grep -qF -e "$2" "$work/out"; then pass; return 0; fi
  echo "want the text: $2" >>"$work/out"
  fail "$1" "$work/out"
}

# expect_some NAME LEAST COUNT: a loop over what was found somewhere would pass over nothing, too: at least so many must be.
expect_some() {
  if [ "$3" -ge "$2" ]; then pass; else fail "$1: found $3, want at least $2"; fi
}

# eventually COMMAND...: waits for a minute at most until the command succeeds, however busy the machine is.
eventually() {
  local _
  for _ in $(seq 1200); do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  return 1
}

# has_lines FILE COUNT PATTERN: for `eventually`.
has_lines() {
  local found
  found=$(grep -c -e "$3" "$1" 2>/dev/null)
  [ "${found:-0}" -ge "$2" ]
}

# is_mapped FILE: for `eventually`; true if a process has this file of this name in its memory.
is_mapped() {
  grep -qsF -e "$1" /proc/[0-9]*/maps
}

# write_sum NAME COUNT FACTOR: NAME.hlo makes of f32[COUNT] its sum over all processes (line 11) times FACTOR.
write_sum() {
  cat >"$1.hlo" <<EOF
HloModule $1

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[$2] parameter(0)
  all = f32[$2] all-reduce(x), replica_groups={}, to_apply=add
  factor = f32[] constant($3)
  factors = f32[$2] broadcast(factor), dimensions={}
  ROOT next = f32[$2] multiply(all, factors)
}
EOF
}

# add_counts FILE: adds the "N passed, N failed" line that ends a file, as `hlorun test` writes it; false if it has
# none.
add_counts() {
  local line
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$1" | tail -n 1)
  [ -n "$line" ] || return 1
  # shellcheck disable=SC2086 # the words are wanted apart
  set -- ${line//,/}
  passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + ${5:-0}))
}

# Fails if nothing was tested, either.
finish() {
  local tail=
  [ $((passed + failed + skipped)) -gt 0 ] || fail "this script tested nothing"
  [ "$skipped" -eq 0 ] || tail=", $skipped skipped"
  echo "$passed passed, $failed failed$tail"
  [ "$failed" -eq 0 ]
  exit
}
