/* Indices and conditions are computed right before the first instruction that needs them, so that fewer of them are
 * needed at once. One that reads two or more values for the last time stays where it is: moved down, it would keep
 * all of them. */
#include "jit/own_code.h"

static bool is_anchor(const own_value_t *instr) {
  int last_reads = 0;
  if (!own_is_plain(instr) || own_class_of(instr->type) != OWN_GENERAL) return true;
  for (int k = 0; k < instr->arg_count; k++) {
    const own_value_t *read = instr->args[k];
    last_reads += !own_is_constant(read) && read->block == instr->block && read->uses == 1;
  }
  return last_reads > 1;
}

static void append(own_block_t *block, own_value_t *instr) {
  instr->before = block->last, instr->after = NULL;
  *(block->last ? &block->last->after : &block->first) = instr;
  block->last = instr, instr->is_placed = true;
}

static void place(own_block_t *block, own_value_t *instr) {
  for (int k = 0; k < instr->arg_count && instr->op != OWN_PHI; k++) {
    own_value_t *read = instr->args[k];
    if (read->block == block && !read->is_placed) place(block, read);
  }
  append(block, instr);
}

/* The terminator stays last; what nobody wants is left out. */
static void place_all(own_block_t *block) {
  own_value_t *first = block->first, *end = block->last;
  for (own_value_t *instr = first; instr; instr = instr->after) instr->next = instr->after;
  block->first = block->last = NULL;
  for (int anchors = 1; anchors >= 0; anchors--)
    for (own_value_t *instr = first; instr != end; instr = instr->next)
      if (instr->is_wanted && !instr->is_placed && (!anchors || is_anchor(instr))) place(block, instr);
  append(block, end);
}

void own_late(own_code_t *code) {
  for (int b = 0; b < code->block_count; b++) place_all(code->order[b]);
}
