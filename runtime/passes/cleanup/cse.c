/* Common subexpression elimination by hashing, of instructions and of whole computations:
 *
 *   a = exp(x), b = exp(x)                 ->   a = exp(x), uses of b read a
 *   reduce(.., to_apply=sum.1), ..=sum.2   ->   both call sum.1
 *
 * In programs made by the partitioner, equal collectives on equal operands are merged, too, since
 * two convolutions of one array need the same halo. Merging extends the lifetime of the result, so
 * collectives with large results are not merged. The first of equal instructions of a computation
 * stays. Open addressing tables of at least twice the number of entries; expected cost linear.
 * Impure instructions and those with control dependencies are never merged. Exact. */
#include "passes/lib/pass_equal.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

/* ---- instructions ---- */

typedef struct instr_table {
  hlo_instr_t **slots;
  size_t mask;
} instr_table_t;

#define MAX_KEPT_BYTES (UINT64_C(1) << 20) /* most bytes of a merged collective's result */

/* All processes of a partitioned program run both collectives, or neither. */
static bool is_mergeable_collective(const hlo_instr_t *instr) {
  bool moves = instr->op == HLO_ALL_GATHER || instr->op == HLO_ALL_REDUCE ||
               instr->op == HLO_REDUCE_SCATTER || instr->op == HLO_ALL_TO_ALL ||
               instr->op == HLO_COLLECTIVE_PERMUTE;
  if (!moves || !instr->parent->module->was_global || !hlo_shape_is_array(instr->shape))
    return false;
  uint64_t elements = (uint64_t)hlo_shape_elements(instr->shape);
  return elements <= MAX_KEPT_BYTES / hr_dtype_bytes(instr->shape->dtype);
}

/* May the instruction be merged? Not with effects, RNG, parameters or control dependencies. */
static bool can_merge(const hlo_instr_t *instr) {
  return instr->op != HLO_PARAMETER && !(instr->extra && instr->extra->control_count) &&
         (pass_is_pure(instr) || is_mergeable_collective(instr));
}

static bool is_same(const hlo_instr_t *a, const hlo_instr_t *b) {
  return is_mergeable_collective(a) ? pass_collective_equal(a, b) : pass_instr_equal(a, b);
}

/* An earlier equal instruction; NULL: none, and the instruction is added. */
static hlo_instr_t *find_or_add(instr_table_t *table, hlo_instr_t *instr) {
  size_t i = pass_instr_hash(instr) & table->mask;
  for (; table->slots[i]; i = (i + 1) & table->mask)
    if (is_same(table->slots[i], instr)) return table->slots[i];
  table->slots[i] = instr;
  return NULL;
}

static hr_status_t merge_equal_instrs(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  instr_table_t table = {.mask = 15};
  while (table.mask < 2 * computation->instrs.count) table.mask = 2 * table.mask + 1;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = HR_NEW_ARRAY(&rewrite.scratch, table.mask + 1, &table.slots);
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    hlo_instr_t *earlier = instr && can_merge(instr) ? find_or_add(&table, instr) : NULL;
    if (earlier) st = pass_replace(&rewrite, instr, earlier);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

/* ---- computations ---- */

typedef struct computation_table {
  hr_arena_t arena;
  hlo_computation_t **slots,
      **representative; /* representative: by id, the computation that replaces it */
  size_t mask;
} computation_table_t;

static hlo_computation_t *find_or_add_computation(computation_table_t *table,
                                                  hlo_computation_t *computation) {
  size_t i = pass_computation_hash(computation) & table->mask;
  for (; table->slots[i]; i = (i + 1) & table->mask)
    if (pass_computation_equal(table->slots[i], computation)) return table->slots[i];
  return table->slots[i] = computation;
}

/* Callees come first, so calls refer to representatives already. */
static hr_status_t merge_equal_computations(hlo_module_t *module, computation_table_t *table,
                                            bool *out_changed) {
  size_t count = module->computations.count;
  for (table->mask = 15; table->mask < 2 * count;) table->mask = 2 * table->mask + 1;
  HR_TRY(HR_NEW_ARRAY(&table->arena, table->mask + 1, &table->slots));
  HR_TRY(HR_NEW_ARRAY(&table->arena, count, &table->representative));
  for (size_t c = 0; c < count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      hlo_instr_t *instr = computation->instrs.data[i];
      for (int k = 0; k < instr->called_count; k++)
        instr->called[k] = table->representative[instr->called[k]->id];
    }
    table->representative[c] =
        computation == module->entry ? computation : find_or_add_computation(table, computation);
    *out_changed |= table->representative[c] != computation;
  }
  return NULL;
}

hr_status_t pass_cse(hlo_module_t *module, bool *out_changed) {
  computation_table_t table = {0};
  bool merged = false;
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(merge_equal_instrs(module->computations.data[c], out_changed));
  hr_arena_init(&table.arena);
  hr_status_t st = merge_equal_computations(module, &table, &merged);
  hr_arena_deinit(&table.arena);
  if (st || !merged) return st;
  *out_changed = true;
  return pass_computations_order(module);
}
