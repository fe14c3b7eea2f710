/* What generated code can compute. The passes ask it to decide what to fuse, the code generator
 * does what is promised here, and the plan gives everything else to native kernels or to the
 * reference engine. The kinds are a column of ops.def.
 *
 * Fusions (the op `fusion`, made by passes/ or read from a program) are of these forms, which
 * ops/query/fusion_form.h tells apart, for the passes and the code generator alike; `kind` says
 * which is meant: kLoop   Instructions of kind ELEMENTWISE or INDEX (any sizes), so that an element
 * of a root is a formula of elements of the parameters. Roots are computed in one loop if they have
 * equal sizes and share something; roots may also have nothing in common and any sizes (many small
 * tensors, many scalars: one step instead of hundreds). A root may be an UPDATE: its formula is
 * then evaluated over the sizes of what is written, in place of the updated operand, a parameter
 * that the body does not use otherwise but by a dynamic-slice of the same part: then each element
 * is read just before it is written; the code must not take the two for different arrays. kInput
 * Has reductions, all of one space: what they reduce and what they leave. rows:    the reduced
 * dimensions are the last ones. What depends on a reduction is full or outer: full values are used
 * element by element, outer ones too, or broadcast to full along exactly what is reduced. All else
 * is a formula of the parameters, as in kLoop, read at a full, an outer, or any computed index.
 * Roots are full or outer. So softmax, layer norm and their gradients are one fusion. columns:
 * other reduced dimensions. What depends on a reduction is outer, used element by element; the rest
 *                    is a formula of the parameters. Roots are outer, or full (what is reduced,
 * written on the way). A reduction of several operands (arg-max) and one whose computation is any
 * formula of scalars are allowed. A single instruction outside of a fusion is treated as a fusion
 * of itself. */
#ifndef HLO_OPS_CODEGEN_SUPPORT_H
#define HLO_OPS_CODEGEN_SUPPORT_H

#include "ir/module.h"

typedef enum op_emit {
  CODEGEN_NONE,
  CODEGEN_ELEMENTWISE, /* element i of the result is a formula of the operands' elements i */
  CODEGEN_INDEX,  /* an element of the result is one of the operands' elements, found by arithmetic
                     on the index */
  CODEGEN_REDUCE, /* a reduction with any computation of scalars */
  CODEGEN_UPDATE, /* writes a part of operand 0 and leaves the rest: the whole, but in place */
  CODEGEN_STRUCTURE /* parameters, constants, tuples and their elements: no code of its own */
} op_codegen_t;

extern const op_codegen_t op_codegens[HLO_OPCODE_COUNT]; /* from ops.def */

/* Can generated code compute this instruction: its kind, its types, static sizes, and the
 * computations that it applies? Of a fusion: is its body of one of the forms above? */
bool op_can_codegen(const hlo_instr_t *instr);
/* Is this a type that generated code computes with? */
bool op_can_codegen_dtype(hr_dtype_t dtype);

#endif
