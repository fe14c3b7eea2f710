#!/usr/bin/env bash
# `--sandbox`: a plugin that attacks from inside of the process reaches no file, no process and no socket, on any of its
# threads, while inputs, outputs, checkpoints, feeds and several processes work as without the option.
set -u
. "$(dirname "$0")/common.sh"
leak_check_off
cat >"$work/probe.hlo" <<'HLO'
HloModule probe

ENTRY main {
  ROOT x = f32[2] parameter(0)
}
HLO
if ! "$hlorun" --sandbox -i 0=1 "$work/probe.hlo" >"$work/out" 2>&1 && grep -q 'the kernel cannot' "$work/out"; then
  skip "$(head -n 1 "$work/out")"
  finish
fi

# --- attacks: each tries one thing, and writes 1 if it was allowed ---
cat >"$work/attack.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int opens(const char *path, int flags) {
  int fd = open(path, flags, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
static int forks(void) {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  return pid > 0;
}
static int runs(void) { return system("true") == 0; }
static int reads_parent(void) {
  long word = 0;
  struct iovec here = {&word, sizeof word}, there = {&word, sizeof word};
  return process_vm_readv(getppid(), &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
}
static int sees_parent(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
  return opens(path, O_RDONLY);
}
static int types(void) {
  char letter = 'x';
  return ioctl(0, TIOCSTI, &letter) == 0 || errno == EIO;
}
static void *open_elsewhere(void *result) {
  *(int *)result = opens("/etc/passwd", O_RDONLY);
  return NULL;
}
static int thread_opens(void) {
  pthread_t thread;
  int result = 2; /* threads may be started */
  if (pthread_create(&thread, NULL, open_elsewhere, &result)) return 1;
  pthread_join(thread, NULL);
  return result;
}

void attack(void *out, void **in) {
  float *allowed = out;
  (void)in;
  const char *home = getenv("VICTIM");
  char path[4096];
  snprintf(path, sizeof path, "%s/new", home);
  allowed[0] = opens("/etc/passwd", O_RDONLY);
  allowed[1] = opens(home, O_RDONLY | O_DIRECTORY);
  allowed[2] = opens(path, O_WRONLY | O_CREAT);
  allowed[3] = unlink(getenv("VICTIM_FILE")) == 0;
  allowed[4] = forks();
  allowed[5] = runs();
  allowed[6] = execl("/bin/true", "true", (char *)NULL) == 0;
  allowed[7] = socket(AF_INET, SOCK_STREAM, 0) >= 0;
  allowed[8] = socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
  allowed[9] = kill(getppid(), 0) == 0;
  allowed[10] = ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0;
  allowed[11] = reads_parent();
  allowed[12] = sees_parent();
  allowed[13] = types();
  allowed[14] = unshare(CLONE_NEWUSER) == 0;
  allowed[15] = thread_opens();
  allowed[16] = opens("/proc/self/mem", O_RDWR);
  allowed[17] = chmod(getenv("VICTIM_FILE"), 0777) == 0 && opens(getenv("VICTIM_FILE"), O_RDONLY);
  allowed[18] = syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 0) >= 0;
  allowed[19] = opens("/dev/shm/hlorun-attack", O_RDWR | O_CREAT);
  /* what Landlock alone lets pass */
  const char *file = getenv("VICTIM_FILE");
  struct timeval times[2] = {{1, 0}, {1, 0}};
  struct sched_param usual = {0};
  allowed[20] = chmod(file, 0777) == 0;
  allowed[21] = chown(file, 12345, 12345) == 0;
  allowed[22] = utimes(file, times) == 0;
  allowed[23] = truncate(file, 0) == 0;
  allowed[24] = setxattr(file, "user.x", "y", 1, 0) == 0;
  allowed[25] = setpriority(PRIO_PROCESS, getppid(), 19) == 0 ||
                sched_setscheduler(getppid(), SCHED_BATCH, &usual) == 0;
}
C
cat >"$work/attack.hlo" <<'HLO'
HloModule attack

ENTRY main {
  ROOT allowed = f32[26] custom-call(), custom_call_target="attack"
}
HLO
mkdir "$work/victim"
echo secret >"$work/victim/file"
export VICTIM=$work/victim VICTIM_FILE=$work/victim/file
if gcc -shared -fPIC -o "$work/attack.so" "$work/attack.c" -pthread >"$work/out" 2>&1; then
  for n in 1 2; do
    expect_exit "attacks on $n" 0 "$hlorun" -n $n --sandbox --plugin "$work/attack.so" "$work/attack.hlo"
    zeros=$(printf '0, %.0s' {1..26})
    expect_text "attacks on $n" "{${zeros%, }}"
    [ -s "$VICTIM_FILE" ] && [ ! -e "$VICTIM/new" ] && pass || fail "the victim's files" "$work/out"
  done
  expect_exit "without the sandbox" 0 "$hlorun" --plugin "$work/attack.so" --output "$work/open.txt" "$work/attack.hlo"
else
  skip "no compiler for a plugin"
fi

# --- what works as before ---
cat >"$work/train.hlo" <<'HLO'
HloModule train, replica_count=2

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  w = f32[64,64] parameter(0)
  x = f32[4,64] parameter(1)
  y = f32[4,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[64,64] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  all = f32[64,64] all-reduce(g), replica_groups={}, to_apply=sum
  rate = f32[] constant(0.001)
  rates = f32[64,64] broadcast(rate), dimensions={}
  step = f32[64,64] multiply(all, rates)
  new = f32[64,64] subtract(w, step)
  squares = f32[4,64] multiply(y, y)
  zero = f32[] constant(0)
  loss = f32[] reduce(squares, zero), dimensions={0,1}, to_apply=sum
  ROOT result = (f32[64,64], f32[]) tuple(new, loss)
}
HLO
cat >"$work/data.hlo" <<'HLO'
HloModule data

ENTRY main {
  i = f32[64,64] iota(), iota_dimension=0
  ROOT d = (f32[64,64]) tuple(i)
}
HLO
(
  cd "$work" || exit 1
  "$hlorun" --output rows.npy data.hlo >out 2>&1
)
folder=$work/results
mkdir "$folder"
train() {
  expect_exit "$1" 0 "$hlorun" -n 2 --random-inputs=3 --carry 0:0 --feed 1="$work/rows.npy" --steps 20 \
    --output "$folder/$2.npz" "${@:3}" "$work/train.hlo"
}
train "training, free" free --stats "$folder/free.json"
train "training in the sandbox" confined --sandbox --stats "$folder/stats.json" --trace "$folder/trace.json" \
  --curve "$folder/curve.svg" --metric 1=loss --checkpoint "$work/kept" --every 7
cmp -s "$folder/free.npz" "$folder/confined.npz" && pass || fail "training: other bits in the sandbox" "$work/out"
for file in stats.json trace.json curve.svg; do
  [ -s "$folder/$file" ] && pass || fail "training in the sandbox: no $file" "$work/out"
done
expect_exit "resume in the sandbox" 0 "$hlorun" -n 2 --sandbox --random-inputs=3 --carry 0:0 --feed 1="$work/rows.npy" \
  --steps 30 --checkpoint "$work/kept" --resume "$work/train.hlo"
expect_text "resume in the sandbox" "going on after step"
for engine in reference compiled; do
  expect_exit "expected arrays, $engine" 0 "$hlorun" --sandbox --engine $engine --input "0=$work/rows.npy" \
    --random-inputs --num-replicas 1 "$work/train.hlo"
done
# Cases, whose processes look at a foreign file: a child when it ends, a worker when it reports.
cat >"$work/ends.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void look(void) {
  const char *text = openat(AT_FDCWD, "/etc/passwd", O_RDONLY) < 0 ? "closed\n" : "open\n";
  if (write(2, text, strlen(text)) < 0) abort();
}
void _exit(int code) {
  look();
  ((void (*)(int))dlsym(RTLD_NEXT, "_exit"))(code);
  for (;;) continue;
}
int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (flags & O_APPEND && strncmp(path, "/proc/", 6)) look(); /* a report */
  return openat(AT_FDCWD, path, flags, mode);
}
C
mkdir "$work/cases"
(
  cd "$work/cases" || exit 1
  cp "$source_dir/examples/hello.hlo" "$source_dir/examples/hello.npz" .
  { echo '// RANKS: 2' && cat hello.hlo; } >two.hlo
  cp hello.npz two.npz
)
expect_exit "cases" 0 "$hlorun" test --sandbox "$work/cases" && expect_text "cases" "2 passed, 0 failed"
expect_exit "a wild case" 0 "$hlorun" test --sandbox --wild-inputs "$work/cases/hello.hlo"
expect_exit "a case by its name" 0 "$hlorun" test --sandbox "$work/cases/two.hlo"
expect_exit "cases and a cache" 2 "$hlorun" test --sandbox --cache "$work/cache" "$work/cases"
if "${cc[@]}" -shared -fPIC -o "$work/ends.so" "$work/ends.c" -ldl 2>/dev/null &&
  LD_PRELOAD=$work/ends.so "$hlorun" --version >/dev/null 2>&1; then
  for case in hello two; do
    expect_exit "$case looks" 0 env LD_PRELOAD="$work/ends.so" "$hlorun" test -v "$work/cases/$case.hlo"
    expect_text "$case sees files without the sandbox" open
    expect_exit "$case looks" 0 env LD_PRELOAD="$work/ends.so" "$hlorun" test -v --sandbox "$work/cases/$case.hlo"
    expect_text "$case looks in the sandbox" closed
    grep -q open "$work/out" && fail "$case sees files in the sandbox" "$work/out"
  done
else
  skip "functions cannot be wrapped in this build"
fi
expect_exit "check" 0 "$hlorun" check --sandbox "$work/train.hlo"
expect_exit "convert" 0 "$hlorun" convert --sandbox --output "$folder/train.mlir" "$work/train.hlo"
expect_exit "stages" 0 "$hlorun" --sandbox --stop-after flat "$work/train.hlo"
expect_exit "an invalid program" 3 "$hlorun" -n 2 --sandbox "$work/attack.c"
if command -v mpirun >/dev/null; then
  expect_exit "over MPI" 0 env HLORUN_LAUNCHER=mpirun "$hlorun" -n 2 --sandbox --random-inputs "$work/train.hlo"
else
  skip "mpirun is not there"
fi
expect_exit "exec: feeds" 2 "$hlorun" --sandbox --infeed 'exec:true' "$work/probe.hlo"
expect_exit "a cache" 2 "$hlorun" --sandbox --cache "$work/cache" "$work/probe.hlo"
expect_exit "a file that is not named" 5 "$hlorun" --sandbox -i 0=1 "$work/missing.hlo"
finish
