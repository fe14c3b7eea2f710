/* Origin of a value: which instruction of the program before optimisation computed each of its
 * leaves. */
#ifndef HLO_IR_ORIGIN_H
#define HLO_IR_ORIGIN_H

#include "ir/module.h"

struct hlo_origin {
  bool synthetic_call; /* [synthetic_call]: no other member counts */
  bool is_tuple;       /* mirrors a tuple of the value's shape */
  bool known;          /* a leaf that names an instruction */
  int element_count;
  const hlo_origin_t *const *elements;
  hr_str_t instruction;
  hr_ints_t index; /* tuple index within that instruction's value */
};

/* Prints as in origin={...}, without the outer braces. */
void hlo_origin_print(hr_strbuf_t *text, const hlo_origin_t *origin);

#endif
