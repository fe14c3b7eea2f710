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
finish
