/* Streams of random bits and distributions computed from them, shared by the files of random
 * operations. The builder keeps failures, as in tf_lower.h. */
#ifndef TF_RANDOM_H
#define TF_RANDOM_H

#include "tf/lower/tf_elementwise.h"
#include "tf/compile/tf_lower.h"

/* A source of random words: key and counter, and the requested shape. */
typedef struct tf_stream {
  expr_t state; /* u64[3], or u64[2] of ThreeFry */
  bool threefry;
  tf_sizes_t sizes;
  int64_t count; /* elements of the largest sizes */
} tf_stream_t;

/* Reads the requested shape from input k. Errors: INVALID for sizes that are negative, or neither
 * known nor bounded. */
hr_status_t tf_stream_sizes(tf_op_t *op, int k, tf_stream_t *out);
/* The vector x of `count` elements in the requested shape. */
expr_t tf_stream_shaped(hlo_builder_t *b, const tf_stream_t *stream, expr_t x);
/* Initialises the source from inputs k (key), k + 1 (counter) and k + 2 (algorithm), or from the
 * seed of input k. */
hr_status_t tf_stream_key(tf_op_t *op, int k, tf_stream_t *out);
hr_status_t tf_stream_seed(tf_op_t *op, int k, tf_stream_t *out);
/* The first words of the stream, u32[count] and u64[count]. */
expr_t tf_stream_words(tf_op_t *op, const tf_stream_t *stream, int64_t count);
expr_t tf_stream_wide(tf_op_t *op, const tf_stream_t *stream, int64_t count);
/* Numbers of one distribution as vectors of `count`, or stream->count, elements. */
expr_t tf_stream_uniform(tf_op_t *op, const tf_stream_t *stream, hr_dtype_t dtype, int64_t count);
expr_t tf_stream_normal(tf_op_t *op, const tf_stream_t *stream, hr_dtype_t dtype);
/* Integers within [input first, input first + 1). */
expr_t tf_stream_integers(tf_op_t *op, const tf_stream_t *stream, int first);
/* Converts uniform numbers to normal ones within two deviations. */
expr_t tf_truncate_uniform(hlo_builder_t *b, expr_t u);
/* Element i of a vector as a scalar, and two scalars as a vector. */
expr_t tf_element(hlo_builder_t *b, expr_t list, int64_t i);
expr_t tf_pair_list(hlo_builder_t *b, expr_t low, expr_t high);
/* Numbers of the stateful rng op; `low` and `high` are bounds, or mean and deviation. */
expr_t tf_draw(tf_op_t *op, hlo_enum_DISTRIBUTION_t distribution, expr_t low, expr_t high,
               const tf_stream_t *sizes);

#endif
