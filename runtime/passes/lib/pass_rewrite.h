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
  hr_arena_t scratch;    /* freed at the end */
  hlo_builder_t builder; /* appends to the computation; pass_replace and pass_rewrite_end report its
                            failure */
  uint32_t old_count; /* number of instructions at the beginning; new ones get ids from here on */
  HR_VEC(pass_note_t) notes;
  uint32_t position; /* position of the next new instruction */
  bool changed;      /* something was replaced */
} pass_rewrite_t;

hr_status_t pass_rewrite_begin(pass_rewrite_t *rewrite, hlo_computation_t *computation);
/* Old instruction i, with its operands replaced by their replacements. Instructions built
 * afterwards are placed right before it and get its source position. NULL: it was replaced, or is
 * dead. */
hlo_instr_t *pass_rewrite_visit(pass_rewrite_t *rewrite, uint32_t i);
/* Replaces uses of `old` by uses of `by`, which must have the same shape and not depend on `old`.
 * `by` NULL: returns the builder's failure. */
hr_status_t pass_replace(pass_rewrite_t *rewrite, hlo_instr_t *old, hlo_instr_t *by);
/* The final replacement of an instruction; the instruction itself if it was not replaced. */
hlo_instr_t *pass_resolve(const pass_rewrite_t *rewrite, hlo_instr_t *instr);
uint32_t pass_use_count(pass_rewrite_t *rewrite, const hlo_instr_t *instr);
/* A copy of `from`, possibly from another computation, with these operands; its name is made unique
 * later. */
hlo_instr_t *pass_clone(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                        hlo_instr_t *const *operands);
/* Copies all instructions of `callee` except its parameters, which `args` replace. NULL: the
 * builder failed. */
hlo_instr_t *pass_clone_body(pass_rewrite_t *rewrite, const hlo_computation_t *callee,
                             hlo_instr_t *const *args);
/* Normalises the list if anything was built or replaced. If `st` is a failure, only cleans up.
 * Returns the first failure. */
hr_status_t pass_rewrite_end(pass_rewrite_t *rewrite, hr_status_t st);
/* Rewrites one instruction: called for each live instruction in program order, between begin and
 * end. `context` is the caller's. */
typedef hr_status_t (*pass_visit_fn)(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context);
/* Opens a rewrite, visits all instructions and ends it. *out_changed is set if one was replaced. */
hr_status_t pass_rewrite_each(hlo_computation_t *computation, pass_visit_fn visit, void *context,
                              bool *out_changed);
/* The same for all computations of the module, except those that `visit` adds; if any were added,
 * the list is reordered at the end. */
hr_status_t pass_rewrite_module(hlo_module_t *module, pass_visit_fn visit, void *context,
                                bool *out_changed);
/* Calls `rewrite` for each computation that is not that of a fusion; like pass_rewrite_module
 * otherwise. */
typedef hr_status_t (*pass_computation_fn)(hlo_computation_t *computation, bool *out_changed);
hr_status_t pass_rewrite_unfused(hlo_module_t *module, pass_computation_fn rewrite,
                                 bool *out_changed);

/* Removes dead instructions. */
hr_status_t pass_remove_dead(hlo_computation_t *computation);

/* Def-use lists of the computation: users of instruction id are users[first[id]] up to
 * users[first[id + 1]], in program order, once per operand. */
typedef struct pass_users {
  uint32_t *first;
  hlo_instr_t **users;
} pass_users_t;
hr_status_t pass_users_find(hr_arena_t *arena, const hlo_computation_t *computation,
                            pass_users_t *out_users);
static inline uint32_t pass_users_count(const pass_users_t *users, const hlo_instr_t *instr) {
  return users->first[instr->id + 1] - users->first[instr->id];
}

/* Does it, or a computation that it calls, have a side effect? Exact; custom calls declare their
 * effects. */
bool pass_has_effect(const hlo_instr_t *instr);
/* Must it run even if nothing uses it? True for effects, except collectives of a program that was
 * global: its processes run the same instructions and drop the same ones. */
bool pass_must_stay(const hlo_instr_t *instr);
/* May it be shared, moved or removed? It must have no effects or random numbers and be no half of
 * an asynchronous pair, including called computations. */
bool pass_is_pure(const hlo_instr_t *instr);
/* One element of an array whose elements are known to be equal: of a constant, or of a broadcast of
 * one. */
const void *pass_splat_of(const hlo_instr_t *instr);

/* Must be called after computations were added (at the end of the module's list) or lost their
 * callers: drops those that the entry does not reach and lists callees before callers. */
hr_status_t pass_computations_order(hlo_module_t *module);
/* Renames instructions whose name is taken in their computation, and computations whose name is
 * taken. */
hr_status_t pass_names_settle(hlo_module_t *module);

#endif
