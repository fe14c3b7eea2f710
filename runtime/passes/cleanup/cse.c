/* Common subexpressions: of equal instructions of a computation the first one stays, of equal
 * computations too. Constants, iotas and broadcasts count like all others. A hash table of what has
 * been seen; linear. */
#include "passes/lib/pass_equal.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

/* ---- instructions ---- */

typedef struct seen {
  hlo_instr_t **slots;
  size_t mask;
} seen_t;

/* Not shareable: effects, RNG, parameters, instructions with control dependencies. */
static bool may_be_shared(const hlo_instr_t *instr) {
  return instr->op != HLO_PARAMETER && !(instr->extra && instr->extra->control_count) &&
         pass_is_pure(instr);
}

/* The earlier one that is the same, or NULL: then it is remembered. */
static hlo_instr_t *find_or_add(seen_t *seen, hlo_instr_t *instr) {
  size_t i = pass_instr_hash(instr) & seen->mask;
  for (; seen->slots[i]; i = (i + 1) & seen->mask)
    if (pass_instr_equal(seen->slots[i], instr)) return seen->slots[i];
  seen->slots[i] = instr;
  return NULL;
}

static hr_status_t share_instrs(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  seen_t seen = {.mask = 15};
  while (seen.mask < 2 * computation->instrs.count) seen.mask = 2 * seen.mask + 1;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = HR_NEW_ARRAY(&rewrite.scratch, seen.mask + 1, &seen.slots);
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    hlo_instr_t *same = instr && may_be_shared(instr) ? find_or_add(&seen, instr) : NULL;
    if (same) st = pass_replace(&rewrite, instr, same);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

/* ---- computations ---- */

typedef struct available {
  hr_arena_t arena;
  hlo_computation_t **slots, **first; /* first: what stands for each computation, by id */
  size_t mask;
} available_t;

static hlo_computation_t *first_equal(available_t *available, hlo_computation_t *computation) {
  size_t i = pass_computation_hash(computation) & available->mask;
  for (; available->slots[i]; i = (i + 1) & available->mask)
    if (pass_computation_equal(available->slots[i], computation)) return available->slots[i];
  return available->slots[i] = computation;
}

/* Callees come first, so calls already go to the ones that stay. */
static hr_status_t share_computations(hlo_module_t *module, available_t *available,
                                      bool *out_changed) {
  size_t count = module->computations.count;
  for (available->mask = 15; available->mask < 2 * count;)
    available->mask = 2 * available->mask + 1;
  HR_TRY(HR_NEW_ARRAY(&available->arena, available->mask + 1, &available->slots));
  HR_TRY(HR_NEW_ARRAY(&available->arena, count, &available->first));
  for (size_t c = 0; c < count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      hlo_instr_t *instr = computation->instrs.data[i];
      for (int k = 0; k < instr->called_count; k++)
        instr->called[k] = available->first[instr->called[k]->id];
    }
    available->first[c] =
        computation == module->entry ? computation : first_equal(available, computation);
    *out_changed |= available->first[c] != computation;
  }
  return NULL;
}

hr_status_t pass_cse(hlo_module_t *module, bool *out_changed) {
  available_t available = {0};
  bool fewer = false;
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(share_instrs(module->computations.data[c], out_changed));
  hr_arena_init(&available.arena);
  hr_status_t st = share_computations(module, &available, &fewer);
  hr_arena_deinit(&available.arena);
  if (st || !fewer) return st;
  *out_changed = true;
  return pass_computations_order(module);
}
