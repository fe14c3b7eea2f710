/* Own code on its way to machine code: what its steps share. A function goes through them one after the other:
 *   own_order      blocks in the order of the code, what nobody wants left out, what becomes part of its users
 *   own_split      (in own_order) vectors that registers have
 *   own_common     (in own_order) what is computed more often than it changes
 *   own_late       (in own_order) instructions down to where they are needed
 *   own_live       from where to where each value is needed
 *   own_registers  a register or a place on the stack for each value
 *   own_select     instructions */
#ifndef JIT_OWN_CODE_H
#define JIT_OWN_CODE_H

#include "jit/own_ir.h"
#include "jit/own_x86.h"
#include "jit/target.h"

typedef enum own_class { OWN_GENERAL, OWN_VECTORS, OWN_MASKS, OWN_CLASSES } own_class_t;

/* Where a value is from its definition to its last use. */
typedef struct own_home {
  own_value_t *value;
  own_class_t kind;
  int from, to;   /* positions: an instruction reads at an even one and writes at the odd one after it */
  int reg;        /* X86_NONE: on the stack */
  int hint;       /* number of a value whose register suits; X86_NONE */
  int64_t slot;   /* below the frame's top, in bytes; 0: none */
  double weight;  /* how often it is touched */
  uint32_t refused; /* registers that calls change while it is needed */
  bool is_saved;    /* on the stack while functions elsewhere run: they are called where it is slow anyway */
} own_home_t;

/* A constant that vectors compute with, in a register for the whole function if there is one left. */
typedef struct own_kept {
  own_value_t *value;
  double weight;
  int reg;
} own_kept_t;

typedef struct own_code {
  hr_arena_t *arena;
  x86_t x;
  own_function_t *function;
  own_block_t **order;
  int block_count;
  own_home_t *homes; /* by number; then as many as a call has arguments, for moves to where those go */
  int home_count;
  own_kept_t *kept;
  int kept_count;
  int64_t frame_bytes;
  bool calls;        /* others */
  bool keeps_all;    /* vectors and masks that it does not use itself, when it calls functions elsewhere */
  int64_t kept_at;   /* where those are: the frame's bytes up to them */
  uint32_t changed[OWN_CLASSES]; /* registers that those change */
  uint32_t used[OWN_CLASSES]; /* registers, as bits */
  int *labels;       /* by a block's index */
  const char *lacks; /* what has no code here; NULL: nothing */
} own_code_t;

/* Of a function whose code is not made here, which may change all registers but a few general ones? */
bool own_calls_elsewhere(const own_value_t *call);

/* Does it give a value to own code, which goes on with its registers? It calls functions elsewhere where it is slow
 * anyway, and keeps all vectors and masks for its caller then. */
static inline bool own_keeps_vectors(const own_function_t *function) {
  return function->type->element->kind != LLVMVoidTypeKind;
}

/* Registers that own_select computes in, between reading and writing. */
#define OWN_SCRATCH_VECTOR 29 /* this and the two after it */
#define OWN_SCRATCH_MASK 7
/* ax, cx and dx, too. */

#define OWN_VECTOR_BITS 512 /* of a register */
#define OWN_SLOT_BYTES 64  /* of a value on the stack */
#define OWN_ARGUMENTS 8 /* of a call, and what is called */

hr_status_t own_order(own_code_t *code);
hr_status_t own_split(own_code_t *code);
hr_status_t own_common(own_code_t *code);
void own_late(own_code_t *code);
hr_status_t own_live(own_code_t *code);
hr_status_t own_registers(own_code_t *code);
hr_status_t own_select(own_code_t *code);

/* Has the processor, which is the one that the code is for, an instruction that puts bytes in any order? */
bool own_orders_bytes(void);

own_class_t own_class_of(const own_type_t *type);
static inline bool own_is_truth(const own_type_t *type) { return type->bits == 1; }
static inline bool own_has_result(const own_value_t *value) { return value->type->kind != LLVMVoidTypeKind; }

/* Does it compute from its arguments alone, and nothing else? */
bool own_is_plain(const own_value_t *instr);
/* Takes it from its block. */
void own_unlink(own_value_t *instr);
/* Each instruction reads what there is instead of its arguments. */
void own_read_instead(own_code_t *code);

/* Calls `each` for the values that an instruction reads: in place of those that are a part of it, what they read.
 * Constants are left out; so are arguments of phis. */
typedef void (*own_read_fn)(own_code_t *code, own_value_t *read, void *context);
void own_each_read(own_code_t *code, own_value_t *instr, own_read_fn each, void *context);

/* Is the choice one of an extreme, which is one instruction? */
bool own_is_extreme(const own_value_t *choice);
/* Is it an or of x shifted up and x shifted down that turns x around? */
bool own_is_rotation(const own_value_t *either);
/* What the code of an instruction reads of argument k, if it is a constant for vectors; else NULL. */
own_value_t *own_constant_read(const own_value_t *instr, int k);

#endif
