/* What the files share that stand behind LLVM's names: own_build.c, own_arith.c, own_memory.c. */
#ifndef JIT_OWN_BUILD_H
#define JIT_OWN_BUILD_H

#include "jit/own_ir.h"

typedef struct own_builder {
  own_context_t *context;
  own_block_t *block;
  own_value_t *before; /* NULL: at the block's end */
} own_builder_t;

/* LLVM's types of pointers to objects that it alone knows. */
#define TYPE(type) ((own_type_t *)(type))
#define VALUE(value) ((own_value_t *)(value))
#define BLOCK(block) ((own_block_t *)(block))
#define BUILDER(builder) ((own_builder_t *)(builder))
#define CONTEXT(context) ((own_context_t *)(context))

/* At the builder's place, as it is: nothing is folded. */
own_value_t *own_append(own_builder_t *b, own_op_t op, own_type_t *type, own_value_t *const *args, int count);

static inline LLVMValueRef own_build_refs(LLVMBuilderRef b, own_op_t op, own_type_t *type, int predicate,
                                          LLVMValueRef *args, int count) {
  return (LLVMValueRef)own_build(b, op, type, predicate, (own_value_t **)args, count);
}

/* Those of own_api, by LLVM's names. */
typedef LLVMValueRef own_build_one_fn(LLVMBuilderRef b, LLVMValueRef x, const char *name);
typedef LLVMValueRef own_build_two_fn(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const char *name);
typedef LLVMValueRef own_build_cast_fn(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef type, const char *name);
own_build_one_fn own_build_neg, own_build_not, own_build_fneg;
own_build_two_fn own_build_add, own_build_sub, own_build_mul, own_build_udiv, own_build_sdiv, own_build_urem,
    own_build_srem, own_build_and, own_build_or, own_build_xor, own_build_shl, own_build_lshr, own_build_ashr,
    own_build_fadd, own_build_fsub, own_build_fmul, own_build_fdiv;
own_build_cast_fn own_build_trunc, own_build_zext, own_build_sext, own_build_fptrunc, own_build_fpext,
    own_build_fptosi, own_build_fptoui, own_build_sitofp, own_build_uitofp, own_build_bitcast;
LLVMValueRef own_build_int_cast(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef type, LLVMBool is_signed,
                                const char *name);
LLVMValueRef own_build_icmp(LLVMBuilderRef b, LLVMIntPredicate how, LLVMValueRef x, LLVMValueRef y, const char *name);
LLVMValueRef own_build_fcmp(LLVMBuilderRef b, LLVMRealPredicate how, LLVMValueRef x, LLVMValueRef y, const char *name);
LLVMValueRef own_build_select(LLVMBuilderRef b, LLVMValueRef condition, LLVMValueRef x, LLVMValueRef y,
                              const char *name);
LLVMValueRef own_build_alloca(LLVMBuilderRef b, LLVMTypeRef type, const char *name);
LLVMValueRef own_build_load(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef pointer, const char *name);
LLVMValueRef own_build_store(LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef pointer);
LLVMValueRef own_build_gep(LLVMBuilderRef b, LLVMTypeRef element, LLVMValueRef pointer, LLVMValueRef *indices,
                           unsigned count, const char *name);
LLVMValueRef own_build_extract(LLVMBuilderRef b, LLVMValueRef vector, LLVMValueRef index, const char *name);
LLVMValueRef own_build_insert(LLVMBuilderRef b, LLVMValueRef vector, LLVMValueRef value, LLVMValueRef index,
                              const char *name);
LLVMValueRef own_build_shuffle(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef mask, const char *name);

/* The intrinsics of OWN_GATHER and OWN_SCATTER; of OWN_CTPOP and OWN_CTLZ. */
LLVMValueRef own_build_gather(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef *args);
LLVMValueRef own_build_scatter(LLVMBuilderRef b, LLVMValueRef *args);
LLVMValueRef own_build_count(LLVMBuilderRef b, own_op_t op, LLVMValueRef x);
/* The value in all lanes. */
LLVMValueRef own_build_splat(LLVMBuilderRef b, LLVMValueRef value, own_type_t *type);

#endif
