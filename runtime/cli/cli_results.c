/* Prints, stores and compares results. Arrays of other ranks travel to rank 0 one at a time, so
 * that it never holds more than one of them. */
#include "cli/cli_results.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "ir/print.h"

#define EDGE 3          /* elements shown at each end of a long dimension */
#define WHOLE_COUNT 100 /* arrays up to this size are shown whole */

/* --- printing --- */

static void print_dims(hr_strbuf_t *text, const hlo_value_t *value) {
  hr_strbuf_printf(text, "%s[", hr_dtype_name(value->dtype));
  for (int d = 0; d < value->rank; d++)
    hr_strbuf_printf(text, "%s%lld", d ? "," : "", (long long)value->dims[d]);
  hr_strbuf_add_char(text, ']');
}

/* A NaN's sign and payload say nothing to people. */
static bool is_nan(hr_dtype_t dtype, const void *element) {
  uint64_t bits = 0;
  if (!hr_dtype_is_float(dtype)) return false;
  memcpy(&bits, element, hr_dtype_bytes(dtype));
  return isnan(hr_float_decode(dtype, bits));
}

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

/* Sub-array from dimension `d` on, whose first element is number `first` and which has `count`
 * elements. */
static void print_elements(hr_strbuf_t *text, const hlo_value_t *value, int d, int64_t first,
                           int64_t count) {
  if (d == value->rank) {
    print_element(text, value->dtype,
                  (const char *)value->data + (size_t)first * hr_dtype_bytes(value->dtype));
    return;
  }
  int64_t size = value->dims[d], each = size ? count / size : 0;
  bool is_long = value->count > WHOLE_COUNT || value->count == 0; /* the latter has rows, too */
  bool elide = is_long && size > 2 * EDGE;
  hr_strbuf_add_char(text, '{');
  for (int64_t i = 0; i < size; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (elide && i == EDGE) {
      hr_strbuf_add_str(text, "..., ");
      i = size - EDGE;
    }
    print_elements(text, value, d + 1, first + i * each, each);
  }
  hr_strbuf_add_char(text, '}');
}

void cli_value_print(hr_strbuf_t *text, const hlo_value_t *value) {
  if (!hr_dtype_is_array(value->dtype)) {
    hr_strbuf_add_str(text, hr_dtype_name(value->dtype));
    return;
  }
  print_dims(text, value);
  hr_strbuf_add_char(text, ' ');
  print_elements(text, value, 0, 0, value->count);
}

/* --- writing --- */

static hr_status_t add_array(zip_writer_t *writer, int k, int rank, const hlo_value_t *value) {
  char name[64];
  if (rank < 0)
    snprintf(name, sizeof name, "out%d", k);
  else
    snprintf(name, sizeof name, "out%d@%d", k, rank);
  return npz_add(writer, name, value->dtype, value->rank, value->dims, value->data,
                 hlo_value_bytes(value));
}

/* An array as it is sent: its rank is negative for tokens. */
typedef struct array_head {
  int32_t dtype, rank;
  int64_t dims[HLO_MAX_RANK];
} array_head_t;

/* Programs of different processes may have different numbers of results. */
static hr_status_t send_results(hlorun_client_t *client, int32_t count,
                                hlo_value_t *const *results) {
  HR_TRY(hlorun_client_send(client, 0, &count, sizeof count));
  for (int k = 0; k < count; k++) {
    const hlo_value_t *value = results[k];
    bool is_array = hr_dtype_is_array(value->dtype);
    array_head_t head = {.dtype = value->dtype, .rank = is_array ? value->rank : -1};
    if (is_array) memcpy(head.dims, value->dims, (size_t)value->rank * sizeof *value->dims);
    HR_TRY(hlorun_client_send(client, 0, &head, sizeof head));
    if (is_array) HR_TRY(hlorun_client_send(client, 0, value->data, hlo_value_bytes(value)));
  }
  return NULL;
}

static hr_status_t receive_array(hlorun_client_t *client, int from, hlo_value_t **out_value) {
  array_head_t head;
  *out_value = NULL;
  HR_TRY(hlorun_client_recv(client, from, &head, sizeof head));
  if (head.rank < 0) return NULL;
  HR_TRY(hlo_value_array((hr_dtype_t)head.dtype, head.rank, head.dims, out_value));
  hr_status_t st =
      hlorun_client_recv(client, from, (*out_value)->data, hlo_value_bytes(*out_value));
  if (st) {
    hlo_value_release(*out_value);
    *out_value = NULL;
  }
  return st;
}

/* A failure to write is kept: the other processes must get rid of what they send. */
static hr_status_t receive_results(hlorun_client_t *client, zip_writer_t *writer, int from,
                                   hr_status_t *write_status) {
  int32_t count;
  HR_TRY(hlorun_client_recv(client, from, &count, sizeof count));
  for (int k = 0; k < count; k++) {
    hlo_value_t *value;
    HR_TRY(receive_array(client, from, &value));
    if (value && !*write_status) *write_status = add_array(writer, k, from, value);
    hlo_value_release(value);
  }
  return NULL;
}

static hr_status_t write_local(zip_writer_t *writer, int world, int count,
                               hlo_value_t *const *results) {
  for (int k = 0; k < count; k++) {
    if (!hr_dtype_is_array(results[k]->dtype)) continue;
    HR_TRY(add_array(writer, k, -1, results[k]));
    if (world > 1) HR_TRY(add_array(writer, k, 0, results[k]));
  }
  return NULL;
}

hr_status_t cli_results_write(hlorun_client_t *client, const char *path, int count,
                              hlo_value_t *const *results) {
  int world = hlorun_client_world_size(client);
  if (hlorun_client_rank(client)) return send_results(client, count, results);
  zip_writer_t *writer = NULL;
  hr_status_t write_status = zip_create(path, &writer), st = NULL;
  if (!write_status) write_status = write_local(writer, world, count, results);
  for (int from = 1; from < world && !st; from++)
    st = receive_results(client, writer, from, &write_status);
  return zip_finish(writer, hr_status_join(write_status, st));
}

/* --- comparing --- */

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

static hr_status_t compare_one(const cli_expectation_t *expectation, int k,
                               const cli_signature_t *signature, const hlo_value_t *result,
                               hr_strbuf_t *text, int *bad) {
  hlo_value_t *want;
  HR_TRY(cli_value_from_npz(expectation->npz, &(cli_arg_t){signature, true, k}, expectation->rank,
                            &want));
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

/* Arrays out0, out1@3, ... that the program has no result for. */
static hr_status_t check_names(const npz_t *npz, int result_count, int rank, int *out_named) {
  *out_named = 0;
  for (size_t i = 0; i < npz_count(npz); i++) {
    hr_str_t name = npz_name(npz, i);
    int k, of_rank;
    char text[64];
    snprintf(text, sizeof text, "%.*s", HR_STR_ARGS(name));
    int named = sscanf(text, "out%d@%d", &k, &of_rank);
    if (named < 1) continue;
    ++*out_named;
    if (named == 2 && of_rank != rank)
      continue; /* of another process, whose program may be another */
    if (k < 0 || k >= result_count)
      return hr_error(HR_USAGE, "%s has %s, the program has %d results", npz->zip.path, text,
                      result_count);
  }
  return NULL;
}

hr_status_t cli_results_compare(const cli_expectation_t *expectation,
                                const cli_signature_t *signature, hlo_value_t *const *results,
                                hr_strbuf_t *text, int *out_bad) {
  int named;
  *out_bad = 0;
  HR_TRY(check_names(expectation->npz, signature->result_count, expectation->rank, &named));
  if (!named && signature->result_count)
    return hr_error(HR_USAGE, "%s has no array out0, out1, ... to compare with",
                    expectation->npz->zip.path);
  for (int k = 0; k < signature->result_count; k++)
    if (hr_dtype_is_array(results[k]->dtype))
      HR_TRY(compare_one(expectation, k, signature, results[k], text, out_bad));
  return NULL;
}

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
