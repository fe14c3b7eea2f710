/* While loops, sorts and prefix sums over a builder. A loop's state is a tuple of a counter and the
 * arrays of the caller; body and condition are computations of their own, so that everything an
 * iteration reads must be in the state or be made inside.
 *
 *   (trip, state[0], ..., state[count - 1]) --step--> (trip + 1, ...)
 */
#include "tf/lower/tf_loops.h"

/* --- loops --- */

/* Shape of the state: the counter, then the arrays. */
static hr_status_t state_shape(tf_op_t *op, int count, expr_t const *state,
                               const hlo_shape_t **out_shape) {
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(op->arena, count + 1, &shapes));
  shapes[0] = hlo_shape_scalar(HR_S32);
  for (int i = 0; i < count; i++) shapes[i + 1] = state[i]->shape;
  return hlo_shape_tuple(op->arena, count + 1, shapes, out_shape);
}

/* trip < trips, and some element of state[0] with while_any. */
static hr_status_t build_condition(tf_op_t *op, const tf_steps_t *steps, const hlo_shape_t *shape,
                                   hlo_computation_t **out) {
  hlo_builder_t inner, *outer = op->b;
  int64_t dims[HLO_MAX_RANK];
  HR_TRY(tf_computation_begin(op->scope->compiler, "repeat_condition", &inner));
  op->b = &inner;
  expr_t all = hlo_build_parameter(&inner, 0, shape);
  expr_t trip = hlo_build_element(&inner, all, 0);
  expr_t more = f_lt(&inner, trip, tf_scalar_int(&inner, steps->trips, HR_S32));
  expr_t active = steps->while_any ? hlo_build_element(&inner, all, 1) : NULL;
  for (int d = 0; active && d < active->shape->rank; d++) dims[d] = d;
  if (active) active = tf_reduce(op, HLO_OR, active, active->shape->rank, dims, false);
  if (active) more = f_and(&inner, more, active);
  op->b = outer;
  *out = inner.computation;
  return tf_computation_end(op->scope->compiler, &inner, more);
}

/* op->b is the body's builder while `step` runs, as all helpers build there. */
static hr_status_t build_body(tf_op_t *op, const tf_steps_t *steps, const hlo_shape_t *shape,
                              hlo_computation_t **out) {
  hlo_builder_t inner, *outer = op->b;
  expr_t *parts;
  HR_TRY(HR_NEW_ARRAY(op->arena, steps->count + 1, &parts));
  HR_TRY(tf_computation_begin(op->scope->compiler, "repeat_body", &inner));
  expr_t all = hlo_build_parameter(&inner, 0, shape);
  for (int i = 0; i <= steps->count; i++) parts[i] = hlo_build_element(&inner, all, i);
  op->b = &inner;
  steps->step(op, steps->context, parts[0], parts + 1);
  op->b = outer;
  parts[0] = f_add(&inner, parts[0], tf_scalar_int(&inner, 1, HR_S32));
  *out = inner.computation;
  return tf_computation_end(op->scope->compiler, &inner,
                            hlo_build_tuple(&inner, steps->count + 1, parts));
}

hr_status_t tf_repeat(tf_op_t *op, const tf_steps_t *steps, expr_t *state) {
  const hlo_shape_t *shape;
  hlo_computation_t *called[2];
  expr_t *parts;
  HR_TRY(HR_NEW_ARRAY(op->arena, steps->count + 1, &parts));
  for (int i = 0; i < steps->count; i++) {
    if (!state[i]) return hlo_builder_finish(op->b);
    parts[i + 1] = state[i];
  }
  HR_TRY(state_shape(op, steps->count, state, &shape));
  HR_TRY(build_condition(op, steps, shape, &called[0]));
  HR_TRY(build_body(op, steps, shape, &called[1]));
  parts[0] = tf_scalar_int(op->b, 0, HR_S32);
  expr_t init = hlo_build_tuple(op->b, steps->count + 1, parts);
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_CONDITION, 1),
                        hlo_attr_of_called(HLO_ATTR_BODY, 1)};
  expr_t done = hlo_build(op->b, HLO_WHILE, shape, 1, &init, 2, attrs, 2, called);
  for (int i = 0; i < steps->count; i++) state[i] = hlo_build_element(op->b, done, i + 1);
  return hlo_builder_finish(op->b);
}

/* --- sorts --- */

/* Parameters 2 i and 2 i + 1 are the two elements of array i; only those of array 0 are
 * compared. */
hr_status_t tf_less_computation(tf_op_t *op, int count, const hr_dtype_t *dtypes,
                                hlo_computation_t **out) {
  hlo_builder_t b;
  expr_t first = NULL, second = NULL;
  HR_TRY(tf_computation_begin(op->scope->compiler, "less", &b));
  for (int i = 0; i < 2 * count; i++) {
    expr_t x = hlo_build_parameter(&b, i, hlo_shape_scalar(dtypes[i / 2]));
    if (i == 0) first = x;
    if (i == 1) second = x;
  }
  *out = b.computation;
  return tf_computation_end(op->scope->compiler, &b, f_lt(&b, first, second));
}

hr_status_t tf_sort(tf_op_t *op, int count, expr_t *arrays, int dim) {
  hr_dtype_t *dtypes;
  int64_t along = dim;
  hlo_computation_t *less;
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &dtypes));
  for (int i = 0; i < count; i++) {
    if (!arrays[i]) return hlo_builder_finish(op->b);
    dtypes[i] = arrays[i]->shape->dtype;
  }
  HR_TRY(tf_less_computation(op, count, dtypes, &less));
  hlo_attr_t attrs[] = {hlo_attr_of_ints(op->b, HLO_ATTR_DIMENSIONS, 1, &along),
                        hlo_attr_of_bool(HLO_ATTR_IS_STABLE, true),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t sorted = hlo_build(op->b, HLO_SORT, NULL, count, arrays, 3, attrs, 1, &less);
  for (int i = 0; i < count; i++)
    arrays[i] = count == 1 ? sorted : hlo_build_element(op->b, sorted, i);
  return hlo_builder_finish(op->b);
}

/* For each element a window of all elements up to it, which the engines recognise as a prefix
 * sum. */
expr_t tf_prefix(tf_op_t *op, hlo_opcode_t scalar_op, expr_t x) {
  if (!x || !x->shape->dims[0]) return x;
  int64_t size = x->shape->dims[0];
  hlo_window_dim_t window = {
      .size = size, .stride = 1, .pad_low = size - 1, .base_dilation = 1, .window_dilation = 1};
  expr_t init = tf_identity_value(op->b, scalar_op, x->shape->dtype);
  return tf_reduce_window(op, scalar_op, x, init, &window);
}
