/* Order of instructions within blocks for few vector registers.
 *
 * Legalisation splits every operation on wide vectors into one per register, side by side: the
 * parts are computed together, which hides latencies, but needs registers for all of them. Where a
 * block has more live vectors than registers, it is rebuilt depth first from its stores and other
 * instructions without a result: each is preceded by what it reads and what is not placed yet,
 * operands that need more registers first (Sethi and Ullman). Parts of an operation stay side by
 * side, all of them if that is enough, else pairs, or none.
 *
 * Loads stay before the next write. Cost: linear in the operands. */
#include "jit/x64/x64_code.h"

/* Parts of one operation, side by side. */
typedef struct parts {
  int first, count; /* in `before` */
} parts_t;

#define PARTS_MAX 4
#define OPERANDS_SORTED 4
/* Live vectors beyond the registers with which parts still stay side by side. Spilling them takes
 * less time than waiting: a third of that of chains of divisions on AVX2. */
#define SPILLS_TOLERATED 3

typedef struct schedule {
  x64_code_t *code;
  bool *escapes;        /* by id: the value is read in another block, or by a phi */
  bool *is_live;        /* by id, while live vectors are counted */
  bool *is_placed;      /* by id: the value has its place in `after` */
  parts_t *parts;       /* by id */
  int *registers;       /* by id: vector registers that its computation needs (Ershov number) */
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

static bool is_in_block(const kir_value_t *instr, const kir_value_t *operand) {
  return operand->id && operand->block == instr->block;
}

/* Parts of one operation are neighbours. Returns the largest number of them. */
static int find_parts(schedule_t *s, int at_once) {
  int largest = 1;
  for (int from = 0, end; from < s->count; from = end) {
    unsigned whole = s->before[from]->split_from;
    for (end = from + 1; whole && end < s->count && end < from + at_once; end++)
      if (s->before[end]->split_from != whole || s->before[end]->op != s->before[from]->op) break;
    for (int i = from; i < end; i++) s->parts[s->before[i]->id] = (parts_t){from, end - from};
    if (end - from > largest) largest = end - from;
  }
  return largest;
}

/* Operands of an instruction, those that need most registers first. */
static int sorted_operands(const schedule_t *s, const kir_value_t *instr, int *order) {
  int count = 0;
  for (int k = 0; k < instr->arg_count && k < OPERANDS_SORTED; k++) {
    if (!is_in_block(instr, instr->args[k])) continue;
    int at = count++;
    for (; at && s->registers[instr->args[order[at - 1]]->id] < s->registers[instr->args[k]->id];
         at--)
      order[at] = order[at - 1];
    order[at] = k;
  }
  return count;
}

static void count_registers(schedule_t *s) {
  int order[OPERANDS_SORTED];
  for (int i = 0; i < s->count; i++) {
    const kir_value_t *instr = s->before[i];
    int count = instr->op == KIR_PHI ? 0 : sorted_operands(s, instr, order), most = 0;
    for (int k = 0; k < count; k++) {
      int needs = s->registers[instr->args[order[k]]->id] + k;
      if (needs > most) most = needs;
    }
    s->registers[instr->id] = is_vector(instr) && !most ? 1 : most;
  }
}

static void append(schedule_t *s, kir_value_t *instr) {
  if (s->is_placed[instr->id]) return;
  s->is_placed[instr->id] = true;
  s->after[s->placed++] = instr;
}

/* Places the parts of an operation after all that they read. */
static void place_parts(schedule_t *s, kir_value_t *instr) {
  int order[OPERANDS_SORTED];
  if (s->is_placed[instr->id]) return;
  parts_t parts = s->parts[instr->id];
  int sorted = instr->op == KIR_PHI ? 0 : sorted_operands(s, instr, order);
  for (int k = 0; k < sorted; k++)
    for (int i = parts.first; i < parts.first + parts.count; i++) {
      kir_value_t *part = s->before[i];
      if (order[k] < part->arg_count && is_in_block(part, part->args[order[k]]))
        place_parts(s, part->args[order[k]]);
    }
  for (int i = parts.first; i < parts.first + parts.count; i++)
    for (int k = 0; k < s->before[i]->arg_count && s->before[i]->op != KIR_PHI; k++)
      if (is_in_block(s->before[i], s->before[i]->args[k])) place_parts(s, s->before[i]->args[k]);
  for (int i = parts.first; i < parts.first + parts.count; i++) append(s, s->before[i]);
}

/* Phis come first, and the loads before a write are placed before it. */
static void order_depth_first(schedule_t *s) {
  int loads = 0;
  s->placed = 0;
  for (int i = 0; i < s->count; i++) s->is_placed[s->before[i]->id] = false;
  for (int i = 0; i < s->count && s->before[i]->op == KIR_PHI; i++) place_parts(s, s->before[i]);
  for (int i = 0; i < s->count; i++) {
    if (!writes_memory(s->before[i])) continue;
    for (int k = 0; k < s->before[i]->arg_count; k++)
      if (is_in_block(s->before[i], s->before[i]->args[k])) place_parts(s, s->before[i]->args[k]);
    for (; loads < i; loads++)
      if (!kir_is_movable(s->before[loads])) place_parts(s, s->before[loads]);
    if (i + 1 < s->count) place_parts(s, s->before[i]);
  }
  for (int i = 0; i < s->count; i++) place_parts(s, s->before[i]);
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
  int registers = s->code->isa->scratch_vector, least = most_live(s, s->before);
  if (least <= registers) return;
  count_registers(s);
  for (int parts = find_parts(s, PARTS_MAX); parts; parts /= 2) {
    find_parts(s, parts);
    order_depth_first(s);
    int live = most_live(s, s->after);
    if (live < least) {
      link_in_order(block, s->after, s->count);
      least = live;
    }
    if (least <= registers + SPILLS_TOLERATED) return;
  }
}

hr_status_t x64_schedule(x64_code_t *code) {
  schedule_t s = {.code = code};
  size_t count = code->function->value_count + 1;
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.escapes));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.is_live));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.is_placed));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.parts));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.registers));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.before));
  HR_TRY(HR_NEW_ARRAY(code->arena, count, &s.after));
  find_escaping(&s);
  for (int b = 0; b < code->cfg.block_count; b++) schedule_block(&s, code->cfg.order[b]);
  return NULL;
}
