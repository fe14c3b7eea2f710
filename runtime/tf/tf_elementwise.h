/* Variants of elementwise formulas and of random numbers in tf_ops.def. */
#ifndef TF_ELEMENTWISE_H
#define TF_ELEMENTWISE_H

typedef enum tf_formula {
  TF_SQUARE,
  TF_RECIPROCAL,
  TF_RELU,
  TF_RELU6,
  TF_ELU,
  TF_SELU,
  TF_SOFTPLUS,
  TF_SOFTSIGN,
  TF_SIGMOID,
  TF_TANH,
  TF_SQRT,
  TF_RSQRT,
  TF_IS_INF,
  TF_IS_NAN,
  TF_ZEROS,
  TF_ONES,
  TF_CONJ,
  TF_ANGLE,
  TF_FLOOR_DIV,
  TF_FLOOR_MOD,
  TF_SQUARED_DIFFERENCE,
  TF_DIV_NO_NAN,
  TF_MUL_NO_NAN,
  TF_XDIVY,
  TF_XLOGY,
  TF_XLOG1PY,
  TF_RIGHT_SHIFT,
  TF_TO_BOOL,
  TF_NDTRI
} tf_formula_t;

typedef enum tf_special {
  TF_ERFC,
  TF_ERFINV,
  TF_LGAMMA,
  TF_DIGAMMA,
  TF_ZETA,
  TF_POLYGAMMA,
  TF_I1E
} tf_special_t;

typedef enum tf_random_kind {
  TF_RANDOM_UNIFORM,
  TF_RANDOM_NORMAL,
  TF_RANDOM_TRUNCATED,
  TF_RANDOM_INT,
  TF_RANDOM_FULL_INT
} tf_random_kind_t;

#endif
