/* Global arrays of a program that was partitioned from a global one. */
#ifndef CLI_GLOBAL_H
#define CLI_GLOBAL_H

#include "cli/arrays/cli_random.h"
#include "cli/arrays/cli_signature.h"
#include "hlorun.h"
#include "ir/value.h"

/* True if the program was partitioned: its results are parts of global arrays. */
bool cli_global_has(const hlorun_program_t *program, int result_count);

/* Collective: assembles the global arrays of all results on rank 0. Tokens stay unchanged.
 * Errors: NO_MEMORY; those of the transport.
 * Owner:  the caller releases the values of out_wholes, which are set on rank 0 alone. */
hr_status_t cli_global_gather(hlorun_client_t *client, const hlorun_program_t *program, int count,
                              hlo_value_t *const *results, hlo_value_t **out_wholes);
/* cli_random_value for parameter k. For a global program: this process's part of the global value,
 * so that the program gets the same values on any number of processes. */
hr_status_t cli_global_random(const cli_signature_t *signature, int k, int rank,
                              const cli_random_t *random, hlo_value_t **out_value);
void cli_global_release(int count, hlo_value_t **wholes);

#endif
