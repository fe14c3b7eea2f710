/* Recognition of comparators by structure, encoding of keys, and stable sorting of encoded items.
 * Two expressions are matched as trees: elementwise ops with equal attributes, and parameters that
 * are those of the other side (mirrored). The depth is bounded, so that hostile comparators cannot
 * cost exponential time. */
#include "ops/kernels/reference/sort_keys.h"

#include "base/arith.h"

#include <string.h>

#define MAX_DEPTH 10 /* greatest depth of a key's expression */

/* The sides of the comparison that an expression reads: bit 0 the first (even parameters), bit 1
 * the second. */
static int sides_read(const hlo_instr_t *instr, int depth) {
  if (depth == 0) return 3;
  if (instr->op == HLO_PARAMETER) return hlo_parameter_number(instr) % 2 ? 2 : 1;
  int sides = 0;
  for (int k = 0; k < instr->operand_count; k++) sides |= sides_read(instr->operands[k], depth - 1);
  return sides;
}

/* Attributes that are not numbers never match: the caller then uses the general path. */
static bool same_attrs(const hlo_instr_t *a, const hlo_instr_t *b) {
  if (a->attr_count != b->attr_count) return false;
  for (int i = 0; i < a->attr_count; i++) {
    hlo_attr_kind_t kind = hlo_attr_table[a->attrs[i].key].kind;
    if (a->attrs[i].key != b->attrs[i].key || (kind != HLO_KIND_ENUM && kind != HLO_KIND_INT))
      return false;
    if (a->attrs[i].integer != b->attrs[i].integer) return false;
  }
  return true;
}

/* True if b is the same expression as a, of the same parameters, or of the other side's if
 * `mirrored`. */
static bool same_expression(const hlo_instr_t *a, const hlo_instr_t *b, bool mirrored, int depth) {
  if (depth == 0 || a->op != b->op || !hlo_shape_equal(a->shape, b->shape)) return false;
  if (a->op == HLO_PARAMETER)
    return (hlo_parameter_number(a) ^ (mirrored ? 1 : 0)) == hlo_parameter_number(b);
  if (a->op == HLO_CONSTANT)
    return a->literal && b->literal && hlo_value_equal(a->literal, b->literal);
  bool elementwise = hlo_op_is(a->op, OP_ELEMENTWISE) || hlo_op_is(a->op, OP_IDENTITY) ||
                     a->op == HLO_BITCAST_CONVERT;
  if (!elementwise || a->operand_count != b->operand_count || !same_attrs(a, b)) return false;
  for (int k = 0; k < a->operand_count; k++)
    if (!same_expression(a->operands[k], b->operands[k], mirrored, depth - 1)) return false;
  return true;
}

static bool is_total(const hlo_instr_t *compare) {
  return hlo_attr_enum(compare, HLO_ATTR_TYPE) == HLO_COMPARISON_TOTALORDER;
}

static bool has_key_type(const hlo_instr_t *compare) {
  hr_dtype_t dtype = compare->operands[0]->shape->dtype;
  if (hlo_attr_enum(compare, HLO_ATTR_TYPE) == HLO_COMPARISON_WEAKORDER) return false;
  return !hr_dtype_is_complex(dtype) && hr_dtype_is_array(dtype);
}

/* Matches key(a) < key(b) in any of its four spellings. *out_key: the key as an expression of
 * the first side. */
static bool match_less(const hlo_instr_t *instr, const hlo_instr_t **out_key,
                       bool *out_descending) {
  if (instr->op != HLO_COMPARE || !has_key_type(instr)) return false;
  int direction = hlo_attr_enum(instr, HLO_ATTR_DIRECTION);
  if (direction != HLO_DIRECTION_LT && direction != HLO_DIRECTION_GT) return false;
  const hlo_instr_t *lhs = instr->operands[0], *rhs = instr->operands[1];
  bool swapped = sides_read(lhs, MAX_DEPTH) == 2;
  const hlo_instr_t *first = swapped ? rhs : lhs;
  const hlo_instr_t *second = swapped ? lhs : rhs;
  if (sides_read(first, MAX_DEPTH) != 1 || sides_read(second, MAX_DEPTH) != 2) return false;
  *out_key = first;
  *out_descending = (direction == HLO_DIRECTION_GT) != swapped;
  return same_expression(first, second, true, MAX_DEPTH);
}

/* Matches key(a) = key(b) for the key of `less`. */
static bool match_equal(const hlo_instr_t *instr, const hlo_instr_t *less) {
  if (instr->op != HLO_COMPARE || hlo_attr_enum(instr, HLO_ATTR_DIRECTION) != HLO_DIRECTION_EQ)
    return false;
  if (is_total(instr) != is_total(less)) return false;
  if (!is_total(less) && hr_dtype_is_float(less->operands[0]->shape->dtype))
    return false; /* NaN differs from itself */
  for (int swap = 0; swap < 2; swap++)
    if (same_expression(instr->operands[0], less->operands[swap], false, MAX_DEPTH) &&
        same_expression(instr->operands[1], less->operands[1 - swap], false, MAX_DEPTH))
      return true;
  return false;
}

/* The key's body is the comparator with another root. */
static hr_status_t add_key(hr_arena_t *arena, const hlo_computation_t *comparator,
                           const hlo_instr_t *key, bool descending, bool total, sort_keys_t *keys) {
  hlo_computation_t *computation;
  HR_TRY(HR_NEW(arena, &computation));
  *computation = *comparator;
  computation->root = (hlo_instr_t *)key;
  sort_key_t *added = &keys->keys[keys->count++];
  *added = (sort_key_t){NULL, key, key->shape->dtype, descending, total};
  return op_body_prepare(arena, computation, &added->body);
}

/* Splits less | (equal & rest), operands in any order. */
static bool match_lexicographic(const hlo_instr_t *instr, const hlo_instr_t **out_less,
                                const hlo_instr_t **out_rest) {
  const hlo_instr_t *key;
  bool descending;
  for (int i = 0; instr->op == HLO_OR && i < 2; i++) {
    const hlo_instr_t *less = instr->operands[i], *both = instr->operands[1 - i];
    if (both->op != HLO_AND || !match_less(less, &key, &descending)) continue;
    for (int j = 0; j < 2; j++) {
      if (!match_equal(both->operands[j], less)) continue;
      *out_less = less;
      *out_rest = both->operands[1 - j];
      return true;
    }
  }
  return false;
}

/* Matches key0 < key0' or (key0 == key0' and (key1 < key1' or ...)), one key per level. Anything
 * else leaves *out_recognised false. */
hr_status_t sort_keys_recognise(hr_arena_t *arena, const hlo_computation_t *comparator,
                                sort_keys_t *keys, bool *out_recognised) {
  const hlo_instr_t *less, *rest = comparator->root, *key;
  bool descending, more = true;
  keys->count = 0;
  *out_recognised = false;
  while (more && keys->count < SORT_MAX_KEYS) {
    const hlo_instr_t *at = rest;
    more = match_lexicographic(at, &less, &rest);
    if (!more) less = at;
    if (!match_less(less, &key, &descending)) return NULL;
    HR_TRY(add_key(arena, comparator, key, descending, is_total(less), keys));
  }
  *out_recognised = !more;
  return NULL;
}

/* Bits of a float as an unsigned integer of `bits` bits in numeric order. */
static uint64_t float_order(uint64_t value, int bits, bool total) {
  uint64_t sign = (uint64_t)1 << (bits - 1), mask = sign | (sign - 1);
  if (!total && value == sign) value = 0;
  return value & sign ? ~value & mask : value | sign;
}

/* Reads an element of 1, 2, 4 or 8 bytes as an unsigned number; the address is aligned to its
 * size. */
static uint64_t read_bits(const char *at, size_t bytes) {
  switch (bytes) {
    case 1:
      return *(const uint8_t *)at;
    case 2:
      return *(const uint16_t *)at;
    case 4:
      return *(const uint32_t *)at;
    default:
      return *(const uint64_t *)at;
  }
}

static bool is_nan(hr_dtype_t dtype, uint64_t bits) {
  if (dtype == HR_F32) return (bits & 0x7fffffffu) > 0x7f800000u;
  double value = hr_float_decode(dtype, bits);
  return value != value;
}

/* NaN sorts last in either direction unless the order is total. */
void sort_encode(const sort_key_t *key, const void *elements, int64_t stride, int64_t count,
                 sort_item_t *items) {
  const char *at = elements;
  size_t bytes = hr_dtype_bytes(key->dtype);
  int bits = (int)bytes * 8;
  hr_dtype_class_t class_ = hr_dtype_class(key->dtype);
  if (class_ == HR_CLASS_FLOAT) bits = hr_dtype_table[key->dtype].bits;
  uint64_t flip = class_ == HR_CLASS_SIGNED ? (uint64_t)1 << (bits - 1) : 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t value = read_bits(at + (size_t)(i * stride) * bytes, bytes);
    bool last = class_ == HR_CLASS_FLOAT && !key->total && is_nan(key->dtype, value);
    value = class_ == HR_CLASS_FLOAT ? float_order(value, bits, key->total) : value ^ flip;
    items[i].key = last              ? UINT64_MAX
                   : key->descending ? ~value & (UINT64_MAX >> (64 - bits))
                                     : value;
  }
}

/* Merges two adjacent runs, the left one first on ties, without branches on keys. */
static void merge(const sort_item_t *a, const sort_item_t *a_end, const sort_item_t *b_end,
                  sort_item_t *to) {
  const sort_item_t *b = a_end;
  while (a < a_end && b < b_end) {
    bool right = b->key < a->key;
    *to++ = right ? *b : *a;
    b += right;
    a += !right;
  }
  memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
  memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Insertion sort: stable, and fastest for short runs. */
void sort_few_items(sort_item_t *items, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    sort_item_t item = items[i];
    int64_t j = i;
    for (; j > 0 && item.key < items[j - 1].key; j--) items[j] = items[j - 1];
    items[j] = item;
  }
}

#define SMALL_RUN 16

/* Bottom-up merge sort over runs of SMALL_RUN; returns the buffer with the result. */
sort_item_t *sort_items(sort_item_t *items, sort_item_t *spare, int64_t count) {
  for (int64_t i = 0; i < count; i += SMALL_RUN)
    sort_few_items(items + i, hr_min(count - i, SMALL_RUN));
  for (int64_t width = SMALL_RUN; width < count; width *= 2) {
    for (int64_t i = 0; i < count; i += 2 * width) {
      int64_t middle = hr_min(i + width, count), end = hr_min(middle + width, count);
      merge(items + i, items + middle, items + end, spare + i);
    }
    sort_item_t *swap = items;
    items = spare;
    spare = swap;
  }
  return items;
}
