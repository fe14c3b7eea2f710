/* A function of the kernel IR during compilation to machine code: the state shared by the phases.
 *
 *   x64_prepare              order of blocks, CSE, LICM, dead code, operand folding
 *     x64_remove_masks       AVX2: vectors of integers instead of vectors of i1
 *     x64_legalize           vectors of register size
 *   x64_find_liveness        live intervals
 *   x64_allocate_registers   a register or a stack slot for each interval
 *   x64_select               instructions
 *
 * Phases keep their data in arrays indexed by value id or block index, never in the IR. Thread: one
 * at a time for each function. */
#ifndef JIT_X64_CODE_H
#define JIT_X64_CODE_H

#include "jit/kir/kir_cfg.h"
#include "jit/target.h"
#include "jit/x64/x64_encode.h"

/* Classes of registers. */
typedef enum x64_class { X64_GPR, X64_VECTOR, X64_MASK, X64_CLASS_COUNT } x64_class_t;

/* What instructions of the processor differ in: AVX-512, or AVX2 with FMA and F16C. */
typedef struct x64_isa {
  bool has_evex;      /* AVX-512: EVEX encoding and mask registers; else VEX, and vectors of i1 are
                         vectors of integers whose lanes are all ones or zeros (x64_masks.c) */
  int vector_bits;    /* width of a register */
  int full_width;     /* vector length of a whole register: 1 or 2 (x86_vector_t.width) */
  int scratch_vector; /* first of the three scratch registers, which are the last ones */
  int hoisted_max;    /* most hoisted vectors that loops keep in registers besides their own */
  double spilled_max[X64_CLASS_COUNT]; /* largest spilled part of the weight (x64_regalloc.c) */
  bool spills_long;                    /* spills rather long intervals (x64_regalloc.c) */
  bool permutes_bytes;                 /* AVX512_VBMI */
  bool counts_bits;                    /* AVX512_VPOPCNTDQ and AVX512_BITALG */
} x64_isa_t;

/* The instructions of the module's target. */
const x64_isa_t *x64_isa(const kir_module_t *module);

/* Live range [from, to] of a value and its location. Instruction i reads at position 2i and writes
 * at 2i + 1. */
typedef struct live_interval {
  kir_value_t *value;
  x64_class_t kind;
  int from, to;       /* positions */
  int reg;            /* X86_NONE: spilled */
  int hint;           /* interval whose register would save a move; X86_NONE: none */
  int64_t slot;       /* stack slot: bytes below the top of the frame; 0: none */
  double weight;      /* spill cost: accesses times 10^loop depth */
  uint32_t forbidden; /* bit set of registers clobbered by calls within the range */
  bool is_saved;      /* saved around calls of external functions, which are rare */
} live_interval_t;

/* A vector constant that may get a register for the whole function. */
typedef struct pinned_const {
  kir_value_t *value;
  double weight;
  int reg; /* X86_NONE: no register was free */
} pinned_const_t;

/* Results of the phases for an instruction or a parameter. */
typedef struct x64_node {
  int interval; /* index of its interval; X86_NONE: no result in a register */
  int position;
  bool is_folded;       /* selected as part of its users, without a register */
  int64_t frame_offset; /* ALLOCA: bytes below the top of the frame */
} x64_node_t;

/* First and last position of a block. */
typedef struct block_range {
  int from, to;
} block_range_t;

/* A function as seen by its callers. */
typedef struct x64_function {
  int symbol;          /* index in the object's symbol table */
  size_t offset, size; /* bytes, in the code section */
  bool is_compiled;
  uint32_t clobbered[X64_CLASS_COUNT]; /* bit sets of registers; valid once compiled */
} x64_function_t;

typedef struct x64_code {
  hr_arena_t *arena;
  const x64_isa_t *isa;
  x86_t x;
  kir_function_t *function;
  x64_function_t *functions; /* functions of the module, by index */
  kir_cfg_t cfg;
  kir_use_t *uses;       /* by value id */
  x64_node_t *nodes;     /* by value id */
  block_range_t *ranges; /* by block index */
  int *labels;           /* by block index */
  live_interval_t
      *intervals; /* followed by X64_ARGUMENTS_MAX spare ones for moves into argument registers */
  int interval_count;
  pinned_const_t *pinned;
  int pinned_count;
  int64_t frame_bytes;
  bool calls;           /* contains calls */
  bool preserves_all;   /* preserves all vector and mask registers around external calls */
  int64_t preserved_at; /* frame offset of the preserved registers, in bytes */
  uint32_t clobbered[X64_CLASS_COUNT]; /* bit sets of the registers clobbered by callees */
  uint32_t used[X64_CLASS_COUNT];      /* bit sets of the allocated registers */
  const char *unsupported;             /* reason to leave the module to LLVM; NULL: none */
} x64_code_t;

/* Constants and functions share the entry of id 0, which is meaningless. */
static inline x64_node_t *x64_node(const x64_code_t *code, const kir_value_t *value) {
  return &code->nodes[value->id];
}

static inline live_interval_t *x64_interval(const x64_code_t *code, const kir_value_t *value) {
  return &code->intervals[x64_node(code, value)->interval];
}

/* Is the callee outside the module, or not compiled yet? It may then clobber all registers except
 * the callee-saved ones. */
bool x64_calls_external(const x64_code_t *code, const kir_value_t *call);

/* Is the function an inner function, which returns a value? Inner functions preserve all vector and
 * mask registers of their callers around external calls. */
static inline bool x64_preserves_vectors(const kir_function_t *function) {
  return function->type->element->kind != KIR_TYPE_VOID;
}

/* Scratch mask register of x64_select, which is never allocated; nor are ax, cx and dx, nor the
 * vector registers from x64_isa_t.scratch_vector on. */
#define X64_SCRATCH_MASK 7

#define X64_SLOT_BYTES 64    /* size of a spilled value */
#define X64_ARGUMENTS_MAX 16 /* registers of a call's arguments, including its target */

hr_status_t x64_prepare(x64_code_t *code);
hr_status_t x64_remove_masks(x64_code_t *code);
hr_status_t x64_legalize(x64_code_t *code);
hr_status_t x64_schedule(x64_code_t *code);
hr_status_t x64_find_liveness(x64_code_t *code);
hr_status_t x64_allocate_registers(x64_code_t *code);
hr_status_t x64_select(x64_code_t *code);

/* Can the shuffle of x and y be selected without expansion? */
bool x64_has_shuffle(kir_value_t *x, kir_value_t *y, const kir_value_t *mask);

/* Is it a gather whose active lanes are known? Such lanes are loaded one by one. */
bool x64_gathers_by_lane(const kir_type_t *type, const kir_value_t *pointers,
                         const kir_value_t *mask);
/* The scalar s if the indices are splat(s) + constant; else NULL. The gather adds s to its
 * addresses. */
kir_value_t *x64_number_of_indices(const kir_value_t *indices);

x64_class_t x64_class_of(const kir_type_t *type);

/* Calls `each` for every value that an instruction reads from a register. Folded operands are
 * replaced by their own operands; constants and arguments of phis are skipped. */
typedef void (*x64_operand_fn)(x64_code_t *code, kir_value_t *read, void *context);
void x64_each_operand(x64_code_t *code, kir_value_t *instr, x64_operand_fn each, void *context);

/* Is the select equivalent to VMIN or VMAX? */
bool x64_is_min_max(const kir_value_t *select);
/* Is the comparison of integers made from the complement (AVX2)? */
bool x64_compares_inverted(const kir_value_t *compare);
/* Is it VSCALEF? */
static inline bool x64_is_scaling(const kir_value_t *value) {
  return value->op == KIR_SCALEF_PS || value->op == KIR_SCALEF_PD;
}
/* Is it x << a | x >> (bits - a), a rotation? */
bool x64_is_rotate(const x64_code_t *code, const kir_value_t *either);
/* The vector constant that the instruction reads as argument k; NULL: none. */
kir_value_t *x64_constant_operand(const kir_value_t *instr, int k);

#endif
