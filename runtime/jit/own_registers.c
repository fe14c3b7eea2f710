/* Registers by one pass over the values in the order in which they begin (linear scan): each gets one for as long as it
 * is needed. Where none is left, the value that is touched least goes to the stack. */
#include <stdlib.h>

#include "jit/own_code.h"


/* ax, cx, dx, sp and bp are not given out. Those that a function may change come first. */
static const int general[] = {X86_SI, X86_DI, 8, 9, 10, 11, X86_BX, 12, 13, 14, 15};
#define GENERAL_COUNT ((int)(sizeof general / sizeof *general))

typedef struct scan {
  own_code_t *code;
  own_home_t *owner[OWN_CLASSES][32]; /* of each register, the last one */
} scan_t;

static int register_count(own_class_t kind) {
  return kind == OWN_GENERAL ? GENERAL_COUNT : kind == OWN_VECTORS ? OWN_SCRATCH_VECTOR : OWN_SCRATCH_MASK - 1;
}

static int register_of(own_class_t kind, int i) { return kind == OWN_GENERAL ? general[i] : i + (kind == OWN_MASKS); }

static bool is_refused(const own_home_t *home, int reg) { return home->refused >> reg & 1; }

static bool is_free(const scan_t *scan, const own_home_t *home, int reg) {
  const own_home_t *owner = scan->owner[home->kind][reg];
  return !is_refused(home, reg) && (!owner || owner->to < home->from);
}

static void give(scan_t *scan, own_home_t *home, int reg) {
  home->reg = reg;
  scan->owner[home->kind][reg] = home;
  scan->code->used[home->kind] |= 1u << reg;
}

static void put_on_stack(own_code_t *code, own_home_t *home) {
  home->reg = X86_NONE;
  home->slot = code->frame_bytes += OWN_SLOT_BYTES;
}

/* The register of what is read last here, or of what it becomes in the next round. */
static int hinted(const scan_t *scan, const own_home_t *home) {
  const own_home_t *homes = scan->code->homes;
  if (home->hint != X86_NONE && homes[home->hint].reg != X86_NONE && homes[home->hint].kind == home->kind &&
      is_free(scan, home, homes[home->hint].reg))
    return homes[home->hint].reg;
  const own_value_t *value = home->value;
  for (int k = value->op == OWN_PHI ? 0 : value->arg_count; k-- > 0;) {
    if (own_is_constant(value->args[k]) || value->args[k]->is_folded || value->args[k]->op == OWN_FUNCTION) continue;
    const own_home_t *read = &homes[value->args[k]->number];
    if (read->kind == home->kind && read->reg != X86_NONE && is_free(scan, home, read->reg)) return read->reg;
  }
  return X86_NONE;
}

static void place(scan_t *scan, own_home_t *home) {
  own_home_t *least = home;
  int reg = hinted(scan, home);
  for (int i = 0; i < register_count(home->kind) && reg == X86_NONE; i++)
    if (is_free(scan, home, register_of(home->kind, i))) reg = register_of(home->kind, i);
  if (reg != X86_NONE) {
    give(scan, home, reg);
    return;
  }
  for (int i = 0; i < register_count(home->kind); i++) {
    own_home_t *owner = scan->owner[home->kind][register_of(home->kind, i)];
    if (!is_refused(home, register_of(home->kind, i)) && owner->weight < least->weight) least = owner;
  }
  reg = least->reg;
  put_on_stack(scan->code, least);
  if (least != home) give(scan, home, reg);
}

static int by_beginning(const void *a, const void *b) {
  const own_home_t *x = *(own_home_t *const *)a, *y = *(own_home_t *const *)b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* --- constants --------------------------------------------------------------------------------------------------- */

static own_kept_t *kept_of(own_code_t *code, own_value_t *value) {
  for (int i = 0; i < code->kept_count; i++)
    if (code->kept[i].value == value) return &code->kept[i];
  code->kept[code->kept_count] = (own_kept_t){value, 0, X86_NONE};
  return &code->kept[code->kept_count++];
}

static void find_constants(own_code_t *code) {
  for (int b = 0; b < code->block_count; b++) {
    double weight = 1;
    for (int d = 0; d < code->order[b]->depth; d++) weight *= 10;
    for (own_value_t *instr = code->order[b]->first; instr; instr = instr->after)
      for (int k = 0; k < instr->arg_count && instr->is_wanted; k++)
        if (own_constant_read(instr, k)) kept_of(code, own_constant_read(instr, k))->weight += weight;
  }
}

static int by_weight(const void *a, const void *b) {
  const own_kept_t *x = a, *y = b;
  return x->weight > y->weight ? -1 : x->weight < y->weight;
}

/* Those that loops read, most of all, into registers that nothing else is in. */
static hr_status_t keep_constants(own_code_t *code) {
  uint32_t kept = 0;
  int most = 0, next = 0;
  for (int b = 0; b < code->block_count; b++)
    for (own_value_t *instr = code->order[b]->first; instr; instr = instr->after) most += instr->arg_count;
  HR_TRY(HR_NEW_ARRAY(code->arena, most + 1, &code->kept));
  find_constants(code);
  qsort(code->kept, (size_t)code->kept_count, sizeof *code->kept, by_weight);
  for (int i = 0; i < code->kept_count && code->kept[i].weight > 10; i++) {
    while (next < OWN_SCRATCH_VECTOR && (code->used[OWN_VECTORS] | code->changed[OWN_VECTORS]) >> next & 1) next++;
    if (next < OWN_SCRATCH_VECTOR) kept |= 1u << next, code->kept[i].reg = next++;
  }
  code->used[OWN_VECTORS] |= kept;
  return NULL;
}

/* Where loops have more values than registers, LLVM divides them better. */
#define MOST_ON_STACK 0.03
#define MUCH 1000

static bool is_much_on_stack(const own_code_t *code) {
  double all = 0, on_stack = 0;
  for (int n = 0; n < code->home_count; n++) {
    const own_home_t *home = &code->homes[n];
    if (home->to < 0) continue;
    all += home->weight;
    if (home->reg == X86_NONE) on_stack += home->weight;
  }
  return all > MUCH && on_stack > MOST_ON_STACK * all;
}

hr_status_t own_registers(own_code_t *code) {
  own_home_t **order;
  scan_t *scan;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(code->arena, code->home_count + 1, &order));
  HR_TRY(HR_NEW(code->arena, &scan));
  scan->code = code;
  for (int n = 0; n < code->home_count; n++)
    if (code->homes[n].to >= 0) order[count++] = &code->homes[n];
  qsort(order, (size_t)count, sizeof *order, by_beginning);
  for (int i = 0; i < count; i++) place(scan, order[i]);
  if (is_much_on_stack(code)) code->lacks = "registers";
  for (int n = 0; n < code->home_count; n++)
    if (code->homes[n].is_saved && code->homes[n].reg != X86_NONE)
      code->homes[n].slot = code->frame_bytes += OWN_SLOT_BYTES;
  if (code->keeps_all) code->kept_at = code->frame_bytes += (32 + 8) * OWN_SLOT_BYTES;
  return keep_constants(code);
}
