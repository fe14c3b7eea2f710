/* Runs one case: loads the program, reads its parameters, executes it once and compares the
 * results. */
#include <stdlib.h>

#include "cli/cli_agree.h"
#include "cli/cases/cli_case.h"
#include "cli/arrays/cli_inputs.h"
#include "cli/program/cli_load.h"
#include "cli/arrays/cli_results.h"

typedef struct case_run {
  hlorun_client_t *client;
  const cli_case_t *one;
  hlo_tolerance_t tolerance;
  hr_arena_t arena;
  hlorun_program_t *program;
  cli_signature_t interface;
  hlo_value_t **args, **results;
  bool out_of_step;
} case_run_t;

/* Options override directives, which override the defaults. */
static hlo_tolerance_t merge_tolerances(hlo_tolerance_t directive, const hlo_tolerance_t *option) {
  if (option->rtol >= 0) directive.rtol = option->rtol;
  if (option->atol >= 0) directive.atol = option->atol;
  if (option->ulp >= 0) directive.ulp = option->ulp;
  return directive;
}

/* The grid of a directive overrides that of the program. */
static hr_status_t load_case(case_run_t *run) {
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  options.num_replicas = run->one->replicas;
  options.num_partitions = run->one->partitions;
  return cli_load_program(run->client, run->one->program, &options, &run->program,
                          &run->out_of_step);
}

/* All parameters must be in the archive: nothing is random here. */
static hr_status_t read_inputs(case_run_t *run) {
  HR_TRY(cli_signature_init(&run->interface, run->program));
  run->interface.world = hlorun_client_world_size(run->client);
  HR_TRY(HR_NEW_ARRAY(&run->arena, run->interface.param_count, &run->args));
  HR_TRY(HR_NEW_ARRAY(&run->arena, run->interface.result_count, &run->results));
  HR_TRY(cli_inputs_from_file(run->one->arrays, &run->interface, hlorun_client_rank(run->client),
                              run->args));
  return cli_inputs_check(&run->interface, NULL, run->args);
}

/* Counts the arrays out of tolerance, and prints those lines only. */
static hr_status_t compare_results(case_run_t *run, hr_strbuf_t *text) {
  array_file_t file;
  cli_expectation_t expectation = {.file = &file,
                                   .rank = hlorun_client_rank(run->client),
                                   .mark_rank = hlorun_client_world_size(run->client) > 1,
                                   .tolerance = run->tolerance};
  int bad = 0;
  hr_status_t st = array_file_open(run->one->arrays, &file);
  if (!st) st = cli_results_compare(&expectation, &run->interface, run->results, text, &bad);
  if (!st && bad)
    st = hr_error(HR_MISMATCH, "%d of %d results out of tolerance", bad,
                  run->interface.result_count);
  array_file_deinit(&file);
  return st;
}

/* A failure while running leaves the processes out of step. */
static hr_status_t run_and_compare(case_run_t *run, hr_strbuf_t *text) {
  HR_TRY(load_case(run));
  HR_TRY(cli_agree(run->client, read_inputs(run)));
  hr_status_t st = hlorun_execute(run->program, run->args, NULL, run->results);
  run->out_of_step = st != NULL;
  HR_TRY(st);
  return compare_results(run, text);
}

/* Accepts a case that was never loaded. */
static void release_case(case_run_t *run) {
  cli_values_release(run->args, run->interface.param_count);
  cli_values_release(run->results, run->interface.result_count);
  cli_signature_deinit(&run->interface);
  hlorun_program_release(run->program);
  hr_arena_deinit(&run->arena);
}

/* Adds what the lines about arrays do not contain. */
static void add_status(hr_strbuf_t *text, hr_status_t status) {
  if (!status || hr_status_code(status) == HR_MISMATCH || cli_is_reported(status)) return;
  char *report = hr_status_format(status);
  if (report) hr_strbuf_add_str(text, report);
  free(report);
}

/* The report of a failed check is the case's text. */
static hr_status_t run_checks(case_run_t *run, hr_strbuf_t *text) {
  hr_status_t st = cli_case_run_checks(run->client, run->one, &run->out_of_step);
  if (!st || hr_status_code(st) != HR_MISMATCH) return st;
  char *report = hr_status_format(st);
  if (report) hr_strbuf_add_str(text, report);
  free(report);
  return st;
}

/* A case without arrays checks itself. */
cli_case_result_t cli_case_run(hlorun_client_t *client, const cli_case_t *one,
                               const hlo_tolerance_t *tolerance, hr_strbuf_t *text,
                               bool *out_of_step) {
  case_run_t run = {
      .client = client, .one = one, .tolerance = merge_tolerances(one->tolerance, tolerance)};
  hr_status_t st = one->arrays ? run_and_compare(&run, text) : run_checks(&run, text);
  *out_of_step = run.out_of_step;
  cli_case_result_t verdict = st ? CLI_FAILED : CLI_PASSED;
  add_status(text, st);
  hr_status_release(st);
  release_case(&run);
  return verdict;
}
