/* Lowering of the kernel IR to LLVM IR: one LLVM instruction for each instruction, in one pass.
 *
 * Types, constants and functions are mapped once and memoised by id. Instructions are created in
 * the order in which the emitters built them, at their positions in the blocks, so that LLVM's use
 * lists, and thereby its output, are reproducible. Phis are filled at the end. Alignment,
 * nontemporal metadata, inbounds and nsw are carried over; no fast-math flags are set, since
 * results must equal those of the reference. */
#include "jit/llvm/kir_to_llvm.h"

#include <stddef.h>
#include <string.h>

/* A function in LLVM: its value and, if it is defined, its blocks. */
typedef struct callee {
  LLVMValueRef value;
  LLVMTypeRef type;
} callee_t;

typedef struct lowering {
  kir_module_t *from;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTypeRef *types;      /* by id; NULL: not created yet */
  LLVMValueRef *constants; /* by id; NULL: not created yet */
  callee_t *functions;     /* by index */
  LLVMValueRef streaming;  /* metadata of nontemporal stores; NULL: not created yet */
  unsigned streaming_kind;
  /* state of the current function */
  LLVMBasicBlockRef *blocks; /* by index */
  LLVMValueRef *values;      /* by id */
} lowering_t;

/* Allocates zeroed memory. NULL: out of memory, which the module's status reports. */
static void *allocate(lowering_t *l, size_t count, size_t size_bytes) {
  void *memory = NULL;
  if (!l->from->status)
    l->from->status = hr_arena_zeroed(&l->from->arena, (count + 1) * size_bytes, &memory);
  return memory;
}

/* --- types ------------------------------------------------------------------------------------ */

static LLVMTypeRef type_of(lowering_t *l, const kir_type_t *type);

static LLVMTypeRef function_type(lowering_t *l, const kir_type_t *type) {
  LLVMTypeRef *params = allocate(l, type->count, sizeof *params);
  if (l->from->status) return NULL;
  for (uint64_t k = 0; k < type->count; k++) params[k] = type_of(l, type->params[k]);
  LLVMTypeRef result = type_of(l, type->element);
  return llvm_api.FunctionType(result, params, (unsigned)type->count, false);
}

static LLVMTypeRef make_type(lowering_t *l, const kir_type_t *type) {
  switch (type->kind) {
    case KIR_TYPE_VOID:
      return llvm_api.VoidTypeInContext(l->context);
    case KIR_TYPE_INT:
      return llvm_api.IntTypeInContext(l->context, type->bits);
    case KIR_TYPE_HALF:
      return llvm_api.HalfTypeInContext(l->context);
    case KIR_TYPE_FLOAT:
      return llvm_api.FloatTypeInContext(l->context);
    case KIR_TYPE_DOUBLE:
      return llvm_api.DoubleTypeInContext(l->context);
    case KIR_TYPE_POINTER:
      return llvm_api.PointerTypeInContext(l->context, 0);
    case KIR_TYPE_VECTOR:
      return llvm_api.VectorType(type_of(l, type->element), type->lanes);
    case KIR_TYPE_ARRAY:
      return llvm_api.ArrayType(type_of(l, type->element), (unsigned)type->count);
    default:
      return function_type(l, type);
  }
}

static LLVMTypeRef type_of(lowering_t *l, const kir_type_t *type) {
  if (!l->types[type->id]) l->types[type->id] = make_type(l, type);
  return l->types[type->id];
}

/* --- constants -------------------------------------------------------------------------------- */

/* A float constant from its bits; a NaN keeps its payload. */
static LLVMValueRef make_real(lowering_t *l, const kir_type_t *type, uint64_t bits) {
  double value = kir_decode_float(bits, type->bits);
  if (value == value) return llvm_api.ConstReal(type_of(l, type), value);
  LLVMTypeRef integer = llvm_api.IntTypeInContext(l->context, type->bits);
  return llvm_api.ConstBitCast(llvm_api.ConstInt(integer, bits, false), type_of(l, type));
}

static LLVMValueRef make_lane(lowering_t *l, const kir_type_t *type, uint64_t bits) {
  if (kir_is_float(type)) return make_real(l, type, bits);
  if (type->kind != KIR_TYPE_INT) return llvm_api.ConstNull(type_of(l, type));
  return llvm_api.ConstInt(type_of(l, type), bits, false);
}

/* Equal neighbouring lanes share a constant; lanes of poison are kept. */
static LLVMValueRef make_vector(lowering_t *l, const kir_value_t *value) {
  const kir_type_t *element = value->type->element;
  LLVMValueRef lanes[KIR_LANES_MAX], poison = NULL;
  for (unsigned i = 0; i < value->type->lanes; i++) {
    bool is_poison = i < 64 && value->poison_lanes >> i & 1;
    if (is_poison && !poison) poison = llvm_api.GetPoison(type_of(l, element));
    bool repeats = i && !value->poison_lanes && value->lanes[i] == value->lanes[i - 1];
    if (is_poison)
      lanes[i] = poison;
    else
      lanes[i] = repeats ? lanes[i - 1] : make_lane(l, element, value->lanes[i]);
  }
  return llvm_api.ConstVector(lanes, value->type->lanes);
}

/* Null vectors have a separate form, which LLVM prints as zeroinitializer. */
static LLVMValueRef make_constant(lowering_t *l, const kir_value_t *value) {
  LLVMTypeRef type = type_of(l, value->type);
  if (value->is_poison) return llvm_api.GetPoison(type);
  if (kir_is_null(value)) return llvm_api.ConstNull(type);
  if (kir_is_vector(value->type)) return make_vector(l, value);
  return make_lane(l, value->type, value->lanes[0]);
}

/* Constants are indexed by `detail`. */
static LLVMValueRef value_of(lowering_t *l, const kir_value_t *value) {
  if (value->op == KIR_FUNCTION) return l->functions[value->function->index].value;
  if (!kir_is_constant(value)) return l->values[value->id];
  if (!l->constants[value->detail]) l->constants[value->detail] = make_constant(l, value);
  return l->constants[value->detail];
}

/* --- instructions ----------------------------------------------------------------------------- */

typedef LLVMValueRef (*binary_fn)(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char *);
typedef LLVMValueRef (*cast_fn)(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char *);

/* Offset in llvm_api of LLVM's function for a binary op; 0: not a binary op. */
static const size_t binary_functions[KIR_OP_COUNT] = {
#define LLVM_BINARY(op, function) [KIR_##op] = offsetof(llvm_api_t, function),
#include "jit/llvm/llvm_ops.def"
};
static const size_t cast_functions[KIR_OP_COUNT] = {
#define LLVM_CAST(op, function) [KIR_##op] = offsetof(llvm_api_t, function),
#include "jit/llvm/llvm_ops.def"
};

static const void *function_at(size_t offset) { return (const char *)&llvm_api + offset; }

static const LLVMIntPredicate int_predicates[] = {
#define KIR_ICMP(id, name) [KIR_ICMP_##id] = LLVMInt##id,
#include "jit/kir/kir_ops.def"
};

/* Predicates are named by the outcomes for which they are true, as in LLVM. */
static LLVMRealPredicate fcmp_of(int predicate) {
  static const LLVMRealPredicate predicates[] = {LLVMRealPredicateFalse,
                                                 LLVMRealOEQ,
                                                 LLVMRealOGT,
                                                 LLVMRealOGE,
                                                 LLVMRealOLT,
                                                 LLVMRealOLE,
                                                 LLVMRealONE,
                                                 LLVMRealORD,
                                                 LLVMRealUNO,
                                                 LLVMRealUEQ,
                                                 LLVMRealUGT,
                                                 LLVMRealUGE,
                                                 LLVMRealULT,
                                                 LLVMRealULE,
                                                 LLVMRealUNE,
                                                 LLVMRealPredicateTrue};
  return predicates[predicate];
}

static LLVMValueRef lower_gep(lowering_t *l, const kir_value_t *instr, LLVMValueRef *args) {
  LLVMTypeRef element = type_of(l, instr->memory_type);
  if (instr->is_inbounds)
    return llvm_api.BuildInBoundsGEP2(l->builder, element, args[0], &args[1], 1, "");
  return llvm_api.BuildGEP2(l->builder, element, args[0], &args[1], 1, "");
}

/* Intrinsics are declared functions; the callee is the last argument. */
static LLVMValueRef lower_call(lowering_t *l, const kir_value_t *instr, LLVMValueRef *args) {
  unsigned count = (unsigned)instr->arg_count;
  if (instr->op != KIR_CALL) {
    const callee_t *callee = &l->functions[instr->function->index];
    return llvm_api.BuildCall2(l->builder, callee->type, callee->value, args, count, "");
  }
  LLVMTypeRef type = type_of(l, instr->memory_type);
  return llvm_api.BuildCall2(l->builder, type, args[count - 1], args, count - 1, "");
}

static LLVMValueRef lower_branch(lowering_t *l, const kir_value_t *instr, LLVMValueRef *args) {
  LLVMBasicBlockRef then = l->blocks[instr->blocks[0]->index];
  if (instr->op == KIR_BR) return llvm_api.BuildBr(l->builder, then);
  LLVMBasicBlockRef otherwise = l->blocks[instr->blocks[1]->index];
  return llvm_api.BuildCondBr(l->builder, args[0], then, otherwise);
}

static LLVMValueRef lower_memory(lowering_t *l, const kir_value_t *instr, LLVMValueRef *args) {
  LLVMBuilderRef b = l->builder;
  switch (instr->op) {
    case KIR_ALLOCA:
      return llvm_api.BuildAlloca(b, type_of(l, instr->memory_type), "");
    case KIR_LOAD:
      return llvm_api.BuildLoad2(b, type_of(l, instr->type), args[0], "");
    case KIR_STORE:
      return llvm_api.BuildStore(b, args[0], args[1]);
    case KIR_GEP:
      return lower_gep(l, instr, args);
    default:
      return lower_call(l, instr, args);
  }
}

static LLVMValueRef lower_other(lowering_t *l, const kir_value_t *instr, LLVMValueRef *args) {
  LLVMBuilderRef b = l->builder;
  switch (instr->op) {
    case KIR_FNEG:
      return llvm_api.BuildFNeg(b, args[0], "");
    case KIR_ICMP:
      return llvm_api.BuildICmp(b, int_predicates[instr->detail], args[0], args[1], "");
    case KIR_FCMP:
      return llvm_api.BuildFCmp(b, fcmp_of(instr->detail), args[0], args[1], "");
    case KIR_SELECT:
      return llvm_api.BuildSelect(b, args[0], args[1], args[2], "");
    case KIR_INSERT:
      return llvm_api.BuildInsertElement(b, args[0], args[1], args[2], "");
    case KIR_SHUFFLE:
      return llvm_api.BuildShuffleVector(b, args[0], args[1], args[2], "");
    case KIR_PHI:
      return llvm_api.BuildPhi(b, type_of(l, instr->type), "");
    case KIR_BR:
    case KIR_CONDBR:
      return lower_branch(l, instr, args);
    case KIR_RET:
      return instr->arg_count ? llvm_api.BuildRet(b, args[0]) : llvm_api.BuildRetVoid(b);
    default:
      return lower_memory(l, instr, args);
  }
}

/* LLVM 19 takes a quotient of two lanes that are known to be 0 for 0, not for NaN, and then leaves
 * out a select of 0 for that lane. It does not know the lanes of a frozen divisor. */
static LLVMValueRef divisor_of(lowering_t *l, const kir_value_t *division, LLVMValueRef divisor) {
  bool is_affected = division->type->lanes > 1 && !kir_is_constant(division->args[1]);
  return is_affected ? llvm_api.BuildFreeze(l->builder, divisor, "") : divisor;
}

#define ARGUMENTS_MAX 8

static LLVMValueRef lower_op(lowering_t *l, const kir_value_t *instr) {
  LLVMValueRef args[ARGUMENTS_MAX];
  size_t binary = binary_functions[instr->op], cast = cast_functions[instr->op];
  hr_assert(instr->op == KIR_PHI || instr->arg_count <= ARGUMENTS_MAX);
  for (int k = 0; k < instr->arg_count && instr->op != KIR_PHI; k++)
    args[k] = value_of(l, instr->args[k]);
  if (instr->op == KIR_FDIV) args[1] = divisor_of(l, instr, args[1]);
  if (instr->has_nsw) return llvm_api.BuildNSWAdd(l->builder, args[0], args[1], "");
  if (binary) return (*(const binary_fn *)function_at(binary))(l->builder, args[0], args[1], "");
  if (!cast) return lower_other(l, instr, args);
  LLVMTypeRef type = type_of(l, instr->type);
  return (*(const cast_fn *)function_at(cast))(l->builder, args[0], type, "");
}

/* The metadata !{i32 1}, shared by all nontemporal stores. */
static LLVMValueRef streaming_of(lowering_t *l) {
  if (l->streaming) return l->streaming;
  LLVMValueRef one = llvm_api.ConstInt(llvm_api.IntTypeInContext(l->context, 32), 1, false);
  LLVMMetadataRef number = llvm_api.ValueAsMetadata(one);
  LLVMMetadataRef node = llvm_api.MDNodeInContext2(l->context, &number, 1);
  l->streaming_kind = llvm_api.GetMDKindIDInContext(l->context, "nontemporal", 11);
  l->streaming = llvm_api.MetadataAsValue(l->context, node);
  return l->streaming;
}

static void lower_instr(lowering_t *l, const kir_value_t *instr) {
  LLVMValueRef value = lower_op(l, instr);
  l->values[instr->id] = value;
  if (instr->is_nontemporal) {
    LLVMValueRef node = streaming_of(l);
    llvm_api.SetMetadata(value, l->streaming_kind, node);
  }
  if (instr->align) llvm_api.SetAlignment(value, instr->align);
}

/* --- functions -------------------------------------------------------------------------------- */

/* An instruction and its insertion point; before NULL: the block's end. */
typedef struct insertion {
  const kir_value_t *instr, *before;
} insertion_t;

/* An instruction was inserted before the nearest following instruction with a smaller id. */
static void find_insertions(const kir_block_t *block, insertion_t *by_id,
                            const kir_value_t **stack) {
  size_t count = 0;
  for (const kir_value_t *instr = block->last; instr; instr = instr->prev) {
    while (count && stack[count - 1]->id > instr->id) count--;
    by_id[instr->id] = (insertion_t){instr, count ? stack[count - 1] : NULL};
    stack[count++] = instr;
  }
}

static void lower_at(lowering_t *l, const insertion_t *insertion, LLVMBasicBlockRef *last_block) {
  LLVMBasicBlockRef block = l->blocks[insertion->instr->block->index];
  if (insertion->before)
    llvm_api.PositionBuilderBefore(l->builder, l->values[insertion->before->id]);
  else if (block != *last_block)
    llvm_api.PositionBuilderAtEnd(l->builder, block);
  *last_block = insertion->before ? NULL : block;
  lower_instr(l, insertion->instr);
}

static void fill_phi(lowering_t *l, const kir_value_t *phi) {
  for (int a = 0; a < phi->arg_count; a++) {
    LLVMValueRef value = value_of(l, phi->args[a]);
    llvm_api.AddIncoming(l->values[phi->id], &value, &l->blocks[phi->blocks[a]->index], 1);
  }
}

static void number_blocks(lowering_t *l, const kir_function_t *function, LLVMValueRef value) {
  int count = 0;
  for (kir_block_t *block = function->first; block; block = block->next) block->index = count++;
  l->blocks = allocate(l, (size_t)count, sizeof *l->blocks);
  if (l->from->status) return;
  for (const kir_block_t *block = function->first; block; block = block->next)
    l->blocks[block->index] = llvm_api.AppendBasicBlockInContext(l->context, value, block->name);
}

/* Lowers instructions in the order of their construction, so that LLVM's use lists are the same as
 * if the emitters had called LLVM directly. */
static void lower_body(lowering_t *l, const kir_function_t *function) {
  LLVMValueRef value = l->functions[function->index].value;
  insertion_t *by_id = allocate(l, function->value_count, sizeof *by_id);
  const kir_value_t **stack = allocate(l, function->value_count, sizeof *stack);
  LLVMBasicBlockRef last_block = NULL;
  l->values = allocate(l, function->value_count, sizeof *l->values);
  number_blocks(l, function, value);
  if (l->from->status) return;
  for (int k = 0; k < function->param_count; k++)
    l->values[k + 1] = llvm_api.GetParam(value, (unsigned)k);
  for (const kir_block_t *block = function->first; block; block = block->next)
    find_insertions(block, by_id, stack);
  for (unsigned id = 1; id < function->value_count; id++)
    if (by_id[id].instr) lower_at(l, &by_id[id], &last_block);
  for (unsigned id = 1; id < function->value_count; id++)
    if (by_id[id].instr && by_id[id].instr->op == KIR_PHI) fill_phi(l, by_id[id].instr);
}

static void add_attribute(lowering_t *l, LLVMValueRef function, const char *name) {
  unsigned kind = llvm_api.GetEnumAttributeKindForName(name, strlen(name));
  hr_assert(kind != 0);
  LLVMAttributeRef attribute = llvm_api.CreateEnumAttribute(l->context, kind, 0);
  llvm_api.AddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

static const char *const intrinsic_names[KIR_OP_COUNT] = {
#define LLVM_INTRINSIC(op, name) [KIR_##op] = name,
#include "jit/llvm/llvm_ops.def"
};

static void declare_intrinsic(lowering_t *l, const kir_function_t *function, callee_t *callee) {
  const char *name = intrinsic_names[function->intrinsic];
  unsigned id = llvm_api.LookupIntrinsicID(name, strlen(name));
  LLVMTypeRef overloads[KIR_OVERLOADS_MAX];
  size_t count = (size_t)function->overload_count;
  hr_assert(id != 0);
  for (size_t k = 0; k < count; k++) overloads[k] = type_of(l, function->overloads[k]);
  callee->value = llvm_api.GetIntrinsicDeclaration(l->module, id, overloads, count);
  callee->type = llvm_api.IntrinsicGetType(l->context, id, overloads, count);
}

static void declare_function(lowering_t *l, const kir_function_t *function) {
  callee_t *callee = &l->functions[function->index];
  if (function->intrinsic) {
    declare_intrinsic(l, function, callee);
    return;
  }
  callee->type = type_of(l, function->type);
  if (l->from->status) return;
  callee->value = llvm_api.AddFunction(l->module, function->name, callee->type);
  if (function->attributes & KIR_INTERNAL) llvm_api.SetLinkage(callee->value, LLVMInternalLinkage);
  if (function->attributes & KIR_NOUNWIND) add_attribute(l, callee->value, "nounwind");
  if (function->attributes & KIR_NOINLINE) add_attribute(l, callee->value, "noinline");
}

static void lower_module(lowering_t *l) {
  kir_module_t *from = l->from;
  l->types = allocate(l, from->type_count, sizeof *l->types);
  l->constants = allocate(l, (size_t)from->constant_count, sizeof *l->constants);
  l->functions = allocate(l, (size_t)from->function_count, sizeof *l->functions);
  for (const kir_function_t *f = from->functions; f && !from->status; f = f->next)
    declare_function(l, f);
  for (const kir_function_t *f = from->functions; f && !from->status; f = f->next)
    if (f->first) lower_body(l, f);
}

hr_status_t kir_to_llvm(kir_module_t *from, LLVMContextRef context, LLVMModuleRef to) {
  lowering_t l = {.from = from, .context = context, .module = to};
  hr_status_t st = NULL;
  if (!from->status) {
    l.builder = llvm_api.CreateBuilderInContext(context);
    lower_module(&l);
    llvm_api.DisposeBuilder(l.builder);
  }
  st = from->status;
  from->status = NULL;
  return st;
}
