/* What native_convolution_taps.c shares with the files that it is made of: taps_plan.c and taps_block.c. */
#ifndef HLO_OPS_TAPS_H
#define HLO_OPS_TAPS_H

#include "ops/native_convolution.h"
#include "ops/native_transpose.h"

/* Tiles of results that follow each other and have the same taps: what their first one reads, where it is, and how many
 * taps and which. The last tile starts with row `last`: some of its results may be those of the tile before, made
 * again. Rows outside of [low, high) meet an end of the axis, on which the first one is at `place` of the input. */
typedef struct tap_line {
  const char *from;
  char *to;
  int64_t tiles, last, low, high, place;
  const int32_t *live;
} tap_line_t;
static inline int64_t tap_line_row(const tap_line_t *line, int64_t tile, int64_t rows) {
  return tile + 1 < line->tiles ? tile * rows : line->last;
}

/* A strip past the tiles of a block: some terms of each tap. Steps and terms in units, what products are made of: an
 * element, or several that fill 32 bits. */
typedef struct tap_strip {
  int64_t rows, vectors, tiles, taps; /* of a tile; of those with pointers; most taps of a tile */
  const tap_line_t *lines;            /* tiles without pointers */
  int64_t line_count, from_step, to_step; /* from one row to the next: bytes */
  const int64_t *offsets;                 /* of their taps: bytes */
  const int64_t *along;                   /* of their taps: places on the axis, which is so long, */
  int64_t size, place_step;               /* and from one row to the next */
  const void *zeros;                      /* what is outside of it */
  int64_t slide;                          /* taps of a row that follow each other as the results do, or 0 */
  const int32_t *live;                /* of each tile: how many taps any of its places has, and which */
  const void *const *places;          /* of each tile and live tap: where its rows are */
  void *const *results;               /* of each tile: of its rows */
  int64_t column, first, count;       /* terms [first, first + count) of each tap; lanewise: from term `first` on, those
                                       * of a column `term_step` apart */
  int64_t term_step;
  const void *weights;                /* of these terms and columns */
  int64_t tap_step, width;            /* of the weights: to the next tap and term */
  const void *starts;                 /* of the columns' sums; NULL: 0 */
  int flip;                           /* bits of units of the input to be turned over */
  bool adds;                          /* to what is there */
} tap_strip_t;

/* Channels of a place, some of them several times and in another order: of each element of `count`, whole vectors,
 * which channel it is. Vectors that are made of one and the next one are so by what they start from, and their lanes
 * counted from there, as indices of the elements' size; the others start from -1. */
typedef struct tap_spread {
  int64_t channels, count;
  int32_t *sources, *starts;
  void *lanes;
} tap_spread_t;

/* One spatial dimension of a phase. */
typedef struct taps_axis {
  int64_t first, step, count; /* its results */
  int64_t in_step;            /* of the input, from one result to the next */
  int64_t taps;
  int64_t *starts, *elements; /* of each: the first result's place, ascending, and which of the window it is */
} taps_axis_t;

typedef struct taps_phase {
  taps_axis_t axes[CONV_MAX_SPATIAL];
  int64_t taps, terms;  /* pointers of a place, terms at each */
  int64_t *offsets;     /* of each tap from the place that a result starts from; bytes of the input or region */
  int64_t *along;       /* the same along the last axis, in places */
  int64_t line_places, lines, block_lines, blocks, first_task;
  int64_t strip;        /* elements of a packed strip */
  int64_t packed_at;    /* elements; of group 0 */
  int64_t region[CONV_MAX_SPATIAL], region_steps[CONV_MAX_SPATIAL]; /* places of an image, and steps */
} taps_phase_t;

typedef struct conv_taps {
  const conv_problem_t *problem;
  conv_array_t from, to;
  const int64_t *from_sizes, *to_sizes;
  int64_t joined, groups; /* those of the program that are taken together, and how many of such there are */
  int64_t terms, columns, term_step, column_step; /* of a group's weights */
  int64_t channels, place; /* elements of a place: of the input and group, and as tiles read it */
  int64_t bytes, in_bytes, out_bytes; /* of a sum; of an element of the input and weights, of the result */
  int64_t unit;                       /* terms that are multiplied at once */
  void (*sum_strip)(const tap_strip_t *strip);
  bool few;                    /* columns, so that vectors are of terms: one strip [tap][column][term] */
  bool lanewise;               /* each column has terms of its own: vectors of columns meet vectors of terms */
  int64_t slide;               /* lanewise: see tap_strip_t */
  tap_spread_t spread;         /* lanewise: how a region has the channels of a place; without sources as they are */
  void (*spread_line)(const tap_spread_t *spread, const void *from, int64_t count, void *to);
  bool flips;                  /* signed bytes are multiplied as unsigned ones: see flip_starts */
  int64_t lanes, rows, width;  /* of a vector; of a tile; of a strip: columns */
  int64_t strips, padded;      /* of a group; columns that they have */
  int workers, phase_count;
  taps_phase_t *phases;
  int64_t parts, part_strips, tasks; /* parts of the columns */
  bool merges, has_region, has_copy;
  bool narrows;                      /* the result's type is not that of the sums */
  bool widens[2];                    /* input and weights */
  int64_t group_packed, packed_count; /* elements */
  const void *packed;                 /* weights that are known */
  size_t starts_at;                   /* in the packed weights, bytes */
  size_t packed_bytes, wide_at[2];    /* the widened input and weights */
  size_t packed_at, spaces_at, space_bytes; /* spaces: one a worker */
  /* in a space */
  size_t zeros_at, zeros_bytes, spare_at, stretches_at, lines_at, line_live_at, table_at, live_at, results_at, region_at, line_at, rims_at, copy_at, narrow_at;
} conv_taps_t;

typedef struct taps_run {
  const conv_taps_t *plan;
  const char *from, *weights;
  char *to, *packed, *spaces;
  const op_native_after_t *after;
} taps_run_t;

/* A result by its number in the block: its image and its places along the axes, counted in the phase. */
typedef struct taps_place {
  int64_t image, at[CONV_MAX_SPATIAL];
} taps_place_t;

/* Results that follow each other along the last axis: where they are, and the first one's place in the input or the
 * region, each with its step; in elements. A merged tap starts where its first one does. [low, high): those that meet
 * no end of the last axis. [begin, end): those that are a line. */
typedef struct taps_stretch {
  taps_place_t place;
  int64_t number, count, low, high, begin, end, in, in_step, out, out_step;
  bool sees_all; /* the other axes' taps all meet the input */
} taps_stretch_t;

/* A block at work. Lines [begin, end) are counted over all images. */
typedef struct taps_block {
  const taps_run_t *run;
  const taps_phase_t *phase;
  int64_t group, begin, end, places;
  int64_t line_count, pointed, tiles; /* lines; the other results, and tiles of them */
  char *space, *rim;                  /* rim: free for the next one */
  int worker;
} taps_block_t;

static inline int64_t taps_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t taps_most(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t taps_divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

/* From the first tap to the last one. */
static inline int64_t taps_span(const taps_axis_t *axis) {
  return axis->taps ? axis->starts[axis->taps - 1] - axis->starts[0] : 0;
}

/* Terms of a tap that are summed at once, of all taps one after the other: a multiple of `unit`, or all. */
int64_t taps_piece(const conv_taps_t *plan, const taps_phase_t *phase);

/* All but `sum_strip`. Leaves *out_fits false where others do better. */
hr_status_t taps_plan_init(hr_arena_t *arena, conv_taps_t *plan, bool *out_fits);
/* Places of everything in scratch memory; returns its size. */
size_t taps_plan_place(conv_taps_t *plan);

/* Fills in the block's lines and pointers, and its region first if there is one. */
void taps_block_ready(taps_block_t *block);
/* Where pointers of result `number` of those that have some start in the table, and the taps of a tile: how many lead to
 * the input, and which. */
const void **taps_block_row(const taps_block_t *block, int64_t number);
int32_t *taps_block_live(const taps_block_t *block, int64_t tile);
/* The block's copy to where the results belong: columns [begin, end) of it. */
void taps_block_finish(const taps_block_t *block, int64_t begin, int64_t end);
#endif
