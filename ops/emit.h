/* What generated code can compute. The passes ask it to decide what to fuse, the code generator does what is promised
 * here, and the plan gives everything else to native kernels or to the reference engine. The kinds are a column of ops.def.
 *
 * Fusions (the op `fusion`, made by passes/ or read from a program) are of these forms; `kind` says which is meant:
 *   kLoop   All roots have the same sizes D (the iteration space). Every other instruction of the body is of kind
 *           ELEMENTWISE or INDEX (any sizes), so that an element of a root is a formula of elements of the parameters.
 *           A root may also be an UPDATE: the formula is then evaluated over the sizes of the update, in place of the
 *           updated operand (a parameter).
 *   kInput  Has reductions. D is the sizes that are reduced; the reduced dimensions are the same in all reductions.
 *           rows:    the reduced dimensions are the last ones. Instructions have the sizes D (full) or those of the
 *                    dimensions that are left (outer). Between instructions of the body, full values are used element by
 *                    element, or broadcast from outer ones along exactly the reduced dimensions; what is read from
 *                    parameters may go through any INDEX instructions first. Roots are full or outer. So softmax, layer
 *                    normalisation and their gradients are one fusion.
 *           columns: other reduced dimensions. No instruction of the body uses a reduction but elementwise instructions
 *                    of its own (outer) sizes; roots are outer, or full (what is reduced, written along the way).
 *           A reduction of several operands (arg-max) and one whose computation is any formula of scalars are allowed.
 * A single instruction outside of a fusion is treated as a fusion of itself. */
#ifndef HLO_OPS_EMIT_H
#define HLO_OPS_EMIT_H

#include "ir/module.h"

typedef enum op_emit {
  EMIT_NONE,
  EMIT_ELEMENTWISE, /* element i of the result is a formula of the operands' elements i */
  EMIT_INDEX,       /* an element of the result is one of the operands' elements, found by arithmetic on the index */
  EMIT_REDUCE,      /* a reduction with any computation of scalars */
  EMIT_UPDATE,      /* writes a part of operand 0 and leaves the rest: the whole, but in place */
  EMIT_STRUCTURE    /* parameters, constants, tuples and their elements: no code of its own */
} op_emit_t;

extern const op_emit_t op_emits[HLO_OPCODE_COUNT]; /* from ops.def */

/* Can generated code compute this instruction: its kind, its types, static sizes, and the computations that it applies?
 * Of a fusion: is its body of one of the forms above? */
bool op_can_emit(const hlo_instr_t *instr);
/* Is this a type that generated code computes with? */
bool op_can_emit_dtype(hr_dtype_t dtype);

#endif
