#!/usr/bin/env bash
# Runs the lines of testlist: PROGRAM RANKS SECONDS EXIT-CODE [ARGUMENT...], each under mpirun with so many ranks
# (1,2,3: once with each), so many seconds at most, and that exit code of mpirun.
set -u
. "$(dirname "$0")/../scripts/common.sh"
leak_check_off
export HLORUN_MODULE_DIR=$build_dir/.libs

run_line() {
  local program=$1 ranks=$2 seconds=$3 want=$4 count got
  shift 4
  for count in ${ranks//,/ }; do
    got=0
    timeout -k 5 "$seconds" "$mpirun" -n "$count" "$build_dir/tests/mpi/$program" "$@" >"$work/out" 2>&1 \
      </dev/null || got=$?
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
  local how=$1 got=0 started=$SECONDS
  timeout -k 5 60 "$mpirun" --enable-recovery -n 3 "$build_dir/tests/mpi/mpi_collectives" "$how" >"$work/out" 2>&1 \
    </dev/null || got=$?
  echo "exit code $got after $((SECONDS - started)) s" >>"$work/out"
  if [ $((SECONDS - started)) -le 40 ] && [ "$(grep -c 'rank 1 has ended on' "$work/out")" -ge 1 ]; then
    pass
  else
    fail "a killed process: $how" "$work/out"
  fi
}
for how in die send-to-dead recv-from-dead; do killed "$how"; done

# Ranks that make believe that they sit on several machines share memory only with some.
for HLORUN_NODE_SIZE in 2 3; do
  export HLORUN_NODE_SIZE
  run_line mpi_collectives 5,8 300 0
done
unset HLORUN_NODE_SIZE

# What --tune measures is what later runs choose by; a table of no use is not used.
program=$work/sum.hlo
cat >"$program" <<'END'
HloModule sum, replica_count=2
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[4096] parameter(0)
  r = f32[4096] all-reduce(x), replica_groups={{0,1}}, to_apply=add
  e = f32[4096] all-to-all(r), replica_groups={{0,1}}, dimensions={0}
  ROOT p = f32[4096] collective-permute(e), source_target_pairs={{0,1},{1,0}} }
END

hlorun=$build_dir/hlorun
export HLORUN_TUNING=$work/table HLORUN_COLL_INFO=1
if "$hlorun" -n 2 "--tune=$work/table" >"$work/out" 2>&1 &&
  "$hlorun" -n 2 --random-inputs "$program" >>"$work/out" 2>&1 &&
  [ "$(grep -cE '(all-reduce|all-to-all|permute) of 16384 bytes .* shm [0-9.]* measured' "$work/out")" -eq 3 ]; then
  pass
else
  fail "choosing by measurements" "$work/out"
fi
echo "all-reduce shm" >"$work/table"
if "$hlorun" -n 2 --random-inputs "$program" >"$work/out" 2>&1 && grep -q 'without measurements' "$work/out"; then
  pass
else
  fail "a wrong table of measurements" "$work/out"
fi
unset HLORUN_TUNING HLORUN_COLL_INFO
finish
