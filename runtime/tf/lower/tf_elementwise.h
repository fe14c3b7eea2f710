/* Variants of elementwise formulas and of random numbers in tf_ops.def. */
#ifndef TF_ELEMENTWISE_H
#define TF_ELEMENTWISE_H

/* Formulas of several instructions, named after TensorFlow operations. Two rows use each
 * activation: the operation and its gradient. */
typedef enum tf_formula {
  TF_SQUARE, /* x x */
  TF_RECIPROCAL,
  TF_RELU,
  TF_RELU6,    /* min(max(x, 0), 6) */
  TF_ELU,      /* x, or e^x - 1 where x is not positive */
  TF_SELU,     /* scaled TF_ELU */
  TF_SOFTPLUS, /* log(1 + e^x) */
  TF_SOFTSIGN, /* x / (1 + |x|) */
  TF_SIGMOID,  /* gradient only: Sigmoid is one instruction */
  TF_TANH,     /* gradient only */
  TF_SQRT,     /* gradient only */
  TF_RSQRT,    /* gradient only */
  TF_IS_INF,
  TF_IS_NAN,
  TF_ONES,
  TF_CONJ,
  TF_ANGLE, /* argument of a complex number */
  TF_FLOOR_DIV,
  TF_TRUNCATE_DIV,
  TF_FLOOR_MOD,
  TF_SQUARED_DIFFERENCE,
  TF_DIV_NO_NAN, /* 0 where the divisor is 0 */
  TF_MUL_NO_NAN, /* 0 where the second factor is 0, even times NaN */
  TF_XDIVY,      /* x / y, 0 where x is 0 */
  TF_XLOGY,      /* x log(y), 0 where x is 0 */
  TF_XLOG1PY,    /* x log(1 + y), 0 where x is 0 */
  TF_RIGHT_SHIFT,
  TF_TO_BOOL, /* a scalar is not 0, an array not empty */
  TF_NDTRI    /* quantile of the normal distribution */
} tf_formula_t;

/* Special functions with formulas in the StableHLO import; the number is the index in their table.
 */
typedef enum tf_special {
  TF_ERFC,
  TF_ERFINV,
  TF_LGAMMA,
  TF_DIGAMMA,
  TF_ZETA,
  TF_POLYGAMMA,
  TF_I1E
} tf_special_t;

/* Distributions of random operations. */
typedef enum tf_random_kind {
  TF_RANDOM_UNIFORM,   /* floats within [0, 1) */
  TF_RANDOM_NORMAL,    /* mean 0, deviation 1 */
  TF_RANDOM_TRUNCATED, /* normal, within two deviations */
  TF_RANDOM_INT,       /* integers within [low, high) */
  TF_RANDOM_FULL_INT   /* all bits of an integer */
} tf_random_kind_t;

#endif
