#!/usr/bin/env bash
# Checkpoints: runs that are killed at random moments and gone on with end with the same bits as one that was left
# alone; also on other numbers of replicas; torn checkpoints are passed over. KILLS=N says how many runs are killed.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99

# A little training: a state, a loss that all replicas share, random numbers, and examples that are fed.
cat >train.hlo <<'EOF'
HloModule train

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  weights = f32[64,64] parameter(0)
  count = s32[] parameter(1)
  examples = f32[4,64] parameter(2)
  product = f32[4,64] dot(examples, weights), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  squashed = f32[4,64] tanh(product)
  gradient = f32[64,64] dot(examples, squashed), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  all = f32[64,64] all-reduce(gradient), replica_groups={}, to_apply=add
  low = f32[] constant(0)
  high = f32[] constant(0.01)
  noise = f32[64,64] rng(low, high), distribution=rng_uniform
  rate = f32[] constant(-0.01)
  rates = f32[64,64] broadcast(rate), dimensions={}
  step = f32[64,64] multiply(all, rates)
  moved = f32[64,64] add(weights, step)
  shaken = f32[64,64] add(moved, noise)
  one = s32[] constant(1)
  next = s32[] add(count, one)
  ROOT both = (f32[64,64], s32[]) tuple(shaken, next)
}
EOF
sed 's/rng(low, high), distribution=rng_uniform/broadcast(low), dimensions={}/' train.hlo >calm.hlo
python3 - <<'EOF' || { skip "checkpoints: there is no python3"; finish; exit; }
import random, struct
random.seed(1)
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (32, 64), }"
head += b" " * (-(len(head) + 11) % 64) + b"\n"
with open("examples.npy", "wb") as file:
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head)
    file.write(struct.pack("<2048f", *(random.uniform(-1, 1) for _ in range(2048))))
EOF
carry=(--carry 0:0,1:1 --feed 2=examples.npy --input '1=s32[] 0' --random-inputs=3)
leak_check_off

# What the runs are compared with: ones that nothing disturbs.
expect_exit "undisturbed" 0 "$hlorun" --steps 2500 "${carry[@]}" -o alone.npz train.hlo
expect_exit "undisturbed, two replicas" 0 "$hlorun" -n 2 --steps 1500 "${carry[@]}" -o two.npz train.hlo

# killed NAME WANTED KILLS STEPS RANKS: kills whole runs with SIGKILL, at random moments, the last one when there is a
# checkpoint, then lets one finish.
killed() {
  local name=$1 wanted=$2 kills=$3 steps=$4 ranks=$5 pid
  rm -rf kept
  for turn in $(seq "$kills"); do
    setsid "$hlorun" -n "$ranks" --steps "$steps" "${carry[@]}" --checkpoint kept --every 20 --resume train.hlo >out \
      2>&1 </dev/null &
    pid=$!
    sleep "$(printf "0.%03d" $((RANDOM % 250 + 200 * ranks)))"
    for _ in $(seq 600); do
      if [ "$turn" -lt "$kills" ] || ls -d kept/step-* >/dev/null 2>&1; then break; fi
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
  done
  if ls -d kept/step-* >/dev/null 2>&1; then pass; else fail "$name: there is a checkpoint" out; fi
  expect_exit "$name, at last" 0 "$hlorun" -n "$ranks" --steps "$((steps + 1))" "${carry[@]}" --checkpoint kept \
    --every 20 --resume train.hlo
  cp -r kept again
  rm -rf "again/step-$(printf %012d "$steps")"
  expect_exit "$name" 0 "$hlorun" -n "$ranks" --steps "$steps" "${carry[@]}" --checkpoint again --every 1000 --resume \
    --ulp 0 --expect "$wanted" train.hlo
  expect_text "$name" "going on after step"
  rm -rf again
}
killed "killed" alone.npz "${KILLS:-4}" 2500 1
killed "killed, two replicas" two.npz 3 1500 2
if [ -d kept ] && [ -z "$(ls kept | grep writing)" ]; then pass; else fail "half written checkpoints are removed"; fi
# Who is killed between a new one and the removal leaves one more, until the next.
expect_exit "another checkpoint" 0 "$hlorun" -n 2 --steps 1540 "${carry[@]}" --checkpoint kept --every 20 --resume \
  train.hlo
if [ "$(ls -d kept/step-* | wc -l)" -le 2 ]; then pass; else fail "old checkpoints are removed"; fi

# Torn and missing files: the newest whole one is used, and what is wrong with the others is said.
rm -rf kept
expect_exit "three checkpoints" 0 "$hlorun" --steps 90 "${carry[@]}" --checkpoint kept --every 30 --keep 3 train.hlo
expect_exit "the end of 100 steps" 0 "$hlorun" --steps 100 "${carry[@]}" -o hundred.npz train.hlo
truncate -s -100 kept/step-000000000090/rank0.npz
expect_exit "a torn file" 0 "$hlorun" --steps 100 "${carry[@]}" --checkpoint kept --every 1000 --resume --ulp 0 \
  --expect hundred.npz train.hlo
expect_text "a torn file" "going on after step 60"
expect_text "a torn file" "its check sum differs"
rm kept/step-000000000060/rank0.npz
head -c 30 kept/step-000000000090/manifest >short && mv short kept/step-000000000090/manifest
expect_exit "a missing file" 0 "$hlorun" --steps 100 "${carry[@]}" --checkpoint kept --every 1000 --resume --ulp 0 \
  --expect hundred.npz train.hlo
expect_text "a missing file" "going on after step 30"

# On another number of replicas, when all have the same: each goes on with the same bits.
rm -rf kept
expect_exit "two replicas" 0 "$hlorun" -n 2 --steps 40 "${carry[@]}" --checkpoint kept --every 40 calm.hlo
cp -r kept four
expect_exit "on four" 0 "$hlorun" -n 4 --steps 41 "${carry[@]}" --checkpoint four --every 1 --resume calm.hlo
expect_text "on four" "going on after step 40"
same=1
for rank in 1 2 3; do cmp -s four/step-000000000041/rank0.npz "four/step-000000000041/rank$rank.npz" || same=0; done
if [ "$same" = 1 ]; then pass; else fail "four replicas hold the same"; fi
expect_exit "on one" 0 "$hlorun" --steps 41 "${carry[@]}" --checkpoint kept --resume calm.hlo
expect_text "on one" "going on after step 40"

# What cannot be is refused.
expect_exit "nothing is carried" 2 "$hlorun" --checkpoint kept --input 0=1 "$source_dir/examples/heat.hlo"
expect_exit "resume from nowhere" 2 "$hlorun" --resume --steps 3 "${carry[@]}" calm.hlo
expect_exit "nothing is left to do" 2 "$hlorun" --steps 40 "${carry[@]}" --checkpoint kept --resume calm.hlo
expect_exit "a folder that cannot be" 5 "$hlorun" --steps 40 "${carry[@]}" --checkpoint /proc/nowhere calm.hlo
finish
