/* Register allocation by linear scan (Poletto and Sarkar).
 *
 * Intervals are processed by ascending start. Each gets a register whose previous owner has ended,
 * preferably the register of an operand whose last read is here, or of the phi that it feeds, which
 * saves a move. Where no register is free, the interval with the least weight is spilled for its
 * whole length; intervals are not split. The cost is O(intervals * registers).
 *
 * Registers that remain unused by the whole function hold vector constants, those of the heaviest
 * use in loops first. If too large a part of the weight is spilled, the function is left to LLVM,
 * whose greedy allocator splits live ranges. */
#include <stdlib.h>

#include "jit/x64/x64_code.h"

/* ax, cx, dx, sp and bp are not allocated. Caller-saved registers come first. */
static const int allocatable_gprs[] = {X86_SI, X86_DI, 8, 9, 10, 11, X86_BX, 12, 13, 14, 15};
#define ALLOCATABLE_GPRS ((int)(sizeof allocatable_gprs / sizeof *allocatable_gprs))

typedef struct scan {
  x64_code_t *code;
  live_interval_t *owner[X64_CLASS_COUNT][32]; /* last interval of each register */
} scan_t;

/* Vector registers from scratch_vector on, and masks k0 and X64_SCRATCH_MASK, are scratch. */
static int register_count(const x64_isa_t *isa, x64_class_t kind) {
  return kind == X64_GPR      ? ALLOCATABLE_GPRS
         : kind == X64_VECTOR ? isa->scratch_vector
                              : X64_SCRATCH_MASK - 1;
}

/* Masks are allocated from k1 on: k0 as a write mask means no mask. */
static int register_at(x64_class_t kind, int i) {
  return kind == X64_GPR ? allocatable_gprs[i] : i + (kind == X64_MASK);
}

/* Is the register clobbered by a call within the interval? */
static bool is_forbidden(const live_interval_t *interval, int reg) {
  return interval->forbidden >> reg & 1;
}

/* Has the last owner ended before this interval starts? Intervals come by ascending start. */
static bool is_free(const scan_t *scan, const live_interval_t *interval, int reg) {
  const live_interval_t *owner = scan->owner[interval->kind][reg];
  return !is_forbidden(interval, reg) && (!owner || owner->to < interval->from);
}

static void assign_register(scan_t *scan, live_interval_t *interval, int reg) {
  interval->reg = reg;
  scan->owner[interval->kind][reg] = interval;
  scan->code->used[interval->kind] |= 1u << reg;
}

/* Slots are counted from the start of the frame's spill area. */
static void spill_interval(x64_code_t *code, live_interval_t *interval) {
  interval->reg = X86_NONE;
  code->frame_bytes += X64_SLOT_BYTES;
  interval->slot = code->frame_bytes;
}

/* The register of the hint (the phi that the value feeds), or else of an operand whose last read is
 * this instruction; either saves a move. X86_NONE: neither is free. */
static int preferred_register(const scan_t *scan, const live_interval_t *interval) {
  const x64_code_t *code = scan->code;
  const live_interval_t *intervals = code->intervals;
  if (interval->hint != X86_NONE && intervals[interval->hint].reg != X86_NONE &&
      intervals[interval->hint].kind == interval->kind &&
      is_free(scan, interval, intervals[interval->hint].reg))
    return intervals[interval->hint].reg;
  const kir_value_t *value = interval->value;
  for (int k = value->op == KIR_PHI ? 0 : value->arg_count; k-- > 0;) {
    if (kir_is_constant(value->args[k]) || x64_node(code, value->args[k])->is_folded ||
        value->args[k]->op == KIR_FUNCTION)
      continue;
    const live_interval_t *read = &intervals[x64_node(code, value->args[k])->interval];
    if (read->kind == interval->kind && read->reg != X86_NONE && is_free(scan, interval, read->reg))
      return read->reg;
  }
  return X86_NONE;
}

/* What a spill of the interval costs. With few registers, which are contended for by intermediate
 * values of expressions, the cost is relative to the length: a long interval without a register
 * leaves it to many short ones. */
static double spill_cost(const scan_t *scan, const live_interval_t *interval) {
  if (!scan->code->isa->spills_long) return interval->weight;
  return interval->weight / (interval->to - interval->from + 1);
}

/* Evicts the owner with the least cost, or spills the interval itself if it is the lightest.
 * An evicted owner loses its register for its whole length, also where it was used before. */
static void allocate_register(scan_t *scan, live_interval_t *interval) {
  live_interval_t *lightest = interval;
  int reg = preferred_register(scan, interval);
  int count = register_count(scan->code->isa, interval->kind);
  for (int i = 0; i < count && reg == X86_NONE; i++)
    if (is_free(scan, interval, register_at(interval->kind, i)))
      reg = register_at(interval->kind, i);
  if (reg != X86_NONE) {
    assign_register(scan, interval, reg);
    return;
  }
  for (int i = 0; i < count; i++) {
    live_interval_t *owner = scan->owner[interval->kind][register_at(interval->kind, i)];
    if (!is_forbidden(interval, register_at(interval->kind, i)) &&
        spill_cost(scan, owner) < spill_cost(scan, lightest))
      lightest = owner;
  }
  reg = lightest->reg;
  spill_interval(scan->code, lightest);
  if (lightest != interval) assign_register(scan, interval, reg);
}

/* Ties are broken by address, so that the order does not depend on qsort. */
static int by_start(const void *a, const void *b) {
  const live_interval_t *x = *(live_interval_t *const *)a, *y = *(live_interval_t *const *)b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* --- constants -------------------------------------------------------------------------------- */

/* Linear search: functions have few distinct vector constants. */
static pinned_const_t *pinned_entry(x64_code_t *code, kir_value_t *value) {
  for (int i = 0; i < code->pinned_count; i++)
    if (code->pinned[i].value == value) return &code->pinned[i];
  code->pinned[code->pinned_count] = (pinned_const_t){value, 0, X86_NONE};
  return &code->pinned[code->pinned_count++];
}

/* Adds up the weight of every use of a vector constant, 10 to the power of its loop depth. */
static void find_constants(x64_code_t *code) {
  for (int b = 0; b < code->cfg.block_count; b++) {
    double weight = 1;
    for (int d = 0; d < code->cfg.depth[b]; d++) weight *= 10;
    for (kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next)
      for (int k = 0; k < instr->arg_count; k++)
        if (x64_constant_operand(instr, k))
          pinned_entry(code, x64_constant_operand(instr, k))->weight += weight;
  }
}

static int by_weight(const void *a, const void *b) {
  const pinned_const_t *x = a, *y = b;
  return x->weight > y->weight ? -1 : x->weight < y->weight;
}

/* Gives the heaviest constants the vector registers that the function neither uses nor clobbers.
 * Only those that are read in loops, or more than ten times, are worth it. */
static hr_status_t pin_constants(x64_code_t *code) {
  uint32_t reserved = 0;
  int most = 0, next = 0, end = code->isa->scratch_vector;
  for (int b = 0; b < code->cfg.block_count; b++)
    for (kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next)
      most += instr->arg_count;
  HR_TRY(HR_NEW_ARRAY(code->arena, most + 1, &code->pinned));
  find_constants(code);
  qsort(code->pinned, (size_t)code->pinned_count, sizeof *code->pinned, by_weight);
  for (int i = 0; i < code->pinned_count && code->pinned[i].weight > 10; i++) {
    while (next < end && (code->used[X64_VECTOR] | code->clobbered[X64_VECTOR]) >> next & 1) next++;
    if (next < end) {
      reserved |= 1u << next;
      code->pinned[i].reg = next++;
    }
  }
  code->used[X64_VECTOR] |= reserved;
  return NULL;
}

/* Where more than the largest spilled part of the weight (x64_isa_t.spilled_max) is spilled, LLVM
 * compiles the function: where loops have more values than registers, it splits live ranges better.
 * Below these limits code is about a tenth slower, in rare cases a half, but compiles a hundred
 * times faster. */
#define WEIGHT_MIN 1000
#define WEIGHT_MIN_OF_CALLEES 100 /* limit for functions that loops call */

/* LLVM's time grows with a function's values: the spill limit doubles for every so many. */
#define VALUES_OF_LARGE_FUNCTION 1000.0

/* Sums the weight of spilled intervals by class, relative to what the class may spill. */
static bool has_high_pressure(const x64_code_t *code) {
  double all = 0, spilled = 0;
  for (int n = 0; n < code->interval_count; n++) {
    const live_interval_t *interval = &code->intervals[n];
    if (interval->to < 0) continue;
    all += interval->weight;
    if (interval->reg == X86_NONE)
      spilled += interval->weight / code->isa->spilled_max[interval->kind];
  }
  return all > (x64_preserves_vectors(code->function) ? WEIGHT_MIN_OF_CALLEES : WEIGHT_MIN) &&
         spilled > all * (1 + code->interval_count / VALUES_OF_LARGE_FUNCTION);
}

/* Intervals that must be saved around calls get a slot besides their register. */
hr_status_t x64_allocate_registers(x64_code_t *code) {
  live_interval_t **order;
  scan_t *scan;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(code->arena, code->interval_count + 1, &order));
  HR_TRY(HR_NEW(code->arena, &scan));
  scan->code = code;
  for (int n = 0; n < code->interval_count; n++)
    if (code->intervals[n].to >= 0) order[count++] = &code->intervals[n];
  qsort(order, (size_t)count, sizeof *order, by_start);
  for (int i = 0; i < count; i++) allocate_register(scan, order[i]);
  if (has_high_pressure(code)) code->unsupported = "registers";
  for (int n = 0; n < code->interval_count; n++)
    if (code->intervals[n].is_saved && code->intervals[n].reg != X86_NONE) {
      code->frame_bytes += X64_SLOT_BYTES;
      code->intervals[n].slot = code->frame_bytes;
    }
  if (code->preserves_all) {
    code->frame_bytes += (32 + 8) * X64_SLOT_BYTES;
    code->preserved_at = code->frame_bytes;
  }
  return pin_constants(code);
}
