/* Agreement of processes on success or failure: rank 0 gathers everybody's code, decides, and sends
 * the verdict back, so its cost is two small messages per process. If that itself fails, the
 * process reports its failure at once. */
#include "cli/cli_agree.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_log_dir.h"
#include "cli/run/cli_signals.h"

/* Marks a failure that has been reported, or that another process reports. */
#define REPORTED "reported already"

/* Head start of rank 0, which often has the same failure, to report first; milliseconds. */
#define YIELD_MS 300

typedef struct verdict {
  int32_t rank; /* rank of the first failure; -1: none */
  int32_t code;
  uint64_t same; /* value compared by cli_agree_same */
} verdict_t;

/* Rank 0 computes the verdict from the codes of all processes and sends it. */
static hr_status_t send_verdict(hlorun_client_t *client, verdict_t *verdict) {
  int world = hlorun_client_world_size(client);
  if (hlorun_client_rank(client)) return hlorun_client_recv(client, 0, verdict, sizeof *verdict);
  for (int rank = 1; rank < world; rank++)
    HR_TRY(hlorun_client_send(client, rank, verdict, sizeof *verdict));
  return NULL;
}

/* The message is a mark that cli_is_reported() knows; it is never printed. */
hr_status_t cli_reported(hr_code_t code) {
  return hr_error_from(__FILE__, __LINE__, code, NULL, REPORTED);
}

static bool has_failed;

bool cli_agree_failed(void) { return has_failed; }

/* One gather and one answer: the lowest failing rank is the one that reports. */
static hr_status_t exchange_verdicts(hlorun_client_t *client, verdict_t mine,
                                     verdict_t *out_verdict) {
  int world = hlorun_client_world_size(client);
  void *memory;
  HR_TRY(hr_alloc((size_t)world * sizeof mine, &memory));
  verdict_t *all = memory;
  hr_status_t st = hlorun_client_gather(client, &mine, sizeof mine, all);
  *out_verdict = (verdict_t){.rank = -1, .same = true};
  for (int rank = 0; rank < world && !st && hlorun_client_rank(client) == 0; rank++) {
    if (all[rank].code && out_verdict->rank < 0)
      *out_verdict = (verdict_t){rank, all[rank].code, true};
    if (all[rank].same != all[0].same) out_verdict->same = false;
  }
  hr_free(all);
  return st ? st : send_verdict(client, out_verdict);
}

/* Remembers that an exchange failed: the processes are out of step then. */
static hr_status_t agree_on_verdict(hlorun_client_t *client, verdict_t mine,
                                    verdict_t *out_verdict) {
  hr_status_t st = exchange_verdicts(client, mine, out_verdict);
  has_failed |= st != NULL;
  return st;
}

/* The first failing rank keeps its message, the others get its code. */
hr_status_t cli_agree(hlorun_client_t *client, hr_status_t status) {
  if (hlorun_client_world_size(client) == 1) return status;
  verdict_t verdict;
  hr_status_t st =
      agree_on_verdict(client, (verdict_t){-1, (int32_t)hr_status_code(status), 0}, &verdict);
  if (st) return hr_status_join(status, st);
  if (verdict.rank < 0 || verdict.rank == hlorun_client_rank(client)) return status;
  hr_status_release(status);
  return cli_reported((hr_code_t)verdict.code);
}

/* The location at which a signal interrupted the program is not reported. */
static void print_to(FILE *stream, hr_status_t status) {
  if (hr_status_code(status) == HR_CANCELLED && cli_signals_caught())
    fprintf(stream, "error: %s\n", hr_status_message(status));
  else
    hr_status_print(stream, status);
}

/* With --log-dir prints to this process's file and to the original standard error. */
static void print_failure(hr_status_t status) {
  print_to(stderr, status);
  if (cli_log_dir_terminal() != stderr) print_to(cli_log_dir_terminal(), status);
  fflush(cli_log_dir_terminal());
}

/* A signal forwarded by the launcher is recognised a moment later. */
void cli_tell_interruption(hlorun_client_t *client) {
  static bool is_told;
  int caught = cli_signals_caught();
  if (is_told || !caught || !client || hlorun_client_world_size(client) == 1) return;
  nanosleep(&(struct timespec){0, YIELD_MS * 1000000L}, NULL);
  is_told = true;
  int rank = hlorun_client_rank(client);
  if (cli_signals_is_alone())
    fprintf(stderr, "error: rank %d was interrupted by SIG%s\n", rank, sigabbrev_np(caught));
  else if (rank == 0)
    fprintf(cli_log_dir_terminal(), "error: interrupted by SIG%s\n", sigabbrev_np(caught));
}

/* Peers are not asked: they may be anywhere in the program. */
hr_status_t cli_fail_local(hlorun_client_t *client, hr_status_t status) {
  if (!status || !client || hlorun_client_world_size(client) == 1) return status;
  hr_code_t code = hr_status_code(status);
  int rank = hlorun_client_rank(client);
  bool by_signal = code == HR_CANCELLED && cli_signals_caught();
  if (by_signal) cli_tell_interruption(client);
  if (rank && !by_signal) nanosleep(&(struct timespec){0, YIELD_MS * 1000000L}, NULL);
  if (code != HR_CANCELLED) print_failure(status);
  hr_status_release(status);
  return cli_reported(code);
}

/* Values are compared on rank 0, as part of a verdict. */
hr_status_t cli_agree_same(hlorun_client_t *client, uint64_t value, bool *out_same) {
  *out_same = true;
  if (hlorun_client_world_size(client) == 1) return NULL;
  verdict_t verdict;
  HR_TRY(agree_on_verdict(client, (verdict_t){-1, 0, value}, &verdict));
  *out_same = verdict.same;
  return NULL;
}

/* For failures that must be seen before this process leaves its peers. */
hr_status_t cli_report_now(hr_status_t status) {
  if (!status) return NULL;
  hr_code_t code = hr_status_code(status);
  print_failure(status);
  hr_status_release(status);
  return cli_reported(code);
}

/* Whether the failure was printed where it happened, on another rank, so that this one stays
 * silent. */
bool cli_is_reported(hr_status_t status) {
  return status && strcmp(hr_status_message(status), REPORTED) == 0;
}

/* Reports the exit code to the launcher before printing. */
int cli_report(hr_status_t status) {
  int code = hr_status_exit_code(status);
  if (hr_status_code(status) != HR_CANCELLED) cli_exit_code_report(code);
  if (status && !cli_is_reported(status)) print_failure(status);
  hr_status_release(status);
  return code;
}
