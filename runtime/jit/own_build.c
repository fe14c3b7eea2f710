/* LLVM's functions that write a module, on own code. */
#include <stdlib.h>
#include <string.h>

#include "jit/own_build.h"

/* --- contexts and modules: a module is its context --------------------------------------------------------------- */

static LLVMContextRef context_create(void) {
  own_context_t *context = calloc(1, sizeof *context);
  hr_assert(context != NULL);
  hr_arena_init(&context->arena);
  return (LLVMContextRef)context;
}

static void context_dispose(LLVMContextRef c) {
  own_context_t *context = CONTEXT(c);
  hr_status_release(context->status);
  hr_arena_deinit(&context->arena);
  free(context);
}

static LLVMModuleRef module_create(const char *name, LLVMContextRef context) {
  (void)name;
  return (LLVMModuleRef)context;
}

static void module_dispose(LLVMModuleRef module) { (void)module; }

/* --- types ------------------------------------------------------------------------------------------------------- */

static LLVMTypeRef scalar(LLVMContextRef context, LLVMTypeKind kind, unsigned bits) {
  return (LLVMTypeRef)own_type_of(CONTEXT(context), kind, bits);
}

static LLVMTypeRef type_void(LLVMContextRef context) { return scalar(context, LLVMVoidTypeKind, 0); }
static LLVMTypeRef type_i1(LLVMContextRef context) { return scalar(context, LLVMIntegerTypeKind, 1); }
static LLVMTypeRef type_i8(LLVMContextRef context) { return scalar(context, LLVMIntegerTypeKind, 8); }
static LLVMTypeRef type_i32(LLVMContextRef context) { return scalar(context, LLVMIntegerTypeKind, 32); }
static LLVMTypeRef type_i64(LLVMContextRef context) { return scalar(context, LLVMIntegerTypeKind, 64); }
static LLVMTypeRef type_half(LLVMContextRef context) { return scalar(context, LLVMHalfTypeKind, 16); }
static LLVMTypeRef type_float(LLVMContextRef context) { return scalar(context, LLVMFloatTypeKind, 32); }
static LLVMTypeRef type_double(LLVMContextRef context) { return scalar(context, LLVMDoubleTypeKind, 64); }

static LLVMTypeRef type_integer(LLVMContextRef context, unsigned bits) {
  return scalar(context, LLVMIntegerTypeKind, bits);
}

static LLVMTypeRef type_pointer(LLVMContextRef context, unsigned space) {
  (void)space;
  return scalar(context, LLVMPointerTypeKind, 64);
}

static LLVMTypeRef type_vector(LLVMTypeRef element, unsigned count) {
  return (LLVMTypeRef)own_vector_of(TYPE(element), count);
}

static LLVMTypeRef type_array(LLVMTypeRef element, unsigned count) {
  own_type_t *type = own_alloc(TYPE(element)->context, sizeof *type);
  *type = (own_type_t){.context = TYPE(element)->context, .kind = LLVMArrayTypeKind, .bits = TYPE(element)->bits,
                       .lanes = 1, .count = count, .element = TYPE(element)};
  return (LLVMTypeRef)type;
}

static LLVMTypeRef type_function(LLVMTypeRef result, LLVMTypeRef *params, unsigned count, LLVMBool is_open) {
  own_type_t *type = own_alloc(TYPE(result)->context, sizeof *type);
  (void)is_open;
  *type = (own_type_t){.context = TYPE(result)->context, .kind = LLVMFunctionTypeKind, .lanes = 1, .count = count,
                       .element = TYPE(result)};
  type->params = own_alloc(type->context, count * sizeof *type->params);
  for (unsigned k = 0; k < count && !type->context->status; k++) type->params[k] = TYPE(params[k]);
  return (LLVMTypeRef)type;
}

static LLVMTypeRef type_of(LLVMValueRef value) { return (LLVMTypeRef)VALUE(value)->type; }
static LLVMTypeKind type_kind(LLVMTypeRef type) { return TYPE(type)->kind; }
static LLVMContextRef type_context(LLVMTypeRef type) { return (LLVMContextRef)TYPE(type)->context; }
static LLVMTypeRef type_element(LLVMTypeRef type) { return (LLVMTypeRef)TYPE(type)->element; }
static unsigned type_lanes(LLVMTypeRef type) { return TYPE(type)->lanes; }
static unsigned type_bits(LLVMTypeRef type) { return TYPE(type)->bits; }

/* --- constants --------------------------------------------------------------------------------------------------- */

static LLVMValueRef const_int(LLVMTypeRef type, unsigned long long value, LLVMBool is_signed) {
  (void)is_signed;
  return (LLVMValueRef)own_constant(TYPE(type), (uint64_t[]){value}, false);
}

static LLVMValueRef const_real(LLVMTypeRef type, double value) {
  uint64_t bits = 0;
  float narrow = (float)value;
  _Float16 half = (_Float16)value;
  if (TYPE(type)->bits == 64) memcpy(&bits, &value, 8);
  if (TYPE(type)->bits == 32) memcpy(&bits, &narrow, 4);
  if (TYPE(type)->bits == 16) memcpy(&bits, &half, 2);
  return (LLVMValueRef)own_constant(TYPE(type), &bits, false);
}

static LLVMValueRef const_vector(LLVMValueRef *elements, unsigned count) {
  uint64_t lanes[1024];
  bool is_poison = true;
  hr_assert(count <= 1024);
  for (unsigned i = 0; i < count; i++)
    lanes[i] = VALUE(elements[i])->lanes[0], is_poison &= VALUE(elements[i])->is_poison;
  return (LLVMValueRef)own_constant(own_vector_of(VALUE(elements[0])->type, count), lanes, is_poison);
}

static LLVMValueRef const_null(LLVMTypeRef type) { return (LLVMValueRef)own_constant_of_all(TYPE(type), 0); }
static LLVMValueRef const_ones(LLVMTypeRef type) { return (LLVMValueRef)own_constant_of_all(TYPE(type), ~0ull); }

static LLVMValueRef const_poison(LLVMTypeRef type) {
  uint64_t zeros[1024] = {0};
  return (LLVMValueRef)own_constant(TYPE(type), zeros, true);
}

/* Between types whose lanes are as many and as wide. */
static LLVMValueRef const_cast(LLVMValueRef value, LLVMTypeRef type) {
  if (VALUE(value)->type->lanes != TYPE(type)->lanes) TYPE(type)->context->lacks = "cast of a constant";
  return (LLVMValueRef)own_constant(TYPE(type), VALUE(value)->lanes, false);
}

static LLVMBool is_constant(LLVMValueRef value) { return own_is_constant(VALUE(value)); }

static LLVMBool is_null(LLVMValueRef value) {
  return own_is_constant(VALUE(value)) && own_is_splat(VALUE(value)) && VALUE(value)->lanes[0] == 0;
}

static LLVMValueRef const_lane(LLVMValueRef value, unsigned i) {
  const own_value_t *all = VALUE(value);
  if (!own_is_constant(all) || i >= all->type->lanes || !all->type->element) return NULL;
  return (LLVMValueRef)own_constant(all->type->element, &all->lanes[i], false);
}

static double const_as_double(LLVMValueRef value, LLVMBool *out_loses) {
  double wide;
  float narrow;
  *out_loses = false;
  memcpy(&wide, VALUE(value)->lanes, sizeof wide);
  memcpy(&narrow, VALUE(value)->lanes, sizeof narrow);
  return VALUE(value)->type->bits == 32 ? narrow : wide;
}

static long long const_as_signed(LLVMValueRef value) {
  return own_signed(VALUE(value)->lanes[0], VALUE(value)->type->bits);
}

static unsigned long long const_as_unsigned(LLVMValueRef value) { return VALUE(value)->lanes[0]; }

/* --- functions and blocks ---------------------------------------------------------------------------------------- */

static LLVMValueRef function_add(LLVMModuleRef module, const char *name, LLVMTypeRef type) {
  own_context_t *context = CONTEXT(module);
  own_function_t *function = own_alloc(context, sizeof *function);
  own_value_t *value = own_alloc(context, sizeof *value);
  char *copy = own_alloc(context, strlen(name) + 1);
  int count = (int)TYPE(type)->count;
  own_value_t *params = own_alloc(context, (size_t)count * sizeof *params);
  if (context->status) return (LLVMValueRef)value;
  strcpy(copy, name);
  *function = (own_function_t){.context = context, .name = copy, .type = TYPE(type), .value = value, .params = params,
                               .param_count = count};
  *value = (own_value_t){.type = TYPE(type), .op = OWN_FUNCTION, .function = function};
  for (int k = 0; k < count; k++) params[k] = (own_value_t){.type = TYPE(type)->params[k], .op = OWN_PARAM};
  *(context->functions ? &context->last_function->next : &context->functions) = function;
  context->last_function = function;
  return (LLVMValueRef)value;
}

static LLVMValueRef function_named(LLVMModuleRef module, const char *name) {
  for (own_function_t *function = CONTEXT(module)->functions; function; function = function->next)
    if (strcmp(function->name, name) == 0) return (LLVMValueRef)function->value;
  return NULL;
}

static LLVMValueRef function_param(LLVMValueRef function, unsigned k) {
  own_value_t *value = VALUE(function);
  return (LLVMValueRef)(value->function ? &value->function->params[k] : own_constant_of_all(value->type->params[k], 0));
}

static LLVMBasicBlockRef block_append(LLVMContextRef context, LLVMValueRef of, const char *name) {
  own_function_t *function = VALUE(of)->function;
  own_block_t *block = own_alloc(CONTEXT(context), sizeof *block);
  (void)name;
  if (!function || CONTEXT(context)->status) return (LLVMBasicBlockRef)block;
  block->function = function;
  *(function->first ? &function->last->next : &function->first) = block;
  function->last = block;
  return (LLVMBasicBlockRef)block;
}

static LLVMBasicBlockRef function_entry(LLVMValueRef function) {
  return (LLVMBasicBlockRef)VALUE(function)->function->first;
}

static LLVMBasicBlockRef instr_block(LLVMValueRef value) { return (LLVMBasicBlockRef)VALUE(value)->block; }
static LLVMValueRef block_function(LLVMBasicBlockRef block) { return (LLVMValueRef)BLOCK(block)->function->value; }
static LLVMValueRef block_first(LLVMBasicBlockRef block) { return (LLVMValueRef)BLOCK(block)->first; }

static LLVMValueRef block_terminator(LLVMBasicBlockRef block) {
  own_value_t *last = BLOCK(block)->last;
  return (LLVMValueRef)(last && own_op_flags[last->op] & OWN_ENDS ? last : NULL);
}

/* --- what says more than own code needs -------------------------------------------------------------------------- */

static void set_linkage(LLVMValueRef value, LLVMLinkage linkage) { (void)value, (void)linkage; }
static void set_alignment(LLVMValueRef value, unsigned align) { VALUE(value)->align = align; }

static unsigned attribute_kind(const char *name, size_t size) {
  (void)name, (void)size;
  return 1;
}

static LLVMAttributeRef attribute(LLVMContextRef context, unsigned kind, uint64_t value) {
  (void)context, (void)kind, (void)value;
  return NULL;
}

static void add_attribute(LLVMValueRef function, LLVMAttributeIndex index, LLVMAttributeRef a) {
  (void)function, (void)index, (void)a;
}

static unsigned metadata_kind(LLVMContextRef context, const char *name, unsigned size) {
  (void)context, (void)size;
  return strcmp(name, "nontemporal") == 0;
}

static LLVMMetadataRef metadata_node(LLVMContextRef context, LLVMMetadataRef *parts, size_t count) {
  (void)context, (void)parts, (void)count;
  return NULL;
}

static LLVMMetadataRef metadata_of(LLVMValueRef value) { return (LLVMMetadataRef)value; }

static LLVMValueRef metadata_value(LLVMContextRef context, LLVMMetadataRef metadata) {
  (void)context, (void)metadata;
  return NULL;
}

static void set_metadata(LLVMValueRef value, unsigned kind, LLVMValueRef node) {
  (void)node;
  if (kind) VALUE(value)->streams = true;
}

/* --- the builder ------------------------------------------------------------------------------------------------- */

static LLVMBuilderRef builder_create(LLVMContextRef context) {
  own_builder_t *builder = own_alloc(CONTEXT(context), sizeof *builder);
  builder->context = CONTEXT(context);
  return (LLVMBuilderRef)builder;
}

static void builder_dispose(LLVMBuilderRef builder) { (void)builder; }

static void position(LLVMBuilderRef builder, LLVMBasicBlockRef block, LLVMValueRef before) {
  BUILDER(builder)->block = BLOCK(block), BUILDER(builder)->before = VALUE(before);
}

static void position_at_end(LLVMBuilderRef builder, LLVMBasicBlockRef block) { position(builder, block, NULL); }

static void position_before(LLVMBuilderRef builder, LLVMValueRef instr) {
  position(builder, (LLVMBasicBlockRef)VALUE(instr)->block, instr);
}

static LLVMBasicBlockRef insert_block(LLVMBuilderRef builder) { return (LLVMBasicBlockRef)BUILDER(builder)->block; }

static void link_in(own_builder_t *b, own_value_t *instr) {
  own_block_t *block = b->block;
  instr->block = block, instr->after = b->before;
  instr->before = b->before ? b->before->before : block->last;
  *(instr->before ? &instr->before->after : &block->first) = instr;
  *(instr->after ? &instr->after->before : &block->last) = instr;
}

own_value_t *own_append(own_builder_t *b, own_op_t op, own_type_t *type, own_value_t *const *args, int count) {
  own_value_t *instr = own_alloc(b->context, sizeof *instr);
  own_value_t **kept = own_alloc(b->context, (size_t)count * sizeof *kept);
  if (b->context->status) {
    uint64_t zeros[1024] = {0};
    return own_constant(type, zeros, true);
  }
  if (count) memcpy(kept, args, (size_t)count * sizeof *kept);
  *instr = (own_value_t){.type = type, .op = op, .args = kept, .arg_count = count};
  link_in(b, instr);
  return instr;
}

own_value_t *own_build(LLVMBuilderRef builder, own_op_t op, own_type_t *type, int predicate, own_value_t *const *args,
                       int count) {
  own_value_t *folded = own_fold(op, type, predicate, args, count);
  if (folded) return folded;
  if (own_op_flags[op] & OWN_COMMUTES && own_is_constant(args[0]) && !own_is_constant(args[1]) &&
      !own_is_float(type))
    return own_build(builder, op, type, predicate, (own_value_t *[]){args[1], args[0]}, 2);
  own_value_t *made = own_append(BUILDER(builder), op, type, args, count);
  made->predicate = predicate;
  return made;
}

static own_type_t *void_of(LLVMBuilderRef builder) {
  return own_type_of(BUILDER(builder)->context, LLVMVoidTypeKind, 0);
}

/* --- ends of blocks, and what meets ------------------------------------------------------------------------------ */

static LLVMValueRef build_branch(LLVMBuilderRef b, own_op_t op, own_value_t *condition, own_block_t *to,
                                 own_block_t *otherwise) {
  own_value_t *made = own_append(BUILDER(b), op, void_of(b), &condition, condition ? 1 : 0);
  own_block_t **blocks = own_alloc(BUILDER(b)->context, 2 * sizeof *blocks);
  if (BUILDER(b)->context->status) return (LLVMValueRef)made;
  blocks[0] = to, blocks[1] = otherwise, made->blocks = blocks;
  return (LLVMValueRef)made;
}

static LLVMValueRef build_br(LLVMBuilderRef b, LLVMBasicBlockRef to) {
  return build_branch(b, OWN_BR, NULL, BLOCK(to), NULL);
}

static LLVMValueRef build_condbr(LLVMBuilderRef b, LLVMValueRef condition, LLVMBasicBlockRef to,
                                 LLVMBasicBlockRef otherwise) {
  return build_branch(b, OWN_CONDBR, VALUE(condition), BLOCK(to), BLOCK(otherwise));
}

static LLVMValueRef build_ret(LLVMBuilderRef b, LLVMValueRef value) {
  return (LLVMValueRef)own_append(BUILDER(b), OWN_RET, void_of(b), (own_value_t **)&value, 1);
}

static LLVMValueRef build_ret_void(LLVMBuilderRef b) {
  return (LLVMValueRef)own_append(BUILDER(b), OWN_RET, void_of(b), NULL, 0);
}

static LLVMValueRef build_phi(LLVMBuilderRef b, LLVMTypeRef type, const char *name) {
  (void)name;
  return (LLVMValueRef)own_append(BUILDER(b), OWN_PHI, TYPE(type), NULL, 0);
}

static void add_incoming(LLVMValueRef phi, LLVMValueRef *values, LLVMBasicBlockRef *blocks, unsigned count) {
  own_value_t *to = VALUE(phi);
  own_context_t *context = to->type->context;
  size_t all = (size_t)to->arg_count + count;
  own_value_t **args = own_alloc(context, all * sizeof *args);
  own_block_t **from = own_alloc(context, all * sizeof *from);
  if (context->status) return;
  for (int k = 0; k < to->arg_count; k++) args[k] = to->args[k], from[k] = to->blocks[k];
  for (unsigned k = 0; k < count; k++)
    args[to->arg_count + (int)k] = VALUE(values[k]), from[to->arg_count + (int)k] = BLOCK(blocks[k]);
  to->args = args, to->blocks = from, to->arg_count = (int)all;
}

/* --- what shuffles are ------------------------------------------------------------------------------------------- */

static LLVMValueRef as_shuffle(LLVMValueRef value) { return VALUE(value)->op == OWN_SHUFFLE ? value : NULL; }
static LLVMValueRef as_insert(LLVMValueRef value) { return VALUE(value)->op == OWN_INSERT ? value : NULL; }
static unsigned mask_count(LLVMValueRef shuffle) { return VALUE(shuffle)->type->lanes; }
static int mask_value(LLVMValueRef shuffle, unsigned i) { return (int)VALUE(shuffle)->lanes[i]; }
static LLVMValueRef operand(LLVMValueRef value, unsigned k) { return (LLVMValueRef)VALUE(value)->args[k]; }

/* --- calls ------------------------------------------------------------------------------------------------------- */

static const char *const intrinsics[OWN_OP_COUNT] = {
#define OWN_OP(id, intrinsic, flags) intrinsic,
#include "jit/own_ops.def"
#undef OWN_OP
};

static unsigned intrinsic_id(const char *name, size_t size) {
  for (unsigned op = 0; op < OWN_OP_COUNT; op++)
    if (strlen(intrinsics[op]) == size && size && memcmp(intrinsics[op], name, size) == 0) return op;
  return OWN_OTHER;
}

static own_type_t *result_of(own_context_t *context, own_op_t op, LLVMTypeRef *overloads, size_t count) {
  const char *name = intrinsics[op];
  bool is_f64 = strstr(name, ".pd.") != NULL;
  if (own_op_flags[op] & OWN_NOTHING) return own_type_of(context, LLVMVoidTypeKind, 0);
  if (own_op_flags[op] & OWN_SCALARS) return TYPE(overloads[0])->element;
  if (count) return TYPE(overloads[0]);
  own_type_t *element = own_type_of(context, is_f64 ? LLVMDoubleTypeKind : LLVMFloatTypeKind, is_f64 ? 64 : 32);
  return own_vector_of(element, 512 / element->bits);
}

static LLVMTypeRef intrinsic_type(LLVMContextRef context, unsigned id, LLVMTypeRef *overloads, size_t count) {
  return type_function((LLVMTypeRef)result_of(CONTEXT(context), (own_op_t)id, overloads, count), NULL, 0, false);
}

static LLVMValueRef intrinsic(LLVMModuleRef module, unsigned id, LLVMTypeRef *overloads, size_t count) {
  own_context_t *context = CONTEXT(module);
  (void)overloads, (void)count;
  if (!context->intrinsics[id]) {
    own_value_t *made = own_alloc(context, sizeof *made);
    *made = (own_value_t){.type = own_type_of(context, LLVMVoidTypeKind, 0), .op = OWN_FUNCTION, .predicate = (int)id};
    if (context->status) return (LLVMValueRef)made;
    context->intrinsics[id] = made;
  }
  return (LLVMValueRef)context->intrinsics[id];
}

#define CALL_MOST 6

static LLVMValueRef memmove_of(own_context_t *context) {
  LLVMContextRef c = (LLVMContextRef)context;
  LLVMTypeRef params[] = {type_pointer(c, 0), type_pointer(c, 0), type_i64(c)};
  LLVMValueRef known = function_named((LLVMModuleRef)context, "memmove");
  return known ? known : function_add((LLVMModuleRef)context, "memmove", type_function(type_void(c), params, 3, false));
}

static LLVMValueRef build_intrinsic(LLVMBuilderRef b, own_op_t op, LLVMTypeRef type, LLVMValueRef *args, int count) {
  switch (op) {
    case OWN_GATHER: return own_build_gather(b, type, args);
    case OWN_SCATTER: return own_build_scatter(b, args);
    case OWN_CTPOP:
    case OWN_CTLZ: return own_build_count(b, op, args[0]);
    case OWN_OTHER: BUILDER(b)->context->lacks = "an intrinsic"; /* fallthrough */
    default: return own_build_refs(b, op, TYPE(type), 0, args, count);
  }
}

static LLVMValueRef build_call(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef function, LLVMValueRef *args,
                               unsigned count, const char *name) {
  const own_value_t *called = VALUE(function);
  bool is_intrinsic = called->op == OWN_FUNCTION && !called->function, moves = called->predicate == OWN_MEMMOVE;
  LLVMTypeRef result = (LLVMTypeRef)TYPE(type)->element;
  (void)name;
  if (is_intrinsic && !moves) return build_intrinsic(b, (own_op_t)called->predicate, result, args, (int)count);
  if (is_intrinsic) function = memmove_of(BUILDER(b)->context), count = 3;
  own_value_t *all[CALL_MOST + 1] = {0};
  if (count > CALL_MOST) BUILDER(b)->context->lacks = "many arguments", count = 0;
  for (unsigned k = 0; k < count; k++) all[k] = VALUE(args[k]);
  all[count] = VALUE(function);
  return (LLVMValueRef)own_append(BUILDER(b), OWN_CALL, TYPE(type)->element, all, (int)count + 1);
}

const llvm_api_t own_api = {
    .ContextCreate = context_create, .ContextDispose = context_dispose, .ModuleCreateWithNameInContext = module_create,
    .DisposeModule = module_dispose,
    .VoidTypeInContext = type_void, .Int1TypeInContext = type_i1, .Int8TypeInContext = type_i8,
    .Int32TypeInContext = type_i32, .Int64TypeInContext = type_i64, .IntTypeInContext = type_integer,
    .HalfTypeInContext = type_half, .FloatTypeInContext = type_float, .DoubleTypeInContext = type_double,
    .PointerTypeInContext = type_pointer, .VectorType = type_vector, .ArrayType = type_array,
    .FunctionType = type_function, .TypeOf = type_of, .GetTypeKind = type_kind, .GetTypeContext = type_context,
    .GetElementType = type_element, .GetVectorSize = type_lanes, .GetIntTypeWidth = type_bits,
    .ConstInt = const_int, .ConstReal = const_real, .ConstVector = const_vector, .ConstNull = const_null,
    .ConstAllOnes = const_ones, .ConstBitCast = const_cast, .GetPoison = const_poison, .IsConstant = is_constant,
    .IsNull = is_null, .GetAggregateElement = const_lane, .ConstRealGetDouble = const_as_double,
    .ConstIntGetSExtValue = const_as_signed, .ConstIntGetZExtValue = const_as_unsigned,
    .AddFunction = function_add, .GetNamedFunction = function_named, .GetParam = function_param,
    .SetLinkage = set_linkage, .SetAlignment = set_alignment, .GetEnumAttributeKindForName = attribute_kind,
    .CreateEnumAttribute = attribute, .AddAttributeAtIndex = add_attribute, .GetMDKindIDInContext = metadata_kind,
    .MDNodeInContext2 = metadata_node, .MetadataAsValue = metadata_value, .ValueAsMetadata = metadata_of,
    .SetMetadata = set_metadata, .LookupIntrinsicID = intrinsic_id, .GetIntrinsicDeclaration = intrinsic,
    .IntrinsicGetType = intrinsic_type,
    .AppendBasicBlockInContext = block_append, .GetEntryBasicBlock = function_entry,
    .GetInstructionParent = instr_block, .GetBasicBlockParent = block_function,
    .GetBasicBlockTerminator = block_terminator, .GetFirstInstruction = block_first,
    .CreateBuilderInContext = builder_create, .DisposeBuilder = builder_dispose, .PositionBuilder = position,
    .PositionBuilderAtEnd = position_at_end, .PositionBuilderBefore = position_before, .GetInsertBlock = insert_block,
    .BuildRet = build_ret, .BuildRetVoid = build_ret_void, .BuildBr = build_br, .BuildCondBr = build_condbr,
    .BuildPhi = build_phi, .AddIncoming = add_incoming, .BuildCall2 = build_call, .BuildSelect = own_build_select,
    .BuildAdd = own_build_add, .BuildNSWAdd = own_build_add, .BuildSub = own_build_sub, .BuildMul = own_build_mul,
    .BuildUDiv = own_build_udiv, .BuildSDiv = own_build_sdiv, .BuildURem = own_build_urem,
    .BuildSRem = own_build_srem, .BuildNeg = own_build_neg, .BuildNot = own_build_not, .BuildAnd = own_build_and,
    .BuildOr = own_build_or, .BuildXor = own_build_xor, .BuildShl = own_build_shl, .BuildLShr = own_build_lshr,
    .BuildAShr = own_build_ashr, .BuildFAdd = own_build_fadd, .BuildFSub = own_build_fsub,
    .BuildFMul = own_build_fmul, .BuildFDiv = own_build_fdiv, .BuildFNeg = own_build_fneg,
    .BuildICmp = own_build_icmp, .BuildFCmp = own_build_fcmp, .BuildTrunc = own_build_trunc,
    .BuildZExt = own_build_zext, .BuildSExt = own_build_sext, .BuildFPTrunc = own_build_fptrunc,
    .BuildFPExt = own_build_fpext, .BuildFPToSI = own_build_fptosi, .BuildFPToUI = own_build_fptoui,
    .BuildSIToFP = own_build_sitofp, .BuildUIToFP = own_build_uitofp, .BuildBitCast = own_build_bitcast,
    .BuildIntCast2 = own_build_int_cast, .BuildAlloca = own_build_alloca, .BuildLoad2 = own_build_load,
    .BuildStore = own_build_store, .BuildGEP2 = own_build_gep, .BuildInBoundsGEP2 = own_build_gep,
    .BuildExtractElement = own_build_extract, .BuildInsertElement = own_build_insert,
    .BuildShuffleVector = own_build_shuffle, .IsAShuffleVectorInst = as_shuffle, .IsAInsertElementInst = as_insert,
    .GetNumMaskElements = mask_count, .GetMaskValue = mask_value, .GetOperand = operand,
};
