/* Arrays in the layouts of a custom call: the values of a program are row-major, and the callee may
 * read and write any other order of dimensions. */
#include "ops/kernels/custom/custom_layout.h"

#include <string.h>

#include "ops/kernels/common/strided_loops.h"

#define COPY_GRAIN 8192 /* least elements for another worker */

/* True if the layout is a permutation of the array's dimensions; otherwise the array counts as
 * row-major. */
static bool is_order(const hlo_layout_t *layout, int rank) {
  uint32_t seen = 0;
  if (!layout || layout->minor_to_major.count != rank) return false;
  for (int d = 0; d < rank; d++) {
    int64_t dim = layout->minor_to_major.data[d];
    if (dim < 0 || dim >= rank || (seen >> dim & 1)) return false;
    seen |= 1u << dim;
  }
  return true;
}

/* A strided copy and its bytes; entry e of dimension 0 starts at e * strides[0]. */
typedef struct layout_copy {
  int each, rank;
  int64_t dims[HLO_MAX_RANK], to_strides[HLO_MAX_RANK], from_strides[HLO_MAX_RANK];
  char *to;
  const char *from;
} layout_copy_t;

/* Entries [begin, end) of the outermost dimension. */
static void copy_entries(void *context, int64_t begin, int64_t end, int worker) {
  const layout_copy_t *whole = context;
  int64_t dims[HLO_MAX_RANK];
  loop_copy_t copy;
  (void)worker;
  if (begin == end) return;
  memcpy(dims, whole->dims, sizeof dims);
  if (whole->rank) dims[0] = end - begin;
  loop_copy_init(&copy, whole->each, whole->rank, dims, whole->to_strides, whole->from_strides);
  loop_copy_run(&copy, whole->to + begin * whole->to_strides[0],
                whole->from + begin * whole->from_strides[0]);
}

/* Copies between a dense row-major array and the same elements in the order of a layout. */
void custom_copy_by_layout(hr_workers_t *workers, const hlo_value_t *value,
                           const hlo_layout_t *layout, void *bytes, bool to_value) {
  int64_t strides[HLO_MAX_RANK];
  int rank = value->rank;
  layout_copy_t copy = {.each = (int)hr_dtype_bytes(value->dtype), .rank = rank};
  int64_t *ours = to_value ? copy.to_strides : copy.from_strides, count = 1;
  int64_t *theirs = to_value ? copy.from_strides : copy.to_strides;
  if (!is_order(layout, rank)) {
    if (to_value)
      memcpy(value->data, bytes, hlo_value_bytes(value));
    else
      memcpy(bytes, value->data, hlo_value_bytes(value));
    return;
  }
  loop_dense_strides(rank, value->dims, copy.each, strides);
  for (int d = 0; d < rank; d++) {
    int64_t dim = layout->minor_to_major.data[rank - 1 - d];
    copy.dims[d] = value->dims[dim];
    ours[d] = strides[dim];
    count *= copy.dims[d];
  }
  loop_dense_strides(rank, copy.dims, copy.each, theirs);
  copy.to = to_value ? value->data : bytes;
  copy.from = to_value ? bytes : value->data;
  int64_t entries = rank ? copy.dims[0] : 1;
  int64_t size = entries ? count / entries : 0;
  hr_workers_split(workers, entries, 1 + COPY_GRAIN / (size + 1), copy_entries, &copy);
}

/* True if the bytes in the order of the layout are those of a row-major array. */
static bool is_row_major(const hlo_layout_t *layout, const hlo_value_t *value) {
  if (value->count < 2 || !is_order(layout, value->rank)) return true;
  for (int d = 0; d < value->rank; d++)
    if (layout->minor_to_major.data[d] != value->rank - 1 - d) return false;
  return true;
}

hr_status_t custom_in_layout(op_env_t *env, const hlo_layout_t *layout, const hlo_value_t *value,
                             void **out_bytes) {
  *out_bytes = value->data;
  if (is_row_major(layout, value)) return NULL;
  HR_TRY(hr_arena_alloc(env->scratch, hlo_value_bytes(value), out_bytes));
  custom_copy_by_layout(env->workers, value, layout, *out_bytes, false);
  return NULL;
}

hr_status_t custom_from_layout(op_env_t *env, const hlo_layout_t *layout, hlo_value_t *value) {
  void *bytes;
  if (is_row_major(layout, value)) return NULL;
  HR_TRY(hr_arena_alloc(env->scratch, hlo_value_bytes(value), &bytes));
  memcpy(bytes, value->data, hlo_value_bytes(value));
  custom_copy_by_layout(env->workers, value, layout, bytes, true);
  return NULL;
}

const hlo_shape_t *custom_constrained_operand(const hlo_instr_t *instr, int k) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  return attr && k < attr->shapes->count ? attr->shapes->shapes[k] : NULL;
}

const hlo_shape_t *custom_constrained_result(const hlo_instr_t *instr) {
  return hlo_attr_find(instr, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS) ? instr->shape : NULL;
}
