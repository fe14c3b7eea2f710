/* The two records that kernels pass to the transport. They are declared here, as kernels and
 * transport do not include each other. */
#ifndef HR_BASE_COMM_TYPES_H
#define HR_BASE_COMM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Bytes sent to, or received from, one member of a group. */
typedef struct hr_block {
  void *data;
  size_t size_bytes;
} hr_block_t;

/* Combination function of a reduction and its properties. The transport determines the order of
 * application (transport/core/collective.h).
 * Units:   counts in elements; element_bytes and acc_bytes per element.
 * Wide accumulators: partial sums of a narrow float may have a wider type than the transferred
 * elements. `widen` initialises the accumulators with the first member's elements, `reduce` adds
 * elements to them, `narrow` rounds once at the end.
 * Thread:  that of the endpoint, unless any_thread is set; never two at a time. */
typedef struct hr_reducer {
  /* acc[i] = f(acc[i], in[i]) for i < count; the accumulator is always the first operand of f. */
  hr_status_t (*reduce)(void *context, void *acc, const void *in, int64_t count);
  void *context;       /* first argument of all four functions; borrowed */
  bool is_reorderable; /* associative and commutative except for rounding; false with wide
                          accumulators */
  bool any_thread;     /* does not use the caller's environment */
  /* Left fold of several arrays, at least two: out[i] = f(f(in[0][i], in[1][i]), in[2][i]) ... out
   * may be in[0] and overlaps no other. NULL: use reduce; always NULL with wide accumulators. */
  hr_status_t (*combine)(void *context, void *out, const void *const *in, int arrays,
                         int64_t count);
  size_t element_bytes;
  size_t acc_bytes; /* 0: accumulators are elements, and widen and narrow are NULL */
  void (*widen)(void *context, const void *in, void *acc, int64_t count);
  void (*narrow)(void *context, const void *acc, void *out, int64_t count);
} hr_reducer_t;

#endif
