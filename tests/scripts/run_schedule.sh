#!/usr/bin/env bash
# Channels between processes under mpirun: generated schedules compute what they must, texts become programs and come
# back, stuck runs are caught, and processes whose channels do not fit are refused at load.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off

# run_programs NAME CODE RANKS FOLDER OPTION...: the programs of a folder, one per rank.
run_programs() {
  local name=$1 code=$2 ranks=$3 folder=$4
  shift 4
  expect_exit "$name" "$code" "$hlorun" -n "$ranks" "$folder"/rank*.hlo "$@"
}

check_pattern() {
  local kind=$1 ranks=$2 folder=$work/$1-$2
  shift 2
  expect_exit "gen $kind" 0 "$hlorun" schedule gen "$kind" --ranks "$ranks" "$@" -o "$folder" || return
  expect_exit "$kind on $ranks is sound" 0 "$hlorun" check --any-order "$folder"/rank*.hlo
  run_programs "$kind on $ranks" 0 "$ranks" "$folder" --timeout 20 --expect "$folder/expected.npz"
  expect_exit "$kind as text" 0 "$hlorun" schedule from-hlo "$folder"/rank*.hlo -o "$folder.txt"
  expect_exit "$kind from text" 0 "$hlorun" schedule to-hlo "$folder.txt" -o "$folder-back"
  run_programs "$kind on $ranks, from text" 0 "$ranks" "$folder-back" --timeout 20 --expect "$folder/expected.npz"
}

check_pattern gpipe 2
check_pattern gpipe 5 --microbatches 3
check_pattern 1f1b 4
check_pattern 1f1b 8 --microbatches 16
check_pattern interleaved-1f1b 2 --chunks 3
check_pattern interleaved-1f1b 4
check_pattern zero-bubble 3
check_pattern ring-all-reduce 2
check_pattern ring-allreduce 7
check_pattern halo 3
check_pattern halo 6 --iterations 5
check_pattern halo 6 --turns 5 # the old name
check_pattern all-to-all 8

# --- by hand ---

schedule() {
  cat >"$work/$1.txt"
  expect_exit "$1: to-hlo" 0 "$hlorun" schedule to-hlo "$work/$1.txt" -o "$work/$1"
}

expect_exit "the swap" 0 "$hlorun" schedule to-hlo "$source_dir/examples/pipeline/swap.txt" -o "$work/swap"
run_programs "the swap" 0 2 "$work/swap" --timeout 20
expect_text "the swap gives rank 1's value" "{2, 2, 2, 2}"

schedule collectives <<'EOF'
ranks 3
shape s32[2]
rank 0-2:
  a = input; b = const 0
  repeat 3 { all-reduce a; send-start a +1 on ring; recv b -1 on ring; send-done a +1 on ring }
  all-reduce-start a among 0-2; all-reduce-done a
  output a b
EOF
run_programs "collectives and a loop" 0 3 "$work/collectives" --timeout 20 --input 0='s32[2] {1, 2}'
expect_text "27 times each" "{81, 162}"

schedule pair_of_groups <<'EOF'
ranks 4
rank 0,2: a = const 1; all-reduce a among 0,2; output a
rank 1,3: a = const 2; all-reduce a among 1,3; output a
EOF
expect_exit "groups that leave processes out" 0 "$hlorun" -n 4 --timeout 20 \
  --program "0,2=$work/pair_of_groups/rank000.hlo" --program "1,3=$work/pair_of_groups/rank001.hlo"

# --- a run that gets stuck ---

expect_exit "the deadlock" 0 "$hlorun" schedule to-hlo "$source_dir/examples/pipeline/deadlock.txt" -o "$work/deadlock"
run_programs "the deadlock is refused" 4 2 "$work/deadlock" --timeout 20
expect_text "the refusal shows the cycle" "rank 1 waits in send-done %sent.6"
run_programs "the deadlock" 6 2 "$work/deadlock" --timeout 1 --no-proof
expect_text "rank 0 says whom it waits for" "waiting for rank 1 to receive on channel 1"
expect_text "rank 1 says whom it waits for" "waiting for rank 0 to receive on channel 2"

# --- what does not fit ---

schedule no_receiver <<'EOF'
ranks 2
rank 0: send-start a 1; recv c 1; send-done a 1
rank 1: send c 0
EOF
run_programs "a missing receiver" 4 2 "$work/no_receiver" --timeout 5
expect_text "a missing receiver has its place" "rank 0: $work/no_receiver/rank000.hlo:"

schedule shapes <<'EOF'
ranks 2
rank 0: send a 1
rank 1: recv a 0
EOF
sed -i 's/f32\[4\]/f32[5]/g' "$work/shapes/rank001.hlo"
run_programs "different shapes" 4 2 "$work/shapes" --timeout 5
expect_text "different shapes have both places" "carries f32[4] in one instruction and f32[5] in another"
expect_exit "two senders" 4 "$hlorun" -n 3 --timeout 5 --program "0,2=$work/swap/rank000.hlo" \
  --program "1=$work/swap/rank001.hlo"
expect_text "two senders are named" "several senders"

schedule reductions <<'EOF'
ranks 2
rank 0: a = const 1; all-reduce a; output a
rank 1: a = const 1; all-reduce a; output a
EOF
sed -i 's/add(a, b)/maximum(a, b)/' "$work/reductions/rank001.hlo"
run_programs "different reductions" 4 2 "$work/reductions" --timeout 5

# --- the command line ---

expect_exit "more programs than processes" 2 "$hlorun" -n 2 "$work"/all-to-all-8/rank*.hlo
expect_exit "a rank without a program" 2 "$hlorun" -n 2 --program "0=$work/swap/rank000.hlo"
expect_exit "a rank with two programs" 2 "$hlorun" -n 2 --program "0-1=$work/swap/rank000.hlo" \
  --program "1=$work/swap/rank001.hlo"
expect_exit "an unknown pattern" 2 "$hlorun" schedule gen nonsense
printf 'ranks 2\nrank 0: send a 7\n' >"$work/bad.txt"
expect_exit "a rank that is not there" 3 "$hlorun" schedule to-hlo "$work/bad.txt"
expect_text "the place of the mistake" "bad.txt:2:16"

# --- 10,000 messages on 1,000 channels between 8 processes ---

{
  printf 'ranks 8\nrank 0-7:\n  a = const 1; b = const 0\n  repeat 10 {\n'
  for c in $(seq 125); do echo "    send-start a +1 on c$c"; done
  for c in $(seq 125); do echo "    recv b -1 on c$c"; done
  for c in $(seq 125); do echo "    send-done a +1 on c$c"; done
  printf '  }\n  output b\n'
} | schedule many
run_programs "many channels" 0 8 "$work/many" --timeout 60
HLORUN_LAUNCHER=mpirun run_programs "many channels, started by mpirun" 0 8 "$work/many" --timeout 60
HLORUN_NODE_SIZE=3 run_programs "many channels between machines" 0 8 "$work/many" --timeout 60
finish
