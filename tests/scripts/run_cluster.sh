#!/usr/bin/env bash
# Several hosts: network namespaces with a name, an address and a wire of their own, all plugged into one bridge; mpirun
# starts processes there through tests/tools/netns_rsh. Needs root and iproute2.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
examples=$source_dir/examples
hosts="a b c"
NETNS_PREFIX=hlorun-$$ NETNS_CORES=$work/core
export NETNS_PREFIX NETNS_CORES
wire=hl$$ # names of network devices have 15 letters at most

# --- the cluster ---

# "$on" HOST COMMAND...: runs it there, with this environment.
on=$work/on
cat >"$on" <<'END'
#!/bin/sh
host=$1
shift
exec ip netns exec "$NETNS_PREFIX-$host" taskset -c "$(cat "$NETNS_CORES-$host")" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
END
chmod +x "$on"

take_down() {
  for host in $hosts; do
    ip netns pids "$NETNS_PREFIX-$host" 2>/dev/null | xargs -r kill -KILL
    ip netns del "$NETNS_PREFIX-$host"
  done 2>/dev/null
  ip link del "${wire}br" 2>/dev/null
  rm -rf "$work"
}

put_up() {
  local number=0
  ip link add "${wire}br" type bridge && ip link set "${wire}br" up || return
  for host in $hosts; do
    number=$((number + 1))
    echo $((number % $(nproc))) >"$NETNS_CORES-$host" # a host has one core
    ip netns add "$NETNS_PREFIX-$host" || return
    ip link add "$wire$host" type veth peer name eth0 netns "$NETNS_PREFIX-$host" || return
    ip link set "$wire$host" master "${wire}br" up
    ip -n "$NETNS_PREFIX-$host" addr add "10.77.1.$number/24" dev eth0
    ip -n "$NETNS_PREFIX-$host" link set lo up
    ip -n "$NETNS_PREFIX-$host" link set eth0 up
  done
  [ "$("$on" b hostname)" = b ]
}

if [ "$(id -u)" -ne 0 ]; then skip "a cluster of network namespaces: only root can make it"; finish; fi
if ! command -v ip >/dev/null; then skip "a cluster of network namespaces: there is no ip (iproute2)"; finish; fi
trap take_down EXIT
if ! put_up >"$work/out" 2>&1; then
  skip "a cluster of network namespaces: this system does not allow it: $(tail -n 1 "$work/out")"
  expect_exit "elastic above the mesh" 2 "$hlorun" --elastic 3:3 --hosts a,b,c --max-restarts 1 --checkpoint mesh cut.mlir
expect_text "elastic above the mesh" "--elastic 3:3: with 3 processes of --hosts the program runs on 2"
finish
fi

cd "$work" || exit 99
printf '%s slots=2\n' a b >two_hosts
printf '%s slots=%s\n' a 3 b 1 c 1 >three_hosts
cp "$source_dir/tests/tools/netns_rsh" rsh # mpirun takes the words of a path with spaces apart
export OMPI_MCA_plm_rsh_agent=$work/rsh OMPI_MCA_btl=self,vader,tcp OMPI_MCA_orte_tmpdir_base=$work
export HLORUN_MODULE_DIR=$build_dir/.libs HLORUN_CACHE=$work/cache

# use two_hosts | three_hosts: where mpirun starts processes from now on.
use() {
  OMPI_MCA_orte_default_hostfile=$work/$1
  export OMPI_MCA_orte_default_hostfile
}

# Bytes that the host has sent over its wire.
sent_by() {
  cat "/sys/class/net/$wire$1/statistics/rx_bytes"
}

# Who still runs "$on" a host.
left_on() {
  local pid
  for pid in $(ip netns pids "$NETNS_PREFIX-$1"); do
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null && echo
  done
}

is_empty() {
  [ -z "$(ip netns pids "$NETNS_PREFIX-a")$(ip netns pids "$NETNS_PREFIX-b")" ]
}

expect_nobody() {
  if eventually is_empty; then pass; return; fi
  { left_on a; left_on b; } >left
  fail "$1: there are processes left" left
}

has_no_rank() {
  ! { left_on a; left_on b; } | grep -F "$hlorun" >left
}

# The same, but for what is left of Open MPI on a host that cannot be reached.
expect_no_rank() {
  if eventually has_no_rank; then pass; else fail "$1: there are processes left" left; fi
}

# expect_crossed NAME BYTES COMMAND...: it succeeds, and so much at least goes over b's wire in the meantime.
expect_crossed() {
  local name=$1 least=$2 before crossed
  shift 2
  before=$(sent_by b)
  expect_exit "$name" 0 "$on" a "$@" || return
  crossed=$(($(sent_by b) - before))
  if [ "$crossed" -ge "$least" ]; then pass; else fail "$name: $crossed bytes crossed the network, want $least"; fi
}

# --- collectives ---

use two_hosts
expect_crossed "collectives on 2 hosts" 1000000 "$mpirun" -x HLORUN_MODULE_DIR -n 4 \
  "$build_dir/tests/mpi/mpi_collectives"
use three_hosts
expect_crossed "collectives on 3 hosts" 1000000 "$mpirun" -x HLORUN_MODULE_DIR -n 5 \
  "$build_dir/tests/mpi/mpi_collectives"

use two_hosts
# The same over a bad wire, where the kernel has such.
for disturbance in 'netem delay 2ms 1ms loss 1%' 'tbf rate 200mbit burst 64kb limit 64kb'; do
  # shellcheck disable=SC2086 # the words are wanted apart
  if tc qdisc add dev "${wire}b" root $disturbance 2>"$work/out"; then
    expect_crossed "collectives with $disturbance" 1000000 "$mpirun" -x HLORUN_MODULE_DIR -n 4 \
      "$build_dir/tests/mpi/mpi_collectives"
    tc qdisc del dev "${wire}b" root
  else
    skip "collectives with $disturbance: $(head -n 1 "$work/out")"
  fi
done

# --- programs ---

expect_crossed "cases" 10000 "$hlorun" test "$examples"/*.hlo \
  "$source_dir"/tests/cases/{all,collective,reduce_scatter,send}*.mlir
expect_crossed "partitioned programs" 50000 "$hlorun" test "$source_dir/tests/corpora/spmd"
expect_text "an explanation" "0 failed"
HLORUN_COLL_INFO=1
export HLORUN_COLL_INFO
expect_exit "the choice of an algorithm" 0 "$on" a "$hlorun" -n 4 --input "$examples/argmax.npz" "$examples/argmax.hlo"
expect_text "the choice of an algorithm" "machines"
unset HLORUN_COLL_INFO

digits=$examples/digits
training=(--epochs 1 --input "$digits/init.npz" --carry 1-13:0-12 --feed "13=$digits/train_images.npy"
  --feed "14=$digits/train_labels.npy" "$digits/train.hlo")
expect_exit "training on one process" 0 "$hlorun" --output one.npz "${training[@]}"
expect_crossed "training on 2 hosts" 100000 "$hlorun" -n 4 --rtol 1e-3 --expect one.npz "${training[@]}"

# --- channels, feeds, checkpoints ---

expect_exit "a pipeline is made" 0 "$hlorun" schedule gen 1f1b --stages 4 --microbatches 8 -o pipeline
expect_crossed "a pipeline of programs" 1000 "$hlorun" -n 4 pipeline/rank*.hlo --expect pipeline/expected.npz

feed=$examples/feed
for rank in 0 1 2 3; do python3 "$feed/feeder.py" - 3 >"values$rank.feed"; done
expect_exit "feeds of each process" 0 "$on" a "$hlorun" -n 4 --infeed 'file:values%r.feed' --outfeed 'file:out%r.feed' \
  "$feed/feed.hlo"
same=1
for rank in 1 2 3; do cmp -s out0.feed "out$rank.feed" || same=0; done
if [ "$same" = 1 ] && [ -s out0.feed ]; then pass; else fail "feeds of each process: all fed out the same"; fi

state=(--carry 0:0 --input '0=f32[3]{1,2,3}')
write_sum grow 3 0.2501
expect_exit "undisturbed" 0 "$on" a "$hlorun" -n 4 --steps 300 "${state[@]}" --output whole.npz grow.hlo
expect_exit "with checkpoints" 0 "$on" a "$hlorun" -n 4 --steps 200 "${state[@]}" --checkpoint kept --every 50 grow.hlo
expect_exit "going on" 0 "$on" a "$hlorun" -n 4 --steps 300 "${state[@]}" --checkpoint kept --resume --ulp 0 --expect \
  whole.npz grow.hlo
expect_text "going on" "going on after step 200"

# --- what goes wrong ---

# A program that never ends by itself.
{
  sed '/^ENTRY/,$d' grow.hlo
  cat <<'END'
step {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1000] get-tuple-element(s), index=1
  all = f32[1000] all-reduce(x), replica_groups={}, to_apply=add
  ROOT r = (s32[], f32[1000]) tuple(i, all)
}

going {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(1)
  ROOT r = pred[] compare(i, n), direction=LT
}

ENTRY main {
  zero = s32[] constant(0)
  nought = f32[] constant(0)
  x = f32[1000] broadcast(nought), dimensions={}
  s = (s32[], f32[1000]) tuple(zero, x)
  t = (s32[], f32[1000]) while(s), condition=going, body=step
  ROOT y = f32[1000] get-tuple-element(t), index=1
}
END
} >endless.hlo

# Process of a rank on a host.
process_of() {
  local pid
  for pid in $(ip netns pids "$NETNS_PREFIX-$1"); do
    [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$hlorun")" ] || continue
    if grep -qz "^OMPI_COMM_WORLD_RANK=$2$" "/proc/$pid/environ"; then echo "$pid"; return; fi
  done
}

# goes_wrong NAME CODE ACTION... : runs the endless program on both hosts, does ACTION once all processes have loaded
# it, and wants it to end with that exit code, which is another one if it is the patience that ends it, or a time limit.
goes_wrong() {
  local name=$1 want=$2 got=0 run
  shift 2
  HLORUN_LOG=cli:info timeout -k 5 120 "$on" a "$hlorun" -n 4 --timeout "$patience" endless.hlo >"$work/out" 2>&1 \
    </dev/null &
  run=$!
  eventually has_lines "$work/out" 4 "cli info: loaded"
  sleep 0.5
  "$@"
  wait "$run" || got=$?
  echo "exit code $got, want $want" >>"$work/out"
  if [ "$got" -eq "$want" ]; then pass; else fail "$name" "$work/out"; fi
}

# The report of all waits, asked for on the other host.
ask_who_waits() {
  kill -STOP "$(process_of b 2)"
  sleep 0.3
  kill -USR1 "$(process_of b 3)"
  eventually has_lines "$work/out" 1 "rank 2 has not answered"
  kill -CONT "$(process_of b 2)"
  kill -KILL "$(process_of b 2)"
}

patience=60
kill_rank() { kill "-$3" "$(process_of "$1" "$2")"; }
cut_link() { ip link set "$wire$1" down; }

goes_wrong "a process is killed on the other host" 5 kill_rank b 3 KILL
expect_nobody "a process is killed on the other host"
goes_wrong "a process is killed on this host" 5 kill_rank a 1 KILL
expect_nobody "a process is killed on this host"
goes_wrong "who waits for whom" 5 ask_who_waits
expect_text "who waits for whom" "who waits for whom:"
expect_text "who waits for whom" "rank 3 waits for the others at endless.hlo:13:3, on host b"
expect_text "who waits for whom" "rank 2 has not answered"
expect_nobody "who waits for whom"
patience=2
goes_wrong "a process is stopped" 6 kill_rank b 2 STOP
expect_text "a process is stopped" "has not answered"
expect_nobody "a process is stopped"
goes_wrong "the network is cut" 6 cut_link b
expect_text "the network is cut" "waits for"
expect_no_rank "the network is cut"

# --- hosts that come and go ---

# The remote shell does not reach a host for which there is a file away-HOST.
printf '#!/bin/sh\n[ ! -e "%s/away-$1" ] || exit 255\nexec "%s/rsh" "$@"\n' "$work" "$work" >rsh_of_present
chmod +x rsh_of_present
unset OMPI_MCA_orte_default_hostfile
ip link set "${wire}b" up
# The kernel reports a carrier up to a second later: until then host b reaches nobody. A port without listener refuses.
b_reaches_a() {
  "$on" b timeout 1 bash -c ': </dev/tcp/10.77.1.1/9' 2>&1 | grep -q refused
}
eventually b_reaches_a
write_sum slow 3 0.2501
elastic=(--hosts a,b,c --elastic 2:3 --max-restarts 3 --carry 0:0 --input '0=f32[3]{1,2,3}' --steps 1000000000 --every 2000)

# start_elastic NAME: $run is its process; what it says goes to NAME.out.
start_elastic() {
  OMPI_MCA_plm_rsh_agent=$work/rsh_of_present "$on" a "$hlorun" "${elastic[@]}" --checkpoint "$1" --overwrite \
    "${2:-slow.hlo}" >"$1.out" 2>&1 &
  run=$!
}
has_step() {
  compgen -G "$1/step-*" >/dev/null
}
# The text is there, or the run has ended without it.
says_or_ended() {
  grep -qF -e "$2" "$1.out" || ! kill -0 "$run" 2>/dev/null
}
expect_says() {
  eventually says_or_ended "$1" "$2"
  if grep -qF -e "$2" "$1.out"; then pass; else fail "$1: want the text: $2" "$1.out"; fi
}
touch away-c
start_elastic comes
expect_says comes "2 processes on a:1,b:1 (not there: c: refused or unknown)"
eventually has_step comes
rm away-c
expect_says comes "hosts are back"
expect_says comes "3 processes on a:1,b:1,c:1"
expect_says comes "going on after step" # all have started
touch away-b
ip netns pids "$NETNS_PREFIX-b" | xargs -r kill -KILL
expect_says comes "2 processes on a:1,c:1 (not there: b: refused or unknown)"
expect_says comes "restart 1 of 3"
touch away-c
ip netns pids "$NETNS_PREFIX-c" | xargs -r kill -KILL
expect_says comes "waiting for hosts: found 1 processes, want at least 2 (not there: b: refused or unknown, c: refused or unknown)"
rm away-b
expect_says comes "2 processes on a:1,b:1 (not there: c: refused or unknown)"
run_has_ended() { ! kill -0 "$run" 2>/dev/null; }
end_elastic() {
  kill -TERM "$run" # perhaps before mpirun has started
  if eventually run_has_ended; then pass; else fail "an elastic run is ended by SIGTERM" "$1.out"; fi
  kill -KILL "$run" 2>/dev/null
  wait "$run"
  rm -f away-*
}
end_elastic comes
# A program that names three replicas waits for the third host.
sed 's/replica_groups={}/replica_groups={{0,1,2}}/' slow.hlo >three.hlo
start_elastic three three.hlo
eventually has_step three
touch away-c
ip netns pids "$NETNS_PREFIX-c" | xargs -r kill -KILL
expect_says three "this cannot be run on 2 processes"
expect_says three "waiting for hosts: found 1 processes, want at least 2 (not there: c: refused or unknown)"
rm away-c
expect_says three "going on after step"
end_elastic three

# A global program on a mesh of two runs on two of three hosts, and on one.
cat >cut.mlir <<'PROGRAM'
module @cut {
  sdy.mesh @mesh = <["d"=2]>
  func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %quarter = stablehlo.constant dense<0.25> : tensor<f32>
    %mean = stablehlo.multiply %sum, %quarter : tensor<f32>
    %y = stablehlo.broadcast_in_dim %mean, dims = [] : (tensor<f32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
PROGRAM
elastic=(--hosts a,b,c --elastic 1:3 --max-restarts 3 --carry 0:0 --input '0=f32[4]{1,2,3,4}' --steps 1000000000 --every 2000)
start_elastic mesh cut.mlir
expect_says mesh "2 processes on a:1,b:1"
eventually has_step mesh
touch away-b away-c
ip netns pids "$NETNS_PREFIX-b" | xargs -r kill -KILL
expect_says mesh "1 processes on a:1 (not there: b: refused or unknown, c: refused or unknown)"
expect_says mesh "going on after step"
rm away-c
expect_says mesh "hosts are back"
expect_says mesh "2 processes on a:1,c:1 (not there: b: refused or unknown)"
end_elastic mesh
# A host that cannot be reached when the run starts: that counts as a restart, and is said.
cp rsh_of_present rsh_of_host
export OMPI_MCA_plm_rsh_agent=$work/rsh_of_host
touch away-b
expect_exit "a host that is not there" 5 "$on" a "$hlorun" --hosts a,b --random-inputs slow.hlo
expect_text "a host that is not there" "mpirun could not start the processes"
expect_exit "a host that is not there, and restarts" 5 "$on" a "$hlorun" --hosts a,b --max-restarts 1 --carry 0:0 \
  --input '0=f32[3]{1,2,3}' --steps 10 --checkpoint away --overwrite slow.hlo
expect_text "a host that is not there, and restarts" "restart 1 of 1 after"
rm away-b
# The exit code of a process that cannot reach the launcher's files.
mkdir verdicts
printf '#!/bin/sh\nexec unshare -m sh -c "mount -t tmpfs tmpfs %s/verdicts && exec \\"\\$0\\" \\"\\$@\\"" "%s/rsh" "$@"\n' \
  "$work" "$work" >rsh_of_host
expect_exit "results" 0 "$on" a "$hlorun" --hosts a,b --input '0=f32[3]{1,2,3}' --output wrong.npz slow.hlo
expect_exit "other results, said by another host" 1 env TMPDIR="$work/verdicts" "$on" a "$hlorun" --hosts b,a \
  --input '0=f32[3]{1,2,4}' --expect wrong.npz slow.hlo
expect_exit "elastic without hosts" 2 "$hlorun" --elastic 2:3 --max-restarts 1 --checkpoint comes slow.hlo
expect_exit "elastic without restarts" 2 "$hlorun" --elastic 2:3 --hosts a,b slow.hlo
expect_exit "an elastic range" 2 "$hlorun" --elastic 3:2 --hosts a,b --max-restarts 1 --checkpoint comes slow.hlo
expect_exit "elastic above the mesh" 2 "$hlorun" --elastic 3:3 --hosts a,b,c --max-restarts 1 --checkpoint mesh cut.mlir
expect_text "elastic above the mesh" "--elastic 3:3: with 3 processes of --hosts the program runs on 2"
finish
