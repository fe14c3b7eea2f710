/* Values of parameters: archives, single arrays and text of --input, then random values for the
 * rest. */
#include "cli/arrays/cli_inputs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/arrays/cli_array_names.h"
#include "cli/program/cli_bundle.h"
#include "cli/arrays/cli_index_bounds.h"
#include "cli/arrays/cli_input_text.h"
#include "cli/arrays/cli_global.h"
#include "cli/arrays/cli_part.h"
#include "cli/arrays/cli_random.h"
#include "cli/arrays/cli_snapshot.h"
#include "cli/cli_uses.h"
#include "read/read.h"

#define NAMED_MAX 12 /* most missing parameters in a message */

/* Leaves NULLs, so that it may be called again. */
void cli_values_release(hlo_value_t **values, int count) {
  for (int k = 0; values && k < count; k++) {
    hlo_value_release(values[k]);
    values[k] = NULL;
  }
}

/* A later option overrides an earlier one. */
static void replace_value(hlo_value_t **slot, hlo_value_t *value) {
  hlo_value_release(*slot);
  *slot = value;
}

/* --- files of arrays --- */

/* Parameters without an array in the file keep their value. *out_any: the file has an array of a
 * parameter, maybe one for other processes alone. */
static hr_status_t move_arrays(const array_file_t *file, const cli_signature_t *signature, int rank,
                               hlo_value_t **values, bool *out_any) {
  int named;
  HR_TRY(cli_array_names_check(file, &(cli_array_names_t){signature, false, rank}, &named));
  *out_any = named > 0;
  for (int k = 0; k < signature->param_count; k++) {
    hlo_value_t *value;
    if (!hlo_shape_is_array(signature->params[k])) continue;
    HR_TRY(cli_value_from_file(file, &(cli_arg_t){signature, false, k, false}, rank, &value));
    if (!value) continue;
    replace_value(&values[k], value);
    *out_any = true;
  }
  return NULL;
}

/* A program whose parameters are all tokens needs nothing from a file. */
static bool wants_arrays(const cli_signature_t *signature) {
  for (int k = 0; k < signature->param_count; k++)
    if (hlo_shape_is_array(signature->params[k])) return true;
  return false;
}

/* The only array parameter without a value; -1: none or several. */
static int only_array(const cli_signature_t *signature, hlo_value_t *const *values) {
  int found = -1, count = 0;
  for (int k = 0; k < signature->param_count; k++) {
    if (!hlo_shape_is_array(signature->params[k]) || values[k]) continue;
    found = k;
    count++;
  }
  return count == 1 ? found : -1;
}

/* The error for an array that fits several parameters, or none; names the first array parameter
 * without a value, or parameter 0. */
static hr_status_t whose_array(const array_file_t *file, const cli_signature_t *signature,
                               hlo_value_t *const *values) {
  int k = 0;
  while (k < signature->param_count && (values[k] || !hlo_shape_is_array(signature->params[k])))
    k++;
  if (k == signature->param_count) k = 0;
  const char *name = signature->param_count ? signature->param_names[k] : "no parameter";
  return hr_error(HR_USAGE, "%s is one array: say of which parameter, as --input %d=%s (%s)",
                  file->path, k, file->path, name);
}

/* A file with one array does not name a parameter: exactly one must be without a value. */
static hr_status_t take_single_array(const array_file_t *file, const cli_signature_t *signature,
                                     hlo_value_t **values) {
  int k = only_array(signature, values);
  hlo_value_t *value;
  if (k < 0) return whose_array(file, signature, values);
  HR_TRY(cli_value_from_npy(file->path, &file->single, &(cli_arg_t){signature, false, k, false},
                            &value));
  replace_value(&values[k], value);
  return NULL;
}

/* "0 (a: f32[2]), 1 (b: token), ...": numbers, names and shapes, for messages. */
static void add_params(hr_strbuf_t *text, const cli_signature_t *signature) {
  for (int k = 0; k < signature->param_count && k < NAMED_MAX; k++) {
    char shape[HLO_SHAPE_TEXT];
    hr_strbuf_printf(text, "%s%d (%s: %s)", k ? ", " : "", k, signature->param_names[k],
                     hlo_shape_text(signature->whole_params[k], shape));
  }
  if (signature->param_count > NAMED_MAX) hr_strbuf_add_str(text, ", ...");
}

/* The message has the arrays of the file, the parameters, and names that would match. */
static hr_status_t nothing_fits(const array_file_t *file, const cli_signature_t *signature) {
  hr_strbuf_t arrays, params;
  hr_strbuf_init(&arrays);
  hr_strbuf_init(&params);
  array_file_list(file, &arrays);
  add_params(&params, signature);
  hr_status_t st = hr_error(HR_USAGE, "%s has no array for a parameter: it has %s", file->path,
                            arrays.data ? arrays.data : "others");
  st = hr_status_note(st, "the program's parameters are %s", params.data ? params.data : "others");
  st = hr_status_note(st,
                      "arrays are taken by the names in0, in1, ..., by parameters' names, or as "
                      "arr_0, arr_1, ...; a single one by --input 0=%s:NAME",
                      file->path);
  hr_strbuf_deinit(&arrays);
  hr_strbuf_deinit(&params);
  return st;
}

/* Processes that read parts of global arrays do not read all of an archive for its checksums: each
 * checks a share of them. */
static void share_checks(array_file_t *file, const cli_signature_t *signature, int rank) {
  cli_part_t part = {.is_cut = false};
  for (int k = 0; k < signature->param_count && !part.is_cut; k++)
    cli_part_of(&(cli_arg_t){signature, false, k, false}, rank, &part);
  if (file->form != ARRAY_FILE_NPZ || !part.is_cut) return;
  file->npz.zip.shares = (size_t)hlorun_program_num_partitions(signature->program);
  file->npz.zip.share = (size_t)rank % file->npz.zip.shares;
}

/* The first bytes determine the form. */
hr_status_t cli_inputs_from_file(const char *path, const cli_signature_t *signature, int rank,
                                 hlo_value_t **values) {
  array_file_t file;
  bool any = false;
  hr_status_t st = array_file_open(path, &file);
  if (!st) share_checks(&file, signature, rank);
  if (!st && file.form == ARRAY_FILE_NPY)
    st = take_single_array(&file, signature, values);
  else if (!st)
    st = move_arrays(&file, signature, rank, values, &any);
  bool is_archive = file.form != ARRAY_FILE_NPY;
  if (!st && is_archive && !any && wants_arrays(signature)) st = nothing_fits(&file, signature);
  array_file_deinit(&file);
  return st;
}

/* --- one parameter --- */

/* Cuts this process's part out of a value for a parameter of a global program. */
static hr_status_t keep_part(const cli_signature_t *signature, int k, int rank,
                             hlo_value_t **value) {
  hlo_value_t *whole = *value;
  cli_part_t part;
  cli_part_of(&(cli_arg_t){signature, false, k, false}, rank, &part);
  if (!part.is_cut) return NULL;
  hr_status_t st = cli_part_cut(&part, whole, value);
  hlo_value_release(whole);
  return st;
}

/* K=FILE.npy, K=FILE.npz:NAME or K=LITERAL. */
static hr_status_t take_single(const cli_given_t *given, const cli_signature_t *signature, int rank,
                               hlo_value_t **values) {
  int k = given->param;
  bool is_part = given->rank >= 0;
  const hlo_shape_t *shape = is_part ? signature->params[k] : signature->whole_params[k];
  const char *rest = given->rest + (*given->rest == '@');
  char found[HLO_SHAPE_TEXT], label[64];
  hlo_value_t *value;
  if (!hlo_shape_is_array(shape))
    return hr_error(HR_USAGE, "--input %s: parameter %d is %s and takes no value", given->text, k,
                    hlo_shape_text(shape, found));
  snprintf(label, sizeof label, "%.*s", (int)strcspn(given->text, "="), given->text);
  if (cli_npy_is_named(rest)) {
    npy_t npy;
    HR_TRY(cli_npy_open(rest, &npy));
    hr_status_t st =
        cli_value_from_npy(rest, &npy, &(cli_arg_t){signature, false, k, is_part}, &value);
    npy_deinit(&npy);
    HR_TRY(hr_status_note(st, "while reading parameter %d", k));
  } else {
    HR_TRY(cli_input_from_text(label, rest, shape, &value));
    if (!is_part) HR_TRY(keep_part(signature, k, rank, &value));
  }
  replace_value(&values[k], value);
  return NULL;
}

bool cli_given_number(const char *text, cli_given_t *out_given) {
  const char *digits = strncmp(text, "in", 2) ? text : text + 2;
  size_t size = strspn(digits, "0123456789");
  const char *end = strchr(digits, '=');
  if (!size || size >= 10 || !end || (digits + size != end && digits[size] != '@')) return false;
  int rank = digits + size == end ? -1 : cli_array_rank(digits + size + 1, end);
  bool is_wrong = digits + size != end && rank < 0;
  *out_given = (cli_given_t){text, end + 1, (int)strtol(digits, NULL, 10), is_wrong ? -2 : rank};
  return true;
}

/* The parameter of NAME=...; -1: there is none. Names may contain '=', as in x['a=b']: each '=' is
 * tried as the end. */
static int find_named(const char *text, const cli_signature_t *signature, const char **out_rest) {
  int k = -1;
  for (const char *end = strchr(text, '='); k < 0 && end; end = strchr(end + 1, '=')) {
    k = cli_param_find(signature, (hr_str_t){text, (size_t)(end - text)});
    *out_rest = end + 1;
  }
  return k;
}

/* The error for an input that is neither a file nor a parameter, with all names. */
static hr_status_t no_parameter(const char *text, const cli_signature_t *signature) {
  hr_strbuf_t params;
  hr_strbuf_init(&params);
  add_params(&params, signature);
  hr_status_t st = hr_error(HR_USAGE,
                            "--input %s: no file, and no parameter of this name; the "
                            "program has %s",
                            text, params.data ? params.data : "none");
  hr_strbuf_deinit(&params);
  return st;
}

static hr_status_t check_number(const cli_given_t *given, const cli_signature_t *signature) {
  hr_str_t name = {given->text, (size_t)(given->rest - given->text - 1)};
  if (given->rank < -1 || (given->rank >= 0 && given->rank >= signature->world))
    return cli_array_error_rank(signature, "--input", name);
  if (given->param >= signature->param_count)
    return hr_error(HR_USAGE, "--input %s: there is no parameter %d, the program has %d",
                    given->text, given->param, signature->param_count);
  return NULL;
}

/* A file of this path is preferred to a name, and a parameter of this name to its number. */
static hr_status_t find_param(const char *text, const cli_signature_t *signature,
                              cli_given_t *out_given) {
  *out_given = (cli_given_t){.text = text, .param = -1, .rank = -1};
  if (!strchr(text, '=')) return NULL;
  bool is_digit = *text >= '0' && *text <= '9';
  if (is_digit && cli_given_number(text, out_given)) return check_number(out_given, signature);
  if (access(text, F_OK) == 0) return NULL;
  out_given->param = find_named(text, signature, &out_given->rest);
  if (out_given->param >= 0) return NULL;
  if (cli_given_number(text, out_given)) return check_number(out_given, signature);
  return no_parameter(text, signature);
}

/* In the order of the options: later ones override earlier ones. */
static hr_status_t take_given(const hr_options_t *options, const cli_signature_t *signature,
                              int rank, hlo_value_t **values) {
  size_t from = 0;
  for (const hr_option_given_t *option;
       (option = hr_option_next(options, HR_OPTION_INPUT, &from));) {
    cli_given_t given;
    HR_TRY(find_param(option->text, signature, &given));
    if (given.param >= 0 && (given.rank < 0 || given.rank == rank))
      HR_TRY(take_single(&given, signature, rank, values));
    else if (given.param < 0)
      HR_TRY(cli_inputs_from_file(option->text, signature, rank, values));
  }
  return NULL;
}

/* --- values not given by the user --- */

/* Fed parameters get values in each step. */
static bool needs_value(const cli_signature_t *signature, const cli_feed_t *feed,
                        hlo_value_t *const *values, int k) {
  return !values[k] && hlo_shape_is_array(signature->params[k]) && !cli_feed_has(feed, k);
}

static int count_missing(const cli_signature_t *signature, const cli_feed_t *feed,
                         hlo_value_t *const *values) {
  int missing = 0;
  for (int k = 0; k < signature->param_count; k++)
    missing += needs_value(signature, feed, values, k);
  return missing;
}

/* Values of parameters in the program itself, such as variables of a SavedModel. The program is
 * read again, as few graphs have any. */
static hr_status_t fill_own(const char *program_path, const cli_signature_t *signature,
                            const cli_feed_t *feed, hlo_value_t **values) {
  hlo_module_t *module = NULL;
  if (!count_missing(signature, feed, values) || !read_saw_graph()) return NULL;
  HR_TRY(read_structure_file(program_path, &module));
  for (int k = 0; k < signature->param_count && k < module->parameter_value_count; k++)
    if (needs_value(signature, feed, values, k) && module->parameter_values[k])
      values[k] = hlo_value_retain(module->parameter_values[k]);
  hlo_module_destroy(module);
  return NULL;
}

/* Reads the program again, so that random indices stay within their arrays. */
static hr_status_t fill_random(uint64_t seed, const char *program_path,
                               const cli_signature_t *signature, const cli_feed_t *feed, int rank,
                               hlo_value_t **values) {
  hlo_module_t *module = NULL;
  void *memory;
  HR_TRY(hr_alloc((size_t)signature->param_count * sizeof(int64_t), &memory));
  int64_t *bounds = memory;
  for (int k = 0; k < signature->param_count; k++) bounds[k] = CLI_NO_BOUND;
  hr_status_t st = read_structure_file(program_path, &module);
  if (!st) st = cli_index_bounds(module, signature->param_count, bounds);
  for (int k = 0; k < signature->param_count && !st; k++) {
    cli_random_t random = {seed, bounds[k], false};
    if (needs_value(signature, feed, values, k))
      st = cli_global_random(signature, k, rank, &random, &values[k]);
  }
  hlo_module_destroy(module);
  hr_free(bounds);
  return st;
}

/* Values at the ends of their types, regardless of their use as indices. */
hr_status_t cli_inputs_wild(uint64_t seed, const cli_signature_t *signature, const cli_feed_t *feed,
                            int rank, hlo_value_t **values) {
  cli_random_t random = {seed, CLI_NO_BOUND, true};
  for (int k = 0; k < signature->param_count; k++)
    if (needs_value(signature, feed, values, k))
      HR_TRY(cli_global_random(signature, k, rank, &random, &values[k]));
  return NULL;
}

/* Names the parameters without a value, up to a limit. */
hr_status_t cli_inputs_check(const cli_signature_t *signature, const cli_feed_t *feed,
                             hlo_value_t *const *values) {
  hr_strbuf_t names;
  hr_strbuf_init(&names);
  int missing = 0;
  for (int k = 0; k < signature->param_count; k++) {
    char shape[HLO_SHAPE_TEXT];
    if (!needs_value(signature, feed, values, k) || missing++ >= NAMED_MAX) continue;
    hr_strbuf_printf(&names, "%s%d (%s: %s)", missing > 1 ? ", " : "", k, signature->param_names[k],
                     hlo_shape_text(signature->whole_params[k], shape));
  }
  hr_status_t st = NULL;
  if (missing > NAMED_MAX) hr_strbuf_add_str(&names, ", ...");
  const char *noun = missing > 1 ? "parameters" : "parameter";
  const char *verb = missing > 1 ? "have" : "has";
  if (missing)
    st = hr_error(HR_USAGE, "%s %s %s no value; give --input, --feed or --random-inputs", noun,
                  names.data ? names.data : "", verb);
  hr_strbuf_deinit(&names);
  return st;
}

/* Options override the folder's arrays. A snapshot's arguments, the program's own values and random
 * ones, in this order, are for parameters still without a value. */
hr_status_t cli_inputs_load(const hr_options_t *options, const char *program_path,
                            const cli_signature_t *signature, const cli_feed_t *feed, int rank,
                            hlo_value_t **values) {
  HR_TRY(cli_bundle_inputs(program_path, signature, values));
  HR_TRY(take_given(options, signature, rank, values));
  HR_TRY(cli_inputs_from_snapshot(program_path, signature, values));
  HR_TRY(fill_own(program_path, signature, feed, values));
  if (rank == 0 && !count_missing(signature, feed, values)) {
    cli_uses_warn_idle(options, HR_OPTION_RANDOM_INPUTS, "every parameter has a value");
    cli_uses_warn_idle(options, HR_OPTION_WILD_INPUTS, "every parameter has a value");
  }
  if (hr_option_is_given(options, HR_OPTION_RANDOM_INPUTS)) {
    uint64_t seed = hr_option_int(options, HR_OPTION_RANDOM_INPUTS, 0);
    HR_TRY(fill_random(seed, program_path, signature, feed, rank, values));
  }
  if (hr_option_is_given(options, HR_OPTION_WILD_INPUTS)) {
    uint64_t seed = hr_option_int(options, HR_OPTION_WILD_INPUTS, 0);
    HR_TRY(cli_inputs_wild(seed, signature, feed, rank, values));
  }
  return cli_inputs_check(signature, feed, values);
}
