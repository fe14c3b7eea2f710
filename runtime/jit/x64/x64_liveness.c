/* Liveness analysis and live intervals.
 *
 * Backward data flow over bit sets of values, blocks in reverse order, until nothing changes:
 *
 *     live_in(b)  = reads(b) + (live_out(b) - writes(b))
 *     live_out(b) = union of live_in(successors)
 *
 * Arguments of phis are read at the end of the predecessor. An interval is the hull of all
 * positions at which its value is live, without holes, so that linear scan needs one comparison
 * per register. Weights are accesses times 10 to the power of the loop depth. Calls clobber
 * registers: intervals across them either avoid those or are saved around the call. */
#include <string.h>

#include "jit/x64/x64_code.h"

/* Values live at the start of blocks, as bit sets: `words` per block. */
typedef struct live {
  uint64_t *in;
  size_t words;
  uint64_t *now; /* live values at the current position of a block */
} live_sets_t;

/* Scalar floats live in vector registers. */
x64_class_t x64_class_of(const kir_type_t *type) {
  if (type->kind == KIR_TYPE_VECTOR) return kir_is_i1(type) ? X64_MASK : X64_VECTOR;
  return kir_is_float(type) ? X64_VECTOR : X64_GPR;
}

static void add_read(x64_code_t *code, kir_value_t *read, void *context) {
  uint64_t *now = context;
  int n = x64_node(code, read)->interval;
  now[n / 64] |= 1ull << n % 64;
}

/* Adds the values live at the end of a block: live-in values of its successors, and arguments of
 * their phis. */
static void add_live_out(x64_code_t *code, live_sets_t *live, const kir_block_t *block) {
  const kir_value_t *last = block->last;
  for (int k = 0; k < kir_successor_count(block); k++) {
    const kir_block_t *to = last->blocks[k];
    for (size_t w = 0; w < live->words; w++)
      live->now[w] |= live->in[(size_t)to->index * live->words + w];
    for (kir_value_t *phi = to->first; phi && phi->op == KIR_PHI; phi = phi->next)
      for (int a = 0; a < phi->arg_count; a++)
        if (phi->blocks[a] == block && !kir_is_constant(phi->args[a]))
          add_read(code, phi->args[a], live->now);
  }
}

/* Recomputes a block's live-in set, walking backwards: a definition ends liveness, a read begins
 * it. Folded instructions have no register; their users read their operands. True: the set grew. */
static bool update_live_in(x64_code_t *code, live_sets_t *live, const kir_block_t *block) {
  memset(live->now, 0, live->words * sizeof *live->now);
  add_live_out(code, live, block);
  for (kir_value_t *instr = block->last; instr; instr = instr->prev) {
    if (x64_node(code, instr)->is_folded) continue;
    int n = x64_node(code, instr)->interval;
    if (kir_has_result(instr)) live->now[n / 64] &= ~(1ull << n % 64);
    x64_each_operand(code, instr, add_read, live->now);
  }
  uint64_t *in = &live->in[(size_t)block->index * live->words], added = 0;
  for (size_t w = 0; w < live->words; w++) {
    added |= live->now[w] & ~in[w];
    in[w] |= live->now[w];
  }
  return added != 0;
}

/* --- intervals -------------------------------------------------------------------------------- */

/* Extends the hull: intervals have no holes. */
static void extend(live_interval_t *interval, int position) {
  if (position < interval->from) interval->from = position;
  if (position > interval->to) interval->to = position;
}

typedef struct access {
  int position;
  double weight;
} access_t;

static void extend_to_read(x64_code_t *code, kir_value_t *read, void *context) {
  const access_t *access = context;
  extend(x64_interval(code, read), access->position);
  x64_interval(code, read)->weight += access->weight;
}

/* Extends all values that are live at a block's boundary. */
static void extend_all(x64_code_t *code, const uint64_t *set, int position) {
  for (int n = 0; n < code->interval_count; n++)
    if (set[n / 64] >> n % 64 & 1) extend(&code->intervals[n], position);
}

/* 10 to the power of the loop depth, at most 10^6. */
static double weight_at(const x64_code_t *code, const kir_block_t *block) {
  double weight = 1;
  for (int d = 0; d < code->cfg.depth[block->index] && d < 6; d++) weight *= 10;
  return weight;
}

/* A phi is written at the start of its block; other results at the odd position after their
 * reads. */
static void find_intervals_in(x64_code_t *code, live_sets_t *live, kir_block_t *block) {
  access_t access = {code->ranges[block->index].from, weight_at(code, block)};
  for (kir_value_t *instr = block->first; instr; instr = instr->next) {
    if (x64_node(code, instr)->is_folded) continue;
    access.position = x64_node(code, instr)->position;
    int written = instr->op == KIR_PHI ? code->ranges[block->index].from : access.position + 1;
    if (kir_has_result(instr)) {
      live_interval_t *interval = x64_interval(code, instr);
      interval->value = instr;
      interval->kind = x64_class_of(instr->type);
      interval->weight += access.weight;
      extend(interval, written);
    }
    x64_each_operand(code, instr, extend_to_read, &access);
  }
  extend_all(code, &live->in[(size_t)block->index * live->words], code->ranges[block->index].from);
  memset(live->now, 0, live->words * sizeof *live->now);
  add_live_out(code, live, block);
  extend_all(code, live->now, code->ranges[block->index].to);
}

/* A phi (interval n) and its argument from the loop's end should share a register. */
static void set_phi_hint(x64_code_t *code, int n, const kir_value_t *arg) {
  if (kir_is_constant(arg)) return;
  int other = x64_node(code, arg)->interval;
  if (code->intervals[other].from > code->intervals[n].from)
    code->intervals[other].hint = n;
  else if (code->intervals[n].hint == X86_NONE)
    code->intervals[n].hint = other;
}

static void set_phi_hints(x64_code_t *code) {
  for (int n = 0; n < code->interval_count; n++) {
    const kir_value_t *phi = code->intervals[n].value;
    if (!phi || phi->op != KIR_PHI) continue;
    for (int a = 0; a < phi->arg_count; a++) set_phi_hint(code, n, phi->args[a]);
  }
}

static hr_status_t create_intervals(x64_code_t *code) {
  HR_TRY(HR_NEW_ARRAY(code->arena, code->interval_count + X64_ARGUMENTS_MAX, &code->intervals));
  for (int n = 0; n < code->interval_count; n++)
    code->intervals[n] =
        (live_interval_t){.from = INT32_MAX, .to = -1, .reg = X86_NONE, .hint = X86_NONE};
  for (int k = 0; k < code->function->param_count; k++) {
    live_interval_t *interval = &code->intervals[k];
    interval->value = &code->function->params[k];
    interval->kind = x64_class_of(interval->value->type);
    interval->from = 0;
    interval->to = 0;
  }
  return NULL;
}

/* Registers that external functions may clobber: all but bx and r12 to r15. Argument and scratch
 * registers are always clobbered. */
#define EXTERNAL_GPRS 0x0fd7u

/* The directly called function; NULL: called through a pointer. */
static const x64_function_t *direct_callee(const x64_code_t *code, const kir_value_t *call) {
  const kir_value_t *callee = call->args[call->arg_count - 1];
  return callee->op == KIR_FUNCTION ? &code->functions[callee->function->index] : NULL;
}

bool x64_calls_external(const x64_code_t *code, const kir_value_t *call) {
  const x64_function_t *callee = direct_callee(code, call);
  return !callee || !callee->is_compiled;
}

static uint32_t call_clobbers(const x64_code_t *code, const kir_value_t *call, x64_class_t kind) {
  if (kind == X64_GPR) return EXTERNAL_GPRS;
  if (x64_calls_external(code, call)) return ~0u;
  uint32_t clobbered = direct_callee(code, call)->clobbered[kind];
  if (kind == X64_VECTOR)
    clobbered |= 7u << code->isa->scratch_vector | 1u | ((1u << call->arg_count) - 1);
  return clobbered;
}

static void mark_call(x64_code_t *code, const kir_value_t *call) {
  bool keeps = x64_calls_external(code, call) && x64_preserves_vectors(code->function);
  int position = x64_node(code, call)->position;
  code->calls = true;
  code->preserves_all |= keeps;
  for (x64_class_t kind = X64_GPR; kind < X64_CLASS_COUNT; kind++)
    if (!keeps || kind == X64_GPR) code->clobbered[kind] |= call_clobbers(code, call, kind);
  for (int n = 0; n < code->interval_count; n++) {
    live_interval_t *interval = &code->intervals[n];
    if (interval->from >= position || interval->to <= position) continue;
    if (x64_calls_external(code, call) && (keeps || interval->kind != X64_GPR))
      interval->is_saved = true;
    else
      interval->forbidden |= call_clobbers(code, call, interval->kind);
  }
}

/* The registers of a result of several parts are written by the return. */
static void mark_calls(x64_code_t *code) {
  for (int b = 0; b < code->cfg.block_count; b++)
    for (kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next) {
      if (instr->op == KIR_CALL) mark_call(code, instr);
      if (instr->op == KIR_RET && instr->arg_count > 1)
        code->clobbered[X64_VECTOR] |= (1u << instr->arg_count) - 1;
    }
}

hr_status_t x64_find_liveness(x64_code_t *code) {
  live_sets_t live = {.words = (size_t)code->interval_count / 64 + 1};
  bool changes = true;
  HR_TRY(create_intervals(code));
  HR_TRY(HR_NEW_ARRAY(code->arena, ((size_t)code->cfg.block_count + 1) * live.words, &live.in));
  live.now = &live.in[(size_t)code->cfg.block_count * live.words];
  while (changes) {
    changes = false;
    for (int b = code->cfg.block_count; b-- > 0;)
      changes |= update_live_in(code, &live, code->cfg.order[b]);
  }
  for (int b = 0; b < code->cfg.block_count; b++)
    find_intervals_in(code, &live, code->cfg.order[b]);
  set_phi_hints(code);
  mark_calls(code);
  return NULL;
}
