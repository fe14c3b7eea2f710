/* Agreement of the processes of a run: whether all of them may continue, and which one reports a
 * failure. */
#ifndef CLI_AGREE_H
#define CLI_AGREE_H

#include "hlorun.h"

#include "base/status.h"

/* Collective: every process passes its own status, whose ownership is transferred. Returns NULL if
 * all succeeded. Otherwise the first failing rank gets its status back, and the others get one of
 * the same exit code that cli_report does not print. */
hr_status_t cli_agree(hlorun_client_t *client, hr_status_t status);

/* True if an agreement itself failed in this process. The other processes then wait for a message
 * that never comes, so this process must end with a failure. */
bool cli_agree_failed(void);

/* Collective: compares these 8 bytes in all processes. */
hr_status_t cli_agree_same(hlorun_client_t *client, uint64_t value, bool *out_same);

/* For a failure during communication, after which no agreement is possible: reports it at once, as
 * the end of this process may end the others, and returns a status that is not reported again.
 * Failures caused by peers or signals are not reported here. With one process: returns `status`. */
hr_status_t cli_fail_local(hlorun_client_t *client, hr_status_t status);

/* If a signal has ended the run of several processes, reports it once: in the process that it was
 * sent to, or on rank 0 if all received it. */
void cli_tell_interruption(hlorun_client_t *client);

/* Prints a failure, releases it, and returns one of the same exit code that is not reported again.
 * NULL stays NULL. */
hr_status_t cli_report_now(hr_status_t status);

/* A failure that only carries an exit code; its message has been printed. */
hr_status_t cli_reported(hr_code_t code);
/* True if the failure was printed, here or by another process. */
bool cli_is_reported(hr_status_t status);

/* Prints a failure unless cli_is_reported, releases it, and returns the exit code. */
int cli_report(hr_status_t status);

#endif
