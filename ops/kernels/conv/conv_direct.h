/* What conv_direct.c shares with the files that it is made of: conv_direct_plan.c and
 * direct_block.c. */
#ifndef HLO_OPS_CONV_DIRECT_H
#define HLO_OPS_CONV_DIRECT_H

#include "base/arith.h"
#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/move/native_transpose.h"

/* Tiles of results that follow each other and have the same taps: what their first one reads, where
 * it is, and how many taps and which. The last tile starts with row `last`: some of its results may
 * be those of the tile before, made again. Rows outside of [low, high) meet an end of the axis, on
 * which the first one is at `place` of the input. */
typedef struct direct_line {
  const char *from;
  char *to;
  int64_t tiles, last, low, high, position;
  const int32_t *live;
} direct_line_t;
static inline int64_t direct_line_row(const direct_line_t *line, int64_t tile, int64_t rows) {
  return tile + 1 < line->tiles ? tile * rows : line->last;
}

/* A strip past the tiles of a block: some terms of each tap. Steps and terms in units, what
 * products are made of: an element, or several that fill 32 bits. */
typedef struct direct_panel {
  int64_t rows, vectors, tiles, taps; /* of a tile; of those with pointers; most taps of a tile */
  const direct_line_t *lines;         /* tiles without pointers */
  int64_t line_count, from_stride, to_stride; /* from one row to the next: bytes */
  const int64_t *offsets;                     /* of their taps: bytes */
  const int64_t *tap_positions;  /* of their taps: places on the axis, which is so long, */
  int64_t size, position_stride; /* and from one row to the next */
  const void *zeros;             /* what is outside of it */
  int64_t tap_reuse;             /* taps of a row that follow each other as the results do, or 0 */
  const int32_t *live;           /* of each tile: how many taps any of its places has, and which */
  const void *const *pointers;   /* of each tile and live tap: where its rows are */
  void *const *results;          /* of each tile: of its rows */
  int64_t column, first, count;  /* terms [first, first + count) of each tap; lanewise: from term
                                  * `first` on, those  of a column `term_step` apart */
  int64_t k_stride;
  const void *weights;       /* of these terms and columns */
  int64_t tap_stride, width; /* of the weights: to the next tap and term */
  const void *starts;        /* of the columns' sums; NULL: 0 */
  int flip;                  /* bits of units of the input to be turned over */
  bool adds;                 /* to what is there */
} direct_panel_t;

/* Channels of a place, some of them several times and in another order: of each element of `count`,
 * whole vectors, which channel it is. Vectors that are made of one and the next one are so by what
 * they start from, and their lanes counted from there, as indices of the elements' size; the others
 * start from -1. */
typedef struct channel_expand {
  int64_t channels, count;
  int32_t *sources, *starts;
  void *lanes;
} channel_expand_t;

/* One spatial dimension of a phase. */
typedef struct direct_axis {
  int64_t first, stride, count; /* its results */
  int64_t in_stride;            /* of the input, from one result to the next */
  int64_t taps;
  int64_t *starts,
      *elements; /* of each: the first result's place, ascending, and which of the window it is */
} direct_axis_t;

typedef struct direct_phase {
  direct_axis_t axes[CONV_MAX_SPATIAL];
  int64_t taps, k;  /* pointers of a place, terms at each */
  int64_t *offsets; /* of each tap from the place that a result starts from; bytes of the input or
                       region */
  int64_t *tap_positions; /* the same along the last axis, in places */
  int64_t line_positions, lines, block_lines, blocks, first_task;
  int64_t panel;     /* elements of a packed strip */
  int64_t packed_at; /* elements; of group 0 */
  int64_t region[CONV_MAX_SPATIAL],
      region_strides[CONV_MAX_SPATIAL]; /* places of an image, and steps */
} direct_phase_t;

typedef struct conv_direct {
  const conv_problem_t *problem;
  conv_array_t input, output;
  const int64_t *input_sizes, *output_sizes;
  int64_t fused_groups,
      groups; /* those of the program that are taken together, and how many of such there are */
  int64_t k, n, k_stride, n_stride; /* of a group's weights */
  int64_t channels,
      position_elements; /* elements of a place: of the input and group, and as tiles read it */
  int64_t bytes, in_bytes,
      out_bytes;   /* of a sum; of an element of the input and weights, of the result */
  int64_t k_group; /* terms that are multiplied at once */
  void (*sum_panel)(const direct_panel_t *panel);
  bool narrow_n;  /* columns, so that vectors are of terms: one strip [tap][column][term] */
  bool depthwise; /* each column has terms of its own: vectors of columns meet vectors of terms */
  int64_t tap_reuse; /* lanewise: see direct_panel_t */
  channel_expand_t
      expand; /* lanewise: how a region has the channels of a place; without sources as they are */
  void (*expand_line)(const channel_expand_t *spread, const void *from, int64_t count, void *to);
  bool flips_sign;            /* signed bytes are multiplied as unsigned ones: see flip_starts */
  int64_t lanes, rows, width; /* of a vector; of a tile; of a strip: columns */
  int64_t panels, padded;     /* of a group; columns that they have */
  int workers, phase_count;
  direct_phase_t *phases;
  int64_t parts, part_panels, tasks; /* parts of the columns */
  bool merges_last_axis, has_region, has_copy;
  bool narrows_result;                      /* the result's type is not that of the sums */
  bool widens_operand[2];                   /* input and weights */
  int64_t group_packed, packed_count;       /* elements */
  const void *constant_packed;              /* weights that are known */
  size_t starts_at;                         /* in the packed weights, bytes */
  size_t packed_bytes, wide_at[2];          /* the widened input and weights */
  size_t packed_at, spaces_at, space_bytes; /* spaces: one a worker */
  /* in a space */
  size_t zeros_at, zeros_bytes, spare_at, spans_at, lines_at, line_live_at, table_at, live_at,
      results_at, region_at, line_at, edge_copies_at, copy_at, narrow_at;
} conv_direct_t;

typedef struct direct_run {
  const conv_direct_t *plan;
  const char *from, *weights;
  char *to, *packed, *spaces;
  const op_native_epilogue_t *epilogue;
} direct_run_t;

/* A result by its number in the block: its image and its places along the axes, counted in the
 * phase. */
typedef struct direct_position {
  int64_t image, at[CONV_MAX_SPATIAL];
} direct_position_t;

/* Results that follow each other along the last axis: where they are, and the first one's place in
 * the input or the region, each with its step; in elements. A merged tap starts where its first one
 * does. [low, high): those that meet no end of the last axis. [begin, end): those that are a line.
 */
typedef struct direct_span {
  direct_position_t position;
  int64_t first_result, count, low, high, begin, end, in, in_stride, out, out_stride;
  bool sees_all; /* the other axes' taps all meet the input */
} direct_span_t;

/* A block at work. Lines [begin, end) are counted over all images. */
typedef struct direct_block {
  const direct_run_t *run;
  const direct_phase_t *phase;
  int64_t group, begin, end, positions;
  int64_t line_count, pointed, tiles; /* lines; the other results, and tiles of them */
  char *space, *edge_copy;            /* rim: free for the next one */
  int worker;
} direct_block_t;

/* From the first tap to the last one. */
static inline int64_t direct_tap_span(const direct_axis_t *axis) {
  return axis->taps ? axis->starts[axis->taps - 1] - axis->starts[0] : 0;
}

/* Terms of a tap that are summed at once, of all taps one after the other: a multiple of `unit`, or
 * all. */
int64_t direct_k_block(const conv_direct_t *plan, const direct_phase_t *phase);

/* All but `sum_strip`. Leaves *out_fits false where others do better. */
hr_status_t direct_plan_init(hr_arena_t *arena, conv_direct_t *plan, bool *out_fits);
/* Places of everything in scratch memory; returns its size. */
size_t direct_plan_scratch(conv_direct_t *plan);

/* Fills in the block's lines and pointers, and its region first if there is one. */
void direct_block_ready(direct_block_t *block);
/* Where pointers of result `number` of those that have some start in the table, and the taps of a
 * tile: how many lead to the input, and which. */
const void **direct_block_row(const direct_block_t *block, int64_t number);
int32_t *direct_block_live(const direct_block_t *block, int64_t tile);
/* The block's copy to where the results belong: columns [begin, end) of it. */
void direct_block_finish(const direct_block_t *block, int64_t begin, int64_t end);
#endif
