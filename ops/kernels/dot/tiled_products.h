/* Products and the code between them as one step: a tile of rows at a time (native_tiled_products.c
 * runs what tiled_products_plan.c plans).
 *
 *   s = q k'         [matrices, rows, columns]     a product makes a tile
 *   p = softmax(s)   generated code on its rows    a tile becomes others
 *   o = p v          [matrices, rows, n]           products read a
 * tile */
#ifndef HLO_OPS_TILED_PRODUCTS_H
#define HLO_OPS_TILED_PRODUCTS_H

#include "ops/kernels/dot/native_dot.h"

typedef enum tiled_kind {
  TILED_PRODUCT,   /* a tile of rows: its rows of a, times b */
  TILED_ROWS,      /* generated code */
  TILED_LEFT,      /* tile b: the same rows of the result */
  TILED_RIGHT,     /* a tile': the same columns of the result */
  TILED_LEFT_SUM,  /* tile' b: a sum over rows */
  TILED_RIGHT_SUM, /* a tile: a sum over rows */
} tiled_kind_t;

/* Place of an array: an operand or a result of the step, or only tiles in scratch memory. */
typedef enum tiled_place { TILED_SCRATCH, TILED_OPERAND, TILED_RESULT } tiled_place_t;

typedef struct tiled_value {
  tiled_place_t place;
  int leaf;          /* OPERAND, RESULT */
  int64_t row_bytes; /* size of a row of a tile */
  size_t at;         /* SCRATCH: offset of the tile in a worker's memory */
} tiled_value_t;

typedef struct tiled_mask tiled_mask_t; /* tiled_mask.h */

/* Columns [first, end) of a tile. */
typedef struct tiled_range {
  int64_t first, end;
} tiled_range_t;

typedef struct tiled_step {
  tiled_kind_t kind;
  int in_count, out_count;
  const tiled_value_t **in, **out;
  const dot_problem_t *problem; /* products */
  gemm_job_t job;               /* products: sizes and strides for a whole matrix */
  bool packs_once;              /* products: b serves several tiles, and is packed at packed_at */
  size_t packed_at;             /* offset of packed b in a worker's memory */
  /* Products: columns of the tile that the mask leaves out are not computed (PRODUCT), or are no
   * terms if they are zero (LEFT); NULL: all are. */
  const tiled_mask_t *mask;
  /* Without a mask: the tile in whose columns of zeros generated code does not use the product
   * (PRODUCT), or gives a tile of zeros (LEFT, LEFT_SUM); see tiled_zeros.h. */
  const tiled_value_t *zeros;
  const tiled_value_t *factors[2]; /* PRODUCT: rows' factors, NULL: none; see tiled_zeros.h */
  size_t finiteness_at;  /* offset of whether packed b is finite (LEFT) or small (PRODUCT) */
  const void *rows_plan; /* ROWS */
  const op_native_consumer_t *rows;
  size_t scratch_at, pointers_at; /* ROWS: offsets in a worker's memory */
} tiled_step_t;

typedef struct tiled_plan {
  int64_t matrices, rows, columns; /* sizes of the tiled arrays; rows of one matrix */
  int64_t block_rows;              /* rows of a tile, except for the last one of a matrix */
  bool sums;                       /* some product sums over rows: a task is a whole matrix */
  bool masks_rows;                 /* the columns of some product differ from row to row */
  int workers, step_count;
  tiled_step_t *steps;
  size_t space_at, worker_bytes; /* offset of packed operands; memory of each worker in total */
  size_t packed_matrix_at; /* offset of the number of the matrix whose b a worker has packed; -1 */
} tiled_plan_t;

/* Signature of op_native_t.prepare. */
hr_status_t tiled_products_prepare(const op_native_target_t *target, const op_step_t *step,
                                   op_native_step_t *out);

#endif
