#!/usr/bin/env bash
# Collectives that run while the program computes: the same results as in one piece, bit for bit, however they move; and
# a timeline in which gradients travel while the backward pass goes on.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
cd "$work" || exit 99
gpt=$source_dir/examples/gpt

# run NAME ENVIRONMENT... -- ARGUMENTS...
run_with() {
  local name=$1 settings=()
  shift
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  shift
  expect_exit "$name" 0 env "${settings[@]}" "$hlorun" "$@"
}

for kind in overlap overlap-kinds combine; do
  program=(--random-inputs --outfeed "file:out.%r.npz" "$source_dir/tests/passes/$kind.hlo")
  run_with "$kind: in one piece" HLORUN_OVERLAP=0 HLORUN_COMBINE=0 -- -n 2 -o whole.npz "${program[@]}"
  for progress in 0 1; do
    run_with "$kind: in halves, thread $progress" "HLORUN_PROGRESS=$progress" -- \
      -n 2 --repeat 3 --ulp 0 --expect whole.npz "${program[@]}"
  done
  run_with "$kind: checked while it runs" A=0 -- -n 2 --verify-comm --ulp 0 --expect whole.npz "${program[@]}"
  run_with "$kind: reference" A=0 -- -n 2 --engine reference --expect whole.npz "${program[@]}"
done

step=(--input "$gpt/init.npz" --carry 1-60:0-59 --feed "60=$gpt/windows.npy")
run_with "gpt: in one piece" HLORUN_OVERLAP=0 HLORUN_COMBINE=0 -- \
  -n 2 --steps 3 -o whole.npz "${step[@]}" "$gpt/train.hlo"
run_with "gpt: in halves" A=0 -- -n 2 --steps 3 --ulp 0 --expect whole.npz "${step[@]}" "$gpt/train.hlo"
run_with "gpt: 4 processes, a thread" HLORUN_PROGRESS=1 -- -n 4 --steps 20 --metric 0=loss "${step[@]}" "$gpt/train.hlo"

# In the timeline, each process computes something between the start of each transfer and the end that waits for it;
# that is the order of its plan. How much of a transfer is over by then is a matter of who comes first: a process whose
# peer has waited for it finds everything there at the start. So one transfer of all that moves beside computing is
# enough.
overlaps() {
  python3 - <<'END'
import json
events = json.load(open("trace.json"))["traceEvents"]
steps = sum(e["ph"] == "X" and e["cat"] == "run" for e in events) // 2
hidden = 0
for rank in 0, 1:
    mine = sorted((e for e in events if e["pid"] == rank and "ts" in e), key=lambda e: e["ts"])
    calls = [e for e in mine if e["ph"] == "X"]
    computing = [e for e in calls if e["cat"] in ("native", "generated")]
    starts, waits = ([e["ts"] for e in calls if e["args"].get("op", "").endswith(half)] for half in ("-start", "-done"))
    assert len(waits) == len(starts) >= steps, f"rank {rank}: {len(starts)} starts, {len(waits)} ends in {steps} steps"
    for start in starts:
        wait = min(at for at in waits if at > start)
        assert any(start < e["ts"] < wait for e in computing), f"rank {rank}: nothing from {start} to its end at {wait}"
    begun, ended = ({e["id"]: e["ts"] for e in mine if e["ph"] == half} for half in "be")
    assert begun.keys() == ended.keys(), "halves without the other"
    for i, begin in begun.items():
        hidden += any(begin < e["ts"] + e["dur"] and e["ts"] < ended[i] for e in computing)
assert hidden, f"no transfer beside computing in {steps} steps"
END
}
for progress in 0 1; do
  run_with "timeline, thread $progress" "HLORUN_PROGRESS=$progress" -- \
    -n 2 --steps 5 --trace trace.json "${step[@]}" "$gpt/train.hlo"
  if ! python3 -c '' 2>/dev/null; then skip "the timeline, thread $progress: there is no python3"
  elif overlaps >out 2>&1; then pass; else fail "nothing is computed while gradients travel, thread $progress" out; fi
done

# How many travel: all 21 alone, or joined.
for bytes in 0 1000000; do
  run_with "--combine $bytes" HLORUN_OVERLAP=0 -- -n 2 --combine $bytes --trace trace.json "${step[@]}" "$gpt/train.hlo"
  count=$(grep -c '"pid":0.*"op":"all-reduce"' trace.json)
  if [ $bytes -eq 0 ]; then wanted=22; else wanted=1; fi
  [ "$count" -eq $wanted ] && pass || fail "--combine $bytes: $count all-reduces, want $wanted"
done
# Operands that are read again, by another all-reduce, by the same one, or before its end.
cat >shared.hlo <<'END'
HloModule shared, replica_count=2

add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}

ENTRY main {
  id = u32[] replica-id()
  mine = s32[] convert(id)
  same = s32[100,1000] broadcast(mine), dimensions={}
  column = s32[100,1000] iota(), iota_dimension=1
  x = s32[100,1000] add(same, column)
  two = (s32[100,1000], s32[100,1000]) all-reduce(x, x), to_apply=add
  p = s32[100,1000] get-tuple-element(two), index=0
  q = s32[100,1000] get-tuple-element(two), index=1
  y = s32[100,1000] multiply(p, q)
  begun = s32[100,1000] all-reduce-start(y), to_apply=add
  z = s32[100,1000] negate(y)
  done = s32[100,1000] all-reduce-done(begun)
  w = s32[100,1000] add(z, done)
  v = s32[100,1000] all-reduce(w), to_apply=add
  flat = s32[100000] reshape(v)
  again = (s32[100,1000], s32[100000]) all-reduce(v, flat), to_apply=add
  t = s32[100,1000] get-tuple-element(again), index=0
  u = s32[100000] get-tuple-element(again), index=1
  ROOT out = (s32[100,1000], s32[100,1000], s32[100,1000], s32[100000]) tuple(x, w, t, u)
}
END
run_with "shared operands: reference" A=0 -- -n 2 --engine reference -o "shared.%r.npz" shared.hlo
run_with "shared operands" A=0 -- -n 2 --repeat 3 --ulp 0 --expect "shared.%r.npz" shared.hlo

# Gathered arrays that processes of one machine read at one place, those of a pair, of all, and along an inner dimension:
# places are written anew within an execution and by the next but one.
cat >gathers.hlo <<'END'
HloModule gathers, num_partitions=4

ENTRY main {
  w = f32[64,128] parameter(0)
  k = f32[4,32,64] parameter(1)
  v = f32[64,128] parameter(2)
  whole = f32[256,128] all-gather(w), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true
  keys = f32[4,128,64] all-gather(k), channel_id=2, replica_groups={{0,1,2,3}}, dimensions={1}, use_global_device_ids=true
  pair = f32[128,128] all-gather(v), channel_id=3, replica_groups={{0,1},{2,3}}, dimensions={0}, use_global_device_ids=true
  scores = f32[4,32,128] dot(k, keys), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  mixed = f32[4,32,64] dot(scores, keys), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  left = f32[64,256] dot(w, whole), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  next_w = f32[64,128] dot(left, whole), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  more = f32[256,128] all-gather(next_w), channel_id=4, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true
  right = f32[64,256] dot(v, more), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  again = f32[256,256] all-gather(right), channel_id=5, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true
  last = f32[64,256] dot(right, again), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sums = f32[64,128] dot(last, more), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  product = f32[64,128] dot(v, pair), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  both = f32[64,128] add(product, sums)
  new_w = f32[64,128] sine(next_w)
  new_k = f32[4,32,64] cosine(mixed)
  new_v = f32[64,128] sine(both)
  ROOT result = (f32[64,128], f32[4,32,64], f32[64,128]) tuple(new_w, new_k, new_v)
}
END
steps=(--random-inputs --steps 40 --carry 0-2:0-2)
run_with "gathers: copied" HLORUN_ALLGATHER=shm -- -n 4 "${steps[@]}" -o whole.npz gathers.hlo
for progress in 0 1; do
  run_with "gathers: at one place, thread $progress" HLORUN_PROGRESS=$progress HLORUN_LOG=plan:debug -- \
    -n 4 "${steps[@]}" --ulp 0 --expect whole.npz gathers.hlo
  expect_text "gathers: at one place" "4 gathered arrays are shared"
done
expect_exit "gathers: one process without shared arrays" 0 "$mpirun" -n 3 "$hlorun" --no-progress "${steps[@]}" --ulp 0 \
  --expect whole.npz gathers.hlo : -n 1 env HLORUN_CHECK=1 "$hlorun" --no-progress "${steps[@]}" --ulp 0 --expect whole.npz \
  gathers.hlo
run_with "gathers: checked while they run" A=0 -- -n 4 --verify-comm "${steps[@]}" --ulp 0 --expect whole.npz gathers.hlo
finish
