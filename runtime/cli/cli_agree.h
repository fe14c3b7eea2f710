/* What the processes of a run decide together: whether all of them may go on, and who reports a
 * failure. */
#ifndef CLI_AGREE_H
#define CLI_AGREE_H

#include "hlorun.h"

#include "base/status.h"

/* Every process calls it with its own status; NULL comes back if all were fine. Else the first
 * failing rank keeps its status, and the others get one of the same exit code that cli_report
 * prints nothing for. `status` is taken over. */
hr_status_t cli_agree(hlorun_client_t *client, hr_status_t status);

/* Has such a decision itself failed here? The others wait for a word of this process that will not
 * come: it has to leave them with a failure. */
bool cli_agree_failed(void);

/* Are these 8 bytes the same in all processes? */
hr_status_t cli_agree_same(hlorun_client_t *client, uint64_t value, bool *out_same);

/* For a failure in the midst of talking to the others, about which nothing can be agreed: reports
 * it now, since the end of this process may end the others, and returns one that is not reported
 * again. Failures that peers or signals caused are left to whoever knows the cause. Alone in the
 * world: returns `status`. */
hr_status_t cli_fail_local(hlorun_client_t *client, hr_status_t status);

/* If a signal has ended the run of several processes, says so once: the process that it was sent
 * to, or rank 0 when all of them have it. */
void cli_tell_interruption(hlorun_client_t *client);

/* Prints a failure, releases it, and gives one of the same exit code that is not reported again.
 * NULL stays NULL. */
hr_status_t cli_report_now(hr_status_t status);

/* A failure that only carries an exit code; its message has been printed. */
hr_status_t cli_reported(hr_code_t code);
/* Is it a failure that was printed, here or by another process? */
bool cli_is_reported(hr_status_t status);

/* Prints a failure unless it is another process's, releases it, and gives the exit code. */
int cli_report(hr_status_t status);

#endif
