/* What passes change programs with. A rewrite is open on one computation: instructions are made
 * with its builder, replaced by others, and at the end the list is put in order again: uses follow
 * their replacements, what nothing needs is gone, operands come before users, ids are positions.
 *
 *   pass_rewrite_t rewrite;
 *   HR_TRY(pass_rewrite_begin(&rewrite, computation));
 *   for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
 *     hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);   (operands are up to date; new ones go
 * right before it) if (instr && worth_it(instr)) st = pass_replace(&rewrite, instr,
 * hlo_build_binary(&rewrite.builder, ...));
 *   }
 *   return pass_rewrite_end(&rewrite, st);
 *
 * Instructions with effects, those that talk to peers and those that call such keep their order,
 * whatever is done around them; so do control predecessors. Parameters stay. Cost: linear in the
 * computation. Thread: one module belongs to one thread. */
#ifndef PASS_REWRITE_H
#define PASS_REWRITE_H

#include "ops/rules/builder.h"

typedef struct pass_note {  /* about an instruction, by id */
  hlo_instr_t *replacement; /* NULL: itself */
  uint32_t position;        /* it goes before the old instruction of this number */
  uint32_t
      uses; /* operands that it is, and once more for the root; may count too many until the end */
} pass_note_t;

typedef struct pass_rewrite {
  hlo_computation_t *computation;
  hr_arena_t *arena;     /* the module's: what is made lives in it */
  hr_arena_t scratch;    /* until the end */
  hlo_builder_t builder; /* appends to the computation; its failure is reported by pass_replace and
                            pass_rewrite_end */
  uint32_t old_count;    /* instructions at the beginning; new ones get ids from here on */
  HR_VEC(pass_note_t) notes;
  uint32_t position; /* of what is made next */
  bool changed;      /* something was replaced */
} pass_rewrite_t;

hr_status_t pass_rewrite_begin(pass_rewrite_t *rewrite, hlo_computation_t *computation);
/* Old instruction i, its operands replaced by their replacements; what is made from here on goes
 * right before it and has its place in the source. NULL: it was replaced already, or nothing needs
 * it. */
hlo_instr_t *pass_rewrite_visit(pass_rewrite_t *rewrite, uint32_t i);
/* Uses of `old` become uses of `by`, which has the same shape and does not depend on `old`. `by`
 * NULL reports the builder's failure. */
hr_status_t pass_replace(pass_rewrite_t *rewrite, hlo_instr_t *old, hlo_instr_t *by);
/* What stands for an instruction now. */
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
/* Puts the list in order if anything was done, unless `st` is a failure already, and returns the
 * first failure. */
hr_status_t pass_rewrite_end(pass_rewrite_t *rewrite, hr_status_t st);
/* Removes what nothing needs. */
hr_status_t pass_remove_dead(hlo_computation_t *computation);

/* Who uses what, as it is now: users of instruction id are users[first[id]] up to users[first[id +
 * 1]], in program order, once for each operand. */
typedef struct pass_users {
  uint32_t *first;
  hlo_instr_t **users;
} pass_users_t;
hr_status_t pass_users_find(hr_arena_t *arena, const hlo_computation_t *computation,
                            pass_users_t *out_users);
static inline uint32_t pass_users_count(const pass_users_t *users, const hlo_instr_t *instr) {
  return users->first[instr->id + 1] - users->first[instr->id];
}

/* Must it run even if nothing uses it, also because of what it calls? Exact; custom calls by what
 * they say. */
bool pass_has_effect(const hlo_instr_t *instr);
/* May two equal ones be one, may it be computed earlier, later, or not at all? No effects, no
 * randomness, no halves of an asynchronous pair, here and in what it calls. */
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
