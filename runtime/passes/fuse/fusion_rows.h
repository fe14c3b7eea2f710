/* Fusions of which each row of the result can be computed by itself: the first dimension of the
 * root goes through to operands, or operands are read whole. */
#ifndef PASS_FUSION_ROWS_H
#define PASS_FUSION_ROWS_H

#include "passes/lib/pass_rewrite.h"

/* How an instruction of a fusion is read; a set. */
enum { ROWS_OWN = 1 /* its row, by the same row of the root */, ROWS_ALL = 2 };

bool fusion_has_rows(const hlo_shape_t *shape, int64_t rows);
/* True if rows of the result need no other rows of the operands than their own. */
bool fusion_keeps_rows(const hlo_instr_t *instr, int64_t rows);
/* How rows of such an instruction read operand k. */
uint8_t fusion_row_reads(const hlo_instr_t *instr, int k);

/* *out_rows: rows of the root, or of all elements of a tuple; 0: they cannot be computed by
 * themselves. *out_reads: by id of the fused computation, a set of the above. Errors: NO_MEMORY. */
hr_status_t fusion_rows_find(hr_arena_t *arena, const hlo_computation_t *fused, int64_t *out_rows,
                             uint8_t **out_reads);

/* An operand of a fusion of fewer rows. */
typedef struct fusion_rows_operand {
  int k;    /* operand of the fusion */
  bool own; /* rows of it; false: all of it */
} fusion_rows_operand_t;

/* Makes a fused computation of `rows` rows of the root. *out_operands: one for each parameter, at
 * most two for each operand of the fusion. Errors: NO_MEMORY. */
hr_status_t fusion_rows_clone(hr_arena_t *scratch, const hlo_computation_t *fused,
                              const uint8_t *reads, int64_t rows, hlo_computation_t **out_clone,
                              fusion_rows_operand_t *out_operands);

#endif
