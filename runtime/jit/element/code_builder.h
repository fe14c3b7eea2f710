/* A module of the kernel IR under construction, and shorthands for frequent code. Operands are
 * scalars or vectors of any width; "like" arguments give the type. Thread: a module belongs to one
 * thread at a time. */
#ifndef JIT_CODE_BUILDER_H
#define JIT_CODE_BUILDER_H

#include <stdint.h>

#include "jit/kir/kir.h"
#include "jit/target.h"

/* The last quotient that was written. */
typedef struct jit_division {
  const kir_value_t *a, *b;
  kir_value_t *quotient;
  const kir_block_t *block;
  bool is_signed;
} jit_division_t;

typedef struct jit_code {
  const jit_target_t *target;
  kir_module_t *module;
  kir_builder_t *builder;
  struct jit_function_part
      *function_part; /* enclosing function of inlined kernels; NULL: each kernel is a function */
  jit_division_t division;
} jit_code_t;

/* Starts an empty module. lowering: its back end. Errors: NO_MEMORY. */
hr_status_t jit_code_init(jit_code_t *code, const jit_target_t *target,
                          const kir_target_t *lowering, const char *name);
void jit_code_deinit(jit_code_t *code); /* accepts a zeroed struct */

/* --- types ------------------------------------------------------------------------------------ */

int jit_lanes(const kir_type_t *type);         /* 1 for a scalar type */
kir_type_t *jit_scalar_type(kir_type_t *type); /* element type of a vector; else the type itself */
/* The type with this element and as many lanes as `like`. */
kir_type_t *jit_type_like(kir_type_t *element, const kir_type_t *like);
kir_type_t *jit_vector_type(kir_type_t *element, int lanes); /* a scalar type for one lane */
int jit_element_bits(const kir_type_t *type); /* bits of one element: 32 for <8 x float> */
kir_type_t *jit_integer_like(
    const kir_type_t *type); /* integers with the width and lanes of the float type */

/* --- constants, the same in every lane -------------------------------------------------------- */

kir_value_t *jit_real(kir_type_t *type, double value);
kir_value_t *jit_int(kir_type_t *type, int64_t value);
kir_value_t *jit_splat_constant(kir_type_t *type, kir_value_t *scalar);
/* Broadcasts a scalar to a vector type; returns it unchanged for a scalar type. */
kir_value_t *jit_splat(jit_code_t *code, kir_type_t *type, kir_value_t *scalar);

/* --- calls ------------------------------------------------------------------------------------ */

/* jit_intrinsic(code, KIR_FMA, type, {a, b, c}, 3); type: as kir_intrinsic. */
kir_value_t *jit_intrinsic(jit_code_t *code, kir_op_t op, kir_type_t *type,
                           kir_value_t *const *arguments, int count);
/* An internal function of the module, with vectors in registers; never inlined. *out_inner: the
 * same code, positioned at the function's start. */
kir_value_t *jit_inner_function(jit_code_t *code, const char *name, kir_type_t *signature,
                                jit_code_t *out_inner);

/* Applies an elementwise computation to `count` operands of one type. `emit` is called for values
 * of at most `vectors` of the target's registers, as often as needed. */
typedef kir_value_t *(*jit_lanes_fn)(jit_code_t *code, const void *context, kir_value_t **args);
kir_value_t *jit_by_vectors(jit_code_t *code, jit_lanes_fn emit, const void *context,
                            kir_value_t **args, int count, int vectors);

#endif
