/* Parts of a rewrite that pass_rewrite.c and pass_rewrite_sort.c share. */
#ifndef PASS_REWRITE_OWN_H
#define PASS_REWRITE_OWN_H

#include "passes/lib/pass_rewrite.h"

/* Replaces the operands of an instruction by their final replacements. */
void pass_resolve_operands(const pass_rewrite_t *rewrite, hlo_instr_t *instr);
/* Normalises the instruction list: only live instructions, each after its predecessors. Every
 * instruction must have a note. Errors: INTERNAL, an instruction depends on itself. */
hr_status_t pass_rewrite_sort(pass_rewrite_t *rewrite);

#endif
