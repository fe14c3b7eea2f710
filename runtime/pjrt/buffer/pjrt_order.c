/* Orders of dimensions, interned: programs use a handful of them. Row-major ones are a table, so
 * that asking for them takes no lock. Cost: a search through the others. */
#include "pjrt/buffer/pjrt_order.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"

static pjrt_order_t row_major[HLO_MAX_RANK + 1];
static pthread_once_t made_row_major = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const pjrt_order_t *others; /* guarded by the mutex */

static void make_row_major(void) {
  for (int rank = 0; rank <= HLO_MAX_RANK; rank++) {
    row_major[rank] = (pjrt_order_t){.rank = rank, .is_row_major = true};
    for (int d = 0; d < rank; d++) row_major[rank].minor_to_major[d] = rank - 1 - d;
  }
}

static hr_status_t check(int rank, const int64_t *minor_to_major) {
  uint64_t seen = 0;
  for (int i = 0; i < rank; i++) {
    int64_t d = minor_to_major[i];
    if (d < 0 || d >= rank || seen >> d & 1)
      return hr_error(HR_USAGE, "a layout names dimension %lld twice or out of range",
                      (long long)d);
    seen |= UINT64_C(1) << d;
  }
  return NULL;
}

/* With the mutex. */
static hr_status_t find_other(int rank, const int64_t *minor_to_major,
                              const pjrt_order_t **out_order) {
  size_t size = (size_t)rank * sizeof *minor_to_major;
  void *memory;
  for (const pjrt_order_t *order = others; order; order = order->next)
    if (order->rank == rank && !memcmp(order->minor_to_major, minor_to_major, size)) {
      *out_order = order;
      return NULL;
    }
  HR_TRY(hr_alloc_zeroed(sizeof(pjrt_order_t), &memory));
  pjrt_order_t *made = memory;
  made->rank = rank;
  memcpy(made->minor_to_major, minor_to_major, size);
  made->next = others;
  others = made;
  *out_order = made;
  return NULL;
}

hr_status_t pjrt_order_find(int rank, const int64_t *minor_to_major,
                            const pjrt_order_t **out_order) {
  if (rank < 0 || rank > HLO_MAX_RANK)
    return hr_error(HR_USAGE, "an array of %d dimensions, want at most %d", rank, HLO_MAX_RANK);
  pthread_once(&made_row_major, make_row_major);
  *out_order = &row_major[rank];
  size_t size = (size_t)rank * sizeof *minor_to_major;
  if (!minor_to_major || !memcmp(minor_to_major, row_major[rank].minor_to_major, size)) return NULL;
  HR_TRY(check(rank, minor_to_major));
  pthread_mutex_lock(&mutex);
  hr_status_t st = find_other(rank, minor_to_major, out_order);
  pthread_mutex_unlock(&mutex);
  return st;
}

static hr_status_t bad_layout(hr_str_t text) {
  return hr_error(HR_UNSUPPORTED, "layout \"%.*s\", want an order of dimensions such as {1,0}",
                  HR_STR_ARGS(text));
}

/* A number of one or two digits at *at, and the comma after it. */
static int64_t take_number(hr_str_t text, size_t *at) {
  int64_t number = 0;
  size_t begin = *at;
  while (*at < text.size && *at < begin + 2 && text.data[*at] >= '0' && text.data[*at] <= '9')
    number = number * 10 + (text.data[(*at)++] - '0');
  if (*at == begin) return -1;
  if (*at < text.size && text.data[*at] == ',') (*at)++;
  return number;
}

hr_status_t pjrt_order_read(hr_str_t text, int rank, const pjrt_order_t **out_order) {
  int64_t dims[HLO_MAX_RANK];
  size_t at = 1;
  if (!text.size || hr_str_is(text, "default") || hr_str_is(text, "auto") || rank > HLO_MAX_RANK)
    return pjrt_order_find(rank, NULL, out_order);
  if (text.data[0] != '{') return bad_layout(text);
  for (int i = 0; i < rank; i++) {
    dims[i] = take_number(text, &at);
    if (dims[i] < 0) return bad_layout(text);
  }
  if (at + 1 != text.size || text.data[at] != '}') return bad_layout(text);
  return pjrt_order_find(rank, dims, out_order);
}

void pjrt_order_sizes(const pjrt_order_t *order, const int64_t *dims, int64_t *out_dims) {
  for (int i = 0; i < order->rank; i++)
    out_dims[i] = dims[order->minor_to_major[order->rank - 1 - i]];
}

/* Among equal strides, as dimensions of size 1 often have, the last dimension is the minor one. */
hr_status_t pjrt_order_of_strides(const pjrt_strided_t *array, const pjrt_order_t **out_order) {
  int64_t dims[HLO_MAX_RANK];
  *out_order = NULL;
  if (pjrt_strided_is_dense(array)) return NULL;
  for (int i = 0; i < array->rank; i++) {
    int64_t d = array->rank - 1 - i;
    int at = i;
    for (; at > 0 && array->strides[d] < array->strides[dims[at - 1]]; at--)
      dims[at] = dims[at - 1];
    dims[at] = d;
  }
  HR_TRY(pjrt_order_find(array->rank, dims, out_order));
  if ((*out_order)->is_row_major) *out_order = NULL;
  return NULL;
}

void pjrt_order_permute(const pjrt_order_t *order, pjrt_strided_t *array, int64_t *dims) {
  int64_t strides[HLO_MAX_RANK];
  if (!order) return;
  pjrt_order_sizes(order, array->dims, dims);
  pjrt_order_sizes(order, array->strides, strides);
  memcpy(array->strides, strides, (size_t)array->rank * sizeof *strides);
  array->dims = dims;
}

hr_status_t pjrt_order_undo(const pjrt_order_t *order, const hlo_value_t *value,
                            const int64_t *dims, hlo_value_t **out_value) {
  pjrt_strided_t array;
  pjrt_strided_init(&array, value->dtype, order->rank, dims);
  HR_TRY(pjrt_strided_order(&array, order->minor_to_major, (size_t)order->rank));
  HR_TRY(hlo_value_array(value->dtype, order->rank, dims, out_value));
  pjrt_strided_gather(&array, value->data, (*out_value)->data);
  return NULL;
}

hr_status_t pjrt_order_apply(const pjrt_order_t *order, const hlo_value_t *value,
                             hlo_value_t **out_value) {
  pjrt_strided_t array;
  int64_t dims[HLO_MAX_RANK];
  pjrt_strided_init(&array, value->dtype, order->rank, value->dims);
  HR_TRY(pjrt_strided_order(&array, order->minor_to_major, (size_t)order->rank));
  pjrt_order_sizes(order, value->dims, dims);
  HR_TRY(hlo_value_array(value->dtype, order->rank, dims, out_value));
  pjrt_strided_scatter(&array, value->data, (*out_value)->data);
  return NULL;
}
