/* Runs a program in both engines on wild inputs (NaN, infinities, ends of integers, indices out of
 * range) and compares results, or exit codes if both refuse. The reference engine is correct by
 * definition. */
#include <stdlib.h>

#include "cli/cases/cli_case.h"
#include "cli/arrays/cli_inputs.h"
#include "cli/program/cli_load.h"

/* A program in one engine. */
typedef struct wild_run {
  hlorun_client_t *client;
  hlorun_program_t *program;
  cli_signature_t interface;
  hlo_value_t **args, **results; /* NULL: none */
  hr_status_t status;
} wild_run_t;

/* One engine's client, program and signature. release frees whatever was made, also after a
 * failure. */
static hr_status_t load(const hlorun_client_options_t *options, hlorun_engine_t engine,
                        const cli_case_t *one, wild_run_t *run) {
  hlorun_client_options_t client_options = *options;
  hlorun_program_options_t program_options;
  bool out_of_step;
  client_options.world = HLORUN_WORLD_SINGLE;
  client_options.engine = engine;
  HR_TRY(hlorun_client_create(&client_options, &run->client));
  hlorun_program_options_init(&program_options);
  program_options.num_replicas = one->replicas;
  program_options.num_partitions = one->partitions;
  HR_TRY(
      cli_load_program(run->client, one->program, &program_options, &run->program, &out_of_step));
  return cli_signature_init(&run->interface, run->program);
}

/* Both engines get the same arguments: they depend on the seed and the signature only. */
static hr_status_t execute(hr_arena_t *arena, uint64_t seed, wild_run_t *run) {
  HR_TRY(HR_NEW_ARRAY(arena, run->interface.param_count, &run->args));
  HR_TRY(HR_NEW_ARRAY(arena, run->interface.result_count, &run->results));
  HR_TRY(cli_inputs_wild(seed, &run->interface, NULL, 0, run->args));
  return hlorun_execute(run->program, run->args, NULL, run->results);
}

static void release(wild_run_t *run) {
  if (run->args) cli_values_release(run->args, run->interface.param_count);
  if (run->results) cli_values_release(run->results, run->interface.result_count);
  cli_signature_deinit(&run->interface);
  hlorun_program_release(run->program);
  hlorun_client_release(run->client, false);
  hr_status_release(run->status);
}

/* Compares result k; if false, a line of the text describes the difference. */
static bool is_same_result(const hlo_value_t *got, const hlo_value_t *want, int k,
                           const hlo_tolerance_t *tolerance, hr_strbuf_t *text) {
  hlo_difference_t difference;
  if (got->dtype == HR_TOKEN || want->dtype == HR_TOKEN) return true;
  if (got->dtype != want->dtype || !hlo_value_same_dims(got, want)) {
    hr_strbuf_printf(text, "out%d has other sizes or another type than in the reference engine\n",
                     k);
    return false;
  }
  hlo_compare(got, want, tolerance, &difference);
  if (!difference.bad_count) return true;
  hr_strbuf_printf(text, "out%d: ", k);
  hlo_difference_print(text, got, want, &difference);
  hr_strbuf_add_char(text, '\n');
  return false;
}

/* One line per engine, "no error" included: the difference is the finding. */
static void add_status(hr_strbuf_t *text, const char *engine, hr_status_t status) {
  char *report = status ? hr_status_format(status) : NULL;
  hr_strbuf_printf(text, "%s engine: %s\n", engine, report ? report : "no error");
  free(report);
}

/* Equal failure codes pass: out-of-range arguments may be refused if both engines do so. */
static cli_case_result_t compare(const wild_run_t *want, const wild_run_t *got,
                                 const hlo_tolerance_t *tolerance, hr_strbuf_t *text) {
  bool is_same = true;
  if (hr_status_code(want->status) != hr_status_code(got->status)) {
    add_status(text, "reference", want->status);
    add_status(text, "compiled", got->status);
    return CLI_FAILED;
  }
  if (want->status) return CLI_PASSED;
  for (int k = 0; k < want->interface.result_count; k++)
    is_same &= is_same_result(got->results[k], want->results[k], k, tolerance, text);
  return is_same ? CLI_PASSED : CLI_FAILED;
}

/* The case with random arguments in both engines. Skipped: a case without arrays, or a program
 * without parameters. */
cli_case_result_t cli_case_run_wild(const hlorun_client_options_t *options, const cli_case_t *one,
                                    const hlo_tolerance_t *tolerance, uint64_t seed,
                                    hr_strbuf_t *text) {
  static const hlorun_engine_t engines[] = {HLORUN_ENGINE_REFERENCE, HLORUN_ENGINE_COMPILED};
  wild_run_t runs[2] = {{.client = NULL}};
  hr_arena_t arena;
  cli_case_result_t verdict = CLI_SKIPPED;
  hr_arena_init(&arena);
  for (int e = 0; e < 2 && one->arrays; e++) {
    runs[e].status = load(options, engines[e], one, &runs[e]);
    if (!runs[e].status) runs[e].status = execute(&arena, seed, &runs[e]);
  }
  if (one->arrays && (runs[0].status || runs[0].interface.param_count))
    verdict = compare(&runs[0], &runs[1], tolerance, text);
  for (int e = 0; e < 2; e++) release(&runs[e]);
  hr_arena_deinit(&arena);
  return verdict;
}
