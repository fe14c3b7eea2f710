/* Origin of a value: the instructions of the unoptimised program that computed its leaves. */
#ifndef HLO_IR_ORIGIN_H
#define HLO_IR_ORIGIN_H

#include "ir/module.h"

struct hlo_origin {
  bool synthetic_call; /* [synthetic_call]: other members are unused */
  bool is_tuple;       /* a tuple of the value's shape; else a leaf */
  bool known;          /* the leaf names an instruction */
  int element_count;
  const hlo_origin_t *const *elements;
  hr_str_t instruction;
  hr_ints_t index; /* tuple index within that instruction's value */
};

/* Prints as in origin={...}, without the outer braces. */
void hlo_origin_print(hr_strbuf_t *text, const hlo_origin_t *origin);

#endif
