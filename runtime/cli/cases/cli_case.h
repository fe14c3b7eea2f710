/* Cases of `hlorun test`:
 *   a program with arrays of the same name, X.hlo and X.npz;
 *   any program in a folder with io.npz (only prog.hlo, prog.mlir, ... if there is one);
 *   StableHLO text that checks itself: with check ops, or with expected-error comments in modules
 *   that must be refused, as in the StableHLO project's own tests.
 * Comments before the program may hold directives: RANKS: 4, GRID: 2x2 (replicas x partitions),
 * ULP: 2, RTOL: 1e-3, ATOL: 1e-6. */
#ifndef CLI_CASE_H
#define CLI_CASE_H

#include "base/vec.h"
#include "cli/cases/cli_tolerance.h"
#include "hlorun.h"

typedef struct cli_case {
  const char *program, *arrays; /* paths; arrays NULL: the program checks itself */
  int replicas, partitions;     /* numbers in a directive; 0: those of the program */
  int world;                    /* processes */
  const char *wrong;            /* error in its directives; NULL: none */
  hlo_tolerance_t tolerance;    /* tolerances of directives */
} cli_case_t;

#define CLI_CASE_MOST_PROCESSES 4096

typedef HR_VEC(cli_case_t) cli_cases_t;

/* A file that is no case, and the reason. */
typedef struct cli_passed_over {
  const char *path, *reason;
} cli_passed_over_t;

typedef HR_VEC(cli_passed_over_t) cli_passed_overs_t;

/* Adds the cases of a folder (and the folders in it), or the case of one program, and the programs
 * that are no cases. Strings live in the arena. Errors: UNAVAILABLE when it cannot be read; USAGE
 * for a file that is no program, or has no arrays. */
hr_status_t cli_cases_find(hr_arena_t *arena, const char *path, cli_cases_t *cases,
                           cli_passed_overs_t *passed_over);

typedef enum cli_case_result { CLI_PASSED, CLI_FAILED, CLI_SKIPPED } cli_case_result_t;

/* Collective: runs a case and compares results. Adds the reason of a failure to `text`, with a line
 * for each array that differs. *out_of_step: as in cli_load_program; the client is unusable then.
 */
cli_case_result_t cli_case_run(hlorun_client_t *client, const cli_case_t *one,
                               const hlo_tolerance_t *tolerance, hr_strbuf_t *text,
                               bool *out_of_step);

/* Runs a case of one process in both engines on wild inputs (cli_random.h), and compares;
 * CLI_SKIPPED if it has no parameters. Both may fail, with the same code. */
cli_case_result_t cli_case_run_wild(const hlorun_client_options_t *options, const cli_case_t *one,
                                    const hlo_tolerance_t *tolerance, uint64_t seed,
                                    hr_strbuf_t *text);

/* True if the text has check ops or calls of them, expected errors, or commands of the StableHLO
 * project's test tools. */
bool cli_case_checks_itself(hr_str_t text);
/* Runs every module of such a file. Errors: MISMATCH for a check that fails; *out_of_step as above.
 */
hr_status_t cli_case_run_checks(hlorun_client_t *client, const cli_case_t *one, bool *out_of_step);

#endif
