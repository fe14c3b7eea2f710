/* Interval arithmetic on signed integers. The range of an instruction follows from those of its
 * operands, to a depth of MAX_DEPTH; results that may wrap, or leave the type, have the type's
 * range. Bounds beyond PASS_RANGE_FAR count as infinite, so that sums of two bounds never overflow
 * int64. */
#include "passes/lib/pass_range.h"

#include "base/arith.h"
#include "passes/lib/pass_match.h"

enum { MAX_DEPTH = 6 };
#define FAR PASS_RANGE_FAR

typedef struct query {
  pass_range_fn known;
  const void *context;
} query_t;

static bool is_signed(const hlo_instr_t *instr) {
  return hr_dtype_class(instr->shape->dtype) == HR_CLASS_SIGNED;
}

static pass_range_t range_of_type(hr_dtype_t dtype) {
  int bits = hr_dtype_table[dtype].bits;
  if (bits >= 61) return (pass_range_t){-FAR, FAR};
  return (pass_range_t){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1};
}

/* Is the interval within the type, and no bound infinite on the other side? A constant of FAR would
 * be: it says nothing beside an array without bounds. */
static bool fits(pass_range_t range, hr_dtype_t dtype) {
  pass_range_t type = range_of_type(dtype);
  if (range.low >= FAR || range.high <= -FAR) return false;
  return range.low >= type.low && range.high <= type.high;
}

static bool has_ends(pass_range_t range) { return range.low > -FAR && range.high < FAR; }

static pass_range_t range_max(pass_range_t a, pass_range_t b) {
  return (pass_range_t){hr_max(a.low, b.low), hr_max(a.high, b.high)};
}

static pass_range_t range_min(pass_range_t a, pass_range_t b) {
  return (pass_range_t){hr_min(a.low, b.low), hr_min(a.high, b.high)};
}

/* A remainder by a constant has a smaller magnitude than the constant and the dividend's sign. */
static pass_range_t range_of_remainder(pass_range_t a, pass_range_t by) {
  if (by.low != by.high || by.low == 0 || !has_ends(by)) return (pass_range_t){-FAR, FAR};
  int64_t end = (by.low < 0 ? -by.low : by.low) - 1;
  int64_t low = a.low < 0 ? -end : 0;
  int64_t high = a.high > 0 ? end : 0;
  return (pass_range_t){low, high};
}

static pass_range_t range_at_depth(const query_t *query, const hlo_instr_t *instr, int depth);
static int compare_at_depth(const query_t *query, const hlo_instr_t *compare, int depth);

/* Union of both operands of a select, or one of them if the predicate is known. */
static pass_range_t range_of_choice(const query_t *query, const hlo_instr_t *select,
                                    const pass_range_t *of, int depth) {
  int selected = depth && select->operands[0]->op == HLO_COMPARE
                     ? compare_at_depth(query, select->operands[0], depth)
                     : -1;
  if (selected >= 0) return of[selected ? 1 : 2];
  return (pass_range_t){hr_min(of[1].low, of[2].low), hr_max(of[1].high, of[2].high)};
}

/* Range of an op's mathematical result. It exceeds the type's range if the op may wrap or is
 * unknown. */
static pass_range_t range_of_operation(const query_t *query, const hlo_instr_t *instr, int depth) {
  pass_range_t of[3] = {{0, 0}}, nothing = {-INT64_MAX, INT64_MAX};
  for (int k = 0; k < instr->operand_count && k < 3; k++)
    of[k] =
        is_signed(instr->operands[k]) ? range_at_depth(query, instr->operands[k], depth) : nothing;
  switch (instr->op) {
    case HLO_CONVERT:
    case HLO_BROADCAST:
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_SLICE:
    case HLO_REVERSE:
      return has_ends(of[0]) ? of[0] : nothing;
    case HLO_ADD:
    case HLO_SUBTRACT:
      if (!has_ends(of[0]) || !has_ends(of[1])) return nothing;
      if (instr->op == HLO_ADD)
        return (pass_range_t){of[0].low + of[1].low, of[0].high + of[1].high};
      return (pass_range_t){of[0].low - of[1].high, of[0].high - of[1].low};
    case HLO_MAXIMUM:
      return range_max(of[0], of[1]);
    case HLO_MINIMUM:
      return range_min(of[0], of[1]);
    case HLO_CLAMP:
      return range_min(range_max(of[0], of[1]), of[2]);
    case HLO_SELECT:
      return range_of_choice(query, instr, of, depth);
    case HLO_REMAINDER:
      return range_of_remainder(of[0], of[1]);
    default:
      return nothing;
  }
}

static pass_range_t range_at_depth(const query_t *query, const hlo_instr_t *instr, int depth) {
  pass_range_t range, type = range_of_type(instr->shape->dtype);
  int64_t constant;
  if (!is_signed(instr) || depth == 0) return type;
  bool is_known = query->known && query->known(query->context, instr, &range);
  if (!is_known && pass_splat_int(instr, &constant))
    range = (pass_range_t){constant, constant};
  else if (!is_known && instr->op == HLO_IOTA)
    range = (pass_range_t){
        0, hr_max(instr->shape->dims[hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION)] - 1, 0)};
  else if (!is_known)
    range = range_of_operation(query, instr, depth - 1);
  return fits(range, instr->shape->dtype) ? range : type;
}

/* 1 or 0; -1: unknown. */
static int compare_ranges(int direction, pass_range_t a, pass_range_t b) {
  switch (direction) {
    case HLO_DIRECTION_LT:
      if (a.high < b.low) return 1;
      return a.low >= b.high ? 0 : -1;
    case HLO_DIRECTION_LE:
      if (a.high <= b.low) return 1;
      return a.low > b.high ? 0 : -1;
    case HLO_DIRECTION_GT:
      return compare_ranges(HLO_DIRECTION_LT, b, a);
    case HLO_DIRECTION_GE:
      return compare_ranges(HLO_DIRECTION_LE, b, a);
    default: {
      bool apart = a.high < b.low || b.high < a.low,
           equal = a.low == a.high && b.low == b.high && a.low == b.low;
      if (apart) return direction == HLO_DIRECTION_NE;
      return equal ? direction == HLO_DIRECTION_EQ : -1;
    }
  }
}

static int compare_at_depth(const query_t *query, const hlo_instr_t *compare, int depth) {
  if (!is_signed(compare->operands[0]) || hlo_shape_is_dynamic(compare->shape)) return -1;
  return compare_ranges(hlo_attr_enum(compare, HLO_ATTR_DIRECTION),
                        range_at_depth(query, compare->operands[0], depth),
                        range_at_depth(query, compare->operands[1], depth));
}

int pass_range_compare(const hlo_instr_t *compare, pass_range_fn known, const void *context) {
  return compare_at_depth(&(query_t){known, context}, compare, MAX_DEPTH);
}

bool pass_range_of(const hlo_instr_t *instr, pass_range_fn known, const void *context,
                   pass_range_t *out_range) {
  if (!hlo_shape_is_array(instr->shape) || !is_signed(instr)) return false;
  pass_range_t type = range_of_type(instr->shape->dtype);
  *out_range = range_at_depth(&(query_t){known, context}, instr, MAX_DEPTH);
  return out_range->low > type.low || out_range->high < type.high;
}
