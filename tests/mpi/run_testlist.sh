#!/usr/bin/env bash
# Runs the lines of testlist: PROGRAM RANKS SECONDS EXIT-CODE [ARGUMENT...], each under mpirun with so many ranks
# (1,2,3: once with each), so many seconds at most, and that exit code of mpirun.
set -u
. "$(dirname "$0")/../common.sh"
leak_check_off
export HLORUN_MODULE_DIR=$build_dir/.libs

run_line() {
  local program=$1 ranks=$2 seconds=$3 want=$4 count got
  shift 4
  for count in ${ranks//,/ }; do
    got=0
    timeout -k 5 "$seconds" "$mpirun" -n "$count" "$build_dir/tests/mpi/$program" "$@" >"$work/out" 2>&1 </dev/null || got=$?
    if [ "$got" -eq "$want" ]; then pass; continue; fi
    echo "exit code $got, want $want" >>"$work/out"
    fail "$program $* on $count ranks" "$work/out"
  done
}

while read -r program line; do
  # shellcheck disable=SC2086 # the line is meant to be split
  case "$program" in '' | '#'*) ;; *) run_line "$program" $line ;; esac
done <"$source_dir/tests/mpi/testlist"

# A process that is killed, and an mpirun that leaves it to the others to find out: each says who is gone, soon.
killed() {
  local got=0 started=$SECONDS
  timeout -k 5 30 "$mpirun" --enable-recovery -n 3 "$build_dir/tests/mpi/mpi_collectives" die >"$work/out" 2>&1 </dev/null || got=$?
  echo "exit code $got after $((SECONDS - started)) s" >>"$work/out"
  if [ $((SECONDS - started)) -le 10 ] && [ "$(grep -c 'rank 1 has ended on' "$work/out")" -ge 1 ]; then
    pass
  else
    fail "a killed process" "$work/out"
  fi
}
killed

# Ranks that make believe that they sit on several machines share memory only with some.
for HLORUN_NODE_SIZE in 2 3; do
  export HLORUN_NODE_SIZE
  run_line mpi_collectives 5,8 60 0
done
unset HLORUN_NODE_SIZE
finish
