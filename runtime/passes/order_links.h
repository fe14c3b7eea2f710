/* Orders of dimensions in memory, and which ops are the same in whatever order their arrays are. */
#ifndef PASS_ORDER_LINKS_H
#define PASS_ORDER_LINKS_H

#include "ir/module.h"

/* All dimensions of an array, the slowest first. Arrays are row-major, so an array "in an order" is one that was
 * transposed by it. */
typedef struct order {
  int rank;
  int8_t dims[HLO_MAX_RANK];
} order_t;

order_t order_of_dims(int rank, const int64_t *dims);
void order_write(const order_t *order, int64_t *out_dims); /* as a transpose wants them */
/* out_places[d]: where dimension d is in the order. */
void order_places(const order_t *order, int64_t *out_places);
/* Do elements lie in memory as without it, or as in another one? Dimensions of size 1 do not matter. */
bool order_is_idle(const order_t *order, const hlo_shape_t *shape);
bool order_same(const order_t *a, const order_t *b, const hlo_shape_t *shape);

/* Operand k, or the result. */
enum { ORDER_RESULT = -1 };

/* Is it the same in every order of its dimensions, if its operands come in orders that follow from it? An instruction's
 * order is that of its result; of a reduction that of what is reduced, from which the result's follows. */
bool order_is_carried(const hlo_instr_t *instr);
/* Can it be had in any order at no cost: constants, counts, and what is spread from few elements? */
bool order_is_free(const hlo_instr_t *instr);
/* The order that operand k or the result has if an instruction has `order`. False: none, as dimensions come together
 * that are apart in it. Scalars: any order, rank 0. */
bool order_below(const hlo_instr_t *instr, int k, const order_t *order, order_t *out_order);
/* May the instruction be done in this order? Where the first of equal elements counts (select-and-scatter), those of a
 * window are looked at in the same order as before; and all its arrays have orders that follow. */
bool order_fits(const hlo_instr_t *instr, const order_t *order);
/* The other way: an order of the instruction in which operand k or the result has that one. */
bool order_above(const hlo_instr_t *instr, int k, const order_t *order, order_t *out_order);

#endif
