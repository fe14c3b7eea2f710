/* Order of instructions within blocks for few vector registers.
 *
 * Legalisation splits every operation on wide vectors into one per register, side by side: the
 * parts are computed together, which hides latencies, but needs registers for all of them. Where a
 * block has more live vectors than registers, it is rebuilt depth first from its stores and other
 * instructions without a result: each is preceded by what it reads and what is not placed yet, so
 * that the parts are computed one after the other. The order with fewer live vectors is kept.
 *
 * Loads stay before the next write. Cost: linear in the operands. */
#include "jit/x64/x64_code.h"

typedef struct schedule {
  x64_code_t *code;
  bool *escapes;        /* by id: the value is read in another block, or by a phi */
  bool *is_live;        /* by id, while live vectors are counted */
  bool *is_placed;      /* by id: the value has its place in `after` */
  kir_value_t **before; /* instructions of the block in their order */
  kir_value_t **after;  /* the new order */
  int count, placed;
} schedule_t;

static bool is_vector(const kir_value_t *value) {
  return value->id && kir_has_result(value) && x64_class_of(value->type) == X64_VECTOR;
}

static bool writes_memory(const kir_value_t *instr) {
  return !(kir_op_flags[instr->op] & KIR_PURE);
}

/* --- live vectors ----------------------------------------------------------------------------- */

static void find_escaping(schedule_t *s) {
  const kir_cfg_t *cfg = &s->code->cfg;
  for (int b = 0; b < cfg->block_count; b++)
    for (const kir_value_t *instr = cfg->order[b]->first; instr; instr = instr->next)
      for (int k = 0; k < instr->arg_count; k++)
        if (instr->op == KIR_PHI || instr->args[k]->block != instr->block)
          s->escapes[instr->args[k]->id] = true;
}

/* Most vectors that are live at once, without those that only pass through the block. */
static int most_live(schedule_t *s, kir_value_t *const *order) {
  int live = 0, most = 0;
  for (int i = 0; i < s->count; i++) {
    s->is_live[order[i]->id] = is_vector(order[i]) && s->escapes[order[i]->id];
    live += s->is_live[order[i]->id];
    for (int k = 0; k < order[i]->arg_count; k++)
      if (order[i]->args[k]->block != order[i]->block) s->is_live[order[i]->args[k]->id] = false;
  }
  for (int i = s->count; i-- > 0;) {
    const kir_value_t *instr = order[i];
    if (live > most) most = live;
    live -= s->is_live[instr->id];
    s->is_live[instr->id] = false;
    for (int k = 0; k < instr->arg_count && instr->op != KIR_PHI; k++) {
      if (!is_vector(instr->args[k]) || s->is_live[instr->args[k]->id]) continue;
      s->is_live[instr->args[k]->id] = true;
      live++;
    }
  }
  return live > most ? live : most;
}

/* --- the order -------------------------------------------------------------------------------- */

/* Places an instruction after the operands that it reads. */
static void place(schedule_t *s, kir_value_t *instr) {
  if (s->is_placed[instr->id]) return;
  s->is_placed[instr->id] = true;
  for (int k = 0; k < instr->arg_count && instr->op != KIR_PHI; k++)
    if (instr->args[k]->block == instr->block && instr->args[k]->id) place(s, instr->args[k]);
  s->after[s->placed++] = instr;
}

/* Phis come first, and the loads before a write are placed before it. */
static void order_depth_first(schedule_t *s) {
  int loads = 0;
  s->placed = 0;
  for (int i = 0; i < s->count; i++) s->is_placed[s->before[i]->id] = false;
  for (int i = 0; i < s->count && s->before[i]->op == KIR_PHI; i++) place(s, s->before[i]);
  for (int i = 0; i < s->count; i++) {
    if (!writes_memory(s->before[i])) continue;
    for (int k = 0; k < s->before[i]->arg_count; k++)
      if (s->before[i]->args[k]->block == s->before[i]->block && s->before[i]->args[k]->id)
        place(s, s->before[i]->args[k]);
    for (; loads < i; loads++)
      if (!kir_is_movable(s->before[loads])) place(s, s->before[loads]);
    if (i + 1 < s->count) place(s, s->before[i]);
  }
  for (int i = 0; i < s->count; i++) place(s, s->before[i]);
}

static void link_in_order(kir_block_t *block, kir_value_t *const *order, int count) {
  block->first = order[0];
  block->last = order[count - 1];
  for (int i = 0; i < count; i++) {
    order[i]->prev = i ? order[i - 1] : NULL;
    order[i]->next = i + 1 < count ? order[i + 1] : NULL;
  }
}

static void schedule_block(schedule_t *s, kir_block_t *block) {
  s->count = 0;
  for (kir_value_t *instr = block->first; instr; instr = instr->next) s->before[s->count++] = instr;
  int live = most_live(s, s->before);
  if (live <= s->code->isa->scratch_vector) return;
  order_depth_first(s);
  if (most_live(s, s->after) < live) link_in_order(block, s->after, s->count);
}

hr_status_t x64_schedule(x64_code_t *code) {
  schedule_t s = {.code = code};
  size_t count = code->function->value_count + 1;
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.escapes));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.is_live));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.is_placed));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.before));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.after));
  find_escaping(&s);
  for (int b = 0; b < code->cfg.block_count; b++) schedule_block(&s, code->cfg.order[b]);
  return NULL;
}
