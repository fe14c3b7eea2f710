/* Plans of resharding and range moves, carried out on sets of element numbers: after a plan every
 * device has exactly the elements that the target sharding gives it. */
#include <stdlib.h>
#include <string.h>

#include "partition/lower/comm_cost.h"
#include "partition/lower/range_moves.h"
#include "partition/lower/reshard_plan.h"
#include "tests/lib/unit.h"
#include "transport/core/coll_cost.h"

#define MAX_DEVICES 16
#define MAX_ELEMENTS 4096
#define GARBAGE (-1)

static uint32_t random_state = 1;

static int64_t draw(int64_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int64_t)(random_state >> 8) % below;
}

/* --- resharding --- */

typedef struct simulation {
  const spmd_reshard_t *problem;
  int device_count;
  int *held[MAX_DEVICES]; /* element numbers in local row-major order; GARBAGE for padding */
} simulation_t;

/* Atoms are the digits of a device number, the first the most significant. */
static int64_t digit(const spmd_reshard_t *problem, int64_t device, int atom) {
  for (int a = problem->atom_count - 1; a > atom; a--) device /= problem->atom_sizes[a];
  return device % problem->atom_sizes[atom];
}

static int64_t part_of(const spmd_reshard_t *problem, int64_t device, const spmd_list_t *list) {
  int64_t part = 0;
  for (int i = 0; i < list->count; i++)
    part = part * problem->atom_sizes[list->atoms[i]] + digit(problem, device, list->atoms[i]);
  return part;
}

static int64_t local_count(const spmd_reshard_t *problem, const spmd_layout_t *layout) {
  int64_t count = 1;
  for (int d = 0; d < problem->rank; d++) count *= layout->chunk[d];
  return count;
}

/* The element at local place `at` of a device; GARBAGE beyond the end. */
static int element_at(const spmd_reshard_t *problem, const spmd_layout_t *layout, int64_t device,
                      int64_t at) {
  int64_t index[SPMD_PLAN_RANK], element = 0;
  for (int d = problem->rank - 1; d >= 0; d--) {
    index[d] =
        at % layout->chunk[d] + part_of(problem, device, &layout->dims[d]) * layout->chunk[d];
    at /= layout->chunk[d];
    if (index[d] >= problem->sizes[d]) return GARBAGE;
  }
  for (int d = 0; d < problem->rank; d++) element = element * problem->sizes[d] + index[d];
  return (int)element;
}

/* A step is sound if its layout says where elements are, and they can come from there: a gather, an
 * exchange or a slice takes them from devices that differ only along its atoms. */
static bool can_come(const spmd_reshard_t *problem, const spmd_step_t *step, int64_t device,
                     int element) {
  int64_t devices = 1;
  for (int a = 0; a < problem->atom_count; a++) devices *= problem->atom_sizes[a];
  for (int64_t from = 0; from < devices; from++) {
    bool reachable = step->kind != SPMD_SLICE || from == device;
    for (int a = 0; a < problem->atom_count && step->kind != SPMD_PERMUTE; a++)
      reachable &= memchr(step->atoms.atoms, a, (size_t)step->atoms.count) ||
                   digit(problem, from, a) == digit(problem, device, a);
    for (int64_t at = 0; reachable && at < local_count(problem, &step->before); at++)
      if (element_at(problem, &step->before, from, at) == element) return true;
  }
  return false;
}

static bool step_is_sound(const spmd_reshard_t *problem, const spmd_step_t *step) {
  int64_t devices = 1;
  for (int a = 0; a < problem->atom_count; a++) devices *= problem->atom_sizes[a];
  for (int64_t device = 0; device < devices; device++)
    for (int64_t at = 0; at < local_count(problem, &step->after); at++) {
      int element = element_at(problem, &step->after, device, at);
      if (element != GARBAGE && !can_come(problem, step, device, element)) return false;
    }
  return true;
}

/* Atoms in random order, dealt to the dimensions of one side or to none. */
static void deal_atoms(const spmd_reshard_t *problem, spmd_list_t *lists, uint32_t *unreduced) {
  int order[SPMD_MAX_ATOMS];
  for (int a = 0; a < problem->atom_count; a++) order[a] = a;
  for (int a = problem->atom_count - 1; a > 0; a--) {
    int other = (int)draw(a + 1), kept = order[a];
    order[a] = order[other];
    order[other] = kept;
  }
  for (int i = 0; i < problem->atom_count; i++) {
    int64_t to = draw(problem->rank + 2);
    if (to < problem->rank)
      lists[to].atoms[lists[to].count++] = (uint8_t)order[i];
    else if (to == problem->rank && unreduced)
      *unreduced |= UINT32_C(1) << order[i];
  }
}

static spmd_reshard_t random_problem(void) {
  static const int64_t sizes[] = {2, 2, 3, 4};
  spmd_reshard_t problem = {.other_bytes = 4};
  int64_t devices = 1;
  problem.rank = 1 + (int)draw(3);
  problem.atom_count = 1 + (int)draw(3);
  for (int a = 0; a < problem.atom_count; a++) {
    problem.atom_sizes[a] = devices <= 4 ? sizes[draw(4)] : 2;
    devices *= problem.atom_sizes[a];
  }
  for (int d = 0; d < problem.rank; d++) {
    problem.outer[d] = 1;
    problem.sizes[d] = 1 + draw(13);
  }
  deal_atoms(&problem, problem.from, &problem.unreduced_from);
  deal_atoms(&problem, problem.to, draw(2) ? &problem.unreduced_to : NULL);
  return problem;
}

static bool same_end(const spmd_reshard_t *problem, const spmd_layout_t *a,
                     const spmd_layout_t *b) {
  bool same = a->unreduced == b->unreduced;
  for (int d = 0; d < problem->rank; d++)
    same &= a->chunk[d] == b->chunk[d] && a->dims[d].count == b->dims[d].count &&
            !memcmp(a->dims[d].atoms, b->dims[d].atoms, (size_t)a->dims[d].count);
  return same;
}

static bool plan_is_sound(const spmd_reshard_t *problem) {
  spmd_plan_t plan;
  spmd_layout_t at = spmd_reshard_begin(problem), end = spmd_reshard_end(problem);
  spmd_reshard_plan(problem, &plan);
  for (int i = 0; i < plan.count; i++) {
    if (!same_end(problem, &at, &plan.steps[i].before)) return false;
    if (!step_is_sound(problem, &plan.steps[i])) return false;
    at = plan.steps[i].after;
  }
  return same_end(problem, &at, &end);
}

static void test_reshard_plans(void) {
  int sound = 0;
  random_state = 7;
  for (int i = 0; i < 800; i++) {
    spmd_reshard_t problem = random_problem();
    sound += plan_is_sound(&problem);
  }
  CU_ASSERT_EQUAL(sound, 800);
}

/* Axis 0 of 4, axis 1 of 2; a dimension of each size. */
static spmd_reshard_t swap_problem(void) {
  spmd_reshard_t problem = {.atom_count = 2, .rank = 2, .other_bytes = 4};
  problem.atom_sizes[0] = 4;
  problem.atom_sizes[1] = 2;
  problem.sizes[0] = 16;
  problem.sizes[1] = 16;
  problem.outer[0] = 1;
  problem.outer[1] = 1;
  return problem;
}

static void test_plan_kinds(void) {
  spmd_plan_t plan;
  spmd_reshard_t problem = swap_problem();
  problem.from[0] = (spmd_list_t){1, {0}};
  problem.to[1] = problem.from[0];
  spmd_reshard_plan(&problem, &plan);
  CU_ASSERT_EQUAL(plan.count, 1);
  CU_ASSERT_EQUAL(plan.steps[0].kind, SPMD_ALL_TO_ALL);
  CU_ASSERT_DOUBLE_EQUAL(plan.bytes, 192, 0); /* three quarters of a part */
  problem = swap_problem();
  problem.unreduced_from = 1;
  problem.to[0] = (spmd_list_t){1, {0}};
  spmd_reshard_plan(&problem, &plan);
  CU_ASSERT_EQUAL(plan.count, 1);
  CU_ASSERT_EQUAL(plan.steps[0].kind, SPMD_REDUCE_SCATTER);
  CU_ASSERT_DOUBLE_EQUAL(plan.bytes, 768, 0); /* three quarters of the whole */
  problem = swap_problem();
  problem.from[0] = (spmd_list_t){1, {0}};
  problem.unreduced_to = 1;
  spmd_reshard_plan(&problem, &plan);
  CU_ASSERT_EQUAL(plan.count, 1);
  CU_ASSERT_EQUAL(plan.steps[0].kind, SPMD_SPREAD);
  CU_ASSERT_EQUAL(plan.collectives, 0);
  problem = swap_problem();
  problem.to[0] = (spmd_list_t){2, {0, 1}};
  spmd_reshard_plan(&problem, &plan);
  CU_ASSERT_EQUAL(plan.collectives, 0);
}

/* --- costs --- */

/* Small arrays cost what they send in a ring, large ones what the transport estimates between
 * machines, or has measured. */
static void test_costs(void) {
  double byte = spmd_byte_us(), large = 8 * SPMD_LARGE_BYTES, whole = (7 * large + 400) * byte;
  if (tp_cost_model()->machines > 1 || tp_cost_model()->tuning)
    whole = tp_collective_us(tp_cost_model(), TP_ALL_GATHER, 8, large);
  CU_ASSERT_DOUBLE_EQUAL(spmd_step_us(SPMD_ALL_GATHER, 100, 8), (700 + 400) * byte, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(spmd_step_us(SPMD_ALL_REDUCE, 800, 8), (1400 + 400) * byte, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(spmd_step_us(SPMD_REDUCE_SCATTER, 800, 8), (700 + 400) * byte, 1e-9);
  CU_ASSERT_EQUAL(spmd_step_us(SPMD_SLICE, large, 8), 0);
  CU_ASSERT_EQUAL(spmd_step_us(SPMD_SPREAD, large, 8), 0);
  CU_ASSERT_EQUAL(spmd_step_us(SPMD_ALL_GATHER, large, 1), 0);
  CU_ASSERT_DOUBLE_EQUAL(spmd_step_us(SPMD_ALL_GATHER, large, 8), whole, 1e-9);
  CU_ASSERT(spmd_work_us(1e6) > spmd_work_us(1e5));
}

/* A gathered array that processes share costs less than one that each of many copies; arrays that
 * are small, or of more processes than share memory, are copied. */
static void test_shared_gathers(void) {
  double large = SPMD_LARGE_BYTES;
  bool is_known = tp_cost_model()->machines > 1 || tp_cost_model()->tuning;
  CU_ASSERT_EQUAL(spmd_shared_gather_us(large, 8) < spmd_step_us(SPMD_ALL_GATHER, large, 8),
                  !is_known);
  CU_ASSERT_EQUAL(spmd_shared_gather_us(large, 2), spmd_step_us(SPMD_ALL_GATHER, large, 2));
  CU_ASSERT_EQUAL(spmd_shared_gather_us(100, 8), spmd_step_us(SPMD_ALL_GATHER, 100, 8));
  CU_ASSERT_EQUAL(spmd_shared_gather_us(large, 4096), spmd_step_us(SPMD_ALL_GATHER, large, 4096));
}

/* By the formulas of algorithms.def: several machines are slower than one, latency counts. */
static void test_estimates(void) {
  static const tp_cost_model_t one = {1, NULL}, four = {4, NULL};
  for (tp_collective_t c = 0; c < TP_COLLECTIVE_COUNT; c++) {
    CU_ASSERT(tp_collective_us(&one, c, 8, 1) > 0);
    CU_ASSERT(tp_collective_us(&one, c, 8, 1e6) > tp_collective_us(&one, c, 8, 1));
    CU_ASSERT(tp_collective_us(&four, c, 8, 1e6) > tp_collective_us(&one, c, 8, 1e6));
    CU_ASSERT(tp_collective_us(&four, c, 8, 1) > tp_collective_us(&one, c, 8, 1));
  }
}

/* --- range moves --- */

typedef struct windows {
  spmd_ranges_t ranges;
  int64_t starts[MAX_DEVICES], ends[MAX_DEVICES];
} windows_t;

static windows_t random_windows(void) {
  windows_t made = {{0}, {0}, {0}};
  spmd_ranges_t *ranges = &made.ranges;
  ranges->parts = 1 + draw(8);
  ranges->size = 1 + draw(40);
  ranges->chunk = (ranges->size + ranges->parts - 1) / ranges->parts;
  ranges->width = 1 + draw(2 * ranges->chunk + 2);
  int64_t kind = draw(4), step = draw(2 * ranges->chunk + 1), offset = draw(21) - 10;
  for (int64_t j = 0; j < ranges->parts; j++) {
    made.starts[j] = offset + j * step;
    if (kind == 1) made.starts[j] = ranges->size - (j + 1) * ranges->width;
    if (kind == 2) made.starts[j] = draw(ranges->size + 10) - 5;
    made.ends[j] = made.starts[j] + draw(2) * ranges->width + draw(ranges->width + 1);
  }
  ranges->round_elements = (double)draw(4);
  ranges->wrap = kind == 3 && ranges->size % ranges->parts == 0 &&
                 ranges->width + ranges->chunk <= ranges->size;
  return made;
}

/* Which element lies at place `at` of part j's window once all rounds are done; blocks that would
 * disagree give GARBAGE. */
static int64_t delivered(const windows_t *windows, const spmd_moves_t *moves, int64_t j,
                         int64_t at) {
  int64_t found = GARBAGE;
  for (int r = 0; r < moves->count; r++) {
    const spmd_round_t *round = &moves->rounds[r];
    int64_t s = round->sources[j], within = at - round->placed_at[j];
    if (s < 0 || within < 0 || within >= round->block) continue;
    found = s * windows->ranges.chunk + round->sent_from[s] + within;
    if (round->sent_from[s] + round->block > windows->ranges.chunk) return GARBAGE;
  }
  return found;
}

static bool sends_once(const spmd_round_t *round, int64_t parts) {
  bool sends[MAX_DEVICES] = {false};
  for (int64_t j = 0; j < parts; j++) {
    if (round->sources[j] < 0) continue;
    if (sends[round->sources[j]]) return false;
    sends[round->sources[j]] = true;
  }
  return true;
}

static bool moves_are_right(const windows_t *windows, const spmd_moves_t *moves) {
  const spmd_ranges_t *ranges = &windows->ranges;
  for (int r = 0; r < moves->count; r++)
    if (!sends_once(&moves->rounds[r], ranges->parts)) return false;
  for (int64_t j = 0; j < ranges->parts; j++)
    for (int64_t at = 0; at < ranges->width; at++) {
      int64_t wanted = windows->starts[j] + at;
      if (wanted >= windows->ends[j]) continue;
      if (ranges->wrap) wanted = (wanted % ranges->size + ranges->size) % ranges->size;
      if (wanted < 0 || wanted >= ranges->size) continue;
      if (delivered(windows, moves, j, at) != wanted) return false;
    }
  return true;
}

static void test_range_moves(void) {
  int right = 0;
  random_state = 11;
  for (int i = 0; i < 20000; i++) {
    hr_arena_t arena;
    spmd_moves_t moves;
    windows_t windows = random_windows();
    hr_arena_init(&arena);
    windows.ranges.starts = windows.starts;
    windows.ranges.ends = windows.ends;
    hr_status_t st = spmd_range_moves(&arena, &windows.ranges, &moves);
    right += !st && moves_are_right(&windows, &moves);
    hr_status_release(st);
    hr_arena_deinit(&arena);
  }
  CU_ASSERT_EQUAL(right, 20000);
}

/* --- windows --- */

/* One dimension of an operation over windows, with any stride, dilation of both sides and padding
 * (which may be negative), and its result cut into parts. */
typedef struct windowed {
  int64_t size, window, stride, low;
  int64_t dilation;              /* dilation of the input */
  int64_t window_dilation;       /* dilation of the kernel's taps */
  int64_t results, parts, chunk; /* chunk: results of one part */
} windowed_t;

static bool random_windowed(windowed_t *w) {
  *w = (windowed_t){.size = 1 + draw(24),
                    .window = 1 + draw(5),
                    .stride = 1 + draw(4),
                    .low = draw(9) - 4,
                    .dilation = 1 + draw(3),
                    .window_dilation = 1 + draw(3),
                    .parts = 1 + draw(8)};
  int64_t padded = (w->size - 1) * w->dilation + 1 + w->low + draw(9) - 4;
  int64_t footprint = (w->window - 1) * w->window_dilation + 1;
  w->results = padded >= footprint ? (padded - footprint) / w->stride + 1 : 0;
  w->chunk = (w->results + w->parts - 1) / w->parts;
  return w->results > 0;
}

/* The input element under tap t of result r, as the operation defines it; GARBAGE: padding. */
static int64_t element_under(const windowed_t *w, int64_t r, int64_t t) {
  int64_t place = r * w->stride - w->low + t * w->window_dilation;
  bool is_hole = place < 0 || place % w->dilation || place / w->dilation >= w->size;
  return is_hole ? GARBAGE : place / w->dilation;
}

/* The element under tap t as part j finds it: elements from starts[j] on, spread after dilation
 * - 1 holes, cut at cuts[j], and read at the place that the result's own window begins. */
static int64_t element_found(const windowed_t *w, const spmd_undilated_t *apart, int64_t j,
                             int64_t own, int64_t t) {
  int64_t at = apart->cuts[j] + own * w->stride + t * w->window_dilation - (w->dilation - 1);
  if (at < 0 || at % w->dilation || at / w->dilation >= apart->width) return GARBAGE;
  int64_t element = apart->starts[j] + at / w->dilation;
  return element < 0 || element >= w->size || element >= apart->ends[j] ? GARBAGE : element;
}

static bool finds_all(const windowed_t *w, const spmd_undilated_t *apart) {
  for (int64_t j = 0; j < w->parts; j++)
    for (int64_t own = 0; own < w->chunk && j * w->chunk + own < w->results; own++)
      for (int64_t t = 0; t < w->window; t++)
        if (element_found(w, apart, j, own, t) != element_under(w, j * w->chunk + own, t))
          return false;
  return true;
}

/* Part j's results need the places from j * chunk * stride - low on: with any dilation they are
 * found among the elements that are fetched. */
static void test_dilated_windows(void) {
  int right = 0, tried = 0;
  random_state = 13;
  while (tried < 20000) {
    int64_t starts[MAX_DEVICES];
    hr_arena_t arena;
    windowed_t w;
    spmd_undilated_t apart;
    if (!random_windowed(&w)) continue;
    tried++;
    hr_arena_init(&arena);
    int64_t footprint = (w.window - 1) * w.window_dilation + 1;
    for (int64_t j = 0; j < w.parts; j++) starts[j] = j * w.chunk * w.stride - w.low;
    CHECK_OK(spmd_undilate(&arena, w.parts, starts, (w.chunk - 1) * w.stride + footprint,
                           w.dilation, &apart));
    right += finds_all(&w, &apart);
    hr_arena_deinit(&arena);
  }
  CU_ASSERT_EQUAL(right, 20000);
}

/* Every source whose window meets a part is among those that the part takes, and all that its
 * window covers among the elements. */
static bool reaches_all(const windowed_t *w, const spmd_reach_t *reach) {
  for (int64_t s = 0; s < w->results; s++)
    for (int64_t j = 0; j < w->parts; j++) {
      int64_t begin = s * w->stride - w->low, end = begin + w->window;
      if (end <= j * w->chunk || begin >= (j + 1) * w->chunk) continue;
      int64_t source = s - reach->source_starts[j], first = begin - reach->starts[j];
      if (source < 0 || source >= reach->source_width || s >= reach->source_ends[j]) return false;
      if (first != source * w->stride || first + w->window > reach->width) return false;
      if (end > reach->ends[j]) return false;
    }
  return true;
}

static void test_select_and_scatter_reach(void) {
  int right = 0, tried = 0;
  random_state = 17;
  while (tried < 20000) {
    hr_arena_t arena;
    windowed_t w;
    spmd_reach_t reach;
    if (!random_windowed(&w)) continue;
    tried++;
    hr_arena_init(&arena);
    w.chunk = (w.size + w.parts - 1) / w.parts; /* here the input is cut */
    CHECK_OK(spmd_reach_of(&arena, w.parts, w.chunk, w.window, w.stride, w.low, &reach));
    right += reaches_all(&w, &reach);
    hr_arena_deinit(&arena);
  }
  CU_ASSERT_EQUAL(right, 20000);
}

static void check_moves(const spmd_ranges_t *ranges, int count, double sent) {
  spmd_moves_t moves;
  hr_arena_t arena;
  hr_arena_init(&arena);
  CU_ASSERT_PTR_NULL(spmd_range_moves(&arena, ranges, &moves));
  CU_ASSERT_EQUAL(moves.count, count);
  CU_ASSERT_DOUBLE_EQUAL(moves.sent, sent, 0);
  hr_arena_deinit(&arena);
}

/* A stencil's halo: one block from each neighbour. */
static void test_halo_rounds(void) {
  static const int64_t starts[] = {-1, 2, 5, 8};
  spmd_ranges_t ranges = {.size = 12, .chunk = 3, .parts = 4, .width = 5, .starts = starts};
  check_moves(&ranges, 3, 1.5);
}

/* Part 0 needs one element of part 1, which needs two: one round would send two both ways. */
static void test_rounds_of_different_size(void) {
  static const int64_t starts[] = {0, 6}, ends[] = {9, 16};
  spmd_ranges_t ranges = {.size = 16,
                          .chunk = 8,
                          .parts = 2,
                          .width = 10,
                          .starts = starts,
                          .ends = ends,
                          .round_elements = 100};
  check_moves(&ranges, 3, 1.5);
}

CU_TestInfo suite_spmd_plans[] = {
    {"resharding plans reach their end", test_reshard_plans},
    {"plans are of the right kind", test_plan_kinds},
    {"small arrays cost bytes, large ones time", test_costs},
    {"arrays that processes share are gathered once", test_shared_gathers},
    {"estimates grow with bytes and machines", test_estimates},
    {"range moves deliver their windows", test_range_moves},
    {"halos take one round a side", test_halo_rounds},
    {"rounds of different size stay apart", test_rounds_of_different_size},
    {"windows find their elements", test_dilated_windows},
    {"select-and-scatter gets all of its sources", test_select_and_scatter_reach},
    CU_TEST_INFO_NULL,
};
