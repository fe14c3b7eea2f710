/* The sharding rule of each op: which function makes it. Ops of the table are elementwise by their
 * trait, or have a row here; others have no rule: tuples, control flow, tokens, feeds, and ops with
 * sizes as operands. Arrays without elements, or of sizes that depend on data, have none either, as
 * nothing can be cut.
 * Source: Shardy's op sharding rule registry; each rule was compared with its dumps.
 * A rule that the program gives with the instruction replaces the one of its op. */
#include "partition/rules/rule_builder.h"

/* An op and the function that fills its rule. */
typedef struct rule_row {
  hlo_opcode_t op;
  rule_fn make;
} rule_row_t;

/* Rows by op; their order is without meaning. The functions are in the files that rule_builder.h
 * names. */
static const rule_row_t rows[] = {
    {HLO_RESHAPE, rule_reshape},
    {HLO_BROADCAST, rule_broadcast},
    {HLO_TRANSPOSE, rule_transpose},
    {HLO_REVERSE, rule_reverse},
    {HLO_SLICE, rule_slice},
    {HLO_PAD, rule_slice},
    {HLO_CONCATENATE, rule_concatenate},
    {HLO_DYNAMIC_SLICE, rule_dynamic_slice},
    {HLO_DYNAMIC_UPDATE_SLICE, rule_dynamic_update_slice},
    {HLO_BITCAST_CONVERT, rule_bitcast_convert},
    {HLO_COPY, rule_pointwise},
    {HLO_DOMAIN, rule_pointwise},
    {HLO_MAP, rule_pointwise},
    {HLO_DOT, rule_dot},
    {HLO_CONVOLUTION, rule_convolution},
    {HLO_CHOLESKY, rule_cholesky},
    {HLO_TRIANGULAR_SOLVE, rule_triangular_solve},
    {HLO_FFT, rule_fft},
    {HLO_BATCH_NORM_INFERENCE, rule_batch_norm},
    {HLO_BATCH_NORM_TRAINING, rule_batch_norm},
    {HLO_BATCH_NORM_GRAD, rule_batch_norm},
    {HLO_REDUCE, rule_reduce},
    {HLO_REDUCE_WINDOW, rule_reduce_window},
    {HLO_SELECT_AND_SCATTER, rule_select_and_scatter},
    {HLO_SORT, rule_sort},
    {HLO_TOPK, rule_top_k},
    {HLO_GATHER, rule_gather},
    {HLO_SCATTER, rule_scatter},
    {HLO_RNG, rule_rng},
    {HLO_RNG_BIT_GENERATOR, rule_rng_bit_generator},
    {HLO_ALL_REDUCE, rule_pointwise},
    {HLO_COLLECTIVE_PERMUTE, rule_pointwise},
    {HLO_COLLECTIVE_BROADCAST, rule_pointwise},
    {HLO_ALL_GATHER, rule_collective_dims},
    {HLO_REDUCE_SCATTER, rule_collective_dims},
    {HLO_ALL_TO_ALL, rule_collective_dims},
};

/* A row decides before the trait. */
static rule_fn function_of(hlo_opcode_t op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op) return rows[i].make;
  return hlo_op_is(op, OP_ELEMENTWISE) ? rule_pointwise : NULL;
}

/* Arrays with elements on both sides, of sizes that are known; tuples as operands have no
 * dimensions to speak of. */
static bool has_dimensions(const hlo_instr_t *instr) {
  int leaves = hlo_shape_leaf_count(instr->shape);
  for (int k = 0; k < instr->operand_count + leaves; k++) {
    bool is_operand = k < instr->operand_count;
    const hlo_shape_t *shape = is_operand ? instr->operands[k]->shape
                                          : hlo_shape_leaf(instr->shape, k - instr->operand_count);
    if (!hlo_shape_is_array(shape) || hlo_shape_is_dynamic(shape)) return false;
    for (int d = 0; d < shape->rank; d++)
      if (shape->dims[d] <= 0) return false;
  }
  return leaves > 0;
}

/* In this order: a rule of the program, one by target, one by op. Rules of the program are of
 * custom calls: dumps of Shardy have them on all ops, whose windows they do not tell. */
hr_status_t spmd_rule_create(hr_arena_t *arena, const hlo_instr_t *instr,
                             const spmd_rule_t **out_rule) {
  rule_builder_t builder;
  *out_rule = NULL;
  if (!has_dimensions(instr)) return NULL;
  if (instr->op == HLO_CUSTOM_CALL) {
    hr_str_t text = hlo_frontend_attribute(instr, "xla.sdy.sharding_rule");
    if (text.size) return rule_parse(arena, instr, text, out_rule);
    return rule_of_custom_call(arena, instr, out_rule);
  }
  rule_fn make = function_of(instr->op);
  if (!make) return NULL;
  HR_TRY(rule_begin(arena, instr, &builder));
  make(&builder);
  return rule_finish(&builder, out_rule);
}
