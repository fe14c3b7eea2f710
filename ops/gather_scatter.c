/* Gather and scatter. Both walk the places of an index array; each place names, by a vector of start indices, a window
 * of the operand. Gather copies the windows out; scatter combines updates into them. */
#include "ops/accumulate.h"
#include "ops/indices.h"
#include "ops/loops.h"
#include "ops/outputs.h"
#include "ops/promote.h"

/* How an index vector becomes a place in the operand, for gather and scatter alike. The batch nest goes over the places
 * of the index array in row-major order. All units are elements. */
typedef struct window_places {
  loop_nest_t
      batch; /* operands: 0 the other array (result, updates), 1 indices, 2 the operand (by batching dimensions) */
  int vector_size;
  int64_t vector_stride;               /* between the components of an index vector */
  int64_t operand_dim[HLO_MAX_RANK];   /* that component i starts */
  int64_t operand_limit[HLO_MAX_RANK]; /* largest start at which the window fits; negative: it never does */
  int64_t operand_stride[HLO_MAX_RANK];
} window_places_t;

/* The attributes of the two ops under common names. */
typedef struct window_dims {
  hr_ints_t window;                     /* dimensions of the other array that are the window's */
  hr_ints_t dropped;                    /* operand dimensions of window size 1 that the other array lacks */
  hr_ints_t start_map;                  /* component i of an index vector is the start in this operand dimension */
  hr_ints_t batching, indices_batching; /* pairs of an operand dimension and a dimension of the index array */
  int64_t vector_dim;
} window_dims_t;

static bool contains(hr_ints_t list, int64_t value) {
  for (int64_t i = 0; i < list.count; i++)
    if (list.data[i] == value) return true;
  return false;
}

/* sizes: of the window, per operand dimension. */
static void plan_places(window_places_t *places, const window_dims_t *dims, const hlo_shape_t *operand,
                        const hlo_shape_t *indices, const hlo_shape_t *other, const int64_t *sizes) {
  int64_t operand_strides[HLO_MAX_RANK], index_strides[HLO_MAX_RANK], other_strides[HLO_MAX_RANK];
  loop_dense_strides(operand->rank, operand->dims, 1, operand_strides);
  loop_dense_strides(indices->rank, indices->dims, 1, index_strides);
  loop_dense_strides(other->rank, other->dims, 1, other_strides);
  int64_t batch_dims[HLO_MAX_RANK], strides[3][HLO_MAX_RANK] = {{0}};
  int rank = 0, other_dim = 0;
  for (int d = 0; d < indices->rank; d++) {
    if (d == dims->vector_dim) continue;
    while (contains(dims->window, other_dim)) other_dim++;
    batch_dims[rank] = indices->dims[d];
    strides[0][rank] = other_strides[other_dim++];
    strides[1][rank] = index_strides[d];
    for (int64_t i = 0; i < dims->batching.count; i++)
      if (dims->indices_batching.data[i] == d) strides[2][rank] = operand_strides[dims->batching.data[i]];
    rank++;
  }
  loop_nest_init(&places->batch, rank, batch_dims, 3, (const int64_t *[]){strides[0], strides[1], strides[2]},
                 LOOP_PROGRAM_ORDER);
  places->vector_size = (int)dims->start_map.count;
  places->vector_stride = dims->vector_dim < indices->rank ? index_strides[dims->vector_dim] : 0;
  for (int i = 0; i < places->vector_size; i++) {
    int64_t d = dims->start_map.data[i];
    places->operand_dim[i] = d;
    places->operand_limit[i] = operand->dims[d] - sizes[d];
    places->operand_stride[i] = operand_strides[d];
  }
}

/* Strides of the window's own dimensions, in the order of the other array, in elements. Returns how many there are. */
static int window_strides(const window_dims_t *dims, const hlo_shape_t *operand, const hlo_shape_t *other,
                          int64_t *out_dims, int64_t *out_operand_strides, int64_t *out_other_strides) {
  int64_t operand_strides[HLO_MAX_RANK], other_strides[HLO_MAX_RANK];
  loop_dense_strides(operand->rank, operand->dims, 1, operand_strides);
  loop_dense_strides(other->rank, other->dims, 1, other_strides);
  int count = 0;
  for (int d = 0; d < operand->rank; d++) {
    if (contains(dims->dropped, d) || contains(dims->batching, d)) continue;
    int64_t other_dim = dims->window.data[count];
    out_dims[count] = other->dims[other_dim];
    out_operand_strides[count] = operand_strides[d];
    out_other_strides[count++] = other_strides[other_dim];
  }
  return count;
}

/* Start of a window in the operand, moved so that the window fits. */
static int64_t clamped_place(const window_places_t *places, const int64_t *vector) {
  int64_t place = 0;
  for (int i = 0; i < places->vector_size; i++) {
    int64_t start = vector[i * places->vector_stride], limit = places->operand_limit[i];
    place += (start < 0 ? 0 : start > limit ? limit : start) * places->operand_stride[i];
  }
  return place;
}

/* The same for a window that must lie inside as it is; false if it does not. */
static bool strict_place(const window_places_t *places, const int64_t *vector, int64_t *out_place) {
  int64_t place = 0;
  for (int i = 0; i < places->vector_size; i++) {
    int64_t start = vector[i * places->vector_stride];
    if (start < 0 || start > places->operand_limit[i]) return false;
    place += start * places->operand_stride[i];
  }
  *out_place = place;
  return true;
}

/* Gather */
typedef struct gather_plan {
  window_places_t places;
  loop_copy_t copy; /* one window to the result */
} gather_plan_t;

static window_dims_t gather_dims(const hlo_instr_t *instr) {
  return (window_dims_t){
      .window = hlo_attr_ints(instr, HLO_ATTR_OFFSET_DIMS),
      .dropped = hlo_attr_ints(instr, HLO_ATTR_COLLAPSED_SLICE_DIMS),
      .start_map = hlo_attr_ints(instr, HLO_ATTR_START_INDEX_MAP),
      .batching = hlo_attr_ints(instr, HLO_ATTR_OPERAND_BATCHING_DIMS),
      .indices_batching = hlo_attr_ints(instr, HLO_ATTR_START_INDICES_BATCHING_DIMS),
      .vector_dim = hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM),
  };
}

static hr_status_t prepare_gather(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_shape_t *operand = step->in_shapes[0], *out = step->out_shape;
  window_dims_t dims = gather_dims(step->instr);
  int bytes = (int)hr_dtype_bytes(out->dtype);
  gather_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  plan_places(&plan->places, &dims, operand, step->in_shapes[1], out,
              hlo_attr_ints(step->instr, HLO_ATTR_SLICE_SIZES).data);
  int64_t sizes[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK];
  int rank = window_strides(&dims, operand, out, sizes, from, to);
  for (int d = 0; d < rank; d++) from[d] *= bytes, to[d] *= bytes;
  loop_copy_init(&plan->copy, bytes, rank, sizes, to, from);
  *out_plan = plan;
  return NULL;
}

static void copy_window(const loop_copy_t *copy, char *to, const char *from) {
  const loop_nest_t *nest = &copy->nest;
  if (nest->rank || copy->cross_count)
    loop_copy_run(copy, to, from);
  else
    loop_copy_row(to, from, nest->row_count, nest->row_strides[0], nest->row_strides[1], copy->element_bytes);
}

static void gather_row(const gather_plan_t *plan, const loop_walk_t *walk, char *to, const int64_t *indices,
                       const char *from) {
  const loop_nest_t *batch = &plan->places.batch;
  int64_t bytes = plan->copy.element_bytes;
  for (int64_t i = 0; i < batch->row_count; i++) {
    const int64_t *vector = indices + walk->at[1] + i * batch->row_strides[1];
    int64_t place = clamped_place(&plan->places, vector) + walk->at[2] + i * batch->row_strides[2];
    copy_window(&plan->copy, to + (walk->at[0] + i * batch->row_strides[0]) * bytes, from + place * bytes);
  }
}

static hr_status_t run_gather(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  const gather_plan_t *plan = step->plan;
  const int64_t *indices;
  HR_TRY(op_indices_load(env, in[1], &indices));
  HR_TRY(op_output(env, step, out_value));
  if (plan->copy.nest.empty) return NULL;
  for (loop_walk_t walk = loop_walk_first(&plan->places.batch); walk.live; loop_walk_next(&plan->places.batch, &walk))
    gather_row(plan, &walk, (*out_value)->data, indices, in[0]->data);
  return NULL;
}
const op_kernel_t kernel_gather = {prepare_gather, run_gather};

/* Scatter: windows one after the other in the order of the index array, so that of two updates of one element the later
 * one sees the earlier. Elements of one window never coincide: each row of it is one call of the body. */
typedef struct scatter_plan {
  window_places_t places;
  loop_nest_t window; /* operands: 0 the operand, 1 the updates; in elements */
  accumulate_plan_t body;
  promote_plan_t promote;
  bool overwrite; /* each result is its update: rows are copied */
  bool never_fits;
} scatter_plan_t;

static window_dims_t scatter_dims(const hlo_instr_t *instr) {
  return (window_dims_t){
      .window = hlo_attr_ints(instr, HLO_ATTR_UPDATE_WINDOW_DIMS),
      .dropped = hlo_attr_ints(instr, HLO_ATTR_INSERTED_WINDOW_DIMS),
      .start_map = hlo_attr_ints(instr, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
      .batching = hlo_attr_ints(instr, HLO_ATTR_INPUT_BATCHING_DIMS),
      .indices_batching = hlo_attr_ints(instr, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS),
      .vector_dim = hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM),
  };
}

static hr_status_t plan_scatter_body(hr_arena_t *arena, const op_step_t *step, scatter_plan_t *plan) {
  int parameter, count = (step->instr->operand_count - 1) / 2, *param_of;
  HR_TRY(accumulate_prepare(arena, step->instr->called[0], count, false, &plan->body));
  plan->overwrite = count == 1 && op_body_is_parameter(plan->body.body, &parameter) && parameter == 1;
  HR_TRY(HR_NEW_ARRAY(arena, 2 * count + 1, &param_of));
  param_of[count] = -1;
  for (int k = 0; k < count; k++) param_of[k] = k, param_of[count + 1 + k] = count + k;
  return promote_prepare(arena, step, plan->body.body, param_of, &plan->promote);
}

static hr_status_t prepare_scatter(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  int count = (step->instr->operand_count - 1) / 2;
  const hlo_shape_t *operand = step->in_shapes[0], *updates = step->in_shapes[count + 1];
  window_dims_t dims = scatter_dims(step->instr);
  int64_t sizes[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK], window[HLO_MAX_RANK];
  scatter_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  int rank = window_strides(&dims, operand, updates, sizes, to, from), next = 0;
  for (int d = 0; d < operand->rank; d++) {
    window[d] = contains(dims.dropped, d) || contains(dims.batching, d) ? 1 : sizes[next++];
    plan->never_fits |= window[d] > operand->dims[d];
  }
  plan_places(&plan->places, &dims, operand, step->in_shapes[count], updates, window);
  loop_nest_init(&plan->window, rank, sizes, 2, (const int64_t *[]){to, from}, LOOP_ANY_ORDER);
  *out_plan = plan;
  return plan_scatter_body(arena, step, plan);
}

static hr_status_t scatter_row(const scatter_plan_t *plan, accumulate_t *acc, int64_t to, int64_t from) {
  const loop_nest_t *window = &plan->window;
  if (!plan->overwrite)
    return accumulate_row(acc, window->row_count, to, window->row_strides[0], from, window->row_strides[1]);
  int64_t bytes = (int64_t)plan->body.bytes[0];
  loop_copy_row(acc->to[0] + to * bytes, acc->from[0] + from * bytes, window->row_count, window->row_strides[0] * bytes,
                window->row_strides[1] * bytes, (int)bytes);
  return NULL;
}

static hr_status_t scatter_window(const scatter_plan_t *plan, accumulate_t *acc, int64_t to, int64_t from) {
  const loop_nest_t *window = &plan->window;
  if (window->rank == 0) return scatter_row(plan, acc, to, from);
  for (loop_walk_t walk = loop_walk_first(window); walk.live; loop_walk_next(window, &walk))
    HR_TRY(scatter_row(plan, acc, to + walk.at[0], from + walk.at[1]));
  return NULL;
}

static hr_status_t scatter_all(const scatter_plan_t *plan, accumulate_t *acc, const int64_t *indices) {
  const loop_nest_t *batch = &plan->places.batch;
  if (plan->never_fits || plan->window.empty) return NULL;
  for (loop_walk_t walk = loop_walk_first(batch); walk.live; loop_walk_next(batch, &walk))
    for (int64_t i = 0; i < batch->row_count; i++) {
      int64_t place;
      if (!strict_place(&plan->places, indices + walk.at[1] + i * batch->row_strides[1], &place)) continue;
      place += walk.at[2] + i * batch->row_strides[2];
      HR_TRY(scatter_window(plan, acc, place, walk.at[0] + i * batch->row_strides[0]));
    }
  return NULL;
}

static hr_status_t scatter(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  const scatter_plan_t *plan = step->plan;
  int count = plan->body.count;
  const int64_t *indices;
  hlo_value_t **out;
  accumulate_t acc;
  hr_status_t st = NULL;
  HR_TRY(op_indices_load(env, in[count], &indices));
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, &out));
  HR_TRY(accumulate_init(&acc, env, &plan->body));
  for (int k = 0; k < count && !st; k++) {
    st = op_reuse_or_copy(env, step, in, k, &out[k]);
    if (!st) acc.to[k] = out[k]->data;
    acc.from[k] = in[count + 1 + k]->data;
  }
  if (!st) st = scatter_all(plan, &acc, indices);
  return op_outputs_finish(step, st, count, out, out_value);
}

static hr_status_t run_scatter(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  const scatter_plan_t *plan = step->plan;
  hlo_value_t **promoted;
  if (!plan->promote.needed) return scatter(env, step, in, out_value);
  HR_TRY(promote_run(env, &plan->promote, in, &promoted));
  hr_status_t st = scatter(env, step, promoted, out_value);
  promote_release(&plan->promote, promoted);
  return st;
}
const op_kernel_t kernel_scatter = {prepare_scatter, run_scatter};
