/* Orders of dimensions in memory, and which ops are the same in whatever order their arrays are. */
#ifndef PASS_LAYOUT_PROPAGATE_H
#define PASS_LAYOUT_PROPAGATE_H

#include "ir/module.h"

/* All dimensions of an array, the slowest first. Arrays are row-major, so an array "in an order" is
 * one that was transposed by it. */
typedef struct layout {
  int rank;
  int8_t dims[HLO_MAX_RANK];
} layout_t;

layout_t layout_of_dims(int rank, const int64_t *dims);
void layout_write(const layout_t *layout, int64_t *out_dims); /* as a transpose wants them */
/* out_places[d]: where dimension d is in the order. */
void layout_positions(const layout_t *layout, int64_t *out_places);
/* Do elements lie in memory as without it, or as in another one? Dimensions of size 1 do not
 * matter. */
bool layout_is_idle(const layout_t *layout, const hlo_shape_t *shape);
bool layout_same(const layout_t *a, const layout_t *b, const hlo_shape_t *shape);

/* Operand k, or the result. */
enum { LAYOUT_RESULT = -1 };

/* Is it the same in every order of its dimensions, if its operands come in orders that follow from
 * it? An instruction's order is that of its result; of a reduction that of what is reduced, from
 * which the result's follows. */
bool layout_is_carried(const hlo_instr_t *instr);
/* Can it be had in any order at no cost: constants, counts, and what is spread from few elements?
 */
bool layout_is_free(const hlo_instr_t *instr);
/* The order that operand k or the result has if an instruction has `layout`. False: none, as
 * dimensions come together that are apart in it. Scalars: any order, rank 0. */
bool layout_below(const hlo_instr_t *instr, int k, const layout_t *layout, layout_t *out_order);
/* May the instruction be done in this order? Where the first of equal elements counts
 * (select-and-scatter), those of a window are looked at in the same order as before; and all its
 * arrays have orders that follow. */
bool layout_fits(const hlo_instr_t *instr, const layout_t *layout);
/* The other way: an order of the instruction in which operand k or the result has that one. */
bool layout_above(const hlo_instr_t *instr, int k, const layout_t *layout, layout_t *out_order);

#endif
