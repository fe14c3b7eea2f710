/* Prints and compares results. Long dimensions are elided: EDGE elements are shown at each end. */
#include "cli/arrays/cli_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/arrays/cli_array_names.h"
#include "ir/print.h"

#define EDGE 3          /* elements shown at each end of a long dimension */
#define WHOLE_COUNT 100 /* arrays up to this size are shown whole */

/* --- printing --- */

/* Prints the shape in HLO's syntax, "f32[2,3]". */
static void print_dims(hr_strbuf_t *text, const hlo_value_t *value) {
  hr_strbuf_printf(text, "%s[", hr_dtype_name(value->dtype));
  for (int d = 0; d < value->rank; d++)
    hr_strbuf_printf(text, "%s%lld", d ? "," : "", (long long)value->dims[d]);
  hr_strbuf_add_char(text, ']');
}

/* The sign and payload of a NaN are not shown. */
static bool is_nan(hr_dtype_t dtype, const void *element) {
  uint64_t bits = 0;
  if (!hr_dtype_is_float(dtype)) return false;
  memcpy(&bits, element, hr_dtype_bytes(dtype));
  return isnan(hr_float_decode(dtype, bits));
}

/* A complex number is printed as a pair. */
static void print_element(hr_strbuf_t *text, hr_dtype_t dtype, const char *element) {
  if (hr_dtype_is_complex(dtype)) {
    hr_dtype_t part = hr_dtype_real(dtype);
    hr_strbuf_add_char(text, '(');
    print_element(text, part, element);
    hr_strbuf_add_str(text, ", ");
    print_element(text, part, element + hr_dtype_bytes(part));
    hr_strbuf_add_char(text, ')');
  } else if (is_nan(dtype, element)) {
    hr_strbuf_add_str(text, "nan");
  } else {
    hlo_print_number(text, dtype, element);
  }
}

/* Prints the sub-array from dimension `d` on; `first` is the number of its first element, `count`
 * its number of elements. */
static void print_elements(hr_strbuf_t *text, const hlo_value_t *value, bool whole, int d,
                           int64_t first, int64_t count) {
  if (d == value->rank) {
    print_element(text, value->dtype,
                  (const char *)value->data + (size_t)first * hr_dtype_bytes(value->dtype));
    return;
  }
  int64_t size = value->dims[d], each = size ? count / size : 0;
  /* empty arrays are printed row by row, too */
  bool is_long = value->count == 0 || (!whole && value->count > WHOLE_COUNT);
  bool elide = is_long && size > 2 * EDGE;
  hr_strbuf_add_char(text, '{');
  for (int64_t i = 0; i < size; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (elide && i == EDGE) {
      hr_strbuf_add_str(text, "..., ");
      i = size - EDGE;
    }
    print_elements(text, value, whole, d + 1, first + i * each, each);
  }
  hr_strbuf_add_char(text, '}');
}

/* A token is printed as its type. */
static void print_value(hr_strbuf_t *text, const hlo_value_t *value, bool whole) {
  if (!hr_dtype_is_array(value->dtype)) {
    hr_strbuf_add_str(text, hr_dtype_name(value->dtype));
    return;
  }
  print_dims(text, value);
  hr_strbuf_add_char(text, ' ');
  print_elements(text, value, whole, 0, 0, value->count);
}

void cli_value_print(hr_strbuf_t *text, const hlo_value_t *value) {
  print_value(text, value, false);
}
void cli_value_print_whole(hr_strbuf_t *text, const hlo_value_t *value) {
  print_value(text, value, true);
}

/* --- comparing --- */

/* Adds a line such as "out0@3 f32[2]: equal", or with the worst element. */
static void add_line(hr_strbuf_t *text, const cli_expectation_t *expectation, int k,
                     const hlo_value_t *result, const hlo_value_t *want,
                     const hlo_difference_t *difference) {
  hr_strbuf_printf(text, "out%d", k);
  if (expectation->mark_rank) hr_strbuf_printf(text, "@%d", expectation->rank);
  hr_strbuf_add_char(text, ' ');
  print_dims(text, result);
  hr_strbuf_add_str(text, ": ");
  if (difference) {
    hlo_difference_print(text, result, want, difference);
  } else {
    hr_strbuf_add_str(text, "want ");
    print_dims(text, want);
  }
  hr_strbuf_add_char(text, '\n');
}

bool cli_expectation_is_single(const char *text, int *out_index, const char **out_file) {
  size_t digits = strspn(text, "0123456789");
  bool is_single = digits && digits < 10 && text[digits] == '=';
  if (!is_single) return false;
  *out_index = (int)strtol(text, NULL, 10);
  *out_file = text + digits + 1;
  return true;
}

/* Reads the only array of a file; for a global result, this process's part. A name with '@' is a
 * part. */
static hr_status_t read_single(const cli_expectation_t *expectation, const cli_arg_t *slot,
                               hlo_value_t **out_value) {
  npy_t npy;
  const char *file = expectation->single;
  if (!cli_npy_is_named(file))
    return hr_error(HR_USAGE, "--expect %d=%s: want FILE.npy or FILE.npz:NAME", expectation->index,
                    file);
  HR_TRY(cli_npy_open(file, &npy));
  hr_status_t st = cli_value_from_npy(file, &npy, slot, out_value);
  npy_deinit(&npy);
  return st;
}

/* Results without an expectation are skipped. */
static hr_status_t compare_one(const cli_expectation_t *expectation, int k,
                               const cli_signature_t *signature, const hlo_value_t *result,
                               hr_strbuf_t *text, int *bad) {
  hlo_value_t *want;
  cli_arg_t slot = {signature, true, k, false};
  if (expectation->single)
    HR_TRY(read_single(expectation, &slot, &want));
  else
    HR_TRY(cli_value_from_file(expectation->file, &slot, expectation->rank, &want));
  if (!want) return NULL;
  hlo_difference_t difference = {0};
  bool same_dims = hlo_value_same_dims(result, want);
  if (same_dims) hlo_compare(result, want, &expectation->tolerance, &difference);
  bool is_bad = !same_dims || difference.bad_count;
  *bad += is_bad;
  if (is_bad || expectation->all_lines)
    add_line(text, expectation, k, result, want, same_dims ? &difference : NULL);
  hlo_value_release(want);
  return NULL;
}

/* A file without any expectation is an error. */
hr_status_t cli_results_compare(const cli_expectation_t *expectation,
                                const cli_signature_t *signature, hlo_value_t *const *results,
                                hr_strbuf_t *text, int *out_bad) {
  int named;
  *out_bad = 0;
  if (expectation->single && expectation->index >= signature->result_count)
    return hr_error(HR_USAGE, "--expect %d=%s: there is no result %d, the program has %d",
                    expectation->index, expectation->single, expectation->index,
                    signature->result_count);
  if (expectation->single)
    return compare_one(expectation, expectation->index, signature, results[expectation->index],
                       text, out_bad);
  HR_TRY(cli_array_names_check(expectation->file,
                               &(cli_array_names_t){signature, true, expectation->rank}, &named));
  if (!named && signature->result_count)
    return hr_error(HR_USAGE, "%s has no array out0, out1, ... to compare with",
                    expectation->file->path);
  for (int k = 0; k < signature->result_count; k++)
    if (hr_dtype_is_array(results[k]->dtype))
      HR_TRY(compare_one(expectation, k, signature, results[k], text, out_bad));
  return NULL;
}

/* Sizes are sent first; an empty text costs one message. */
hr_status_t cli_gather_text(hlorun_client_t *client, const hr_strbuf_t *mine, hr_strbuf_t *all) {
  int world = hlorun_client_world_size(client);
  uint64_t size = mine->size;
  if (hlorun_client_rank(client)) {
    HR_TRY(hlorun_client_send(client, 0, &size, sizeof size));
    return size ? hlorun_client_send(client, 0, mine->data, size) : NULL;
  }
  if (size) hr_strbuf_add(all, mine->data, size);
  for (int rank = 1; rank < world; rank++) {
    void *bytes;
    HR_TRY(hlorun_client_recv(client, rank, &size, sizeof size));
    if (!size) continue;
    HR_TRY(hr_alloc(size, &bytes));
    hr_status_t st = hlorun_client_recv(client, rank, bytes, size);
    if (!st) hr_strbuf_add(all, bytes, size);
    hr_free(bytes);
    HR_TRY(st);
  }
  return NULL;
}
