/* --trace and --explain: a timeline of all processes, and a table of where the time of the first
 * one went. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "base/options.h"
#include "hlorun.h"

/* Errors: USAGE: --explain with another word than json, --trace with an unknown ending. */
hr_status_t cli_trace_check(const hr_options_t *options);
/* Is standard output for the JSON of --explain=json alone? */
bool cli_trace_wants_json(const hr_options_t *options);
/* Makes the client trace if the options need it. Errors: USAGE: HLORUN_TRACE_EVENTS is no number.
 */
hr_status_t cli_trace_options(const hr_options_t *options, hlorun_client_options_t *client_options);
/* Collective: writes the timeline, prints the table. Fails in all processes or in none. */
hr_status_t cli_trace_finish(hlorun_client_t *client, const hr_options_t *options);
/* After a failure: writes what this process did until then, with peers in a file of its own
 * (FILE.json.rank3), and says on stderr where. What goes wrong with that is said too. */
void cli_trace_of_failure(hlorun_client_t *client, const hr_options_t *options);

#endif
