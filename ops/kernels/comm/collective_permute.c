/* collective-permute: plain, of several arrays, and in place (slices of one array into another).
 * Each process sends to at most one target and receives from at most one source, as the pairs say.
 * A process without a source gets zeros (plain) or keeps its output (in place). A process may be
 * its own partner. Each array of a tuple is a request of its own. */
#include <string.h>

#include "ops/kernels/comm/collective_common.h"

#include "base/arith.h"

typedef struct partners {
  int to, from;   /* -1: none */
  int64_t stream; /* transfers of one stream match in order; different streams are independent */
} partners_t;

/* Permutes of equal pairs and channel form one stream: both ends start them in the same order,
 * whatever other collectives run between them. */
static int64_t stream_of(const hlo_instr_t *instr) {
  const hlo_int_lists_t *pairs = hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS);
  uint64_t stream = (uint64_t)hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
  for (int64_t i = 0; pairs && i < pairs->count; i++)
    stream = hr_hash_bytes(pairs->lists[i].data, (size_t)pairs->lists[i].count * sizeof(int64_t),
                           stream + 1);
  return (int64_t)stream;
}

/* The rank to send to and the one to receive from; -1: none. */
static partners_t partners_of(const op_env_t *env, const op_step_t *step) {
  partners_t partners;
  op_permute_partners(step->instr, env->num_replicas, env->num_partitions, env->rank, &partners.to,
                      &partners.from);
  partners.stream = stream_of(step->instr);
  return partners;
}

/* Sends one array and receives one; without a source the result is zeros. */
static hr_status_t move_one(op_env_t *env, partners_t partners, const hlo_value_t *in,
                            hlo_value_t *out, op_request_t **out_request) {
  hr_block_t send = {in->data, hlo_value_bytes(in)}, recv = {out->data, hlo_value_bytes(out)};
  if (partners.from < 0 && recv.size_bytes) memset(out->data, 0, recv.size_bytes);
  return coll_permute(env, partners.stream, partners.to, &send, partners.from, &recv, out_request);
}

/* Result arrays, one per leaf: operands may be nested tuples of arrays. */
static hr_status_t create_arrays(op_env_t *env, const op_transfer_t *transfer,
                                 const hlo_shape_t *shape, int count, hlo_value_t **outs) {
  for (int k = 0; k < count; k++)
    HR_TRY(coll_result(env, transfer, hlo_shape_leaf(shape, k), k, &outs[k]));
  return NULL;
}

/* Permutes each leaf with a request of its own. */
static hr_status_t permute_arrays(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t *const *outs, op_transfer_t *transfer) {
  partners_t partners = partners_of(env, step);
  for (int k = 0, made = 0; k < step->instr->operand_count; k++) {
    int leaves = hlo_value_leaf_count(in[k]);
    for (int leaf = 0; leaf < leaves; leaf++, made++) {
      op_request_t **request;
      HR_TRY(op_transfer_add_request(env, transfer, &request));
      HR_TRY(move_one(env, partners, hlo_value_leaf(in[k], leaf), outs[made], request));
    }
  }
  return NULL;
}

/* Results are new arrays, zeros on a process without a source. */
static hr_status_t permute_all(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                               hlo_value_t *const *in, op_transfer_t *transfer) {
  int count = hlo_shape_leaf_count(shape);
  hlo_value_t **outs;
  HR_TRY(HR_NEW_ARRAY(transfer->arena, count, &outs));
  hr_status_t st = create_arrays(env, transfer, shape, count, outs);
  if (!st) st = hlo_value_unflatten(shape, outs, &transfer->value);
  for (int k = 0; k < count; k++) hlo_value_release(outs[k]); /* transfer->value holds them */
  return st ? st : permute_arrays(env, step, in, outs, transfer);
}

/* --- in place: (input, output, input offsets, output offsets) --- Slice i of the input, at this
 * process's input offsets, goes to the target, which puts it into its output at its own output
 * offsets. Without a source, the output keeps its contents. Slices arrive in buffers of their own
 * and are copied into the output, in order, when all have arrived. Offsets are clamped as those of
 * dynamic-slice. */

/* Position of one slice in its array. */
typedef struct slice {
  int rank;
  const int64_t *sizes;
  int64_t offset_bytes;
  int64_t strides[HLO_MAX_RANK]; /* strides of the array, in bytes */
  int element_bytes;
} slice_t;

/* Offset of slice i in dimension d: offsets are (o0, o1, ...) for one slice, ((o0, ...), (o0, ...))
 * for several, or a vector. */
static int64_t offset_at(const hlo_value_t *offsets, int64_t i, int d) {
  if (offsets->dtype != HR_TUPLE) return hlo_value_int_at(offsets, d);
  const hlo_value_t *first = offsets->elements[0];
  return first->dtype == HR_TUPLE || first->rank == 1 ? offset_at(offsets->elements[i], 0, d)
                                                      : hlo_value_int_at(offsets->elements[d], 0);
}

/* True if there are as many offsets as slices and dimensions. */
static bool offsets_fit(const hlo_value_t *offsets, int64_t slices, int rank) {
  if (offsets->dtype != HR_TUPLE) return slices == 1 && offsets->count == rank;
  const hlo_value_t *first = offsets->element_count ? offsets->elements[0] : NULL;
  if (first && (first->dtype == HR_TUPLE || first->rank == 1)) {
    bool fits = offsets->element_count == slices;
    for (int i = 0; i < offsets->element_count && fits; i++)
      fits = offsets_fit(offsets->elements[i], 1, rank);
    return fits;
  }
  bool fits = slices == 1 && offsets->element_count == rank;
  for (int d = 0; d < rank && fits; d++) fits = offsets->elements[d]->count == 1;
  return fits;
}

/* Slice i of an array, with its start clamped so that it lies within. Errors: INVALID for sizes
 * that do not fit. */
static hr_status_t slice_of(const op_step_t *step, const hlo_value_t *array,
                            const hlo_value_t *offsets, int64_t i, slice_t *out_slice) {
  const hlo_int_lists_t *lists = hlo_attr_lists(step->instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
  const hr_ints_t *sizes = &lists->lists[i];
  if (array->dtype == HR_TUPLE || sizes->count != array->rank ||
      !offsets_fit(offsets, lists->count, array->rank))
    return hlo_error(step->instr, NULL,
                     "slice %ld has other dimensions than the array or its offsets", (long)i);
  slice_t slice = {.rank = array->rank,
                   .sizes = sizes->data,
                   .element_bytes = (int)hr_dtype_bytes(array->dtype)};
  loop_dense_strides(array->rank, array->dims, slice.element_bytes, slice.strides);
  for (int d = 0; d < array->rank; d++) {
    int64_t most = array->dims[d] - sizes->data[d], at = offset_at(offsets, i, d);
    if (most < 0 || sizes->data[d] < 0)
      return hlo_error(step->instr, NULL, "slice of %ld in dimension %d, which has %ld",
                       (long)sizes->data[d], d, (long)array->dims[d]);
    slice.offset_bytes += hr_max(0, hr_min(at, most)) * slice.strides[d];
  }
  *out_slice = slice;
  return NULL;
}

static size_t slice_bytes(const slice_t *slice) {
  size_t bytes = (size_t)slice->element_bytes;
  for (int d = 0; d < slice->rank; d++) bytes *= (size_t)slice->sizes[d];
  return bytes;
}

/* Copies between a slice of an array and dense memory, in either direction. */
static void copy_slice(const slice_t *slice, hlo_value_t *array, char *dense, bool into_array) {
  int64_t dense_strides[HLO_MAX_RANK];
  loop_copy_t copy;
  char *at = (char *)array->data + slice->offset_bytes;
  loop_dense_strides(slice->rank, slice->sizes, slice->element_bytes, dense_strides);
  loop_copy_init(&copy, slice->element_bytes, slice->rank, slice->sizes,
                 into_array ? slice->strides : dense_strides,
                 into_array ? dense_strides : slice->strides);
  if (into_array)
    loop_copy_run(&copy, at, dense);
  else
    loop_copy_run(&copy, dense, at);
}

typedef struct moved {
  slice_t arriving;
  void *dense; /* NULL: nothing arrives */
} moved_t;

/* Slices are sent from dense copies and arrive in dense memory, as the array may still be read
 * until all have been sent. */
static hr_status_t move_slice(op_env_t *env, const op_step_t *step, partners_t partners,
                              hlo_value_t *const *in, int64_t i, moved_t *moved,
                              op_transfer_t *transfer) {
  slice_t leaving;
  void *from = NULL, *to = NULL;
  op_request_t **request;
  HR_TRY(slice_of(step, in[0], in[2], i, &leaving));
  HR_TRY(slice_of(step, transfer->value, in[3], i, &moved->arriving));
  size_t bytes = slice_bytes(&leaving);
  HR_TRY(coll_scratch(env, transfer, bytes, &from));
  HR_TRY(coll_scratch(env, transfer, bytes, &to));
  if (partners.to >= 0) copy_slice(&leaving, in[0], from, false);
  if (partners.from >= 0) moved->dense = to;
  HR_TRY(op_transfer_add_request(env, transfer, &request));
  return coll_permute(env, partners.stream, partners.to, &(hr_block_t){from, bytes}, partners.from,
                      &(hr_block_t){to, bytes}, request);
}

/* Copies received slices into the output; the list ends with an entry without sizes. */
static hr_status_t place_slices(op_env_t *env, op_transfer_t *transfer) {
  (void)env;
  for (const moved_t *moved = transfer->context; moved->arriving.sizes; moved++)
    if (moved->dense) copy_slice(&moved->arriving, transfer->value, moved->dense, true);
  return NULL;
}

/* (input, output, input offsets, output offsets): parts of the output are replaced. */
static hr_status_t permute_in_place(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                    op_transfer_t *transfer) {
  const hlo_int_lists_t *slices = hlo_attr_lists(step->instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
  moved_t *moved;
  if (step->instr->operand_count != 4 || in[1]->dtype == HR_TUPLE)
    return hlo_unsupported(step->instr, "an in-place permute of tuples");
  HR_TRY(HR_NEW_ARRAY(transfer->arena, slices->count + 1, &moved));
  HR_TRY(op_reuse_or_copy(env, step, in, 1, &transfer->value));
  transfer->context = moved;
  transfer->finish = place_slices;
  partners_t partners = partners_of(env, step);
  for (int64_t i = 0; i < slices->count; i++)
    HR_TRY(move_slice(env, step, partners, in, i, &moved[i], transfer));
  return NULL;
}

/* --- the kernels --- */

static hr_status_t begin_permute(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                 hlo_value_t *const *in, op_transfer_t *transfer) {
  const hlo_int_lists_t *slices = hlo_attr_lists(step->instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
  if (slices && slices->count) return permute_in_place(env, step, in, transfer);
  return permute_all(env, step, shape, in, transfer);
}

static hr_status_t run_collective_permute(op_env_t *env, const op_step_t *step,
                                          hlo_value_t *const *in, hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_permute, in, out_value);
}
const op_kernel_t kernel_collective_permute = {NULL, run_collective_permute};

static hr_status_t run_collective_permute_start(op_env_t *env, const op_step_t *step,
                                                hlo_value_t *const *in, hlo_value_t **out_value) {
  return coll_start(env, step, begin_permute, in, out_value);
}
const op_kernel_t kernel_collective_permute_start = {NULL, run_collective_permute_start};
