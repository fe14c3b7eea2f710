/* Planning of a nest: drop sizes of 1, sort dimensions by the output's strides (insertion sort, as
 * ranks are small), merge neighbours whose strides are multiples in all operands, and split off the
 * innermost as the row. Copies whose rows are dense in the destination only, as in a transpose, are
 * made in square tiles,
 *
 *     source dense along ->          destination dense along ->
 *       a b c d                        a e i
 *       e f g h          tile          b f j
 *       i j k l                        c g k
 *
 * so that both sides use whole cache lines. */
#include "ops/kernels/common/strided_loops.h"

#include <stdlib.h>
#include <string.h>

void loop_dense_strides(int rank, const int64_t *dims, int64_t element_bytes,
                        int64_t *out_strides) {
  int64_t stride = element_bytes;
  for (int d = rank - 1; d >= 0; d--) {
    out_strides[d] = stride;
    stride = (int64_t)((uint64_t)stride *
                       (uint64_t)dims[d]); /* may wrap, but only if another dimension is 0 */
  }
}

/* True if dimension a belongs outside dimension b: larger strides outside, by operand 0 (the
 * output), then the others. */
static bool belongs_outside(const loop_nest_t *nest, int a, int b) {
  for (int k = 0; k < nest->operand_count; k++) {
    int64_t sa = llabs(nest->strides[k][a]), sb = llabs(nest->strides[k][b]);
    if (sa != sb) return sa > sb;
  }
  return false;
}

static void swap_dims(loop_nest_t *nest, int a, int b) {
  int64_t size = nest->dims[a];
  nest->dims[a] = nest->dims[b];
  nest->dims[b] = size;
  for (int k = 0; k < nest->operand_count; k++) {
    int64_t stride = nest->strides[k][a];
    nest->strides[k][a] = nest->strides[k][b];
    nest->strides[k][b] = stride;
  }
}

static bool can_merge(const loop_nest_t *nest, int outer, int inner) {
  for (int k = 0; k < nest->operand_count; k++)
    if (nest->strides[k][outer] != nest->strides[k][inner] * nest->dims[inner]) return false;
  return true;
}

static void move_dim(loop_nest_t *nest, int from, int to) {
  nest->dims[to] = nest->dims[from];
  for (int k = 0; k < nest->operand_count; k++) nest->strides[k][to] = nest->strides[k][from];
}

/* Merges neighbouring dimensions that are contiguous in every operand. */
static void merge_dims(loop_nest_t *nest) {
  int kept = 0;
  for (int d = 1; d < nest->rank; d++) {
    if (can_merge(nest, kept, d)) {
      nest->dims[kept] *= nest->dims[d];
      for (int k = 0; k < nest->operand_count; k++) nest->strides[k][kept] = nest->strides[k][d];
    } else {
      move_dim(nest, d, ++kept);
    }
  }
  if (nest->rank) nest->rank = kept + 1;
}

void loop_nest_init(loop_nest_t *nest, int rank, const int64_t *dims, int operand_count,
                    const int64_t *const *strides, loop_order_t order) {
  *nest = (loop_nest_t){.operand_count = operand_count, .row_count = 1};
  for (int d = 0; d < rank; d++) {
    if (dims[d] == 0) {
      *nest = (loop_nest_t){.operand_count = operand_count, .empty = true};
      return;
    }
    if (dims[d] == 1) continue;
    nest->dims[nest->rank] = dims[d];
    for (int k = 0; k < operand_count; k++) nest->strides[k][nest->rank] = strides[k][d];
    nest->rank++;
  }
  if (order == LOOP_ANY_ORDER)
    for (int d = 1; d < nest->rank; d++)
      for (int e = d; e > 0 && belongs_outside(nest, e, e - 1); e--) swap_dims(nest, e, e - 1);
  merge_dims(nest);
  if (nest->rank == 0) return;
  int last = --nest->rank;
  nest->row_count = nest->dims[last];
  for (int k = 0; k < operand_count; k++) nest->row_strides[k] = nest->strides[k][last];
}

loop_row_t loop_first(const loop_nest_t *nest, char *const *starts) {
  loop_row_t row = {.live = !nest->empty};
  for (int k = 0; k < nest->operand_count; k++) row.at[k] = starts[k];
  return row;
}

/* Increments the index and gives the distance that each operand moves; false at the end, with the
 * index reset. */
static bool count_on(const loop_nest_t *nest, int64_t *index, int64_t *offsets) {
  for (int k = 0; k < nest->operand_count; k++) offsets[k] = 0;
  for (int d = nest->rank - 1; d >= 0; d--) {
    bool more = ++index[d] < nest->dims[d];
    int64_t steps =
        more ? 1 : 1 - nest->dims[d]; /* forward, or back to the start of this dimension */
    for (int k = 0; k < nest->operand_count; k++) offsets[k] += steps * nest->strides[k][d];
    if (more) return true;
    index[d] = 0;
  }
  return false;
}

void loop_next(const loop_nest_t *nest, loop_row_t *row) {
  int64_t offsets[LOOP_MAX_OPERANDS];
  row->live = count_on(nest, row->index, offsets);
  for (int k = 0; k < nest->operand_count; k++) row->at[k] += offsets[k];
}

loop_walk_t loop_walk_first(const loop_nest_t *nest) { return (loop_walk_t){.live = !nest->empty}; }

void loop_walk_next(const loop_nest_t *nest, loop_walk_t *walk) {
  int64_t offsets[LOOP_MAX_OPERANDS];
  walk->live = count_on(nest, walk->index, offsets);
  for (int k = 0; k < nest->operand_count; k++) walk->at[k] += offsets[k];
}

int64_t loop_walk_even(const loop_nest_t *nest, const loop_walk_t *walk, int64_t most) {
  int64_t left = nest->rank ? nest->dims[nest->rank - 1] - walk->index[nest->rank - 1] : 1;
  return left < most ? left : most;
}

void loop_walk_skip(const loop_nest_t *nest, loop_walk_t *walk, int64_t rows) {
  int last = nest->rank - 1;
  if (last >= 0) walk->index[last] += rows - 1;
  for (int k = 0; last >= 0 && k < nest->operand_count; k++)
    walk->at[k] += (rows - 1) * nest->strides[k][last];
  loop_walk_next(nest, walk);
}

int64_t loop_row_total(const loop_nest_t *nest) {
  int64_t rows = nest->empty ? 0 : 1;
  for (int d = 0; d < nest->rank; d++) rows *= nest->dims[d];
  return rows;
}

loop_walk_t loop_walk_at(const loop_nest_t *nest, int64_t n) {
  loop_walk_t walk = {.live = !nest->empty};
  for (int d = nest->rank - 1; d >= 0; d--) {
    walk.index[d] = n % nest->dims[d];
    n /= nest->dims[d];
    for (int k = 0; k < nest->operand_count; k++) walk.at[k] += walk.index[d] * nest->strides[k][d];
  }
  return walk;
}

#define MIN_CROSS 4 /* shortest side that is worth a tile */

/* Removes the dimension along which the source is dense from the nest, if rows are dense in the
 * destination only. */
static void plan_tiles(loop_copy_t *copy) {
  loop_nest_t *nest = &copy->nest;
  int64_t bytes = copy->element_bytes;
  bool rows_cross =
      nest->row_strides[0] == bytes && nest->row_strides[1] != bytes && nest->row_strides[1] != 0;
  if (nest->empty || nest->row_count < MIN_CROSS || !rows_cross) return;
  for (int d = 0; d < nest->rank; d++) {
    if (nest->strides[1][d] != bytes || nest->dims[d] < MIN_CROSS) continue;
    copy->cross_count = nest->dims[d];
    copy->cross_stride = nest->strides[0][d];
    for (int e = d + 1; e < nest->rank; e++) move_dim(nest, e, e - 1);
    nest->rank--;
    return;
  }
}

void loop_copy_init(loop_copy_t *copy, int element_bytes, int rank, const int64_t *dims,
                    const int64_t *to_strides, const int64_t *from_strides) {
  const int64_t *strides[] = {to_strides, from_strides};
  *copy = (loop_copy_t){.element_bytes = element_bytes};
  loop_nest_init(&copy->nest, rank, dims, 2, strides, LOOP_ANY_ORDER);
  plan_tiles(copy);
}

typedef struct pair64 {
  uint64_t low, high;
} pair64_t;

/* Copies one row of elements of type T; strides in bytes, addresses aligned to the element. */
#define COPY_ROW(T)                                                        \
  do {                                                                     \
    if (to_stride == (int64_t)sizeof(T) && from_stride == 0) {             \
      T value = *(const T *)from;                                          \
      for (int64_t i = 0; i < count; i++) ((T *)to)[i] = value;            \
    } else {                                                               \
      for (int64_t i = 0; i < count; i++)                                  \
        *(T *)(to + i * to_stride) = *(const T *)(from + i * from_stride); \
    }                                                                      \
  } while (0)

void loop_copy_row(void *to_row, const void *from_row, int64_t count, int64_t to_stride,
                   int64_t from_stride, int element_bytes) {
  char *to = to_row;
  const char *from = from_row;
  if (to_stride == element_bytes && from_stride == element_bytes) {
    memcpy(to, from, (size_t)(count * element_bytes));
    return;
  }
  switch (element_bytes) {
    case 1:
      COPY_ROW(uint8_t);
      break;
    case 2:
      COPY_ROW(uint16_t);
      break;
    case 4:
      COPY_ROW(uint32_t);
      break;
    case 8:
      COPY_ROW(uint64_t);
      break;
    case 16:
      COPY_ROW(pair64_t);
      break;
  }
}

/* A tile of `rows` rows of the destination, `columns` elements each. The source is read along its
 * own rows into a square buffer, which is then written out along the destination's. */
#define TILE_SIDE(bytes)                                                  \
  (64 / (bytes) < 8 ? 8 : 64 / (bytes)) /* a cache line of elements, or 8 \
                                         */
#define COPY_TILE(T)                                                                              \
  do {                                                                                            \
    T buffer[TILE_SIDE(sizeof(T))][TILE_SIDE(sizeof(T))];                                         \
    for (int64_t c = 0; c < columns; c++)                                                         \
      for (int64_t r = 0; r < rows; r++) buffer[r][c] = ((const T *)(from + c * from_stride))[r]; \
    for (int64_t r = 0; r < rows; r++)                                                            \
      for (int64_t c = 0; c < columns; c++) ((T *)(to + r * to_stride))[c] = buffer[r][c];        \
  } while (0)

static void copy_tile(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                      int64_t rows, int64_t columns, int element_bytes) {
  switch (element_bytes) {
    case 1:
      COPY_TILE(uint8_t);
      break;
    case 2:
      COPY_TILE(uint16_t);
      break;
    case 4:
      COPY_TILE(uint32_t);
      break;
    case 8:
      COPY_TILE(uint64_t);
      break;
    case 16:
      COPY_TILE(pair64_t);
      break;
  }
}

static void copy_tiles(const loop_copy_t *copy, char *to, const char *from) {
  const loop_nest_t *nest = &copy->nest;
  int64_t bytes = copy->element_bytes, from_stride = nest->row_strides[1];
  int64_t side = TILE_SIDE(bytes);
  for (int64_t r = 0; r < copy->cross_count; r += side)
    for (int64_t c = 0; c < nest->row_count; c += side) {
      int64_t rows = copy->cross_count - r < side ? copy->cross_count - r : side;
      int64_t columns = nest->row_count - c < side ? nest->row_count - c : side;
      copy_tile(to + r * copy->cross_stride + c * bytes, copy->cross_stride,
                from + r * bytes + c * from_stride, from_stride, rows, columns,
                copy->element_bytes);
    }
}

void loop_copy_run(const loop_copy_t *copy, void *to, const void *from) {
  loop_copy_part(copy, to, from, 0, loop_row_total(&copy->nest));
}

static void copy_short_rows(char *to, const char *from, int64_t rows, int64_t bytes,
                            int64_t to_step, int64_t from_step) {
  for (int64_t row = 0; row < rows; row++, to += to_step, from += from_step)
    loop_copy_short(to, from, bytes);
}

/* Copies rows at constant distances. */
static void copy_rows(const loop_copy_t *copy, char *to, const char *from, int64_t rows) {
  const loop_nest_t *nest = &copy->nest;
  int64_t to_step = nest->rank ? nest->strides[0][nest->rank - 1] : 0;
  int64_t from_step = nest->rank ? nest->strides[1][nest->rank - 1] : 0;
  int64_t bytes = nest->row_count * copy->element_bytes;
  bool is_dense = !copy->cross_count && nest->row_strides[0] == copy->element_bytes &&
                  nest->row_strides[1] == copy->element_bytes;
  if (is_dense && bytes >= LOOP_SHORT_LEAST && bytes <= LOOP_SHORT_MOST) {
    copy_short_rows(to, from, rows, bytes, to_step, from_step);
    return;
  }
  for (int64_t row = 0; row < rows; row++, to += to_step, from += from_step)
    if (copy->cross_count)
      copy_tiles(copy, to, from);
    else
      loop_copy_row(to, from, nest->row_count, nest->row_strides[0], nest->row_strides[1],
                    copy->element_bytes);
}

void loop_copy_part(const loop_copy_t *copy, void *to, const void *from, int64_t begin,
                    int64_t end) {
  loop_walk_t walk = loop_walk_at(&copy->nest, begin);
  while (begin < end) {
    int64_t rows = loop_walk_even(&copy->nest, &walk, end - begin);
    copy_rows(copy, (char *)to + walk.at[0], (const char *)from + walk.at[1], rows);
    loop_walk_skip(&copy->nest, &walk, rows);
    begin += rows;
  }
}

bool loop_copy_is_run(const loop_copy_t *copy) {
  const loop_nest_t *nest = &copy->nest;
  if (nest->empty || nest->rank || copy->cross_count) return false;
  return nest->row_count == 1 || (nest->row_strides[0] == copy->element_bytes &&
                                  nest->row_strides[1] == copy->element_bytes);
}

void loop_fill(void *to, const void *element, int element_bytes, int64_t count) {
  if (count) loop_copy_row(to, element, count, element_bytes, 0, element_bytes);
}
