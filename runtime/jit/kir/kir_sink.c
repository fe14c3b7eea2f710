/* Instruction sinking within blocks: indices and conditions are moved to right before their first
 * use, which shortens live ranges.
 *
 * Each block is rebuilt: anchors (instructions that stay in order) are appended one after the
 * other, each preceded by the sunk instructions that it reads and that are not placed yet. An
 * instruction that is the last reader of two or more values stays an anchor: sunk, it would keep
 * all of them alive. Dead instructions are dropped. Linear in the operands. */
#include "jit/kir/kir_cfg.h"

typedef struct sink {
  const kir_cfg_t *cfg;
  const kir_register_classes_t *classes;
  const kir_use_t *uses;
  bool *is_placed;      /* by id: the value has been placed in its block */
  kir_value_t **instrs; /* instructions of the block before sinking, in order */
} sink_t;

/* Does the instruction keep its order? */
static bool is_anchor(const sink_t *s, const kir_value_t *instr) {
  int last_reads = 0;
  if (!kir_is_movable(instr)) return true;
  if (s->classes->class_of(instr->type) != s->classes->sunk_class) return true;
  for (int k = 0; k < instr->arg_count; k++) {
    const kir_value_t *read = instr->args[k];
    bool is_here = !kir_is_constant(read) && read->block == instr->block;
    last_reads += is_here && s->uses[read->id].count == 1;
  }
  return last_reads > 1;
}

static void append(sink_t *s, kir_block_t *block, kir_value_t *instr) {
  instr->prev = block->last;
  instr->next = NULL;
  *(block->last ? &block->last->next : &block->first) = instr;
  block->last = instr;
  s->is_placed[instr->id] = true;
}

/* Appends an instruction after the operands that it reads. */
static void sink_operands(sink_t *s, kir_block_t *block, kir_value_t *instr) {
  for (int k = 0; k < instr->arg_count && instr->op != KIR_PHI; k++) {
    kir_value_t *read = instr->args[k];
    if (read->block == block && !s->is_placed[read->id]) sink_operands(s, block, read);
  }
  append(s, block, instr);
}

/* The terminator stays last; dead instructions are dropped. */
static void rebuild_block(sink_t *s, kir_block_t *block) {
  kir_value_t *end = block->last;
  int count = 0;
  for (kir_value_t *instr = block->first; instr != end; instr = instr->next)
    s->instrs[count++] = instr;
  block->first = NULL;
  block->last = NULL;
  for (int anchors = 1; anchors >= 0; anchors--)
    for (int i = 0; i < count; i++) {
      kir_value_t *instr = s->instrs[i];
      bool is_next = s->uses[instr->id].is_live && !s->is_placed[instr->id];
      if (is_next && (!anchors || is_anchor(s, instr))) sink_operands(s, block, instr);
    }
  append(s, block, end);
}

hr_status_t kir_sink(const kir_cfg_t *cfg, const kir_register_classes_t *classes,
                     const kir_use_t *uses) {
  sink_t s = {.cfg = cfg, .classes = classes, .uses = uses};
  HR_TRY(HR_NEW_ARRAY(cfg->arena, cfg->function->value_count + 1, &s.is_placed));
  HR_TRY(HR_NEW_ARRAY(cfg->arena, cfg->function->value_count + 1, &s.instrs));
  for (int b = 0; b < cfg->block_count; b++) rebuild_block(&s, cfg->order[b]);
  return NULL;
}
