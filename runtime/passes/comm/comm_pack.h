/* Packs the operands of small all-to-alls or permutes into one array, so that one message takes the
 * place of several: rows of all-to-alls lie beside each other, arrays of permutes after each
 * other.
 *
 *   f32[4,6] all-to-all(a), f32[4,2,3] all-to-all(b), dimensions={0}
 *     = slices of f32[4,12] all-to-all(f32[4,12] concatenate(a, f32[4,6] reshape(b)))
 *
 * Exact in every bit: elements only move. */
#ifndef PASS_COMM_PACK_H
#define PASS_COMM_PACK_H

#include "passes/lib/pass_rewrite.h"

/* Is it a permute, or an all-to-all along the first dimension? */
bool comm_can_pack(const hlo_instr_t *collective);
/* Do the operands fit into one array, and do they go to the same processes? Groups of processes are
 * compared by the caller. */
bool comm_packs_with(const hlo_instr_t *x, const hlo_instr_t *y);
/* The collective of all operands together, in place of `members`. NULL: the builder failed. */
hlo_instr_t *comm_build_packed(pass_rewrite_t *rewrite, hlo_instr_t *const *members, int count);
/* The result of `member` from the packed result, in which its part begins at *offset; *offset moves
 * after it. */
hlo_instr_t *comm_unpack(pass_rewrite_t *rewrite, const hlo_instr_t *member, hlo_instr_t *packed,
                         int64_t *offset);

#endif
