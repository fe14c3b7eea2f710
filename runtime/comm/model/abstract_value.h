/* Abstract values: a known value, or a symbol. Processes with equal symbols hold equal values,
 * whatever these are.
 * Owner:   tuples and arrays are refcounted.
 * Thread:  one. */
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
  uint64_t deps; /* bit k: derived from element k of the innermost loop state; see
                    comm_trace_control.c */
  union {
    uint64_t symbol;           /* UNKNOWN */
    int64_t integer;           /* INT: a scalar of an integer type or pred */
    hlo_value_t *array;        /* ARRAY */
    struct check_tuple *tuple; /* TUPLE */
  };
  const hlo_instr_t *cause; /* UNKNOWN: the instruction that made it unknown */
} check_value_t;

typedef struct check_tuple {
  int references, count;
  check_value_t elements[];
} check_tuple_t;

check_value_t check_value_retain(check_value_t value);
void check_value_release(check_value_t *value); /* sets it to UNKNOWN */
hr_status_t check_value_tuple(int count, const check_value_t *elements,
                              check_value_t *out_value); /* retains the elements */
/* Hash that is equal for equal values. */
uint64_t check_value_symbol(const check_value_t *value);
uint64_t check_value_deps(const check_value_t *value);
/* Merges symbol, deps and cause of `from` into the unknown value `into`. */
void check_value_blame(check_value_t *into, const check_value_t *from);
/* Element k as a new reference; unknown if the value is unknown. */
check_value_t check_value_element(const check_value_t *value, int k);
bool check_value_is_known(const check_value_t *value); /* including all elements */
/* Conversion to a kernel value, as a new reference. `value` must be an INT or an ARRAY. */
hr_status_t check_value_to_array(const check_value_t *value, hlo_value_t **out_array);
/* Conversion from a kernel value; consumes the reference. */
hr_status_t check_value_from_array(hlo_value_t *array, check_value_t *out_value);

uint64_t check_mix(uint64_t a, uint64_t b); /* combines two hashes, in order */

#endif
