/* The cost functions of fuse_cost.h: arithmetic per element by opcode, memory traffic by size, and
 * the evaluations that an operand gets from its user. Figures are f32 vectors of 16 lanes on one
 * core. */
#include "passes/fuse/fuse_cost.h"

#include "ops/query/codegen_support.h"

/* ns per element in inlined f32 vectors: 0.02 to 0.03 for arithmetic, 0.24 to 0.4 for exp, log and
 * tanh, 1.6 for pow. */
static double real_element_ns(const hlo_instr_t *instr) {
  if (op_codegens[instr->op] == CODEGEN_REDUCE) return 0.05;
  if (instr->op == HLO_GATHER) return 0.5;
  if (op_codegens[instr->op] != CODEGEN_ELEMENTWISE)
    return instr->op == HLO_CONCATENATE || instr->op == HLO_PAD ? 0.02 : 0;
  switch (instr->op) {
    case HLO_DIVIDE:
    case HLO_SQRT:
    case HLO_RSQRT:
    case HLO_REMAINDER:
      return 0.1;
    case HLO_EXPONENTIAL:
    case HLO_EXPONENTIAL_MINUS_ONE:
    case HLO_LOG:
    case HLO_LOG_PLUS_ONE:
    case HLO_LOGISTIC:
    case HLO_TANH:
    case HLO_SINE:
    case HLO_COSINE:
    case HLO_ERF:
    case HLO_CBRT:
      return 0.4;
    case HLO_POWER:
    case HLO_ATAN2:
    case HLO_TAN:
    case HLO_SINH:
    case HLO_COSH:
    case HLO_ASIN:
    case HLO_ACOS:
    case HLO_ATAN:
    case HLO_ASINH:
    case HLO_ACOSH:
    case HLO_ATANH:
      return 1.5;
    default:
      return 0.03;
  }
}

/* An op on complex numbers counts as its operations on the parts. */
double fuse_element_ns(const hlo_instr_t *instr) {
  double parts = !hr_dtype_is_complex(fusion_root_shape(instr)->dtype) ? 1
                 : instr->op == HLO_MULTIPLY                           ? 4
                                                                       : 2;
  return parts * real_element_ns(instr);
}

/* Integer division has no vector instruction. Divisions by powers of two have become shifts
 * before. */
bool fuse_is_expensive(const hlo_instr_t *instr) { return fuse_element_ns(instr) >= 0.1; }

double fuse_shape_bytes(const hlo_shape_t *shape) {
  double bytes = 0;
  for (int i = 0; i < shape->element_count; i++) bytes += fuse_shape_bytes(shape->elements[i]);
  return hlo_shape_is_array(shape)
             ? (double)fusion_count(shape) * (double)hr_dtype_bytes(shape->dtype)
             : bytes;
}

/* 20 GB/s from memory, 100 GB/s from the second-level cache. */
double fuse_read_ns(double bytes) { return bytes * (bytes > 1 << 20 ? 0.05 : 0.01); }
double fuse_write_ns(double bytes) { return 2 * fuse_read_ns(bytes); }

static bool stands_for_all(const hlo_instr_t *user, int k) {
  bool start = user->op == HLO_DYNAMIC_SLICE || user->op == HLO_DYNAMIC_UPDATE_SLICE;
  return fusion_count(user->operands[k]->shape) == 1 || (start && k > 0);
}

static bool has_dim(hr_ints_t dims, int64_t d) {
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == d) return true;
  return false;
}

/* Indices are computed before the loops over the window's innermost dimensions, unless these have
 * less than a vector of elements. */
static double evals_of_indices(const hlo_instr_t *gather) {
  hr_ints_t window = hlo_attr_ints(gather, HLO_ATTR_OFFSET_DIMS);
  int64_t inner = 1;
  for (int d = gather->shape->rank; d-- > 0 && has_dim(window, d);) inner *= gather->shape->dims[d];
  return (double)fusion_count(gather->shape) / (double)(inner < FUSE_LANES ? 1 : inner);
}

bool fuse_is_dilating(const hlo_instr_t *instr) {
  for (int d = 0; instr->op == HLO_PAD && d < instr->shape->rank; d++)
    if (hlo_attr_padding(instr)->dims[d].interior) return true;
  return false;
}

/* Do elements and inserted values alternate in the lanes, so that no loop variable separates them?
 * All lanes then compute both. A loop nest has one variable for one dilation; a second dilation, as
 * in the downward pass of an associative scan, has another remainder. */
static bool is_mixed(const hlo_instr_t *pad, bool is_dilated) {
  for (int d = 0; pad->op == HLO_PAD && d < pad->shape->rank; d++) {
    int64_t between = hlo_attr_padding(pad)->dims[d].interior;
    if (between && (is_dilated || pad->shape->dims[d] % (between + 1))) return true;
  }
  return false;
}

double fuse_operand_evals(const hlo_instr_t *user, int k, double evals, bool is_dilated) {
  double whole = (double)fusion_count(user->shape),
         part = (double)fusion_count(user->operands[k]->shape);
  if (stands_for_all(user, k)) return 1;
  if (user->op == HLO_GATHER && k == 1) return evals * evals_of_indices(user) / whole;
  bool pieces = user->op == HLO_CONCATENATE || user->op == HLO_PAD;
  return pieces && part < whole && !is_mixed(user, is_dilated) ? evals * part / whole : evals;
}

static int last_wide_dim(const hlo_shape_t *shape) {
  int last = shape->rank - 1;
  while (last >= 0 && shape->dims[last] == 1) last--;
  return last;
}

bool fuse_moves_last(const hlo_instr_t *instr) {
  if (instr->op != HLO_TRANSPOSE || fusion_keeps_order(instr)) return false;
  int last = last_wide_dim(instr->shape);
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  return dims.data[last] != last_wide_dim(instr->operands[0]->shape);
}

bool fuse_is_transposed(const hlo_instr_t *instr) {
  return fuse_shape_bytes(instr->shape) > FUSE_TRANSPOSE_BYTES && fuse_moves_last(instr);
}
