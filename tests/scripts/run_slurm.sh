#!/usr/bin/env bash
# Under Slurm: srun as the launcher (PMIx), and the batch script of examples/slurm. Its daemons run for the time of the
# test, with all their files in its folder. Needs root and Debian's slurmctld, slurmd, slurm-client and munge.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
examples=$source_dir/examples

if [ "$(id -u)" -ne 0 ]; then skip "Slurm: only root can run its daemons"; finish; fi
for command in munged slurmctld slurmd srun sbatch; do
  if ! command -v "$command" >/dev/null; then skip "Slurm: there is no $command"; finish; fi
done

cd "$work" || exit 99
host=$(hostname -s)
port=$((20000 + $$ % 20000))
mkdir state spool
chmod 755 "$work"
cat >slurm.conf <<END
ClusterName=hlorun
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
SchedulerType=sched/builtin
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=10 State=UP
END
export SLURM_CONF=$work/slurm.conf
dd if=/dev/urandom of=munge.key bs=128 count=1 2>/dev/null
chmod 400 munge.key

daemons=
take_down() {
  for pid in $daemons; do kill "$pid" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf "$work"
}
trap take_down EXIT

munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munged.pid" \
  --log-file="$work/munged.log" --seed-file="$work/munged.seed" >"$work/munged.out" 2>&1 &
daemons="$daemons $!"
for _ in $(seq 50); do [ -S munge.socket ] && break; sleep 0.1; done
slurmctld -D >"$work/slurmctld.out" 2>&1 &
daemons="$daemons $!"
slurmd -D >"$work/slurmd.out" 2>&1 &
daemons="$daemons $!"
is_up() { sinfo -h -o %T 2>/dev/null | grep -q idle; }
for _ in $(seq 100); do is_up && break; sleep 0.1; done
if ! is_up; then
  skip "Slurm: its daemons do not come up here"
  tail -n 5 munged.log slurmctld.log slurmd.log slurmd.out
  finish
fi

expect_exit "srun" 0 srun -n 4 "$hlorun" --input "$examples/argmax.npz" "$examples/argmax.hlo"
expect_text "srun" "out0 = f32[] 7.5"
export HLORUN_MODULE_DIR=$build_dir/.libs
expect_exit "collectives" 0 srun -n 4 "$build_dir/tests/mpi/mpi_collectives"
unset HLORUN_MODULE_DIR
expect_exit "a task alone" 0 srun -n 1 "$hlorun" --input '0=f32[3]{1,2,3}' --input '1=f32[3]{10,20,30}' \
  "$examples/hello.hlo"
expect_exit "-n against srun" 2 srun -n 2 "$hlorun" -n 3 --input "$examples/argmax.npz" "$examples/argmax.hlo"

# The example's script, twice: the second job goes on where the first one stopped.
export HLORUN=$hlorun DIGITS=$examples/digits
expect_exit "a batch job" 0 sbatch --wait -n 2 -o first.log "$examples/slurm/train.sbatch" "$work/run" 2 4
if [ -s run/weights.npz ]; then pass; else fail "a batch job: its results" first.log; fi
expect_exit "a second job" 0 sbatch --wait -n 2 -o second.log "$examples/slurm/train.sbatch" "$work/run" 4 4
if grep -q "going on after step" second.log; then pass; else fail "a second job goes on" second.log; fi

# What goes wrong ends all tasks, with the exit code of the one that failed.
cat >stuck.hlo <<'END'
HloModule stuck, replica_count=3

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

meet {
  x = f32[4] parameter(0)
  ROOT y = f32[4] all-reduce(x), channel_id=1, replica_groups={{0,1,2}}, use_global_device_ids=true, to_apply=add
}

miss {
  x = f32[4] parameter(0)
  ROOT y = f32[4] all-reduce(x), channel_id=2, replica_groups={{0,1,2}}, use_global_device_ids=true, to_apply=add
}

ENTRY main {
  x = f32[4] parameter(0)
  id = u32[] replica-id()
  me = s32[] convert(id)
  ROOT r = f32[4] conditional(me, x, x), branch_computations={meet, miss}
}
END
stuck=(-n 3 "$hlorun" --no-proof --random-inputs stuck.hlo)
expect_exit "a run that is stuck" 6 srun "${stuck[@]}" --timeout 1
expect_text "a run that is stuck" "rank 2 waits for the others at stuck.hlo:16:8"

# signalled NAME CODE SIGNAL: what comes of a run that is stuck when all of its tasks get a signal.
signalled() {
  local got=0 run
  timeout -k 5 60 srun -J "$3" "${stuck[@]}" >"$work/out" 2>&1 </dev/null &
  run=$!
  for _ in $(seq 50); do squeue -h -t R -n "$3" | grep -q . && break; sleep 0.1; done
  sleep 1
  scancel --signal="$3" -n "$3"
  sleep 2
  scancel --signal=TERM -n "$3" 2>/dev/null
  wait "$run" || got=$?
  echo "exit code $got, want $2" >>"$work/out"
  if [ "$got" -eq "$2" ]; then pass; else fail "$1" "$work/out"; fi
}
signalled "who waits for whom" 5 USR1
expect_text "who waits for whom" "who waits for whom:"
signalled "a cancelled run" 5 INT
finish
