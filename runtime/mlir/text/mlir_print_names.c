/* Names of values as MLIR's own printer chooses them, so that texts can be compared. All values of
 * a region are named before those of its nested regions, which continue its count; sibling regions
 * count from the same number:
 *   %0 = op ({ %1 = ... }, { %1 = ... })      both regions start at 1
 * Some ops suggest names ("%cst"); if a name is taken, a number is appended ("%cst_0"), from one
 * counter for all names. A name is encoded as one number in mlir_value_t.mapped: its base and an
 * optional suffix. Two passes over the tree, no extra memory. */
#include "mlir/text/mlir_op_printer.h"

typedef enum base_name {
  BASE_NONE, /* %0, %1, ... */
  BASE_ARG,  /* %arg0, ... */
  BASE_BATCH_MEAN,
  BASE_BATCH_VAR,
  BASE_C,
  BASE_CARRY,
  BASE_CST,
  BASE_GRAD_OFFSET,
  BASE_GRAD_OPERAND,
  BASE_GRAD_SCALE,
  BASE_INDICES,
  BASE_INPUT,
  BASE_ITER_ARG,
  BASE_OUTPUT,
  BASE_OUTPUT_STATE,
  BASE_VALUES,
  BASE_COUNT
} base_name_t;

static const char *const base_texts[BASE_COUNT] = {
    "",        "arg",         "batch_mean",   "batch_var",  "c",       "carry",
    "cst",     "grad_offset", "grad_operand", "grad_scale", "indices", "input",
    "iterArg", "output",      "output_state", "values"};

/* Counters of one region; nested regions start from a copy. */
typedef struct name_counts {
  int64_t values, args, conflicts;
  uint32_t taken; /* bases used without a suffix, as bits */
} name_counts_t;

/* Encodes base and suffix (-1: none) in one nonzero pointer; print_name decodes it. */
static void set_name(mlir_value_t *value, base_name_t base, int64_t number) {
  value->mapped = (void *)(uintptr_t)(1 + (uint64_t)base + BASE_COUNT * (uint64_t)(number + 1));
}

/* The base without a suffix if it is free, else with the next suffix. */
static void suggest_name(name_counts_t *counts, mlir_value_t *value, base_name_t base) {
  bool taken = counts->taken >> base & 1;
  set_name(value, base, taken ? counts->conflicts++ : -1);
  counts->taken |= 1u << base;
}

/* --- names suggested by ops --- */

static const mlir_type_t *element_of(const mlir_type_t *type) {
  return type->element ? type->element : type;
}

/* %c for integers and indices, %cst for all other constants. */
static base_name_t constant_name(const mlir_op_t *op) {
  const mlir_type_t *element = element_of(op->results[0].type);
  return element->kind == MLIR_TYPE_INTEGER || element->kind == MLIR_TYPE_INDEX ? BASE_C : BASE_CST;
}

/* Ops with several results that have names. */
static const struct {
  const char *op;
  int count;
  base_name_t names[3];
} named_results[] = {
    {"stablehlo.rng_bit_generator", 2, {BASE_OUTPUT_STATE, BASE_OUTPUT}},
    {"stablehlo.batch_norm_training", 3, {BASE_OUTPUT, BASE_BATCH_MEAN, BASE_BATCH_VAR}},
    {"stablehlo.batch_norm_grad", 3, {BASE_GRAD_OPERAND, BASE_GRAD_SCALE, BASE_GRAD_OFFSET}},
    {"chlo.top_k", 2, {BASE_VALUES, BASE_INDICES}}};

/* Suggested name of one of the op's results; BASE_NONE: none. */
static base_name_t result_name(const mlir_op_t *op, int index) {
  if (hr_str_is(op->name, "stablehlo.constant") || hr_str_is(op->name, "arith.constant"))
    return constant_name(op);
  if (hr_str_is(op->name, "chlo.constant")) return BASE_CST;
  for (size_t i = 0; i < sizeof named_results / sizeof *named_results; i++)
    if (op->result_count == named_results[i].count && hr_str_is(op->name, named_results[i].op))
      return named_results[i].names[index];
  return BASE_NONE;
}

/* Segments are i32 in MLIR, i64 in texts that were read here. */
int64_t mlir_first_segment(const mlir_op_t *op, const char *name) {
  const mlir_attr_t *sizes = mlir_op_attr(op, name);
  if (!sizes || sizes->kind != MLIR_ATTR_DENSE_ARRAY || !sizes->element_count) return 0;
  return sizes->type->width == 64   ? *(const int64_t *)sizes->data
         : sizes->type->width == 32 ? *(const int32_t *)sizes->data
                                    : 0;
}

/* Suggested name of an argument of the op's regions; BASE_NONE: %argN. */
static base_name_t arg_name(const mlir_op_t *op, int index) {
  if (hr_str_is(op->name, "stablehlo.while")) return BASE_ITER_ARG;
  bool scans = hr_str_is(op->name, "chlo.scan");
  if (scans) return index < mlir_first_segment(op, "operandSegmentSizes") ? BASE_INPUT : BASE_CARRY;
  return BASE_NONE;
}

/* --- the walk --- */

/* Results of an op share a base and are distinguished by #number. */
static void name_results(name_counts_t *counts, mlir_op_t *op) {
  bool named = op->result_count && result_name(op, 0) != BASE_NONE;
  int64_t number = op->result_count && !named ? counts->values++ : 0;
  for (int i = 0; i < op->result_count; i++) {
    if (named)
      suggest_name(counts, &op->results[i], result_name(op, i));
    else
      set_name(&op->results[i], BASE_NONE, number);
  }
}

/* Arguments of an entry block are %argN or have suggested names; those of other blocks are
 * numbered like results. */
static void name_args(name_counts_t *counts, mlir_block_t *block, bool is_entry) {
  const mlir_op_t *parent = block->parent->parent;
  for (int i = 0; i < block->arg_count; i++) {
    base_name_t base = is_entry && parent ? arg_name(parent, i) : BASE_NONE;
    if (base != BASE_NONE)
      suggest_name(counts, &block->args[i], base);
    else
      set_name(&block->args[i], is_entry ? BASE_ARG : BASE_NONE,
               is_entry ? counts->args++ : counts->values++);
  }
}

/* `counts` is a copy: sibling regions do not see each other's counts. */
static void name_region(const mlir_region_t *region, name_counts_t counts) {
  for (size_t b = 0; b < region->blocks.count; b++) {
    mlir_block_t *block = region->blocks.data[b];
    name_args(&counts, block, b == 0);
    for (size_t i = 0; i < block->ops.count; i++) name_results(&counts, block->ops.data[i]);
  }
  for (size_t b = 0; b < region->blocks.count; b++)
    for (size_t i = 0; i < region->blocks.data[b]->ops.count; i++) {
      const mlir_op_t *op = region->blocks.data[b]->ops.data[i];
      for (int r = 0; r < op->region_count; r++) name_region(op->regions[r], counts);
    }
}

void mlir_name_values(const mlir_op_t *top) {
  for (int r = 0; r < top->region_count; r++) name_region(top->regions[r], (name_counts_t){0});
}

/* Clears `mapped` for the next user of the tree. */
void mlir_forget_names(const mlir_op_t *top) {
  for (int i = 0; i < top->result_count; i++) top->results[i].mapped = NULL;
  for (int r = 0; r < top->region_count; r++)
    for (size_t b = 0; b < top->regions[r]->blocks.count; b++) {
      const mlir_block_t *block = top->regions[r]->blocks.data[b];
      for (int i = 0; i < block->arg_count; i++) block->args[i].mapped = NULL;
      for (size_t i = 0; i < block->ops.count; i++) mlir_forget_names(block->ops.data[i]);
    }
}

/* --- printing --- */

/* %base, or %base#number. */
static void print_name(op_printer_t *printer, const mlir_value_t *value) {
  uint64_t code = (uint64_t)(uintptr_t)value->mapped - 1;
  base_name_t base = (base_name_t)(code % BASE_COUNT);
  int64_t number = (int64_t)(code / BASE_COUNT) - 1;
  bool joined = base == BASE_NONE || base == BASE_ARG;
  hr_strbuf_printf(printer->text, "%%%s", base_texts[base]);
  if (number >= 0) hr_strbuf_printf(printer->text, "%s%ld", joined ? "" : "_", (long)number);
}

/* True if the results have no names of their own and share one. */
static bool share_name(const mlir_op_t *op) {
  return op->result_count > 1 && result_name(op, 0) == BASE_NONE;
}

void mlir_print_use(op_printer_t *printer, const mlir_value_t *value) {
  print_name(printer, value);
  if (value->owner && share_name(value->owner))
    hr_strbuf_printf(printer->text, "#%d", value->index);
}

/* "%0:2 = ", or nothing without results. */
void mlir_print_results(op_printer_t *printer, const mlir_op_t *op) {
  int names = share_name(op) ? 1 : op->result_count;
  for (int i = 0; i < names; i++) {
    if (i) hr_strbuf_add_str(printer->text, ", ");
    print_name(printer, &op->results[i]);
  }
  if (share_name(op)) hr_strbuf_printf(printer->text, ":%d", op->result_count);
  if (names) hr_strbuf_add_str(printer->text, " = ");
}
