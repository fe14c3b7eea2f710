/* The kernel IR: what the emitters (emit_*.c, element_*.c, math_*.c, kernel_*.c, region_write.c)
 * build with the functions of kir.h and a back end lowers: jit/x64 to machine code, jit/llvm to a
 * module of LLVM. It is typed, in SSA form, in basic blocks; its instructions have the semantics of
 * LLVM's with the same names.
 *
 * Passes and back ends keep their results about values in arrays of their own, indexed by the
 * values' ids.
 *
 * Owner:  everything lives in the arena of its module.
 * Thread: a module belongs to one thread at a time. */
#ifndef JIT_KIR_IR_H
#define JIT_KIR_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef enum kir_op {
#define KIR_OP(id, name, flags) KIR_##id,
#include "jit/kir/kir_ops.def"
  KIR_OP_COUNT
} kir_op_t;

typedef enum kir_icmp {
#define KIR_ICMP(id, name) KIR_ICMP_##id,
#include "jit/kir/kir_ops.def"
} kir_icmp_t;

typedef enum kir_fcmp {
#define KIR_FCMP(id, name) KIR_FCMP_##id,
#include "jit/kir/kir_ops.def"
} kir_fcmp_t;

/* Flags of operations. */
enum {
  KIR_PURE = 1, /* no side effect: dead if nothing uses the result */
  KIR_COMMUTES = 2,
  KIR_TERMINATOR = 4,
  KIR_INTRINSIC = 8,      /* an intrinsic function in LLVM */
  KIR_SCALAR_RESULT = 16, /* an intrinsic on a vector type gives one element of it */
  KIR_NO_RESULT = 32,
};

extern const uint8_t kir_op_flags[KIR_OP_COUNT];
extern const char *const kir_op_names[KIR_OP_COUNT];

typedef enum kir_type_kind {
  KIR_TYPE_VOID,
  KIR_TYPE_INT,
  KIR_TYPE_HALF,
  KIR_TYPE_FLOAT,
  KIR_TYPE_DOUBLE,
  KIR_TYPE_POINTER,
  KIR_TYPE_VECTOR,
  KIR_TYPE_ARRAY,
  KIR_TYPE_FUNCTION
} kir_type_kind_t;

typedef struct kir_module kir_module_t;
typedef struct kir_type kir_type_t;
typedef struct kir_value kir_value_t;
typedef struct kir_block kir_block_t;
typedef struct kir_function kir_function_t;
typedef struct kir_builder kir_builder_t;
typedef struct kir_target kir_target_t;

/* Types are interned: equal ones have one address. */
struct kir_type {
  kir_module_t *module;
  kir_type_kind_t kind;
  unsigned bits;       /* bits of an element; of pointers: 64 */
  unsigned lanes;      /* elements of a vector; else 1 */
  uint64_t count;      /* elements of an array; parameters of a function */
  kir_type_t *element; /* element of a vector or an array; the result of a function */
  kir_type_t **params; /* parameters of a function */
  unsigned id;         /* number in its module */
  kir_type_t *next;    /* next type of the module */
};

/* An instruction, a parameter, a function's address, or a constant. Constants are interned. */
struct kir_value {
  kir_type_t *type;
  kir_op_t op;
  unsigned id; /* in its function, from 1 on; 0: a constant or a function */
  int detail;  /* ICMP, FCMP: predicate; GEP: bytes of an element; a constant: its id in the
                  module; RESULT: number of the part */
  int arg_count;
  kir_value_t **args;       /* the last argument of a CALL is the callee */
  kir_block_t **blocks;     /* PHI: predecessor of each argument; branches: successors */
  kir_block_t *block;       /* NULL: not in a block */
  kir_value_t *prev, *next; /* neighbours in the block */
  uint64_t *lanes;          /* a constant: bits of each lane; SHUFFLE: mask */
  uint64_t poison_lanes;    /* a constant: bit set of the poison lanes among the first 64 */
  kir_value_t *bucket_next; /* a constant: next one of the same hash bucket */
  kir_function_t *function; /* KIR_FUNCTION: the function; an intrinsic: its declaration */
  kir_type_t *memory_type;  /* ALLOCA: allocated type; GEP: element type */
  unsigned align;           /* alignment of a memory access in bytes; 0: the type's */
  unsigned split_from;      /* id of the instruction on wider vectors of which this is a part, until
                               that is split; 0: none */
  bool is_poison;           /* a constant: all lanes are poison */
  bool is_nontemporal;      /* STORE: bypasses the caches */
  bool is_inbounds;         /* GEP */
  bool has_nsw;             /* ADD: no signed wrap */
};

struct kir_block {
  const char *name; /* "": unnamed */
  kir_function_t *function;
  kir_block_t *next; /* in order of creation */
  kir_value_t *first, *last;
  int index; /* position in kir_cfg_t's order; unset before */
};

/* Attributes of functions. */
enum { KIR_NOUNWIND = 1, KIR_NOINLINE = 2, KIR_INTERNAL = 4 };

#define KIR_OVERLOADS_MAX 3

struct kir_function {
  kir_module_t *module;
  const char *name;
  kir_type_t *type;
  kir_value_t *value, *params;
  int param_count;
  unsigned attributes;
  kir_block_t *first, *last; /* NULL: declared only */
  unsigned value_count;      /* number of ids in use, including 0 */
  kir_function_t *next;      /* in order of creation */
  int index;                 /* position in order of creation, from 0 on */
  kir_op_t intrinsic;        /* KIR_CONSTANT: an ordinary function, not an intrinsic */
  kir_type_t *overloads[KIR_OVERLOADS_MAX]; /* types in an overloaded intrinsic's name */
  int overload_count;
  kir_function_t *next_overload; /* next overload of the same intrinsic */
};

/* The target of lowering. */
struct kir_target {
  /* Operations equal to one of their arguments (x + 0) are not built, constant operands come last,
   * and intrinsics on constants are folded. False: only instructions on constants are folded, as
   * LLVM's builder does. */
  bool simplifies;
  bool folds_conversions; /* conversions and comparisons of constant floats are folded */
  /* Builds an operation that the target lacks from others, and returns the result; NULL: the target
   * has it. */
  kir_value_t *(*expand)(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                         kir_value_t *const *args, int count);
};

/* An insertion point. */
struct kir_builder {
  kir_module_t *module;
  kir_block_t *block;
  kir_value_t *insert_before; /* NULL: at the block's end */
};

#define KIR_CONSTANT_BUCKETS 2048
#define KIR_LANES_MAX 1024

struct kir_module {
  hr_arena_t arena;
  const char *name;
  const kir_target_t *target;
  hr_status_t status;      /* NO_MEMORY: everything built afterwards is meaningless */
  const char *unsupported; /* reason why the target has no code; NULL: supported */
  kir_type_t *types;
  unsigned type_count;
  kir_value_t *constants[KIR_CONSTANT_BUCKETS];
  int constant_count;
  kir_function_t *functions, *last_function;
  int function_count;
  kir_function_t *intrinsics[KIR_OP_COUNT]; /* declarations, by operation */
  /* Fallbacks after running out of memory: builders return these objects, kir_alloc returns
   * `spare`. */
  kir_type_t no_type, *no_params[8];
  kir_value_t no_value;
  kir_block_t no_block;
  kir_function_t no_function;
  kir_builder_t no_builder;
  uint64_t spare[KIR_LANES_MAX];
};

void *kir_alloc(kir_module_t *module, size_t size_bytes); /* zeroed */

/* Bits of all lanes together. */
static inline unsigned kir_width(const kir_type_t *type) { return type->bits * type->lanes; }
static inline bool kir_is_vector(const kir_type_t *type) { return type->kind == KIR_TYPE_VECTOR; }
static inline bool kir_is_i1(const kir_type_t *type) { return type->bits == 1; }
static inline bool kir_is_constant(const kir_value_t *value) { return value->op == KIR_CONSTANT; }
static inline bool kir_has_result(const kir_value_t *value) {
  return value->type->kind != KIR_TYPE_VOID;
}

/* Is the type a float or a vector of floats? */
static inline bool kir_is_float(const kir_type_t *type) {
  kir_type_kind_t kind = kir_is_vector(type) ? type->element->kind : type->kind;
  return kind == KIR_TYPE_HALF || kind == KIR_TYPE_FLOAT || kind == KIR_TYPE_DOUBLE;
}

/* Are all lanes of the constant equal? */
static inline bool kir_is_splat(const kir_value_t *value) {
  for (unsigned i = 1; i < value->type->lanes; i++)
    if (value->lanes[i] != value->lanes[0]) return false;
  return true;
}

static inline int64_t kir_sign_extend(uint64_t bits, unsigned width) {
  return width >= 64 ? (int64_t)bits : (int64_t)(bits << (64 - width)) >> (64 - width);
}

#endif
