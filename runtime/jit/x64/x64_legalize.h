/* What the files of x64_legalize.c share: values and the parts that they are split into. */
#ifndef JIT_X64_LEGALIZE_H
#define JIT_X64_LEGALIZE_H

#include "jit/x64/x64_code.h"

/* The parts of a split value. */
typedef struct parts {
  kir_value_t **of; /* NULL: the value is not split */
  unsigned lanes;   /* lanes of each part; the last part may have fewer */
} parts_t;

typedef struct split {
  x64_code_t *code;
  kir_module_t *module;
  kir_builder_t *builder; /* positioned before the instruction being split */
  kir_replacements_t replacements;
  parts_t *parts; /* parts by id of the original values */
} split_t;

bool x64_is_illegal(const kir_type_t *type);
unsigned x64_legal_lanes(const kir_type_t *type);
/* Lanes of the part that begins at `first`, of `lanes` lanes in all and `at_once` in a part. */
unsigned x64_part_lanes(unsigned lanes, unsigned at_once, unsigned first);

static inline kir_type_t *x64_part_type(kir_type_t *type, unsigned lanes) {
  return kir_is_vector(type) ? kir_vector_type(type->element, lanes) : type;
}

/* Lanes [first, first + lanes) of a value, split or not. Requires: `lanes` is a power of two and
 * divides `first`. Lanes beyond the value's last one are unspecified. */
kir_value_t *x64_lanes_of(split_t *s, kir_value_t *value, unsigned first, unsigned lanes);
/* Allocates and registers the list of a value's parts. */
kir_value_t **x64_new_parts(split_t *s, const kir_value_t *value, unsigned lanes);
/* Unlinks the instruction. A result of legal type is joined from its parts, since its users may not
 * be split. */
void x64_replace_by_parts(split_t *s, kir_value_t *instr);

/* x64_legalize_calls.c */
void x64_split_parameters(split_t *s);
void x64_split_call(split_t *s, kir_value_t *call);
void x64_split_return(split_t *s, kir_value_t *instr);

#endif
