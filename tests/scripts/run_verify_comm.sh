#!/usr/bin/env bash
# `hlorun run --verify-comm`: what goes wrong by data, which no proof can see, ends with exit code 4 and names both
# places, without any time limit; what is sound runs as without the option, also when messages come late.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
cases=$source_dir/tests/cases/schedule
page=$source_dir/examples/check

# program NAME: writes $work/NAME.hlo. Its two branches come on standard input, separated by a line "---": the rank
# times parameter 1 says which one a process takes, so that all take the first if it is 0.
program() {
  {
    cat <<'HLO'
HloModule branches, replica_count=2

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}

greatest {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}

first {
  x = f32[4] parameter(0)
  t = token[] after-all()
HLO
    sed -e 's/^---$/}\n\nsecond {\n  x = f32[4] parameter(0)\n  t = token[] after-all()/' \
      -e 's/PAIRS/frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}/'
    cat <<'HLO'
}

ENTRY main {
  x = f32[4] parameter(0)
  which = s32[] parameter(1)
  id = u32[] replica-id()
  me = s32[] convert(id)
  branch = s32[] multiply(me, which)
  ROOT r = f32[4] conditional(branch, x, x), branch_computations={first, second}
}
HLO
  } >"$work/$1.hlo"
}

run_branches() {
  local name=$1 code=$2 which=$3
  shift 3
  expect_exit "$name, parameter $which" "$code" "$hlorun" -n 2 --verify-comm "$@" -i '0=f32[4] {1, 2, 3, 4}' \
    -i "1=s32[] $which" "$work/$name.hlo"
}

# expect_later NAME CODE FILE TEXT... -- COMMAND...: as expect_exit and expect_text, but a few run at a time (mpirun
# takes a second to end a run that fails); their results are looked at by check_later. FILE is a name of its own.
later=()
expect_later() {
  local name=$1 code=$2 file=$work/later.$3
  shift 3
  while [ "$1" != -- ]; do echo "$1" >>"$file.want"; shift; done
  shift
  echo "$code $name" >"$file.case"
  later+=("$file")
  [ $((${#later[@]} % 4)) -ne 0 ] || wait
  { timeout -k 5 120 "$@" >"$file.out" 2>&1 </dev/null; echo $? >"$file.code"; } &
}

check_later() {
  local file code name text
  wait
  for file in "${later[@]}"; do
    read -r code name <"$file.case"
    expect_exit "$name" "$code" sh -c 'cat "$0.out"; exit "$(cat "$0.code")"' "$file"
    while read -r text; do expect_text "$name" "$text"; done <"$file.want"
  done
}

# expect_difference NAME ENGINE TEXT...: sound when all take the first branch; else the texts are said.
expect_difference() {
  local name=$1 engine=$2
  shift 2
  HLORUN_FAULT=delay:20 run_branches "$name" 0 0 --steps 3 --engine "$engine"
  expect_later "$name, parameter 1" 4 "$name" "$@" -- "$hlorun" -n 2 --verify-comm --no-proof --engine "$engine" \
    -i '0=f32[4] {1, 2, 3, 4}' -i '1=s32[] 1' "$work/$name.hlo"
}

program ops <<'EOF'
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
---
  g = f32[8] all-gather(x), replica_groups={{0,1}}, dimensions={0}
  ROOT z = f32[4] slice(g), slice={[0:4]}
EOF
expect_difference ops compiled "rank 0: $work/ops.hlo:18: %y: all-reduce of f32[4] by add" \
  "rank 1: $work/ops.hlo:24: %g: all-gather of f32[4]"

program shapes <<'EOF'
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
---
  h = f32[2] slice(x), slice={[0:2]}
  s = f32[2] all-reduce(h), replica_groups={{0,1}}, to_apply=sum
  ROOT z = f32[4] concatenate(s, s), dimensions={0}
EOF
expect_difference shapes reference "shapes.hlo:18: %y: all-reduce of f32[4] by add (4), number 1" \
  "shapes.hlo:25: %s: all-reduce of f32[2] by add (2), number 1"

program reductions <<'EOF'
  s = f32[4] all-reduce-start(x), replica_groups={{0,1}}, to_apply=sum
  ROOT y = f32[4] all-reduce-done(s)
---
  s = f32[4] all-reduce-start(x), replica_groups={{0,1}}, to_apply=greatest
  ROOT y = f32[4] all-reduce-done(s)
EOF
expect_difference reductions compiled "of f32[4] by add" "of f32[4] by maximum" "reductions.hlo:18: %s" \
  "reductions.hlo:25: %s"

# Reductions that differ only in the order of their operands are different ones.
program swapped <<'EOF'
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
---
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=greatest
EOF
sed -i -e 's/add(a, b)/subtract(a, b)/' -e 's/maximum(a, b)/subtract(b, a)/' "$work/swapped.hlo"
expect_difference swapped reference "swapped.hlo:18: %y" "swapped.hlo:24: %y"

program started_and_not <<'EOF'
  s = f32[4] all-reduce-start(x), replica_groups={{0,1}}, to_apply=sum
  ROOT y = f32[4] all-reduce-done(s)
---
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
EOF
run_branches started_and_not 0 1 --no-proof

program left_out <<'EOF'
  y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
  ROOT z = f32[4] all-reduce(y), replica_groups={{0,1}}, to_apply=sum
---
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
EOF
expect_difference left_out reference \
  "rank 0 waits in all-reduce $work/left_out.hlo:19: %z, for rank 1 to start its operation number 2" \
  "rank 1 has finished its program"

program never_awaited <<'EOF'
  s = f32[4] all-reduce-start(x), replica_groups={{0,1}}, to_apply=sum
  ROOT y = f32[4] add(x, x)
---
  ROOT y = f32[4] add(x, x)
EOF
expect_difference never_awaited compiled "rank 0 waits in all-reduce-start $work/never_awaited.hlo:18: %s" \
  "rank 1 has finished its program"

program crossed <<'EOF'
  y = f32[4] all-reduce(x), replica_groups={{0,1}}, channel_id=1, to_apply=sum
  ROOT z = f32[4] all-reduce(y), replica_groups={{0,1}}, channel_id=2, to_apply=sum
---
  y = f32[4] all-reduce(x), replica_groups={{0,1}}, channel_id=2, to_apply=sum
  ROOT z = f32[4] all-reduce(y), replica_groups={{0,1}}, channel_id=1, to_apply=sum
EOF
expect_difference crossed reference "a cycle of waiting" \
  "rank 0 waits in all-reduce $work/crossed.hlo:18: %y, channel 1" \
  "rank 1 waits in all-reduce $work/crossed.hlo:25: %y, channel 2"

program permutes <<'EOF'
  y = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  ROOT z = f32[4] collective-permute(y), source_target_pairs={{0,1},{1,0}}
---
  g = f32[2] slice(x), slice={[0:2]}
  h = f32[2] collective-permute(g), source_target_pairs={{0,1},{1,0}}
  ROOT z = f32[4] concatenate(h, h), dimensions={0}
EOF
expect_difference permutes compiled "permutes.hlo:18: %y: collective-permute of f32[4] (16), number 1" \
  "permutes.hlo:26: %h: collective-permute of f32[2] (8), number 1"

program sent_in_vain <<'EOF'
  s = (f32[4], u32[], token[]) send(x, t), channel_id=1, PAIRS
  d = token[] send-done(s), channel_id=1
  r = (f32[4], u32[], token[]) recv(t), channel_id=1, PAIRS
  e = (f32[4], token[]) recv-done(r), channel_id=1
  ROOT y = f32[4] get-tuple-element(e), index=0
---
  ROOT y = f32[4] add(x, x)
EOF
expect_difference sent_in_vain reference "rank 0 waits in send $work/sent_in_vain.hlo:18: %s, channel 1, for rank 1" \
  "rank 1 has finished its program"

program sends_crossed <<'EOF'
  sending.1 = (f32[4], u32[], token[]) send(x, t), channel_id=1, PAIRS
  sent.1 = token[] send-done(sending.1), channel_id=1
  receiving.1 = (f32[4], u32[], token[]) recv(sent.1), channel_id=1, PAIRS
  received.1 = (f32[4], token[]) recv-done(receiving.1), channel_id=1
  token.1 = token[] get-tuple-element(received.1), index=1
  sending.2 = (f32[4], u32[], token[]) send(x, token.1), channel_id=2, PAIRS
  sent.2 = token[] send-done(sending.2), channel_id=2
  receiving.2 = (f32[4], u32[], token[]) recv(sent.2), channel_id=2, PAIRS
  received.2 = (f32[4], token[]) recv-done(receiving.2), channel_id=2
  ROOT y = f32[4] get-tuple-element(received.2), index=0
---
  receiving.2 = (f32[4], u32[], token[]) recv(t), channel_id=2, PAIRS
  received.2 = (f32[4], token[]) recv-done(receiving.2), channel_id=2
  token.2 = token[] get-tuple-element(received.2), index=1
  receiving.1 = (f32[4], u32[], token[]) recv(token.2), channel_id=1, PAIRS
  received.1 = (f32[4], token[]) recv-done(receiving.1), channel_id=1
  ROOT y = f32[4] get-tuple-element(received.1), index=0
EOF
expect_difference sends_crossed compiled "a cycle of waiting" \
  "rank 0 waits in send $work/sends_crossed.hlo:18: %sending.1, channel 1, for rank 1 to start its operation number 1" \
  "rank 1 waits in recv $work/sends_crossed.hlo:33: %receiving.2, channel 2, for rank 0 to start its operation number 1"

# loop NAME TEXT: writes a loop of as many turns as parameter 1 says, plus parameter 2 times the rank; TEXT makes its
# new value `y`.
loop() {
  cat >"$work/$1.hlo" <<EOF
HloModule loop

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}

again {
  s = (s32[], f32[4]) parameter(0)
  left = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT more = pred[] compare(left, zero), direction=GT
}

step {
  s = (s32[], f32[4]) parameter(0)
  left = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  less = s32[] subtract(left, one)
  x = f32[4] get-tuple-element(s), index=1
  $2
  ROOT next = (s32[], f32[4]) tuple(less, y)
}

ENTRY main {
  x = f32[4] parameter(0)
  least = s32[] parameter(1)
  each = s32[] parameter(2)
  id = u32[] replica-id()
  me = s32[] convert(id)
  more = s32[] multiply(me, each)
  turns = s32[] add(least, more)
  s = (s32[], f32[4]) tuple(turns, x)
  w = (s32[], f32[4]) while(s), condition=again, body=step
  last = f32[4] get-tuple-element(w), index=1
  ROOT all = f32[4] all-reduce(last), to_apply=sum, replica_groups={}
}
EOF
}

# run_loop NAME CODE RANKS LEAST EACH TEXT...
run_loop() {
  local name=$1 code=$2 ranks=$3 least=$4 each=$5
  shift 5
  expect_later "$name, $least + $each * rank turns" "$code" "$name.$least.$each" "$@" -- env HLORUN_FAULT=delay:20 \
    "$hlorun" -n "$ranks" --verify-comm --steps 2 -i '0=f32[4] {1, 2, 3, 4}' -i "1=s32[] $least" -i "2=s32[] $each" \
    "$work/$name.hlo"
}

loop turns 'y = f32[4] all-reduce(x), to_apply=sum, replica_groups={}'
run_loop turns 0 3 4 0 "{243, 486, 729, 972}"
run_loop turns 4 2 2 1 "for rank 0 to start its operation number 4; it has started 3" \
  "rank 0 has finished its program"
run_loop turns 4 3 1 1 "turns.hlo:22: %y"
# Slow ones are not stuck: here rank 1 computes for seconds while the others wait for it.
loop slow 'sine = f32[4] sine(x)
  y = f32[4] add(x, sine)'
run_loop slow 0 3 1 400000 "out0"

# --- what the page shows ---

expect_exit "the page" 4 sh -c 'cd "$0" && exec "$@"' "$page" "$hlorun" -n 2 --verify-comm -i '0=f32[4] {1, 2, 3, 4}' \
  -i '1=s32[] 1' branch_by_data.hlo
sed -n '/^\$ hlorun -n 2 --verify-comm/,/^```/p' "$page/README.md" | grep -v -e '^\$' -e '^```' >"$work/shown"
expect_some "lines on the page" 3 "$(wc -l <"$work/shown")"
while IFS= read -r line; do expect_text "the page" "$line"; done <"$work/shown"

# --- what is sound runs as ever ---

expect_some "schedules that run" 4 "$(grep -l '^// RUN ' "$cases"/*.hlo | wc -l)"
while IFS= read -r program; do
  name=$(basename "$program" .hlo)
  ranks=$(sed -n 's,^// RUN ,,p' "$program")
  HLORUN_FAULT=delay:20 expect_exit "$name" 0 "$hlorun" -n "$ranks" --verify-comm --expect "$cases/$name.npz" "$program"
done < <(grep -l '^// RUN ' "$cases"/*.hlo)
for kind in 1f1b zero-bubble ring-all-reduce halo all-to-all; do
  expect_exit "gen $kind" 0 "$hlorun" schedule gen "$kind" --ranks 3 -o "$work/$kind"
  HLORUN_FAULT=delay:5 expect_exit "$kind" 0 "$hlorun" -n 3 --verify-comm --expect "$work/$kind/expected.npz" \
    "$work/$kind"/rank*.hlo
done
for name in collectives_in_branches rule_of_2018 loop_until_agreed loop_until_done pipeline; do
  expect_exit "$name" 0 "$hlorun" -n 2 --verify-comm --random-inputs "$page/$name.hlo"
done
for name in head_to_head pipeline_stuck collectives_crossed; do
  expect_later "$name" 4 "$name" "a cycle of waiting" -- "$hlorun" -n 2 --verify-comm --no-proof --random-inputs \
    "$page/$name.hlo"
done
check_later
expect_exit "one process" 0 "$hlorun" -n 1 --verify-comm --no-proof -i '0=f32[4] {1, 2, 3, 4}' -i '1=s32[] 1' \
  -i '2=s32[] 0' "$work/slow.hlo"

# Without the option: processes that share memory and take different ways say what met, not what lies where a size
# would be in another kind of transfer.
kinds=(
  'y = f32[8] all-reduce(x), replica_groups={{0,1}}, to_apply=sum'
  'y = f32[4] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=sum'
  'y = f32[16] all-gather(x), replica_groups={{0,1}}, dimensions={0}'
  'y = f32[8] all-to-all(x), replica_groups={{0,1}}, dimensions={0}'
  'x1 = f32[4096] broadcast(f), dimensions={}
  y = f32[4096] all-reduce(x1), replica_groups={{0,1}}, to_apply=sum'
  'x1 = f32[4096] broadcast(f), dimensions={}
  y = f32[4096] all-to-all(x1), replica_groups={{0,1}}, dimensions={0}'
)
branch() { # NAME BODY
  printf '%s {\n  x = f32[8] parameter(0)\n  f = f32[] constant(1.7)\n  %s\n' "$1" "$2"
  printf '  s = f32[1] slice(y), slice={[0:1]}\n  q = f32[] reshape(s)\n'
  printf '  b = f32[8] broadcast(q), dimensions={}\n  ROOT r = f32[8] add(x, b)\n}\n\n'
}
for ((i = 0; i < ${#kinds[@]}; i++)); do
  for ((j = 0; j < ${#kinds[@]}; j++)); do
    [ "$i" -ne "$j" ] || continue
    {
      printf 'HloModule ways, replica_count=2\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n'
      printf '  ROOT r = f32[] add(a, b)\n}\n\n'
      branch first "${kinds[$i]}"
      branch second "${kinds[$j]}"
      printf 'ENTRY main {\n  x = f32[8] parameter(0)\n  id = u32[] replica-id()\n  me = s32[] convert(id)\n'
      printf '  ROOT r = f32[8] conditional(me, x, x), branch_computations={first, second}\n}\n'
    } >"$work/ways.hlo"
    expect_exit "ways $i and $j" 4 "$hlorun" -n 2 --no-proof --random-inputs "$work/ways.hlo"
    expect_text "ways $i and $j" "where this one has"
    if grep -qE '[0-9]{9}' "$work/out"; then fail "ways $i and $j: a size that is none" "$work/out"; else pass; fi
  done
done

# Damaged messages: a bit of message N is inverted. With check sums each N that the run gets to ends it with exit code 5;
# check sums change no bit of the results.
cat >"$work/damage.hlo" <<'HLO'
HloModule damage, replica_count=3

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[100] parameter(0)
  total = f32[100] all-reduce(x), replica_groups={}, to_apply=sum
  moved = f32[100] collective-permute(total), source_target_pairs={{0,1},{1,2},{2,0}}
  all = f32[300] all-gather(moved), replica_groups={}, dimensions={0}
  ROOT last = f32[300] negate(all)
}
HLO
damaged=0
for ((n = 1; n <= 30; n++)); do
  HLORUN_FAULT=flip:$n "$hlorun" -n 3 --verify-comm --random-inputs "$work/damage.hlo" >"$work/out" 2>&1
  code=$?
  [ $code -ne 0 ] || break
  [ $code -eq 5 ] && grep -q 'a message of .* bytes from rank . is damaged' "$work/out" || break
  damaged=$((damaged + 1))
done
if [ $code -eq 0 ] && [ $damaged -ge 8 ]; then pass; else fail "damaged messages, the $n-th" "$work/out"; fi
expect_exit "no damage" 0 "$hlorun" -n 3 --verify-comm --random-inputs --output "$work/sound.npz" "$work/damage.hlo"
expect_exit "check sums change no bit" 0 "$hlorun" -n 3 --random-inputs --rtol 0 --atol 0 \
  --expect "$work/sound.npz" "$work/damage.hlo"

# Whatever algorithm moves the messages: damage is found, or there was no such message and the results are right.
cat >"$work/damaged.hlo" <<'HLO'
HloModule damaged, replica_count=4

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[2000] parameter(0)
  total = f32[2000] all-reduce(x), replica_groups={}, to_apply=sum
  moved = f32[2000] collective-permute(total), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  all = f32[8000] all-gather(moved), replica_groups={}, dimensions={0}
  part = f32[2000] reduce-scatter(all), replica_groups={}, dimensions={0}, to_apply=sum
  turned = f32[2000] all-to-all(part), replica_groups={}, dimensions={0}
  same = f32[2000] collective-broadcast(turned), replica_groups={{0,1,2,3}}
  ROOT last = f32[2000] add(same, moved)
}
HLO
damaged_by() { # VARIABLE=VALUE...
  local found=0 number code
  expect_exit "$*" 0 env "$@" "$hlorun" -n 4 --random-inputs -o "$work/right.npz" "$work/damaged.hlo" || return
  for number in 1 3 5 7 9 11 100; do
    code=0
    env "$@" HLORUN_FAULT=flip:$number "$hlorun" -n 4 --verify-comm --random-inputs --rtol 0 --atol 0 \
      --expect "$work/right.npz" "$work/damaged.hlo" >"$work/out" 2>&1 || code=$?
    if [ $code -eq 0 ]; then continue; fi
    if [ $code -ne 5 ] || ! grep -q "is damaged" "$work/out"; then break; fi
    code=0
    found=$((found + 1))
  done
  if [ $code -eq 0 ] && [ $found -ge 6 ]; then pass; else fail "$*: message $number, $found found" "$work/out"; fi
}
damaged_by HLORUN_ALLREDUCE=shm HLORUN_REDUCESCATTER=shm HLORUN_ALLGATHER=shm HLORUN_ALLTOALL=shm HLORUN_BROADCAST=shm
damaged_by HLORUN_ALLREDUCE=direct HLORUN_REDUCESCATTER=direct HLORUN_ALLGATHER=direct HLORUN_ALLTOALL=direct \
  HLORUN_BROADCAST=tree HLORUN_PERMUTE=message
damaged_by HLORUN_ALLREDUCE=gather HLORUN_ALLGATHER=bruck
damaged_by HLORUN_ALLGATHER=ring
if command -v "$mpirun" >/dev/null; then
  damaged_by HLORUN_NODE_SIZE=2 HLORUN_ALLREDUCE=machines HLORUN_REDUCESCATTER=machines HLORUN_ALLGATHER=machines \
    HLORUN_ALLTOALL=machines HLORUN_BROADCAST=machines
fi
expect_exit "wrong fault" 2 env HLORUN_FAULT=flip:x "$hlorun" -n 3 --random-inputs "$work/damage.hlo"
finish
