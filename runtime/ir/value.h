/* Values: constants of a program and results of computations. A value is an array in row-major
 * order, a tuple of values, or a token. An array has its actual sizes, also in dynamic dimensions.
 * Refcounted; the data of a value with several references are never written. Thread: any for
 * reference counts. */
#ifndef HLO_IR_VALUE_H
#define HLO_IR_VALUE_H

#include "base/buffer.h"
#include "ir/shape.h"

typedef struct hlo_value hlo_value_t;
struct hlo_value {
  int references;   /* use hlo_value_retain and _release */
  hr_dtype_t dtype; /* HR_TUPLE, HR_TOKEN: no array */
  int rank;
  int element_count; /* tuple elements */
  int64_t count;     /* elements of an array: the product of dims */
  const int64_t *dims;
  void *data;          /* row-major, without gaps; NULL for tuples and tokens */
  hr_buffer_t *buffer; /* owner of the data */
  hlo_value_t **elements;
  int *leaf_starts; /* a tuple: leaves before each element, and all */
  /* Called instead of freeing when the last reference is dropped, for pools; NULL: none. */
  void (*recycle)(hlo_value_t *value);
  void *recycle_context;
};

/* An array whose contents are not yet defined. Errors: NO_MEMORY. */
hr_status_t hlo_value_array(hr_dtype_t dtype, int rank, const int64_t *dims,
                            hlo_value_t **out_value);
/* An array over bytes that already exist; retains the buffer. The data starts offset_bytes into it.
 */
hr_status_t hlo_value_over(hr_dtype_t dtype, int rank, const int64_t *dims, hr_buffer_t *buffer,
                           size_t offset_bytes, hlo_value_t **out_value);
/* A view of the bytes with other sizes or another type of equal total bytes: no copy. */
hr_status_t hlo_value_view(hlo_value_t *value, hr_dtype_t dtype, int rank, const int64_t *dims,
                           hlo_value_t **out_value);
hr_status_t hlo_value_tuple(int count, hlo_value_t *const *elements,
                            hlo_value_t **out_value); /* retains them */
hr_status_t hlo_value_token(hlo_value_t **out_value);
/* All-zero value of a static shape, tuples included. */
hr_status_t hlo_value_zeros(const hlo_shape_t *shape, hlo_value_t **out_value);

/* A deep copy, also of a tuple. */
hr_status_t hlo_value_copy(const hlo_value_t *value, hlo_value_t **out_value);

/* Writes zeros over the elements of an array, or of all arrays of a tuple. */
void hlo_value_clear(hlo_value_t *value);

hlo_value_t *hlo_value_retain(hlo_value_t *value);
void hlo_value_release(hlo_value_t *value); /* accepts NULL */
/* True if there is one reference to the value and to its buffer: the caller may overwrite it. */
bool hlo_value_is_exclusive(const hlo_value_t *value);

/* Bytes of an array; 0 for tuples and tokens. */
size_t hlo_value_bytes(const hlo_value_t *value);
/* True if the value has this shape; dynamic dimensions accept any size within the bound. */
bool hlo_value_fits(const hlo_value_t *value, const hlo_shape_t *shape);
/* The shape of a value, also of a tuple: type, actual sizes, default layout. Errors: NO_MEMORY. */
hr_status_t hlo_value_shape(hr_arena_t *arena, const hlo_value_t *value,
                            const hlo_shape_t **out_shape);
/* The shape of a value as text, cut with "..." if it is long; returns `into`. */
const char *hlo_value_shape_text(const hlo_value_t *value, char into[HLO_SHAPE_TEXT]);
bool hlo_value_equal(const hlo_value_t *a, const hlo_value_t *b); /* same type, sizes and bits */
int hlo_value_leaf_count(const hlo_value_t *value);
hlo_value_t *hlo_value_leaf(const hlo_value_t *value, int index); /* borrowed */
/* Builds a tuple tree of the given shape out of its leaves, in order; retains them. */
hr_status_t hlo_value_unflatten(const hlo_shape_t *shape, hlo_value_t *const *leaves,
                                hlo_value_t **out_value);

/* Element i of an array as an integer (any integer type or pred), sign- or zero-extended. */
int64_t hlo_value_int_at(const hlo_value_t *value, int64_t index);

#endif
