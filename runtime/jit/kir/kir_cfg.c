/* Control flow graph of a function: reverse postorder, loop depths, uses, and replacement of
 * values.
 *
 * The order is a depth-first postorder, reversed, which puts every block before its successors
 * but for back edges, and keeps loops contiguous, since a loop's exit is visited before its body.
 * Loops are reducible, as the emitters build structured code only. A side array of replacements
 * by id implements "replace all uses with": passes record the replacement, and one walk rewrites
 * the operands. */
#include "jit/kir/kir_cfg.h"

int kir_successor_count(const kir_block_t *block) {
  const kir_value_t *last = block->last;
  return last->op == KIR_CONDBR ? 2 : last->op == KIR_BR;
}

/* --- order ------------------------------------------------------------------------------------ */

/* A block comes before its successors, which were given the places after it. */
static void visit(kir_cfg_t *cfg, kir_block_t *block, int *next) {
  if (block->index) return;
  block->index = -1;
  const kir_value_t *last = block->last;
  if (last && last->op == KIR_CONDBR) visit(cfg, last->blocks[1], next);
  if (last && last->op != KIR_RET && last->blocks) visit(cfg, last->blocks[0], next);
  cfg->order[--*next] = block;
}

/* A back edge from block b to block i makes a loop of all blocks between. */
static void find_depths(kir_cfg_t *cfg) {
  for (int b = 0; b < cfg->block_count; b++) {
    const kir_block_t *block = cfg->order[b];
    for (int k = 0; k < kir_successor_count(block); k++)
      for (int i = block->last->blocks[k]->index; i <= b; i++) cfg->depth[i]++;
  }
}

hr_status_t kir_cfg_find(hr_arena_t *arena, kir_function_t *function, kir_cfg_t *out_cfg) {
  int count = 0;
  *out_cfg = (kir_cfg_t){.arena = arena, .function = function};
  for (kir_block_t *block = function->first; block; block = block->next) {
    block->index = 0;
    count++;
  }
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &out_cfg->order));
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &out_cfg->depth));
  int next = count;
  visit(out_cfg, function->first, &next);
  out_cfg->order += next;
  out_cfg->block_count = count - next;
  for (int b = 0; b < out_cfg->block_count; b++) {
    out_cfg->order[b]->index = b;
    if (!kir_terminator(out_cfg->order[b])) out_cfg->is_malformed = true;
  }
  if (!out_cfg->is_malformed) find_depths(out_cfg);
  return NULL;
}

/* --- instructions ----------------------------------------------------------------------------- */

void kir_unlink(kir_value_t *instr) {
  kir_block_t *block = instr->block;
  *(instr->prev ? &instr->prev->next : &block->first) = instr->next;
  *(instr->next ? &instr->next->prev : &block->last) = instr->prev;
}

hr_status_t kir_replacements_init(kir_replacements_t *replacements, const kir_cfg_t *cfg) {
  replacements->count = cfg->function->value_count;
  return HR_NEW_ARRAY(cfg->arena, replacements->count + 1, &replacements->of);
}

kir_value_t *kir_replaced(const kir_replacements_t *replacements, kir_value_t *value) {
  while (value->id < replacements->count && replacements->of[value->id])
    value = replacements->of[value->id];
  return value;
}

void kir_replace_operands(const kir_replacements_t *replacements, kir_value_t *instr) {
  for (int k = 0; k < instr->arg_count; k++)
    instr->args[k] = kir_replaced(replacements, instr->args[k]);
}

void kir_replace_uses(const kir_replacements_t *replacements, const kir_cfg_t *cfg) {
  for (int b = 0; b < cfg->block_count; b++)
    for (kir_value_t *instr = cfg->order[b]->first; instr; instr = instr->next)
      kir_replace_operands(replacements, instr);
}

/* --- uses ------------------------------------------------------------------------------------- */

static void mark_live(kir_use_t *uses, const kir_value_t *value) {
  if (!value->id || uses[value->id].is_live) return;
  uses[value->id].is_live = true;
  for (int k = 0; k < value->arg_count; k++) mark_live(uses, value->args[k]);
}

static void count_uses(kir_use_t *uses, kir_value_t *instr) {
  for (int k = 0; k < instr->arg_count; k++) {
    kir_use_t *use = &uses[instr->args[k]->id];
    use->count++;
    use->user = instr;
  }
}

hr_status_t kir_find_uses(const kir_cfg_t *cfg, kir_use_t **out_uses) {
  HR_TRY(HR_NEW_ARRAY(cfg->arena, cfg->function->value_count + 1, out_uses));
  for (kir_block_t *block = cfg->function->first; block; block = block->next)
    for (kir_value_t *instr = block->first; instr; instr = instr->next)
      if (!(kir_op_flags[instr->op] & KIR_PURE)) mark_live(*out_uses, instr);
  for (kir_block_t *block = cfg->function->first; block; block = block->next)
    for (kir_value_t *instr = block->first; instr; instr = instr->next)
      if ((*out_uses)[instr->id].is_live) count_uses(*out_uses, instr);
  return NULL;
}
