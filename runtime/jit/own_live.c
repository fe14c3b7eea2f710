#include <string.h>

#include "jit/own_code.h"

/* Values needed at the beginning of blocks, as bits by number: `words` for each block. */
typedef struct live {
  uint64_t *in;
  size_t words;
  uint64_t *now; /* while a block is looked at */
} live_t;

own_class_t own_class_of(const own_type_t *type) {
  if (type->kind == LLVMVectorTypeKind) return own_is_truth(type) ? OWN_MASKS : OWN_VECTORS;
  return own_is_float(type) ? OWN_VECTORS : OWN_GENERAL;
}

static void add_read(own_code_t *code, own_value_t *read, void *context) {
  uint64_t *now = context;
  (void)code;
  now[read->number / 64] |= 1ull << read->number % 64;
}

/* What is needed at the end of a block: at the beginning of those after it, and by their phis. */
static void add_after(own_code_t *code, live_t *live, const own_block_t *block) {
  const own_value_t *last = block->last;
  for (int k = 0; k < (last->op == OWN_CONDBR ? 2 : last->op == OWN_BR); k++) {
    const own_block_t *to = last->blocks[k];
    for (size_t w = 0; w < live->words; w++) live->now[w] |= live->in[(size_t)to->index * live->words + w];
    for (own_value_t *phi = to->first; phi && phi->op == OWN_PHI; phi = phi->after)
      for (int a = 0; a < phi->arg_count && phi->is_wanted; a++)
        if (phi->blocks[a] == block && !own_is_constant(phi->args[a])) add_read(code, phi->args[a], live->now);
  }
}

/* Did the block's set grow? */
static bool look_at(own_code_t *code, live_t *live, const own_block_t *block) {
  memset(live->now, 0, live->words * sizeof *live->now);
  add_after(code, live, block);
  for (own_value_t *instr = block->last; instr; instr = instr->before) {
    if (!instr->is_wanted || instr->is_folded) continue;
    if (own_has_result(instr)) live->now[instr->number / 64] &= ~(1ull << instr->number % 64);
    own_each_read(code, instr, add_read, live->now);
  }
  uint64_t *in = &live->in[(size_t)block->index * live->words], grown = 0;
  for (size_t w = 0; w < live->words; w++) grown |= live->now[w] & ~in[w], in[w] |= live->now[w];
  return grown != 0;
}

/* --- ranges ------------------------------------------------------------------------------------------------------ */

static void reach(own_home_t *home, int position) {
  if (position < home->from) home->from = position;
  if (position > home->to) home->to = position;
}

typedef struct place {
  int position;
  double weight;
} place_t;

static void reach_read(own_code_t *code, own_value_t *read, void *context) {
  const place_t *place = context;
  reach(&code->homes[read->number], place->position);
  code->homes[read->number].weight += place->weight;
}

static void reach_all(own_code_t *code, const uint64_t *set, int position) {
  for (int n = 0; n < code->home_count; n++)
    if (set[n / 64] >> n % 64 & 1) reach(&code->homes[n], position);
}

static double weight_at(const own_block_t *block) {
  double weight = 1;
  for (int d = 0; d < block->depth && d < 6; d++) weight *= 10;
  return weight;
}

static void reach_in_block(own_code_t *code, live_t *live, own_block_t *block) {
  place_t place = {block->from, weight_at(block)};
  for (own_value_t *instr = block->first; instr; instr = instr->after) {
    if (!instr->is_wanted || instr->is_folded) continue;
    place.position = instr->position;
    int written = instr->op == OWN_PHI ? block->from : place.position + 1;
    if (own_has_result(instr)) {
      own_home_t *home = &code->homes[instr->number];
      home->value = instr, home->kind = own_class_of(instr->type), home->weight += place.weight;
      reach(home, written);
    }
    own_each_read(code, instr, reach_read, &place);
  }
  reach_all(code, &live->in[(size_t)block->index * live->words], block->from);
  memset(live->now, 0, live->words * sizeof *live->now);
  add_after(code, live, block);
  reach_all(code, live->now, block->to);
}

/* A phi and what it gets from a loop's end had better be in one register. */
static void set_hints(own_code_t *code) {
  for (int n = 0; n < code->home_count; n++) {
    own_value_t *phi = code->homes[n].value;
    for (int a = 0; phi && phi->op == OWN_PHI && a < phi->arg_count; a++)
      if (!own_is_constant(phi->args[a])) {
        int other = phi->args[a]->number;
        if (code->homes[other].from > code->homes[n].from)
          code->homes[other].hint = n;
        else if (code->homes[n].hint == X86_NONE)
          code->homes[n].hint = other;
      }
  }
}

static hr_status_t new_homes(own_code_t *code) {
  HR_TRY(HR_NEW_ARRAY(code->arena, code->home_count + OWN_ARGUMENTS, &code->homes));
  for (int n = 0; n < code->home_count; n++)
    code->homes[n] = (own_home_t){.from = INT32_MAX, .to = -1, .reg = X86_NONE, .hint = X86_NONE};
  for (int k = 0; k < code->function->param_count; k++) {
    own_home_t *home = &code->homes[k];
    home->value = &code->function->params[k], home->kind = own_class_of(home->value->type), home->from = home->to = 0;
  }
  return NULL;
}

/* What functions elsewhere may change: all but bx and r12 to r15. Arguments and scratch registers always change. */
#define GENERAL_ELSEWHERE 0x0fd7u
#define SCRATCH_VECTORS (7u << OWN_SCRATCH_VECTOR | 1u)

bool own_calls_elsewhere(const own_value_t *call) {
  const own_value_t *called = call->args[call->arg_count - 1];
  return called->op != OWN_FUNCTION || !called->function->is_made;
}

static uint32_t changed_by(const own_value_t *call, own_class_t kind) {
  const own_value_t *called = call->args[call->arg_count - 1];
  if (kind == OWN_GENERAL) return GENERAL_ELSEWHERE;
  if (own_calls_elsewhere(call)) return ~0u;
  return called->function->changed[kind] | (kind == OWN_VECTORS ? SCRATCH_VECTORS | ((1u << call->arg_count) - 1) : 0);
}

static void cross_call(own_code_t *code, const own_value_t *call) {
  bool keeps = own_calls_elsewhere(call) && own_keeps_vectors(code->function);
  code->calls = true, code->keeps_all |= keeps;
  for (own_class_t kind = OWN_GENERAL; kind < OWN_CLASSES; kind++)
    if (!keeps || kind == OWN_GENERAL) code->changed[kind] |= changed_by(call, kind);
  for (int n = 0; n < code->home_count; n++) {
    own_home_t *home = &code->homes[n];
    if (home->from >= call->position || home->to <= call->position) continue;
    if (own_calls_elsewhere(call) && home->kind != OWN_GENERAL)
      home->is_saved = true;
    else
      home->refused |= changed_by(call, home->kind);
  }
}

static void cross_calls(own_code_t *code) {
  for (int b = 0; b < code->block_count; b++)
    for (own_value_t *instr = code->order[b]->first; instr; instr = instr->after)
      if (instr->is_wanted && instr->op == OWN_CALL) cross_call(code, instr);
}

hr_status_t own_live(own_code_t *code) {
  live_t live = {.words = (size_t)code->home_count / 64 + 1};
  bool grows = true;
  HR_TRY(new_homes(code));
  HR_TRY(HR_NEW_ARRAY(code->arena, ((size_t)code->block_count + 1) * live.words, &live.in));
  live.now = &live.in[(size_t)code->block_count * live.words];
  while (grows) {
    grows = false;
    for (int b = code->block_count; b-- > 0;) grows |= look_at(code, &live, code->order[b]);
  }
  for (int b = 0; b < code->block_count; b++) reach_in_block(code, &live, code->order[b]);
  set_hints(code);
  cross_calls(code);
  return NULL;
}
