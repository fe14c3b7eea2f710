#!/usr/bin/env bash
# What others must not be able to do through the command: choose which file it overwrites, call functions of libraries
# by a program's text, have an executable with other rights load their code.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99
command -v "${cc[0]}" >/dev/null || { skip "no C compiler"; finish; }

cat >twice.hlo <<'END'
HloModule twice
ENTRY main {
  x = f32[3] parameter(0)
  ROOT y = f32[3] add(x, x)
}
END
run_to() { # OUTPUT: what the program gives goes there
  expect_exit "--output $1" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --output "$1" twice.hlo
}
holds_result() { # NAME FILE
  expect_exit "$1" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --expect "$2" twice.hlo
}
is() { # NAME COMMAND...
  local name=$1
  shift
  if "$@"; then pass; else fail "$name: $*"; fi
}
leftovers() { find . -name '.hlorun.*' -o -name '*.tmp.*' | grep -c .; }

# --- temporary files: links that wait under names of the usual kind are not followed ---
mkdir planted probes
echo precious >victim
first=$(bash -c 'echo $$')
for ((pid = first; pid < first + 400; pid++)); do
  for name in planted/out.npz planted/stats.json planted/trace.json planted/twice.pb probes/probe1.npy; do
    ln -s ../victim "$name.tmp.$pid"
  done
done
expect_exit "planted links" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --output planted/out.npz --stats planted/stats.json \
  --trace planted/trace.json twice.hlo
expect_exit "planted links, convert" 0 "$hlorun" convert -o planted/twice.pb --to pb twice.hlo
expect_exit "planted links, probes" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --probe y twice.hlo
is "a planted link was followed" grep -qx precious victim
holds_result "result beside planted links" planted/out.npz
rm -rf planted probes

# --- links: one's own leads to the target, another's is replaced ---
mkdir elsewhere
ln -s elsewhere/there.npz own.npz
run_to own.npz
is "own link stays" test -L own.npz
holds_result "own link, to nothing yet" elsewhere/there.npz
run_to own.npz
holds_result "own link, to a file" elsewhere/there.npz
ln -s loop.npz loop.npz
expect_exit "a link to itself" 5 "$hlorun" --input '0=f32[3]{1,2,3}' --output loop.npz twice.hlo
if [ "$(id -u)" -eq 0 ] && chown -h 65534 own.npz 2>/dev/null; then
  echo precious >elsewhere/there.npz
  run_to own.npz
  is "another user's link was followed" grep -qx precious elsewhere/there.npz
  is "another user's link stays" test ! -L own.npz
  holds_result "another user's link is replaced" own.npz
  ln -s /dev/null device && chown -h 65534 device
  run_to device
  is "another user's link to a device" test -f device
  # Files that are written in place are not written through such a link.
  mkdir logs
  printf 'HloModule out\nENTRY main {\n  t = token[] after-all()\n  x = f32[] constant(1)\n%s\n}\n' \
    '  ROOT o = token[] outfeed(x, t)' >out.hlo
  for name in logs/rank0.log out.log out.feed; do
    ln -s "$work/victim" $name && chown -h 65534 $name
  done
  echo precious >victim
  expect_exit "another user's link as a log of --log-dir" 5 "$hlorun" --input 0=1 --log-dir logs twice.hlo
  expect_exit "another user's link as a log" 5 env HLORUN_LOG=info HLORUN_LOG_FILE=out.log "$hlorun" --input 0=1 twice.hlo
  expect_exit "another user's link as an outfeed" 5 "$hlorun" --outfeed file:out.feed out.hlo
  expect_text "another user's link as an outfeed" "it is a link of another user"
  is "a log or outfeed was written through a link" grep -qx precious victim
  chown -h "$(id -u)" logs/rank0.log out.feed
  expect_exit "own link as an outfeed" 0 "$hlorun" --outfeed file:out.feed out.hlo
  is "own link as an outfeed was not written" test "$(wc -c <victim)" -ne 9
  echo precious >victim
else
  skip "links of another user: only root can make them"
fi
mkdir -p probes
ln -s ../victim probes/index.csv
expect_exit "the index of probes" 0 "$hlorun" --input '0=f32[3]{1,2,3}' --probe y twice.hlo
is "the index's own link" grep -q 'tensor<3xf32>' victim

# --- the launcher's file of exit codes is no other file ---
echo precious | tee victim >hlorun-verdict-1
ln -s hlorun-verdict-1 hlorun-verdict-link
ln hlorun-verdict-1 hlorun-verdict-2
mkfifo hlorun-verdict-fifo
for file in victim hlorun-verdict-link hlorun-verdict-2 hlorun-verdict-fifo /proc/self/fd/9 /nowhere; do
  expect_exit "HLORUN_VERDICT=$file" 5 timeout 20 env HLORUN_VERDICT=$file "$hlorun" nothing.hlo 9>>hlorun-verdict-1
done
is "HLORUN_VERDICT named another file" grep -qx precious hlorun-verdict-1
is "HLORUN_VERDICT named a file that is none" grep -qx precious victim

# --- permissions, special files, descriptors ---
run_to private.npz
chmod 600 private.npz
run_to private.npz
is "a private file stays private" test "$(stat -c %a private.npz)" = 600
(umask 027 && run_to masked.npz)
is "the umask counts" test "$(stat -c %a masked.npz)" = 640
run_to /dev/null
is "/dev/null is a device" test -c /dev/null
mkfifo fifo
cat fifo >through_fifo &
run_to fifo
wait
is "a FIFO stays" test -p fifo
mv through_fifo through_fifo.npz && holds_result "through a FIFO" through_fifo.npz
"$hlorun" --input '0=f32[3]{1,2,3}' --output /dev/stdout twice.hlo | cat >through_pipe.npz
holds_result "/dev/stdout, a pipe" through_pipe.npz
echo before >through_file
"$hlorun" convert --to hlo -o /dev/stdout twice.hlo >>through_file
is "/dev/stdout appends where the shell does" grep -qx before through_file
is "/dev/stdout, a file" grep -q add through_file
"$hlorun" --input '0=f32[3]{1,2,3}' --output /dev/fd/7 twice.hlo 7>through_fd.npz
holds_result "/dev/fd/7" through_fd.npz
expect_exit "/dev/fd of nothing" 5 "$hlorun" --input '0=f32[3]{1,2,3}' --output /dev/fd/99 twice.hlo
expect_exit "a folder" 5 "$hlorun" --input '0=f32[3]{1,2,3}' --output elsewhere twice.hlo
expect_exit "a folder that is not there" 5 "$hlorun" --input '0=f32[3]{1,2,3}' --output no/out.npz twice.hlo
long=$(printf 'x%.0s' {1..251}).npz
run_to "$long"
holds_result "a name of 255 characters" "$long"
(ulimit -f 1 && exec "$hlorun" convert --to pb -o full.pb "$source_dir/examples/digits/train.hlo") >full.out 2>&1
is "a full disk, exit code" test $? -eq 5
is "a full disk, message" grep -q "cannot write full.pb" full.out
is "a full disk leaves nothing" test ! -e full.pb
is "temporary files stay" test "$(leftovers)" -eq 0

# --- the order of calls: bytes, then the name, then the folder ---
cat >calls.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void note(const char *what) {
  const char *path = getenv("CALLS");
  int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
  if (fd >= 0 && write(fd, what, strlen(what)) < 0) abort();
  if (fd >= 0) close(fd);
}
int fsync(int fd) {
  struct stat info;
  if (!fstat(fd, &info)) note(S_ISDIR(info.st_mode) ? "folder\n" : "file\n");
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int renameat(int from, const char *old, int to, const char *new) {
  note("rename\n");
  return ((int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat"))(from, old, to, new);
}
char *secure_getenv(const char *name) { return getenv("CALLS") ? NULL : getenv(name); }
END
if "${cc[@]}" -shared -fPIC -o calls.so calls.c -ldl && LD_PRELOAD=$work/calls.so "$hlorun" --version >/dev/null 2>&1; then
  printf 'file\nrename\nfolder\n' >want
  expect_exit "order of calls" 0 env LD_PRELOAD="$work/calls.so" CALLS="$work/calls" "$hlorun" --cache none \
    --input '0=f32[3]{1,2,3}' --output out.npz twice.hlo
  if cmp -s want calls; then pass; else fail "bytes reach the disk before the name" calls; fi
  # An executable with other rights than its user's: secure_getenv() gives it nothing.
  mkdir modules
  expect_exit "variables of a stranger" 0 env LD_PRELOAD="$work/calls.so" CALLS="$work/calls" \
    HLORUN_CACHE="$work/planted-cache" HLORUN_LLVM="$work/calls.so" HLORUN_MODULE_DIR="$work/modules" \
    HLORUN_DUMP_TO="$work/planted-dump" HOME="$work/home" XDG_CACHE_HOME="$work/xdg" \
    "$hlorun" --input '0=f32[3]{1,2,3}' twice.hlo
  is "HLORUN_CACHE of a stranger" test ! -e planted-cache
  is "HLORUN_DUMP_TO of a stranger" test ! -e planted-dump
  is "XDG_CACHE_HOME of a stranger" test ! -e xdg
else
  skip "functions cannot be wrapped in this build"
fi

# --- plugins: programs call what a plugin defines or registers, nothing of what it needs ---
cat >plugin.c <<'END'
#include <stdio.h>
typedef void fn(void *out, void **in);
int table[16];
const char text[16] = "data";
void mine(void *out, void **in) { (void)in; *(int *)out = 7; }
static void chosen(void *out, void **in) { (void)in; *(int *)out = 9; }
static fn *resolve(void) { return chosen; }
void indirect(void *out, void **in) __attribute__((ifunc("resolve")));
__attribute__((visibility("hidden"))) void hidden(void *out, void **in) { (void)in; *(int *)out = 8; puts("hidden"); }
static void unnamed(void *out, void **in) { (void)in; *(int *)out = 10; }
void hlorun_plugin_init(void *(*add)(const char *, fn *)) { add("registered", unnamed); }
END
call() { # TARGET
  printf 'HloModule c\nENTRY main {\n  x = s32[16] parameter(0)\n  ROOT y = s32[16] custom-call(x), %s="%s"\n}\n' \
    custom_call_target "$1" >call.hlo
}
if "${cc[@]}" -shared -fPIC -o plugin.so plugin.c; then
  for target in mine:7 indirect:9 registered:10; do
    call "${target%:*}"
    expect_exit "plugin, ${target%:*}" 0 "$hlorun" --plugin ./plugin.so --random-inputs call.hlo
    expect_text "plugin, ${target%:*}" "{${target#*:}, 0"
  done
  for target in system abort _exit free puts longjmp getpid memcpy strlen stdout environ; do
    call $target
    expect_exit "plugin, $target of libc" 3 "$hlorun" --plugin ./plugin.so --random-inputs call.hlo
    expect_text "plugin, $target of libc" "programs may only call functions that a plugin itself defines"
  done
  for target in table text; do
    call $target
    expect_exit "plugin, data" 3 "$hlorun" --plugin ./plugin.so --random-inputs call.hlo
    expect_text "plugin, data" "want a function"
  done
  for target in hidden unnamed _init _fini _end hlorun_plugin_init nothing; do
    call $target
    expect_exit "plugin, $target" 3 "$hlorun" --plugin ./plugin.so --random-inputs call.hlo
    expect_text "plugin, $target" "no custom call '$target' here"
  done
else
  skip "a plugin cannot be built"
fi
finish
