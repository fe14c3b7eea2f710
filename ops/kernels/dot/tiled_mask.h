/* Masks of tiles: columns that no row of a tile sees, as in causal or padded attention, are left
 * out of the products around a softmax. */
#ifndef HLO_OPS_TILED_MASK_H
#define HLO_OPS_TILED_MASK_H

#include "ops/kernels/dot/tiled_products.h"

/* A mask that generated code applies to a tile before anything else reads it: where it is false,
 * the value of the tile's element does not matter. Steps in bytes, which are elements. */
struct tiled_mask {
  const tiled_value_t *value; /* operand of the step, pred; columns are contiguous */
  int64_t row_step;           /* 0: all rows have the same mask */
  int rank;                   /* the matrices as an array of these sizes */
  int64_t sizes[HLO_MAX_RANK], steps[HLO_MAX_RANK];
};

/* The mask of operand `operand` of a fusion, a tile; NULL: there is none that is known. */
hr_status_t tiled_mask_find(hr_arena_t *arena, const tiled_plan_t *plan, const hlo_instr_t *fusion,
                            const tiled_step_t *step, int operand, const tiled_mask_t **out_mask);
/* The columns between which all true elements of these rows of the mask are. */
tiled_range_t tiled_mask_range(const tiled_mask_t *mask, const uint8_t *elements, int64_t columns,
                               int64_t matrix, int64_t row, int64_t rows);
/* Are all elements of columns [first, columns) zero? `tile` is of f32 or f64, row-major. */
bool tiled_is_zero_from(hr_dtype_t dtype, const void *tile, int64_t rows, int64_t columns,
                        int64_t first);

#endif
