/* --trace and --explain: a timeline of all processes, and a table of kernel times of the first one.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "base/options.h"
#include "hlorun.h"

/* Errors: USAGE: --explain with another word than json, --trace with an unknown ending. */
hr_status_t cli_trace_check(const hr_options_t *options);
/* True if standard output is reserved for the JSON of --explain=json. */
bool cli_trace_wants_json(const hr_options_t *options);
/* Makes the client trace if the options need it. Errors: USAGE: HLORUN_TRACE_EVENTS is no number.
 */
hr_status_t cli_trace_options(const hr_options_t *options, hlorun_client_options_t *client_options);
/* Collective: writes the timeline, prints the table. Fails in all processes or in none. */
hr_status_t cli_trace_finish(hlorun_client_t *client, const hr_options_t *options);
/* After a failure: writes the timeline of this process, with peers to its own file
 * (FILE.json.rank3), and prints the path, or the failure to write, to stderr. */
void cli_trace_of_failure(hlorun_client_t *client, const hr_options_t *options);

#endif
