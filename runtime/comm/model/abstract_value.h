/* What the checker knows of a value: the value itself, or a number that stands for it: two
 * processes that hold the same number hold the same value, whatever it is. */
#ifndef CHECK_ABSTRACT_VALUE_H
#define CHECK_ABSTRACT_VALUE_H

#include "ir/module.h"

typedef enum check_value_kind {
  CHECK_UNKNOWN,
  CHECK_INT,
  CHECK_ARRAY,
  CHECK_TUPLE
} check_value_kind_t;

typedef struct check_value {
  uint8_t kind;
  uint8_t dtype; /* INT */
  bool varies;   /* UNKNOWN: may differ between processes */
  uint64_t
      deps; /* bit k: derived from element k of the innermost unrolled state; see comm_trace.c */
  union {
    uint64_t symbol;           /* UNKNOWN */
    int64_t integer;           /* INT: a scalar of an integer type or pred */
    hlo_value_t *array;        /* ARRAY */
    struct check_tuple *tuple; /* TUPLE */
  };
  const hlo_instr_t *cause; /* UNKNOWN: the instruction that nothing is known of */
} check_value_t;

typedef struct check_tuple {
  int references, count;
  check_value_t elements[];
} check_tuple_t;

check_value_t check_value_retain(check_value_t value);
void check_value_release(check_value_t *value); /* leaves it UNKNOWN */
hr_status_t check_value_tuple(int count, const check_value_t *elements,
                              check_value_t *out_value); /* retains them */
/* Equal for equal values. */
uint64_t check_value_symbol(const check_value_t *value);
uint64_t check_value_deps(const check_value_t *value);
/* Merges what is unknown of `from` into an unknown value: symbol, deps and cause. */
void check_value_blame(check_value_t *into, const check_value_t *from);
/* Element k, retained; of an unknown value an unknown one. */
check_value_t check_value_element(const check_value_t *value, int k);
bool check_value_is_known(const check_value_t *value); /* all of it */
/* To and from the kernels' values. `value` must be an INT or an ARRAY. */
hr_status_t check_value_to_array(const check_value_t *value, hlo_value_t **out_array);
/* Takes the reference of `array`. */
hr_status_t check_value_from_array(hlo_value_t *array, check_value_t *out_value);

uint64_t check_mix(uint64_t a, uint64_t b); /* combines two hashes, in order */

#endif
