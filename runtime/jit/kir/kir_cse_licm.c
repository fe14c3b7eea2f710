/* Common subexpression elimination and loop-invariant code motion in one pass over the blocks.
 *
 * Dominators are found by the iterative algorithm of Cooper, Harvey and Kennedy. Instructions are
 * hashed by op, type and operands; an equal one in a dominating block replaces a later one. Loads
 * take part while nothing was written since: a counter of writes, advanced at every block and
 * store, is part of their key. After that, an instruction whose operands are defined outside the
 * loop is moved to the preheader, loop by loop outwards. Only instructions that cannot trap move,
 * and only as many per register class as the target allows (hoisted_max): more would be spilled
 * in the loop. */
#include <string.h>

#include "jit/kir/kir_cfg.h"

#define BUCKETS 512
#define CLASSES_MAX 4

/* An instruction that is computed already. */
typedef struct available {
  kir_value_t *value;
  int writes; /* cse_t.writes when it was computed, if it reads memory; else 0 */
  struct available *next;
} available_t;

typedef struct loop {
  int first, last;        /* indices of blocks */
  kir_block_t *preheader; /* only predecessor outside the loop; NULL: there are several */
  int hoisted[CLASSES_MAX];
} loop_t;

typedef struct cse {
  const kir_cfg_t *cfg;
  const kir_register_classes_t *classes;
  kir_replacements_t replacements;
  int *idom; /* immediate dominator by block index; -1: unknown */
  available_t **available;
  loop_t *loops;
  int loop_count;
  int writes; /* number of writes so far; each block's start counts, since other paths lead to it */
} cse_t;

/* --- blocks ----------------------------------------------------------------------------------- */

/* Nearest common dominator: dominators have smaller indices, so the larger index moves up. */
static int intersect(const cse_t *c, int a, int b) {
  while (a != b)
    if (a > b)
      a = c->idom[a];
    else
      b = c->idom[b];
  return a;
}

/* One round over all edges; repeated until nothing changes. */
static bool find_idoms_once(cse_t *c) {
  bool changes = false;
  for (int b = 0; b < c->cfg->block_count; b++)
    for (int k = 0; k < kir_successor_count(c->cfg->order[b]); k++) {
      int to = c->cfg->order[b]->last->blocks[k]->index;
      int idom = b;
      if (c->idom[to] >= 0) idom = to ? intersect(c, c->idom[to], b) : 0;
      changes |= idom != c->idom[to];
      c->idom[to] = idom;
    }
  return changes;
}

/* A loop is the run of blocks from the target of a back edge to its source. */
static void find_loops(cse_t *c) {
  for (int b = 0; b < c->cfg->block_count; b++)
    for (int k = 0; k < kir_successor_count(c->cfg->order[b]); k++) {
      int to = c->cfg->order[b]->last->blocks[k]->index;
      if (to <= b) c->loops[c->loop_count++] = (loop_t){.first = to, .last = b};
    }
  for (int b = 0; b < c->cfg->block_count; b++)
    for (int k = 0; k < kir_successor_count(c->cfg->order[b]); k++)
      for (int l = 0; l < c->loop_count; l++) {
        loop_t *loop = &c->loops[l];
        bool enters = c->cfg->order[b]->last->blocks[k]->index == loop->first && b < loop->first;
        bool is_alone = enters && !loop->preheader && kir_successor_count(c->cfg->order[b]) == 1;
        if (enters) loop->preheader = is_alone ? c->cfg->order[b] : NULL;
      }
}

/* Blocks of a loop are contiguous in the order of the control flow graph. */
static bool is_within(const loop_t *loop, const kir_block_t *block) {
  return block->index >= loop->first && block->index <= loop->last;
}

/* The smallest loop that the block is in; NULL: none. */
static loop_t *loop_of(cse_t *c, const kir_block_t *block) {
  loop_t *found = NULL;
  for (int l = 0; l < c->loop_count; l++)
    if (is_within(&c->loops[l], block) && (!found || c->loops[l].first >= found->first))
      found = &c->loops[l];
  return found;
}

/* --- common subexpressions -------------------------------------------------------------------- */

/* An alloca is not merged with another, so it counts as reading memory. */
static bool reads_memory(kir_op_t op) {
  return op == KIR_LOAD || op == KIR_MASKED_LOAD || op == KIR_GATHER || op == KIR_ALLOCA;
}

bool kir_is_movable(const kir_value_t *instr) {
  return kir_op_flags[instr->op] & KIR_PURE && !reads_memory(instr->op) && instr->op != KIR_PHI;
}

/* Operands are hashed by address: values are unique. */
static unsigned bucket_of(const kir_value_t *instr) {
  uint64_t hash = (uint64_t)instr->op << 8 ^ (uint64_t)instr->detail;
  for (int k = 0; k < instr->arg_count; k++)
    hash = (hash ^ (uintptr_t)instr->args[k] >> 4) * 0x9e3779b97f4a7c15u;
  return (hash ^ hash >> 31) % BUCKETS;
}

/* Constants are unique objects, too, so operands are compared by address. */
static bool is_same(const kir_value_t *a, const kir_value_t *b) {
  return a->op == b->op && a->type == b->type && a->detail == b->detail &&
         a->arg_count == b->arg_count &&
         memcmp(a->args, b->args, (size_t)a->arg_count * sizeof *a->args) == 0;
}

/* Walks b's dominators until they are not later than a. */
static bool dominates(const cse_t *c, const kir_block_t *a, const kir_block_t *b) {
  int at = b->index;
  while (at > a->index) at = c->idom[at];
  return at == a->index;
}

/* Replaces the instruction by an equal one that dominates it, or registers it. */
static hr_status_t find_same(cse_t *c, kir_value_t *instr) {
  available_t *made, **bucket = &c->available[bucket_of(instr)];
  int writes = reads_memory(instr->op) ? c->writes : 0;
  for (available_t *known = *bucket; known; known = known->next)
    if (known->writes == writes && is_same(known->value, instr) &&
        dominates(c, known->value->block, instr->block)) {
      c->replacements.of[instr->id] = known->value;
      kir_unlink(instr);
      return NULL;
    }
  HR_TRY(HR_NEW(c->cfg->arena, &made));
  *made = (available_t){instr, writes, *bucket};
  *bucket = made;
  return NULL;
}

/* --- loop invariants -------------------------------------------------------------------------- */

/* Addresses are folded into the instructions that use them, where they cost nothing; a division
 * may trap only where the program would divide, unless its divisor is a positive constant. */
static bool may_hoist(const kir_value_t *instr) {
  bool divides = instr->op >= KIR_UDIV && instr->op <= KIR_SREM;
  if (divides && !(kir_is_constant(instr->args[1]) &&
                   kir_sign_extend(instr->args[1]->lanes[0], instr->type->bits) > 0))
    return false;
  return instr->op != KIR_GEP && kir_has_result(instr);
}

/* Is an operand defined in the loop? */
static bool changes_within(const kir_value_t *instr, const loop_t *loop) {
  for (int k = 0; k < instr->arg_count; k++)
    if (instr->args[k]->block && is_within(loop, instr->args[k]->block)) return true;
  return false;
}

/* Appends before the block's terminator. */
static void move_before(kir_value_t *instr, kir_block_t *block) {
  kir_value_t *end = block->last;
  kir_unlink(instr);
  instr->block = block;
  instr->next = end;
  instr->prev = end->prev;
  *(end->prev ? &end->prev->next : &block->first) = instr;
  end->prev = instr;
}

/* Outwards loop by loop, as long as the class has registers to spare in that loop. */
static void hoist(cse_t *c, kir_value_t *instr) {
  int kind = c->classes->class_of(instr->type);
  for (loop_t *loop = loop_of(c, instr->block); loop && may_hoist(instr);
       loop = loop_of(c, instr->block)) {
    if (!loop->preheader || changes_within(instr, loop) ||
        loop->hoisted[kind] == c->classes->hoisted_max[kind])
      return;
    loop->hoisted[kind]++;
    move_before(instr, loop->preheader);
  }
}

/* --- the pass --------------------------------------------------------------------------------- */

/* Replaces operands first, so that equal expressions compare equal. */
static hr_status_t visit_instr(cse_t *c, kir_value_t *instr) {
  kir_replace_operands(&c->replacements, instr);
  bool reads = reads_memory(instr->op) && instr->op != KIR_ALLOCA;
  if (!(kir_op_flags[instr->op] & KIR_PURE)) c->writes++;
  if (!kir_is_movable(instr) && !reads) return NULL;
  HR_TRY(find_same(c, instr));
  if (!c->replacements.of[instr->id] && !reads) hoist(c, instr);
  return NULL;
}

hr_status_t kir_cse_licm(const kir_cfg_t *cfg, const kir_register_classes_t *classes) {
  cse_t c = {.cfg = cfg, .classes = classes};
  if (cfg->block_count < 2) return NULL;
  HR_TRY(kir_replacements_init(&c.replacements, cfg));
  HR_TRY(HR_NEW_ARRAY(cfg->arena, cfg->block_count + 1, &c.idom));
  HR_TRY(HR_NEW_ARRAY(cfg->arena, BUCKETS, &c.available));
  HR_TRY(HR_NEW_ARRAY(cfg->arena, 2 * cfg->block_count + 1, &c.loops));
  for (int b = 1; b < cfg->block_count; b++) c.idom[b] = -1;
  while (find_idoms_once(&c)) {
  }
  find_loops(&c);
  for (int b = 0; b < cfg->block_count; b++) {
    c.writes++;
    for (kir_value_t *instr = cfg->order[b]->first, *next; instr; instr = next) {
      next = instr->next;
      HR_TRY(visit_instr(&c, instr));
    }
  }
  kir_replace_uses(&c.replacements, cfg);
  return NULL;
}
