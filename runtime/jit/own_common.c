/* What is computed twice is computed once, where a block before computes the same; what a loop computes to the same end
 * in each turn is computed before it. What is read from memory is read once while a block writes nothing. */
#include <string.h>

#include "jit/own_code.h"

#define BUCKETS 512
/* Values that may come from a loop to before it, by class: more would be on the stack in the loop. */
static const int most_before[OWN_CLASSES] = {[OWN_GENERAL] = 16, [OWN_VECTORS] = 10, [OWN_MASKS] = 5};

typedef struct known {
  own_value_t *value;
  int writes; /* common_t's, of what is read from memory; else 0 */
  struct known *next;
} known_t;

typedef struct loop {
  int first, last;  /* blocks, by their places in the order */
  own_block_t *before; /* that alone leads to it from outside; NULL: there are several */
  int moved[OWN_CLASSES];
} loop_t;

typedef struct common {
  own_code_t *code;
  int *above;   /* by a block's place: that of the nearest block before it on all ways to it; -1: none yet */
  known_t **known;
  loop_t *loops;
  int loop_count;
  int writes;   /* that what is read now comes after: blocks, of which others may come before, count, too */
} common_t;

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static int successor_count(const own_block_t *block) {
  return block->last->op == OWN_CONDBR ? 2 : block->last->op == OWN_BR;
}

static int meet(const common_t *c, int a, int b) {
  while (a != b)
    if (a > b)
      a = c->above[a];
    else
      b = c->above[b];
  return a;
}

static bool find_above_once(common_t *c) {
  bool changes = false;
  for (int b = 0; b < c->code->block_count; b++)
    for (int k = 0; k < successor_count(c->code->order[b]); k++) {
      int to = c->code->order[b]->last->blocks[k]->index;
      int above = c->above[to] < 0 ? b : to ? meet(c, c->above[to], b) : 0;
      changes |= above != c->above[to], c->above[to] = above;
    }
  return changes;
}

/* A block's loops are those that its order lies in. */
static void find_loops(common_t *c) {
  for (int b = 0; b < c->code->block_count; b++)
    for (int k = 0; k < successor_count(c->code->order[b]); k++) {
      int to = c->code->order[b]->last->blocks[k]->index;
      if (to <= b) c->loops[c->loop_count++] = (loop_t){.first = to, .last = b};
    }
  for (int b = 0; b < c->code->block_count; b++)
    for (int k = 0; k < successor_count(c->code->order[b]); k++)
      for (int l = 0; l < c->loop_count; l++) {
        loop_t *loop = &c->loops[l];
        bool enters = c->code->order[b]->last->blocks[k]->index == loop->first && b < loop->first;
        bool is_alone = enters && !loop->before && successor_count(c->code->order[b]) == 1;
        if (enters) loop->before = is_alone ? c->code->order[b] : NULL;
      }
}

static bool is_within(const loop_t *loop, const own_block_t *block) {
  return block->index >= loop->first && block->index <= loop->last;
}

/* The smallest loop that the block is in; NULL: none. */
static loop_t *loop_of(common_t *c, const own_block_t *block) {
  loop_t *found = NULL;
  for (int l = 0; l < c->loop_count; l++)
    if (is_within(&c->loops[l], block) && (!found || c->loops[l].first >= found->first)) found = &c->loops[l];
  return found;
}

/* --- what is the same -------------------------------------------------------------------------------------------- */

static bool reads_memory(own_op_t op) {
  return op == OWN_LOAD || op == OWN_MASKED_LOAD || op == OWN_GATHER || op == OWN_ALLOCA;
}

bool own_is_plain(const own_value_t *instr) {
  return own_op_flags[instr->op] & OWN_PURE && !reads_memory(instr->op) && instr->op != OWN_PHI;
}

static unsigned bucket_of(const own_value_t *instr) {
  uint64_t hash = (uint64_t)instr->op << 8 ^ (uint64_t)instr->predicate;
  for (int k = 0; k < instr->arg_count; k++) hash = (hash ^ (uintptr_t)instr->args[k] >> 4) * 0x9e3779b97f4a7c15u;
  return (hash ^ hash >> 31) % BUCKETS;
}

static bool is_same(const own_value_t *a, const own_value_t *b) {
  return a->op == b->op && a->type == b->type && a->predicate == b->predicate && a->arg_count == b->arg_count &&
         memcmp(a->args, b->args, (size_t)a->arg_count * sizeof *a->args) == 0;
}

static bool is_before(const common_t *c, const own_block_t *a, const own_block_t *b) {
  int at = b->index;
  while (at > a->index) at = c->above[at];
  return at == a->index;
}

static hr_status_t find_same(common_t *c, own_value_t *instr) {
  known_t **bucket = &c->known[bucket_of(instr)], *made;
  int writes = reads_memory(instr->op) ? c->writes : 0;
  for (known_t *known = *bucket; known; known = known->next)
    if (known->writes == writes && is_same(known->value, instr) && is_before(c, known->value->block, instr->block)) {
      instr->instead = known->value;
      own_unlink(instr);
      return NULL;
    }
  HR_TRY(HR_NEW(c->code->arena, &made));
  *made = (known_t){instr, writes, *bucket}, *bucket = made;
  return NULL;
}

/* --- what loops need not do -------------------------------------------------------------------------------------- */

/* Addresses are parts of instructions, where they are free; divisions may fail where they would not have been. */
static bool may_move(const own_value_t *instr) {
  bool divides = instr->op >= OWN_UDIV && instr->op <= OWN_SREM;
  if (divides && !(own_is_constant(instr->args[1]) && own_signed(instr->args[1]->lanes[0], instr->type->bits) > 0))
    return false;
  return instr->op != OWN_GEP && own_has_result(instr);
}

static bool changes_within(const own_value_t *instr, const loop_t *loop) {
  for (int k = 0; k < instr->arg_count; k++)
    if (instr->args[k]->block && is_within(loop, instr->args[k]->block)) return true;
  return false;
}

static void move_before(own_value_t *instr, own_block_t *block) {
  own_value_t *end = block->last;
  own_unlink(instr);
  instr->block = block, instr->after = end, instr->before = end->before;
  *(end->before ? &end->before->after : &block->first) = instr;
  end->before = instr;
}

static void move_from_loops(common_t *c, own_value_t *instr) {
  own_class_t kind = own_class_of(instr->type);
  for (loop_t *loop = loop_of(c, instr->block); loop && may_move(instr); loop = loop_of(c, instr->block)) {
    if (!loop->before || changes_within(instr, loop) || loop->moved[kind] == most_before[kind]) return;
    loop->moved[kind]++;
    move_before(instr, loop->before);
  }
}

/* --- all --------------------------------------------------------------------------------------------------------- */

void own_unlink(own_value_t *instr) {
  own_block_t *block = instr->block;
  *(instr->before ? &instr->before->after : &block->first) = instr->after;
  *(instr->after ? &instr->after->before : &block->last) = instr->before;
}

static void read_instead(own_value_t *instr) {
  for (int k = 0; k < instr->arg_count; k++)
    while (instr->args[k]->instead) instr->args[k] = instr->args[k]->instead;
}

void own_read_instead(own_code_t *code) {
  for (int b = 0; b < code->block_count; b++)
    for (own_value_t *instr = code->order[b]->first; instr; instr = instr->after) read_instead(instr);
}

static hr_status_t look_at(common_t *c, own_value_t *instr) {
  read_instead(instr);
  bool reads = reads_memory(instr->op) && instr->op != OWN_ALLOCA;
  if (!(own_op_flags[instr->op] & OWN_PURE)) c->writes++;
  if (!own_is_plain(instr) && !reads) return NULL;
  HR_TRY(find_same(c, instr));
  if (!instr->instead && !reads) move_from_loops(c, instr);
  return NULL;
}

hr_status_t own_common(own_code_t *code) {
  common_t c = {.code = code};
  if (code->block_count < 2) return NULL;
  HR_TRY(HR_NEW_ARRAY(code->arena, code->block_count + 1, &c.above));
  HR_TRY(HR_NEW_ARRAY(code->arena, BUCKETS, &c.known));
  HR_TRY(HR_NEW_ARRAY(code->arena, 2 * code->block_count + 1, &c.loops));
  for (int b = 1; b < code->block_count; b++) c.above[b] = -1;
  while (find_above_once(&c)) {}
  find_loops(&c);
  for (int b = 0; b < code->block_count; b++) {
    c.writes++;
    for (own_value_t *instr = code->order[b]->first, *next; instr; instr = next) {
      next = instr->after;
      HR_TRY(look_at(&c, instr));
    }
  }
  own_read_instead(code);
  return NULL;
}
