/* Strided loops, planned once. A nest walks several arrays ("operands") of one index space
 * together; dimensions that can be merged are merged, those of size 1 dropped, and the order is the
 * one with the most contiguous inner row. The innermost dimension is left to the caller as a row,
 * so that typed loop bodies see plain (count, stride) runs.
 *
 *   loop_nest_t nest;
 *   loop_nest_init(&nest, rank, dims, 3, strides_bytes, LOOP_ANY_ORDER);
 *   char *at[3] = {out, a, b};
 *   for (loop_row_t row = loop_first(&nest, at); row.live; loop_next(&nest, &row))
 *     body(nest.row_count, row.at, nest.row_strides);
 *
 * Cost of planning: rank^2; of walking: one carry per row. Units: strides in bytes, may be 0 or
 * negative. */
#ifndef HLO_OPS_STRIDED_LOOPS_H
#define HLO_OPS_STRIDED_LOOPS_H

#include <string.h>

#include "ir/shape.h"

#define LOOP_MAX_OPERANDS 6

typedef enum loop_order {
  LOOP_ANY_ORDER,    /* dimensions may be permuted: the visits commute */
  LOOP_PROGRAM_ORDER /* the last dimension stays innermost; dimensions may only be merged */
} loop_order_t;

typedef struct loop_nest {
  int rank; /* number of loops around the row, after merging */
  int operand_count;
  bool empty;        /* some dimension is 0: no row is visited */
  int64_t row_count; /* elements of a row, >= 1 unless empty */
  int64_t row_strides[LOOP_MAX_OPERANDS];
  int64_t dims[HLO_MAX_RANK]; /* trip counts of the outer loops, outermost first */
  int64_t strides[LOOP_MAX_OPERANDS][HLO_MAX_RANK];
} loop_nest_t;

/* strides[k] has `rank` entries for operand k. */
void loop_nest_init(loop_nest_t *nest, int rank, const int64_t *dims, int operand_count,
                    const int64_t *const *strides, loop_order_t order);

typedef struct loop_row {
  bool live;
  char *at[LOOP_MAX_OPERANDS]; /* start of the row in each operand */
  int64_t index[HLO_MAX_RANK]; /* current iteration of each outer loop */
} loop_row_t;

loop_row_t loop_first(const loop_nest_t *nest, char *const *starts);
void loop_next(const loop_nest_t *nest, loop_row_t *row);

/* The same walk as offsets from the operands' starts, in the unit of the strides: for kernels that
 * walk arrays of different element sizes at the same positions. */
typedef struct loop_walk {
  bool live;
  int64_t at[LOOP_MAX_OPERANDS];
  int64_t index[HLO_MAX_RANK];
} loop_walk_t;

loop_walk_t loop_walk_first(const loop_nest_t *nest);
void loop_walk_next(const loop_nest_t *nest, loop_walk_t *walk);
/* Number of rows of the nest, and the walk at row number n: for workers that start in the
 * middle. */
int64_t loop_row_total(const loop_nest_t *nest);
loop_walk_t loop_walk_at(const loop_nest_t *nest, int64_t n);
/* Number of rows from here on, at most `most`, at constant distances: the strides of the nest's
 * last dimension. */
int64_t loop_walk_even(const loop_nest_t *nest, const loop_walk_t *walk, int64_t most);
/* Advances past `rows` such rows. */
void loop_walk_skip(const loop_nest_t *nest, loop_walk_t *walk, int64_t rows);

/* Strides in bytes of a dense row-major array; meaningless if the array is empty. */
void loop_dense_strides(int rank, const int64_t *dims, int64_t element_bytes, int64_t *out_strides);
/* The same for an array of this shape. */
static inline void loop_shape_strides(const hlo_shape_t *shape, int64_t *out_strides) {
  int64_t element_bytes = (int64_t)hr_dtype_bytes(shape->dtype);
  loop_dense_strides(shape->rank, shape->dims, element_bytes, out_strides);
}

/* Copies elements of 1, 2, 4, 8 or 16 bytes between two strided arrays of the same index space;
 * used by transpose, slice, pad, concatenate, broadcast (source stride 0), reverse (negative
 * stride). If the dense dimensions of the two differ, the copy is made in square tiles, so that
 * every cache line is used as a whole. */
typedef struct loop_copy {
  loop_nest_t nest; /* operand 0: destination, 1: source */
  int element_bytes;
  int64_t cross_count;  /* length of the dimension along which the source is dense, removed from the
                           nest; 0: no tiles */
  int64_t cross_stride; /* destination's stride along that dimension, in bytes */
} loop_copy_t;
void loop_copy_init(loop_copy_t *copy, int element_bytes, int rank, const int64_t *dims,
                    const int64_t *to_strides, const int64_t *from_strides);
void loop_copy_run(const loop_copy_t *copy, void *to, const void *from);
/* Copies rows begin .. end - 1 of the nest (of loop_row_total): one worker's part. */
void loop_copy_part(const loop_copy_t *copy, void *to, const void *from, int64_t begin,
                    int64_t end);
/* Copies one row: count elements, strides in bytes. */
void loop_copy_row(void *to, const void *from, int64_t count, int64_t to_stride,
                   int64_t from_stride, int element_bytes);
/* Rows of so many bytes are copied by loops of 16 bytes, in less time than a call of memcpy
 * takes. */
enum { LOOP_SHORT_LEAST = 16, LOOP_SHORT_MOST = 256 };
static inline void loop_copy_short(char *to, const char *from, int64_t bytes) {
  for (int64_t at = 0; at + 16 <= bytes; at += 16) memcpy(to + at, from + at, 16);
  memcpy(to + bytes - 16, from + bytes - 16, 16);
}
/* True if the source of every element directly follows that of the one before: the copy is one
 * contiguous run. */
bool loop_copy_is_run(const loop_copy_t *copy);
/* Writes an element `count` times, contiguously. */
void loop_fill(void *to, const void *element, int element_bytes, int64_t count);

#endif
