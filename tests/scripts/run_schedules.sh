#!/usr/bin/env bash
# `hlorun check` on schedules. The programs in tests/cases/schedule say in their first lines what is expected:
#   // CHECK: VERDICT TEXT        as planned: sound, deadlock, misuse or unproved, and a text that the report holds
#   // ANY ORDER: VERDICT TEXT    the same of all orders        // BUFFERED N: VERDICT TEXT    with N messages in flight
#   // RUN N                      what N processes compute is in the .npz beside it
# The examples of examples/check are held to what their page says. Then random schedules, which an explorer of its own
# judges too: SCHEDULES=N says how many.
set -u
. "$(dirname "$0")/common.sh"
cases=$source_dir/tests/cases/schedule
page=$source_dir/examples/check

# expect_verdict NAME VERDICT-AND-TEXT ARGUMENTS...
expect_verdict() {
  local name=$1 word=${2%% *} text= code=4
  case "$2" in *' '*) text=${2#* } ;; esac
  shift 2
  [ "$word" != sound ] || code=0
  expect_exit "$name" $code "$hlorun" check "$@" || return
  expect_text "$name" "${word^^}: "
  [ -z "$text" ] || expect_text "$name" "$text"
}

for program in "$source_dir"/tests/cases/schedule/*.hlo "$source_dir"/examples/check/*.hlo; do
  name=$(basename "$program")
  expect_some "verdicts wanted of $name" 1 "$(head -n 5 "$program" | grep -cE '^// (CHECK|ANY ORDER|BUFFERED )')"
  while read -r line; do
    case "$line" in
      '// CHECK: '*) expect_verdict "$name" "${line#// CHECK: }" "$program" ;;
      '// ANY ORDER: '*) expect_verdict "$name, any order" "${line#// ANY ORDER: }" --any-order "$program" ;;
      '// BUFFERED '*)
        line=${line#// BUFFERED }
        expect_verdict "$name, buffered" "${line#*: }" --buffered "${line%%:*}" "$program" ;;
    esac
  done < <(head -n 5 "$program")
done

# What the page shows is what the command prints: each "$ hlorun check ..." there with the lines that follow it.
check_page() {
  local line command= shown="$work/shown"
  (cd "$page" && while IFS= read -r line; do
    case "$line" in
      '$ hlorun check '*) command=${line#'$ hlorun '}; : >"$shown" ;;
      '```') [ -z "$command" ] || {
        # shellcheck disable=SC2086 # the words are wanted apart
        "$hlorun" $command 2>&1 | grep -v ': valid: ' >"$work/printed"
        diff "$shown" "$work/printed" >"$work/differs" && echo same \
          || { echo "differs: $command"; cat "$work/differs"; }
        command=; } ;;
      *) [ -z "$command" ] || printf '%s\n' "$line" >>"$shown" ;;
    esac
  done <README.md)
}
check_page >"$work/page"
passed=$((passed + $(grep -c '^same' "$work/page")))
if grep -q '^differs' "$work/page" || ! grep -q '^same' "$work/page"; then
  fail "examples/check/README.md" "$work/page"
fi

# Several programs: by ranks, and one per rank in order.

expect_exit "a rank twice" 2 "$hlorun" check --program "0-1=$page/head_to_head.hlo" --program "1=$page/pipeline.hlo"
expect_exit "ranks left out" 2 "$hlorun" check --program "1-2=$page/head_to_head.hlo"
expect_verdict "one program by ranks" deadlock --program "0-1=$page/head_to_head.hlo"

# Repairs: the program that is written is sound in any order.
for stuck in "$page/head_to_head.hlo" "$cases/ring_shift_stuck.hlo"; do
  name=$(basename "$stuck" .hlo)
  expect_exit "$name, repaired" 4 "$hlorun" check --fix "$work/fixed" "$stuck"
  expect_text "$name, repaired" "then all orders complete"
  expect_verdict "$name, after the repair" sound --any-order "$work/fixed/$name.hlo"
done

# Pictures.
for form in dot svg html; do
  expect_exit "picture as $form" 4 "$hlorun" check --graph "$work/picture.$form" "$page/head_to_head.hlo"
  if grep -q "send-done %sent.1" "$work/picture.$form"; then
    pass
  else
    fail "picture as $form" "$work/picture.$form"
  fi
done
expect_exit "picture of an unknown form" 2 "$hlorun" check --graph "$work/picture.gif" "$page/head_to_head.hlo"

# What is sound runs to its end.
leak_check_off
expect_some "schedules that run" 4 "$(grep -l '^// RUN ' "$cases"/*.hlo | wc -l)"
while IFS= read -r program; do
  name=$(basename "$program" .hlo)
  ranks=$(sed -n 's,^// RUN ,,p' "$program")
  for engine in reference compiled; do
    expect_exit "run, $name, $engine" 0 "$hlorun" -n "$ranks" --engine "$engine" --timeout 20 --expect \
      "$cases/$name.npz" "$program"
  done
done < <(grep -l '^// RUN ' "$cases"/*.hlo)
leak_check_on

# Asked by a signal, each process says what it does; then the time is over, and the first says who waits for whom.
leak_check_off
HLORUN_LOG=cli:info "$hlorun" -n 2 --no-proof --timeout 3 --random-inputs "$page/head_to_head.hlo" >"$work/out" 2>&1 \
  </dev/null &
asked=$!
eventually has_lines "$work/out" 2 "cli info: loaded"
sleep 0.5
kill -USR1 "$asked"
wait "$asked"
echo "exit code $?" >>"$work/out"
for text in "rank 0 waits in %sent.1 (send-done), for rank 1 to receive on channel 1" \
            "rank 1 waits in %sent.2 (send-done), for rank 0 to receive on channel 2" "a cycle of waiting" \
            "exit code 6"; do
  if grep -qF "$text" "$work/out"; then pass; else fail "asked what it waits for: $text" "$work/out"; fi
done
leak_check_on

# A program that would get stuck is refused before it runs.
leak_check_off
expect_exit "run, refused" 4 "$hlorun" -n 2 --timeout 20 --random-inputs "$page/head_to_head.hlo"
expect_text "run, refused" "DEADLOCK"
expect_exit "run, collectives crossed" 4 "$hlorun" -n 2 --timeout 20 --random-inputs "$page/collectives_crossed.hlo"
expect_exit "run, collectives in branches" 0 "$hlorun" -n 2 --timeout 20 --random-inputs \
  "$page/collectives_in_branches.hlo"
leak_check_on

leak_check_off
if python3 -c '' 2>/dev/null; then
  python3 "$source_dir/tests/tools/check_explorer.py" "$hlorun" --count "${SCHEDULES:-200}" --run 10 \
    --keep "$work/random" >"$work/out" 2>&1
  add_counts "$work/out" || fail "check_explorer.py" "$work/out"
  if grep -q FAILED "$work/out"; then cat "$work/out"; else tail -n 2 "$work/out" | head -n 1; fi
else
  skip "random schedules: there is no python3"
fi
finish
