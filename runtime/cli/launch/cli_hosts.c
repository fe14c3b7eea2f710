/* A probe is a process per host that runs `true` there by the remote shell of mpirun; probes that
 * do not end in time are killed and their hosts count as unreachable. */
#include "cli/launch/cli_hosts.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/text.h"
#include "cli/run/cli_signals.h"

#define PROBE_S 8.0
#define LOOK_NS 20000000L
#define MOST_WORDS 16 /* most words of the remote shell */
#define EXIT_NO_SHELL 127

/* --- the list --- */

static hr_status_t bad_hosts(const char *hosts) {
  return hr_error(HR_USAGE, "--hosts %s: want HOST or HOST:N, with commas between them", hosts);
}

/* NAME or NAME:SLOTS. A name must not begin with a dash, as a shell would take it as an option. */
static hr_status_t parse_host(hr_arena_t *arena, const char *list, const char *at, size_t size,
                              cli_host_t *out_host) {
  size_t name = strcspn(at, ":,");
  uint64_t slots = 1;
  char digits[12] = "1";
  if (name < size) snprintf(digits, sizeof digits, "%.*s", (int)(size - name - 1), at + name + 1);
  if (!name || *at == '-' || !hr_parse_u64(digits, &slots) || !slots || slots > INT16_MAX)
    return bad_hosts(list);
  out_host->slots = (int)slots;
  return hr_arena_cstr(arena, (hr_str_t){at, name}, &out_host->name);
}

hr_status_t cli_hosts_parse(hr_arena_t *arena, const char *text, cli_hosts_t *out_hosts) {
  int count = 1;
  int64_t slots = 0;
  for (const char *at = text; *at; at++) count += *at == ',';
  HR_TRY(HR_NEW_ARRAY(arena, count, &out_hosts->hosts));
  const char *at = text;
  for (int i = 0; i < count; i++) {
    size_t size = strcspn(at, ",");
    HR_TRY(parse_host(arena, text, at, size, &out_hosts->hosts[i]));
    slots += out_hosts->hosts[i].slots;
    at += size + 1;
  }
  if (slots > INT16_MAX) return bad_hosts(text);
  out_hosts->count = count;
  out_hosts->slots = (int)slots;
  return NULL;
}

/* --- probes --- */

static const char NO_SHELL[] = "no remote shell";

static bool is_here(const char *name) {
  char own[256] = "";
  gethostname(own, sizeof own - 1);
  return strcmp(name, "localhost") == 0 || strcmp(name, own) == 0;
}

/* In the child: the words of the remote shell, then `host true`. */
static _Noreturn void ask(const char *host) {
  const char *agent = getenv("OMPI_MCA_plm_rsh_agent");
  char text[PATH_MAX];
  char *words[MOST_WORDS + 3];
  int count = 0;
  snprintf(text, sizeof text, "%s",
           agent && *agent ? agent : "ssh -o BatchMode=yes -o ConnectTimeout=5");
  text[strcspn(text, ":")] = '\0'; /* first of several shells */
  for (char *word = strtok(text, " "); word && count < MOST_WORDS; word = strtok(NULL, " "))
    words[count++] = word;
  words[count++] = (char *)host;
  words[count++] = "true";
  words[count] = NULL;
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && null >= 0; fd++) dup2(null, fd);
  cli_signals_restore();
  execvp(words[0], words);
  _exit(EXIT_NO_SHELL);
}

static pid_t start_probe(const char *host) {
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0); /* the shell's own children are killed with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    ask(host);
  }
  if (pid > 0) setpgid(pid, pid); /* it may be ended before it runs */
  return pid;
}

/* Evaluates the exit status of a probe. */
static void judge_probe(cli_host_t *host, int status) {
  bool has_ended = WIFEXITED(status);
  int code = has_ended ? WEXITSTATUS(status) : 0;
  host->is_reachable = has_ended && code == 0;
  host->fault = code == EXIT_NO_SHELL ? NO_SHELL : "refused or unknown";
}

/* True if the probe has ended, or was killed because `is_over`. */
static bool has_ended(pid_t pid, bool is_over, cli_host_t *host) {
  int status = 1;
  host->is_reachable = false;
  host->fault = "no answer";
  if (waitpid(pid, &status, WNOHANG) == pid) {
    judge_probe(host, status);
    return true;
  }
  if (!is_over) return false;
  kill(-pid, SIGKILL);
  waitpid(pid, &status, 0);
  return true;
}

/* Waits for the remote shells, at most PROBE_S seconds; those that are left then are ended. */
static void await_probes(cli_hosts_t *hosts, pid_t *pids, int left, cli_hosts_over_fn is_over,
                         void *context) {
  double until_s = hr_clock_s() + PROBE_S;
  while (left) {
    bool ends = is_over(context) || hr_clock_s() >= until_s;
    for (int i = 0; i < hosts->count; i++)
      if (pids[i] > 0 && has_ended(pids[i], ends, &hosts->hosts[i])) {
        pids[i] = 0;
        left--;
      }
    if (left) nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
  }
}

void cli_hosts_probe(cli_hosts_t *hosts, bool only_missing, cli_hosts_over_fn is_over,
                     void *context, bool *out_has_shell) {
  pid_t pids[hosts->count];
  int left = 0;
  for (int i = 0; i < hosts->count; i++) {
    cli_host_t *host = &hosts->hosts[i];
    bool is_known = only_missing && host->is_reachable;
    bool here = is_here(host->name);
    pids[i] = is_known || here ? 0 : start_probe(host->name);
    host->is_reachable = is_known || here;
    host->fault = "no process";
    left += pids[i] > 0;
  }
  await_probes(hosts, pids, left, is_over, context);
  *out_has_shell = true;
  for (int i = 0; i < hosts->count; i++)
    if (!hosts->hosts[i].is_reachable && hosts->hosts[i].fault == NO_SHELL) *out_has_shell = false;
}

/* --- selection --- */

int cli_hosts_slots(const cli_hosts_t *hosts) {
  int slots = 0;
  for (int i = 0; i < hosts->count; i++)
    if (hosts->hosts[i].is_reachable) slots += hosts->hosts[i].slots;
  return slots;
}

hr_status_t cli_hosts_choose(hr_arena_t *arena, const cli_hosts_t *hosts, int slots,
                             const char **out_text) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int i = 0; i < hosts->count && slots; i++) {
    const cli_host_t *host = &hosts->hosts[i];
    if (!host->is_reachable) continue;
    int taken = host->slots < slots ? host->slots : slots;
    hr_strbuf_printf(&text, "%s%s:%d", text.size ? "," : "", host->name, taken);
    slots -= taken;
  }
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(arena, (hr_str_t){text.data ? text.data : "", text.size}, out_text);
  hr_strbuf_deinit(&text);
  return st;
}
