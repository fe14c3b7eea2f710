/* The kernel IR's modules, functions, blocks and builders, and the instructions that end blocks,
 * join values and call.
 *
 * Out of memory is not reported by each call: the module's status is set, and the builder returns
 * preallocated dummies (kir_module.no_value ...), so that emitters need no checks; lowering then
 * fails. Instructions are doubly linked lists in blocks, so that passes insert and remove in
 * constant time. kir_build is the one place where instructions are made: it folds constants
 * (kir_fold.c), asks the target for an expansion, and appends what remains. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "jit/kir/kir.h"

const kir_target_t kir_generic_target = {.folds_conversions = true};

/* Each fallback object refers only to fallback objects. */
static void init_fallbacks(kir_module_t *module) {
  kir_type_t *type = &module->no_type;
  for (int k = 0; k < 8; k++) module->no_params[k] = type;
  *type = (kir_type_t){.module = module, .kind = KIR_TYPE_INT, .bits = 64, .lanes = 1};
  type->element = type;
  type->params = module->no_params;
  module->no_value = (kir_value_t){.type = type, .op = KIR_CONSTANT, .lanes = module->spare};
  module->no_value.function = &module->no_function;
  module->no_block = (kir_block_t){.name = "", .function = &module->no_function};
  module->no_function = (kir_function_t){.module = module, .name = "", .type = type};
  module->no_function.value = &module->no_value;
  module->no_function.first = &module->no_block;
  module->no_builder = (kir_builder_t){.module = module, .block = &module->no_block};
}

/* `name` is not copied. */
hr_status_t kir_module_create(const kir_target_t *target, const char *name,
                              kir_module_t **out_module) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(kir_module_t), &memory));
  kir_module_t *module = memory;
  module->target = target;
  module->name = name;
  hr_arena_init(&module->arena);
  init_fallbacks(module);
  *out_module = module;
  return NULL;
}

/* Frees everything that was built in the module, including an unreported failure. */
void kir_module_destroy(kir_module_t *module) {
  if (!module) return;
  hr_status_release(module->status);
  hr_arena_deinit(&module->arena);
  hr_free(module);
}

/* --- functions and blocks --------------------------------------------------------------------- */

static const char *copy_name(kir_module_t *module, const char *name) {
  size_t size = strlen(name) + 1;
  char *copy = kir_alloc(module, size);
  if (!module->status) memcpy(copy, name, size);
  return copy;
}

/* Functions keep the order of creation, in which they are compiled. */
static void append_function(kir_module_t *module, kir_function_t *function) {
  if (module->functions)
    module->last_function->next = function;
  else
    module->functions = function;
  module->last_function = function;
  function->index = module->function_count++;
}

/* The parameters' types are those of the function type; value 0 is the function itself. */
kir_value_t *kir_add_function(kir_module_t *module, const char *name, kir_type_t *type) {
  kir_function_t *function = kir_alloc(module, sizeof *function);
  kir_value_t *value = kir_alloc(module, sizeof *value);
  unsigned count = (unsigned)type->count;
  kir_value_t *params = kir_alloc(module, count * sizeof *params);
  const char *copy = copy_name(module, name);
  if (module->status) return &module->no_value;
  *value = (kir_value_t){.type = type, .op = KIR_FUNCTION};
  *function = (kir_function_t){.module = module,
                               .name = copy,
                               .type = type,
                               .value = value,
                               .params = params,
                               .param_count = (int)count,
                               .value_count = count + 1};
  value->function = function;
  for (unsigned k = 0; k < count; k++)
    params[k] = (kir_value_t){.type = type->params[k], .op = KIR_PARAM, .id = k + 1};
  append_function(module, function);
  return value;
}

kir_value_t *kir_find_function(const kir_module_t *module, const char *name) {
  for (kir_function_t *function = module->functions; function; function = function->next)
    if (!function->intrinsic && strcmp(function->name, name) == 0) return function->value;
  return NULL;
}

void kir_add_attributes(kir_value_t *function, unsigned attributes) {
  function->function->attributes |= attributes;
}

kir_value_t *kir_param(const kir_value_t *function, unsigned k) {
  kir_module_t *module = function->function->module;
  return module->status ? &module->no_value : &function->function->params[k];
}

/* A name is for dumps only. */
kir_block_t *kir_append_block(kir_value_t *function, const char *name) {
  kir_function_t *in = function->function;
  kir_module_t *module = function->type->module;
  kir_block_t *block = kir_alloc(module, sizeof *block);
  if (module->status) return &module->no_block;
  block->name = *name ? copy_name(module, name) : "";
  block->function = in;
  if (in->first)
    in->last->next = block;
  else
    in->first = block;
  in->last = block;
  return block;
}

kir_block_t *kir_entry_block(const kir_value_t *function) { return function->function->first; }
kir_value_t *kir_block_function(const kir_block_t *block) { return block->function->value; }

kir_value_t *kir_terminator(const kir_block_t *block) {
  kir_value_t *last = block->last;
  return last && kir_op_flags[last->op] & KIR_TERMINATOR ? last : NULL;
}

/* --- builders --------------------------------------------------------------------------------- */

kir_builder_t *kir_builder_create(kir_module_t *module) {
  kir_builder_t *b = kir_alloc(module, sizeof *b);
  if (module->status) return &module->no_builder;
  b->module = module;
  return b;
}

void kir_position(kir_builder_t *b, kir_block_t *block, kir_value_t *insert_before) {
  b->block = block;
  b->insert_before = insert_before;
}

void kir_position_at_end(kir_builder_t *b, kir_block_t *block) { kir_position(b, block, NULL); }

void kir_position_before(kir_builder_t *b, kir_value_t *instr) {
  if (!b->module->status) kir_position(b, instr->block, instr);
}

/* Inserts before `insert_before`, or at the end of the block if that is NULL. */
static void link_in(kir_builder_t *b, kir_value_t *instr) {
  kir_block_t *block = b->block;
  instr->id = block->function->value_count++;
  instr->block = block;
  instr->next = b->insert_before;
  instr->prev = instr->next ? instr->next->prev : block->last;
  *(instr->prev ? &instr->prev->next : &block->first) = instr;
  *(instr->next ? &instr->next->prev : &block->last) = instr;
}

/* The instruction as it is, without folding or expansion; args are copied. */
kir_value_t *kir_append(kir_builder_t *b, kir_op_t op, kir_type_t *type, kir_value_t *const *args,
                        int count) {
  kir_value_t *instr = kir_alloc(b->module, sizeof *instr);
  kir_value_t **copy = kir_alloc(b->module, (size_t)count * sizeof *copy);
  if (b->module->status) return &b->module->no_value;
  if (count) memcpy(copy, args, (size_t)count * sizeof *copy);
  *instr = (kir_value_t){.type = type, .op = op, .args = copy, .arg_count = count};
  link_in(b, instr);
  return instr;
}

/* Constants move to the right of commutative integer ops, so that equal expressions look equal. */
kir_value_t *kir_build(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                       kir_value_t *const *args, int count) {
  const kir_target_t *target = b->module->target;
  kir_value_t *folded = kir_fold(op, type, detail, args, count, target);
  if (folded) return folded;
  if (target->simplifies && kir_op_flags[op] & KIR_COMMUTES && kir_is_constant(args[0]) &&
      !kir_is_constant(args[1]) && !kir_is_float(type))
    return kir_build(b, op, type, detail, (kir_value_t *[]){args[1], args[0]}, 2);
  kir_value_t *instr = kir_append(b, op, type, args, count);
  if (!kir_is_constant(instr)) instr->detail = detail;
  return instr;
}

/* The target may replace an op that it has no instruction for by several others. */
kir_value_t *kir_expand_or_build(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                                 kir_value_t *const *args, int count) {
  const kir_target_t *target = b->module->target;
  if (target->expand) {
    kir_value_t *expanded = target->expand(b, op, type, detail, args, count);
    if (expanded) return expanded;
  }
  return kir_build(b, op, type, detail, args, count);
}

/* --- ends of blocks, and phis ----------------------------------------------------------------- */

/* blocks[1] is NULL for a jump without a condition. */
static kir_value_t *build_branch(kir_builder_t *b, kir_op_t op, kir_value_t *condition,
                                 kir_block_t *then, kir_block_t *otherwise) {
  kir_value_t *branch = kir_append(b, op, kir_void_type(b->module), &condition, condition ? 1 : 0);
  kir_block_t **blocks = kir_alloc(b->module, 2 * sizeof *blocks);
  if (b->module->status) return branch;
  blocks[0] = then;
  blocks[1] = otherwise;
  branch->blocks = blocks;
  return branch;
}

kir_value_t *kir_br(kir_builder_t *b, kir_block_t *to) {
  return build_branch(b, KIR_BR, NULL, to, NULL);
}

kir_value_t *kir_cond_br(kir_builder_t *b, kir_value_t *condition, kir_block_t *then,
                         kir_block_t *otherwise) {
  return build_branch(b, KIR_CONDBR, condition, then, otherwise);
}

kir_value_t *kir_ret(kir_builder_t *b, kir_value_t *value) {
  return kir_append(b, KIR_RET, kir_void_type(b->module), &value, 1);
}

kir_value_t *kir_ret_void(kir_builder_t *b) {
  return kir_append(b, KIR_RET, kir_void_type(b->module), NULL, 0);
}

kir_value_t *kir_phi(kir_builder_t *b, kir_type_t *type) {
  return kir_append(b, KIR_PHI, type, NULL, 0);
}

/* Appends pairs (value, predecessor) to a phi; the lists are copied each time. */
void kir_add_incoming(kir_value_t *phi, kir_value_t *const *values, kir_block_t *const *blocks,
                      unsigned count) {
  kir_module_t *module = phi->type->module;
  size_t known = (size_t)phi->arg_count, all = known + count;
  if (module->status) return;
  kir_value_t **args = kir_alloc(module, all * sizeof *args);
  kir_block_t **from = kir_alloc(module, all * sizeof *from);
  if (module->status || !count) return;
  if (known) memcpy(args, phi->args, known * sizeof *args);
  if (known) memcpy(from, phi->blocks, known * sizeof *from);
  memcpy(args + known, values, count * sizeof *args);
  memcpy(from + known, blocks, count * sizeof *from);
  phi->args = args;
  phi->blocks = from;
  phi->arg_count = (int)all;
}

/* --- calls ------------------------------------------------------------------------------------ */

#define CALL_ARGUMENTS_MAX 6

/* The callee is the last argument. */
kir_value_t *kir_call(kir_builder_t *b, kir_type_t *type, kir_value_t *callee,
                      kir_value_t *const *args, unsigned count) {
  kir_value_t *all[CALL_ARGUMENTS_MAX + 1];
  hr_assert(count <= CALL_ARGUMENTS_MAX);
  for (unsigned k = 0; k < count; k++) all[k] = args[k];
  all[count] = callee;
  kir_value_t *call = kir_append(b, KIR_CALL, type->element, all, (int)count + 1);
  if (!kir_is_constant(call)) call->memory_type = type;
  return call;
}

/* Finds the types that are part of an intrinsic's name. */
static int overloads_of(kir_op_t op, kir_type_t *type, kir_value_t *const *args,
                        kir_type_t *overloads[KIR_OVERLOADS_MAX]) {
  int count = 1;
  overloads[0] = type;
  switch (op) {
    case KIR_MASKED_LOAD:
    case KIR_GATHER:
      overloads[1] = args[0]->type;
      return 2;
    case KIR_MASKED_STORE:
    case KIR_SCATTER:
      count = 2;
      break;
    case KIR_MEMMOVE:
      count = 3;
      break;
    case KIR_PREFETCH:
      break;
    default:
      return op >= KIR_RANGE_PS && op <= KIR_RSQRT14_PD ? 0 : 1;
  }
  for (int k = 0; k < count; k++) overloads[k] = args[k]->type;
  return count;
}

/* The intrinsic's declaration, made at its first use. NULL: no memory. */
static kir_function_t *declaration_of(kir_module_t *module, kir_op_t op, kir_type_t *type,
                                      kir_value_t *const *args) {
  kir_type_t *overloads[KIR_OVERLOADS_MAX] = {0};
  int count = overloads_of(op, type, args, overloads);
  for (kir_function_t *known = module->intrinsics[op]; known; known = known->next_overload)
    if (memcmp(known->overloads, overloads, sizeof overloads) == 0) return known;
  kir_function_t *made = kir_alloc(module, sizeof *made);
  if (module->status) return NULL;
  *made = (kir_function_t){.module = module,
                           .name = kir_op_names[op],
                           .intrinsic = op,
                           .overload_count = count,
                           .next_overload = module->intrinsics[op]};
  memcpy(made->overloads, overloads, sizeof overloads);
  module->intrinsics[op] = made;
  append_function(module, made);
  return made;
}

/* `type` is that of the operands; stores have no result, reductions a scalar one. */
kir_value_t *kir_intrinsic(kir_builder_t *b, kir_op_t op, kir_type_t *type,
                           kir_value_t *const *args, int count) {
  kir_type_t *result = type;
  if (kir_op_flags[op] & KIR_NO_RESULT) result = kir_void_type(b->module);
  if (kir_op_flags[op] & KIR_SCALAR_RESULT) result = type->element;
  kir_value_t *instr = kir_expand_or_build(b, op, result, 0, args, count);
  if (instr->op == op) instr->function = declaration_of(b->module, op, type, args);
  return instr;
}
