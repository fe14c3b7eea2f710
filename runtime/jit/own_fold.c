/* Ops of own code on constants: integers as they wrap, floats as the processor computes them. */
#include "jit/own_ir.h"

#include <string.h>

static bool compare_integers(int predicate, uint64_t a, uint64_t b, unsigned bits) {
  int64_t x = own_signed(a, bits), y = own_signed(b, bits);
  switch (predicate) {
    case LLVMIntEQ: return a == b;
    case LLVMIntNE: return a != b;
    case LLVMIntUGT: return a > b;
    case LLVMIntUGE: return a >= b;
    case LLVMIntULT: return a < b;
    case LLVMIntULE: return a <= b;
    case LLVMIntSGT: return x > y;
    case LLVMIntSGE: return x >= y;
    case LLVMIntSLT: return x < y;
    default: return x <= y;
  }
}

/* False: not known, as a division by zero is. */
static bool fold_integers(own_op_t op, int predicate, uint64_t a, uint64_t b, unsigned bits, uint64_t *out) {
  int64_t x = own_signed(a, bits), y = own_signed(b, bits);
  bool shifts = b < bits, divides = b != 0, divides_signed = y != 0 && y != -1;
  switch (op) {
    case OWN_ADD: *out = a + b; return true;
    case OWN_SUB: *out = a - b; return true;
    case OWN_MUL: *out = a * b; return true;
    case OWN_AND: *out = a & b; return true;
    case OWN_OR: *out = a | b; return true;
    case OWN_XOR: *out = a ^ b; return true;
    case OWN_SHL: *out = shifts ? a << b : 0; return shifts;
    case OWN_LSHR: *out = shifts ? a >> b : 0; return shifts;
    case OWN_ASHR: *out = shifts ? (uint64_t)(x >> b) : 0; return shifts;
    case OWN_UDIV: *out = divides ? a / b : 0; return divides;
    case OWN_UREM: *out = divides ? a % b : 0; return divides;
    case OWN_SDIV: *out = divides_signed ? (uint64_t)(x / y) : 0; return divides_signed;
    case OWN_SREM: *out = divides_signed ? (uint64_t)(x % y) : 0; return divides_signed;
    case OWN_ICMP: *out = compare_integers(predicate, a, b, bits); return true;
    case OWN_SMIN: *out = x < y ? a : b; return true;
    case OWN_SMAX: *out = x > y ? a : b; return true;
    case OWN_UMIN: *out = a < b ? a : b; return true;
    case OWN_UMAX: *out = a > b ? a : b; return true;
    default: return false;
  }
}

static double float_of(uint64_t bits, unsigned width) {
  uint32_t word = (uint32_t)bits;
  float narrow;
  double wide;
  memcpy(&narrow, &word, sizeof narrow);
  memcpy(&wide, &bits, sizeof wide);
  return width == 32 ? narrow : wide;
}

static uint64_t bits_of_float(double value, unsigned width) {
  float narrow = (float)value;
  uint32_t word;
  uint64_t bits;
  memcpy(&word, &narrow, sizeof word);
  memcpy(&bits, &value, sizeof bits);
  return width == 32 ? word : bits;
}

/* What is exact in f64 and rounded once to f32 is as if it were computed in f32: that holds for these. */
static bool fold_floats(own_op_t op, uint64_t a, uint64_t b, unsigned bits, uint64_t *out) {
  double x = float_of(a, bits), y = float_of(b, bits), result;
  if (bits != 32 && bits != 64) return false;
  switch (op) {
    case OWN_FADD: result = x + y; break;
    case OWN_FSUB: result = x - y; break;
    case OWN_FMUL: result = x * y; break;
    case OWN_FDIV: result = x / y; break;
    case OWN_FNEG: *out = a ^ 1ull << (bits - 1); return true;
    default: return false;
  }
  *out = bits_of_float(result, bits);
  return result == result; /* which NaN it is is the processor's business */
}

static bool fold_cast(own_op_t op, uint64_t a, unsigned from, uint64_t *out) {
  if (op != OWN_TRUNC && op != OWN_ZEXT && op != OWN_SEXT) return false;
  *out = op == OWN_SEXT ? (uint64_t)own_signed(a, from) : a;
  return true;
}

static bool fold_lane(own_op_t op, int predicate, own_value_t *const *args, int count, unsigned i, uint64_t *out) {
  const own_type_t *from = args[0]->type;
  uint64_t a = args[0]->lanes[i], b = count > 1 && args[1]->type->lanes > i ? args[1]->lanes[i] : 0;
  if (op == OWN_SELECT) {
    *out = args[a & 1 ? 1 : 2]->lanes[i];
    return true;
  }
  if (own_is_float(from)) return fold_floats(op, a, b, from->bits, out);
  return count == 1 ? fold_cast(op, a, from->bits, out) : fold_integers(op, predicate, a, b, from->bits, out);
}

static own_value_t *fold_shuffle(own_type_t *type, const own_value_t *a, const own_value_t *b, const uint64_t *mask) {
  uint64_t lanes[1024];
  for (unsigned i = 0; i < type->lanes; i++)
    lanes[i] = mask[i] < a->type->lanes ? a->lanes[mask[i]] : b->lanes[mask[i] - a->type->lanes];
  return own_constant(type, lanes, false);
}

static bool is_all(const own_value_t *value, uint64_t lane) {
  return own_is_constant(value) && own_is_splat(value) && value->lanes[0] == lane;
}

static uint64_t ones(const own_type_t *type) { return type->bits >= 64 ? ~0ull : (1ull << type->bits) - 1; }

/* x + 0, x & -1, a choice that is made: the argument that it is, or NULL. */
static own_value_t *argument_of(own_op_t op, own_value_t *const *args) {
  switch (op) {
    case OWN_ADD:
    case OWN_SUB:
    case OWN_OR:
    case OWN_XOR:
    case OWN_SHL:
    case OWN_LSHR:
    case OWN_ASHR: return is_all(args[1], 0) ? args[0] : NULL;
    case OWN_MUL: return is_all(args[1], 1) ? args[0] : NULL;
    case OWN_AND: return is_all(args[1], ones(args[1]->type)) ? args[0] : is_all(args[1], 0) ? args[1] : NULL;
    case OWN_SELECT: return is_all(args[0], 1) || args[1] == args[2] ? args[1] : is_all(args[0], 0) ? args[2] : NULL;
    default: return NULL;
  }
}

/* The lanes of a constant in one. */
static own_value_t *fold_any(own_type_t *type, const own_value_t *of) {
  uint64_t any = 0;
  for (unsigned i = 0; i < of->type->lanes; i++) any |= of->lanes[i];
  return own_constant_of_all(type, any);
}

own_value_t *own_fold(own_op_t op, own_type_t *type, int predicate, own_value_t *const *args, int count) {
  uint64_t lanes[1024];
  own_value_t *argument = argument_of(op, args);
  if (argument) return argument;
  if (op == OWN_FPTRUNC && args[0]->op == OWN_FPEXT && args[0]->args[0]->type == type) return args[0]->args[0];
  for (int k = 0; k < count; k++)
    if (!own_is_constant(args[k])) return NULL;
  if (type->lanes > 1024 || !count) return NULL;
  if (op == OWN_REDUCE_OR) return fold_any(type, args[0]);
  if (op == OWN_SHUFFLE) return fold_shuffle(type, args[0], args[1], args[2]->lanes);
  if (op == OWN_SELECT && args[0]->type->lanes != type->lanes) return args[args[0]->lanes[0] & 1 ? 1 : 2];
  for (unsigned i = 0; i < type->lanes; i++)
    if (args[0]->type->lanes != type->lanes || !fold_lane(op, predicate, args, count, i, &lanes[i])) return NULL;
  return own_constant(type, lanes, false);
}
