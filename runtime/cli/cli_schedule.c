/* `hlorun schedule`: communication patterns as programs, and programs as schedules.
 *   gen KIND [-o DIR|FILE]        a pattern: programs and their expected results, or its text
 *   to-hlo FILE [-o DIR|FILE]     a text as programs, one per rank
 *   from-hlo PROGRAM... [-o FILE]  programs as a text */
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "io/gzip.h"
#include "io/npy.h"
#include "ops/rules/verify.h"
#include "read/read.h"
#include "schedule/schedule.h"

#define PATH_SIZE 4096

/* --- writing --- */

static hr_status_t write_text(const char *path, hr_strbuf_t *text) {
  HR_TRY(hr_strbuf_finish(text));
  return path && strcmp(path, "-") ? hr_file_write_all(path, text->data, text->size)
                                   : cli_print(text);
}

static hr_status_t path_in(const char *folder, const char *name, char into[PATH_SIZE]) {
  if (snprintf(into, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE) return NULL;
  return hr_error(HR_USAGE, "%s/%s is too long a path", folder, name);
}

static hr_status_t write_schedule(const char *path, const schedule_t *schedule) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  schedule_print(&text, schedule);
  hr_status_t st = write_text(path, &text);
  hr_strbuf_deinit(&text);
  return st;
}

static hr_status_t write_program(const char *path, schedule_t *schedule, int rank) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t st = schedule_to_hlo(schedule, rank, &text);
  if (!st) st = write_text(path, &text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Names are rank000.hlo, rank001.hlo, ..., so that the shell lists them in the order of the
 * ranks. */
static hr_status_t write_programs(const char *folder, schedule_t *schedule) {
  char name[32], path[PATH_SIZE];
  HR_TRY(hr_folder_make(folder));
  for (int rank = 0; rank < schedule->rank_count; rank++) {
    snprintf(name, sizeof name, "rank%03d.hlo", rank);
    HR_TRY(path_in(folder, name, path));
    HR_TRY(write_program(path, schedule, rank));
  }
  HR_TRY(path_in(folder, "schedule.txt", path));
  return write_schedule(path, schedule);
}

/* Adds an array whose elements all equal `value`. */
static hr_status_t add_result(zip_writer_t *writer, const char *name, const hlo_shape_t *shape,
                              double value) {
  hlo_value_t *array;
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, &array));
  for (int64_t i = 0; i < array->count; i++) ((float *)array->data)[i] = (float)value;
  hr_status_t st = npz_add(writer, name, array->dtype, array->rank, array->dims, array->data,
                           hlo_value_bytes(array));
  hlo_value_release(array);
  return st;
}

static hr_status_t add_results(zip_writer_t *writer, const schedule_results_t *expected) {
  int64_t four = 4;
  hlo_shape_t shape = {.dtype = HR_F32, .rank = 1, .dims = &four};
  char name[64];
  for (size_t i = 0, k = 0; i < expected->count; i++, k++) {
    const schedule_result_t *result = &expected->data[i];
    if (i && result->rank != result[-1].rank) k = 0;
    snprintf(name, sizeof name, "out%zu@%d", k, result->rank);
    HR_TRY(add_result(writer, name, &shape, result->value));
  }
  return NULL;
}

static hr_status_t write_expected(const char *folder, const schedule_results_t *expected) {
  char path[PATH_SIZE];
  zip_writer_t *writer;
  HR_TRY(path_in(folder, "expected.npz", path));
  HR_TRY(zip_create(path, &writer));
  return zip_finish(writer, add_results(writer, expected));
}

/* True if -o names a file (.txt, a schedule's text), false for a folder. */
static bool names_text(const char *output) {
  const char *dot = output ? strrchr(output, '.') : NULL;
  return !output || !strcmp(output, "-") || (dot && !strcmp(dot, ".txt"));
}

/* --- options --- */

/* True if the blank-separated list contains the name. */
static bool is_listed(const char *list, const char *name) {
  size_t size = strlen(name);
  for (const char *at = list; (at = strstr(at, name)); at += size) {
    bool begins = at == list || at[-1] == ' ';
    if (begins && (at[size] == ' ' || !at[size])) return true;
  }
  return false;
}

/* `pattern` NULL: the command has none of these options. */
static hr_status_t check_options(const hr_options_t *options, const char *pattern) {
  static const struct {
    hr_option_id_t id;
    const char *patterns; /* NULL: all */
  } rows[] = {{HR_OPTION_STAGES, NULL},
              {HR_OPTION_RANKS, NULL},
              {HR_OPTION_MICROBATCHES, "gpipe 1f1b interleaved-1f1b zero-bubble"},
              {HR_OPTION_CHUNKS, "interleaved-1f1b"},
              {HR_OPTION_ITERATIONS, "halo"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!hr_option_is_given(options, rows[i].id)) continue;
    const char *name = hr_option_name(rows[i].id);
    if (!pattern) return hr_error(HR_USAGE, "--%s is of schedule gen alone", name);
    if (rows[i].patterns && !is_listed(rows[i].patterns, pattern))
      return hr_error(HR_USAGE, "--%s has no effect on %s, only on %s", name, pattern,
                      rows[i].patterns);
  }
  return NULL;
}

/* --- gen --- */

/* hlorun schedule gen: writes the schedule as text, or a folder of programs with their expected
 * results. */
static hr_status_t generate(const hr_options_t *options) {
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  int ranks =
      (int)hr_option_int(options, HR_OPTION_RANKS, hr_option_int(options, HR_OPTION_STAGES, 4));
  schedule_gen_options_t wanted = {
      .ranks = ranks,
      .microbatches = (int)hr_option_int(options, HR_OPTION_MICROBATCHES, 8),
      .chunks = (int)hr_option_int(options, HR_OPTION_CHUNKS, 2),
      .steps = (int)hr_option_int(options, HR_OPTION_ITERATIONS, 4)};
  schedule_t schedule;
  schedule_results_t expected;
  if (options->operands.count != 2)
    return hr_error(HR_USAGE, "want the name of a pattern: hlorun schedule gen 1f1b");
  if (ranks < 1 || ranks > 1 << 16) return hr_error(HR_USAGE, "%d ranks are too many", ranks);
  hr_status_t st = schedule_generate(options->operands.data[1], &wanted, &schedule, &expected);
  if (!st) st = check_options(options, options->operands.data[1]);
  if (!st && names_text(output)) st = write_schedule(output, &schedule);
  if (!st && !names_text(output)) st = write_programs(output, &schedule);
  if (!st && !names_text(output)) st = write_expected(output, &expected);
  if (!st && !names_text(output))
    fprintf(stderr, "run it: hlorun -n %d %s/rank*.hlo --expect %s/expected.npz\n", ranks, output,
            output);
  HR_VEC_FREE(&expected);
  schedule_deinit(&schedule);
  return st;
}

/* --- to-hlo --- */

static hr_status_t print_programs(schedule_t *schedule) {
  for (int rank = 0; rank < schedule->rank_count; rank++)
    HR_TRY(write_program(NULL, schedule, rank));
  return NULL;
}

static hr_status_t to_hlo(const hr_options_t *options) {
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  hr_buffer_t *bytes;
  schedule_t schedule;
  if (options->operands.count != 2)
    return hr_error(HR_USAGE, "want one file: hlorun schedule to-hlo FILE");
  const char *path = options->operands.data[1];
  HR_TRY(gzip_map_file(path, &bytes));
  hr_source_t source = {path, hr_buffer_data(bytes), hr_buffer_size(bytes)};
  hr_status_t st = schedule_read(&source, &schedule);
  if (!st)
    st = output && strcmp(output, "-") ? write_programs(output, &schedule)
                                       : print_programs(&schedule);
  schedule_deinit(&schedule);
  /* Printing a status quotes the text at its position: report before the text is freed. */
  st = st ? cli_report_now(st) : NULL;
  hr_buffer_release(bytes);
  return st;
}

/* --- from-hlo --- */

static hr_status_t read_programs(const hr_options_t *options, hlo_module_t **modules, int count) {
  for (int i = 0; i < count; i++) {
    HR_TRY(read_module_file(options->operands.data[i + 1], &modules[i]));
    HR_TRY(hlo_verify(modules[i]));
  }
  return NULL;
}

static hr_status_t from_modules(const hr_options_t *options, hlo_module_t **modules, int count) {
  schedule_t schedule;
  HR_TRY(read_programs(options, modules, count));
  hr_status_t st = schedule_from_hlo((const hlo_module_t *const *)modules, count, &schedule);
  if (!st) st = write_schedule(hr_option_text(options, HR_OPTION_OUTPUT), &schedule);
  schedule_deinit(&schedule);
  return st;
}

/* hlorun schedule from-hlo: one program per rank. */
static hr_status_t from_hlo(const hr_options_t *options) {
  int count = (int)options->operands.count - 1;
  void *memory;
  if (count < 1)
    return hr_error(HR_USAGE, "want programs, one per rank: hlorun schedule from-hlo PROGRAM...");
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof(hlo_module_t *), &memory));
  hlo_module_t **modules = memory;
  hr_status_t st = cli_report_now(from_modules(options, modules, count));
  for (int i = 0; i < count; i++) hlo_module_destroy(modules[i]);
  hr_free(modules);
  return st;
}

/* The first operand is the subcommand. */
hr_status_t cli_schedule(const cli_arguments_t *arguments) {
  static const struct {
    const char *name;
    hr_status_t (*run)(const hr_options_t *options);
  } commands[] = {{"gen", generate}, {"to-hlo", to_hlo}, {"from-hlo", from_hlo}};
  const hr_options_t *options = &arguments->options;
  if (!options->operands.count)
    return hr_error(HR_USAGE, "schedule wants gen, to-hlo or from-hlo; see hlorun schedule --help");
  const char *word = options->operands.data[0];
  if (strcmp(word, "gen")) HR_TRY(check_options(options, NULL));
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(word, commands[i].name)) return commands[i].run(options);
  return hr_error(HR_USAGE, "found '%s', want gen, to-hlo or from-hlo; see hlorun schedule --help",
                  word);
}
