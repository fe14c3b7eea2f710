/* Estimated time of a partition's program: that of its collectives, as reported, and of the work of
 * its operations, times the trip counts of the loops around them. Cost: linear in the program. */
#include "partition/lower/program_cost.h"

#include "partition/lower/comm_cost.h"
#include "partition/lower/lower_ops.h"
#include "passes/loops/loop_shape.h"

#define UNKNOWN_TRIPS 10 /* trip count assumed where the condition decides */

typedef struct costs {
  double *own;   /* by computation id: cost of its own instructions in one execution */
  double *whole; /* the same with all callees; -1: not known yet */
} costs_t;

static spmd_step_kind_t kind_of(hlo_opcode_t op) {
  switch (op) {
    case HLO_ALL_GATHER:
      return SPMD_ALL_GATHER;
    case HLO_ALL_TO_ALL:
      return SPMD_ALL_TO_ALL;
    case HLO_ALL_REDUCE:
      return SPMD_ALL_REDUCE;
    case HLO_REDUCE_SCATTER:
      return SPMD_REDUCE_SCATTER;
    default:
      return SPMD_PERMUTE;
  }
}

static double bytes_of(const hlo_shape_t *shape) {
  return (double)hlo_shape_elements(shape) * (double)hr_dtype_bytes(shape->dtype);
}

static double operand_bytes(const hlo_instr_t *collective) {
  double bytes = 0;
  for (int k = 0; k < collective->operand_count; k++)
    if (hlo_shape_is_array(collective->operands[k]->shape))
      bytes += bytes_of(collective->operands[k]->shape);
  return bytes;
}

static double collective_us(const hlo_computation_t *entry, const spmd_report_item_t *item) {
  spmd_step_kind_t kind = kind_of(item->collective->op);
  double bytes = kind == SPMD_PERMUTE ? item->bytes : operand_bytes(item->collective);
  if (kind == SPMD_ALL_GATHER && item->collective->parent == entry)
    return (double)item->times * spmd_shared_gather_us(bytes, (double)item->group);
  return (double)item->times * spmd_step_us(kind, bytes, (double)item->group);
}

/* Number of terms of which each element of the result is a sum. */
static double terms_of(const hlo_instr_t *instr) {
  const hlo_shape_t *first = instr->operands[0]->shape, *second = instr->operands[1]->shape;
  double terms = 1;
  if (instr->op == HLO_DOT) {
    hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
    for (int64_t i = 0; i < dims.count; i++) terms *= (double)first->dims[dims.data[i]];
    return terms;
  }
  double features = (double)second->dims[hlo_attr_labels(instr)->rhs_output_feature];
  return features > 0 ? (double)hlo_shape_elements(second) / features : 0;
}

static double elements_of(const hlo_shape_t *shape) {
  return hlo_shape_is_array(shape) ? (double)hlo_shape_elements(shape) : 0;
}

/* True for what only names arrays, repeats them, or takes time of another kind. */
static bool is_free(const hlo_instr_t *instr) {
  bool names = instr->op == HLO_TUPLE || instr->op == HLO_GET_TUPLE_ELEMENT ||
               instr->op == HLO_RESHAPE || instr->op == HLO_BROADCAST;
  return names || !instr->operand_count || !hlo_shape_leaf_count(instr->shape) ||
         hlo_op_is(instr->op, OP_CONTROL) || hlo_op_is(instr->op, OP_COMM);
}

/* Elements of the iteration space of an operation. */
static double work_of(const hlo_instr_t *instr) {
  if (is_free(instr)) return 0;
  double most = elements_of(hlo_shape_leaf(instr->shape, 0));
  if (instr->op == HLO_DOT || instr->op == HLO_CONVOLUTION) return most * terms_of(instr);
  if (instr->op == HLO_SORT) return most * spmd_sort_work(instr, false);

  const hlo_shape_t *operand = instr->operands[0]->shape;
  if (elements_of(operand) > most) most = elements_of(operand);
  bool factorises = instr->op == HLO_CHOLESKY || instr->op == HLO_TRIANGULAR_SOLVE ||
                    instr->op == HLO_CUSTOM_CALL;
  bool has_rows = hlo_shape_is_array(operand) && operand->rank;
  return factorises && has_rows ? most * (double)operand->dims[operand->rank - 1] : most;
}

static double trips_of(hlo_instr_t *instr) {
  loop_t loop;
  loop_counter_t counter;
  bool known = loop_match(instr, &loop) && loop_find_counter(&loop, &counter);
  return known ? (double)counter.trips : UNKNOWN_TRIPS;
}

static double computation_us(costs_t *costs, const hlo_computation_t *computation);

/* Cost of what a loop, a conditional (one branch of all) or a call executes. */
static double callees_us(costs_t *costs, hlo_instr_t *instr) {
  double sum = 0;
  for (int k = 0; k < instr->called_count; k++) sum += computation_us(costs, instr->called[k]);
  if (instr->op == HLO_WHILE) return sum * trips_of(instr);
  return instr->op == HLO_CONDITIONAL ? sum / instr->called_count : sum;
}

static double computation_us(costs_t *costs, const hlo_computation_t *computation) {
  double *whole = &costs->whole[computation->id];
  if (*whole >= 0) return *whole;
  double sum = costs->own[computation->id];
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    sum += spmd_work_us(work_of(instr));
    if (hlo_op_is(instr->op, OP_CONTROL)) sum += callees_us(costs, instr);
  }
  return *whole = sum;
}

hr_status_t spmd_program_us(hr_arena_t *arena, const hlo_computation_t *entry,
                            const spmd_report_notes_t *notes, double *out_us) {
  costs_t costs;
  size_t count = entry->module->computations.count;
  HR_TRY(HR_NEW_ARRAY(arena, count, &costs.own));
  HR_TRY(HR_NEW_ARRAY(arena, count, &costs.whole));
  for (size_t c = 0; c < count; c++) costs.whole[c] = -1;
  for (size_t i = 0; i < notes->items.count; i++) {
    const spmd_report_item_t *item = &notes->items.data[i];
    costs.own[item->collective->parent->id] += collective_us(entry, item);
  }
  *out_us = computation_us(&costs, entry);
  return NULL;
}
