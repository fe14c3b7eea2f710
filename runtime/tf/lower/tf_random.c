/* Random numbers. The stateless operations give TensorFlow's bits on CPUs: blocks of Philox 4x32
 * with 10 rounds, of which the low bits become the fraction of a float.
 *
 *   seed[2] --mix--> key, counter[2] --rng-bit-generator--> u32 ... --> distribution
 *
 * The stateful operations draw from hlorun's own generator, as their numbers are not determined by
 * the program. Truncated normals invert the distribution function instead of TensorFlow's rejection
 * and so have other values. ThreeFry (algorithm 2) takes the same way with its own blocks. */
#include <math.h>

#include "stablehlo/import/import_formula.h"
#include "tf/lower/tf_random.h"

/* TensorFlow's enum Algorithm in rng_alg.h. AUTO means Philox on CPUs. */
enum { ALG_PHILOX = 1, ALG_THREEFRY = 2, ALG_AUTO = 3 };

/* --- Philox of one block, for seeds --- */

/* A block of 128 bits as four arrays of u32. */
typedef struct words {
  expr_t w[4];
} words_t;

/* A constant of 32 bits. */
static expr_t u32(hlo_builder_t *b, uint32_t number) {
  return tf_scalar_int(b, (int64_t)number, HR_U32);
}

/* Both halves of a product of 32 bits. */
static void multiply_wide(hlo_builder_t *b, expr_t x, uint32_t y, expr_t *high, expr_t *low) {
  expr_t wide = f_mul(b, hlo_build_convert(b, x, HR_U64), tf_scalar_int(b, (int64_t)y, HR_U64));
  expr_t top = hlo_build_binary(b, HLO_SHIFT_RIGHT_LOGICAL, wide, tf_scalar_int(b, 32, HR_U64));
  *high = hlo_build_convert(b, top, HR_U32);
  *low = hlo_build_convert(b, wide, HR_U32);
}

/* Philox 4x32-10: the multipliers and the two constants that the key grows by in each round are
 * those of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3". */
static words_t philox(hlo_builder_t *b, words_t counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; round++) {
    expr_t high0, low0, high1, low1;
    multiply_wide(b, counter.w[0], 0xd2511f53u, &high0, &low0);
    multiply_wide(b, counter.w[2], 0xcd9e8d57u, &high1, &low1);
    counter = (words_t){{f_xor(b, f_xor(b, high1, counter.w[1]), u32(b, key0)), low1,
                         f_xor(b, f_xor(b, high0, counter.w[3]), u32(b, key1)), low0}};
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return counter;
}

/* high 2^32 + low. */
static expr_t join_words(hlo_builder_t *b, expr_t low, expr_t high) {
  expr_t top = hlo_build_binary(b, HLO_SHIFT_LEFT, hlo_build_convert(b, high, HR_U64),
                                tf_scalar_int(b, 32, HR_U64));
  return f_or(b, hlo_build_convert(b, low, HR_U64), top);
}

/* Element i of a vector as a scalar. */
expr_t tf_element(hlo_builder_t *b, expr_t list, int64_t i) {
  return tf_reshape(b, tf_slice_dim(b, list, 0, i, i + 1), 0, NULL);
}

/* Key (u64) and the upper half of the counter (u64) of a seed of two integers.
 * TensorFlow scrambles the seed by one block of Philox under a fixed key, as neighbouring seeds
 * would else give related streams. Words 0 and 1 of the result are the key, words 2 and 3 the
 * upper half of the counter, whose lower half starts at 0. */
static hr_status_t mix_seed(tf_op_t *op, int k, expr_t *out_key, expr_t *out_counter) {
  hlo_builder_t *b = op->b;
  words_t counter;
  expr_t seed = tf_in(op, k);
  if (!seed) return hlo_builder_finish(b);
  if (seed->shape->rank != 1 || seed->shape->dims[0] != 2)
    return tf_error(op, "the seed is not two integers");
  expr_t wide = hlo_build_convert(b, hlo_build_convert(b, seed, HR_S64), HR_U64);
  for (int i = 0; i < 2; i++) {
    expr_t part = tf_element(b, wide, i);
    counter.w[2 * i] = hlo_build_convert(b, part, HR_U32);
    counter.w[2 * i + 1] = hlo_build_convert(
        b, hlo_build_binary(b, HLO_SHIFT_RIGHT_LOGICAL, part, tf_scalar_int(b, 32, HR_U64)),
        HR_U32);
  }
  words_t mixed = philox(b, counter, 0x3ec8f720u, 0x02461e29u);
  *out_key = join_words(b, mixed.w[0], mixed.w[1]);
  *out_counter = join_words(b, mixed.w[2], mixed.w[3]);
  return hlo_builder_finish(b);
}

/* HLO's state and TensorFlow's keys are vectors. */
static expr_t as_list(hlo_builder_t *b, expr_t scalar) {
  int64_t one = 1;
  return tf_reshape(b, scalar, 1, &one);
}

expr_t tf_pair_list(hlo_builder_t *b, expr_t low, expr_t high) {
  expr_t parts[] = {as_list(b, low), as_list(b, high)};
  return parts[0] && parts[1] ? tf_concat(b, 2, parts, 0) : NULL;
}

/* StatelessRandomGetKeyCounter and its Alg form (variant 1): u64[1] and u64[2]. Outputs: key,
 * counter; variant 1: and the algorithm. */
hr_status_t tf_lower_key_counter(tf_op_t *op) {
  expr_t key, counter;
  int64_t algorithm = ALG_PHILOX;
  HR_TRY(mix_seed(op, 0, &key, &counter));
  HR_TRY(tf_out(op, 0, as_list(op->b, key)));
  HR_TRY(tf_out(op, 1, tf_pair_list(op->b, tf_scalar_int(op->b, 0, HR_U64), counter)));
  return op->row->variant ? tf_out_ints(op, 2, HR_S32, true, 1, &algorithm) : NULL;
}

/* StatelessRandomGetAlg: the choice for CPUs. */
hr_status_t tf_lower_random_algorithm(tf_op_t *op) {
  int64_t algorithm = ALG_PHILOX;
  return tf_out_ints(op, 0, HR_S32, true, 1, &algorithm);
}

/* --- streams of bits --- */

/* The product is checked, so that counts cannot overflow. */
hr_status_t tf_stream_sizes(tf_op_t *op, int k, tf_stream_t *out) {
  tf_sizes_t *sizes = &out->sizes;
  HR_TRY(tf_sizes_in(op, k, sizes));
  out->count = 1;
  for (int d = 0; d < sizes->rank; d++)
    if (sizes->dims[d] < 0 || __builtin_mul_overflow(out->count, sizes->dims[d], &out->count))
      return tf_error(op, "the size %ld", (long)sizes->dims[d]);
  return NULL;
}

/* The vector x, with a number for each element of the largest sizes, in the sizes that are wanted.
 * The numbers are drawn in row-major order, so that a first dimension that is shorter leaves out
 * the last of them. */
expr_t tf_stream_shaped(hlo_builder_t *b, const tf_stream_t *stream, expr_t x) {
  const tf_sizes_t *sizes = &stream->sizes;
  x = tf_reshape(b, x, sizes->rank, sizes->dims);
  for (int d = 0; d < sizes->rank && x; d++)
    if (sizes->exprs[d]) x = tf_set_size(b, x, d, sizes->exprs[d]);
  return x;
}

/* The state is the key followed by the counter, low word first. ThreeFry has one word of counter
 * only. */
hr_status_t tf_stream_key(tf_op_t *op, int k, tf_stream_t *out) {
  hlo_builder_t *b = op->b;
  int64_t algorithm;
  HR_TRY(tf_const_int(op, k + 2, &algorithm));
  out->threefry = algorithm == ALG_THREEFRY;
  if (algorithm < ALG_PHILOX || algorithm > ALG_AUTO)
    return tf_unsupported(op, "algorithm %ld of random numbers", (long)algorithm);
  expr_t key = tf_in(op, k), counter = tf_in(op, k + 1);
  if (counter && out->threefry) counter = tf_slice_dim(b, counter, 0, 0, 1);
  if (!key || !counter) return hlo_builder_finish(b);
  expr_t parts[] = {key, counter};
  out->state = tf_concat(b, 2, parts, 0);
  return hlo_builder_finish(b);
}

/* Key and counter from the two numbers of a stateless seed. */
hr_status_t tf_stream_seed(tf_op_t *op, int k, tf_stream_t *out) {
  hlo_builder_t *b = op->b;
  expr_t key, high;
  HR_TRY(mix_seed(op, k, &key, &high));
  key = as_list(b, key);
  expr_t counter = tf_pair_list(b, tf_scalar_int(b, 0, HR_U64), high);
  if (!key || !counter) return hlo_builder_finish(b);
  expr_t parts[] = {key, counter};
  out->state = tf_concat(b, 2, parts, 0);
  return hlo_builder_finish(b);
}

/* Opens a stream from inputs shape, seed (V1) or shape, key, counter, algorithm (V2). `more`:
 * number of inputs after these. */
static hr_status_t open_stream(tf_op_t *op, int more, tf_stream_t *out) {
  *out = (tf_stream_t){.threefry = false};
  HR_TRY(tf_stream_sizes(op, 0, out));
  return op->input_count - more >= 4 ? tf_stream_key(op, 1, out) : tf_stream_seed(op, 1, out);
}

/* u32[count], whole blocks first.
 * A block of Philox gives 4 words; the last ones of the last block are dropped. */
expr_t tf_stream_words(tf_op_t *op, const tf_stream_t *stream, int64_t count) {
  hlo_builder_t *b = op->b;
  const hlo_shape_t *shapes[2], *pair;
  int64_t padded = (count + 3) / 4 * 4;
  if (!stream->state) return NULL;
  shapes[0] = stream->state->shape;
  shapes[1] = tf_shape(b, HR_U32, 1, &padded);
  if (!shapes[1] || hlo_shape_tuple(op->arena, 2, shapes, &pair)) return NULL;
  hlo_attr_t attr =
      hlo_attr_of_int(HLO_ATTR_RNG_ALGORITHM,
                      stream->threefry ? HLO_RNG_ALGORITHM_THREE_FRY : HLO_RNG_ALGORITHM_PHILOX);
  expr_t drawn = hlo_build(b, HLO_RNG_BIT_GENERATOR, pair, 1, &stream->state, 1, &attr, 0, NULL);
  return tf_slice_dim(b, hlo_build_element(b, drawn, 1), 0, 0, count);
}

/* u64[count] of pairs of words, low ones first. */
expr_t tf_stream_wide(tf_op_t *op, const tf_stream_t *stream, int64_t count) {
  hlo_builder_t *b = op->b;
  int64_t dims[] = {count, 2};
  expr_t words = tf_reshape(b, tf_stream_words(op, stream, 2 * count), 2, dims);
  expr_t low = tf_reshape(b, tf_slice_dim(b, words, 1, 0, 1), 1, &count);
  expr_t high = tf_reshape(b, tf_slice_dim(b, words, 1, 1, 2), 1, &count);
  if (!low || !high) return NULL;
  expr_t shift = f_number(b, 32, hlo_build_convert(b, high, HR_U64));
  return f_or(b, hlo_build_convert(b, low, HR_U64),
              hlo_build_binary(b, HLO_SHIFT_LEFT, hlo_build_convert(b, high, HR_U64), shift));
}

static expr_t bitcast(hlo_builder_t *b, expr_t x, hr_dtype_t dtype) {
  const hlo_shape_t *shape = x ? tf_shape(b, dtype, x->shape->rank, x->shape->dims) : NULL;
  return shape ? hlo_build(b, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL) : NULL;
}

/* Integers with the exponent of 1 and random fraction bits, as floats within [1, 2), minus 1.
 * `mask` selects the fraction bits and `one` is the bit pattern of 1.0 in the type. */
static expr_t fraction(hlo_builder_t *b, expr_t bits, uint64_t mask, uint64_t one,
                       hr_dtype_t dtype) {
  if (!bits) return NULL;
  hr_dtype_t type = bits->shape->dtype;
  expr_t low = tf_broadcast_like(b, tf_scalar_int(b, (int64_t)mask, type), bits);
  expr_t exponent = tf_broadcast_like(b, tf_scalar_int(b, (int64_t)one, type), bits);
  expr_t x = bitcast(b, f_or(b, f_and(b, bits, low), exponent), dtype);
  return x ? f_sub(b, x, f_number(b, 1, x)) : NULL;
}

/* f64: the high 20 bits of the fraction are the low ones of the first word. */
static expr_t uniform_f64(tf_op_t *op, const tf_stream_t *stream, int64_t count) {
  hlo_builder_t *b = op->b;
  expr_t wide = tf_stream_wide(op, stream, count);
  if (!wide) return NULL;
  expr_t half = f_number(b, 32, wide);
  expr_t turned = f_or(b, hlo_build_binary(b, HLO_SHIFT_LEFT, wide, half),
                       hlo_build_binary(b, HLO_SHIFT_RIGHT_LOGICAL, wide, half));
  return fraction(b, turned, (UINT64_C(1) << 52) - 1, UINT64_C(1023) << 52, HR_F64);
}

/* Uniform numbers within [0, 1), in one dimension.
 * f16 has 10 fraction bits and bf16 has 7; each number takes a whole word, of which the low half
 * is used. */
expr_t tf_stream_uniform(tf_op_t *op, const tf_stream_t *stream, hr_dtype_t dtype, int64_t count) {
  hlo_builder_t *b = op->b;
  if (dtype == HR_F64) return uniform_f64(op, stream, count);
  expr_t words = tf_stream_words(op, stream, count);
  if (!words) return NULL;
  if (dtype == HR_F32) return fraction(b, words, 0x7fffff, UINT64_C(127) << 23, dtype);
  words = hlo_build_convert(b, words, HR_U16);
  return dtype == HR_F16 ? fraction(b, words, 0x3ff, 15 << 10, dtype)
                         : fraction(b, words, 0x7f, 127 << 7, dtype);
}

/* Box-Muller: a pair of uniform numbers gives the sine and the cosine of one angle.
 * radius = sqrt(-2 log u1), angle = 2 pi u2. u1 is at least 1e-7, as the logarithm of 0 is
 * infinite. Narrow types are drawn in f32. */
expr_t tf_stream_normal(tf_op_t *op, const tf_stream_t *stream, hr_dtype_t dtype) {
  hlo_builder_t *b = op->b;
  hr_dtype_t wide = dtype == HR_F64 ? HR_F64 : HR_F32;
  int64_t pairs = (stream->count + 1) / 2, dims[] = {pairs, 2}, all = 2 * pairs;
  expr_t u = tf_reshape(b, tf_stream_uniform(op, stream, wide, all), 2, dims);
  expr_t first = tf_slice_dim(b, u, 1, 0, 1), second = tf_slice_dim(b, u, 1, 1, 2);
  if (!first || !second) return NULL;
  first = f_max(b, first, f_number(b, 1.0e-7f, first));
  expr_t angle = f_mul(b, second, f_number(b, 2 * M_PI, second));
  expr_t radius = f_sqrt(b, f_mul(b, f_log(b, first), f_number(b, -2, first)));
  expr_t both[] = {f_mul(b, hlo_build_unary(b, HLO_SINE, angle), radius),
                   f_mul(b, hlo_build_unary(b, HLO_COSINE, angle), radius)};
  if (!both[0] || !both[1]) return NULL;
  expr_t x = tf_slice_dim(b, tf_reshape(b, tf_concat(b, 2, both, 1), 1, &all), 0, 0, stream->count);
  return x && dtype != wide ? hlo_build_convert(b, x, dtype) : x;
}

/* Normal numbers within two standard deviations: the inverse of the distribution function.
 * u in [0, 1) is stretched to the part of the distribution within two deviations, of erf(2 /
 * sqrt(2)). */
expr_t tf_truncate_uniform(hlo_builder_t *b, expr_t u) {
  if (!u) return NULL;
  double bound = erf(2 / sqrt(2.0));
  expr_t tiny = f_number(b, 1e-7, u);
  expr_t at = f_mul(b, f_sub(b, f_mul(b, f_max(b, u, tiny), f_number(b, 2, u)), f_number(b, 1, u)),
                    f_number(b, bound, u));
  expr_t x = f_in_wide_type(b, formula_erf_inv, 1, &at);
  return x ? f_mul(b, x, f_number(b, sqrt(2.0), x)) : NULL;
}

/* Integers within [low, high): the remainder of random bits.
 * The remainder favours small numbers slightly if the range does not divide 2^32 or 2^64;
 * TensorFlow does the same. */
expr_t tf_stream_integers(tf_op_t *op, const tf_stream_t *stream, int first) {
  hlo_builder_t *b = op->b;
  expr_t low = tf_in(op, first), high = tf_in(op, first + 1);
  if (!low || !high) return NULL;
  hr_dtype_t dtype = low->shape->dtype;
  bool wide = hr_dtype_bytes(dtype) == 8;
  hr_dtype_t bits = wide ? HR_U64 : HR_U32;
  expr_t x =
      wide ? tf_stream_wide(op, stream, stream->count) : tf_stream_words(op, stream, stream->count);
  expr_t range = hlo_build_convert(b, f_sub(b, high, low), bits);
  x = f_rem(b, x, tf_broadcast(b, range, 1, &stream->count));
  expr_t start = tf_broadcast(b, hlo_build_convert(b, low, bits), 1, &stream->count);
  return hlo_build_convert(b, f_add(b, x, start), dtype);
}

/* StatelessRandomUniform, Normal, TruncatedNormal, UniformInt and UniformFullInt, and their V2
 * forms. Variant: tf_random_kind_t. */
hr_status_t tf_lower_stateless_random(tf_op_t *op) {
  tf_stream_t stream;
  hr_dtype_t dtype;
  expr_t x = NULL;
  tf_random_kind_t kind = (tf_random_kind_t)op->row->variant;
  HR_TRY(open_stream(op, kind == TF_RANDOM_INT ? 2 : 0, &stream));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  if (dtype == HR_TUPLE) dtype = kind == TF_RANDOM_FULL_INT ? HR_U64 : HR_F32;
  if (kind == TF_RANDOM_UNIFORM) x = tf_stream_uniform(op, &stream, dtype, stream.count);
  if (kind == TF_RANDOM_NORMAL) x = tf_stream_normal(op, &stream, dtype);
  if (kind == TF_RANDOM_TRUNCATED)
    x = tf_truncate_uniform(op->b, tf_stream_uniform(op, &stream, dtype, stream.count));
  if (kind == TF_RANDOM_INT) x = tf_stream_integers(op, &stream, op->input_count - 2);
  if (kind == TF_RANDOM_FULL_INT) {
    x = hr_dtype_bytes(dtype) == 8 ? tf_stream_wide(op, &stream, stream.count)
                                   : tf_stream_words(op, &stream, stream.count);
    if (x) x = hlo_build_convert(op->b, x, dtype);
  }
  return tf_out(op, 0, tf_stream_shaped(op->b, &stream, x));
}

/* --- numbers of no fixed sequence --- */

/* `low` and `high` are the bounds, or mean and deviation. */
expr_t tf_draw(tf_op_t *op, hlo_enum_DISTRIBUTION_t distribution, expr_t low, expr_t high,
               const tf_stream_t *sizes) {
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_DISTRIBUTION, distribution);
  expr_t operands[] = {low, high};
  if (!low) return NULL;
  const hlo_shape_t *shape =
      tf_shape(op->b, low->shape->dtype, sizes->sizes.rank, sizes->sizes.dims);
  if (!shape) return NULL;
  expr_t x = hlo_build(op->b, HLO_RNG, shape, 2, operands, 1, &attr, 0, NULL);
  return tf_stream_shaped(op->b, sizes, x);
}

/* Inputs: shape, and for integers low and high; variant: tf_random_kind_t */
hr_status_t tf_lower_random(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  tf_stream_t sizes = {0};
  hr_dtype_t dtype;
  HR_TRY(tf_stream_sizes(op, 0, &sizes));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  if (dtype == HR_TUPLE) dtype = HR_F32;
  if (op->row->variant == TF_RANDOM_INT)
    return tf_out(op, 0, tf_draw(op, HLO_DISTRIBUTION_UNIFORM, tf_in(op, 1), tf_in(op, 2), &sizes));
  hlo_enum_DISTRIBUTION_t distribution =
      op->row->variant == TF_RANDOM_NORMAL ? HLO_DISTRIBUTION_NORMAL : HLO_DISTRIBUTION_UNIFORM;
  expr_t x = tf_draw(op, distribution, tf_scalar(b, 0, dtype), tf_scalar(b, 1, dtype), &sizes);
  return tf_out(op, 0, op->row->variant == TF_RANDOM_TRUNCATED ? tf_truncate_uniform(b, x) : x);
}
