#!/usr/bin/env bash
# What a person sees: runs in a terminal (tmux), whose screen is read. The bar stays on one line however narrow the window is,
# results come below it, and Ctrl-C gives the shell its prompt and the code of the signal.
set -u
. "$(dirname "$0")/common.sh"
if ! command -v tmux >/dev/null; then
  skip "there is no tmux"
  finish
fi
cd "$work" || exit 99
# Each terminal has a server of its own: a new one by the name of one that is ending would end with it.
server=0
terminal() { tmux -L "hlorun-$$-$server" -f /dev/null "$@"; }
trap 'terminal kill-server 2>/dev/null; rm -rf "$work"' EXIT
write_sum sum 8 0.5

# screen: what is on it now. shows TEXT: for `eventually`.
screen() { terminal capture-pane -p >"$work/out"; }
shows() { screen; grep -qF -e "$1" "$work/out"; }
# type_in COMMAND
type_in() { terminal send-keys -l "$1" && terminal send-keys Enter; }

# run_in COLUMNS
open_terminal() {
  terminal kill-server 2>/dev/null
  server=$((server + 1))
  TERM=xterm-256color terminal new-session -d -x "$1" -y 30 "env PS1='ready> ' PATH='${hlorun%/*}:$PATH' bash --norc --noprofile"
  eventually shows "ready>"
}

for columns in 110 50; do
  open_terminal "$columns"
  type_in "clear; hlorun -n 2 --steps 20000 --carry 0:0 -i 0=1 --metric 0=x sum.hlo; echo code \$?"
  if eventually shows "code 0"; then pass; else fail "$columns columns: the run does not end" "$work/out"; fi
  screen
  [ "$(grep -c '^\[####' "$work/out")" = 1 ] && pass || fail "$columns columns: the bar is not on one line" "$work/out"
  [ "$(grep -c 'step 20000/20000' "$work/out")" = 1 ] && pass || fail "$columns columns: no last step" "$work/out"
  expect_text "$columns columns, the metric" "x 1"
  expect_text "$columns columns, the result" "out0 = f32[8]"
done
open_terminal 110
type_in "clear; hlorun --steps 2000000000 --carry 0:0 -i 0=1 --metric 0=x sum.hlo; echo code \$?"
if eventually shows "left"; then pass; else fail "no time is left" "$work/out"; fi
expect_text "the speed" "steps/s"
grep -qE '[0-9],[0-9]{3} steps/s' "$work/out" && pass || fail "no thousands in the speed" "$work/out"
terminal send-keys C-c
if eventually shows "ready>" && shows "interrupted by SIGINT"; then pass; else fail "Ctrl-C is not told" "$work/out"; fi
type_in "echo code \$?"
if eventually shows "code 130"; then pass; else fail "Ctrl-C: another code" "$work/out"; fi
terminal kill-server
finish
