/* Winograd convolution F(4 x 4, 3 x 3) (Lavin and Gray 2016), for 3 x 3 windows with stride 1. A
 * tile of 4 x 4 results depends on 6 x 6 inputs. Transformed to 36 points, it is one product each,
 * in place of 144.
 *
 *   weights   transformed once for all tiles, packed as B of 36 matrix products
 *   block     some tiles on one worker: inputs transformed to the points, 36 products
 *             [tiles][in] x [in][out], results transformed back
 *
 * Where weights are most of the work they are transformed a part at a time, each for all tiles:
 * conv_winograd_columns.c.
 *
 * The weight gradient exchanges results and weights: products [in][tiles] x [tiles][out] are summed
 * over the tiles of a part, parts are added in order, and the sums are transformed back at the end.
 *
 * Padding reads a line of zeros, and results outside go to a spare line. The error is a few times
 * that of plain sums, relative to the largest input of a tile. A value that is not finite would
 * spread over the tile: such tiles are computed directly. Cost: 1/4 of the multiply-adds plus O(36)
 * a tile and channel for each transform. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/conv/conv_winograd.h"

#define A1 0.625 /* interpolation points 0, +-A1, +-B1, infinity; and their squares */
#define A2 (A1 * A1)
#define B1 1.5
#define B2 (B1 * B1)

#define TILES_FILE "ops/kernels/conv/conv_winograd_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

#define LOOPS_OF_TYPE(name)                                                                    \
  {                                                                                            \
    name##_tile_at_points, name##_tile_from_points, name##_pack_weights, name##_copy_directly, \
        name##_results_at_points, name##_gradients_from_points                                 \
  }
#define LOOPS_OF(width) \
  { LOOPS_OF_TYPE(f32_##width), LOOPS_OF_TYPE(f64_##width) }

static const winograd_loops_t *choose_loops(bool is_double) {
#if SIMD_HAS_WIDTHS
  static const winograd_loops_t v512[2] = LOOPS_OF(v512), v256[2] = LOOPS_OF(v256);
  if (simd_width() == SIMD_512) return &v512[is_double];
  if (simd_width() == SIMD_256) return &v256[is_double];
#endif
  static const winograd_loops_t v128[2] = LOOPS_OF(v128);
  return &v128[is_double];
}

/* --- running --- */

/* True if the 9 weights of a channel pair are contiguous and those of adjacent output channels are
 * not. */
static bool is_apart(const winograd_weights_t *w) {
  int64_t sum = 0, most = 0;
  for (int k = 0; k < 9; k++) {
    sum += w->tap_offsets[k];
    most = w->tap_offsets[k] > most ? w->tap_offsets[k] : most;
  }
  return w->out_step != 1 && most == 8 && sum == 36;
}

/* Packs one vector of output channels. Weights that are apart are first transposed, some input
 * channels at a time. */
static void pack_vector(const winograd_t *plan, const winograd_weights_t *w, int64_t o,
                        void *packed) {
  enum { CHUNK = 32 };
  double transposed[CHUNK * 9 * MIN_CHANNELS];
  int64_t bytes = plan->element_bytes;
  int64_t count = w->out_channels - o;
  int64_t joined = w->in_step == 9 ? CHUNK : 1;
  winograd_weights_t part = *w;
  if (count > MIN_CHANNELS) count = MIN_CHANNELS;
  part.in_step = 9 * MIN_CHANNELS;
  part.out_step = 1;
  for (int k = 0; k < 9; k++) part.tap_offsets[k] *= MIN_CHANNELS;
  for (int64_t c = 0, last; c < w->in_channels; c = last) {
    last = c + CHUNK < w->in_channels ? c + CHUNK : w->in_channels;
    for (int64_t i = c; i < last; i += joined)
      native_transpose_plane(
          (int)bytes, 9 * (joined < last - i ? joined : last - i), count,
          (const char *)w->data + (i * w->in_step + o * w->out_step) * bytes, w->out_step * bytes,
          (char *)transposed + (i - c) * part.in_step * bytes, MIN_CHANNELS * bytes);
    part.data = (const char *)transposed - (c * part.in_step + o) * bytes;
    plan->loops->pack_weights(&part, c, last, o, o + MIN_CHANNELS, packed);
  }
}

void winograd_pack(const winograd_t *plan, const winograd_weights_t *w, int64_t begin, int64_t end,
                   void *packed) {
  if (!is_apart(w))
    plan->loops->pack_weights(w, 0, w->in_channels, begin * MIN_CHANNELS, end * MIN_CHANNELS,
                              packed);
  else
    for (int64_t i = begin; i < end; i++) pack_vector(plan, w, i * MIN_CHANNELS, packed);
}

static void pack_channels(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_run_t *r = context;
  (void)worker;
  winograd_pack(r->plan, &r->weights, begin, end, r->packed);
}

/* Image and first result of a tile. */
typedef struct winograd_position {
  int64_t image, y, x;
} winograd_position_t;

static winograd_position_t position_of(const winograd_t *plan, int64_t tile) {
  int64_t image = tile / (plan->tiling.rows * plan->tiling.columns);
  int64_t at = tile % (plan->tiling.rows * plan->tiling.columns);
  return (winograd_position_t){image, at / plan->tiling.columns * OUT_SIDE,
                               at % plan->tiling.columns * OUT_SIDE};
}

/* Addresses of a tile's 36 inputs. */
static void find_pointers(const winograd_run_t *r, int64_t tile, const void *zeros,
                          const void **in) {
  const conv_problem_t *p = r->plan->problem;
  const conv_array_t *src = &r->plan->src.as_read;
  winograd_position_t at = position_of(r->plan, tile);
  int64_t y = at.y - p->low[0];
  int64_t x = at.x - p->low[1];
  int64_t bytes = r->plan->element_bytes;
  int64_t first =
      src->start + (at.image - r->image) * src->outer + y * src->spatial[0] + x * src->spatial[1];
  const char *row = r->src + first * bytes;
  for (int i = 0; i < SIDE; i++, y++, row += src->spatial[0] * bytes)
    for (int j = 0; j < SIDE; j++) {
      bool inside = y >= 0 && y < p->in[0] && x + j >= 0 && x + j < p->in[1];
      *in++ = inside ? row + j * src->spatial[1] * bytes : zeros;
    }
}

/* Addresses of a tile's 16 results. */
static void find_results(const winograd_run_t *r, int64_t tile, void *spare, void **out) {
  const conv_problem_t *p = r->plan->problem;
  const conv_array_t *dst = &r->plan->dst.as_read;
  winograd_position_t at = position_of(r->plan, tile);
  int64_t bytes = r->plan->element_bytes;
  int64_t first = dst->start + (at.image - r->image) * dst->outer + at.y * dst->spatial[0] +
                  at.x * dst->spatial[1];
  char *row = r->dst + first * bytes;
  for (int i = 0; i < OUT_SIDE; i++, row += dst->spatial[0] * bytes)
    for (int j = 0; j < OUT_SIDE; j++) {
      bool inside = at.y + i < p->out[0] && at.x + j < p->out[1];
      *out++ = inside ? row + j * dst->spatial[1] * bytes : spare;
    }
}

static void multiply_points(const winograd_run_t *r, int64_t tiles, int worker, char *space) {
  const winograd_t *plan = r->plan;
  gemm_job_t job = plan->job;
  job.m = tiles;
  for (int64_t i = 0; i < POINTS; i++) {
    job.a = space + plan->scratch.in_at + i * plan->tiling.in_plane * plan->element_bytes;
    job.c = space + plan->scratch.out_at + i * plan->tiling.out_plane * plan->element_bytes;
    job.packed_b = r->packed + i * plan->weights.plane * plan->element_bytes;
    gemm_run_serial(&job, worker, space + plan->scratch.gemm_at);
  }
}

void winograd_read_tiles(const winograd_run_t *r, int64_t first, int64_t tiles, char *space,
                         char *to) {
  const winograd_t *plan = r->plan;
  int64_t channels = plan->problem->in_channels;
  const void *pointers[2][POINTS];
  memset(space + plan->scratch.zeros_at, 0, plan->scratch.zeros_bytes);
  find_pointers(r, first, space + plan->scratch.zeros_at, pointers[0]);
  for (int64_t i = 0; i < tiles; i++, to += plan->tiling.in_line * plan->element_bytes) {
    find_pointers(r, first + (i + 1 < tiles ? i + 1 : i), space + plan->scratch.zeros_at,
                  pointers[(i + 1) % 2]);
    plan->loops->tile_at_points(pointers[i % 2], pointers[(i + 1) % 2], channels,
                                plan->tiling.in_plane, to);
  }
}

static void compute_directly(const winograd_run_t *r, int64_t tile, char *space, void *const *out) {
  const void *pointers[POINTS];
  memset(space + r->plan->scratch.zeros_at, 0, r->plan->scratch.zeros_bytes);
  find_pointers(r, tile, space + r->plan->scratch.zeros_at, pointers);
  for (int i = 0; i < OUT_SIDE * OUT_SIDE; i++)
    r->plan->loops->copy_directly(&r->weights, pointers + i / OUT_SIDE * SIDE + i % OUT_SIDE,
                                  out[i]);
}

/* Reports the results of tiles [first, last) of one row of tiles as final: some positions of each
 * line, or whole lines. */
static void finish_row(const winograd_run_t *r, int64_t first, int64_t last, int worker) {
  const conv_problem_t *p = r->plan->problem;
  winograd_position_t at = position_of(r->plan, first);
  int64_t lines = p->out[0] - at.y < OUT_SIDE ? p->out[0] - at.y : OUT_SIDE;
  int64_t end = at.x + (last - first) * OUT_SIDE;
  op_native_part_t part = {.row = (at.image * p->out[0] + at.y) * p->out[1] + at.x,
                           .columns = p->out_channels};
  part.rows = (end < p->out[1] ? end : p->out[1]) - at.x;
  if (part.rows == p->out[1]) {
    part.rows *= lines;
    lines = 1;
  }
  for (int64_t i = 0; i < lines; i++, part.row += p->out[1])
    r->epilogue->run(r->epilogue, &part, worker);
}

static void finish_tiles(const winograd_run_t *r, int64_t first, int64_t tiles, int worker) {
  for (int64_t end = first + tiles, next; first < end; first = next) {
    next = (first / r->plan->tiling.columns + 1) * r->plan->tiling.columns;
    if (next > end) next = end;
    finish_row(r, first, next, worker);
  }
}

void winograd_write_tiles(const winograd_run_t *r, int64_t first, int64_t tiles, int worker,
                          const char *points) {
  const winograd_t *plan = r->plan;
  char *space = r->spaces + (size_t)worker * plan->scratch.space_bytes;
  for (int64_t i = 0; i < tiles; i++, points += plan->tiling.out_line * plan->element_bytes) {
    void *out[OUT_SIDE * OUT_SIDE];
    find_results(r, first + i, space + plan->scratch.spare_at, out);
    if (!plan->loops->tile_from_points(points, plan->problem->out_channels, plan->tiling.out_plane,
                                       out))
      compute_directly(r, first + i, space, out);
  }
  if (r->epilogue && !plan->by_images) finish_tiles(r, first, tiles, worker);
}

/* Computes tiles [begin, end), a block at a time. */
static void run_tiles(const winograd_run_t *r, int64_t begin, int64_t end, int worker) {
  char *space = r->spaces + (size_t)worker * r->plan->scratch.space_bytes;
  for (int64_t first = begin, tiles; first < end; first += tiles) {
    tiles = end - first < r->plan->tiling.unit ? end - first : r->plan->tiling.unit;
    winograd_read_tiles(r, first, tiles, space, space + r->plan->scratch.in_at);
    multiply_points(r, tiles, worker, space);
    winograd_write_tiles(r, first, tiles, worker, space + r->plan->scratch.out_at);
  }
}

static void run_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_run_t *r = context;
  const winograd_t *plan = r->plan;
  int64_t limit = end * plan->tiling.unit;
  run_tiles(r, begin * plan->tiling.unit, limit < plan->tiling.count ? limit : plan->tiling.count,
            worker);
}

/* Images with channels outermost are transposed while they stay in the caches. */
static void run_images(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_run_t *r = context;
  const winograd_t *plan = r->plan;
  const conv_problem_t *p = plan->problem;
  int64_t bytes = plan->element_bytes;
  int64_t tiles = plan->tiling.count / p->batch;
  int64_t in_line = p->in_channels * bytes;
  int64_t out_line = p->out_channels * bytes;
  int64_t in_image = plan->src.plane * in_line;
  int64_t out_image = plan->dst.plane * out_line;
  char *space = r->spaces + (size_t)worker * plan->scratch.space_bytes;
  char *src = space + plan->src.at;
  char *dst = space + plan->dst.at;
  for (int64_t i = begin; i < end; i++) {
    winograd_run_t image = *r;
    image.image = i;
    image.src = src;
    image.dst = dst;
    native_transpose_plane((int)bytes, plan->src.plane, p->in_channels, r->src + i * in_image,
                           plan->src.plane * bytes, src, in_line);
    run_tiles(&image, i * tiles, (i + 1) * tiles, worker);
    native_transpose_plane((int)bytes, p->out_channels, plan->dst.plane, dst, out_line,
                           r->dst + i * out_image, plan->dst.plane * bytes);
    op_native_part_t part = {
        .row = i * p->out_channels, .rows = p->out_channels, .columns = plan->dst.plane};
    if (r->epilogue) r->epilogue->run(r->epilogue, &part, worker);
  }
}

static winograd_weights_t weights_of(const winograd_t *plan, const void *data) {
  winograd_weights_t weights = plan->weights;
  weights.data = (const char *)data + plan->problem->arrays[CONV_WEI].start * plan->element_bytes;
  return weights;
}

/* --- gradients of weights --- */

static char *space_of(const winograd_run_t *r, int64_t part) {
  return r->spaces + (size_t)part * r->plan->scratch.space_bytes;
}

/* Adds the products of a block to one part's sums; those of the first block are set. */
static void add_products(const winograd_run_t *r, int64_t tiles, bool first, int worker,
                         char *space) {
  const winograd_t *plan = r->plan;
  int64_t bytes = plan->element_bytes;
  gemm_job_t job = plan->job;
  job.k = tiles;
  job.mode = first ? GEMM_SET : GEMM_ADD;
  for (int64_t i = 0; i < POINTS; i++) {
    job.a = space + plan->scratch.in_at + (size_t)(i * plan->tiling.in_plane * bytes);
    job.b = space + plan->scratch.out_at + (size_t)(i * plan->tiling.out_plane * bytes);
    job.c = space + plan->scratch.sums_at + (size_t)(i * plan->sums.plane * bytes);
    gemm_run_serial(&job, worker, space + plan->scratch.gemm_at);
  }
}

static void read_results(const winograd_run_t *r, int64_t first, int64_t tiles, char *space) {
  const winograd_t *plan = r->plan;
  for (int64_t i = 0; i < tiles; i++) {
    void *pointers[OUT_SIDE * OUT_SIDE];
    find_results(r, first + i, space + plan->scratch.zeros_at, pointers);
    plan->loops->results_at_points(
        (const void *const *)pointers, plan->problem->out_channels, plan->tiling.out_plane,
        space + plan->scratch.out_at + i * plan->tiling.out_line * plan->element_bytes);
  }
}

static void run_part(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_run_t *r = context;
  const winograd_t *plan = r->plan;
  for (int64_t part = begin; part < end; part++) {
    int64_t block = plan->tiling.blocks * part / plan->sums.parts;
    int64_t limit = plan->tiling.blocks * (part + 1) / plan->sums.parts;
    char *space = space_of(r, part);
    for (int64_t i = block; i < limit; i++) {
      int64_t first = i * plan->tiling.unit;
      int64_t left = plan->tiling.count - first;
      int64_t tiles = left < plan->tiling.unit ? left : plan->tiling.unit;
      winograd_read_tiles(r, first, tiles, space, space + plan->scratch.in_at);
      read_results(r, first, tiles, space);
      add_products(r, tiles, i == block, worker, space);
    }
  }
}

static void find_both(const void *context, int64_t tile, const void **in, const void **out) {
  const winograd_run_t *r = context;
  void *zeros = space_of(r, 0) + r->plan->scratch.zeros_at;
  find_pointers(r, tile, zeros, in);
  find_results(r, tile, NULL, (void **)out);
}

static void finish_gradients(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_gradients_t *g = context;
  const winograd_run_t *r = g->context;
  (void)worker;
  r->plan->loops->gradients_from_points(g, begin, end);
}

static void run_gradients(hr_workers_t *workers, const winograd_run_t *r, void *to) {
  const winograd_t *plan = r->plan;
  const winograd_weights_t *w = &plan->weights;
  winograd_gradients_t g = {.sums = r->spaces + plan->scratch.sums_at,
                            .parts = plan->sums.parts,
                            .part_step = (int64_t)plan->scratch.space_bytes / plan->element_bytes,
                            .plane = plan->sums.plane,
                            .row = plan->job.c_row,
                            .in_channels = w->in_channels,
                            .out_channels = w->out_channels,
                            .tiles = plan->tiling.count,
                            .in_step = w->in_step,
                            .out_step = w->out_step,
                            .find = find_both,
                            .context = r};
  g.to = (char *)to + plan->problem->arrays[CONV_WEI].start * plan->element_bytes;
  memcpy(g.tap_offsets, w->tap_offsets, sizeof g.tap_offsets);
  hr_workers_for(workers, plan->sums.parts, 1, run_part, (void *)r);
  hr_workers_split(workers, w->in_channels, 4, finish_gradients, &g);
}

/* Transposes the input and the gradients of the results to channels innermost. */
static const void *in_order(hr_workers_t *workers, const winograd_array_t *side, const void *from,
                            char *scratch) {
  if (!side->order) return from;
  native_transpose_run(workers, side->order, scratch + side->at, from);
  return scratch + side->at;
}

static hr_status_t run_weights(const op_native_run_t *run, const winograd_t *plan, void *const *in,
                               void *const *out) {
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  winograd_run_t r = {.plan = plan, .spaces = scratch + plan->scratch.spaces_at};
  r.src = in_order(workers, &plan->src, in[0], scratch);
  r.dst = (char *)in_order(workers, &plan->dst, in[1], scratch);
  run_gradients(workers, &r, out[0]);
  return NULL;
}

hr_status_t conv_run_winograd(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const winograd_t *plan = plan_;
  if (plan->problem->kind == CONV_WEIGHTS) return run_weights(run, plan, in, out);
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  winograd_run_t r = {
      .plan = plan, .weights = weights_of(plan, in[1]), .dst = out[0], .epilogue = run->epilogue};
  r.scratch = scratch;
  r.src = plan->by_images ? in[0] : in_order(workers, &plan->src, in[0], scratch);
  r.packed = scratch + plan->scratch.packed_at;
  r.spaces = scratch + plan->scratch.spaces_at;
  if (plan->packed)
    r.packed = (char *)plan->packed;
  else if (!plan->columns.count)
    hr_workers_split(workers, plan->weights.columns / MIN_CHANNELS, 1, pack_channels, &r);
  if (plan->by_images) {
    hr_workers_for(workers, plan->problem->batch, 1, run_images, &r);
    return NULL;
  }
  if (plan->dst.order) r.dst = scratch + plan->dst.at;
  if (plan->columns.count)
    winograd_run_columns(workers, &r);
  else
    hr_workers_for(workers, plan->tiling.blocks, 1, run_blocks, &r);
  if (plan->dst.order) native_transpose_run(workers, plan->dst.order, out[0], r.dst);
  return NULL;
}

/* --- planning --- */

static hr_status_t pack_constant(const op_native_target_t *target, winograd_t *plan) {
  void *packed;
  if (plan->problem->kind == CONV_WEIGHTS || !plan->problem->constant_weights) return NULL;
  HR_TRY(hr_arena_alloc(target->arena, winograd_packed_bytes(plan), &packed));
  winograd_weights_t weights = weights_of(plan, plan->problem->constant_weights);
  winograd_pack(plan, &weights, 0, weights.columns / MIN_CHANNELS, packed);
  plan->packed = packed;
  return NULL;
}

/* Rows are positions with their channels, or, if whole images are transposed, channels with their
 * positions. */
static void plan_parts(const winograd_t *plan, op_native_step_t *out) {
  const conv_problem_t *p = plan->problem;
  if (p->kind != CONV_FORWARD || (!plan->by_images && !conv_is_plain(p, CONV_DST))) return;
  int64_t pointers = p->out[0] * p->out[1];
  out->parts.grid.rows = p->batch * (plan->by_images ? p->out_channels : pointers);
  out->parts.grid.columns = plan->by_images ? pointers : p->out_channels;
  out->parts.grid.whole_rows = true;
  out->parts.fit_caches = true;
}

hr_status_t conv_prepare_winograd(const op_native_target_t *target, const conv_problem_t *problem,
                                  op_native_step_t *out) {
  winograd_t *plan;
  bool fits;
  if (!winograd_has_form(problem)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->problem = problem;
  plan->workers = target->workers;
  plan->loops = choose_loops(problem->types.real == HR_F64);
  HR_TRY(winograd_plan_init(target->arena, plan, &fits));
  if (!fits) return NULL;
  HR_TRY(pack_constant(target, plan));
  out->scratch_bytes = winograd_plan_scratch(plan);
  out->plan = plan;
  plan_parts(plan, out);
  return NULL;
}
