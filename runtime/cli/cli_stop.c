/* Prints the output of --stop-after: the module after a stage or pass, the plan, or the flat
 * plan. */
#include "cli/cli_stop.h"

#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "cli/program/cli_bundle.h"
#include "cli/program/cli_grid.h"
#include "cli/run/cli_carry.h"
#include "cli/arrays/cli_extensions.h"
#include "cli/cli_sandbox.h"
#include "cli/cli_uses.h"
#include "compiler.h"
#include "io/gzip.h"
#include "ir/print.h"
#include "ops/rules/verify.h"
#include "passes/pipeline.h"
#include "partition/program.h"
#include "read/read.h"

static hr_status_t write_text(const hr_options_t *options, hr_strbuf_t *text) {
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  HR_TRY(hr_strbuf_finish(text));
  return output && strcmp(output, "-") ? hr_file_write_all(output, text->data, text->size)
                                       : cli_print(text);
}

/* --- the plan --- */

/* The grid is that of the options or of the program; other fields are those of the compiled
 * engine. */
static compiler_options_t compiler_options(const hr_options_t *options,
                                           const hlo_module_t *module) {
  compiler_options_t compiler = {
      .num_replicas = (int)hr_option_int(options, HR_OPTION_NUM_REPLICAS, 0),
      .num_partitions = (int)hr_option_int(options, HR_OPTION_NUM_PARTITIONS, 0),
      .compiled = true,
      .unproved = true};
  int64_t replicas = compiler.num_replicas ? compiler.num_replicas : module->replica_count;
  int64_t partitions = compiler.num_partitions ? compiler.num_partitions : module->num_partitions;
  compiler.world_size = (int)(replicas * partitions);
  return compiler;
}

/* --stop-after plan: for this process's part of the grid. */
static hr_status_t print_plan(const hr_options_t *options, const hlo_module_t *module) {
  compiler_options_t compiler = compiler_options(options, module);
  plan_grid_t grid;
  plan_t *plan;
  hr_strbuf_t text;
  HR_TRY(compiler_choose_grid(module, &compiler, &grid));
  HR_TRY(plan_create(module, grid, &plan));
  hr_strbuf_init(&text);
  plan_print(&text, plan);
  hr_status_t st = write_text(options, &text);
  hr_strbuf_deinit(&text);
  plan_destroy(plan);
  return st;
}

/* --stop-after flat: compiles the program, as the flat plan depends on which kernels there are. */
static hr_status_t print_flat_plan(const hr_options_t *options, const char *path,
                                   hr_buffer_t *bytes, const hlo_module_t *module) {
  compiler_options_t compiler = compiler_options(options, module);
  compiled_program_t program;
  hr_strbuf_t text;
  HR_TRY(compile_bytes(path, bytes, &compiler, &program));
  hr_strbuf_init(&text);
  if (program.flat)
    flat_plan_print(&text, program.flat);
  else
    hr_strbuf_add_str(&text, "no flat plan: the reference engine runs all of it\n");
  hr_status_t st = write_text(options, &text);
  hr_strbuf_deinit(&text);
  compiled_program_deinit(&program);
  return st;
}

/* --- programs --- */

static hr_status_t print_module(const hr_options_t *options, const hlo_module_t *module) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_print_module(&text, module, HLO_PRINT_LONG);
  hr_status_t st = write_text(options, &text);
  hr_strbuf_deinit(&text);
  return st;
}

static bool is_word(const char *stage, const char *word) { return strcmp(stage, word) == 0; }

/* The number of devices is that of -n, else that of the mesh. `explain`: receives the report;
 * NULL: none. */
static hr_status_t partition(const hr_options_t *options, const char *stage, hr_strbuf_t *explain,
                             hlo_module_t *module) {
  const char *form = hr_option_text(options, HR_OPTION_EXPLAIN_SHARDING);
  cli_carry_t carry = {0};
  hr_status_t st = cli_carry_from_options(options, &carry);
  spmd_options_t spmd = cli_grid_partitioning(options, 0);
  spmd.carried = (const int(*)[2])carry.data;
  spmd.carried_count = (int)carry.count;
  spmd.explain = explain;
  spmd.explain_json = form && is_word(form, "json");
  spmd.stop_after_propagate = stage && is_word(stage, "propagate");
  if (!st) st = spmd_run(module, &spmd);
  HR_VEC_FREE(&carry);
  return st;
}

/* --explain-sharding: prints the report instead of the program; with --stop-after propagate, the
 * decisions of propagation only. */
static hr_status_t explain_sharding(const hr_options_t *options, hlo_module_t *module) {
  const char *stage = hr_option_text(options, HR_OPTION_STOP_AFTER);
  const char *form = hr_option_text(options, HR_OPTION_EXPLAIN_SHARDING);
  hr_strbuf_t text;
  if (form && *form && !is_word(form, "json"))
    return hr_error(HR_USAGE, "--explain-sharding=%s: want --explain-sharding or =json", form);
  hr_strbuf_init(&text);
  hr_status_t st = hlo_verify(module);
  if (!st) st = partition(options, stage, &text, module);
  if (!st && !text.size)
    hr_strbuf_add_str(&text, form && *form ? "{\"values\": []}\n"
                                           : "nothing is cut: the program has no shardings; --mesh "
                                             "and --sharding give it some\n");
  if (!st) st = write_text(options, &text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Runs the stages up to the one that is named, and prints the module or plan. */
static hr_status_t run_stages(const hr_options_t *options, const char *stage,
                              hlo_module_t *module) {
  bool is_pass = pass_exists(stage);
  pass_options_t passes = {.dump_dir = hr_option_text(options, HR_OPTION_DUMP),
                           .stop_after = is_pass ? stage : NULL};
  if (is_word(stage, "read")) return print_module(options, module);
  HR_TRY(hlo_verify(module));
  if (is_word(stage, "verify")) return print_module(options, module);
  HR_TRY(partition(options, stage, NULL, module));
  if (is_word(stage, "propagate") || is_word(stage, "partition") ||
      is_word(stage, "lower_manual_sharding") || is_word(stage, "localise"))
    return print_module(options, module);
  HR_TRY(pass_run_all(module, &passes));
  return is_word(stage, "plan") ? print_plan(options, module) : print_module(options, module);
}

/* --- the command --- */

/* Errors: USAGE with all names of stages and passes. */
static hr_status_t check_stage(const char *stage) {
  static const char *const words[] = {
      "read",     "verify", "propagate", "partition", "lower_manual_sharding",
      "localise", "passes", "plan",      "flat"};
  hr_strbuf_t names;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (is_word(stage, words[i])) return NULL;
  if (pass_exists(stage)) return NULL;
  hr_strbuf_init(&names);
  pass_names_print(&names);
  hr_status_t st = hr_strbuf_finish(&names);
  if (!st)
    st = hr_error(HR_USAGE,
                  "--stop-after %s: want read, verify, propagate, partition, passes, plan, flat "
                  "or a pass: %.*s",
                  stage, (int)names.size, names.data);
  hr_strbuf_deinit(&names);
  return st;
}

/* Refuses endings of array files. */
static hr_status_t check_output(const hr_options_t *options, const char *option) {
  static const char *const arrays[] = {".npz", ".npy", ".safetensors"};
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  for (size_t i = 0; output && i < sizeof arrays / sizeof *arrays; i++)
    if (cli_ends_with(output, arrays[i]))
      return hr_error(HR_USAGE, "--output %s: --%s writes text, and runs nothing", output, option);
  return NULL;
}

static hr_status_t stop(const hr_options_t *options, const char *stage, const char *path) {
  hr_buffer_t *bytes;
  hlo_module_t *module = NULL;
  HR_TRY(cli_sandbox_enter(options));
  HR_TRY(gzip_map_file(path, &bytes));
  hr_status_t st = read_module(path, bytes, &module);
  if (!st) st = cli_uses_check_read(options, path);
  if (!st && hr_option_is_given(options, HR_OPTION_EXPLAIN_SHARDING))
    st = explain_sharding(options, module);
  else if (!st)
    st = is_word(stage, "flat") ? print_flat_plan(options, path, bytes, module)
                                : run_stages(options, stage, module);
  st = cli_report_now(st); /* before the text that it quotes is freed */
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
  return st;
}

hr_status_t cli_stop(const hr_options_t *options) {
  const char *stage = hr_option_text(options, HR_OPTION_STOP_AFTER), *program;
  bool explains = hr_option_is_given(options, HR_OPTION_EXPLAIN_SHARDING);
  const char *option = explains ? "explain-sharding" : "stop-after";
  hr_arena_t arena;
  hr_mem_any_machine(true); /* nothing is executed */
  if (!explains) HR_TRY(check_stage(stage));
  HR_TRY(check_output(options, option));
  if (options->operands.count != 1)
    return hr_error(HR_USAGE, "--%s takes one program, found %zu", option, options->operands.count);
  cli_choose_variables(options);
  cli_uses_warn(HR_COMMAND_RUN, options);
  hr_arena_init(&arena);
  hr_status_t st = cli_bundle_program(&arena, options->operands.data[0], &program);
  if (!st) st = stop(options, stage, program ? program : options->operands.data[0]);
  hr_arena_deinit(&arena);
  return st;
}
