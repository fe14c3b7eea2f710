/* Constant folding in the kernel IR, lane by lane, as the builder makes instructions: no pass is
 * needed for it.
 *
 * Constants keep each lane's bits in a uint64_t. Integers wrap at their width; f32 and f64 round to
 * nearest even, as the host computes them. Operations whose result would be poison (shifts by the
 * width or more) or would trap (division by zero) stay instructions. Algebraic identities are
 * applied to integers only where they hold for all values; floats keep theirs, since x + 0 and x *
 * 1 tell signed zeros and NaNs apart. */
#include <string.h>

#include "jit/kir/kir.h"

/* Lanes are zero-extended, so unsigned comparisons take them as they are. */
static bool compare_integers(int predicate, uint64_t a, uint64_t b, unsigned bits) {
  int64_t x = kir_sign_extend(a, bits), y = kir_sign_extend(b, bits);
  switch (predicate) {
    case KIR_ICMP_EQ:
      return a == b;
    case KIR_ICMP_NE:
      return a != b;
    case KIR_ICMP_UGT:
      return a > b;
    case KIR_ICMP_UGE:
      return a >= b;
    case KIR_ICMP_ULT:
      return a < b;
    case KIR_ICMP_ULE:
      return a <= b;
    case KIR_ICMP_SGT:
      return x > y;
    case KIR_ICMP_SGE:
      return x >= y;
    case KIR_ICMP_SLT:
      return x < y;
    default:
      return x <= y;
  }
}

/* Shifts. False: the count reaches the width, which gives poison. */
static bool fold_shift(kir_op_t op, uint64_t a, uint64_t b, unsigned bits, uint64_t *out) {
  if (b >= bits) return false;
  if (op == KIR_SHL) {
    *out = a << b;
    return true;
  }
  *out = op == KIR_LSHR ? a >> b : (uint64_t)(kir_sign_extend(a, bits) >> b);
  return true;
}

/* Quotients and remainders. False: division by zero, or a signed one by -1, which may overflow. */
static bool fold_division(kir_op_t op, uint64_t a, uint64_t b, unsigned bits, uint64_t *out) {
  int64_t x = kir_sign_extend(a, bits);
  int64_t y = kir_sign_extend(b, bits);
  bool is_signed = op == KIR_SDIV || op == KIR_SREM;
  if (is_signed ? y == 0 || y == -1 : b == 0) return false;
  if (is_signed)
    *out = (uint64_t)(op == KIR_SDIV ? x / y : x % y);
  else
    *out = op == KIR_UDIV ? a / b : a % b;
  return true;
}

/* The operand itself is returned, not its extended value. */
static uint64_t fold_min_max(kir_op_t op, uint64_t a, uint64_t b, unsigned bits) {
  int64_t x = kir_sign_extend(a, bits);
  int64_t y = kir_sign_extend(b, bits);
  switch (op) {
    case KIR_SMIN:
      return x < y ? a : b;
    case KIR_SMAX:
      return x > y ? a : b;
    case KIR_UMIN:
      return a < b ? a : b;
    default:
      return a > b ? a : b;
  }
}

/* Ops whose low bits depend on the low bits alone; kir_constant cuts off the others. */
static uint64_t fold_ring(kir_op_t op, uint64_t a, uint64_t b) {
  switch (op) {
    case KIR_ADD:
      return a + b;
    case KIR_SUB:
      return a - b;
    case KIR_MUL:
      return a * b;
    case KIR_AND:
      return a & b;
    case KIR_OR:
      return a | b;
    default:
      return a ^ b;
  }
}

/* Result of an operation on two integers of `bits` bits; bits above them may be set. False: the
 * operation is not folded. */
static bool fold_integers(kir_op_t op, int predicate, uint64_t a, uint64_t b, unsigned bits,
                          uint64_t *out) {
  switch (op) {
    case KIR_ADD:
    case KIR_SUB:
    case KIR_MUL:
    case KIR_AND:
    case KIR_OR:
    case KIR_XOR:
      *out = fold_ring(op, a, b);
      return true;
    case KIR_SHL:
    case KIR_LSHR:
    case KIR_ASHR:
      return fold_shift(op, a, b, bits, out);
    case KIR_UDIV:
    case KIR_UREM:
    case KIR_SDIV:
    case KIR_SREM:
      return fold_division(op, a, b, bits, out);
    case KIR_ICMP:
      *out = compare_integers(predicate, a, b, bits) ? UINT64_MAX : 0;
      return true;
    case KIR_SMIN:
    case KIR_SMAX:
    case KIR_UMIN:
    case KIR_UMAX:
      *out = fold_min_max(op, a, b, bits);
      return true;
    default:
      return false;
  }
}

/* Computed in f64 and rounded once: for +, -, * and / of f32 that gives the f32 result, as f64
 * has more than twice its bits. False for NaN results, whose payload is the processor's. */
static bool fold_floats(kir_op_t op, uint64_t a, uint64_t b, unsigned bits, uint64_t *out) {
  double x = kir_decode_float(a, bits), y = kir_decode_float(b, bits), result;
  if (bits != 32 && bits != 64) return false;
  switch (op) {
    case KIR_FADD:
      result = x + y;
      break;
    case KIR_FSUB:
      result = x - y;
      break;
    case KIR_FMUL:
      result = x * y;
      break;
    case KIR_FDIV:
      result = x / y;
      break;
    case KIR_FNEG:
      *out = a ^ 1ull << (bits - 1);
      return true;
    default:
      return false;
  }
  *out = kir_encode_float(result, bits);
  return result == result; /* a NaN's payload is the processor's choice */
}

/* Through f64, in which f16 and f32 are exact, so it rounds once. NaN is not folded. */
static bool fold_float_cast(uint64_t a, unsigned from, unsigned to, uint64_t *out) {
  double value = kir_decode_float(a, from);
  *out = kir_encode_float(value, to);
  return value == value;
}

/* Folds only values that every integer type of 32 bits or more can hold. */
static bool fold_to_integer(kir_op_t op, uint64_t a, unsigned from, unsigned to, uint64_t *out) {
  double value = kir_decode_float(a, from);
  double low = op == KIR_FPTOSI ? -0x1p31 : 0;
  if (to < 32 || !(value >= low && value < 0x1p31)) return false;
  *out = (uint64_t)(int64_t)value;
  return true;
}

/* Folds only integers that f64 holds exactly, so that the narrower result is rounded once. */
static bool fold_from_integer(kir_op_t op, uint64_t a, unsigned from, unsigned to, uint64_t *out) {
  int64_t value = op == KIR_SITOFP ? kir_sign_extend(a, from) : (int64_t)a;
  const int64_t limit = INT64_C(1) << 53;
  *out = kir_encode_float((double)value, to);
  return value >= -limit && value <= limit;
}

/* Constants are cut to the type's width when they are interned, so that TRUNC and ZEXT are the
 * bits as they are. */
static bool fold_cast(kir_op_t op, uint64_t a, unsigned from, unsigned to, uint64_t *out) {
  switch (op) {
    case KIR_TRUNC:
    case KIR_ZEXT:
      *out = a;
      return true;
    case KIR_SEXT:
      *out = (uint64_t)kir_sign_extend(a, from);
      return true;
    case KIR_FPTRUNC:
    case KIR_FPEXT:
      return fold_float_cast(a, from, to, out);
    case KIR_FPTOSI:
    case KIR_FPTOUI:
      return fold_to_integer(op, a, from, to, out);
    case KIR_SITOFP:
    case KIR_UITOFP:
      return fold_from_integer(op, a, from, to, out);
    default:
      return false;
  }
}

/* The predicate has one bit per outcome (kir_ops.def). */
static bool compare_floats(int predicate, uint64_t a, uint64_t b, unsigned bits) {
  double x = kir_decode_float(a, bits), y = kir_decode_float(b, bits);
  if (x != x || y != y) return predicate & 8;
  if (x == y) return predicate & 1;
  return predicate & (x > y ? 2 : 4);
}

/* Comparisons of floats have i1 results, so the operands' type decides. A true lane is all ones:
 * kir_constant cuts it to the result's width, which some targets widen. */
static bool fold_binary(kir_op_t op, int predicate, const kir_type_t *type, uint64_t a, uint64_t b,
                        uint64_t *out) {
  if (!kir_is_float(type)) return fold_integers(op, predicate, a, b, type->bits, out);
  if (op != KIR_FCMP) return fold_floats(op, a, b, type->bits, out);
  *out = compare_floats(predicate, a, b, type->bits) ? UINT64_MAX : 0;
  return true;
}

/* Lane i of an operation whose operands and result have the same number of lanes. */
static bool fold_lane(kir_op_t op, const kir_type_t *type, int predicate, kir_value_t *const *args,
                      int count, unsigned i, uint64_t *out) {
  const kir_type_t *from = args[0]->type;
  uint64_t a = args[0]->lanes[i];
  uint64_t b = count > 1 && args[1]->type->lanes > i ? args[1]->lanes[i] : 0;
  if (op == KIR_SELECT) {
    *out = args[a & 1 ? 1 : 2]->lanes[i];
    return true;
  }
  if (count == 1 && op != KIR_FNEG) return fold_cast(op, a, from->bits, type->bits, out);
  return fold_binary(op, predicate, from, a, b, out);
}

static bool is_poison_at(const kir_value_t *value, uint64_t lane) {
  return value->is_poison || (lane < 64 && value->poison_lanes >> lane & 1);
}

/* Poison lanes stay poison for LLVM. For a target that simplifies they become zeros, so that such
 * shuffles give equal constants. */
static kir_value_t *fold_shuffle(kir_type_t *type, const kir_value_t *a, const kir_value_t *b,
                                 const uint64_t *mask, const kir_target_t *target) {
  uint64_t lanes[KIR_LANES_MAX], poison_lanes = 0;
  unsigned each = a->type->lanes;
  for (unsigned i = 0; i < type->lanes; i++) {
    const kir_value_t *from = mask[i] < each ? a : b;
    uint64_t lane = mask[i] < each ? mask[i] : mask[i] - each;
    lanes[i] = from->lanes[lane];
    if (i < 64 && is_poison_at(from, lane)) poison_lanes |= 1ull << i;
  }
  return target->simplifies ? kir_constant(type, lanes)
                            : kir_partly_poison(type, lanes, poison_lanes);
}

/* poison_lanes has 64 bits, so longer vectors are not folded. */
static kir_value_t *fold_insert(kir_type_t *type, const kir_value_t *vector,
                                const kir_value_t *value, uint64_t lane) {
  uint64_t lanes[KIR_LANES_MAX];
  if (type->lanes > 64 || lane >= type->lanes) return NULL;
  memcpy(lanes, vector->lanes, type->lanes * sizeof *lanes);
  lanes[lane] = value->lanes[0];
  return kir_partly_poison(type, lanes, vector->poison_lanes & ~(1ull << lane));
}

static bool is_splat_of(const kir_value_t *value, uint64_t lane) {
  return kir_is_constant(value) && kir_is_splat(value) && value->lanes[0] == lane;
}

static uint64_t all_ones_bits(const kir_type_t *type) {
  return type->bits >= 64 ? ~0ull : (1ull << type->bits) - 1;
}

/* The argument that is the result, as in x + 0, x & -1 or a select with a known condition; NULL:
 * none. */
static kir_value_t *apply_identity(kir_op_t op, const kir_type_t *type, kir_value_t *const *args) {
  switch (op) {
    case KIR_ADD:
    case KIR_SUB:
    case KIR_OR:
    case KIR_XOR:
    case KIR_SHL:
    case KIR_LSHR:
    case KIR_ASHR:
      return is_splat_of(args[1], 0) ? args[0] : NULL;
    case KIR_MUL:
      return is_splat_of(args[1], 1) ? args[0] : NULL;
    case KIR_AND:
      if (is_splat_of(args[1], all_ones_bits(args[1]->type))) return args[0];
      return is_splat_of(args[1], 0) ? args[1] : NULL;
    case KIR_SELECT:
      if (is_splat_of(args[0], 1) || args[1] == args[2]) return args[1];
      return is_splat_of(args[0], 0) ? args[2] : NULL;
    case KIR_FPTRUNC: {
      const kir_value_t *from = args[0];
      return from->op == KIR_FPEXT && from->args[0]->type == type ? from->args[0] : NULL;
    }
    default:
      return NULL;
  }
}

static kir_value_t *fold_reduce_or(kir_type_t *type, const kir_value_t *vector) {
  uint64_t any = 0;
  for (unsigned i = 0; i < vector->type->lanes; i++) any |= vector->lanes[i];
  return kir_splat_constant(type, any);
}

static bool is_conversion(kir_op_t op) {
  return op == KIR_FCMP || (op >= KIR_FPTRUNC && op <= KIR_UITOFP);
}

/* All arguments are constants. NULL: some lane has no defined result. */
static kir_value_t *fold_constants(kir_op_t op, kir_type_t *type, int detail,
                                   kir_value_t *const *args, int count,
                                   const kir_target_t *target) {
  uint64_t lanes[KIR_LANES_MAX];
  if (op == KIR_REDUCE_OR) return fold_reduce_or(type, args[0]);
  if (op == KIR_SHUFFLE) return fold_shuffle(type, args[0], args[1], args[2]->lanes, target);
  if (op == KIR_INSERT) return fold_insert(type, args[0], args[1], args[2]->lanes[0]);
  if (op == KIR_SELECT && args[0]->type->lanes != type->lanes)
    return args[args[0]->lanes[0] & 1 ? 1 : 2];
  if (args[0]->type->lanes != type->lanes) return NULL;
  for (unsigned i = 0; i < type->lanes; i++)
    if (!fold_lane(op, type, detail, args, count, i, &lanes[i])) return NULL;
  return kir_constant(type, lanes);
}

/* `simplifies` is set for the target x64, whose code is not optimised afterwards; LLVM folds
 * intrinsics itself. */
kir_value_t *kir_fold(kir_op_t op, kir_type_t *type, int detail, kir_value_t *const *args,
                      int count, const kir_target_t *target) {
  kir_value_t *argument = target->simplifies ? apply_identity(op, type, args) : NULL;
  if (argument) return argument;
  if (!count || type->lanes > KIR_LANES_MAX) return NULL;
  if (kir_op_flags[op] & KIR_INTRINSIC && !target->simplifies) return NULL;
  if (is_conversion(op) && !target->folds_conversions) return NULL;
  for (int k = 0; k < count; k++)
    if (!kir_is_constant(args[k])) return NULL;
  return fold_constants(op, type, detail, args, count, target);
}
