/* Rewriting of a computation. A rewrite is open on one computation: new instructions are built,
 * others replaced, and at the end the instruction list is normalised: uses refer to replacements,
 * dead instructions are gone, operands precede users, ids are positions. pass_rewrite_each is the
 * loop below; between visits the operands of an instruction are up to date, and new instructions
 * are placed right before it.
 *
 *   pass_rewrite_t rewrite;
 *   HR_TRY(pass_rewrite_begin(&rewrite, computation));
 *   for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
 *     hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
 *     if (instr && is_profitable(instr))
 *       st = pass_replace(&rewrite, instr, hlo_build_binary(&rewrite.builder, ...));
 *   }
 *   return pass_rewrite_end(&rewrite, st);
 *
 * Invariants: instructions with effects (communication included, also in called computations) keep
 * their relative order; control predecessors are kept; parameters are never removed.
 * Cost:   linear in the computation.
 * Thread: one module belongs to one thread. */
#ifndef PASS_REWRITE_H
#define PASS_REWRITE_H

#include "ops/rules/builder.h"

typedef struct pass_note {  /* per instruction, by id */
  hlo_instr_t *replacement; /* NULL: not replaced */
  uint32_t position;        /* place in the new list: before old instruction number `position` */
  uint32_t uses;            /* operand uses, plus 1 for the root; an upper bound until the end */
} pass_note_t;

typedef struct pass_rewrite {
  hlo_computation_t *computation;
  hr_arena_t *arena;     /* arena of the module; holds new instructions */
  hr_arena_t scratch;    /* until the end */
  hlo_builder_t builder; /* appends to the computation; its failure is reported by pass_replace and
                            pass_rewrite_end */
  uint32_t old_count;    /* instructions at the beginning; new ones get ids from here on */
  HR_VEC(pass_note_t) notes;
  uint32_t position; /* position of the next new instruction */
  bool changed;      /* something was replaced */
} pass_rewrite_t;

hr_status_t pass_rewrite_begin(pass_rewrite_t *rewrite, hlo_computation_t *computation);
/* Old instruction i, its operands replaced by their replacements. Instructions built from here on
 * go right before it and get its source position. NULL: it was replaced already, or is dead. */
hlo_instr_t *pass_rewrite_visit(pass_rewrite_t *rewrite, uint32_t i);
/* Uses of `old` become uses of `by`, which has the same shape and does not depend on `old`. `by`
 * NULL reports the builder's failure. */
hr_status_t pass_replace(pass_rewrite_t *rewrite, hlo_instr_t *old, hlo_instr_t *by);
/* The final replacement of an instruction; itself if it was not replaced. */
hlo_instr_t *pass_resolve(const pass_rewrite_t *rewrite, hlo_instr_t *instr);
uint32_t pass_use_count(pass_rewrite_t *rewrite, const hlo_instr_t *instr);
/* A copy of `from`, which may be of another computation, with these operands; the name is made
 * unique later. */
hlo_instr_t *pass_clone(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                        hlo_instr_t *const *operands);
/* Copies all of `callee` but its parameters, for which `args` stand; NULL on the builder's failure.
 */
hlo_instr_t *pass_clone_body(pass_rewrite_t *rewrite, const hlo_computation_t *callee,
                             hlo_instr_t *const *args);
/* Normalises the list if anything was built or replaced. With `st` a failure it only cleans up.
 * Returns the first failure. */
hr_status_t pass_rewrite_end(pass_rewrite_t *rewrite, hr_status_t st);
/* Rewrites one instruction: called for each live instruction in program order, between begin and
 * end. `context` is the caller's. */
typedef hr_status_t (*pass_visit_fn)(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context);
/* Opens a rewrite, visits all instructions and ends it. *out_changed is set if one was replaced. */
hr_status_t pass_rewrite_each(hlo_computation_t *computation, pass_visit_fn visit, void *context,
                              bool *out_changed);
/* The same for all computations of the module. Those that `visit` adds are not visited; if any were
 * added, the list is put in order at the end. */
hr_status_t pass_rewrite_module(hlo_module_t *module, pass_visit_fn visit, void *context,
                                bool *out_changed);

/* Removes dead instructions. */
hr_status_t pass_remove_dead(hlo_computation_t *computation);

/* Def-use lists of the computation as it is now: users of instruction id are users[first[id]] up to
 * users[first[id + 1]], in program order, once for each operand. */
typedef struct pass_users {
  uint32_t *first;
  hlo_instr_t **users;
} pass_users_t;
hr_status_t pass_users_find(hr_arena_t *arena, const hlo_computation_t *computation,
                            pass_users_t *out_users);
static inline uint32_t pass_users_count(const pass_users_t *users, const hlo_instr_t *instr) {
  return users->first[instr->id + 1] - users->first[instr->id];
}

/* Has it, or a computation that it calls, a side effect? Exact; custom calls declare it themselves.
 */
bool pass_has_effect(const hlo_instr_t *instr);
/* Must it run even if nothing uses it? So must effects, but for collectives of a program that was
 * global: its processes run the same instructions, and all drop the same ones. */
bool pass_must_stay(const hlo_instr_t *instr);
/* May it be shared, moved or removed? No effects, no random numbers, no half of an asynchronous
 * pair, here and in called computations. */
bool pass_is_pure(const hlo_instr_t *instr);
/* Elements of an array that are known to be all the same: of a constant, or a broadcast of one.
 * Gives one of them. */
const void *pass_splat_of(const hlo_instr_t *instr);

/* After computations were added (at the end of the module's list) or lost their callers: drops
 * those that the entry does not reach and lists callees before callers. */
hr_status_t pass_computations_order(hlo_module_t *module);
/* Gives instructions whose name is taken in their computation, and computations whose name is
 * taken, names of their own. */
hr_status_t pass_names_settle(hlo_module_t *module);

#endif
