/* Both sides of a launch that runs many cases: the worker appends a record per case to the report
 * file, the parent reads records as they arrive, kills a launch that writes none in time, and
 * starts another one for the cases that have no record. */
#include "cli/cases/cli_batch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "cli/cli_agree.h"
#include "cli/launch/cli_launch.h"
#include "cli/run/cli_progress.h"
#include "cli/arrays/cli_results.h"
#include "cli/cli_sandbox.h"
#include "cli/run/cli_signals.h"

#define BATCH_MAX 256 /* cases per launch, since their paths are arguments */
#define POLL_MS 20
#define START_S 30     /* extra seconds until the processes have started */
#define KILL_AFTER_S 5 /* seconds between SIGTERM and SIGKILL for mpirun */
#define NO_CASE SIZE_MAX
#define RECORD_END '\x1e'

/* A record: "INDEX VERDICT\n", the text, RECORD_END. */

/* --- the worker --- */

/* record := index blank verdict newline text end. One write to a file opened with O_APPEND:
 * records of several processes never mix. */
static hr_status_t append_record(const char *report, size_t index, cli_case_result_t verdict,
                                 const hr_strbuf_t *text) {
  hr_strbuf_t record;
  hr_strbuf_init(&record);
  hr_strbuf_printf(&record, "%zu %d\n", index, (int)verdict);
  if (text->size) hr_strbuf_add(&record, text->data, text->size);
  hr_strbuf_add_char(&record, RECORD_END);
  hr_status_t st = hr_strbuf_finish(&record);
  int fd = open(report, O_WRONLY | O_APPEND | O_CLOEXEC);
  bool written = !st && fd >= 0 && write(fd, record.data, record.size) == (ssize_t)record.size;
  if (!st && !written)
    st = hr_error(HR_UNAVAILABLE, "cannot write %s: %s", report, strerror(errno));
  if (fd >= 0) close(fd);
  hr_strbuf_deinit(&record);
  return st;
}

/* A case fails if any rank fails; rank 0 reports for all. */
static hr_status_t report_together(hlorun_client_t *client, const char *report, size_t index,
                                   cli_case_result_t verdict, const hr_strbuf_t *text) {
  bool fine;
  hr_strbuf_t all;
  hr_strbuf_init(&all);
  hr_status_t st = cli_gather_text(client, text, &all);
  if (!st) st = cli_agree_same(client, verdict == CLI_PASSED, &fine);
  if (!st && hlorun_client_rank(client) == 0)
    st = append_record(report, index, fine ? verdict : CLI_FAILED, &all);
  hr_strbuf_deinit(&all);
  return st;
}

/* After a failure in the middle of a run the processes cannot agree. Rank 0 reports first, since
 * often all ranks have its failure. The record ends this launch; the parent starts another. */
static hr_status_t report_alone(hlorun_client_t *client, const char *report, size_t index,
                                const hr_strbuf_t *text) {
  if (hlorun_client_rank(client)) nanosleep(&(struct timespec){0, 300000000}, NULL);
  hr_status_t st = append_record(report, index, CLI_FAILED, text);
  return st ? st : cli_reported(HR_CANCELLED);
}

/* Runs one case in all ranks. Ranks that are out of step cannot agree on a verdict, so that each
 * reports for itself. */
static hr_status_t work_one(hlorun_client_t *client, const char *report,
                            const hlo_tolerance_t *tolerance, const cli_case_t *one, size_t index,
                            bool *out_of_step) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  cli_case_result_t verdict = cli_case_run(client, one, tolerance, &text, out_of_step);
  hr_status_t st = *out_of_step ? report_alone(client, report, index, &text)
                                : report_together(client, report, index, verdict, &text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Appends a record without a case: the processes have started. */
static hr_status_t announce(const char *report) {
  hr_strbuf_t nothing;
  hr_strbuf_init(&nothing);
  return append_record(report, NO_CASE, CLI_PASSED, &nothing);
}

/* The main function of a worker: one client for all cases, since starting a world costs more than
 * most cases. It ends at the first case that leaves the ranks out of step; the parent launches the
 * remaining cases again. */
hr_status_t cli_batch_work(const char *report, const hr_options_t *options,
                           const hlorun_client_options_t *client_options,
                           const hlo_tolerance_t *tolerance, const cli_case_t *cases,
                           size_t count) {
  hlorun_client_t *client = NULL;
  bool out_of_step = false;
  hr_status_t st = hlorun_client_create(client_options, &client);
  if (!st) st = cli_sandbox_close(options);
  if (!st) st = cli_signals_watch(client);
  if (!st && hlorun_client_rank(client) == 0) st = announce(report);
  for (size_t i = 0; i < count && !st; i++)
    st = work_one(client, report, tolerance, &cases[i], i, &out_of_step);
  cli_signals_unwatch();
  hlorun_client_release(client, out_of_step || cli_agree_failed());
  return st;
}

/* --- the parent --- */

typedef struct launch {
  const cli_batch_options_t *options;
  const cli_case_t *cases;
  const size_t *chosen; /* this launch's cases; records count from its start */
  size_t count;
  char report[512];
  size_t read_bytes;   /* bytes of the report read so far */
  size_t record_count; /* records read */
  bool last_failed;
  bool *done; /* by position in `chosen` */
  pid_t pid;
} launch_t;

/* Forks `hlorun test --worker WORLD:REPORT OPTIONS -- PROGRAMS` under the launcher, in a new
 * process group, so that a signal reaches all of it. Exit code 127: exec failed. */
static hr_status_t start_launch(launch_t *launch) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const cli_batch_options_t *options = launch->options;
  const char **words;
  char *const *command;
  size_t n = 0;
  hr_status_t st = HR_NEW_ARRAY(&arena, launch->count + (size_t)options->option_count + 8, &words);
  if (!st) {
    words[n++] = "test";
    words[n++] = "--worker";
    st = hr_arena_printf(&arena, &words[n++], "%d:%s", options->world, launch->report);
    for (int i = 0; i < options->option_count; i++) words[n++] = options->words[i];
    words[n++] = "--";
    for (size_t i = 0; i < launch->count; i++)
      words[n++] = launch->cases[launch->chosen[i]].program;
    if (!st) st = cli_launch_command(&arena, options->world, (int)n, words, &command);
  }
  launch->pid = st ? -1 : fork();
  if (launch->pid == 0) {
    cli_case_runner_default_signals();
    cli_signals_restore();
    setpgid(0, 0);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    if (options->quiet) {
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
    }
    execv(command[0], command);
    _exit(127);
  }
  hr_arena_deinit(&arena);
  if (!st && launch->pid < 0)
    st = hr_error(HR_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
  return st;
}

static void pause_a_little(void) { nanosleep(&(struct timespec){0, POLL_MS * 1000000L}, NULL); }

/* On SIGTERM mpirun ends its processes, too. */
static void end_launch(launch_t *launch) {
  if (launch->pid <= 0) return;
  kill(launch->pid, SIGTERM);
  double give_up = hr_clock_s() + KILL_AFTER_S;
  while (waitpid(launch->pid, NULL, WNOHANG) == 0) {
    if (hr_clock_s() > give_up) kill(-launch->pid, SIGKILL);
    pause_a_little();
  }
  launch->pid = 0;
}

/* Damaged records, and second records of a case, are ignored: a case without a record counts as
 * one without a result. */
static hr_status_t take_record(launch_t *launch, char *record, cli_outcome_fn outcome,
                               void *context) {
  size_t index;
  int verdict;
  char *text = strchr(record, '\n');
  if (!text || sscanf(record, "%zu %d", &index, &verdict) != 2 || index >= launch->count ||
      launch->done[index])
    return NULL;
  launch->done[index] = true;
  launch->record_count++;
  launch->last_failed = verdict == CLI_FAILED;
  return outcome(context, launch->chosen[index], (cli_case_result_t)verdict, text + 1);
}

/* Passes on the records completed since the last call; an unfinished one at the end is read
 * later. */
static hr_status_t read_report(launch_t *launch, cli_outcome_fn outcome, void *context) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_map_file(launch->report, &bytes));
  const char *at = (const char *)hr_buffer_data(bytes) + launch->read_bytes;
  const char *end = (const char *)hr_buffer_data(bytes) + hr_buffer_size(bytes);
  hr_status_t st = NULL;
  for (const char *stop; !st && at < end && (stop = memchr(at, RECORD_END, (size_t)(end - at)));
       at = stop + 1) {
    char *record = strndup(at, (size_t)(stop - at));
    if (record) st = take_record(launch, record, outcome, context);
    free(record);
    launch->read_bytes += (size_t)(stop + 1 - at);
  }
  hr_buffer_release(bytes);
  return st;
}

/* Follows a launch until it ends, or is silent for too long. *out_end says which. */
static hr_status_t follow_launch(launch_t *launch, cli_outcome_fn outcome, void *context,
                                 char out_end[96]) {
  double patience = launch->options->timeout_s, last = hr_clock_s() + START_S;
  for (;;) {
    int status;
    bool ended = waitpid(launch->pid, &status, WNOHANG) == launch->pid;
    if (ended) launch->pid = 0;
    size_t before = launch->read_bytes;
    HR_TRY(read_report(launch, outcome, context));
    if (launch->read_bytes != before) last = hr_clock_s();
    if (ended) {
      int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      snprintf(out_end, 96, "its processes ended without a result, exit code %d", code);
      return NULL;
    }
    HR_TRY(cli_case_runner_check_signals());
    if (launch->record_count < launch->count && hr_clock_s() - last > patience) {
      snprintf(out_end, 96, "timed out after %.3g s", patience);
      return NULL;
    }
    pause_a_little();
  }
}

/* One world of processes for the cases of this launch. The report is a temporary file that is
 * removed in every case. out_end: how the launch ended, for cases without a record. */
static hr_status_t run_launch(launch_t *launch, cli_outcome_fn outcome, void *context,
                              char out_end[96]) {
  const char *folder = getenv("TMPDIR");
  hr_arena_t arena;
  hr_arena_init(&arena);
  snprintf(launch->report, sizeof launch->report, "%.480s/hlorun-test-XXXXXX",
           folder && *folder ? folder : "/tmp");
  hr_status_t st = HR_NEW_ARRAY(&arena, launch->count, &launch->done);
  int fd = st ? -1 : mkstemp(launch->report);
  if (!st && fd < 0)
    st = hr_error(HR_UNAVAILABLE, "cannot make %s: %s", launch->report, strerror(errno));
  if (!st) st = start_launch(launch);
  if (!st) st = follow_launch(launch, outcome, context, out_end);
  end_launch(launch);
  if (fd >= 0) {
    close(fd);
    unlink(launch->report);
  }
  hr_arena_deinit(&arena);
  return st;
}

/* Runs one case in a separate launch: the outcome is its record, else the exit of the launch. */
static hr_status_t run_alone(launch_t launch, cli_outcome_fn outcome, void *context) {
  char end[96];
  launch.count = 1;
  HR_TRY(run_launch(&launch, outcome, context, end));
  return launch.record_count ? NULL : outcome(context, launch.chosen[0], CLI_FAILED, end);
}

/* Records arrive in the cases' order, so those without one are the last ones. */
hr_status_t cli_batch_run(const cli_batch_options_t *options, const cli_case_t *cases,
                          const size_t *chosen, size_t count, cli_outcome_fn outcome,
                          void *context) {
  size_t done = 0;
  while (done < count) {
    char end[96];
    size_t size = count - done < BATCH_MAX ? count - done : BATCH_MAX;
    launch_t launch = {.options = options, .cases = cases, .chosen = chosen + done, .count = size};
    if (size > 1) HR_TRY(run_launch(&launch, outcome, context, end));
    done += launch.record_count;
    if (launch.record_count == size) continue;
    if (launch.last_failed) continue; /* that case ended the launch; otherwise the next one did */
    HR_TRY(run_alone((launch_t){.options = options, .cases = cases, .chosen = chosen + done},
                     outcome, context));
    done++;
  }
  return NULL;
}
