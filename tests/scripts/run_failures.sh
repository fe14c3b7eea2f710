#!/usr/bin/env bash
# Runs that something happens to: interrupted, killed and stopped processes, disks that are full or read-only, files
# that are missing. Each ends soon, with the exit code that it should have, and leaves neither processes nor files
# behind. EVERY_SIZE=1 tries all numbers of processes from 1 to 8.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99
leak_check_off
mkdir temporary
TMPDIR=$work/temporary
export TMPDIR

write_sum busy 4096 0.1
write_sum other 4095 0.1
write_sum small 231 0.1

# Processes of a session that are not over.
living() {
  ps -o stat= -s "$1" | grep -vc '^Z'
}

# Process of a rank among the children of a launcher: process numbers wrap round, so their order says nothing.
rank_below() { # PARENT RANK
  local child
  for child in $(pgrep -P "$1"); do
    tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null |
      grep -qE "^(OMPI_COMM_WORLD_RANK=|HLORUN_LAUNCHED=[0-9]+ )$2( |\$)" && echo "$child"
  done
}

all_gone() {
  [ "$(living "$1")" -eq 0 ]
}

# disturbed NAME CODE SIGNAL TARGET RANKS OPTION...: starts a run without end, sends the signal to the whole group, to
# the command that was started, or to one of its processes, once all of them have the program, and waits.
disturbed() {
  local name="$1, $5 processes" want=$2 signal=$3 target=$4 ranks=$5 pid got=0 began
  shift 5
  HLORUN_LOG=cli:info setsid "$hlorun" -n "$ranks" --steps 100000000 --carry 0:0 --random-inputs "$@" busy.hlo >out \
    2>&1 </dev/null &
  pid=$!
  eventually has_lines out "$ranks" "cli info: loaded"
  sleep 0.1
  began=$(date +%s%N)
  case $target in
    group) kill "-$signal" -- "-$pid" ;;
    command) kill "-$signal" "$pid" ;;
    one) kill "-$signal" "$(rank_below "$pid" $((ranks - 1)))" ;;
    first) kill "-$signal" "$(rank_below "$pid" 0)" ;;
  esac
  eventually all_gone "$pid"
  echo "it took $((($(date +%s%N) - began) / 1000000)) ms, and $(living "$pid") processes are left" >>out
  if [ "$(living "$pid")" -eq 0 ]; then pass; else fail "$name: processes are left" out; fi
  kill -KILL -- "-$pid" 2>/dev/null
  wait "$pid" 2>/dev/null || got=$?
  echo "exit code $got, want $want" >>out
  if [ "$got" -eq "$want" ]; then pass; else fail "$name" out; fi
  if [ -z "$(find temporary -type f)" ]; then
    pass
  else
    find temporary -type f >>out
    fail "$name: files are left" out
  fi
}

# all_ways RANKS
all_ways() {
  disturbed "Ctrl-C" 130 INT group "$1"
  disturbed "an interrupted command" 130 INT command "$1"
  disturbed "a terminated command" 143 TERM command "$1"
  disturbed "a killed command" 137 KILL command "$1"
  [ "$1" -gt 1 ] || return
  disturbed "a killed process" 5 KILL one "$1"
  if grep -q "has ended on" out && grep -q "busy.hlo:11" out; then pass; else fail "a killed process is named" out; fi
  disturbed "a crashed process" 5 SEGV one "$1"
  disturbed "a stopped process" 6 STOP one "$1" --timeout 1
  if grep -q "rank $(($1 - 1)) has not answered" out; then pass; else fail "a stopped process is named" out; fi
  disturbed "the first process stopped" 6 STOP first "$1" --timeout 1
  if grep -q "rank 0 has not answered" out; then pass; else fail "a stopped rank 0 is named" out; fi
  disturbed "a terminated process" 5 TERM one "$1"
  if grep -q "error: rank $(($1 - 1)) was interrupted by SIGTERM" out; then pass; else fail "a terminated process is named" out; fi
  disturbed "the first process terminated" 5 TERM first "$1"
  if grep -q "error: rank 0 was interrupted by SIGTERM" out; then pass; else fail "a terminated rank 0 is named" out; fi
  disturbed "an unknown signal to a process" 5 USR2 one "$1"
  if grep -q "rank $(($1 - 1)) ended by SIGUSR2" out; then pass; else fail "any signal is named" out; fi
  disturbed "a real-time signal to a process" 5 36 one "$1"
  if grep -q "rank $(($1 - 1)) ended by SIGRTMIN+2" out; then pass; else fail "a real-time signal is named" out; fi
  disturbed "a bus error sent to a process" 5 BUS one "$1"
}
sizes="1 3"
[ -z "${EVERY_SIZE:-}" ] || sizes=$(seq 8)
for ranks in $sizes; do all_ways "$ranks"; done
disturbed "a killed process" 5 KILL one 8
export HLORUN_CHECK=memory
for signal in SEGV BUS; do
  disturbed "SIG$signal sent to a process with HLORUN_CHECK=memory" 5 $signal one 2
  if grep -q "error: memory" out; then fail "SIG$signal that is sent is no fault of memory" out; else pass; fi
done
unset HLORUN_CHECK

# The same through mpirun, which keeps files of its own in TMPDIR when it is killed.
if command -v "$mpirun" >/dev/null; then
  HLORUN_LAUNCHER=mpirun
  export HLORUN_LAUNCHER
  disturbed "Ctrl-C and mpirun" 130 INT group 2
  disturbed "an interrupted command and mpirun" 130 INT command 2
  disturbed "a command that an alarm ends and mpirun" 142 ALRM command 2
  disturbed "a command that a real-time signal ends and mpirun" 162 34 command 2
  unset HLORUN_LAUNCHER
fi

# A rank that is killed while it starts, and mpirun itself: the run ends soon, says which rank it was, and
# mpirun's folder is removed.
killed_early() { # NAME CODE TEXT WHOM: the rank (a number), or mpirun
  local name=$1 want=$2 text=$3 whom=$4 pid victim= got=0 began
  mkdir -p temporary
  HLORUN_LAUNCHER=mpirun setsid "$hlorun" -n 3 --steps 100000000 --carry 0:0 --random-inputs busy.hlo >out 2>&1 \
    </dev/null &
  pid=$!
  began=$(date +%s)
  while [ -z "$victim" ] && kill -0 "$pid" 2>/dev/null && [ $(($(date +%s) - began)) -lt 60 ]; do
    victim=$(pgrep -P "$pid" | head -n 1)
    [ -z "$victim" ] || [ "$whom" = mpirun ] ||
      victim=$(rank_below "$victim" "$whom")
  done
  sleep 0.05 # until it has been seen
  [ "$whom" != mpirun ] || sleep 1
  kill -KILL "${victim:--$pid}"
  began=$(date +%s)
  eventually all_gone "$pid"
  wait "$pid" || got=$?
  echo "exit code $got, want $want; it took $(($(date +%s) - began)) s" >>out
  if [ $got -eq "$want" ] && grep -qE "$text" out && [ $(($(date +%s) - began)) -lt 20 ]; then pass; else fail "$name" out; fi
  if [ -z "$(find temporary -name 'hlorun-mpirun-*' -newer busy.hlo 2>/dev/null)" ]; then
    pass
  else
    fail "$name: files are left" out
  fi
}
if command -v "$mpirun" >/dev/null; then
  killed_early "a rank killed at the start under mpirun" 5 "rank 2 (has )?ended" 2
  killed_early "rank 0 killed at the start under mpirun" 5 "rank 0 (has )?ended" 0
  killed_early "mpirun killed" 5 "mpirun ended by SIGKILL" mpirun
fi

# mpirun is killed while the processes compute: its memory files have no names any more, and nothing stays in /dev/shm.
killed_mpirun() {
  local pid first left=0 segment
  HLORUN_LOG=cli:info setsid "$mpirun" -n 3 "$hlorun" --steps 100000000 --carry 0:0 --random-inputs busy.hlo >out 2>&1 \
    </dev/null &
  pid=$!
  eventually has_lines out 3 "cli info: loaded"
  first=$(rank_below "$pid" 0)
  grep -o '/[^ ]*vader_segment[^ ]*' "/proc/$first/maps" | sort -u >segments
  kill -KILL "$pid"
  wait "$pid"
  eventually all_gone "$pid"
  while read -r segment; do [ ! -e "$segment" ] || left=$((left + 1)); done <segments
  echo "$(wc -l <segments) segments, $left of them left" >>out
  if [ -s segments ] && [ $left -eq 0 ]; then pass; else fail "files of a killed mpirun" out; fi
}
if command -v "$mpirun" >/dev/null; then killed_mpirun; fi

# A rank that is stopped while it starts: the others wait as long as --timeout says, and it is named.
stopped_early() { # RANK
  local pid victim="" code=0 parent=""
  setsid "$hlorun" -n 3 --timeout 1 --steps 100000000 --carry 0:0 --random-inputs busy.hlo >out 2>&1 </dev/null &
  pid=$!
  while [ -z "$victim" ] && kill -0 $pid; do
    parent=$pid
    [ "${HLORUN_LAUNCHER:-}" != mpirun ] || parent=$(pgrep -P "$pid" | head -n 1)
    [ -z "$parent" ] || victim=$(rank_below "$parent" "$1")
  done
  kill -STOP "$victim"
  wait "$pid" || code=$?
  if [ $code -eq 6 ] && [ "$(grep -cE "rank $1 (was stopped by SIGSTOP|is stopped by a signal)" out)" -eq 1 ]; then pass; else fail "rank $1 stopped at the start: $code" out; fi
}
stopped_early 0
stopped_early 2
if command -v "$mpirun" >/dev/null; then HLORUN_LAUNCHER=mpirun stopped_early 1; fi

# It is killed while they start, when its memory files still have names: hlorun -n removes them.
cat >kills.c <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that would lose its name: its name is written down, and mpirun dies instead. */
int unlink(const char *path) {
  FILE *names = strstr(path, "/vader_segment.") ? fopen(getenv("NAMES"), "a") : NULL;
  if (!names) return unlinkat(-100, path, 0);
  fprintf(names, "%s\n", path);
  fclose(names);
  kill(getppid(), SIGKILL);
  for (;;) pause();
}
C
if command -v "$mpirun" >/dev/null && "${cc[@]}" -shared -fPIC -o kills.so kills.c 2>/dev/null &&
  LD_PRELOAD=$work/kills.so "$hlorun" --version >/dev/null 2>&1; then
  expect_exit "mpirun killed while the processes start" 5 env LD_PRELOAD="$work/kills.so" NAMES="$work/names" \
    HLORUN_LAUNCHER=mpirun "$hlorun" -n 3 --random-inputs busy.hlo
  left=0
  while read -r file; do [ ! -e "$file" ] || left=$((left + 1)); done <names
  if [ -s names ] && [ $left -eq 0 ]; then pass; else fail "memory files of a killed mpirun: $left left" names; fi

  # An mpirun of the user's: the processes that look after the ranks remove them.
  orphaned() {
    local pid left=0
    rm names
    setsid env LD_PRELOAD="$work/kills.so" NAMES="$work/names" "$mpirun" -n 3 "$hlorun" --random-inputs busy.hlo \
      >out 2>&1 </dev/null &
    pid=$!
    eventually test -s names
    wait "$pid"
    eventually all_gone "$pid"
    files_are_gone() { while read -r file; do [ ! -e "$file" ] || return 1; done <names; }
    if [ -s names ] && eventually files_are_gone; then pass; else fail "memory files of the user's mpirun, killed" names; fi
  }
  orphaned
else
  skip "functions cannot be wrapped in this build"
fi

# Under a parent that ignores the ends of its children, such as some daemons.
if command -v "$mpirun" >/dev/null && env --ignore-signal=CHLD true 2>/dev/null; then
  expect_exit "SIGCHLD ignored" 0 timeout 60 env --ignore-signal=CHLD HLORUN_LAUNCHER=mpirun \
    "$hlorun" -n 2 --random-inputs small.hlo
else
  skip "env cannot ignore signals"
fi

# A rank that is asked to end from the moment on at which it can be: it is named, with the signal.
catches_signals() { # PROCESS
  local caught
  caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
  [ $((0x${caught:-0} >> 14 & 1)) -eq 1 ]
}
interrupted_early() { # SIGNAL RANK SECONDS
  local name="SIG$1 to rank $2 $3 s after its start" pid victim= got=0
  "$hlorun" -n 3 --steps 100000000 --carry 0:0 --random-inputs busy.hlo >out 2>&1 </dev/null &
  pid=$!
  while [ -z "$victim" ]; do victim=$(rank_below "$pid" "$2"); done
  until catches_signals "$victim" || ! kill -0 "$victim"; do :; done
  sleep "$3"
  kill "-$1" "$victim"
  wait "$pid" || got=$?
  if [ $got -eq 5 ] && grep -q "rank $2 was interrupted by SIG$1" out; then pass; else fail "$name" out; fi
}
for delay in 0 0.01 0.03; do
  interrupted_early TERM 0 $delay
  interrupted_early INT 2 $delay
done

# A rank that dies while MPI starts under an mpirun of the user's: another one names it. An mpirun that does not end after
# that is killed: this one ends its ranks, and waits for ever.
cat >waits.c <<'C'
#include <unistd.h>

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided) {
  (void)argc, (void)argv, (void)wanted, (void)provided;
  for (;;) pause();
}
C
mkdir hangs
cat >hangs/mpirun <<'SH'
#!/bin/bash
shift 2
export OMPI_MCA_orte_jobfam_session_dir=$TMPDIR/ompi.test/pid.$$
mkdir -p "$OMPI_MCA_orte_jobfam_session_dir/1" "$TMPDIR/ompi.test/pid.1"
for rank in 0 1 2; do OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=$rank "$@" & done
wait -n
kill $(jobs -p)
wait
trap : TERM
while :; do sleep 0.1; done
SH
chmod +x hangs/mpirun
# One process for the run and one for each rank that is ready for SIGTERM.
are_waiting() { # PARENT
  local rank
  for rank in 0 1 2; do catches_signals "$(rank_below "$1" $rank)" || return; done
}
killed_while_starting() { # MPIRUN RANK CODE [OPTION]
  local pid got=0 began
  setsid env LD_PRELOAD="$work/waits.so" "$1" -n 3 "$hlorun" --random-inputs ${4:+"$4"} busy.hlo >out 2>&1 </dev/null &
  pid=$!
  eventually are_waiting "$pid"
  sleep 0.1 # until the others have seen it
  kill -KILL "$(rank_below "$pid" "$2")"
  began=$(date +%s)
  eventually all_gone "$pid"
  kill -KILL -- "-$pid" 2>/dev/null
  wait "$pid" || got=$?
  echo "exit code $got, want $3; it took $(($(date +%s) - began)) s" >>out
  if [ $got -eq "$3" ] && [ "$(grep -c "ended while MPI was starting" out)" -eq 1 ] &&
    grep -q "hlorun: rank $2 ended while MPI was starting" out; then pass; else fail "rank $2 killed while $1 starts" out; fi
}
if command -v "$mpirun" >/dev/null && "${cc[@]}" -shared -fPIC -o waits.so waits.c 2>/dev/null &&
  LD_PRELOAD=$work/waits.so "$hlorun" --version >/dev/null 2>&1; then
  killed_while_starting "$mpirun" 2 137
  killed_while_starting "$mpirun" 0 137
  killed_while_starting "$work/hangs/mpirun" 2 137
  if grep -q "hlorun: mpirun does not end, and is killed" out; then pass; else fail "an mpirun that hangs is killed" out; fi
  find temporary/ompi.test >>out
  if [ "$(ls temporary/ompi.test)" = pid.1 ]; then pass; else fail "its folder is removed, and no other" out; fi
  rm -r temporary/ompi.test
  if "$hlorun" --sandbox --random-inputs busy.hlo >out 2>&1; then
    killed_while_starting "$mpirun" 2 137 --sandbox
    killed_while_starting "$mpirun" 0 137 --sandbox
    killed_while_starting "$work/hangs/mpirun" 2 137 --sandbox
  else
    skip "no sandbox can be made here"
  fi
else
  skip "functions cannot be wrapped in this build"
fi

# A job that is stopped as a whole (Ctrl-Z, a suspended job) for longer than --timeout goes on where it was.
suspended() {
  local pid code=0
  HLORUN_LOG=cli:info setsid "$hlorun" -n 3 --timeout 2 --steps 100000000 --carry 0:0 --random-inputs busy.hlo \
    >out 2>&1 </dev/null &
  pid=$!
  eventually has_lines out 3 "cli info: loaded"
  kill -STOP -- "-$pid"
  sleep 4
  kill -CONT -- "-$pid"
  sleep 4
  kill -INT "$pid" 2>/dev/null
  wait "$pid" || code=$?
  if [ "$code" -eq 130 ]; then pass; else fail "a suspended job: exit code $code, want 130" out; fi
}
suspended

# A stall without --timeout is said, whichever process it is that stands still, and the run goes on afterwards.
stalled() { # NAME RANK OPTION...
  local name=$1 rank=$2 pid got=0 parent
  shift 2
  HLORUN_WATCHDOG=1 HLORUN_LOG=cli:info setsid "$hlorun" -n 6 --steps 100000000 --carry 0:0 --random-inputs "$@" \
    busy.hlo >out 2>&1 </dev/null &
  pid=$!
  eventually has_lines out 6 "cli info: loaded"
  sleep 0.3
  parent=$pid
  [ "${HLORUN_LAUNCHER:-}" != mpirun ] || parent=$(pgrep -P "$pid" | head -n 1)
  stopped=$(rank_below "$parent" "$rank")
  kill -STOP "$stopped"
  if eventually has_lines out 1 "  rank $rank has not answered"; then pass; else fail "$name is named" out; fi
  if grep -q "warning: rank [0-9]* has waited" out; then pass; else fail "$name is a warning" out; fi
  kill -CONT "$stopped"
  sleep 0.5
  kill -INT "$pid"
  wait "$pid" || got=$?
  eventually all_gone "$pid"
  if [ "$got" -eq 130 ]; then pass; else fail "$name: exit code $got, want 130" out; fi
}
# SIGUSR1 at any moment, to the command and to each process, ends nothing. It is ignored in the shell that becomes the
# command.
asked_all_along() { # RANKS
  local pid got=0 child
  trap '' USR1
  "$hlorun" -n "$1" --random-inputs small.hlo >out 2>&1 </dev/null &
  pid=$!
  while kill -USR1 "$pid" 2>/dev/null; do
    for child in $(pgrep -P "$pid"); do kill -USR1 "$child" 2>/dev/null; done
  done
  trap - USR1
  wait "$pid" || got=$?
  if [ "$got" -eq 0 ]; then pass; else fail "SIGUSR1 to $1 processes: exit code $got" out; fi
}
# The command keeps it until mpirun and its processes take it.
asked_through_mpirun() {
  local pid got=0
  trap '' USR1
  HLORUN_LAUNCHER=mpirun "$hlorun" -n 2 --random-inputs small.hlo >out 2>&1 </dev/null &
  pid=$!
  while kill -USR1 "$pid" 2>/dev/null; do sleep 0.01; done
  trap - USR1
  wait "$pid" || got=$?
  if [ "$got" -eq 0 ]; then pass; else fail "SIGUSR1 and mpirun: exit code $got" out; fi
}
if command -v "$mpirun" >/dev/null; then asked_through_mpirun; fi
for _ in 1 2 3; do
  asked_all_along 1
  asked_all_along 3
done

# The first process of a container has no default actions of signals.
first_of_container() { # SIGNAL CODE
  local pid got=0
  HLORUN_LOG=cli:info unshare --pid --fork "$hlorun" --steps 100000000 --carry 0:0 --random-inputs busy.hlo >out 2>&1 \
    </dev/null &
  pid=$!
  eventually has_lines out 1 "cli info: loaded"
  kill "-$1" "$(pgrep -P "$pid")"
  wait "$pid" || got=$?
  if [ "$got" -eq "$2" ]; then pass; else fail "SIG$1 to the first process of a container: $got, want $2" out; fi
}
if unshare --pid --fork true 2>/dev/null; then
  first_of_container TERM 143
  first_of_container INT 130
else
  skip "no process namespaces"
fi

# The last words of a process, more than are held at a time, of which the beginning was read before.
last_words() {
  local pid
  # shellcheck disable=SC2016
  "$hlorun" -n 2 sh -c 'set -- $HLORUN_LAUNCHED
    [ "$2" = 1 ] || exit 0
    head -c 5000 /dev/zero | tr "\0" x >&2
    while [ ! -e "$0" ]; do sleep 0.1; done
    head -c 65536 /dev/zero | tr "\0" y >&2' "$work/stopped" >out 2>&1 </dev/null &
  pid=$!
  sleep 1
  kill -STOP "$pid"
  touch "$work/stopped"
  sleep 1
  kill -CONT "$pid"
  wait "$pid"
  if [ "$(tr -cd y <out | wc -c)" -eq 65536 ]; then pass; else fail "last words: $(tr -cd y <out | wc -c) bytes"; fi
}
last_words

# Programs that it starts have the usual actions of signals.
expect_exit "an executable that nobody reads from" 141 "$hlorun" sh -c 'kill -PIPE $$'
expect_exit "two of them" 5 "$hlorun" -n 2 sh -c 'kill -USR1 $$'
expect_text "two of them" "ended by SIGUSR1"

# nohup: the run goes on when the terminal is gone.
hung_up() { # NAME RANKS
  local pid got=0
  HLORUN_LOG=cli:info setsid nohup "$hlorun" -n "$2" --steps 100000000 --carry 0:0 --random-inputs busy.hlo >out 2>&1 \
    </dev/null &
  pid=$!
  eventually has_lines out "$2" "cli info: loaded"
  kill -HUP -- "-$pid"
  sleep 1
  if kill -0 "$pid" && ! grep -q "SIGHUP" out; then pass; else fail "$1" out; fi
  kill -TERM "$pid"
  wait "$pid" || got=$?
  eventually all_gone "$pid"
  if [ "$got" -eq 143 ]; then pass; else fail "$1: exit code $got, want 143" out; fi
}
hung_up "one process under nohup" 1
hung_up "two processes under nohup" 2
if command -v "$mpirun" >/dev/null; then HLORUN_LAUNCHER=mpirun hung_up "nohup and mpirun" 2; fi

stalled "a stalled process" 4
stalled "a stalled rank 0" 0
if command -v "$mpirun" >/dev/null; then
  HLORUN_LAUNCHER=mpirun stalled "a stalled process and mpirun" 1
  HLORUN_LAUNCHER=mpirun stalled "a stalled rank 0 and mpirun" 0
fi

# Loops without an end: the rank that the second parameter names goes round for ever, in a loop inside of a loop.
cat >endless.hlo <<'EOF'
HloModule endless

always {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  low = s32[] constant(-1)
  ROOT go = pred[] compare(i, low), direction=GT
}

turn {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  two = s32[] constant(2)
  j = s32[] remainder(i, two)
  y = f32[8] sine(x)
  ROOT t = (s32[], f32[8]) tuple(j, y)
}

cond {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT go = pred[] compare(i, zero), direction=EQ
}

body {
  s = (s32[], f32[8]) parameter(0)
  ROOT inner = (s32[], f32[8]) while(s), condition=always, body=turn
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[8] parameter(0)
  who = s32[] parameter(1)
  r = u32[] replica-id()
  me = s32[] convert(r)
  i = s32[] subtract(me, who)
  t = (s32[], f32[8]) tuple(i, x)
  outer = (s32[], f32[8]) while(t), condition=cond, body=body
  y = f32[8] get-tuple-element(outer), index=1
  ROOT all = f32[8] all-reduce(y), replica_groups={}, to_apply=add
}
EOF
sed -e '/all-reduce/d' -e 's/^  y = \(.*(outer)\)/  ROOT y = \1/' endless.hlo >endless_alone.hlo
# stuck SECONDS TEXT OPTION...: no progress ends the run after so many seconds, and the report says TEXT. On a busy machine
# a process may not have begun its loop by then: it gets a second chance, with ten times as long.
stuck() {
  local seconds=$1 text=$2 limit
  shift 2
  for limit in "$seconds" $((seconds * 10)); do
    expect_exit "$text" 6 "$hlorun" --timeout "$limit" --random-inputs "$@"
    ! grep -qF "$text" out || break
  done
  expect_text "$*" "$text"
}
for engine in compiled reference; do
  stuck 1 "rank 0 is in loop endless_alone.hlo:45: %outer for" --engine "$engine" --input 1=0 endless_alone.hlo
  expect_text "the inner loop, $engine" "and in its inner loop endless_alone.hlo:29: %inner,"
  for rank in 0 1; do
    stuck 2 "rank $rank is in loop endless.hlo:45: %outer" -n 2 --engine "$engine" --input "1=$rank" endless.hlo
  done
  for signal in INT TERM; do
    HLORUN_LOG=cli:info "$hlorun" --engine "$engine" --random-inputs --input 1=0 endless_alone.hlo >out 2>&1 &
    eventually has_lines out 1 "cli info: loaded"
    kill "-$signal" $!
    got=0
    wait $! || got=$?
    if [ "$got" -eq $((128 + $(kill -l "$signal"))) ] && grep -q "interrupted by SIG$signal" out; then
      pass
    else
      fail "SIG$signal in a loop without end, $engine" out
    fi
  done
done

# What is wrong with files.
for ranks in 1 3; do
  of="$ranks processes"
  run=("$hlorun" -n "$ranks" --random-inputs)
  expect_exit "a program that is not there, $of" 5 "${run[@]}" nowhere.hlo
  expect_exit "arrays that are not there, $of" 5 "${run[@]}" --input nowhere.npz busy.hlo
  expect_exit "an array of another shape, $of" 2 "${run[@]}" --input '0=f32[3]{1,2,3}' busy.hlo
  expect_exit "no home, $of" 0 env HOME=/nowhere TMPDIR=/nowhere "${run[@]}" busy.hlo
  expect_exit "no way to other programs, $of" 0 env PATH= "${run[@]}" busy.hlo
  expect_exit "standard output is closed, $of" 5 sh -c '"$@" >&-' sh "${run[@]}" busy.hlo
  expect_exit "all streams but one are closed, $of" 0 sh -c '"$@" <&- 2>&-' sh "${run[@]}" busy.hlo
  if [ -w /dev/full ]; then
    expect_exit "standard output is full, $of" 5 sh -c '"$@" >/dev/full' sh "${run[@]}" busy.hlo
    expect_exit "results on a full disk, $of" 5 "${run[@]}" -o /dev/full busy.hlo
  fi
done
# Memory that runs out while processes start and agree: nobody waits for one that has failed, and it is said.
for number in $(seq 7 3 60); do
  code=0
  HLORUN_FAULT=alloc:$number timeout -k 5 60 "$hlorun" -n 3 --timeout 20 --cache none --random-inputs busy.hlo \
    >out 2>&1 </dev/null || code=$?
  echo "exit code $code, want 0, or 5 and a message" >>out
  if [ $code -eq 0 ] || { [ $code -eq 5 ] && grep -q "error: .*allocate" out; }; then
    pass
  else
    fail "allocation $number fails on each process" out
  fi
done

# Memory that runs out in every command and reader: a few allocations of each.
if command -v python3 >/dev/null; then
  leak_check_on
  PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/tools/failing_allocations.py" "$hlorun" "$source_dir" \
    --sample "${ALLOCATIONS:-6}" >allocations 2>&1
  leak_check_off
  if add_counts allocations && ! grep -q "^FAILED" allocations; then :; else fail "failing allocations" allocations; fi
else
  skip "no python3: failing allocations"
fi

# Limits that the shell sets: what goes beyond is an error like others.
limited=(sh -c 'ulimit $0 && exec "$@"')
for files in 4 5 6; do
  expect_exit "$files open files" 5 "${limited[@]}" "-n $files" "$hlorun" --random-inputs busy.hlo
done
expect_exit "results in files of 8 KiB at most" 5 "${limited[@]}" "-f 16" "$hlorun" --random-inputs -o out.npz busy.hlo
expect_text "results in files of 8 KiB at most" "out.npz: File too large"
# Stacks of 1 GiB each: libuv's pool finds no room for its four.
if [ -z "$(sanitizer_flags)" ]; then
  digits=$source_dir/examples/digits
  expect_exit "no room for threads that read" 5 sh -c 'ulimit -s 1048576; ulimit -v 4000000; exec "$@"' sh "$hlorun" \
    --threads 1 --input "$digits/init.npz" --feed "13=$digits/train_images.npy" --feed "14=$digits/train_labels.npy" \
    --steps 2 --carry 1-13:0-12 "$digits/train.hlo"
  expect_text "no room for threads that read" "cannot start the threads that read and write files"
else
  skip "sanitizers need more addresses: no room for threads that read"
fi
# The command itself is loaded into as little as 16 MiB of addresses, and says what it has no room for. Threads with
# stacks of 64 KiB are refused, as they have no room for thread-local memory.
if [ -z "$(sanitizer_flags)" ] && grep -q '^CFLAGS = .*-O[23]' "$build_dir/Makefile"; then
  expect_exit "16 MiB of addresses" 5 "${limited[@]}" "-v 16384" "$hlorun" --random-inputs busy.hlo
  expect_exit "stacks of 64 KiB" 5 "${limited[@]}" "-s 64" "$hlorun" --random-inputs busy.hlo
  expect_exit "a stack of 128 KiB for the partitioner" 0 "${limited[@]}" "-s 128" "$hlorun" --stop-after partition \
    "$source_dir/tests/corpora/auto_spmd/ulysses_grad/prog.mlir"
else
  skip "code that is not optimised needs more memory: 16 MiB of addresses, stacks of 64 KiB"
fi
expect_exit "different programs" 4 "$hlorun" -n 2 --random-inputs busy.hlo other.hlo

# Disks that are full or read-only.
mkdir disk
mounted=(unshare -m sh -c 'mount -t tmpfs -o "$1" tmpfs disk && shift && exec "$@"' sh)
if "${mounted[@]}" size=8k true 2>/dev/null; then
  for options in size=8k ro; do
    for ranks in 1 3; do
      expect_exit "results, $options, $ranks processes" 5 "${mounted[@]}" "$options" "$hlorun" -n "$ranks" \
        --random-inputs -o disk/out.npz busy.hlo
      expect_exit "checkpoints, $options, $ranks processes" 5 "${mounted[@]}" "$options" "$hlorun" -n "$ranks" \
        --random-inputs --carry 0:0 \
        --steps 30 --checkpoint disk/kept --every 10 busy.hlo
      expect_exit "a cache, $options, $ranks processes" 0 "${mounted[@]}" "$options" "$hlorun" -n "$ranks" \
        --random-inputs --cache disk/code busy.hlo
    done
  done
  # Whichever process finds no room for its file of the last checkpoint: the others do not wait for it.
  rooms=0
  for room in $(seq 12 4 44); do
    code=0
    timeout 60 "${mounted[@]}" "size=${room}k" "$hlorun" -n 2 --random-inputs --carry 0:0 --steps 3 --checkpoint disk/kept \
      --every 1 small.hlo >out 2>&1 </dev/null || code=$?
    if [ $code -eq 0 ] || { [ $code -eq 5 ] && grep -q "No space left" out; }; then pass; else
      fail "checkpoints in $room KiB: $code" out; fi
    [ $code -eq 0 ] || rooms=$((rooms + 1))
  done
  if [ $rooms -ge 2 ]; then pass; else fail "checkpoints on disks that are full: $rooms"; fi
  expect_exit "no /proc" 0 env HLORUN_MODULE_DIR="$build_dir/.libs" unshare -m \
    sh -c 'mount -t tmpfs tmpfs /proc && exec "$@"' sh "$hlorun" -n 3 --random-inputs busy.hlo
  # Little room to share over mpirun: the kernel keeps what is shared, and where that cannot be reached (through /proc)
  # it is said which file is full.
  if command -v "$mpirun" >/dev/null; then
    shared=(env HLORUN_MODULE_DIR="$build_dir/.libs" unshare -m
      sh -c 'mount -t tmpfs -o size=16k tmpfs /dev/shm && eval "$1" && shift && exec "$@"' sh)
    expect_exit "a full /dev/shm" 0 "${shared[@]}" : "$mpirun" -n 2 "$hlorun" --random-inputs busy.hlo
    expect_exit "a full /dev/shm and no /proc" 5 "${shared[@]}" 'mount -t tmpfs tmpfs /proc' \
      "$mpirun" -n 2 "$hlorun" --random-inputs busy.hlo
    if grep -q "error: .*/dev/shm/hlorun.*No space left" out; then pass; else fail "a full /dev/shm is named" out; fi
    # One process may be the first for which there is no more room, in the midst of talking to the others.
    for room in 128k 256k 320k 384k 448k 512k 640k; do
      code=0
      timeout -k 5 60 env HLORUN_MODULE_DIR="$build_dir/.libs" unshare -m sh -c \
        "mount -t tmpfs -o size=$room tmpfs /dev/shm && mount -t tmpfs tmpfs /proc"' && exec "$@"' sh "$mpirun" -n 4 "$hlorun" \
        --random-inputs -o out.npz "$source_dir/examples/gpt/global.mlir" >out 2>&1 </dev/null || code=$?
      if [ $code -eq 0 ] || [ $code -eq 5 ]; then pass; else fail "$room of shared memory: $code" out; fi
    done
  fi
else
  skip "disks: nothing can be mounted"
fi
finish
