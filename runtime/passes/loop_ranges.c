/* What a counting loop knows about its counter: comparisons in the body that always come out the same way, such as
 * those by which JAX makes negative indices positive, become constants. */
#include "passes/loop_shape.h"
#include "passes/passes.h"

typedef struct range { /* of a signed integer; empty never */
  int64_t low, high;
} range_t;

enum { DEPTH_MOST = 6 };
#define FAR (INT64_C(1) << 60) /* beyond, sums are not followed */

/* ---- ranges ---- */

static range_t range_of_type(hr_dtype_t dtype) {
  int bits = hr_dtype_table[dtype].bits;
  return bits >= 61 ? (range_t){-FAR, FAR} : (range_t){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1};
}

static bool fits(range_t range, hr_dtype_t dtype) {
  range_t type = range_of_type(dtype);
  return range.low >= type.low && range.high <= type.high;
}

static range_t range_at(const loop_counter_t *counter, const hlo_instr_t *instr, int depth);

static range_t range_of_binary(const loop_counter_t *counter, const hlo_instr_t *instr, int depth) {
  range_t a = range_at(counter, instr->operands[0], depth), b = range_at(counter, instr->operands[1], depth);
  switch (instr->op) {
    case HLO_ADD: return (range_t){a.low + b.low, a.high + b.high};
    case HLO_SUBTRACT: return (range_t){a.low - b.high, a.high - b.low};
    case HLO_MAXIMUM: return (range_t){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    default: return (range_t){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  }
}

/* What is not known has the range of its type; so has what might wrap. */
static range_t range_at(const loop_counter_t *counter, const hlo_instr_t *instr, int depth) {
  range_t range, type = range_of_type(instr->shape->dtype);
  int64_t constant;
  if (hr_dtype_class(instr->shape->dtype) != HR_CLASS_SIGNED || depth == 0) return type;
  if (loop_element_read(instr) == counter->index) {
    int64_t last = counter->start + (counter->trips - 1) * counter->step;
    range = last < counter->start ? (range_t){last, counter->start} : (range_t){counter->start, last};
  } else if (pass_splat_int(instr, &constant)) {
    range = (range_t){constant, constant};
  } else if (instr->op == HLO_CONVERT && hr_dtype_class(instr->operands[0]->shape->dtype) == HR_CLASS_SIGNED) {
    range = range_at(counter, instr->operands[0], depth - 1);
  } else if (instr->op == HLO_ADD || instr->op == HLO_SUBTRACT || instr->op == HLO_MAXIMUM ||
             instr->op == HLO_MINIMUM) {
    range = range_of_binary(counter, instr, depth - 1);
  } else {
    return type;
  }
  return fits(range, instr->shape->dtype) ? range : type;
}

/* 1, 0, or -1: not known. */
static int always(int direction, range_t a, range_t b) {
  switch (direction) {
    case HLO_DIRECTION_LT: return a.high < b.low ? 1 : a.low >= b.high ? 0 : -1;
    case HLO_DIRECTION_LE: return a.high <= b.low ? 1 : a.low > b.high ? 0 : -1;
    case HLO_DIRECTION_GT: return always(HLO_DIRECTION_LT, b, a);
    case HLO_DIRECTION_GE: return always(HLO_DIRECTION_LE, b, a);
    default: {
      bool apart = a.high < b.low || b.high < a.low, equal = a.low == a.high && b.low == b.high && a.low == b.low;
      return apart ? direction == HLO_DIRECTION_NE : equal ? direction == HLO_DIRECTION_EQ : -1;
    }
  }
}

/* ---- the pass ---- */

static int known_comparison(const loop_counter_t *counter, const hlo_instr_t *instr) {
  if (instr->op != HLO_COMPARE || hr_dtype_class(instr->operands[0]->shape->dtype) != HR_CLASS_SIGNED) return -1;
  if (hlo_shape_is_dynamic(instr->shape)) return -1;
  return always(hlo_attr_enum(instr, HLO_ATTR_DIRECTION), range_at(counter, instr->operands[0], DEPTH_MOST),
                range_at(counter, instr->operands[1], DEPTH_MOST));
}

static hr_status_t decide_in_body(hlo_computation_t *body, const loop_counter_t *counter, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, body));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    int known = instr ? known_comparison(counter, instr) : -1;
    if (known < 0) continue;
    hlo_instr_t *constant = hlo_build_number(&rewrite.builder, known, HR_PRED);
    st = pass_replace(&rewrite, instr, pass_build_fill(&rewrite, constant, instr->shape));
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

/* How many instructions call each computation. */
static hr_status_t count_callers(hr_arena_t *scratch, const hlo_module_t *module, uint32_t **out_callers) {
  uint32_t *callers;
  HR_TRY(HR_NEW_ARRAY(scratch, module->computations.count, &callers));
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      for (int k = 0; k < instr->called_count; k++) callers[instr->called[k]->id]++;
    }
  *out_callers = callers;
  return NULL;
}

static hr_status_t decide_all(hlo_module_t *module, const uint32_t *callers, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      loop_counter_t counter;
      loop_t loop;
      if (!loop_match(module->computations.data[c]->instrs.data[i], &loop) || callers[loop.body->id] != 1) continue;
      if (loop_find_counter(&loop, &counter) && counter.trips > 0)
        HR_TRY(decide_in_body(loop.body, &counter, out_changed));
    }
  return NULL;
}

hr_status_t pass_loop_ranges(hlo_module_t *module, bool *out_changed) {
  hr_arena_t scratch;
  uint32_t *callers;
  hr_arena_init(&scratch);
  hr_status_t st = count_callers(&scratch, module, &callers);
  if (!st) st = decide_all(module, callers, out_changed);
  hr_arena_deinit(&scratch);
  return st;
}
