/* Cost analysis: arithmetic and bytes of one execution on one device, under the names that XLA
 * uses. A product counts two operations per term, other ops one per element of their result; bodies
 * of loops count once, as their trip counts are not known. Bytes are those of operands and results
 * of the program. Not counted: convolutions by their windows, custom calls. */
#include <string.h>

#include "pjrt/abi/pjrt_api.h"
#include "pjrt/program/pjrt_executable.h"

static double element_count(const hlo_shape_t *shape) {
  double count = 1;
  for (int d = 0; d < shape->rank; d++) count *= shape->dims[d] < 0 ? 0.0 : (double)shape->dims[d];
  return count;
}

static double leaf_bytes(const hlo_shape_t *shape) {
  return element_count(shape) * (double)hr_dtype_bytes(shape->dtype);
}

/* A multiplication and an addition per term of each element. */
static double dot_flops(const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  const hlo_shape_t *lhs = instr->operands[0]->shape;
  double terms = 1;
  for (int64_t i = 0; attr && i < attr->ints.count; i++)
    terms *= (double)lhs->dims[attr->ints.data[i]];
  return 2 * terms * element_count(instr->shape);
}

/* The ops that XLA counts apart from arithmetic. */
static bool is_transcendental(hlo_opcode_t op) {
  switch ((int)op) {
    case HLO_EXPONENTIAL:
    case HLO_EXPONENTIAL_MINUS_ONE:
    case HLO_LOG:
    case HLO_LOG_PLUS_ONE:
    case HLO_SINE:
    case HLO_COSINE:
    case HLO_TAN:
    case HLO_TANH:
    case HLO_POWER:
    case HLO_SQRT:
    case HLO_RSQRT:
    case HLO_CBRT:
    case HLO_LOGISTIC:
    case HLO_ATAN2:
    case HLO_ERF:
      return true;
    default:
      return false;
  }
}

/* A reduction counts an operation per element that it reads. */
static void add_instr(const hlo_instr_t *instr, double *flops, double *transcendentals) {
  if (instr->op == HLO_DOT)
    *flops += dot_flops(instr);
  else if (is_transcendental(instr->op))
    *transcendentals += element_count(instr->shape);
  else if (hlo_op_is(instr->op, OP_ELEMENTWISE))
    *flops += element_count(instr->shape);
  else if (instr->op == HLO_REDUCE && instr->operand_count)
    *flops += element_count(instr->operands[0]->shape);
}

/* Values are floats, as the interface has no double. */
static void set_cost(pjrt_named_t *cost, const char *name, double value) {
  *cost = (pjrt_named_t){.struct_size = sizeof *cost,
                         .name = name,
                         .name_size = strlen(name),
                         .kind = PJRT_NAMED_FLOAT,
                         .real = (float)value,
                         .value_size = 1};
}

hr_status_t pjrt_executable_describe_costs(pjrt_executable_t *executable) {
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  double flops = 0, transcendentals = 0, bytes = 0;
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      add_instr(module->computations.data[c]->instrs.data[i], &flops, &transcendentals);
  for (int p = 0; p < executable->param_count; p++) bytes += leaf_bytes(executable->params[p]);
  for (int r = 0; r < executable->result_count; r++)
    bytes += leaf_bytes(executable->results[r].shape);
  set_cost(&executable->lists.costs[0], "flops", flops);
  set_cost(&executable->lists.costs[1], "transcendentals", transcendentals);
  set_cost(&executable->lists.costs[2], "bytes accessed", bytes);
  return NULL;
}

/* Executable_GetCostAnalysis: the list belongs to the executable. */
hr_status_t pjrt_executable_costs(pjrt_counted_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->lists.costs;
  args->count = sizeof executable->lists.costs / sizeof *executable->lists.costs;
  return NULL;
}
