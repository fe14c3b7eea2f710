/* Expansion of arithmetic that neither AVX-512 nor AVX2 has instructions for, as the kernel IR is
 * built: products and shifts of bytes, comparisons and selects of i1, divisions of vectors,
 * conversions of narrow integers and floats.
 *
 * Expanding while building (kir_target_t.expand) lets constants fold and common subexpressions
 * merge like any other code; the selector then sees only operations that are one or two
 * instructions. */
#include "jit/x64/x64_expand.h"

#include "jit/x64/x64_code.h"

static kir_type_t *int_like(const kir_type_t *like, unsigned bits) {
  return kir_type_like(like, kir_int_type(like->module, bits));
}

static bool is_i1_vector(const kir_type_t *type) { return kir_is_vector(type) && kir_is_i1(type); }

/* --- bytes ------------------------------------------------------------------------------------ */

/* A select of two constants for an operation on a zero-extended i1 and a constant; NULL: not of
 * this form. */
static kir_value_t *select_results(kir_builder_t *b, kir_op_t op, kir_value_t *x, kir_value_t *y) {
  if (x->op != KIR_ZEXT || !kir_is_i1(x->args[0]->type) || !kir_is_constant(y)) return NULL;
  kir_value_t *one = kir_splat_constant(x->type, 1), *zero = kir_splat_constant(x->type, 0);
  one = kir_fold(op, x->type, 0, (kir_value_t *[]){one, y}, 2, b->module->target);
  zero = kir_fold(op, x->type, 0, (kir_value_t *[]){zero, y}, 2, b->module->target);
  if (!one || !zero) return NULL;
  return kir_build(b, KIR_SELECT, x->type, 0, (kir_value_t *[]){x->args[0], one, zero}, 3);
}

/* Vectors of bytes are computed in 16 bits per element. */
static kir_value_t *expand_bytes(kir_builder_t *b, kir_op_t op, kir_type_t *type, kir_value_t *x,
                                 kir_value_t *y) {
  if (!kir_is_vector(type) || type->bits != 8) return NULL;
  kir_value_t *selected = select_results(b, op, x, y);
  if (selected) return selected;
  kir_type_t *wide = int_like(type, 16);
  x = op == KIR_ASHR ? kir_sext(b, x, wide) : kir_zext(b, x, wide);
  y = kir_zext(b, y, wide);
  return kir_trunc(b, kir_expand_or_build(b, op, wide, 0, (kir_value_t *[]){x, y}, 2), type);
}

/* --- bits ------------------------------------------------------------------------------------- */

/* Comparison of masks by logic. As signed i1, 1 is less than 0. */
static kir_value_t *compare_bits(kir_builder_t *b, int predicate, kir_value_t *x, kir_value_t *y) {
  switch (predicate) {
    case KIR_ICMP_NE:
      return kir_xor(b, x, y);
    case KIR_ICMP_UGT:
    case KIR_ICMP_SLT:
      return kir_and(b, x, kir_not(b, y));
    case KIR_ICMP_ULT:
    case KIR_ICMP_SGT:
      return kir_and(b, y, kir_not(b, x));
    case KIR_ICMP_UGE:
    case KIR_ICMP_SLE:
      return kir_or(b, x, kir_not(b, y));
    case KIR_ICMP_ULE:
    case KIR_ICMP_SGE:
      return kir_or(b, y, kir_not(b, x));
    default:
      return kir_not(b, kir_xor(b, x, y));
  }
}

/* y ^ (condition & (x ^ y)) */
static kir_value_t *select_bits(kir_builder_t *b, kir_value_t *condition, kir_value_t *x,
                                kir_value_t *y) {
  if (!is_i1_vector(condition->type)) condition = kir_splat(b, condition, x->type);
  return kir_xor(b, kir_and(b, condition, kir_xor(b, x, y)), y);
}

/* --- conversions ------------------------------------------------------------------------------ */

/* The processor converts 32- and 64-bit integers and floats; narrower ones are widened first,
 * without loss. */
static kir_value_t *expand_to_float(kir_builder_t *b, kir_op_t op, kir_value_t *x,
                                    kir_type_t *type) {
  kir_type_t *f32 = kir_type_like(type, kir_float_type(type->module));
  if (x->type->bits < 32) {
    kir_type_t *i32 = int_like(type, 32);
    x = op == KIR_SITOFP ? kir_sext(b, x, i32) : kir_zext(b, x, i32);
    op = KIR_SITOFP;
  }
  if (type->bits == 16) return kir_fptrunc(b, kir_expand_or_build(b, op, f32, 0, &x, 1), type);
  return kir_build(b, op, type, 0, &x, 1);
}

static kir_value_t *expand_to_integer(kir_builder_t *b, kir_op_t op, kir_value_t *x,
                                      kir_type_t *type) {
  kir_type_t *f32 = kir_type_like(type, kir_float_type(type->module));
  if (x->type->bits == 16) {
    x = kir_fpext(b, x, f32);
    return kir_expand_or_build(b, op, type, 0, &x, 1);
  }
  if (type->bits >= 32) return kir_build(b, op, type, 0, &x, 1);
  return kir_trunc(b, kir_build(b, KIR_FPTOSI, int_like(type, 32), 0, &x, 1), type);
}

/* Adds each pair of adjacent fields of `bits` bits; `mask` selects the lower fields. */
static kir_value_t *add_halves(kir_builder_t *b, kir_value_t *x, unsigned bits, uint64_t mask) {
  kir_value_t *all = kir_splat_constant(x->type, mask);
  kir_value_t *up = kir_lshr(b, x, kir_splat_constant(x->type, bits));
  return kir_add(b, kir_and(b, x, all), kir_and(b, up, all));
}

/* Counts set bits by adding adjacent fields: pairs, fours, and so on. */
static kir_value_t *count_by_halves(kir_builder_t *b, kir_value_t *x) {
  kir_type_t *type = x->type, *words = type;
  if (type->bits == 8)
    words = kir_vector_type(kir_int_type(type->module, 32), (type->lanes + 3) / 4);
  x = kir_bitcast(b, x, words);
  for (unsigned bits = 1; bits < type->bits; bits *= 2)
    x = add_halves(b, x, bits, UINT64_MAX / ((UINT64_C(1) << bits) + 1));
  return kir_bitcast(b, x, type);
}

/* Number of zeros above the highest set bit. */
static kir_value_t *expand_leading_zeros(kir_builder_t *b, kir_value_t *x) {
  kir_type_t *type = x->type, *wide = int_like(type, 32);
  if (type->bits >= 32) return kir_build(b, KIR_CTLZ, type, 0, &x, 1);
  x = kir_zext(b, x, wide);
  kir_value_t *more = kir_splat_constant(wide, 32 - type->bits);
  return kir_trunc(b, kir_sub(b, kir_expand_or_build(b, KIR_CTLZ, wide, 0, &x, 1), more), type);
}

/* Number of set bits: of vectors in any width, of scalars in 32 and 64 bits. */
static kir_value_t *expand_count(kir_builder_t *b, kir_value_t *x) {
  kir_type_t *type = x->type, *wide = int_like(type, 32);
  bool is_whole = kir_is_vector(type) && kir_width(type) % 32 == 0;
  if (is_whole && !x64_isa(b->module)->counts_bits) return count_by_halves(b, x);
  if (type->bits >= 32 || is_whole) return kir_build(b, KIR_CTPOP, type, 0, &x, 1);
  return kir_trunc(b, expand_count(b, kir_zext(b, x, wide)), type);
}

/* --- dispatch --------------------------------------------------------------------------------- */

kir_value_t *x64_expand(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                        kir_value_t *const *args, int count) {
  (void)count;
  switch (op) {
    case KIR_UDIV:
    case KIR_SDIV:
    case KIR_UREM:
    case KIR_SREM:
      return kir_is_vector(type) ? kir_divide_vectors(b, op, args[0], args[1]) : NULL;
    case KIR_MUL:
    case KIR_SHL:
    case KIR_LSHR:
    case KIR_ASHR:
      return expand_bytes(b, op, type, args[0], args[1]);
    case KIR_ICMP:
      return is_i1_vector(args[0]->type) ? compare_bits(b, detail, args[0], args[1]) : NULL;
    case KIR_SELECT:
      return is_i1_vector(type) ? select_bits(b, args[0], args[1], args[2]) : NULL;
    case KIR_SITOFP:
    case KIR_UITOFP:
      return expand_to_float(b, op, args[0], type);
    case KIR_FPTOSI:
    case KIR_FPTOUI:
      return expand_to_integer(b, op, args[0], type);
    case KIR_CTPOP:
      return expand_count(b, args[0]);
    case KIR_CTLZ:
      return expand_leading_zeros(b, args[0]);
    default:
      return x64_expand_memory(b, op, type, args);
  }
}
