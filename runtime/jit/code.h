/* A module that is being written: LLVM's objects in one struct, and short ways to write what is written all the time.
 * Operands are scalars or vectors of any width; "like" arguments give the type.
 * Thread: a module and its context belong to one thread at a time. */
#ifndef JIT_CODE_H
#define JIT_CODE_H

#include <stdint.h>

#include "jit/target.h"

typedef struct jit_code {
  const jit_target_t *target;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  struct jit_place *place; /* where kernels are written, as part of a larger function; NULL: a function each */
} jit_code_t;

/* An empty module in a context of its own. LLVM must be loaded. */
void jit_code_init(jit_code_t *code, const jit_target_t *target, const char *name);
void jit_code_deinit(jit_code_t *code); /* accepts a zeroed one */

/* --- types ----------------------------------------------------------------------------------------------------- */

int jit_lanes(LLVMTypeRef type);                   /* 1 of a scalar type */
LLVMTypeRef jit_scalar_type(LLVMTypeRef type);     /* of the elements; the type itself if it is no vector */
/* The type with this element and as many lanes as `like`. */
LLVMTypeRef jit_type_like(LLVMTypeRef element, LLVMTypeRef like);
LLVMTypeRef jit_vector_type(LLVMTypeRef element, int lanes); /* the element itself for one lane */
int jit_element_bits(LLVMTypeRef type);            /* of one element: 32 for <8 x float> */
LLVMTypeRef jit_integer_like(LLVMTypeRef type);    /* integers of the same width and count as the floats */

/* --- constants, in every lane ---------------------------------------------------------------------------------- */

LLVMValueRef jit_real(LLVMTypeRef type, double value);
LLVMValueRef jit_int(LLVMTypeRef type, int64_t value);
LLVMValueRef jit_splat_constant(LLVMTypeRef type, LLVMValueRef scalar);
/* A scalar value put into every lane of a vector type; as it is if the type is no vector. */
LLVMValueRef jit_splat(jit_code_t *code, LLVMTypeRef type, LLVMValueRef scalar);

/* --- calls ----------------------------------------------------------------------------------------------------- */

/* An intrinsic with one overloaded type: jit_intrinsic(code, "llvm.fma", type, {a, b, c}, 3). */
LLVMValueRef jit_intrinsic(jit_code_t *code, const char *name, LLVMTypeRef overload, LLVMValueRef *arguments,
                           int count);
/* With any number of overloaded types (llvm.masked.load: the vector and the pointer). */
LLVMValueRef jit_intrinsic_of(jit_code_t *code, const char *name, LLVMTypeRef *overloads, int overload_count,
                              LLVMValueRef *arguments, int count);
/* Attributes by LLVM's names: "nounwind", "noalias", "readonly"; index: LLVMAttributeFunctionIndex, or 1 +
 * parameter. */
void jit_function_attribute(jit_code_t *code, LLVMValueRef function, int index, const char *name, uint64_t value);
/* A function that others of the module call, vectors in registers; never inlined. *out_inner is this code at its start:
 * the caller disposes of its builder. */
LLVMValueRef jit_inner_function(jit_code_t *code, const char *name, LLVMTypeRef signature, jit_code_t *out_inner);

/* What is computed in each lane alone, of `count` operands of one type, by as many calls of `emit` as the target has
 * vectors for them: with operands and a result that fit its registers. */
typedef LLVMValueRef (*jit_lanes_fn)(jit_code_t *code, const void *context, LLVMValueRef *args);
LLVMValueRef jit_by_vectors(jit_code_t *code, jit_lanes_fn emit, const void *context, LLVMValueRef *args, int count);

/* --- module to object ------------------------------------------------------------------------------------------ */

/* The IR as text. The caller frees it with llvm()->DisposeMessage. */
char *jit_code_print(const jit_code_t *code);
/* Checks the module: INTERNAL with what LLVM says if it is not well-formed. */
hr_status_t jit_code_verify(const jit_code_t *code);

#endif
