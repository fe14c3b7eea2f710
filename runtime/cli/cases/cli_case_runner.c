/* Runs cases of one process, several at a time, each in a forked child with a deadline. A child
 * writes its verdict (one byte) and its text into a pipe that the parent polls. */
#include "cli/cases/cli_case_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signal_name.h"
#include "cli/run/cli_progress.h"
#include "cli/run/cli_signals.h"
#include "cli/cli_sandbox.h"

static volatile sig_atomic_t caught_signal;

static void note_signal(int signal_number) { caught_signal = signal_number; }

static void set_signals(void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  if (!cli_signals_is_ignored(SIGHUP)) sigaction(SIGHUP, &action, NULL);
}

void cli_case_runner_catch_signals(void) { set_signals(note_signal); }
void cli_case_runner_default_signals(void) { set_signals(SIG_DFL); }

/* CANCELLED after a signal; the handler itself only notes its number. */
hr_status_t cli_case_runner_check_signals(void) {
  if (!caught_signal) return NULL;
  return hr_error(HR_CANCELLED, "interrupted by SIG%s", sigabbrev_np(caught_signal));
}

int cli_case_runner_caught(void) { return caught_signal; }

/* A running child. Its pipe carries the verdict as one byte, then the text. */
typedef struct job {
  pid_t pid; /* 0: none */
  int fd;
  size_t index;
  double deadline_s;
  bool timed_out;
  hr_strbuf_t text;
} job_t;

typedef struct pool {
  const cli_case_runner_options_t *options;
  const cli_case_t *cases;
  job_t *jobs;
  struct pollfd *polls;
} pool_t;

/* --- in the child --- */

/* Writes everything to the pipe. The child ends if the parent has ended. */
static void write_all(int fd, const char *bytes, size_t size) {
  while (size) {
    ssize_t done = write(fd, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) _exit(1);
    bytes += done;
    size -= (size_t)done;
  }
}

/* The case could not be run. */
static cli_case_result_t fail(hr_status_t status, hr_strbuf_t *text) {
  hr_strbuf_add_str(text, hr_status_message(status));
  hr_status_release(status);
  return CLI_FAILED;
}

/* One case in a world of one process. *out_client stays open for the caller, also when the case
 * failed. */
static cli_case_result_t run_plain(const cli_case_runner_options_t *options, const cli_case_t *one,
                                   hr_strbuf_t *text, hlorun_client_t **out_client) {
  hlorun_client_options_t client_options = options->client;
  client_options.world = HLORUN_WORLD_SINGLE;
  hr_status_t st = hlorun_client_create(&client_options, out_client);
  if (!st) st = cli_sandbox_close(options->command_options);
  bool out_of_step;
  if (!st) return cli_case_run(*out_client, one, &options->tolerance, text, &out_of_step);
  return fail(st, text);
}

/* Engines are created and released one after the other. */
static cli_case_result_t run_wild(const cli_case_runner_options_t *options, const cli_case_t *one,
                                  hr_strbuf_t *text) {
  hr_status_t st = cli_sandbox_close(options->command_options);
  if (st) return fail(st, text);
  return cli_case_run_wild(&options->client, one, &options->tolerance, options->wild_seed, text);
}

/* Allows the files of the case in addition to those that the command names. */
static hr_status_t open_sandbox(const cli_case_runner_options_t *options, const cli_case_t *one) {
  const char *const files[] = {one->program, one->arrays, NULL};
  return cli_sandbox_open(options->command_options, files);
}

/* The child of a case: verdict byte, then text, to the pipe. It leaves by _exit, so that exit
 * handlers and buffers of the parent do not run twice. */
static _Noreturn void run_child(const cli_case_runner_options_t *options, const cli_case_t *one,
                                int fd) {
  cli_case_runner_default_signals();
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  cli_case_result_t verdict;
  hlorun_client_t *client = NULL;
  hr_status_t st = open_sandbox(options, one);
  if (st)
    verdict = fail(st, &text);
  else if (options->is_wild)
    verdict = run_wild(options, one, &text);
  else
    verdict = run_plain(options, one, &text, &client);
  char byte = (char)verdict;
  write_all(fd, &byte, 1);
  if (text.size) write_all(fd, text.data, text.size);
  hlorun_client_release(client, false);
  _exit(0);
}

/* --- in the parent --- */

/* Forks a child for a case. Its end of the pipe closes when the child ends, however it does: that
 * is how the parent notices. */
static hr_status_t start_job(pool_t *pool, job_t *job, size_t index) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return hr_error(HR_UNAVAILABLE, "cannot make a pipe: %s", strerror(errno));
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    run_child(pool->options, &pool->cases[index], ends[1]);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return hr_error(HR_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
  }
  *job = (job_t){.pid = pid,
                 .fd = ends[0],
                 .index = index,
                 .deadline_s = hr_clock_s() + pool->options->timeout_s};
  hr_strbuf_init(&job->text);
  return NULL;
}

/* Describes why a child gave no verdict. */
static void describe_end(const job_t *job, int status, double timeout_s, char into[64]) {
  char name[HR_SIGNAL_NAME];
  if (job->timed_out)
    snprintf(into, 64, "timed out after %.3g s", timeout_s);
  else if (WIFSIGNALED(status))
    snprintf(into, 64, "crashed: %s", hr_signal_name(WTERMSIG(status), name));
  else
    snprintf(into, 64, "ended without a result, exit code %d", WEXITSTATUS(status));
}

/* Reports the case of a child that closed its pipe. A verdict counts only if the child ended by
 * itself with exit code 0. */
static hr_status_t end_job(pool_t *pool, job_t *job, cli_outcome_fn outcome, void *context) {
  int status;
  char end[64];
  while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR) continue;
  close(job->fd);
  job->pid = 0;
  bool told = job->text.size && !job->timed_out && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!told) describe_end(job, status, pool->options->timeout_s, end);
  hr_status_t st =
      told ? outcome(context, job->index, (cli_case_result_t)job->text.data[0], job->text.data + 1)
           : outcome(context, job->index, CLI_FAILED, end);
  hr_strbuf_deinit(&job->text);
  return st;
}

/* Reads output of a child; true at its end. */
static bool read_job(job_t *job) {
  char bytes[4096];
  ssize_t got = read(job->fd, bytes, sizeof bytes);
  if (got < 0) return errno != EINTR && errno != EAGAIN;
  if (got) hr_strbuf_add(&job->text, bytes, (size_t)got);
  return got == 0;
}

/* Waits for output of a child, or for the next deadline. */
static void wait_jobs(pool_t *pool) {
  double now = hr_clock_s(), wait = 3600;
  for (int j = 0; j < pool->options->jobs; j++) {
    pool->polls[j] =
        (struct pollfd){.fd = pool->jobs[j].pid ? pool->jobs[j].fd : -1, .events = POLLIN};
    if (pool->jobs[j].pid && pool->jobs[j].deadline_s - now < wait)
      wait = pool->jobs[j].deadline_s - now;
  }
  if (poll(pool->polls, (nfds_t)pool->options->jobs, wait > 0 ? (int)(wait * 1000) + 1 : 0) < 0)
    for (int j = 0; j < pool->options->jobs; j++) pool->polls[j].revents = 0;
  now = hr_clock_s();
  for (int j = 0; j < pool->options->jobs; j++) {
    job_t *job = &pool->jobs[j];
    if (!job->pid || job->timed_out || now < job->deadline_s) continue;
    job->timed_out = true;
    kill(job->pid, SIGKILL);
  }
}

/* At most options->jobs children at a time; a free place takes the next case. Outcomes come in the
 * order in which children end. */
static hr_status_t run_jobs(pool_t *pool, const size_t *chosen, size_t count,
                            cli_outcome_fn outcome, void *context) {
  size_t next = 0, running = 0;
  while (next < count || running) {
    HR_TRY(cli_case_runner_check_signals());
    for (int j = 0; j < pool->options->jobs && next < count; j++) {
      if (pool->jobs[j].pid) continue;
      HR_TRY(start_job(pool, &pool->jobs[j], chosen[next++]));
      running++;
    }
    wait_jobs(pool);
    for (int j = 0; j < pool->options->jobs; j++) {
      if (!pool->jobs[j].pid || !pool->polls[j].revents || !read_job(&pool->jobs[j])) continue;
      running--;
      HR_TRY(end_job(pool, &pool->jobs[j], outcome, context));
    }
  }
  return NULL;
}

/* After an error or a signal: ends what still runs and reaps it, so that no process is left. */
static void kill_jobs(pool_t *pool) {
  for (int j = 0; j < pool->options->jobs; j++) {
    job_t *job = &pool->jobs[j];
    if (!job->pid) continue;
    kill(job->pid, SIGKILL);
    while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(job->fd);
    hr_strbuf_deinit(&job->text);
  }
}

/* `chosen` lists `count` indices of cases; each gets one outcome unless the run is cut short. */
hr_status_t cli_case_runner_run(const cli_case_runner_options_t *options, const cli_case_t *cases,
                                const size_t *chosen, size_t count, cli_outcome_fn outcome,
                                void *context) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  pool_t pool = {.options = options, .cases = cases};
  hr_status_t st = HR_NEW_ARRAY(&arena, options->jobs, &pool.jobs);
  if (!st) st = HR_NEW_ARRAY(&arena, options->jobs, &pool.polls);
  if (!st) {
    st = run_jobs(&pool, chosen, count, outcome, context);
    kill_jobs(&pool);
  }
  hr_arena_deinit(&arena);
  return st;
}
