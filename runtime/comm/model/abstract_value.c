/* Values of the abstract interpreter: known integers, known arrays, tuples, and symbols. Symbols
 * are 64-bit hashes; the proofs assume that no two different values collide. Tuples are refcounted
 * and never change. Thread: one. */
#include "comm/model/abstract_value.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

/* An order-dependent hash of two numbers. */
uint64_t check_mix(uint64_t a, uint64_t b) {
  uint64_t both[2] = {a, b};
  return hr_hash_bytes(both, sizeof both, UINT64_C(0x51ed270b));
}

check_value_t check_value_retain(check_value_t value) {
  if (value.kind == CHECK_ARRAY) hlo_value_retain(value.array);
  if (value.kind == CHECK_TUPLE) value.tuple->references++;
  return value;
}

void check_value_release(check_value_t *value) {
  if (value->kind == CHECK_ARRAY) hlo_value_release(value->array);
  if (value->kind == CHECK_TUPLE && --value->tuple->references == 0) {
    for (int k = 0; k < value->tuple->count; k++) check_value_release(&value->tuple->elements[k]);
    hr_free(value->tuple);
  }
  *value = (check_value_t){.kind = CHECK_UNKNOWN};
}

/* Retains the elements. */
hr_status_t check_value_tuple(int count, const check_value_t *elements, check_value_t *out_value) {
  void *memory;
  HR_TRY(hr_alloc(sizeof(check_tuple_t) + (size_t)count * sizeof *elements, &memory));
  check_tuple_t *tuple = memory;
  tuple->references = 1;
  tuple->count = count;
  for (int k = 0; k < count; k++) tuple->elements[k] = check_value_retain(elements[k]);
  *out_value = (check_value_t){.kind = CHECK_TUPLE, .tuple = tuple};
  return NULL;
}

/* Equal symbols mean equal values: known values are hashed, unknown ones have the symbol of their
 * origin. */
uint64_t check_value_symbol(const check_value_t *value) {
  switch (value->kind) {
    case CHECK_INT:
      return check_mix(value->dtype + 1, (uint64_t)value->integer);
    case CHECK_ARRAY:
      return hr_hash_bytes(value->array->data, hlo_value_bytes(value->array), value->array->dtype);
    case CHECK_TUPLE: {
      uint64_t symbol = 17;
      for (int k = 0; k < value->tuple->count; k++)
        symbol = check_mix(symbol, check_value_symbol(&value->tuple->elements[k]));
      return symbol;
    }
    default:
      return value->symbol;
  }
}

/* Union over tuples. */
uint64_t check_value_deps(const check_value_t *value) {
  uint64_t deps = value->deps;
  if (value->kind == CHECK_TUPLE)
    for (int k = 0; k < value->tuple->count; k++)
      deps |= check_value_deps(&value->tuple->elements[k]);
  return deps;
}

/* Tuples are merged element by element. A cause that varies between processes replaces one that
 * does not, as reports name the reason of a difference. */
void check_value_blame(check_value_t *into, const check_value_t *from) {
  into->deps |= from->deps;
  if (from->kind == CHECK_TUPLE) {
    for (int k = 0; k < from->tuple->count; k++) check_value_blame(into, &from->tuple->elements[k]);
    return;
  }
  into->symbol = check_mix(into->symbol, check_value_symbol(from));
  if (from->kind != CHECK_UNKNOWN) return;
  if (!into->cause || (from->varies && !into->varies)) into->cause = from->cause;
  into->varies |= from->varies;
}

/* An element of an unknown tuple has its own symbol, a hash of the tuple's and the index. */
check_value_t check_value_element(const check_value_t *value, int k) {
  if (value->kind == CHECK_TUPLE && k < value->tuple->count)
    return check_value_retain(value->tuple->elements[k]);
  check_value_t element = *value;
  element.kind = CHECK_UNKNOWN;
  element.symbol = check_mix(check_value_symbol(value), (uint64_t)k + 1);
  return element;
}

/* A tuple is known if all its elements are. */
bool check_value_is_known(const check_value_t *value) {
  if (value->kind == CHECK_TUPLE) {
    for (int k = 0; k < value->tuple->count; k++)
      if (!check_value_is_known(&value->tuple->elements[k])) return false;
    return true;
  }
  return value->kind != CHECK_UNKNOWN;
}

hr_status_t check_value_to_array(const check_value_t *value, hlo_value_t **out_array) {
  if (value->kind == CHECK_ARRAY) {
    *out_array = hlo_value_retain(value->array);
    return NULL;
  }
  HR_TRY(hlo_value_array(value->dtype, 0, NULL, out_array));
  memcpy((*out_array)->data, &value->integer,
         hr_dtype_bytes(value->dtype)); /* little-endian, like all of hlorun */
  return NULL;
}

/* Scalars become INT, so that most control flow needs no arrays; tuples and tokens from kernels
 * become unknown. */
hr_status_t check_value_from_array(hlo_value_t *array, check_value_t *out_value) {
  bool scalar = array->rank == 0 && (hr_dtype_is_integer(array->dtype) || array->dtype == HR_PRED);
  if (array->dtype == HR_TUPLE || array->dtype == HR_TOKEN) {
    hlo_value_release(array);
    *out_value = (check_value_t){.kind = CHECK_UNKNOWN};
  } else if (!scalar) {
    *out_value = (check_value_t){.kind = CHECK_ARRAY, .array = array};
  } else {
    *out_value = (check_value_t){
        .kind = CHECK_INT, .dtype = array->dtype, .integer = hlo_value_int_at(array, 0)};
    hlo_value_release(array);
  }
  return NULL;
}
