/* What generated code can compute. The passes ask here what to fuse, the code generator compiles
 * everything that is accepted here, and the plan gives the rest to native or reference kernels. The
 * kinds of ops are a column of ops.def.
 *
 * Fusions, made by passes/ or read from a program, have one of these forms, which
 * ops/query/fusion_form.h recognises. A single instruction is a fusion of itself.
 *
 * kLoop: instructions of kind ELEMENTWISE or INDEX of any sizes, so that an element of a root is an
 * expression of elements of the parameters. Roots of equal sizes that share instructions are
 * computed in one loop; others get loops of their own in the same step (many small tensors, many
 * scalars: one step instead of hundreds). A root may be an UPDATE: its expression is evaluated over
 * the sizes of the update, in the memory of the updated operand. The body reads that operand only
 * by a dynamic-slice of the same window, so each element is read just before it is written; the
 * code must not assume that the two do not alias.
 *
 * kInput, rows: reductions of the last dimensions, all over one iteration space. A value that
 * depends on a reduction is full or outer. Full values are used element by element; outer values
 * are used element by element or broadcast along exactly the reduced dimensions. Every other value
 * is an expression of the parameters, as in kLoop, at a full, an outer, or any computed index.
 * Roots are full or outer, or an UPDATE of full size, whose operand nothing else in the body reads.
 * Softmax, layer norm and their gradients are one fusion each.
 *
 * kInput, columns: reductions of other dimensions. A value that depends on a reduction is outer and
 * used element by element. Roots are outer, or full like the operands of the reduction, written in
 * the same pass.
 *
 * Reductions of several operands (arg-max), and by any computation of scalars, are allowed. */
#ifndef HLO_OPS_CODEGEN_SUPPORT_H
#define HLO_OPS_CODEGEN_SUPPORT_H

#include "ir/module.h"

typedef enum op_emit {
  CODEGEN_NONE,
  CODEGEN_ELEMENTWISE, /* element i of the result is a formula of the operands' elements i */
  CODEGEN_INDEX,    /* an element of the result is an element of an operand, at a computed index */
  CODEGEN_REDUCE,   /* a reduction by any computation of scalars */
  CODEGEN_UPDATE,   /* writes a part of operand 0, in place; the rest keeps its values */
  CODEGEN_STRUCTURE /* parameters, constants, tuples and their elements: no code of its own */
} op_codegen_t;

extern const op_codegen_t op_codegens[HLO_OPCODE_COUNT]; /* from ops.def */

/* True if generated code can compute this instruction, by its kind, types, static sizes and called
 * computations. A fusion needs a body of one of the forms above. */
bool op_can_codegen(const hlo_instr_t *instr);
/* True if generated code can compute with this type. */
bool op_can_codegen_dtype(hr_dtype_t dtype);

#endif
