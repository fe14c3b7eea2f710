/* Ascending-order reduction of the lanes of vectors by a binary tree, for reducers that are
 * associative but do not commute.
 *
 *     lanes  a b c d | e f g h      (a b)(c d)(e f)(g h)      ((ab)(cd))((ef)(gh))      ...
 *
 * First each pair of vectors is reduced to one vector with the same number of lanes, then the last
 * vector by itself: lanes 2i and 2i + 1 become lane i, until lane 0 is the result. An odd last lane
 * is passed up unchanged. log2(lanes) steps, each of two shuffles and one application. Lanes beyond
 * those in use may hold anything. */
#include "jit/element/element.h"
#include "jit/expr/reducer.h"

/* Lanes odd, odd + 2, odd + 4 ... of `a`, followed by those of `b`. */
static kir_value_t *every_second(jit_code_t *code, kir_value_t *a, kir_value_t *b, int odd) {
  kir_type_t *i32 = kir_int_type(code->module, 32);
  kir_value_t *numbers[64], *none = kir_poison(kir_type_of(a));
  int lanes = jit_lanes(kir_type_of(a)), count = a == b ? lanes : 2 * lanes;
  for (int i = 0; i < lanes; i++) {
    uint64_t from = (uint64_t)((2 * i + odd) % count);
    numbers[i] = kir_const_int(i32, from);
  }
  kir_value_t *order = kir_const_vector(numbers, (unsigned)lanes);
  return kir_shuffle(code->builder, a, a == b ? none : b, order);
}

/* The first `count` lanes. */
static kir_value_t *first_lanes(jit_code_t *code, int lanes, int count) {
  kir_type_t *i1 = kir_int_type(code->module, 1);
  kir_value_t *bits[64];
  for (int i = 0; i < lanes; i++) bits[i] = kir_const_int(i1, i < count);
  return kir_const_vector(bits, (unsigned)lanes);
}

/* Mask of the pairs that have a right element. `left`: number of lanes in use; 0: those of two
 * vectors. `valid`: not 0 in the valid lanes, which come first; NULL: all are valid. Result NULL:
 * all pairs that matter are complete. */
static kir_value_t *whole_pairs(jit_code_t *code, int lanes, int left, kir_value_t *valid) {
  kir_value_t *known = left % 2 ? first_lanes(code, lanes, left / 2) : NULL;
  if (!valid) return known;
  kir_value_t *there = every_second(code, valid, valid, 1);
  kir_value_t *zero = kir_null(kir_type_of(there));
  there = kir_icmp(code->builder, KIR_ICMP_NE, there, zero);
  return known ? kir_and(code->builder, there, known) : there;
}

/* Combines neighbouring lanes of a and b in pairs; the result replaces a. */
static void combine_pairs(jit_code_t *code, const jit_reducer_t *reducer, int left, kir_value_t **a,
                          kir_value_t **b, kir_value_t **valid) {
  kir_value_t *even[JIT_MAX_RESULTS], *odd[JIT_MAX_RESULTS], *kept[JIT_MAX_RESULTS];
  int lanes = jit_element_lanes(reducer->dtypes[0], a[0]);
  for (int k = 0; k < reducer->count; k++) {
    kept[k] = every_second(code, a[k], b[k], 0);
    even[k] = kept[k];
    odd[k] = every_second(code, a[k], b[k], 1);
  }
  jit_reducer_apply(code, reducer, even, odd);
  kir_value_t *whole = whole_pairs(code, lanes, left, *valid);
  for (int k = 0; k < reducer->count; k++) {
    a[k] = even[k];
    if (whole) a[k] = jit_element_choose(code, reducer->dtypes[k], whole, even[k], kept[k]);
  }
  if (*valid) *valid = every_second(code, *valid, *valid, 0);
}

void jit_reducer_tree(jit_code_t *code, const jit_reducer_t *reducer, int vectors,
                      kir_value_t *(*x)[JIT_MAX_RESULTS], kir_value_t *mask) {
  int lanes = jit_element_lanes(reducer->dtypes[0], x[0][0]);
  kir_value_t *valid = NULL;
  if (mask) {
    kir_type_t *i32 = kir_int_type(code->module, 32);
    kir_type_t *type = kir_vector_type(i32, (unsigned)lanes);
    valid = kir_sext(code->builder, mask, type);
  }
  for (int apart = 1; apart < vectors; apart *= 2)
    for (int v = 0; v + apart < vectors; v += 2 * apart)
      combine_pairs(code, reducer, 0, x[v], x[v + apart], &valid);
  for (int left = lanes; left > 1; left = (left + 1) / 2)
    combine_pairs(code, reducer, left, x[0], x[0], &valid);
}
