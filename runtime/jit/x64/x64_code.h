/* A function of the kernel IR on its way to machine code: what the phases share. It goes through
 * them one after the other: x64_prepare             block order, common subexpressions, dead code,
 * what becomes a part of its users x64_legalize          vectors of sizes that registers have
 *   x64_find_liveness       from where to where each value is needed
 *   x64_allocate_registers  a register or a stack slot for each value
 *   x64_select              instructions */
#ifndef JIT_X64_CODE_H
#define JIT_X64_CODE_H

#include "jit/kir/kir_cfg.h"
#include "jit/target.h"
#include "jit/x64/x64_encode.h"

/* Classes of registers. */
typedef enum x64_class { X64_GPR, X64_VECTOR, X64_MASK, X64_CLASS_COUNT } x64_class_t;

/* Where a value is, from its definition to its last use. Instruction i reads at position 2i and
 * writes at 2i + 1. */
typedef struct live_interval {
  kir_value_t *value;
  x64_class_t kind;
  int from, to;       /* positions */
  int reg;            /* X86_NONE: spilled */
  int hint;           /* number of an interval whose register suits; X86_NONE */
  int64_t slot;       /* below the frame's top, in bytes; 0: none */
  double weight;      /* uses and definitions, each by how often it runs */
  uint32_t forbidden; /* registers that calls clobber meanwhile */
  bool is_saved; /* spilled around calls of external functions, which are called where it is slow
                    anyway */
} live_interval_t;

/* A vector constant, in a register for the whole function if one is left. */
typedef struct pinned_const {
  kir_value_t *value;
  double weight;
  int reg; /* X86_NONE: none was left */
} pinned_const_t;

/* What the phases find out about an instruction or a parameter. */
typedef struct x64_node {
  int interval; /* its number; X86_NONE: it has no result of its own */
  int position;
  bool is_folded;       /* its code is a part of its users' */
  int64_t frame_offset; /* ALLOCA: below the frame's top, in bytes */
} x64_node_t;

/* Positions of a block. */
typedef struct block_range {
  int from, to;
} block_range_t;

/* A function as those that call it know it. */
typedef struct x64_function {
  int symbol;          /* in the object */
  size_t offset, size; /* of its code, in bytes */
  bool is_compiled;
  uint32_t clobbered[X64_CLASS_COUNT]; /* registers, as bits, once it is compiled */
} x64_function_t;

typedef struct x64_code {
  hr_arena_t *arena;
  x86_t x;
  kir_function_t *function;
  x64_function_t *functions; /* of the module, by index */
  kir_cfg_t cfg;
  kir_use_t *uses;       /* by id */
  x64_node_t *nodes;     /* by id */
  block_range_t *ranges; /* by a block's index */
  int *labels;           /* by a block's index */
  live_interval_t
      *intervals; /* then as many as a call has arguments, for moves to where those go */
  int interval_count;
  pinned_const_t *pinned;
  int pinned_count;
  int64_t frame_bytes;
  bool calls;           /* others */
  bool preserves_all;   /* vectors and masks that it does not use itself, around calls of external
                           functions */
  int64_t preserved_at; /* where those are: the frame's bytes up to them */
  uint32_t clobbered[X64_CLASS_COUNT]; /* registers, by what it calls */
  uint32_t used[X64_CLASS_COUNT];      /* registers */
  const char *unsupported;             /* what has no code here; NULL: nothing */
} x64_code_t;

/* Of a constant or a function: an entry that nothing is known of. */
static inline x64_node_t *x64_node(const x64_code_t *code, const kir_value_t *value) {
  return &code->nodes[value->id];
}

static inline live_interval_t *x64_interval(const x64_code_t *code, const kir_value_t *value) {
  return &code->intervals[x64_node(code, value)->interval];
}

/* Of a function that is not of the module or not compiled yet, which may clobber all registers but
 * a few general ones? */
bool x64_calls_external(const x64_code_t *code, const kir_value_t *call);

/* Does the function give a value to code of the module, which goes on with its registers? It calls
 * external functions where it is slow anyway, and preserves all vectors and masks for its caller
 * then. */
static inline bool x64_preserves_vectors(const kir_function_t *function) {
  return function->type->element->kind != KIR_TYPE_VOID;
}

/* Registers that x64_select computes in, between reading and writing: these two; ax, cx and dx,
 * too. */
#define X64_SCRATCH_VECTOR 29 /* and the two after it */
#define X64_SCRATCH_MASK 7

#define X64_VECTOR_BITS 512 /* of a register */
#define X64_SLOT_BYTES 64   /* of a spilled value */
#define X64_ARGUMENTS_MAX 8 /* of a call, and what is called */

hr_status_t x64_prepare(x64_code_t *code);
hr_status_t x64_legalize(x64_code_t *code);
hr_status_t x64_find_liveness(x64_code_t *code);
hr_status_t x64_allocate_registers(x64_code_t *code);
hr_status_t x64_select(x64_code_t *code);

/* Has the processor, which is the one that the code is for, an instruction that permutes bytes? */
bool x64_permutes_bytes(void);

x64_class_t x64_class_of(const kir_type_t *type);

/* Calls `each` for the values that an instruction reads: in place of those that are a part of it,
 * what they read. Constants are left out; so are arguments of phis. */
typedef void (*x64_operand_fn)(x64_code_t *code, kir_value_t *read, void *context);
void x64_each_operand(x64_code_t *code, kir_value_t *instr, x64_operand_fn each, void *context);

/* Is the select the minimum or the maximum of two floats, which is one instruction? */
bool x64_is_min_max(const kir_value_t *select);
/* Is it an or of x << a and x >> b that is x rotated? */
bool x64_is_rotate(const x64_code_t *code, const kir_value_t *either);
/* The vector constant that the code of an instruction reads for argument k; NULL: none. */
kir_value_t *x64_constant_operand(const kir_value_t *instr, int k);

#endif
