/* Random operations with a state or with parameters: generators that are variables, samples of
 * classes, truncated normal numbers between bounds, and shuffles. Generators give TensorFlow's bits
 * on CPUs; operations without a seed draw from hlorun's own generator. */
#include <math.h>

#include "stablehlo/import/import_formula.h"
#include "tf/lower/tf_loops.h"
#include "tf/lower/tf_random.h"

/* --- generators that are variables --- */

/* The state of a generator, s64[3] or longer: the counter's two halves, then the key. */
static hr_status_t generator_state(tf_op_t *op, tf_resource_t **out_variable, expr_t *out_state) {
  HR_TRY(tf_resource_of(op, 0, out_variable));
  *out_state = tf_in(op, 0);
  if (!*out_state) return hlo_builder_finish(op->b);
  const hlo_shape_t *shape = (*out_state)->shape;
  if (shape->rank != 1 || shape->dims[0] < 3)
    return tf_error(op, "the state of a generator has fewer than 3 numbers");
  return NULL;
}

/* Moves the counter by 256 times `delta`, a u64 scalar. */
static void skip(hlo_builder_t *b, tf_resource_t *variable, expr_t state, expr_t delta) {
  hr_dtype_t dtype = state->shape->dtype;
  expr_t step = f_mul(b, delta, tf_scalar_int(b, 256, HR_U64));
  expr_t low = hlo_build_convert(b, tf_element(b, state, 0), HR_U64);
  expr_t high = hlo_build_convert(b, tf_element(b, state, 1), HR_U64);
  expr_t next = f_add(b, low, tf_reshape(b, step, 0, NULL));
  expr_t carry = hlo_build_convert(b, f_lt(b, next, low), HR_U64);
  expr_t counter = tf_pair_list(b, next, f_add(b, high, carry));
  if (!counter) return;
  expr_t parts[] = {hlo_build_convert(b, counter, dtype),
                    tf_slice_dim(b, state, 0, 2, state->shape->dims[0])};
  variable->value = tf_concat(b, 2, parts, 0);
}

/* Inputs: variable, algorithm, delta. RngReadAndSkip gives the state and moves the counter; RngSkip
 * (variant 1) has no output. */
hr_status_t tf_lower_rng_skip(tf_op_t *op) {
  tf_resource_t *variable;
  expr_t state, delta = tf_in(op, 2);
  HR_TRY(generator_state(op, &variable, &state));
  if (!delta) return hlo_builder_finish(op->b);
  if (!op->row->variant) HR_TRY(tf_out(op, 0, state));
  skip(op->b, variable, state, hlo_build_convert(op->b, delta, HR_U64));
  return hlo_builder_finish(op->b);
}

/* The stream of a generator: its key and counter as they are. */
static hr_status_t stream_of_state(tf_op_t *op, expr_t state, tf_stream_t *out) {
  hlo_builder_t *b = op->b;
  int64_t algorithm;
  HR_TRY(tf_const_int(op, 1, &algorithm));
  HR_TRY(tf_stream_sizes(op, 2, out));
  if (algorithm != 1) return tf_unsupported(op, "algorithm %ld of a generator", (long)algorithm);
  expr_t wide = hlo_build_convert(b, state, HR_U64);
  expr_t parts[] = {tf_slice_dim(b, wide, 0, 2, 3), tf_slice_dim(b, wide, 0, 0, 2)};
  if (!parts[0] || !parts[1]) return hlo_builder_finish(b);
  out->state = tf_concat(b, 2, parts, 0);
  return hlo_builder_finish(b);
}

/* StatefulUniform, StatefulStandardNormalV2, StatefulTruncatedNormal, StatefulUniformInt and
 * StatefulUniformFullInt: inputs are variable, algorithm, shape[, low, high]; the counter moves by
 * the number of elements. variant: tf_random_kind_t. */
hr_status_t tf_lower_stateful_random(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_resource_t *variable;
  tf_stream_t stream = {0};
  hr_dtype_t dtype;
  expr_t state, x = NULL;
  tf_random_kind_t kind = (tf_random_kind_t)op->row->variant;
  HR_TRY(generator_state(op, &variable, &state));
  HR_TRY(stream_of_state(op, state, &stream));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  if (dtype == HR_TUPLE) dtype = kind == TF_RANDOM_FULL_INT ? HR_U64 : HR_F32;
  if (kind == TF_RANDOM_UNIFORM) x = tf_stream_uniform(op, &stream, dtype, stream.count);
  if (kind == TF_RANDOM_NORMAL) x = tf_stream_normal(op, &stream, dtype);
  if (kind == TF_RANDOM_TRUNCATED)
    x = tf_truncate_uniform(b, tf_stream_uniform(op, &stream, dtype, stream.count));
  if (kind == TF_RANDOM_INT) x = tf_stream_integers(op, &stream, 3);
  if (kind == TF_RANDOM_FULL_INT) {
    x = hr_dtype_bytes(dtype) == 8 ? tf_stream_wide(op, &stream, stream.count)
                                   : tf_stream_words(op, &stream, stream.count);
    if (x) x = hlo_build_convert(b, x, dtype);
  }
  skip(b, variable, state, tf_scalar_int(b, stream.count, HR_U64));
  return tf_out(op, 0, tf_stream_shaped(b, &stream, x));
}

/* --- samples of classes --- */

/* Uniform numbers [0, 1) of f64: drawn from a seed, or from no fixed sequence. */
static hr_status_t class_numbers(tf_op_t *op, int64_t count, expr_t *out) {
  tf_stream_t stream = {.sizes = tf_sizes_static(1, &count), .count = count};
  if (!op->row->variant) {
    *out = tf_draw(op, HLO_DISTRIBUTION_UNIFORM, tf_scalar(op->b, 0, HR_F64),
                   tf_scalar(op->b, 1, HR_F64), &stream);
    return NULL;
  }
  HR_TRY(tf_stream_seed(op, 2, &stream));
  *out = tf_stream_uniform(op, &stream, HR_F64, count);
  return NULL;
}

/* Multinomial(logits [batch, classes], samples), and StatelessMultinomial (variant 1) with a seed:
 * the first class whose cumulative probability exceeds a uniform number. */
hr_status_t tf_lower_multinomial(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t samples, dim = 1;
  hr_dtype_t dtype;
  expr_t logits = tf_in(op, 0), u;
  HR_TRY(tf_const_int(op, 1, &samples));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "output_dtype", &dtype));
  if (!logits) return hlo_builder_finish(b);
  if (logits->shape->rank != 2 || samples < 0 || samples > INT32_MAX)
    return tf_error(op, "want logits [batch, classes] and a number of samples");
  int64_t batch = logits->shape->dims[0], classes = logits->shape->dims[1];
  int64_t pair[] = {batch, samples}, wide[] = {batch, samples, classes};
  int64_t row[] = {batch, 1, classes}, column[] = {batch, samples, 1};
  HR_TRY(class_numbers(op, batch * samples, &u));
  expr_t x = hlo_build_convert(b, logits, HR_F64);
  expr_t most = tf_broadcast_like(b, tf_reduce(op, HLO_MAXIMUM, x, 1, &dim, true), x);
  expr_t weight = f_exp(b, f_sub(b, x, most));
  hlo_window_dim_t window[] = {{.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1},
                               {.size = classes,
                                .stride = 1,
                                .pad_low = classes - 1,
                                .base_dilation = 1,
                                .window_dilation = 1}};
  expr_t sum = tf_reduce_window(op, HLO_ADD, weight, tf_scalar(b, 0, HR_F64), window);
  expr_t total = tf_reduce(op, HLO_ADD, weight, 1, &dim, true);
  u = f_mul(b, tf_reshape(b, u, 2, pair), tf_broadcast(b, total, 2, pair));
  expr_t at = tf_broadcast(b, tf_reshape(b, u, 3, column), 3, wide);
  expr_t below = f_le(b, tf_broadcast(b, tf_reshape(b, sum, 3, row), 3, wide), at);
  dim = 2;
  if (!below) return hlo_builder_finish(b);
  dtype = dtype == HR_TUPLE ? HR_S64 : dtype;
  expr_t chosen = tf_reduce(op, HLO_ADD, hlo_build_convert(b, below, dtype), 1, &dim, false);
  if (!chosen) return hlo_builder_finish(b);
  return tf_out(op, 0, f_min(b, chosen, f_number(b, (double)classes - 1, chosen)));
}

/* --- truncated normal numbers --- */

/* Distribution function of the normal distribution. */
static expr_t normal_cdf(hlo_builder_t *b, expr_t x) {
  if (!x) return NULL;
  expr_t tail = f_mul(b, x, f_number(b, -M_SQRT1_2, x));
  expr_t y = tail ? f_in_wide_type(b, formula_erfc, 1, &tail) : NULL;
  return y ? f_mul(b, y, f_number(b, 0.5, y)) : NULL;
}

/* A parameter broadcast to the result, a scalar or one number per row of the first dimension;
 * stateless parameters broadcast as NumPy does. */
static expr_t parameter(tf_op_t *op, int k, const tf_stream_t *s) {
  expr_t x = tf_in(op, k);
  int64_t dims[HLO_MAX_RANK];
  if (!x) return NULL;
  if (!op->row->variant && x->shape->rank == 1 && s->sizes.rank) {
    for (int d = 0; d < s->sizes.rank; d++) dims[d] = d ? 1 : x->shape->dims[0];
    x = tf_reshape(op->b, x, s->sizes.rank, dims);
  }
  return tf_broadcast_sized(op->b, x, &s->sizes);
}

/* ParameterizedTruncatedNormal(shape, means, deviations, least, greatest), and its Stateless form
 * (variant 1) with a seed after the shape: the inverse of the distribution function. Values are
 * therefore not those of TensorFlow, which rejects samples. */
hr_status_t tf_lower_truncated_normal(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_stream_t s = {0};
  int first = op->row->variant ? 2 : 1;
  HR_TRY(tf_stream_sizes(op, 0, &s));
  if (op->row->variant) HR_TRY(tf_stream_seed(op, 1, &s));
  expr_t mean = parameter(op, first, &s), deviation = parameter(op, first + 1, &s);
  expr_t low = parameter(op, first + 2, &s), high = parameter(op, first + 3, &s);
  if (!mean || !deviation || !low || !high) return hlo_builder_finish(b);
  hr_dtype_t dtype = mean->shape->dtype, type = dtype == HR_F64 ? HR_F64 : HR_F32;
  expr_t u = op->row->variant ? tf_stream_shaped(b, &s, tf_stream_uniform(op, &s, type, s.count))
                              : tf_draw(op, HLO_DISTRIBUTION_UNIFORM, tf_scalar(b, 0, type),
                                        tf_scalar(b, 1, type), &s);
  if (u && type != dtype) u = hlo_build_convert(b, u, dtype);
  expr_t from = normal_cdf(b, f_div(b, f_sub(b, low, mean), deviation));
  expr_t to = normal_cdf(b, f_div(b, f_sub(b, high, mean), deviation));
  expr_t p = f_add(b, from, f_mul(b, u, f_sub(b, to, from)));
  if (!p) return hlo_builder_finish(b);
  expr_t at = f_sub(b, f_mul(b, p, f_number(b, 2, p)), f_number(b, 1, p));
  expr_t x = at ? f_in_wide_type(b, formula_erf_inv, 1, &at) : NULL;
  if (!x) return hlo_builder_finish(b);
  x = f_add(b, f_mul(b, f_mul(b, x, f_number(b, M_SQRT2, x)), deviation), mean);
  return tf_out(op, 0, f_min(b, f_max(b, x, low), high));
}

/* --- others --- */

/* RandomShuffle: rows in the order of random keys. */
hr_status_t tf_lower_random_shuffle(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  if (!x->shape->rank) return tf_out(op, 0, x);
  int64_t n = x->shape->dims[0];
  tf_stream_t sizes = {.sizes = tf_sizes_static(1, &n), .count = n};
  expr_t arrays[] = {tf_draw(op, HLO_DISTRIBUTION_UNIFORM, tf_scalar(b, 0, HR_F64),
                             tf_scalar(b, 1, HR_F64), &sizes),
                     tf_iota(b, HR_S32, 1, &n, 0)};
  HR_TRY(tf_sort(op, 2, arrays, 0));
  return tf_out(op, 0, tf_gather_rows(b, x, arrays[1], 0, 0));
}

/* StochasticCastToInt(x, key, counter, algorithm), attribute Tout: the whole number below, or the
 * next one with the probability of the fraction; clamped to the type. */
hr_status_t tf_lower_stochastic_cast(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_stream_t s = {0};
  hr_dtype_t to;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_attr_dtype(op->arena, op->node, "Tout", &to));
  if (!x) return hlo_builder_finish(b);
  if (!hr_dtype_is_integer(to)) return tf_error(op, "attribute Tout is no type of integers");
  s.sizes = tf_sizes_of(b, x);
  s.count = hlo_shape_elements(x->shape);
  HR_TRY(tf_stream_key(op, 1, &s));
  hr_dtype_t type = x->shape->dtype == HR_F64 ? HR_F64 : HR_F32;
  expr_t wide = type == x->shape->dtype ? x : hlo_build_convert(b, x, type);
  expr_t u = tf_stream_shaped(b, &s, tf_stream_uniform(op, &s, type, s.count));
  expr_t whole = f_floor(b, wide);
  expr_t up = f_lt(b, u, f_sub(b, wide, whole));
  if (!up || !whole) return hlo_builder_finish(b);
  whole = f_add(b, whole, hlo_build_convert(b, up, type));
  int bits = hr_dtype_table[to].bits;
  double high = ldexp(1, bits - (hr_dtype_class(to) == HR_CLASS_SIGNED)) - 1;
  double low = hr_dtype_class(to) == HR_CLASS_SIGNED ? -high - 1 : 0;
  whole = f_max(b, f_min(b, whole, f_number(b, high, whole)), f_number(b, low, whole));
  return tf_out(op, 0, whole ? hlo_build_convert(b, whole, to) : NULL);
}
