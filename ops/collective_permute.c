/* collective-permute: plain, of several arrays, and in place (slices of one array into another). */
#include <string.h>

#include "ops/collective_common.h"

typedef struct partners {
  int to, from; /* -1: none */
} partners_t;

static partners_t partners_of(const op_env_t *env, const op_step_t *step) {
  partners_t partners;
  op_permute_partners(step->instr, env->num_replicas, env->num_partitions, env->rank, &partners.to, &partners.from);
  return partners;
}

/* What comes in where nobody sends is zeros. */
static hr_status_t move_one(op_env_t *env, partners_t partners, const hlo_value_t *in, hlo_value_t *out,
                            op_request_t **out_request) {
  op_block_t send = {in->data, hlo_value_bytes(in)}, recv = {out->data, hlo_value_bytes(out)};
  if (partners.from < 0 && recv.size_bytes) memset(out->data, 0, recv.size_bytes);
  return coll_permute(env, partners.to, &send, partners.from, &recv, out_request);
}

static hr_status_t move_all(op_env_t *env, partners_t partners, const coll_operands_t *operands, hlo_value_t **outs,
                            coll_window_t *window) {
  for (int k = 0; k < operands->count; k++) {
    op_request_t **request;
    HR_TRY(coll_window_room(env, window, &request));
    HR_TRY(move_one(env, partners, operands->values[k], outs[k], request));
  }
  return NULL;
}

static hr_status_t permute_all(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape, hlo_value_t *const *in,
                               hlo_value_t **out_value) {
  coll_operands_t operands = coll_operands_of(step, in);
  hlo_value_t **outs;
  HR_TRY(coll_create(env, shape, operands.count, &outs));
  coll_window_t window = {0};
  hr_status_t st = move_all(env, partners_of(env, step), &operands, outs, &window);
  st = coll_window_end(env, &window, st);
  return coll_finish(shape, st, operands.count, outs, out_value);
}

/* --- in place: (input, output, input offsets, output offsets) ---
 * Slice i of the input, at this process's input offsets, goes to the target, which puts it into its output at its own
 * output offsets. Where nobody sends, the output stays as it is. Offsets are clamped as those of dynamic-slice are. */

typedef struct slice {
  int rank;
  const int64_t *sizes;
  int64_t offset_bytes;
  int64_t strides[HLO_MAX_RANK]; /* of the array, in bytes */
  int element_bytes;
} slice_t;

/* Offset d of slice i: offsets are (o0, o1, ...) for one slice, ((o0, ...), (o0, ...)) for several, or a vector. */
static int64_t offset_at(const hlo_value_t *offsets, int64_t i, int d) {
  if (offsets->dtype != HR_TUPLE) return hlo_value_int_at(offsets, d);
  const hlo_value_t *first = offsets->elements[0];
  return first->dtype == HR_TUPLE || first->rank == 1 ? offset_at(offsets->elements[i], 0, d)
                                                      : hlo_value_int_at(offsets->elements[d], 0);
}

/* Are there as many offsets as slices and dimensions? */
static bool offsets_fit(const hlo_value_t *offsets, int64_t slices, int rank) {
  if (offsets->dtype != HR_TUPLE) return slices == 1 && offsets->count == rank;
  const hlo_value_t *first = offsets->element_count ? offsets->elements[0] : NULL;
  if (first && (first->dtype == HR_TUPLE || first->rank == 1)) {
    bool fits = offsets->element_count == slices;
    for (int i = 0; i < offsets->element_count && fits; i++) fits = offsets_fit(offsets->elements[i], 1, rank);
    return fits;
  }
  bool fits = slices == 1 && offsets->element_count == rank;
  for (int d = 0; d < rank && fits; d++) fits = offsets->elements[d]->count == 1;
  return fits;
}

static hr_status_t slice_of(const op_step_t *step, const hlo_value_t *array, const hlo_value_t *offsets, int64_t i,
                            slice_t *out_slice) {
  const hlo_int_lists_t *lists = hlo_attr_lists(step->instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
  const hr_ints_t *sizes = &lists->lists[i];
  if (array->dtype == HR_TUPLE || sizes->count != array->rank || !offsets_fit(offsets, lists->count, array->rank))
    return hlo_error(step->instr, NULL, "slice %ld has other dimensions than the array or its offsets", (long)i);
  slice_t slice = {.rank = array->rank, .sizes = sizes->data, .element_bytes = (int)hr_dtype_bytes(array->dtype)};
  loop_dense_strides(array->rank, array->dims, slice.element_bytes, slice.strides);
  for (int d = 0; d < array->rank; d++) {
    int64_t most = array->dims[d] - sizes->data[d], at = offset_at(offsets, i, d);
    if (most < 0 || sizes->data[d] < 0)
      return hlo_error(step->instr, NULL, "slice of %ld in dimension %d, which has %ld", (long)sizes->data[d], d,
                       (long)array->dims[d]);
    slice.offset_bytes += (at < 0 ? 0 : at > most ? most : at) * slice.strides[d];
  }
  *out_slice = slice;
  return NULL;
}

static size_t slice_bytes(const slice_t *slice) {
  size_t bytes = (size_t)slice->element_bytes;
  for (int d = 0; d < slice->rank; d++) bytes *= (size_t)slice->sizes[d];
  return bytes;
}

static void copy_slice(const slice_t *slice, hlo_value_t *array, char *dense, bool into_array) {
  int64_t dense_strides[HLO_MAX_RANK];
  loop_copy_t copy;
  char *at = (char *)array->data + slice->offset_bytes;
  loop_dense_strides(slice->rank, slice->sizes, slice->element_bytes, dense_strides);
  loop_copy_init(&copy, slice->element_bytes, slice->rank, slice->sizes, into_array ? slice->strides : dense_strides,
                 into_array ? dense_strides : slice->strides);
  loop_copy_run(&copy, into_array ? at : dense, into_array ? dense : at);
}

static hr_status_t move_slice(op_env_t *env, const op_step_t *step, partners_t partners, hlo_value_t *const *in,
                              int64_t i, hlo_value_t *out) {
  slice_t leaving, arriving;
  void *from = NULL, *to = NULL;
  HR_TRY(slice_of(step, in[0], in[2], i, &leaving));
  HR_TRY(slice_of(step, out, in[3], i, &arriving));
  size_t bytes = slice_bytes(&leaving);
  HR_TRY(hr_arena_alloc(env->scratch, bytes, &from));
  HR_TRY(hr_arena_alloc(env->scratch, bytes, &to));
  if (partners.to >= 0) copy_slice(&leaving, in[0], from, false);
  op_request_t *request = NULL;
  HR_TRY(coll_permute(env, partners.to, &(op_block_t){from, bytes}, partners.from, &(op_block_t){to, bytes}, &request));
  if (request) HR_TRY(env->wait(env, request));
  if (partners.from >= 0) copy_slice(&arriving, out, to, true);
  return NULL;
}

static hr_status_t permute_in_place(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                    hlo_value_t **out_value) {
  const hlo_int_lists_t *slices = hlo_attr_lists(step->instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
  if (step->instr->operand_count != 4 || in[1]->dtype == HR_TUPLE)
    return hlo_unsupported(step->instr, "an in-place permute of tuples");
  hlo_value_t *out;
  HR_TRY(op_reuse_or_copy(env, step, in, 1, &out));
  hr_status_t st = NULL;
  partners_t partners = partners_of(env, step);
  for (int64_t i = 0; i < slices->count && !st; i++) st = move_slice(env, step, partners, in, i, out);
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

/* --- the kernels --- */

static hr_status_t permute(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  const hlo_int_lists_t *slices = hlo_attr_lists(step->instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
  if (slices && slices->count) return permute_in_place(env, step, in, out_value);
  return permute_all(env, step, shape, in, out_value);
}

static hr_status_t run_collective_permute(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                          hlo_value_t **out_value) {
  return permute(env, step, step->out_shape, in, out_value);
}
const op_kernel_t kernel_collective_permute = {NULL, run_collective_permute};

static hr_status_t run_collective_permute_start(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                                hlo_value_t **out_value) {
  hlo_value_t *results;
  HR_TRY(permute(env, step, step->out_shape->elements[1], in, &results));
  return coll_finish_start(step, in, results, out_value);
}
const op_kernel_t kernel_collective_permute_start = {NULL, run_collective_permute_start};
