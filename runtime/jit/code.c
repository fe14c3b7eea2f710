#include "jit/code.h"

#include <string.h>

#define LANES_MAX 1024
#define OPERANDS_MOST 3

void jit_code_init(jit_code_t *code, const jit_target_t *target, const char *name) {
  *code = (jit_code_t){.target = target};
  code->context = llvm()->ContextCreate();
  code->module = llvm()->ModuleCreateWithNameInContext(name, code->context);
  code->builder = llvm()->CreateBuilderInContext(code->context);
}

void jit_code_deinit(jit_code_t *code) {
  if (code->builder) llvm()->DisposeBuilder(code->builder);
  if (code->module) llvm()->DisposeModule(code->module);
  if (code->context) llvm()->ContextDispose(code->context);
  *code = (jit_code_t){0};
}

static bool is_vector(LLVMTypeRef type) { return llvm()->GetTypeKind(type) == LLVMVectorTypeKind; }

int jit_lanes(LLVMTypeRef type) { return is_vector(type) ? (int)llvm()->GetVectorSize(type) : 1; }

LLVMTypeRef jit_scalar_type(LLVMTypeRef type) { return is_vector(type) ? llvm()->GetElementType(type) : type; }

/* A vector of one lane stays a vector, so that all values of a computation are of one form. */
LLVMTypeRef jit_type_like(LLVMTypeRef element, LLVMTypeRef like) {
  return is_vector(like) ? llvm()->VectorType(element, llvm()->GetVectorSize(like)) : element;
}

LLVMTypeRef jit_vector_type(LLVMTypeRef element, int lanes) {
  return lanes > 1 ? llvm()->VectorType(element, (unsigned)lanes) : element;
}

int jit_element_bits(LLVMTypeRef type) {
  LLVMTypeRef element = jit_scalar_type(type);
  switch (llvm()->GetTypeKind(element)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind: return 64;
    default: return (int)llvm()->GetIntTypeWidth(element);
  }
}

LLVMTypeRef jit_integer_like(LLVMTypeRef type) {
  LLVMContextRef context = llvm()->GetTypeContext(type);
  return jit_type_like(llvm()->IntTypeInContext(context, (unsigned)jit_element_bits(type)), type);
}

LLVMValueRef jit_splat_constant(LLVMTypeRef type, LLVMValueRef scalar) {
  if (!is_vector(type)) return scalar;
  LLVMValueRef lanes[LANES_MAX];
  unsigned count = llvm()->GetVectorSize(type);
  hr_assert(count <= LANES_MAX);
  for (unsigned i = 0; i < count; i++) lanes[i] = scalar;
  return llvm()->ConstVector(lanes, count);
}

LLVMValueRef jit_real(LLVMTypeRef type, double value) {
  return jit_splat_constant(type, llvm()->ConstReal(jit_scalar_type(type), value));
}

LLVMValueRef jit_int(LLVMTypeRef type, int64_t value) {
  return jit_splat_constant(type, llvm()->ConstInt(jit_scalar_type(type), (unsigned long long)value, true));
}

LLVMValueRef jit_splat(jit_code_t *code, LLVMTypeRef type, LLVMValueRef scalar) {
  if (!is_vector(type)) return scalar;
  if (llvm()->IsConstant(scalar)) return jit_splat_constant(type, scalar);
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(code->context);
  LLVMValueRef none = llvm()->GetPoison(type);
  LLVMValueRef first = llvm()->BuildInsertElement(code->builder, none, scalar, llvm()->ConstInt(i32, 0, false), "");
  LLVMValueRef zeros = llvm()->ConstNull(llvm()->VectorType(i32, llvm()->GetVectorSize(type)));
  return llvm()->BuildShuffleVector(code->builder, first, none, zeros, "");
}

LLVMValueRef jit_intrinsic_of(jit_code_t *code, const char *name, LLVMTypeRef *overloads, int overload_count,
                              LLVMValueRef *arguments, int count) {
  unsigned id = llvm()->LookupIntrinsicID(name, strlen(name));
  hr_assert(id != 0);
  LLVMValueRef function = llvm()->GetIntrinsicDeclaration(code->module, id, overloads, (size_t)overload_count);
  LLVMTypeRef type = llvm()->IntrinsicGetType(code->context, id, overloads, (size_t)overload_count);
  return llvm()->BuildCall2(code->builder, type, function, arguments, (unsigned)count, "");
}

LLVMValueRef jit_intrinsic(jit_code_t *code, const char *name, LLVMTypeRef overload, LLVMValueRef *arguments,
                           int count) {
  return jit_intrinsic_of(code, name, &overload, 1, arguments, count);
}

void jit_function_attribute(jit_code_t *code, LLVMValueRef function, int index, const char *name, uint64_t value) {
  unsigned kind = llvm()->GetEnumAttributeKindForName(name, strlen(name));
  hr_assert(kind != 0);
  LLVMAttributeRef attribute = llvm()->CreateEnumAttribute(code->context, kind, value);
  llvm()->AddAttributeAtIndex(function, (LLVMAttributeIndex)index, attribute);
}

LLVMValueRef jit_inner_function(jit_code_t *code, const char *name, LLVMTypeRef signature, jit_code_t *out_inner) {
  LLVMValueRef function = llvm()->AddFunction(code->module, name, signature);
  llvm()->SetLinkage(function, LLVMInternalLinkage);
  jit_function_attribute(code, function, (int)LLVMAttributeFunctionIndex, "nounwind", 0);
  jit_function_attribute(code, function, (int)LLVMAttributeFunctionIndex, "noinline", 0);
  *out_inner = *code;
  out_inner->builder = llvm()->CreateBuilderInContext(code->context);
  LLVMBasicBlockRef start = llvm()->AppendBasicBlockInContext(code->context, function, "");
  llvm()->PositionBuilderAtEnd(out_inner->builder, start);
  return function;
}

/* --- vectors that registers have ------------------------------------------------------------------------------- */

static unsigned power_above(unsigned count) {
  unsigned power = 1;
  while (power < count) power *= 2;
  return power;
}

/* `lanes` of x from `first` on; those that it lacks are its last one. */
static LLVMValueRef lanes_from(jit_code_t *code, LLVMValueRef x, unsigned first, unsigned lanes) {
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(code->context), type = llvm()->TypeOf(x);
  unsigned all = llvm()->GetVectorSize(type);
  LLVMValueRef order[LANES_MAX];
  for (unsigned i = 0; i < lanes; i++) order[i] = jit_int(i32, first + i < all ? first + i : all - 1);
  return llvm()->BuildShuffleVector(code->builder, x, llvm()->GetPoison(type), llvm()->ConstVector(order, lanes), "");
}

static LLVMValueRef behind(jit_code_t *code, LLVMValueRef low, LLVMValueRef high) {
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(code->context);
  unsigned lanes = 2 * llvm()->GetVectorSize(llvm()->TypeOf(low));
  LLVMValueRef order[LANES_MAX];
  for (unsigned i = 0; i < lanes; i++) order[i] = jit_int(i32, i);
  return llvm()->BuildShuffleVector(code->builder, low, high, llvm()->ConstVector(order, lanes), "");
}

/* A power of two of lanes: by halves, until they fit. */
static LLVMValueRef by_halves(jit_code_t *code, jit_lanes_fn emit, const void *context, LLVMValueRef *args, int count) {
  LLVMTypeRef type = llvm()->TypeOf(args[0]);
  unsigned lanes = llvm()->GetVectorSize(type);
  if ((int)lanes * jit_element_bits(type) <= 8 * code->target->vector_bytes) return emit(code, context, args);
  LLVMValueRef halves[2], in[OPERANDS_MOST];
  for (unsigned h = 0; h < 2; h++) {
    for (int k = 0; k < count; k++) in[k] = lanes_from(code, args[k], h * lanes / 2, lanes / 2);
    halves[h] = by_halves(code, emit, context, in, count);
  }
  return behind(code, halves[0], halves[1]);
}

LLVMValueRef jit_by_vectors(jit_code_t *code, jit_lanes_fn emit, const void *context, LLVMValueRef *args, int count) {
  LLVMTypeRef type = llvm()->TypeOf(args[0]);
  if (!is_vector(type)) return emit(code, context, args);
  unsigned lanes = llvm()->GetVectorSize(type), power = power_above(lanes);
  LLVMValueRef in[OPERANDS_MOST];
  for (int k = 0; k < count; k++) in[k] = power == lanes ? args[k] : lanes_from(code, args[k], 0, power);
  LLVMValueRef made = by_halves(code, emit, context, in, count);
  return power == lanes ? made : lanes_from(code, made, 0, lanes);
}

char *jit_code_print(const jit_code_t *code) { return llvm()->PrintModuleToString(code->module); }

hr_status_t jit_code_verify(const jit_code_t *code) {
  char *message = NULL;
  hr_status_t st = NULL;
  if (llvm()->VerifyModule(code->module, LLVMReturnStatusAction, &message))
    st = hr_error(HR_INTERNAL, "generated code is not well-formed: %s", message);
  llvm()->DisposeMessage(message);
  return st;
}
