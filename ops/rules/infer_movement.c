/* Result shapes of tuples and of ops that rearrange elements: each checks its dimension numbers
 * first, so that sizes are computed from valid indices. Dynamic dimensions stay dynamic with their
 * bounds; sums and products of sizes are checked for overflow. */
#include "ops/rules/constraint.h"

hr_status_t infer_tuple(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                        const hlo_shape_t **out_shape) {
  return hlo_shape_tuple(arena, instr->operand_count, in, out_shape);
}

hr_status_t infer_get_tuple_element(hr_arena_t *arena, const hlo_instr_t *instr,
                                    const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena;
  int64_t index = hlo_attr_int(instr, HLO_ATTR_INDEX);
  OP_WANT(instr, hlo_shape_is_tuple(in[0]), "I1", "the operand is %s, want a tuple",
          OP_TEXT(in[0]));
  OP_WANT(instr, index >= 0 && index < in[0]->element_count, "C1",
          "index %ld, want a value from 0 to below %d", (long)index, in[0]->element_count);
  *out_shape = in[0]->elements[index];
  return NULL;
}

hr_status_t infer_transpose(hr_arena_t *arena, const hlo_instr_t *instr,
                            const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  hr_ints_t permutation = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  uint64_t seen = 0;
  op_dims_t dims = {.rank = 0};
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  OP_WANT(instr, permutation.count == in[0]->rank, "C2", "dimensions lists %ld dimensions, want %d",
          (long)permutation.count, in[0]->rank);
  HR_TRY(op_check_range(instr, "C2", "dimensions", permutation, in[0]->rank));
  HR_TRY(op_check_unique(instr, "C2", "dimensions", permutation, &seen));
  for (int d = 0; d < in[0]->rank; d++)
    HR_TRY(op_dims_push_from(instr, &dims, in[0], permutation.data[d]));
  return op_dims_shape(arena, in[0]->dtype, &dims, out_shape);
}

/* Operand k agrees with operand 0 except in the size of `dimension`, which is added to the
 * result's. */
static hr_status_t add_piece(const hlo_instr_t *instr, const hlo_shape_t *const *in, int k,
                             int64_t dimension, op_dims_t *dims) {
  OP_WANT(instr, in[k]->dtype == in[0]->dtype, "C1", "operand %d has elements of type %s, want %s",
          k, hr_dtype_name(in[k]->dtype), hr_dtype_name(in[0]->dtype));
  bool agree = in[k]->rank == in[0]->rank;
  for (int d = 0; agree && d < in[0]->rank; d++)
    agree = d == dimension || op_dims_agree(in[k], d, in[0], d);
  OP_WANT(instr, agree, "C2", "operand %d is %s, want the sizes of %s but for dimension %ld", k,
          OP_TEXT(in[k]), OP_TEXT(in[0]), (long)dimension);
  if (k == 0) return NULL;
  int64_t *size = &dims->sizes[dimension], more = in[k]->dims[dimension];
  dims->dynamic[dimension] |= op_is_dynamic(in[k], dimension);
  if (*size == HLO_UNBOUNDED || more == HLO_UNBOUNDED)
    *size = HLO_UNBOUNDED;
  else
    OP_WANT(instr, !__builtin_add_overflow(*size, more, size), "C6",
            "the size of dimension %ld overflows", (long)dimension);
  return NULL;
}

hr_status_t infer_concatenate(hr_arena_t *arena, const hlo_instr_t *instr,
                              const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  int64_t dimension;
  op_dims_t dims;
  HR_TRY(op_want_arrays(instr, in, "I1"));
  HR_TRY(op_one_dimension(instr, "C4", in[0]->rank, &dimension));
  op_dims_of(in[0], &dims);
  for (int k = 0; k < instr->operand_count; k++) HR_TRY(add_piece(instr, in, k, dimension, &dims));
  for (int k = 1; k < instr->operand_count; k++) {
    int64_t size = dims.sizes[dimension];
    bool dynamic = dims.dynamic[dimension];
    op_dims_refine(&dims, in[k]);
    dims.sizes[dimension] = size;
    dims.dynamic[dimension] = dynamic;
  }
  return op_dims_shape(arena, in[0]->dtype, &dims, out_shape);
}

static hr_status_t pad_dim(const hlo_instr_t *instr, const hlo_padding_dim_t *padding, int d,
                           int64_t *size) {
  OP_WANT(instr, padding->interior >= 0, "C3",
          "interior padding %ld in dimension %d, want none or more", (long)padding->interior, d);
  if (*size == HLO_UNBOUNDED) return NULL;
  __int128 padded = (__int128)*size + padding->low + padding->high;
  if (*size > 1) padded += (__int128)(*size - 1) * padding->interior;
  OP_WANT(instr, op_size_from(padded, size), "C4",
          "dimension %d of size %ld with padding %ld_%ld_%ld %s", d, (long)*size,
          (long)padding->low, (long)padding->high, (long)padding->interior,
          padded < 0 ? "has a negative size, want 0 or more" : "overflows");
  return NULL;
}

hr_status_t infer_pad(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                      const hlo_shape_t **out_shape) {
  const hlo_padding_t *padding = hlo_attr_padding(instr);
  op_dims_t dims;
  HR_TRY(op_want_arrays(instr, in, "I1"));
  HR_TRY(op_want_scalar(instr, in[1], "the padding value", "I2"));
  OP_WANT(instr, in[0]->dtype == in[1]->dtype, "C1", "the padding value has type %s, want %s",
          hr_dtype_name(in[1]->dtype), hr_dtype_name(in[0]->dtype));
  OP_WANT(instr, padding->rank == in[0]->rank, "C2", "padding of %d dimensions, want %d",
          padding->rank, in[0]->rank);
  op_dims_of(in[0], &dims);
  for (int d = 0; d < dims.rank; d++) HR_TRY(pad_dim(instr, &padding->dims[d], d, &dims.sizes[d]));
  return op_dims_shape(arena, in[0]->dtype, &dims, out_shape);
}

/* A slice of a whole dynamic dimension stays dynamic and has its actual size. At run time that size
 * is known and may be less than the limit; the declared shape then still marks the dimension as
 * dynamic. */
static hr_status_t slice_dim(const hlo_instr_t *instr, const hlo_slice_dim_t *slice, int d,
                             op_dims_t *dims) {
  int64_t size = dims->sizes[d];
  bool declared = instr->shape && d < instr->shape->rank && op_is_dynamic(instr->shape, d);
  bool whole = slice->start == 0 && slice->stride == 1 &&
               (dims->dynamic[d] ? slice->limit == size : declared);
  OP_WANT(instr, slice->stride > 0, "C4", "stride %ld in dimension %d, want a positive one",
          (long)slice->stride, d);
  OP_WANT(instr, slice->start >= 0 && slice->start <= slice->limit, "C3",
          "slice from %ld to %ld in dimension %d, want 0 <= start <= limit", (long)slice->start,
          (long)slice->limit, d);
  OP_WANT(instr, slice->limit <= size || size == HLO_UNBOUNDED || whole, "C3",
          "slice limit %ld in dimension %d, want at most its size %ld", (long)slice->limit, d,
          (long)size);
  if (whole) {
    if (!dims->dynamic[d] && slice->limit < size) dims->sizes[d] = slice->limit;
    return NULL;
  }
  int64_t length = slice->limit - slice->start;
  dims->sizes[d] = length / slice->stride + (length % slice->stride != 0);
  dims->dynamic[d] = false;
  return NULL;
}

hr_status_t infer_slice(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                        const hlo_shape_t **out_shape) {
  const hlo_slice_t *slice = hlo_attr_slice(instr);
  op_dims_t dims;
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  OP_WANT(instr, slice->rank == in[0]->rank, "C2", "slice of %d dimensions, want %d", slice->rank,
          in[0]->rank);
  op_dims_of(in[0], &dims);
  for (int d = 0; d < dims.rank; d++) HR_TRY(slice_dim(instr, &slice->dims[d], d, &dims));
  return op_dims_shape(arena, in[0]->dtype, &dims, out_shape);
}

/* Start indices from operand `first` on: a scalar for each of `rank` dimensions, or (older
 * programs) one vector. */
static hr_status_t check_starts(const hlo_instr_t *instr, const hlo_shape_t *const *in, int first,
                                int rank, const char *count_rule, const char *type_rule) {
  int count = instr->operand_count - first;
  if (count == 1 && hlo_shape_is_array(in[first]) && in[first]->rank == 1) {
    OP_WANT(instr, in[first]->dims[0] == rank && hr_dtype_is_integer(in[first]->dtype), count_rule,
            "the start indices are %s, want %d integers", OP_TEXT(in[first]), rank);
    return NULL;
  }
  OP_WANT(instr, count == rank, count_rule, "%d start indices, want %d", count, rank);
  for (int k = first; k < instr->operand_count; k++) {
    HR_TRY(op_want_integer_scalar(instr, in[k], "a start index", "I2"));
    OP_WANT(instr, in[k]->dtype == in[first]->dtype, type_rule,
            "start indices of types %s and %s, want equal types", hr_dtype_name(in[first]->dtype),
            hr_dtype_name(in[k]->dtype));
  }
  return NULL;
}

hr_status_t infer_dynamic_slice(hr_arena_t *arena, const hlo_instr_t *instr,
                                const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  hr_ints_t sizes = hlo_attr_ints(instr, HLO_ATTR_DYNAMIC_SLICE_SIZES);
  op_dims_t dims = {.rank = 0};
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  OP_WANT(instr, sizes.count == in[0]->rank, "C2", "dynamic_slice_sizes lists %ld sizes, want %d",
          (long)sizes.count, in[0]->rank);
  HR_TRY(check_starts(instr, in, 1, in[0]->rank, "C2", "C3"));
  for (int d = 0; d < in[0]->rank; d++) {
    int64_t size = in[0]->dims[d];
    OP_WANT(instr, sizes.data[d] >= 0 && (sizes.data[d] <= size || size == HLO_UNBOUNDED), "C4",
            "slice size %ld in dimension %d, want a value from 0 to %ld", (long)sizes.data[d], d,
            (long)size);
    HR_TRY(op_dims_push(instr, &dims, sizes.data[d], false));
  }
  return op_dims_shape(arena, in[0]->dtype, &dims, out_shape);
}

hr_status_t infer_dynamic_update_slice(hr_arena_t *arena, const hlo_instr_t *instr,
                                       const hlo_shape_t *const *in,
                                       const hlo_shape_t **out_shape) {
  (void)arena;
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  HR_TRY(op_want_array(instr, in[1], 1, "I2"));
  OP_WANT(instr, in[1]->dtype == in[0]->dtype, "C2", "the update has elements of type %s, want %s",
          hr_dtype_name(in[1]->dtype), hr_dtype_name(in[0]->dtype));
  OP_WANT(instr, in[1]->rank == in[0]->rank, "C3", "the update has rank %d, want %d", in[1]->rank,
          in[0]->rank);
  HR_TRY(check_starts(instr, in, 2, in[0]->rank, "C4", "C5"));
  for (int d = 0; d < in[0]->rank; d++)
    OP_WANT(instr, in[1]->dims[d] <= in[0]->dims[d] || in[0]->dims[d] == HLO_UNBOUNDED, "C6",
            "the update has size %ld in dimension %d, want at most %ld", (long)in[1]->dims[d], d,
            (long)in[0]->dims[d]);
  *out_shape = in[0];
  return NULL;
}

hr_status_t infer_get_dimension_size(hr_arena_t *arena, const hlo_instr_t *instr,
                                     const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena;
  int64_t dimension;
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  HR_TRY(op_one_dimension(instr, "C1", in[0]->rank, &dimension));
  *out_shape = hlo_shape_scalar(HR_S32);
  return NULL;
}

/* The size is known only when the op runs; until then the dimension is dynamic, bounded by its
 * previous size. A program may also declare a static result. */
hr_status_t infer_set_dimension_size(hr_arena_t *arena, const hlo_instr_t *instr,
                                     const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  int64_t dimension;
  op_dims_t dims;
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  HR_TRY(op_want_integer_scalar(instr, in[1], "the size", "I2"));
  OP_WANT(instr, in[1]->dtype == HR_S32, "I2", "the size is %s, want s32[]", OP_TEXT(in[1]));
  HR_TRY(op_one_dimension(instr, "C1", in[0]->rank, &dimension));
  op_dims_of(in[0], &dims);
  dims.dynamic[dimension] = true;
  return op_dims_shape(arena, in[0]->dtype, &dims, out_shape);
}
