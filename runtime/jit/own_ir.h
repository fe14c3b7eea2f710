/* The kernels' instructions when LLVM is not asked: the functions of llvm_api.def that write code build what is here,
 * and own_compile makes machine code of it. It is LLVM's form (SSA, typed, blocks), as far as kernels need it.
 *
 * Owner:  everything lives in the arena of its context.
 * Thread: a context belongs to one thread at a time. */
#ifndef JIT_OWN_IR_H
#define JIT_OWN_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "jit/llvm_api.h"

typedef enum own_op {
#define OWN_OP(id, intrinsic, flags) OWN_##id,
#include "jit/own_ops.def"
#undef OWN_OP
  OWN_OP_COUNT
} own_op_t;

enum {
  OWN_PURE = 1,      /* no effect: it need not be computed if nobody uses it */
  OWN_COMMUTES = 2,
  OWN_ENDS = 4,      /* a block */
  OWN_SCALARS = 8,   /* of an intrinsic: the result is one element of the overloaded type */
  OWN_NOTHING = 16,  /* of an intrinsic: there is no result */
};

extern const uint8_t own_op_flags[OWN_OP_COUNT];

typedef struct own_context own_context_t;
typedef struct own_type own_type_t;
typedef struct own_value own_value_t;
typedef struct own_block own_block_t;
typedef struct own_function own_function_t;

struct own_type {
  own_context_t *context;
  LLVMTypeKind kind;
  unsigned bits;       /* of an element; pointers: 64 */
  unsigned lanes;      /* of a vector; else 1 */
  uint64_t count;      /* of an array */
  own_type_t *element; /* of a vector, of an array; of a function: its result */
  own_type_t **params; /* of a function: count */
  own_type_t *next;    /* of the context */
};

struct own_value {
  own_type_t *type;
  own_op_t op;
  int predicate;        /* of a comparison: LLVM's number */
  int arg_count;
  own_value_t **args;   /* of a call: the last one is what is called */
  own_block_t **blocks; /* of a phi: where each argument comes from; of a branch: where it goes */
  own_block_t *block;   /* NULL: of no block */
  own_value_t *before, *after;
  uint64_t *lanes;      /* of a constant: the bits of each lane; of a shuffle: its mask */
  own_value_t *next;    /* of the context's constants; of a block, as it was */
  own_function_t *function; /* OWN_FUNCTION: not an intrinsic */
  unsigned align;
  bool is_poison, streams;
  own_value_t **parts;  /* NULL: it is whole; else it is these, each of part_lanes lanes but for the last */
  unsigned part_lanes;
  own_value_t *instead; /* NULL: nothing; else this is read, and it is in no block */
  /* while code is made */
  int number, position, uses;
  own_value_t *user;    /* one of them */
  bool is_wanted;
  bool is_placed;       /* in its block, where it is to be */
  bool is_folded;       /* its code is a part of its users' */
};

struct own_block {
  own_function_t *function;
  own_block_t *next; /* in the order in which they were made */
  own_value_t *first, *last;
  int index, depth, from, to; /* while code is made: place in the order, loops around it, positions */
};

struct own_function {
  own_context_t *context;
  const char *name;
  own_type_t *type;
  own_value_t *value, *params;
  int param_count;
  own_block_t *first, *last; /* NULL: it is elsewhere */
  own_function_t *next;
  int symbol;             /* in the object */
  size_t offset, size;    /* of its code, in bytes */
  bool is_made;
  uint32_t changed[3];    /* registers, by class, as bits: once it is made */
};

#define OWN_CONSTANT_BUCKETS 256

struct own_context {
  hr_arena_t arena;
  hr_status_t status;   /* NO_MEMORY: what was built since then is nothing */
  const char *lacks;    /* what has no code here; NULL: nothing */
  own_type_t *types;
  own_value_t *constants[OWN_CONSTANT_BUCKETS];
  own_function_t *functions, *last_function;
  own_value_t *intrinsics[OWN_OP_COUNT]; /* functions of their names */
  uint64_t spare[512];  /* what own_alloc gives once there is no memory */
};

/* The functions of llvm_api.def that write modules; the others are NULL. */
extern const llvm_api_t own_api;

/* Types and constants are one object each: equal ones have one address. */
own_type_t *own_type_of(own_context_t *context, LLVMTypeKind kind, unsigned bits);
own_type_t *own_vector_of(own_type_t *element, unsigned lanes);
/* A constant of these bits in its lanes, of which only those of the type count. */
own_value_t *own_constant(own_type_t *type, const uint64_t *lanes, bool is_poison);
own_value_t *own_constant_of_all(own_type_t *type, uint64_t lane);
void *own_alloc(own_context_t *context, size_t size_bytes); /* cleared */

/* The result of an op that is known while it is written: on constants, or one of its arguments; NULL: it must be
 * computed. */
own_value_t *own_fold(own_op_t op, own_type_t *type, int predicate, own_value_t *const *args, int count);
/* The op at the builder's place, or what it folds to. */
own_value_t *own_build(LLVMBuilderRef builder, own_op_t op, own_type_t *type, int predicate, own_value_t *const *args,
                       int count);
/* x / y or its rest, as the op says: vectors by other ops, which they have. */
LLVMValueRef own_divide(LLVMBuilderRef builder, own_op_t op, LLVMValueRef x, LLVMValueRef y);

/* Has the processor instructions that count bits? */
bool own_counts_bits(void);
/* Bits of all lanes. */
static inline unsigned own_width(const own_type_t *type) { return type->bits * type->lanes; }
static inline bool own_is_constant(const own_value_t *value) { return value->op == OWN_CONSTANT; }
static inline bool own_is_float(const own_type_t *type) {
  return type->kind == LLVMFloatTypeKind || type->kind == LLVMDoubleTypeKind || type->kind == LLVMHalfTypeKind ||
         (type->kind == LLVMVectorTypeKind && own_is_float(type->element));
}
static inline bool own_is_splat(const own_value_t *value) {
  for (unsigned i = 1; i < value->type->lanes; i++)
    if (value->lanes[i] != value->lanes[0]) return false;
  return true;
}
static inline int64_t own_signed(uint64_t bits, unsigned width) {
  return width >= 64 ? (int64_t)bits : (int64_t)(bits << (64 - width)) >> (64 - width);
}

#endif
