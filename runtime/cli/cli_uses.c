/* Options that conflict or have no effect together, from option_uses.def: combinations without any
 * meaning are errors before anything runs; superfluous options are warnings. Checks that depend on
 * the program use its figures after loading. */
#include "cli/cli_uses.h"

#include "cli/arrays/cli_global.h"
#include "cli/program/cli_tf.h"
#include "read/read.h"

typedef enum use_kind { USE_NEEDS, USE_CLASHES, USE_IDLE } use_kind_t;

#define RUN HR_COMMAND_RUN
#define CHECK HR_COMMAND_CHECK
#define TEST HR_COMMAND_TEST
#define CONVERT HR_COMMAND_CONVERT
#define SCHEDULE HR_COMMAND_SCHEDULE
static const struct use {
  use_kind_t kind;
  hr_option_id_t id, other;
  uint32_t commands;
} uses[] = {
#define USE(kind, id, commands, other) {kind, HR_OPTION_##id, HR_OPTION_##other, commands},
#define NEEDS(id, commands, other) USE(USE_NEEDS, id, commands, other)
#define CLASHES(id, commands, other) USE(USE_CLASHES, id, commands, other)
#define IDLE(id, commands, other) USE(USE_IDLE, id, commands, other)
#define COMPILED(id)
#define READS(id)
#include "cli/option_uses.def"
};
#undef RUN
#undef CHECK
#undef TEST
#undef CONVERT
#undef SCHEDULE
#define USE_COUNT (sizeof uses / sizeof *uses)

/* By option. is_compiled: only the compiled engine uses it. is_read: --stop-after and
 * --explain-sharding use it. */
static const bool is_compiled[HR_OPTION_COUNT] = {
#define NEEDS(id, commands, other)
#define CLASHES(id, commands, other)
#define IDLE(id, commands, other)
#define COMPILED(id) [HR_OPTION_##id] = true,
#define READS(id)
#include "cli/option_uses.def"
};
static const bool is_read[HR_OPTION_COUNT] = {
#define NEEDS(id, commands, other)
#define CLASHES(id, commands, other)
#define IDLE(id, commands, other)
#define COMPILED(id)
#define READS(id) [HR_OPTION_##id] = true,
#include "cli/option_uses.def"
};

hr_status_t cli_uses_check(hr_command_t command, const hr_options_t *options) {
  for (size_t i = 0; i < USE_COUNT; i++) {
    const struct use *use = &uses[i];
    if (!(use->commands & command) || !hr_option_is_given(options, use->id)) continue;
    bool both = hr_option_is_given(options, use->other);
    const char *name = hr_option_name(use->id), *other = hr_option_name(use->other);
    if (use->kind == USE_NEEDS && !both)
      return hr_error(HR_USAGE, "--%s has no effect without --%s", name, other);
    if (use->kind == USE_CLASHES && both)
      return hr_error(HR_USAGE, "--%s and --%s do not go together: give one", name, other);
  }
  return NULL;
}

/* --- warnings --- */

void cli_uses_warn_idle(const hr_options_t *options, hr_option_id_t id, const char *why) {
  if (!hr_option_is_given(options, id) || hr_option_is_given(options, HR_OPTION_QUIET)) return;
  fprintf(stderr, "warning: --%s has no effect: %s\n", hr_option_name(id), why);
}

static bool is_reference(const hr_options_t *options) {
  return hr_option_is_given(options, HR_OPTION_ENGINE) &&
         hr_option_int(options, HR_OPTION_ENGINE, 0) == 0;
}

/* Warns once of each given option with list[id] == listed, in the order of the command line. */
static void warn_of_each(const hr_options_t *options, const bool *list, bool listed,
                         const char *why) {
  bool told[HR_OPTION_COUNT] = {false};
  for (size_t i = 0; i < options->given.count; i++) {
    hr_option_id_t id = options->given.data[i].id;
    if (list[id] == listed && !told[id]) cli_uses_warn_idle(options, id, why);
    told[id] = true;
  }
}

void cli_uses_warn(hr_command_t command, const hr_options_t *options) {
  for (size_t i = 0; i < USE_COUNT; i++) {
    const struct use *use = &uses[i];
    char why[64];
    if (use->kind != USE_IDLE || !(use->commands & command)) continue;
    if (!hr_option_is_given(options, use->other)) continue;
    snprintf(why, sizeof why, "--%s runs nothing", hr_option_name(use->other));
    cli_uses_warn_idle(options, use->id, why);
  }
  if (is_reference(options))
    warn_of_each(options, is_compiled, true, "the reference engine has no use for it");
  if (command != HR_COMMAND_RUN) return;
  if (hr_option_is_given(options, HR_OPTION_STOP_AFTER))
    warn_of_each(options, is_read, false, "--stop-after runs nothing");
  else if (hr_option_is_given(options, HR_OPTION_EXPLAIN_SHARDING))
    warn_of_each(options, is_read, false, "--explain-sharding runs nothing");
}

/* Carried values matter only for further steps and checkpoints. */
static bool carries_nothing(const hr_options_t *options) {
  bool several = hr_option_int(options, HR_OPTION_STEPS, 1) > 1 ||
                 hr_option_is_given(options, HR_OPTION_EPOCHS);
  return !several && !hr_option_is_given(options, HR_OPTION_CHECKPOINT);
}

static bool is_random(const hr_options_t *options, const hlorun_program_figures_t *figures) {
  bool shuffles = hr_option_is_given(options, HR_OPTION_FEED) &&
                  !hr_option_is_given(options, HR_OPTION_NO_SHUFFLE);
  return figures->random_ops || shuffles;
}

void cli_uses_warn_of_program(const hr_options_t *options, const hlorun_program_t *program,
                              int world) {
  hlorun_program_figures_t figures;
  hlorun_program_get_figures(program, &figures);
  bool is_cut = figures.cut_params || figures.cut_results;
  bool has_mesh = hr_option_is_given(options, HR_OPTION_MESH);
  bool is_alone = world == 1;
  bool combines = is_reference(options) || (!is_alone && figures.collectives);
  const struct {
    hr_option_id_t id;
    bool is_idle;
    const char *why;
  } rows[] = {
      {HR_OPTION_INFEED, !figures.infeeds, "the program has no infeed"},
      {HR_OPTION_OUTFEED, !figures.outfeeds, "the program has no outfeed"},
      {HR_OPTION_SEED, !is_random(options, &figures),
       "the program has no rng op, and nothing is shuffled"},
      {HR_OPTION_OUTPUT_SHARDS,
       !figures.cut_results && !cli_global_has(program, hlorun_program_result_count(program)),
       "the results are not parts of global arrays"},
      {HR_OPTION_CARRY, carries_nothing(options), "there is one step; --steps N runs more"},
      {HR_OPTION_VERIFY_COMM, is_alone, "there is one process"},
      {HR_OPTION_COMBINE, !combines, "no processes reduce or gather together"},
      {HR_OPTION_NO_PROOF, !figures.collectives && !figures.transfers,
       "the program does not communicate"},
      {HR_OPTION_MESH, !is_cut, "no parameter and no result is cut; --sharding says how, as in0=x"},
      {HR_OPTION_SHARDING, !is_cut && !has_mesh,
       "there is no mesh; --mesh x=2 is one of two processes"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].is_idle) cli_uses_warn_idle(options, rows[i].id, rows[i].why);
  if (hr_option_is_given(options, HR_OPTION_QUIET)) return;
  if (read_platform_was_asked() && !hr_option_is_given(options, HR_OPTION_PLATFORM))
    fputs(
        "warning: the program is for several platforms and does not name them: the code of the "
        "first runs; --platform N takes another\n",
        stderr);
}

void cli_uses_warn_of_parts(const hr_options_t *options, const hlorun_program_t *program) {
  hlorun_program_figures_t figures;
  hlorun_program_get_figures(program, &figures);
  if (!figures.unknown_results) return;
  if (hr_option_is_given(options, HR_OPTION_EXPECT) || hr_option_is_given(options, HR_OPTION_QUIET))
    return;
  fprintf(stderr,
          "warning: the program does not say how its results are cut: rank 0's are shown; --mesh "
          "x=%d --sharding 'out0=x;out1=-' puts together an out0 that is cut along its first "
          "dimension and an out1 that is whole\n",
          hlorun_program_num_partitions(program));
}

/* --- checks after reading --- */

hr_status_t cli_uses_choose_platform(const hr_options_t *options) {
  uint64_t number = hr_option_int(options, HR_OPTION_PLATFORM, 0);
  if (number > INT16_MAX)
    return hr_error(HR_USAGE, "--platform %llu: there are not so many", (unsigned long long)number);
  if (hr_option_is_given(options, HR_OPTION_PLATFORM)) read_set_platform((int)number);
  return NULL;
}

/* Refuses options for TensorFlow graphs with another program. */
static hr_status_t check_graph(const hr_options_t *options, const char *program) {
  size_t from = 0;
  const char *fetch = hr_option_text(options, HR_OPTION_FETCH);
  const hr_option_id_t ids[] = {HR_OPTION_SIGNATURE, HR_OPTION_CONFIG, HR_OPTION_DATA_PARALLEL};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (hr_option_is_given(options, ids[i]))
      return hr_error(HR_USAGE, "--%s: %s is no TensorFlow graph", hr_option_name(ids[i]), program);
  if (fetch)
    return hr_error(HR_USAGE, "--fetch %s: %s is no TensorFlow graph; results are out0, out1, ...",
                    fetch, program);
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_FEED, &from));)
    if (cli_tf_names_tensor(given->text))
      return hr_error(HR_USAGE,
                      "--feed %s: %s is no TensorFlow graph; want K=FILE.npy or K=FILE.npz:NAME",
                      given->text, program);
  return NULL;
}

hr_status_t cli_uses_check_read(const hr_options_t *options, const char *program) {
  if (!read_saw_graph()) HR_TRY(check_graph(options, program));
  if (hr_option_is_given(options, HR_OPTION_PLATFORM) && !read_platform_was_asked())
    return hr_error(HR_USAGE, "--platform: %s is for one platform, or names them", program);
  return NULL;
}
