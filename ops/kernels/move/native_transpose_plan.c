/* Planning of transposes, and the op: merges dimensions, chooses one of the forms of
 * native_transpose.c, and sets sizes and loops. Declines where generated code is faster. */
#include "ops/kernels/move/native_transpose_plan.h"

#include <stdlib.h>

#include "base/arith.h"
#include "base/mem.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"

enum {
  LINES_BYTES = 128,      /* side along the result's rows with non-temporal stores */
  SHORT_DIM = 4,          /* most streams that are interleaved */
  LONG_STREAM = 16,       /* least elements of a stream */
  SHORT_RUN_BYTES = 64,   /* longest run copied by fixed-size moves */
  FAR_BYTES = 1 << 12,    /* stride whose rows map to the same sets of the L1 cache */
  LONG_SIDE = 8,          /* least side of planes in the form of tiles; twice this for bytes */
  PLANE_ELEMENTS = 128,   /* least elements of such a plane */
  MANY_ELEMENTS = 1 << 12 /* elements of an array that justify the compilation of a kernel */
};

/* Merged dimensions in the order of the result, outermost first. Strides in elements. */
typedef struct transpose_dims {
  int rank;
  int64_t dims[HLO_MAX_RANK];
  int64_t to[HLO_MAX_RANK];   /* strides in the result */
  int64_t from[HLO_MAX_RANK]; /* strides in the operand */
} transpose_dims_t;

/* Drops dimensions of size 1 and merges neighbours that are contiguous in both arrays. */
static void merge_dims(int rank, const int64_t *dims, const int64_t *strides, transpose_dims_t *t) {
  t->rank = 0;
  for (int d = 0; d < rank; d++) {
    if (dims[d] == 1) continue;
    int last = t->rank - 1;
    if (last >= 0 && t->from[last] == strides[d] * dims[d]) {
      t->dims[last] *= dims[d];
      t->from[last] = strides[d];
    } else {
      t->dims[t->rank] = dims[d];
      t->from[t->rank++] = strides[d];
    }
  }
  loop_dense_strides(t->rank, t->dims, 1, t->to);
}

static void remove_dim(transpose_dims_t *t, int at) {
  t->rank--;
  for (int d = at; d < t->rank; d++) {
    t->dims[d] = t->dims[d + 1];
    t->to[d] = t->to[d + 1];
    t->from[d] = t->from[d + 1];
  }
}

static void plan_outer(native_transpose_plan_t *plan, const transpose_dims_t *t, int64_t bytes) {
  int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK];
  for (int d = 0; d < t->rank; d++) {
    to[d] = t->to[d] * bytes;
    from[d] = t->from[d] * bytes;
  }
  loop_nest_init(&plan->outer, t->rank, t->dims, 2, (const int64_t *[]){to, from},
                 LOOP_PROGRAM_ORDER);
  plan->units *= loop_row_total(&plan->outer) * plan->outer.row_count;
}

/* If the last dimension is dense in both arrays and its run is 2, 4, 8 or 16 bytes, the run becomes
 * the moved element. Returns false if runs of another size remain. */
static bool merge_run_into_element(transpose_dims_t *t, int64_t *bytes) {
  int last = t->rank - 1;
  if (last < 0 || t->from[last] != 1) return true;
  int64_t run = t->dims[last];
  if (run * *bytes > 16 || (run & (run - 1))) return false;
  remove_dim(t, last);
  for (int d = 0; d < t->rank; d++) {
    t->to[d] /= run;
    t->from[d] /= run;
  }
  *bytes *= run;
  return true;
}

static int dense_dim(const transpose_dims_t *t) {
  int dense = 0;
  while (llabs(t->from[dense]) != 1) dense++;
  return dense;
}

/* Lets reversed dimensions begin at their ends. The one that is dense in the operand is read
 * forwards and written backwards instead. */
static void begin_at_ends(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  for (int d = 0; d < t->rank; d++) {
    if (t->from[d] >= 0) continue;
    if (t->from[d] == -1) {
      plan->to_offset += (t->dims[d] - 1) * t->to[d] * bytes;
      t->to[d] = -t->to[d];
      t->from[d] = 1;
    } else {
      plan->from_offset -= (t->dims[d] - 1) * t->from[d] * bytes;
    }
  }
}

static bool is_short_dim(int64_t count, int64_t bytes) {
  return count >= 2 && count <= SHORT_DIM && bytes <= 8;
}

static bool interleaves(const transpose_dims_t *t, int64_t bytes) {
  int dense = dense_dim(t), last = t->rank - 1;
  return is_short_dim(t->dims[last], bytes) && t->to[dense] == t->dims[last] &&
         t->dims[dense] >= LONG_STREAM;
}

static bool deinterleaves(const transpose_dims_t *t, int64_t bytes) {
  int dense = dense_dim(t), last = t->rank - 1;
  return !interleaves(t, bytes) && is_short_dim(t->dims[dense], bytes) &&
         t->from[last] == t->dims[dense];
}

/* True if every row of the result is a whole number of cache lines, given an aligned result. */
static bool rows_are_cache_lines(const transpose_dims_t *t, int64_t bytes) {
  bool are_lines = t->dims[t->rank - 1] * bytes % 64 == 0;
  for (int d = 0; d < t->rank - 1; d++) are_lines &= t->to[d] * bytes % 64 == 0;
  return are_lines;
}

static void plan_tiles(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int dense = dense_dim(t), last = t->rank - 1;
  plan->element_bytes = (int)bytes;
  plan->i_count = t->dims[dense];
  plan->i_stride = t->to[dense] * bytes;
  plan->j_count = t->dims[last];
  plan->j_stride = t->from[last] * bytes;
  plan->whole_lines =
      plan->nontemporal && simd_width() != SIMD_128 && rows_are_cache_lines(t, bytes);
  plan->buffered = plan->nontemporal ? !plan->whole_lines : plan->i_stride % FAR_BYTES == 0;
  plan->j_side = (plan->whole_lines ? LINES_BYTES : TRANSPOSE_SIDE_BYTES) / bytes;
  plan->i_side = plan->nontemporal || plan->buffered
                     ? hr_min(TRANSPOSE_SIDE_BYTES / bytes, TRANSPOSE_MAX_ROWS)
                     : TRANSPOSE_SIDE_BYTES / bytes;
  plan->interleaves = interleaves(t, bytes);
  plan->deinterleaves = deinterleaves(t, bytes);
  plan->copy =
      plan->interleaves || plan->deinterleaves ? transpose_copy_streams : transpose_copy_tiles;
  plan->units = plan->copy == transpose_copy_tiles
                    ? transpose_tile_row_count(plan) * transpose_tile_column_count(plan)
                    : 1;
  remove_dim(t, last);
  remove_dim(t, dense);
  plan_outer(plan, t, bytes);
}

static void swap_dims(transpose_dims_t *t, int a, int b) {
  transpose_dims_t old = *t;
  t->dims[a] = old.dims[b];
  t->dims[b] = old.dims[a];
  t->to[a] = old.to[b];
  t->to[b] = old.to[a];
  t->from[a] = old.from[b];
  t->from[b] = old.from[a];
}

/* Orders the outer loops by the operand's strides: reads are then sequential, while non-temporal
 * stores of whole runs may go anywhere. */
static void sort_dims(transpose_dims_t *t) {
  for (int d = 1; d < t->rank; d++)
    for (int e = d; e > 0 && llabs(t->from[e]) > llabs(t->from[e - 1]); e--) swap_dims(t, e, e - 1);
}

static void plan_runs(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int last = t->rank - 1;
  plan->run_bytes = (last < 0 ? 1 : t->dims[last]) * bytes;
  bool is_short = plan->run_bytes <= SHORT_RUN_BYTES;
  plan->nontemporal &= !is_short;
  plan->copy = is_short ? transpose_copy_short_runs : transpose_copy_runs;
  plan->units = 1;
  if (last >= 0) remove_dim(t, last);
  if (plan->nontemporal) sort_dims(t);
  plan_outer(plan, t, bytes);
  if (is_short) plan->units = loop_row_total(&plan->outer);
}

static bool is_any_reversed(const transpose_dims_t *t) {
  for (int d = 0; d < t->rank; d++)
    if (t->from[d] < 0) return true;
  return false;
}

/* True for planes with enough elements: small ones leave tiles half empty; elements of 16 bytes are
 * moved singly anyway. */
static bool are_planes_large(const transpose_dims_t *t, int64_t bytes) {
  int64_t i_count = t->dims[dense_dim(t)], j_count = t->dims[t->rank - 1];
  int64_t side = bytes == 1 ? 2 * LONG_SIDE : LONG_SIDE;
  if (bytes == sizeof(wide_element_t)) return i_count * j_count >= 2 * LONG_SIDE;
  return hr_min(i_count, j_count) >= side && i_count * j_count >= PLANE_ELEMENTS;
}

/* True if one of the forms here is faster than generated code: runs, unless the op only reverses;
 * streams, if they are long and not reversed; tiles, if planes are large. */
static bool is_faster_than_codegen(const transpose_dims_t *t, int64_t bytes, bool are_runs) {
  int last = t->rank - 1;
  if (are_runs) return !is_any_reversed(t) || (t->rank > 1 && t->from[last] == 1);
  int dense = dense_dim(t);
  bool is_reversed = t->from[dense] < 0 || t->from[last] < 0;
  if (!is_reversed && (interleaves(t, bytes) || deinterleaves(t, bytes)))
    return hr_max(t->dims[dense], t->dims[last]) >= LONG_STREAM;
  return dense != last && are_planes_large(t, bytes);
}

/* is_optional: *out_plan is NULL if generated code is faster. */
static hr_status_t make_plan(hr_arena_t *arena, int element_bytes, int rank, const int64_t *dims,
                             const int64_t *strides, bool is_optional,
                             const native_transpose_plan_t **out_plan) {
  native_transpose_plan_t *plan;
  transpose_dims_t t;
  int64_t bytes = element_bytes;
  HR_TRY(HR_NEW(arena, &plan));
  plan->bytes = element_bytes;
  for (int d = 0; d < rank; d++) plan->bytes *= dims[d];
  plan->nontemporal = plan->bytes >= NATIVE_STREAM_BYTES;
  *out_plan = plan;
  if (plan->bytes == 0) return NULL;
  merge_dims(rank, dims, strides, &t);
  bool are_runs = t.rank < 2 || !merge_run_into_element(&t, &bytes) || t.rank < 2;
  if (is_optional && !is_faster_than_codegen(&t, bytes, are_runs)) {
    *out_plan = NULL;
    return NULL;
  }
  begin_at_ends(plan, &t, bytes);
  if (are_runs)
    plan_runs(plan, &t, bytes);
  else
    plan_tiles(plan, &t, bytes);
  return NULL;
}

hr_status_t native_transpose_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                      const int64_t *dims, const int64_t *strides,
                                      const native_transpose_plan_t **out_plan) {
  return make_plan(arena, element_bytes, rank, dims, strides, false, out_plan);
}

hr_status_t native_transpose_optional_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                               const int64_t *dims, const int64_t *strides,
                                               const native_transpose_plan_t **out_plan) {
  return make_plan(arena, element_bytes, rank, dims, strides, true, out_plan);
}

/* True if code can be generated, for enough elements to justify its compilation. */
static bool can_decline(const op_native_target_t *target, const op_step_t *step) {
  return target->generated && op_can_codegen(step->instr) &&
         fusion_count(step->out_shape) >= MANY_ELEMENTS;
}

static hr_status_t prepare_transpose(const op_native_target_t *target, const op_step_t *step,
                                     op_native_step_t *out) {
  static const uint64_t in_place[] = {1};
  const hlo_shape_t *in = step->in_shapes[0], *shape = step->out_shape;
  const int64_t *order = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data;
  const native_transpose_plan_t *plan;
  int64_t dense[HLO_MAX_RANK], strides[HLO_MAX_RANK];
  loop_dense_strides(in->rank, in->dims, 1, dense);
  for (int d = 0; d < shape->rank; d++) strides[d] = dense[order[d]];
  HR_TRY(make_plan(target->arena, (int)hr_dtype_bytes(shape->dtype), shape->rank, shape->dims,
                   strides, can_decline(target, step), &plan));
  if (!plan) return NULL;
  out->plan = plan;
  out->bytes = 2.0 * (double)plan->bytes;
  if (plan->bytes > 0 && plan->run_bytes == plan->bytes) out->reuse = in_place;
  return NULL;
}

static hr_status_t run_transpose(const op_native_run_t *run, const void *plan, void *const *in,
                                 void *const *out) {
  native_transpose_run(run->workers, plan, out[0], in[0]);
  return NULL;
}

const op_native_t native_transpose = {"transpose", prepare_transpose, run_transpose};
