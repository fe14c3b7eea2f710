/* The arrays of a computation and their readers, for order_for_memory.c. */
#ifndef PASS_ORDER_BUFFERS_H
#define PASS_ORDER_BUFFERS_H

#include "passes/lib/pass_rewrite.h"

/* An array made by an instruction: one leaf of its shape. */
typedef struct order_buffer {
  int64_t bytes;
  uint32_t first, count; /* range of order_buffers_t.users */
  bool stays;            /* a result of the computation: never freed */
} order_buffer_t;

typedef struct order_buffers {
  const hlo_computation_t *computation;
  order_buffer_t *buffers;
  uint32_t *made;  /* by instruction id, plus one: number of its first buffer */
  uint32_t *users; /* ids of the instructions that read a buffer, also through views; each once,
                      ascending */
  uint32_t *read_first, *read; /* by instruction id: buffers that it reads */
} order_buffers_t;

/* Lists live in the arena. Errors: NO_MEMORY. */
hr_status_t order_buffers_find(hr_arena_t *arena, const hlo_computation_t *computation,
                               order_buffers_t *out_buffers);
/* The most bytes alive at once in this order. inside: by instruction id, bytes that an instruction
 * needs while it runs. */
int64_t order_peak(hr_arena_t *arena, const order_buffers_t *buffers, const uint32_t *order,
                   const int64_t *inside);

#endif
