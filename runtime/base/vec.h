/* Growing arrays: HR_VEC(int64_t) v = {0}; HR_VEC_PUSH(&v, 7); v.data[0]; HR_VEC_FREE(&v). */
#ifndef HR_BASE_VEC_H
#define HR_BASE_VEC_H

#include "base/mem.h"

#define HR_VEC(type)        \
  struct {                  \
    type *data;             \
    size_t count, capacity; \
  }

/* An expression of type hr_status_t. */
#define HR_VEC_RESERVE(vec, wanted)                                                           \
  ((size_t)(wanted) <= (vec)->capacity                                                        \
       ? NULL                                                                                 \
       : hr_vec_grow((void **)&(vec)->data, &(vec)->capacity, (vec)->count, (size_t)(wanted), \
                     sizeof *(vec)->data))

/* A statement that returns the failure from the current function. */
#define HR_VEC_PUSH(vec, ...)                        \
  do {                                               \
    HR_TRY(HR_VEC_RESERVE((vec), (vec)->count + 1)); \
    (vec)->data[(vec)->count++] = (__VA_ARGS__);     \
  } while (0)

#define HR_VEC_FREE(vec)                                    \
  do {                                                      \
    hr_free((vec)->data);                                   \
    (vec)->data = NULL, (vec)->count = (vec)->capacity = 0; \
  } while (0)

static inline hr_status_t hr_vec_grow(void **data, size_t *capacity, size_t count, size_t wanted,
                                      size_t each) {
  size_t grown = *capacity ? *capacity * 2 : 8, bytes;
  if (grown < wanted) grown = wanted;
  HR_TRY(hr_size_product(grown, each, &bytes));
  HR_TRY(hr_realloc(data, count * each, bytes));
  *capacity = grown;
  return NULL;
}

#endif
