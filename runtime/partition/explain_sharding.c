/* What the partitioner decided, as a table for people:
 *
 *   train.mlir:12:10 dot_general.4 f32[16,8] <@mesh, [{"d"}, {"m"}]> from operand add.3
 *
 * One line for each array of the program, parameters first; loops and branches follow where they
 * are called. After partitioning: collectives by the instruction that caused them, their sum, and
 * arrays that had to be whole, the largest first.
 * Cost: linear, and the sorting of what had to be whole. */
#include "partition/explain_sharding.h"

#include <stdlib.h>

#include "partition/lower/report.h"

static void print_place(hr_strbuf_t *text, const hlo_instr_t *instr) {
  const hr_source_t *source = &instr->parent->module->source;
  const char *path = source->path ? source->path : "-";
  if (instr->line)
    hr_strbuf_printf(text, "%s:%u:%u ", path, instr->line, instr->column);
  else
    hr_strbuf_printf(text, "%s ", path);
}

static void print_origin(hr_strbuf_t *text, const spmd_value_t *value) {
  static const char *const words[] = {[SPMD_FROM_NOTHING] = "",
                                      [SPMD_FROM_PROGRAM] = " annotated",
                                      [SPMD_FROM_USER] = " by --sharding",
                                      [SPMD_FROM_OPERAND] = " forward by",
                                      [SPMD_FROM_USE] = " backward by",
                                      [SPMD_FROM_EDGE] = " along"};
  hr_strbuf_add_str(text, words[value->origin]);
  if (value->source && value->origin > SPMD_FROM_USER)
    hr_strbuf_printf(text, " %.*s", HR_STR_ARGS(value->source->name));
}

static void print_value(hr_strbuf_t *text, const spmd_value_t *value, const hlo_shape_t *shape) {
  hr_strbuf_add_char(text, ' ');
  hlo_shape_print(text, shape, false);
  hr_strbuf_add_char(text, ' ');
  if (!value->sharding)
    hr_strbuf_add_str(text, "replicated");
  else if (value->sharding->device >= 0)
    hr_strbuf_printf(text, "on device %ld", (long)value->sharding->device);
  else
    spmd_sharding_print(text, value->sharding);
  print_origin(text, value);
}

static bool has_own_values(const hlo_instr_t *instr) {
  return instr->op != HLO_TUPLE && instr->op != HLO_GET_TUPLE_ELEMENT;
}

static void explain_instr(hr_strbuf_t *text, const spmd_program_t *program,
                          const hlo_instr_t *instr) {
  const spmd_value_t *values = program->computations[instr->parent->id].values[instr->id];
  int count = hlo_shape_leaf_count(instr->shape);
  for (int leaf = 0; leaf < count && has_own_values(instr); leaf++) {
    const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, leaf);
    if (!hlo_shape_is_array(shape)) continue;
    print_place(text, instr);
    hr_strbuf_printf(text, "%.*s", HR_STR_ARGS(instr->name));
    if (count > 1) hr_strbuf_printf(text, "#%d", leaf);
    print_value(text, &values[leaf], shape);
    hr_strbuf_add_char(text, '\n');
  }
}

void spmd_explain_values(hr_strbuf_t *text, const spmd_program_t *program) {
  const hlo_module_t *module = program->module;
  for (size_t c = module->computations.count; c-- > 0;) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && program->computations[c].values; i++)
      explain_instr(text, program, computation->instrs.data[i]);
  }
}

/* --- what it costs --- */

static void print_cause(hr_strbuf_t *text, const hlo_instr_t *cause) {
  if (!cause) {
    hr_strbuf_add_str(text, "the program");
    return;
  }
  print_place(text, cause);
  hr_str_t called = {"", 0};
  if (cause->op == HLO_CUSTOM_CALL) called = hlo_attr_str(cause, HLO_ATTR_CUSTOM_CALL_TARGET);
  hr_strbuf_printf(text, "%.*s (%s%s%.*s)", HR_STR_ARGS(cause->name), hlo_op_name(cause->op),
                   called.size ? " of " : "", HR_STR_ARGS(called));
}

static void explain_collective(hr_strbuf_t *text, const spmd_report_item_t *item) {
  print_cause(text, item->cause);
  hr_strbuf_printf(text, " sends %.0f bytes: %s of ", item->bytes,
                   hlo_op_name(item->collective->op));
  hlo_shape_print(text, item->collective->shape, false);
  hr_strbuf_printf(text, " among %ld", (long)item->group);
  if (item->times > 1) hr_strbuf_printf(text, ", %ld times", (long)item->times);
  hr_strbuf_add_str(text, item->in_loop ? ", each time round a loop\n" : "\n");
}

double spmd_explain_bytes(const hlo_shape_t *shape) {
  double bytes = (double)hr_dtype_bytes(shape->dtype);
  for (int d = 0; d < shape->rank; d++) bytes *= (double)shape->dims[d];
  return bytes;
}

static int by_bytes(const void *a, const void *b) {
  double left = spmd_explain_bytes((*(const spmd_replication_t *const *)a)->shape);
  double right = spmd_explain_bytes((*(const spmd_replication_t *const *)b)->shape);
  return (left < right) - (left > right);
}

const char *spmd_explain_advice(hlo_opcode_t op) {
  switch (op) {
    case HLO_SORT:
    case HLO_FFT:
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE:
      return "cut its operand along a batch dimension instead";
    case HLO_DYNAMIC_SLICE:
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_GATHER:
    case HLO_SCATTER:
      return "cut its operand along a dimension that it takes whole";
    case HLO_CUSTOM_CALL:
      return "give it an sdy.sharding_rule, or run it in a shard_map";
    case HLO_RESHAPE:
      return "cut its operand along a dimension that the reshape keeps";
    default:
      return "cut its operands and its result alike";
  }
}

hr_status_t spmd_explain_rank(const spmd_program_t *program,
                              const spmd_replication_t ***out_sorted) {
  const spmd_report_t *report = program->report;
  HR_TRY(HR_NEW_ARRAY(program->arena, report->replication_count + 1, out_sorted));
  for (size_t i = 0; i < report->replication_count; i++)
    (*out_sorted)[i] = &report->replications[i];
  qsort(*out_sorted, report->replication_count, sizeof **out_sorted, by_bytes);
  return NULL;
}

static hr_status_t explain_replications(hr_strbuf_t *text, const spmd_program_t *program) {
  const spmd_report_t *report = program->report;
  const spmd_replication_t **sorted;
  HR_TRY(spmd_explain_rank(program, &sorted));
  for (size_t i = 0; i < report->replication_count; i++) {
    print_cause(text, sorted[i]->instr);
    hr_strbuf_printf(
        text, " needs %.0f bytes whole on every process: ", spmd_explain_bytes(sorted[i]->shape));
    hlo_shape_print(text, sorted[i]->shape, false);
    hr_strbuf_printf(text, "; %s\n", spmd_explain_advice(sorted[i]->instr->op));
  }
  return NULL;
}

hr_status_t spmd_explain_report(hr_strbuf_t *text, const spmd_program_t *program) {
  const spmd_report_t *report = program->report;
  double bytes = 0;
  if (!report) return NULL;
  for (size_t i = 0; i < report->item_count; i++) {
    explain_collective(text, &report->items[i]);
    bytes += report->items[i].bytes * (double)report->items[i].times;
  }
  hr_strbuf_printf(text, "%zu collective%s, by which a process sends %.0f bytes\n",
                   report->item_count, report->item_count == 1 ? "" : "s", bytes);
  return explain_replications(text, program);
}
