#!/usr/bin/env bash
# --max-restarts: a training whose processes are killed and stopped at random goes on by itself, and ends with the same
# bits as one that nobody disturbed. KILLS=N says how often.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99
leak_check_off

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
  squashed = f32[64,64] tanh(weights)
  gradient = f32[64,64] dot(squashed, weights), lhs_contracting_dims={0}, rhs_contracting_dims={0}
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
carry=(--carry 0:0,1:1 --input '1=s32[] 0' --random-inputs=3)
steps=${STEPS:-8000}

# disturbed NAME RANKS KILLS OPTION...: kills a random process each time there is a checkpoint of this start, or stops
# it where there is a --timeout.
disturbed() {
  local name=$1 ranks=$2 kills=$3 got=0 pid victim seen=0 count signal
  shift 3
  rm -rf kept after.npz
  "$hlorun" -n "$ranks" --steps "$steps" "${carry[@]}" --checkpoint kept --every 200 --max-restarts $((kills + 3)) "$@" \
    -o after.npz train.hlo >out 2>&1 </dev/null &
  pid=$!
  for ((k = 1; k <= kills; k++)); do
    for _ in $(seq 600); do
      kill -0 "$pid" 2>/dev/null || break 2
      victim=$(pgrep -P "$pid" | sed -n "$((RANDOM % ranks + 1))p")
      # Some in their first moments, the others when they have gone on for a while.
      [ $((k % 3)) -ne 0 ] || [ -z "$victim" ] || break
      count=$(ls -d kept/step-* 2>/dev/null | tail -n 1)
      [ -z "$victim" ] || [ "$count" = "$seen" ] || break
      sleep 0.02
    done
    seen=$(ls -d kept/step-* 2>/dev/null | tail -n 1)
    signal=KILL
    [[ " $* " != *" --timeout "* ]] || [ $((k % 2)) -eq 0 ] || signal=STOP
    [ -z "$victim" ] || kill -"$signal" "$victim" 2>/dev/null
    eventually has_lines out 1 "hlorun: restart $k of " || break
  done
  wait "$pid" || got=$?
  echo "exit code $got, want 0; $(grep -c 'hlorun: restart' out) restarts" >>out
  if [ "$got" -eq 0 ] && [ "$(grep -c 'hlorun: restart' out)" -ge "$kills" ]; then pass; else fail "$name" out; fi
  if cmp -s "$name.npz" after.npz; then pass; else fail "$name: other bits than undisturbed" out; fi
}
for ranks in 1 3; do
  expect_exit "undisturbed" 0 "$hlorun" -n $ranks --steps "$steps" "${carry[@]}" -o "$ranks ranks killed.npz" train.hlo
  cp "$ranks ranks killed.npz" "$ranks ranks stopped.npz"
  disturbed "$ranks ranks killed" $ranks "${KILLS:-4}"
done
disturbed "3 ranks stopped" 3 2 --timeout 1
if grep -q "hlorun: restart 1 of 5 after" out; then pass; else fail "what happened is said" out; fi

# The command is removed, as an update does, while the training runs: it goes on with what it is.
cp "$hlorun" updated
rm -rf kept
./updated -n 2 --steps 100000000 "${carry[@]}" --checkpoint kept --every 200 --max-restarts 1 train.hlo >out 2>&1 </dev/null &
pid=$!
eventually test -d kept/step-000000000200
rm updated
kill -KILL "$(pgrep -P $pid | head -n 1)"
eventually has_lines out 1 "going on after step"
if kill -0 $pid 2>/dev/null && grep -q "restart 1 of 1" out; then pass; else fail "restarts of a command that was removed" out; fi
kill -TERM $pid
wait $pid

# Killed after the last step, while the results are written (to a pipe that nobody reads): they are written in the end.
mkfifo pipe
expect_exit "results" 0 "$hlorun" --steps 400 "${carry[@]}" -o wanted.txt train.hlo
rm -rf kept
"$hlorun" --steps 400 "${carry[@]}" --checkpoint kept --every 200 --max-restarts 2 --stats pipe -o last.txt train.hlo >out \
  2>&1 </dev/null &
pid=$!
eventually test -d kept/step-000000000200
sleep 0.3
kill -KILL "$(pgrep -P $pid)"
eventually has_lines out 1 "restart 1 of 2"
cat pipe >/dev/null
code=0
wait $pid || code=$?
if [ $code -eq 0 ] && cmp -s wanted.txt last.txt; then pass; else fail "killed while results are written: $code" out; fi

# With --overwrite the training that is replaced is never gone on with, even if it began while the clock was years ahead.
rm -rf kept
expect_exit "an old training" 0 "$hlorun" --steps 400 "${carry[@]}" --checkpoint kept --every 200 train.hlo
for manifest in kept/step-*/manifest; do
  sed -i 's/^began .*/began 4000000000000000000/' "$manifest" &&
    python3 -c 'import hashlib, sys; text = open(sys.argv[1], "rb").read(); text = text[:text.rindex(b"blake2b ")]
open(sys.argv[1], "wb").write(text + b"blake2b %s\n" % hashlib.blake2b(text, digest_size=16).hexdigest().encode())' \
      "$manifest"
done
code=0
"$hlorun" --steps 100000000 "${carry[@]}" --checkpoint kept --every 100000000 --overwrite --max-restarts 1 train.hlo \
  >out 2>&1 </dev/null &
pid=$!
for k in 1 2; do
  eventually pgrep -P $pid >"$work/victim"
  sleep 0.3
  kill -KILL "$(pgrep -P $pid)"
  [ $k -eq 2 ] || eventually has_lines out 1 "restart 1 of 1"
  sleep 0.4
done
wait $pid || code=$?
if [ $code -eq 5 ] && ! grep -q "going on after" out; then pass; else fail "--overwrite and restarts: exit code $code" out; fi

# A folder that is renamed: a new run would begin anew, and does not start.
rm -rf kept
code=0
"$hlorun" --steps 100000000 "${carry[@]}" --checkpoint kept --every 200 --max-restarts 3 train.hlo >out 2>&1 </dev/null &
pid=$!
eventually test -d kept/step-000000000200
mv kept moved
kill -KILL "$(pgrep -P $pid | head -n 1)"
wait $pid || code=$?
if [ $code -eq 5 ] && [ ! -e kept ] && grep -q "kept was renamed.* are in $PWD/moved: .* not started again" out; then pass; else
  fail "restarts after the folder was renamed: $code" out; fi
rm -rf kept moved

# What cannot pass is not tried again; what cannot be restarted is refused.
expect_exit "an invalid program" 3 "$hlorun" --steps 4 "${carry[@]}" --checkpoint new --max-restarts 3 /dev/null
if grep -q "restart" "$work/out"; then fail "an invalid program is not tried again" "$work/out"; else pass; fi
expect_exit "without --checkpoint" 2 "$hlorun" --max-restarts 3 --random-inputs train.hlo
expect_exit "a program that is read once" 2 "$hlorun" --max-restarts 3 --checkpoint new "${carry[@]}" -
expect_exit "a failure that stays" 5 "$hlorun" --steps 4 --carry 0:0 --input nowhere.npz --checkpoint new \
  --max-restarts 2 train.hlo
if [ "$(grep -c 'hlorun: restart' "$work/out")" -eq 2 ]; then pass; else fail "so many restarts" "$work/out"; fi
# Hosts that never come: said at once, and given up.
absent() { # NAME CODE SHELL TEXT
  expect_exit "$1" "$2" env OMPI_MCA_plm_rsh_agent="$3" "$hlorun" --elastic 2:4 --hosts there:2,here:2 --max-restarts 3 \
    --timeout 0.5 --steps 4 "${carry[@]}" --checkpoint apart train.hlo
  expect_text "$1" "$4"
  if grep -q "hlorun: restart" "$work/out"; then fail "$1: no restart brings hosts" "$work/out"; else pass; fi
}
absent "hosts that never come" 6 false "(not there: there: refused or unknown, here: refused or unknown)"
absent "no remote shell" 5 /nowhere/shell "there is no remote shell here"
# A shell that does not answer is not waited for when the run must end.
printf '#!/bin/sh\nexec sleep 100\n' >silent
chmod +x silent
began=$(date +%s)
expect_exit "hosts that do not answer" 6 env OMPI_MCA_plm_rsh_agent="$work/silent" "$hlorun" --elastic 2:4 \
  --hosts there:2,here:2 --max-restarts 3 --max-time 1 --steps 4 "${carry[@]}" --checkpoint apart train.hlo
expect_text "hosts that do not answer" "there: no answer, here: no answer"
took=$(($(date +%s) - began))
if [ $took -lt 6 ]; then pass; else fail "hosts that do not answer are waited for: $took s" "$work/out"; fi
# No number of processes is a multiple of the partitions. With --sandbox the program is not read for that.
expect_exit "an elastic range without a multiple" 2 "$hlorun" --elastic 3:3 --hosts there:4 --num-partitions 2 \
  --max-restarts 3 "${carry[@]}" --checkpoint apart train.hlo
expect_text "an elastic range without a multiple" "with 4 processes of --hosts the program runs on 2"
sed 's/HloModule train/&, num_partitions=4/' train.hlo >cut.hlo
apart=("$hlorun" --elastic 2:2 --hosts there:2 --max-restarts 3 --timeout 0.5 "${carry[@]}" --checkpoint apart cut.hlo)
expect_exit "partitions of the program" 2 "${apart[@]}"
expect_exit "a program that is not read outside of the sandbox" 6 env OMPI_MCA_plm_rsh_agent=false "${apart[@]}" --sandbox
"$hlorun" -n 2 --steps 100000000 "${carry[@]}" --checkpoint ended --max-restarts 3 train.hlo >out 2>&1 </dev/null &
pid=$!
eventually test -d ended/step-000000000100
kill -TERM $pid
wait $pid
if grep -q "hlorun: restart" out; then fail "an interrupted run is not started again" out; else pass; fi
# Disturbances of all kinds at random moments; tests/tools/random_kills.py HLORUN --count 1000 tries many.
if command -v python3 >/dev/null; then
  PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/tools/random_kills.py" "$hlorun" --count "${COUNT:-10}" --seed 3 \
    --steps 1500 >out 2>&1
  if add_counts out && ! grep -q "^FAILED" out; then :; else fail "random disturbances" out; fi
else
  skip "no python3: random disturbances"
fi
finish
