/* Runs programs in the reference engine and in other ways, and compares the results. A process
 * serves many programs, for search.py:
 *
 *   compare_engines < trials
 *
 * A trial is a line of words, "random|wild SEED RTOL FILE WAY...": the program of the file, given
 * random or wild inputs of that seed. RTOL is the relative tolerance of floats; 0: equal to the
 * bit. A way is "passes", the reference engine on the program after the passes, or "THREADS:own"
 * and "THREADS:llvm", the compiled engine with code of its own or of LLVM. The width of vectors is
 * that of HLORUN_VECTOR. Where RTOL is given, results may differ that do not settle: those that a
 * unit in the last place of the arguments changes as much. The answer to each way is a line "same
 * SIZE", "differs SIZE" or, if the reference engine refuses the program, "refused SIZE", followed
 * by SIZE bytes of text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/status.h"
#include "cli/arrays/cli_index_bounds.h"
#include "cli/arrays/cli_inputs.h"
#include "cli/arrays/cli_random.h"
#include "hlorun.h"
#include "ir/compare.h"
#include "ir/print.h"
#include "ops/rules/verify.h"
#include "passes/pipeline.h"
#include "read/read.h"

enum { MOST_WAYS = 16, MOST_THREADS = 64 };

typedef struct trial {
  bool is_wild, is_nudged; /* is_nudged: float arguments are changed a little */
  uint64_t seed;
  hlo_tolerance_t tolerance;
  const char *file;
  const char *ways[MOST_WAYS];
  int way_count;
} trial_t;

/* A program in one engine. */
typedef struct run {
  hlorun_program_t *program;
  cli_signature_t signature;
  hr_arena_t arena;
  hlo_value_t **args, **results; /* NULL: none */
} run_t;

/* --- clients --- */

/* The client of an engine with a number of workers (0: the reference engine); made once. */
static hr_status_t find_client(int threads, hlorun_client_t **out_client) {
  static hlorun_client_t *clients[MOST_THREADS + 1];
  hlorun_client_options_t options;
  if (threads < 0 || threads > MOST_THREADS) return hr_error(HR_USAGE, "%d threads", threads);
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  options.engine = threads ? HLORUN_ENGINE_COMPILED : HLORUN_ENGINE_REFERENCE;
  options.threads = threads ? threads : 1;
  options.bind = HLORUN_BIND_NONE;
  options.flush_denormals = false;
  if (!clients[threads]) HR_TRY(hlorun_client_create(&options, &clients[threads]));
  *out_client = clients[threads];
  return NULL;
}

/* --- runs --- */

static void begin(run_t *run) {
  *run = (run_t){0};
  hr_arena_init(&run->arena);
}

static void end(run_t *run) {
  if (run->args) cli_values_release(run->args, run->signature.param_count);
  if (run->results) cli_values_release(run->results, run->signature.result_count);
  cli_signature_deinit(&run->signature);
  hlorun_program_release(run->program);
  hr_arena_deinit(&run->arena);
}

/* Adds one unit in the last place to each float. */
static void nudge(hlo_value_t *value) {
  size_t each = hr_dtype_is_float(value->dtype) ? hr_dtype_bytes(value->dtype) : 0;
  for (size_t at = 0; each >= 2 && at < hlo_value_bytes(value); at += each) {
    uint64_t bits = 0;
    memcpy(&bits, (char *)value->data + at, each);
    bits++;
    memcpy((char *)value->data + at, &bits, each);
  }
}

/* Element i of parameter k depends on the seed, k and i alone: all runs get the same arguments. */
static hr_status_t make_arguments(const trial_t *trial, run_t *run) {
  cli_random_t random = {trial->seed, CLI_NO_BOUND, trial->is_wild};
  for (int k = 0; k < run->signature.param_count; k++)
    HR_TRY(cli_random_value(run->signature.params[k], k, &random, &run->args[k]));
  for (int k = 0; k < run->signature.param_count && trial->is_nudged; k++) nudge(run->args[k]);
  return NULL;
}

/* Executes run->program once. */
static hr_status_t execute(const trial_t *trial, run_t *run) {
  HR_TRY(cli_signature_init(&run->signature, run->program));
  HR_TRY(HR_NEW_ARRAY(&run->arena, run->signature.param_count, &run->args));
  HR_TRY(HR_NEW_ARRAY(&run->arena, run->signature.result_count, &run->results));
  HR_TRY(make_arguments(trial, run));
  return hlorun_execute(run->program, run->args, NULL, run->results);
}

static hr_status_t run_file(const trial_t *trial, int threads, run_t *run) {
  hlorun_client_t *client;
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  HR_TRY(find_client(threads, &client));
  HR_TRY(hlorun_program_load(client, trial->file, &options, &run->program));
  return execute(trial, run);
}

/* The program after the passes, as text. */
static hr_status_t print_after_passes(const trial_t *trial, hr_strbuf_t *text) {
  hlo_module_t *module = NULL;
  pass_options_t passes = {.verify = true};
  HR_TRY(read_module_file(trial->file, &module));
  hr_status_t st = hlo_verify(module);
  if (!st) st = pass_run_all(module, &passes);
  if (!st) hlo_print_module(text, module, HLO_PRINT_LONG);
  hlo_module_destroy(module);
  return st ? st : hr_strbuf_finish(text);
}

static hr_status_t run_after_passes(const trial_t *trial, run_t *run) {
  hlorun_client_t *client;
  hlorun_program_options_t options;
  hr_strbuf_t text;
  hlorun_program_options_init(&options);
  HR_TRY(find_client(0, &client));
  hr_strbuf_init(&text);
  hr_status_t st = print_after_passes(trial, &text);
  if (!st)
    st = hlorun_program_load_bytes(client, "after the passes", text.data, text.size, &options,
                                   &run->program);
  if (!st) st = execute(trial, run);
  hr_strbuf_deinit(&text);
  return st;
}

/* Runs the program in one of the ways to compare. */
static hr_status_t run_way(const trial_t *trial, const char *way, run_t *run) {
  char code[8];
  int threads;
  if (!strcmp(way, "passes")) return run_after_passes(trial, run);
  if (sscanf(way, "%d:%7s", &threads, code) != 2 || threads < 1)
    return hr_error(HR_USAGE, "way %s: want passes, THREADS:own or THREADS:llvm", way);
  setenv("HLORUN_X64", strcmp(code, "llvm") ? "1" : "0", 1);
  return run_file(trial, threads, run);
}

/* --- comparison --- */

/* Adds a line on result k, unless it is the same. */
static void compare_result(const hlo_value_t *got, const hlo_value_t *want, int k,
                           const hlo_tolerance_t *tolerance, hr_strbuf_t *text) {
  hlo_difference_t difference;
  if (got->dtype == HR_TOKEN && want->dtype == HR_TOKEN) return;
  if (got->dtype != want->dtype || !hlo_value_same_dims(got, want)) {
    hr_strbuf_printf(text, "out%d has another type or other sizes\n", k);
    return;
  }
  hlo_compare(got, want, tolerance, &difference);
  if (!difference.bad_count) return;
  hr_strbuf_printf(text, "out%d: ", k);
  hlo_difference_print(text, got, want, &difference);
  hr_strbuf_add_char(text, '\n');
}

static void compare(const trial_t *trial, const run_t *got, const run_t *want, hr_strbuf_t *text) {
  if (got->signature.result_count != want->signature.result_count)
    hr_strbuf_add_str(text, "another number of results\n");
  for (int k = 0; k < want->signature.result_count && !text->size; k++)
    compare_result(got->results[k], want->results[k], k, &trial->tolerance, text);
}

static void add_status(hr_strbuf_t *text, hr_status_t status) {
  char *report = hr_status_format(status);
  hr_strbuf_add_str(text, report ? report : "no memory");
  free(report);
  hr_status_release(status);
}

/* --- trials --- */

static void answer(const char *verdict, const hr_strbuf_t *text) {
  printf("%s %zu\n", verdict, text->size);
  if (text->size) fwrite(text->data, 1, text->size, stdout);
  fflush(stdout);
}

/* Does one unit in the last place of the arguments change the reference engine's results beyond the
 * tolerance? Then nothing follows from a difference: iterations of cosines are chaotic. */
static bool is_unstable(const trial_t *trial, const run_t *want) {
  trial_t nudged = *trial;
  run_t got;
  hr_strbuf_t text;
  if (trial->tolerance.rtol == 0) return false;
  nudged.is_nudged = true;
  begin(&got);
  hr_strbuf_init(&text);
  hr_status_t st = run_file(&nudged, 0, &got);
  if (!st) compare(trial, &got, want, &text);
  bool differs = text.size != 0;
  hr_status_release(st);
  hr_strbuf_deinit(&text);
  end(&got);
  return differs;
}

static void try_way(const trial_t *trial, const char *way, const run_t *want) {
  run_t got;
  hr_strbuf_t text;
  begin(&got);
  hr_strbuf_init(&text);
  hr_status_t st = run_way(trial, way, &got);
  if (st)
    add_status(&text, st);
  else
    compare(trial, &got, want, &text);
  if (!st && text.size && is_unstable(trial, want)) hr_strbuf_cut(&text, 0);
  answer(text.size ? "differs" : "same", &text);
  hr_strbuf_deinit(&text);
  end(&got);
}

static void try_program(const trial_t *trial) {
  run_t want;
  begin(&want);
  hr_status_t st = run_file(trial, 0, &want);
  for (int w = 0; w < trial->way_count && !st; w++) try_way(trial, trial->ways[w], &want);
  if (st) {
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    add_status(&text, st);
    for (int w = 0; w < trial->way_count; w++) answer("refused", &text);
    hr_strbuf_deinit(&text);
  }
  end(&want);
}

/* Splits a line into the words of a trial. */
static bool read_trial(char *line, trial_t *trial) {
  char *rest;
  const char *inputs = strtok_r(line, " \n", &rest), *seed = strtok_r(NULL, " \n", &rest);
  const char *rtol = strtok_r(NULL, " \n", &rest), *way;
  *trial = (trial_t){.tolerance = hlo_tolerance_default(), .file = strtok_r(NULL, " \n", &rest)};
  if (!trial->file) return false;
  trial->is_wild = !strcmp(inputs, "wild");
  trial->seed = strtoull(seed, NULL, 10);
  trial->tolerance.rtol = strtod(rtol, NULL);
  if (trial->tolerance.rtol == 0) trial->tolerance.ulp = 0;
  while (trial->way_count < MOST_WAYS && (way = strtok_r(NULL, " \n", &rest)))
    trial->ways[trial->way_count++] = way;
  return true;
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  trial_t trial;
  setenv("HLORUN_CACHE", "none", 1);
  while (getline(&line, &room, stdin) > 0) {
    if (!read_trial(line, &trial)) {
      fprintf(stderr, "compare_engines: want random|wild SEED RTOL FILE WAY...\n");
      return 2;
    }
    try_program(&trial);
  }
  free(line);
  return 0;
}
