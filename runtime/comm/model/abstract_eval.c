/* Abstract interpretation of single instructions, over the domain of abstract_value.h. Known values
 * are computed: integer scalars directly, as they make up most control flow, and small arrays (at
 * most MAX_ARRAY_ELEMENTS) by the reference kernels. Everything else becomes a symbol: a hash of
 * the instruction and of its operands' symbols. Two processes that compute the same instruction on
 * equal symbols get equal symbols (value numbering across processes), which proves equal decisions.
 *
 * Random numbers, effects and parameters without a replication attribute get symbols private to a
 * rank. A kernel that fails makes its result unknown, not the proof wrong. */
#include "comm/model/abstract_eval.h"

#include "base/map.h"
#include "ir/sharding.h"
#include "ops/kernels/pure.h"

#define MAX_ARRAY_ELEMENTS \
  65536 /* elements; larger arrays stay symbols, as control flow rarely depends on them */

void check_evaluator_init(check_evaluator_t *evaluator, hr_arena_t *arena, hr_map_t *plans) {
  *evaluator = (check_evaluator_t){.arena = arena, .plans = plans};
  hr_arena_init(&evaluator->scratch);
}

void check_evaluator_deinit(check_evaluator_t *evaluator) { hr_arena_deinit(&evaluator->scratch); }

/* --- unknown values --- */

/* A symbol that no other rank or program has; a single process has no values that vary. */
check_value_t check_private_value(check_evaluator_t *evaluator, const hlo_instr_t *cause,
                                  uint64_t symbol) {
  bool alone = evaluator->num_replicas * evaluator->num_partitions == 1;
  evaluator->by_rank |= !alone;
  symbol = check_mix(check_mix(symbol, (uint64_t)evaluator->rank), (uint64_t)evaluator->program);
  return (check_value_t){.kind = CHECK_UNKNOWN, .varies = !alone, .symbol = symbol, .cause = cause};
}

/* True if the sharding replicates this leaf on all partitions. Shardings with axis names are not
 * analysed. */
static bool is_replicated_sharding(const hlo_sharding_t *sharding, int leaf) {
  if (!sharding) return false;
  if (sharding->kind == HLO_TILE_KIND_TUPLE && leaf < sharding->element_count)
    sharding = sharding->elements[leaf];
  return !sharding->named && sharding->kind == HLO_TILE_KIND_REPLICATED;
}

/* One leaf: its symbol includes the grid coordinates along which replication is not declared. */
static check_value_t parameter_leaf(check_evaluator_t *evaluator, const hlo_instr_t *param,
                                    int leaf) {
  const hlo_extra_t *extra = param->extra;
  bool over_replicas = extra && leaf < extra->replication_count && extra->replication[leaf];
  bool over_partitions = extra && is_replicated_sharding(extra->sharding, leaf);
  bool by_replica = evaluator->num_replicas > 1 && !over_replicas;
  bool by_partition = evaluator->num_partitions > 1 && !over_partitions;
  int replica = evaluator->rank / evaluator->num_partitions,
      partition = evaluator->rank % evaluator->num_partitions;
  uint64_t symbol = check_mix((uint64_t)hlo_parameter_number(param) << 32 | (uint32_t)leaf, 77);
  symbol = check_mix(symbol, (uint64_t)evaluator->program);
  symbol = check_mix(symbol, by_replica ? (uint64_t)replica + 1 : 0);
  symbol = check_mix(symbol, by_partition ? (uint64_t)partition + 1 : 0);
  evaluator->by_rank |= by_replica || by_partition;
  return (check_value_t){.kind = CHECK_UNKNOWN,
                         .varies = by_replica || by_partition,
                         .symbol = symbol,
                         .cause = param};
}

/* Builds the parameter's value leaf by leaf; `leaf` counts leaves in the order of hlo_shape.
 * Without memory the value is a private symbol, which is always sound. */
static check_value_t parameter_tree(check_evaluator_t *evaluator, const hlo_instr_t *param,
                                    const hlo_shape_t *shape, int *leaf) {
  check_value_t value = {.kind = CHECK_UNKNOWN, .cause = param}, *elements;
  if (!hlo_shape_is_tuple(shape)) return parameter_leaf(evaluator, param, (*leaf)++);
  hr_status_t st = HR_NEW_ARRAY(&evaluator->scratch, shape->element_count, &elements);
  for (int k = 0; k < shape->element_count && !st; k++)
    elements[k] = parameter_tree(evaluator, param, shape->elements[k], leaf);
  if (!st) st = check_value_tuple(shape->element_count, elements, &value);
  for (int k = 0; k < shape->element_count && !st; k++) check_value_release(&elements[k]);
  if (!st) return value;
  hr_status_release(st);
  return check_private_value(evaluator, param, 99);
}

check_value_t check_entry_parameter(check_evaluator_t *evaluator, const hlo_instr_t *param) {
  int leaf = 0;
  return parameter_tree(evaluator, param, param->shape, &leaf);
}

/* A symbol of the instruction and its operands' symbols. The results of random ops and of effects
 * are private to the rank, even if operands are equal. */
static hr_status_t unknown_result(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                                  const check_value_t *in, check_value_t *out_value) {
  bool is_private = hlo_op_is(instr->op, OP_RANDOM) || hlo_op_is(instr->op, OP_EFFECT);
  uint64_t hash;
  HR_TRY(check_instr_hash(instr, &hash));
  *out_value = is_private ? check_private_value(evaluator, instr, hash)
                          : (check_value_t){.kind = CHECK_UNKNOWN, .symbol = hash};
  for (int k = 0; k < instr->operand_count; k++) check_value_blame(out_value, &in[k]);
  if (!out_value->cause) out_value->cause = instr;
  return NULL;
}

/* --- scalars of integer types, without kernels --- */

/* Reduces a result modulo 2^bits into the type's range, sign extended if it is signed; pred: 0 or
 * 1. */
static int64_t wrap(hr_dtype_t dtype, int64_t value) {
  int bits = hr_dtype_table[dtype].bits;
  if (dtype == HR_PRED) return value != 0;
  if (bits >= 64) return value;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  uint64_t low = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
  bool negative = is_signed && (low >> (bits - 1) & 1);
  return negative ? (int64_t)(low | ~((UINT64_C(1) << bits) - 1)) : (int64_t)low;
}

/* -1, 0 or 1. */
static int compare_ints(hr_dtype_t dtype, int64_t a, int64_t b) {
  if (hr_dtype_class(dtype) == HR_CLASS_SIGNED) return (a > b) - (a < b);
  return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
}

/* False: an unknown direction, which is left to the kernel. */
static bool compare_scalars(const hlo_instr_t *instr, const check_value_t *in, int64_t *out) {
  int order = compare_ints(in[0].dtype, in[0].integer, in[1].integer);
  switch (hlo_attr_enum(instr, HLO_ATTR_DIRECTION)) {
    case HLO_DIRECTION_EQ:
      *out = order == 0;
      return true;
    case HLO_DIRECTION_NE:
      *out = order != 0;
      return true;
    case HLO_DIRECTION_LT:
      *out = order < 0;
      return true;
    case HLO_DIRECTION_LE:
      *out = order <= 0;
      return true;
    case HLO_DIRECTION_GT:
      *out = order > 0;
      return true;
    case HLO_DIRECTION_GE:
      *out = order >= 0;
      return true;
    default:
      return false;
  }
}

/* False for ops that are left to the kernels: divisions, shifts and rare ops. */
static bool scalar_op(const hlo_instr_t *instr, const check_value_t *in, int64_t *out) {
  uint64_t a = (uint64_t)in[0].integer, b = instr->operand_count > 1 ? (uint64_t)in[1].integer : 0;
  bool pred = in[0].dtype == HR_PRED;
  switch (instr->op) {
    case HLO_ADD:
      *out = (int64_t)(pred ? a | b : a + b);
      return true;
    case HLO_SUBTRACT:
      *out = (int64_t)(a - b);
      return !pred;
    case HLO_MULTIPLY:
      *out = (int64_t)(pred ? a & b : a * b);
      return true;
    case HLO_AND:
      *out = (int64_t)(a & b);
      return true;
    case HLO_OR:
      *out = (int64_t)(a | b);
      return true;
    case HLO_XOR:
      *out = (int64_t)(a ^ b);
      return true;
    case HLO_NOT:
      *out = (int64_t)(pred ? !a : ~a);
      return true;
    case HLO_MAXIMUM:
      *out = compare_ints(in[0].dtype, in[0].integer, in[1].integer) > 0 ? in[0].integer
                                                                         : in[1].integer;
      return true;
    case HLO_MINIMUM:
      *out = compare_ints(in[0].dtype, in[0].integer, in[1].integer) < 0 ? in[0].integer
                                                                         : in[1].integer;
      return true;
    case HLO_CONVERT:
      *out = in[0].integer;
      return true;
    case HLO_COMPARE:
      return compare_scalars(instr, in, out);
    default:
      return false;
  }
}

/* Computes an integer scalar of known integer operands; false for any other instruction. */
static bool evaluate_scalar(const hlo_instr_t *instr, const check_value_t *in,
                            check_value_t *out_value) {
  hr_dtype_t dtype = instr->shape->dtype;
  int64_t result;
  if (!hlo_shape_is_scalar(instr->shape) || (!hr_dtype_is_integer(dtype) && dtype != HR_PRED))
    return false;
  if (instr->operand_count < 1 || instr->operand_count > 2) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (in[k].kind != CHECK_INT) return false;
  if (!scalar_op(instr, in, &result)) return false;
  *out_value = (check_value_t){.kind = CHECK_INT, .dtype = dtype, .integer = wrap(dtype, result)};
  return true;
}

/* --- other instructions, by reference kernels --- */

/* An array of at most MAX_ARRAY_ELEMENTS elements; the product cannot overflow, as it is tested
 * after each factor. */
static bool is_small(const hlo_shape_t *shape) {
  int64_t count = 1;
  if (!hlo_shape_is_array(shape) || hlo_shape_is_dynamic(shape)) return false;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] < 0 || shape->dims[d] > MAX_ARRAY_ELEMENTS) return false;
    count *= shape->dims[d];
    if (count > MAX_ARRAY_ELEMENTS) return false;
  }
  return true;
}

/* True if the reference kernel can compute the instruction here: it is pure, and its operands and
 * result are small. */
static bool has_kernel(const hlo_instr_t *instr) {
  if (!op_is_pure(instr) || instr->op == HLO_CONSTANT || !is_small(instr->shape)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!is_small(instr->operands[k]->shape)) return false;
  return true;
}

/* The op's step, prepared once per instruction and kept in `plans`, which all walks of a proof
 * share. */
static hr_status_t prepare(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                           op_step_t **out_step) {
  op_step_t *step = hr_map_get(evaluator->plans, (hr_str_t){(const char *)&instr, sizeof instr});
  *out_step = step;
  if (step) return NULL;
  const hlo_instr_t **key;
  HR_TRY(HR_NEW(evaluator->arena, &step));
  HR_TRY(HR_NEW(evaluator->arena, &key));
  HR_TRY(op_pure_prepare(evaluator->arena, instr, step));
  *key = instr;
  HR_TRY(hr_map_put(evaluator->plans, (hr_str_t){(const char *)key, sizeof *key}, step, NULL));
  *out_step = step;
  return NULL;
}

/* Runs the reference kernel on the known operands, converted to arrays. */
static hr_status_t run_kernel(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                              const check_value_t *in, hlo_value_t **out_array) {
  hr_arena_mark_t mark = hr_arena_mark(&evaluator->scratch);
  hlo_value_t **arrays;
  op_step_t *step;
  int made = 0;
  HR_TRY(prepare(evaluator, instr, &step));
  HR_TRY(HR_NEW_ARRAY(&evaluator->scratch, instr->operand_count, &arrays));
  hr_status_t st = NULL;
  for (; made < instr->operand_count && !st; made += !st)
    st = check_value_to_array(&in[made], &arrays[made]);
  if (!st) st = op_pure_run(step, &evaluator->scratch, arrays, out_array);
  for (int k = 0; k < made; k++) hlo_value_release(arrays[k]);
  hr_arena_rewind(&evaluator->scratch, mark);
  return st;
}

/* The result of a kernel that fails is unknown. */
static hr_status_t evaluate_known(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                                  const check_value_t *in, check_value_t *out_value) {
  hlo_value_t *array;
  if (!has_kernel(instr)) return unknown_result(evaluator, instr, in, out_value);
  hr_status_t st = run_kernel(evaluator, instr, in, &array);
  if (!st) return check_value_from_array(array, out_value);
  if (hr_status_code(st) == HR_NO_MEMORY) return st;
  hr_status_release(st);
  return unknown_result(evaluator, instr, in, out_value);
}

/* --- ops --- */

/* The id of the grid row or column: known, and a reason why the walk is valid for this rank
 * only. */
static check_value_t rank_id(check_evaluator_t *evaluator, const hlo_instr_t *instr) {
  int id = instr->op == HLO_REPLICA_ID ? evaluator->rank / evaluator->num_partitions
                                       : evaluator->rank % evaluator->num_partitions;
  int count = instr->op == HLO_REPLICA_ID ? evaluator->num_replicas : evaluator->num_partitions;
  evaluator->by_rank |= count > 1;
  return (check_value_t){.kind = CHECK_INT, .dtype = instr->shape->dtype, .integer = id};
}

/* A constant without literal (elided in the text) is unknown. */
static hr_status_t constant_of(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                               check_value_t *out_value) {
  if (!instr->literal) return unknown_result(evaluator, instr, NULL, out_value);
  return check_value_from_array(hlo_value_retain(instr->literal), out_value);
}

/* A known scalar predicate chooses one whole value, tuples included. */
static hr_status_t select_of(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                             const check_value_t *in, check_value_t *out_value) {
  if (in[0].kind != CHECK_INT) return unknown_result(evaluator, instr, in, out_value);
  *out_value = check_value_retain(in[in[0].integer ? 1 : 2]);
  return NULL;
}

/* The order of the tests matters: ops that only move values come first, as they also accept unknown
 * values and tuples. */
hr_status_t check_evaluate(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                           const check_value_t *in, check_value_t *out_value) {
  if (instr->op == HLO_CONSTANT) return constant_of(evaluator, instr, out_value);
  if (instr->op == HLO_TUPLE) return check_value_tuple(instr->operand_count, in, out_value);
  if (instr->op == HLO_SELECT && hlo_shape_is_scalar(instr->operands[0]->shape))
    return select_of(evaluator, instr, in, out_value);
  bool passes_on = hlo_op_is(instr->op, OP_IDENTITY) || instr->op == HLO_ASYNC_UPDATE ||
                   instr->op == HLO_COPY_START || instr->op == HLO_COPY_DONE;
  if (instr->op == HLO_REPLICA_ID || instr->op == HLO_PARTITION_ID) {
    *out_value = rank_id(evaluator, instr);
  } else if (instr->op == HLO_GET_TUPLE_ELEMENT) {
    *out_value = check_value_element(&in[0], (int)hlo_attr_int(instr, HLO_ATTR_INDEX));
  } else if (instr->op == HLO_ASYNC_DONE) {
    *out_value = check_value_element(&in[0], 1);
  } else if (passes_on) {
    *out_value = check_value_retain(in[0]);
  } else if (!evaluate_scalar(instr, in, out_value)) {
    for (int k = 0; k < instr->operand_count; k++)
      if (!check_value_is_known(&in[k]) || in[k].kind == CHECK_TUPLE)
        return unknown_result(evaluator, instr, in, out_value);
    return evaluate_known(evaluator, instr, in, out_value);
  }
  return NULL;
}
