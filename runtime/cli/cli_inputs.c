/* Values of parameters from --input: archives, single arrays, text; then random ones for the rest.
 */
#include "cli/cli_inputs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli_index_bounds.h"
#include "cli/cli_random.h"
#include "read/read.h"

#define NAMED_MAX 12 /* missing parameters that a message names */

void cli_values_release(hlo_value_t **values, int count) {
  for (int k = 0; values && k < count; k++) {
    hlo_value_release(values[k]);
    values[k] = NULL;
  }
}

static void replace_value(hlo_value_t **slot, hlo_value_t *value) {
  hlo_value_release(*slot);
  *slot = value;
}

/* Arrays in0, in1@2, ... that the program has no parameter for. */
static hr_status_t check_names(const npz_t *npz, int param_count, int rank) {
  for (size_t i = 0; i < npz_count(npz); i++) {
    int k, of_rank;
    char text[64];
    snprintf(text, sizeof text, "%.*s", HR_STR_ARGS(npz_name(npz, i)));
    int named = sscanf(text, "in%d@%d", &k, &of_rank);
    if (named == 2 && of_rank != rank)
      continue; /* of another process, whose program may be another */
    if (named >= 1 && (k < 0 || k >= param_count))
      return hr_error(HR_USAGE, "%s has %s, the program has %d parameters", npz->zip.path, text,
                      param_count);
  }
  return NULL;
}

static hr_status_t move_arrays(const npz_t *npz, const cli_signature_t *signature, int rank,
                               hlo_value_t **values, int *out_found) {
  *out_found = 0;
  HR_TRY(check_names(npz, signature->param_count, rank));
  for (int k = 0; k < signature->param_count; k++) {
    hlo_value_t *value;
    if (!hlo_shape_is_array(signature->params[k])) continue;
    HR_TRY(cli_value_from_npz(npz, &(cli_arg_t){signature, false, k}, rank, &value));
    if (!value) continue;
    replace_value(&values[k], value);
    ++*out_found;
  }
  return NULL;
}

hr_status_t cli_inputs_from_npz(const char *path, const cli_signature_t *signature, int rank,
                                hlo_value_t **values, int *out_found) {
  npz_t npz;
  hr_status_t st = npz_open(path, &npz);
  if (!st) st = move_arrays(&npz, signature, rank, values, out_found);
  npz_deinit(&npz);
  return st;
}

static hr_status_t value_from_text(const char *text, int k, const hlo_shape_t *shape,
                                   hlo_value_t **out_value) {
  char wanted[HLO_SHAPE_TEXT];
  hr_status_t st = read_literal(text, shape, out_value);
  if (!st && !hlo_value_fits(*out_value, shape)) {
    hlo_value_release(*out_value);
    st = hr_error(HR_USAGE, "'%s' has another type or other sizes", text);
  }
  if (!st) return NULL;
  st = hr_status_note(
      hr_error(HR_USAGE, "--input %d=%s: no value of %s, and no .npy file: %s", k, text,
               hlo_shape_text(shape, wanted), hr_status_message(st)),
      "the form is --input K=FILE.npy, or a value such as 3.5, {1, 2} or f32[2]{1, 2}");
  return st;
}

/* K=FILE.npy, K=FILE.npz:NAME or K=LITERAL. */
static hr_status_t take_single(const char *text, const cli_signature_t *signature,
                               hlo_value_t **values) {
  char *rest;
  long k = strtol(text, &rest, 10);
  rest++;
  if (k >= signature->param_count)
    return hr_error(HR_USAGE, "--input %s: there is no parameter %ld, the program has %d", text, k,
                    signature->param_count);
  const hlo_shape_t *shape = signature->params[k];
  char found[HLO_SHAPE_TEXT];
  if (!hlo_shape_is_array(shape))
    return hr_error(HR_USAGE, "--input %s: parameter %ld is %s and takes no value", text, k,
                    hlo_shape_text(shape, found));
  hlo_value_t *value;
  if (cli_npy_is_named(rest)) {
    npy_t npy;
    HR_TRY(cli_npy_open(rest, &npy));
    hr_status_t st = cli_value_from_npy(rest, &npy, &(cli_arg_t){signature, false, (int)k}, &value);
    npy_deinit(&npy);
    HR_TRY(hr_status_note(st, "while reading parameter %ld", k));
  } else {
    HR_TRY(value_from_text(rest, (int)k, shape, &value));
  }
  replace_value(&values[k], value);
  return NULL;
}

static bool is_single(const char *text) {
  size_t digits = strspn(text, "0123456789");
  return digits && digits < 10 && text[digits] == '=';
}

static hr_status_t take_given(const hr_options_t *options, const cli_signature_t *signature,
                              int rank, hlo_value_t **values) {
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_INPUT, &from));) {
    int found;
    if (is_single(given->text)) {
      HR_TRY(take_single(given->text, signature, values));
      continue;
    }
    HR_TRY(cli_inputs_from_npz(given->text, signature, rank, values, &found));
    if (!found && signature->param_count)
      return hr_error(HR_USAGE, "%s has no array in0, in1, ... for a parameter of the program",
                      given->text);
  }
  return NULL;
}

static bool needs_value(const cli_signature_t *signature, const cli_feed_t *feed,
                        hlo_value_t *const *values, int k) {
  return !values[k] && hlo_shape_is_array(signature->params[k]) && !cli_feed_has(feed, k);
}

static hr_status_t fill_random(uint64_t seed, const char *program_path,
                               const cli_signature_t *signature, const cli_feed_t *feed,
                               hlo_value_t **values) {
  hlo_module_t *module = NULL;
  void *memory;
  HR_TRY(hr_alloc((size_t)signature->param_count * sizeof(int64_t), &memory));
  int64_t *bounds = memory;
  for (int k = 0; k < signature->param_count; k++) bounds[k] = CLI_NO_BOUND;
  hr_status_t st = read_module_file(program_path, &module);
  if (!st) st = cli_index_bounds(module, signature->param_count, bounds);
  for (int k = 0; k < signature->param_count && !st; k++)
    if (needs_value(signature, feed, values, k))
      st = cli_random_value(signature->params[k], seed, k, bounds[k], &values[k]);
  hlo_module_destroy(module);
  hr_free(bounds);
  return st;
}

hr_status_t cli_inputs_wild(uint64_t seed, const cli_signature_t *signature, const cli_feed_t *feed,
                            hlo_value_t **values) {
  for (int k = 0; k < signature->param_count; k++)
    if (needs_value(signature, feed, values, k))
      HR_TRY(cli_wild_value(signature->params[k], seed, k, &values[k]));
  return NULL;
}

hr_status_t cli_inputs_check(const cli_signature_t *signature, const cli_feed_t *feed,
                             hlo_value_t *const *values) {
  hr_strbuf_t names;
  hr_strbuf_init(&names);
  int missing = 0;
  for (int k = 0; k < signature->param_count; k++) {
    char shape[HLO_SHAPE_TEXT];
    if (!needs_value(signature, feed, values, k) || missing++ >= NAMED_MAX) continue;
    hr_strbuf_printf(&names, "%s%d (%s: %s)", missing > 1 ? ", " : "", k, signature->param_names[k],
                     hlo_shape_text(signature->params[k], shape));
  }
  hr_status_t st = NULL;
  if (missing) {
    st = hr_error(HR_USAGE, "parameter%s %s%s %s no value; give --input, --feed or --random-inputs",
                  missing > 1 ? "s" : "", names.data ? names.data : "",
                  missing > NAMED_MAX ? ", ..." : "", missing > 1 ? "have" : "has");
  }
  hr_strbuf_deinit(&names);
  return st;
}

hr_status_t cli_inputs_load(const hr_options_t *options, const char *program_path,
                            const cli_signature_t *signature, const cli_feed_t *feed, int rank,
                            hlo_value_t **values) {
  HR_TRY(take_given(options, signature, rank, values));
  if (hr_option_is_given(options, HR_OPTION_RANDOM_INPUTS)) {
    uint64_t seed = hr_option_int(options, HR_OPTION_RANDOM_INPUTS, 0);
    HR_TRY(fill_random(seed, program_path, signature, feed, values));
  }
  if (hr_option_is_given(options, HR_OPTION_WILD_INPUTS)) {
    uint64_t seed = hr_option_int(options, HR_OPTION_WILD_INPUTS, 0);
    HR_TRY(cli_inputs_wild(seed, signature, feed, values));
  }
  return cli_inputs_check(signature, feed, values);
}
