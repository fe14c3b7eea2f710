/* Data structures of the Winograd convolution; conv_winograd.c describes the algorithm,
 * conv_winograd_plan.c makes the plan. Strides and planes in elements, offsets in scratch memory in
 * bytes. */
#ifndef HLO_OPS_CONV_WINOGRAD_H
#define HLO_OPS_CONV_WINOGRAD_H

#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/gemm/gemm.h"
#include "ops/kernels/move/native_transpose.h"

enum { SIDE = 6, OUT_SIDE = 4, POINTS = SIDE * SIDE };

#define MIN_CHANNELS 16 /* lanes of the widest vectors */

/* The program's weights and their packing. Strides in elements. */
typedef struct winograd_weights {
  const void *data;
  int64_t in_channels, out_channels, columns; /* columns: output channels, padded */
  int64_t in_step, out_step, tap_offsets[9];
  gemm_panels_t panels;
  int64_t plane; /* elements of a point's packed weights */
} winograd_weights_t;

/* Gradients of weights at the points, and their destination. Strides in elements. */
typedef struct winograd_gradients {
  const void *sums;
  int parts;
  int64_t part_step, plane, row, in_channels, out_channels, tiles;
  void *to;
  int64_t in_step, out_step, tap_offsets[9];
  /* Finds a tile's inputs and gradients; NULL entries are outside. */
  void (*find)(const void *context, int64_t tile, const void **in, const void **out);
  const void *context;
} winograd_gradients_t;

/* Micro-kernels of one vector width and type: see conv_winograd_tiles.h. */
typedef struct winograd_loops {
  void (*tile_at_points)(const void *const *pointers, const void *const *next, int64_t channels,
                         int64_t plane, void *points);
  bool (*tile_from_points)(const void *points, int64_t channels, int64_t plane,
                           void *const *pointers);
  void (*pack_weights)(const winograd_weights_t *w, int64_t first, int64_t last, int64_t begin,
                       int64_t end, void *packed);
  void (*copy_directly)(const winograd_weights_t *w, const void *const *pointers, void *out);
  void (*results_at_points)(const void *const *pointers, int64_t channels, int64_t plane,
                            void *points);
  void (*gradients_from_points)(const winograd_gradients_t *g, int64_t begin, int64_t end);
} winograd_loops_t;

/* The input or the result. If channels are not innermost, it is transposed before, or after. */
typedef struct winograd_array {
  conv_array_t as_read;
  const native_transpose_plan_t *order; /* NULL: channels are innermost */
  size_t at;
  int64_t plane; /* number of positions of an image if images are transposed one at a time,
                    [channels][positions] (see run_images); else 0 */
} winograd_array_t;

/* The tiles of the images, and the blocks in which they are transformed and multiplied. Strides in
 * elements. */
typedef struct winograd_tiling {
  int64_t rows, columns;       /* tiles of an image */
  int64_t count;               /* tiles of all images */
  int64_t unit;                /* tiles of a block */
  int64_t blocks;              /* blocks of all tiles */
  int64_t in_plane, out_plane; /* elements of one point of a block */
  int64_t in_line, out_line;   /* elements of one tile of a point */
} winograd_tiling_t;

/* Gradients of weights: parts of the tiles with separate sums. */
typedef struct winograd_sums {
  int parts;
  int64_t plane; /* elements of a point of the sums */
} winograd_sums_t;

/* Division of the work if weights are most of it, see conv_winograd_columns.c. Strides in
 * elements. */
typedef struct winograd_columns {
  int64_t count; /* output channels of a task; 0: tasks are blocks of tiles */
  int64_t terms; /* input channels whose weights are transformed at once */
  int64_t plane; /* elements of one point of these weights */
} winograd_columns_t;

/* Offsets in bytes. Those of the packed weights and of the workers' spaces are within the step's
 * scratch memory, the others within a worker's space; with winograd_columns_t points of tiles are
 * in the step's. */
typedef struct winograd_scratch {
  size_t packed_at;
  size_t spaces_at, space_bytes;
  size_t in_at, out_at;
  size_t weights_at;
  size_t zeros_at, zeros_bytes;
  size_t spare_at;
  size_t gemm_at;
  size_t sums_at;
} winograd_scratch_t;

typedef struct winograd {
  const conv_problem_t *problem;
  winograd_array_t src, dst;
  const winograd_loops_t *loops;
  int workers;
  int64_t element_bytes;
  bool by_images; /* a worker computes whole images */
  winograd_tiling_t tiling;
  winograd_columns_t columns;
  gemm_job_t job;             /* product of one point of a block, without addresses */
  winograd_weights_t weights; /* without address */
  const void *packed;         /* transformed weights of a plan with constant weights; else NULL */
  winograd_sums_t sums;
  winograd_scratch_t scratch;
} winograd_t;

typedef struct winograd_run {
  const winograd_t *plan;
  winograd_weights_t weights;
  const char *src;
  char *dst, *scratch, *packed, *spaces;
  int64_t image; /* first image of src and dst */
  const op_native_epilogue_t *epilogue;
} winograd_run_t;

/* Transforms the inputs of tiles, and prefetches the next tile. `to`: points of the first tile. */
void winograd_read_tiles(const winograd_run_t *r, int64_t first, int64_t tiles, char *space,
                         char *to);
/* Transforms the results of tiles back from their points, and calls the epilogue for them. */
void winograd_write_tiles(const winograd_run_t *r, int64_t first, int64_t tiles, int worker,
                          const char *points);
/* Transforms weights, vectors [begin, end) of output channels. */
void winograd_pack(const winograd_t *plan, const winograd_weights_t *w, int64_t begin, int64_t end,
                   void *packed);

/* Decides from the sizes only whether the work is divided by columns. */
void winograd_plan_columns(winograd_t *plan);
/* The product of a point of one task. */
gemm_job_t winograd_columns_job(const winograd_t *plan);
/* Bytes of the transformed weights of a worker. */
size_t winograd_columns_bytes(const winograd_t *plan);
void winograd_run_columns(hr_workers_t *workers, const winograd_run_t *r);

/* True if types and window are supported. */
bool winograd_has_form(const conv_problem_t *problem);
/* Fills in the plan except `loops` and packed weights. *out_fits false: another kernel is
 * faster. */
hr_status_t winograd_plan_init(hr_arena_t *arena, winograd_t *plan, bool *out_fits);
/* Assigns all scratch offsets; returns the size in bytes. */
size_t winograd_plan_scratch(winograd_t *plan);

/* Bytes of the transformed weights. */
static inline size_t winograd_packed_bytes(const winograd_t *plan) {
  return (size_t)(POINTS * plan->weights.plane * plan->element_bytes);
}

#endif
