/* --list-ops: prints the op table. The types of elementwise ops are those with a kernel. */
#include <string.h>

#include "cli/cli.h"
#include "ops/kernels/elementwise/elementwise.h"
#include "ops/kernels/native.h"
#include "ops/rules/build_rules.h"
#include "ops/query/codegen_support.h"
#include "ops/rules/builder.h"

#define NAME_COLUMN 28
#define STABLEHLO_COLUMN 28
#define ENGINE_COLUMN 13

static bool uses_attr(hlo_opcode_t op, hlo_attr_key_t key) {
  for (int i = 0; i < hlo_op_table[op].attr_count; i++)
    if (hlo_op_table[op].attrs[i].key == key) return true;
  return false;
}

/* Attributes that some elementwise ops require, with values valid for every type. */
static int probe_attrs(hlo_opcode_t op, hlo_attr_t into[3]) {
  int count = 0;
  if (uses_attr(op, HLO_ATTR_DIRECTION)) into[count++] = (hlo_attr_t){.key = HLO_ATTR_DIRECTION};
  if (uses_attr(op, HLO_ATTR_EXPONENT_BITS))
    into[count++] = (hlo_attr_t){.key = HLO_ATTR_EXPONENT_BITS, .integer = 2};
  if (uses_attr(op, HLO_ATTR_MANTISSA_BITS))
    into[count++] = (hlo_attr_t){.key = HLO_ATTR_MANTISSA_BITS, .integer = 1};
  return count;
}

/* The type of operand k when the op works on `dtype`. */
static hr_dtype_t operand_type(hlo_opcode_t op, int k, hr_dtype_t dtype) {
  if (op == HLO_SELECT && k == 0) return HR_PRED;
  if (op == HLO_STOCHASTIC_CONVERT) return k ? HR_U32 : HR_F32;
  return dtype;
}

/* Makes the op on scalars of a type; success if the verifier and the kernels accept it. */
static hr_status_t probe(hlo_module_t *module, hlo_opcode_t op, hr_dtype_t dtype) {
  hlo_computation_t *computation;
  hlo_instr_t *operands[EW_MAX_OPERANDS], *instr;
  HR_TRY(hlo_computation_add(module, HR_STR("probe"), &computation));
  int count = hlo_op_table[op].operands;
  for (int k = 0; k < count; k++) {
    hlo_attr_t number = {.key = HLO_ATTR_PARAMETER_NUMBER, .integer = k};
    hlo_instr_def_t def = {.op = HLO_PARAMETER,
                           .name = HR_STR("p"),
                           .attr_count = 1,
                           .attrs = &number,
                           .shape = hlo_shape_scalar(operand_type(op, k, dtype))};
    HR_TRY(hlo_instr_add(computation, &def, &operands[k]));
  }
  hlo_attr_t attrs[3];
  bool declares = op == HLO_CONVERT || op == HLO_STOCHASTIC_CONVERT;
  hlo_instr_def_t def = {.op = op,
                         .name = HR_STR("x"),
                         .operand_count = count,
                         .operands = operands,
                         .attr_count = probe_attrs(op, attrs),
                         .attrs = attrs,
                         .shape = declares ? hlo_shape_scalar(dtype) : NULL};
  HR_TRY(hlo_instr_add(computation, &def, &instr));
  HR_TRY(op_verifiers[op](instr));
  const ew_kernel_t *kernel;
  return ew_kernel_prepare(&module->arena, instr, &kernel);
}

static const struct type_class {
  hr_dtype_class_t class_;
  const char *name;
} classes[] = {{HR_CLASS_PRED, "pred"},
               {HR_CLASS_SIGNED, "signed"},
               {HR_CLASS_UNSIGNED, "unsigned"},
               {HR_CLASS_FLOAT, "floats"},
               {HR_CLASS_COMPLEX, "complex"}};

/* Prints the class name if all its types are taken, else the types. */
static void print_class(hr_strbuf_t *text, const struct type_class *class_, const bool *takes) {
  int of_class = 0, taken = 0;
  for (int type = 0; type < HR_DTYPE_COUNT; type++) {
    if (hr_dtype_class((hr_dtype_t)type) != class_->class_) continue;
    of_class++;
    taken += takes[type];
  }
  if (taken == of_class) hr_strbuf_printf(text, " %s", class_->name);
  if (!taken || taken == of_class) return;
  for (int type = 0; type < HR_DTYPE_COUNT; type++)
    if (takes[type] && hr_dtype_class((hr_dtype_t)type) == class_->class_)
      hr_strbuf_printf(text, " %s", hr_dtype_name((hr_dtype_t)type));
}

/* Tries every element type, and prints the classes of types that the op takes. */
static hr_status_t print_types(hr_strbuf_t *text, hlo_opcode_t op) {
  bool takes[HR_DTYPE_COUNT] = {false};
  hlo_module_t *module;
  HR_TRY(hlo_module_create(HR_STR("probe"), &module));
  for (int type = 0; type < HR_DTYPE_COUNT; type++) {
    if (!hr_dtype_is_array((hr_dtype_t)type)) continue;
    hr_status_t st = probe(module, op, (hr_dtype_t)type);
    takes[type] = !st;
    hr_status_release(st);
  }
  for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
    print_class(text, &classes[c], takes);
  hlo_module_destroy(module);
  return NULL;
}

/* Forms of the op in the compiled engine, best first; "reference" if it has none of its own. */
static const char *engine_of(hlo_opcode_t op) {
  if (op_natives[op]->prepare)
    return op_codegens[op] > CODEGEN_NONE && op_codegens[op] < CODEGEN_STRUCTURE ? "native, code"
                                                                                 : "native";
  if (op_codegens[op] == CODEGEN_STRUCTURE) return "plan";
  return op_codegens[op] != CODEGEN_NONE ? "code" : "reference";
}

/* A line for each op: names in HLO and StableHLO, what runs it, and its types. */
hr_status_t cli_list_ops(void) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "%-*s %-*s %-*s %s\n", NAME_COLUMN, "HLO", STABLEHLO_COLUMN, "StableHLO",
                   ENGINE_COLUMN, "engine",
                   "types of elementwise ops; others take what their definition says");
  hr_status_t st = NULL;
  for (int op = 0; op < HLO_OPCODE_COUNT && !st; op++) {
    const hlo_op_info_t *info = &hlo_op_table[op];
    bool typed = info->traits & OP_ELEMENTWISE;
    const char *stablehlo = *info->stablehlo_name ? info->stablehlo_name : "-";
    hr_strbuf_printf(&text, "%-*s %-*s %-*s", NAME_COLUMN, info->name, STABLEHLO_COLUMN, stablehlo,
                     typed ? ENGINE_COLUMN : 0, engine_of((hlo_opcode_t)op));
    if (typed) st = print_types(&text, (hlo_opcode_t)op);
    hr_strbuf_add_char(&text, '\n');
  }
  if (!st) st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}
