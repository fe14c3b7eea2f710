/* Text of the kernel IR, in the syntax of LLVM's IR as far as both have the same operations, for
 * `--dump` and tests. Values are named %id, blocks by their names or numbers; floats are printed
 * by their bits where decimal digits would not be exact. It cannot be read back. */
#include "jit/kir/kir_print.h"

#include <inttypes.h>
#include <string.h>

static const char *const icmp_names[] = {
#define KIR_ICMP(id, name) name,
#include "jit/kir/kir_ops.def"
};

static const char *const fcmp_names[] = {
#define KIR_FCMP(id, name) name,
#include "jit/kir/kir_ops.def"
};

/* A function type is printed by its result alone. */
static void print_type(hr_strbuf_t *text, const kir_type_t *type) {
  switch (type->kind) {
    case KIR_TYPE_VOID:
      hr_strbuf_add_str(text, "void");
      return;
    case KIR_TYPE_INT:
      hr_strbuf_printf(text, "i%u", type->bits);
      return;
    case KIR_TYPE_HALF:
      hr_strbuf_add_str(text, "half");
      return;
    case KIR_TYPE_FLOAT:
      hr_strbuf_add_str(text, "float");
      return;
    case KIR_TYPE_DOUBLE:
      hr_strbuf_add_str(text, "double");
      return;
    case KIR_TYPE_POINTER:
      hr_strbuf_add_str(text, "ptr");
      return;
    case KIR_TYPE_VECTOR:
      hr_strbuf_printf(text, "<%u x ", type->lanes);
      break;
    case KIR_TYPE_ARRAY:
      hr_strbuf_printf(text, "[%" PRIu64 " x ", type->count);
      break;
    default:
      hr_strbuf_add_str(text, "fn ");
      break;
  }
  print_type(text, type->element);
  if (type->kind == KIR_TYPE_VECTOR) hr_strbuf_add_char(text, '>');
  if (type->kind == KIR_TYPE_ARRAY) hr_strbuf_add_char(text, ']');
}

/* --- operands --------------------------------------------------------------------------------- */

static void print_lane(hr_strbuf_t *text, const kir_value_t *value, unsigned i) {
  const kir_type_t *type = value->type;
  bool is_poison = value->is_poison || (i < 64 && value->poison_lanes >> i & 1);
  if (is_poison)
    hr_strbuf_add_str(text, "poison");
  else if (kir_is_float(type))
    hr_strbuf_printf(text, "%a", kir_decode_float(value->lanes[i], type->bits));
  else
    hr_strbuf_printf(text, "%" PRId64, kir_sign_extend(value->lanes[i], type->bits));
}

static bool is_uniform(const kir_value_t *value) {
  return kir_is_splat(value) && (value->is_poison || !value->poison_lanes);
}

static void print_constant(hr_strbuf_t *text, const kir_value_t *value) {
  unsigned lanes = is_uniform(value) ? 1 : value->type->lanes;
  if (lanes > 1) hr_strbuf_add_char(text, '<');
  for (unsigned i = 0; i < lanes; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    print_lane(text, value, i);
  }
  if (lanes > 1) hr_strbuf_add_char(text, '>');
}

static void print_value(hr_strbuf_t *text, const kir_value_t *value) {
  if (kir_is_constant(value))
    print_constant(text, value);
  else if (value->op == KIR_FUNCTION)
    hr_strbuf_printf(text, "@%s", value->function->name);
  else
    hr_strbuf_printf(text, "%%%u", value->id);
}

static void print_operand(hr_strbuf_t *text, const kir_value_t *value) {
  if (value->op != KIR_FUNCTION) {
    print_type(text, value->type);
    hr_strbuf_add_char(text, ' ');
  }
  print_value(text, value);
}

/* --- instructions ----------------------------------------------------------------------------- */

/* Position in the function, as print_function counts; linear, but only for dumps. */
static int number_of(const kir_block_t *block) {
  int number = 0;
  for (const kir_block_t *b = block->function->first; b != block; b = b->next) number++;
  return number;
}

static void print_args(hr_strbuf_t *text, const kir_value_t *instr) {
  for (int k = 0; k < instr->arg_count; k++) {
    hr_strbuf_add_str(text, k ? ", " : " ");
    print_operand(text, instr->args[k]);
    if (instr->op == KIR_PHI) hr_strbuf_printf(text, " from bb%d", number_of(instr->blocks[k]));
  }
}

/* A conditional branch has two, a branch one, other terminators none. */
static void print_successors(hr_strbuf_t *text, const kir_value_t *branch) {
  int count = branch->op == KIR_CONDBR ? 2 : branch->op == KIR_BR;
  for (int k = 0; k < count; k++) {
    hr_strbuf_add_str(text, k || branch->arg_count ? ", " : " ");
    hr_strbuf_printf(text, "bb%d", number_of(branch->blocks[k]));
  }
}

static void print_flags(hr_strbuf_t *text, const kir_value_t *instr) {
  if (instr->has_nsw) hr_strbuf_add_str(text, " nsw");
  if (instr->is_inbounds) hr_strbuf_add_str(text, " inbounds");
  if (instr->op == KIR_ICMP) hr_strbuf_printf(text, " %s", icmp_names[instr->detail]);
  if (instr->op == KIR_FCMP) hr_strbuf_printf(text, " %s", fcmp_names[instr->detail]);
  if (instr->memory_type && instr->op != KIR_CALL) {
    hr_strbuf_add_char(text, ' ');
    print_type(text, instr->memory_type);
    if (instr->arg_count) hr_strbuf_add_char(text, ',');
  }
}

/* %id = type op flags args successors, align n, nontemporal */
static void print_instr(hr_strbuf_t *text, const kir_value_t *instr) {
  hr_strbuf_add_str(text, "  ");
  if (kir_has_result(instr)) {
    hr_strbuf_printf(text, "%%%u = ", instr->id);
    print_type(text, instr->type);
    hr_strbuf_add_char(text, ' ');
  }
  hr_strbuf_add_str(text, kir_op_names[instr->op]);
  print_flags(text, instr);
  print_args(text, instr);
  print_successors(text, instr);
  if (instr->align) hr_strbuf_printf(text, ", align %u", instr->align);
  if (instr->is_nontemporal) hr_strbuf_add_str(text, ", nontemporal");
  hr_strbuf_add_char(text, '\n');
}

/* --- functions -------------------------------------------------------------------------------- */

static void print_block(hr_strbuf_t *text, const kir_block_t *block, int number) {
  hr_strbuf_printf(text, "bb%d:%s%s\n", number, *block->name ? " ; " : "", block->name);
  for (const kir_value_t *instr = block->first; instr; instr = instr->next)
    print_instr(text, instr);
}

/* Declarations have no blocks. */
static void print_function(hr_strbuf_t *text, const kir_function_t *function) {
  int number = 0;
  hr_strbuf_add_str(text, function->first ? "define " : "declare ");
  if (function->attributes & KIR_INTERNAL) hr_strbuf_add_str(text, "internal ");
  print_type(text, function->type->element);
  hr_strbuf_printf(text, " @%s(", function->name);
  for (int k = 0; k < function->param_count; k++) {
    if (k) hr_strbuf_add_str(text, ", ");
    print_operand(text, &function->params[k]);
  }
  hr_strbuf_add_char(text, ')');
  if (function->attributes & KIR_NOUNWIND) hr_strbuf_add_str(text, " nounwind");
  if (function->attributes & KIR_NOINLINE) hr_strbuf_add_str(text, " noinline");
  hr_strbuf_add_str(text, function->first ? " {\n" : "\n");
  for (const kir_block_t *block = function->first; block; block = block->next)
    print_block(text, block, number++);
  if (function->first) hr_strbuf_add_str(text, "}\n");
}

void kir_print(hr_strbuf_t *text, const kir_module_t *module) {
  hr_strbuf_printf(text, "; kernel IR of module %s\n", module->name);
  for (const kir_function_t *function = module->functions; function; function = function->next)
    if (!function->intrinsic) print_function(text, function);
}
