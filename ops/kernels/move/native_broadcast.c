/* broadcast, as copies of rows. Where rows are short, only what differs is copied from the operand;
 * repetitions are copied from the result itself, from inner to outer ones, in longer and longer
 * blocks:
 *
 *   operand [2,3] to [2, 4 times, 3]:   abc ... ... ...   def ... ... ...   each row once
 *                                       abc abc abc abc   def def def def   the rest of the block
 *
 * A short row that repeats one element is written in whole vectors. */
#include "base/arith.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/move/native_move.h"

#define SHORT_ROW_BYTES 512 /* rows below which repetitions are copied as blocks */
#define MAX_COPIES (HLO_MAX_RANK + 1)

/* One copy: the first from the operand, later ones from the start of the result. */
typedef struct broadcast_copy {
  loop_copy_t copy;
  int64_t to_offset; /* bytes */
} broadcast_copy_t;

typedef struct native_broadcast_plan {
  int copy_count;
  broadcast_copy_t copies[MAX_COPIES];
} native_broadcast_plan_t;

/* The result's dimensions: those of size 1 are left out, neighbours that are contiguous on both
 * sides merged. Strides in bytes; the operand's is 0 along repeated dimensions. */
typedef struct broadcast_dims {
  int rank;
  int64_t sizes[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK];
} broadcast_dims_t;

static void read_dims(const op_step_t *step, broadcast_dims_t *out) {
  hr_ints_t dimensions = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS);
  const hlo_shape_t *in = step->in_shapes[0], *shape = step->out_shape;
  int64_t in_strides[HLO_MAX_RANK], strides[HLO_MAX_RANK] = {0};
  loop_shape_strides(in, in_strides);
  for (int i = 0; i < in->rank; i++)
    if (in->dims[i] != 1) strides[dimensions.data[i]] = in_strides[i];
  out->rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    int last = out->rank - 1;
    if (shape->dims[d] == 1) continue;
    if (last >= 0 && out->from[last] == strides[d] * shape->dims[d]) {
      out->sizes[last] *= shape->dims[d];
      out->from[last] = strides[d];
      continue;
    }
    out->sizes[out->rank] = shape->dims[d];
    out->from[out->rank++] = strides[d];
  }
  loop_dense_strides(out->rank, out->sizes, (int64_t)hr_dtype_bytes(shape->dtype), out->to);
}

/* The first of each repeated dimension but the last one. */
static void plan_first(const broadcast_dims_t *dims, int element_bytes, bool repeats_after,
                       loop_copy_t *out) {
  int64_t sizes[HLO_MAX_RANK];
  for (int d = 0; d < dims->rank; d++)
    sizes[d] = repeats_after && dims->from[d] == 0 && d < dims->rank - 1 ? 1 : dims->sizes[d];
  loop_copy_init(out, element_bytes, dims->rank, sizes, dims->to, dims->from);
}

/* Repetitions along dimension `along` of the block within it, for the first of each repeated
 * dimension around it. */
static void plan_repetition(const broadcast_dims_t *dims, int element_bytes, int along,
                            broadcast_copy_t *out) {
  int64_t sizes[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
  for (int d = 0; d < along; d++) {
    sizes[d] = dims->from[d] == 0 ? 1 : dims->sizes[d];
    to[d] = from[d] = dims->to[d];
  }
  sizes[along] = dims->sizes[along] - 1;
  to[along] = out->to_offset = dims->to[along];
  from[along] = 0;
  sizes[along + 1] = dims->to[along] / element_bytes;
  to[along + 1] = from[along + 1] = element_bytes;
  loop_copy_init(&out->copy, element_bytes, along + 2, sizes, to, from);
}

static hr_status_t prepare_broadcast(const op_native_target_t *target, const op_step_t *step,
                                     op_native_step_t *out) {
  int element_bytes = (int)hr_dtype_bytes(step->out_shape->dtype);
  native_broadcast_plan_t *plan;
  broadcast_dims_t dims;
  int64_t count;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(hlo_shape_count(step->out_shape, &count));
  read_dims(step, &dims);
  int64_t row_bytes = dims.rank ? dims.sizes[dims.rank - 1] * element_bytes : 0;
  bool repeats_after = count > 0 && row_bytes < SHORT_ROW_BYTES;
  plan_first(&dims, element_bytes, false, &plan->copies[0].copy);
  if (!native_moves_rows(&plan->copies[0].copy)) return NULL;
  plan_first(&dims, element_bytes, repeats_after, &plan->copies[0].copy);
  plan->copy_count = 1;
  for (int d = dims.rank - 2; d >= 0 && repeats_after; d--)
    if (dims.from[d] == 0)
      plan_repetition(&dims, element_bytes, d, &plan->copies[plan->copy_count++]);
  out->plan = plan;
  out->bytes = 2.0 * (double)count * element_bytes;
  return NULL;
}

static hr_status_t run_broadcast(const op_native_run_t *run, const void *plan_, void *const *in,
                                 void *const *out) {
  const native_broadcast_plan_t *plan = plan_;
  for (int k = 0; k < plan->copy_count; k++)
    native_copy_strided(run->workers, &plan->copies[k].copy,
                        (char *)out[0] + plan->copies[k].to_offset, k ? out[0] : in[0]);
  return NULL;
}

const op_native_t native_broadcast = {"broadcast", prepare_broadcast, run_broadcast};
