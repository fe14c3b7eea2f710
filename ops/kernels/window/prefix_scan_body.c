/* Parallel prefix sums with a general body.
 *
 * The body is called for a whole vector of lanes per step: lanes are lines side by side, or the
 * pieces of one line; element i of lane l is at base + l * lane_step + i * stride. Pieces are first
 * scanned independently; then the carry into each piece is computed serially and combined with all
 * of its elements. The carry is the left operand of a forward scan and the right operand of a
 * backward one: the body need not be commutative. */
#include "ops/kernels/window/prefix_scan_body.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/strided_loops.h"

enum {
  LANES = 128,      /* lanes per call of the body */
  MAX_PIECES = 256, /* most pieces per line */
  MIN_LENGTH = 64,  /* least elements per piece */
  MAX_BYTES = 16,   /* most bytes per element */
  GRAIN = 1 << 12   /* least elements per worker */
};

/* A block of lanes; strides in elements. `strides` is the number of steps. */
typedef struct scan_lanes {
  int64_t base, lane_step, lanes, stride, strides;
} scan_lanes_t;

typedef struct scan_job {
  const native_body_scan_t *scan;
  void *const *in;
  void *const *out;
  char *scratch;
  int64_t units, per_group; /* blocks of lanes in total; per group of equidistant lanes */
} scan_job_t;

/* Lines are divided into pieces only if that is allowed, and there are too few lines for the
 * workers' lanes. */
void native_body_scan_plan(native_body_scan_t *scan, int workers) {
  scan->workers = workers;
  scan->pieces = 1;
  if (scan->is_tree && scan->inner == 1 && scan->outer > 0 && scan->outer < LANES) {
    int64_t most = MAX_PIECES / scan->outer;
    scan->pieces = hr_min(scan->count / MIN_LENGTH, most);
    if (scan->pieces < 1) scan->pieces = 1;
  }
  scan->length = scan->count / scan->pieces;
}

static size_t carries_bytes(const native_body_scan_t *scan) {
  return scan->pieces > 1 ? (size_t)(scan->outer * (scan->pieces + 1) * scan->arrays * MAX_BYTES)
                          : 0;
}

size_t native_body_scan_scratch_bytes(const native_body_scan_t *scan) {
  return (size_t)(scan->workers * scan->arrays * LANES * MAX_BYTES) + carries_bytes(scan);
}

/* result = body(left, right) for `count` lanes; strides in elements, 0 for a scalar. */
static void apply_body(const native_body_scan_t *scan, int64_t count, char *const *left,
                       int64_t left_step, char *const *right, int64_t right_step,
                       char *const *result) {
  const void *ins[2 * NATIVE_SCAN_MAX_ARRAYS];
  int64_t steps[2 * NATIVE_SCAN_MAX_ARRAYS];
  void *outs[NATIVE_SCAN_MAX_ARRAYS];
  for (int k = 0; k < scan->arrays; k++) {
    ins[k] = left[k];
    steps[k] = left_step;
    ins[scan->arrays + k] = right[k];
    steps[scan->arrays + k] = right_step;
    outs[k] = result[k];
  }
  hr_status_t st = op_body_run(NULL, scan->body, count, ins, steps, outs);
  hr_status_release(st); /* vectorised bodies cannot fail */
}

/* Combines the carry `a` with `b`, in the operand order of the scan's direction. */
static void combine_carry(const native_body_scan_t *scan, int64_t count, char *const *a,
                          int64_t a_step, char *const *b, int64_t b_step, char *const *result) {
  if (scan->reverse)
    apply_body(scan, count, b, b_step, a, a_step, result);
  else
    apply_body(scan, count, a, a_step, b, b_step, result);
}

static void elements_at(const native_body_scan_t *scan, void *const *arrays, int64_t at,
                        char **out_elements) {
  for (int k = 0; k < scan->arrays; k++) out_elements[k] = (char *)arrays[k] + at * scan->bytes[k];
}

/* --- lanes ------------------------------------------------------------------------------------ */

/* True if scans start from the initial value: forward scans of whole lines. With pieces it is part
 * of the carry into each piece; backward scans combine it with each result at the end, as the left
 * operand. */
static bool starts_from_init(const native_body_scan_t *scan) {
  return scan->pieces == 1 && !scan->reverse;
}

static void scan_lanes(const scan_job_t *job, const scan_lanes_t *lanes, char *const *carries) {
  const native_body_scan_t *scan = job->scan;
  char *from[NATIVE_SCAN_MAX_ARRAYS], *to[NATIVE_SCAN_MAX_ARRAYS], *init[NATIVE_SCAN_MAX_ARRAYS];
  for (int k = 0; k < scan->arrays; k++) init[k] = job->in[scan->arrays + k];
  for (int64_t i = 0; i < lanes->strides; i++) {
    elements_at(scan, job->in, lanes->base + i * lanes->stride, from);
    elements_at(scan, job->out, lanes->base + i * lanes->stride, to);
    if (i > 0)
      combine_carry(scan, lanes->lanes, carries, 1, from, lanes->lane_step, carries);
    else if (starts_from_init(scan))
      combine_carry(scan, lanes->lanes, init, 0, from, lanes->lane_step, carries);
    for (int k = 0; k < scan->arrays; k++) {
      int64_t bytes = scan->bytes[k], lane_bytes = lanes->lane_step * bytes;
      if (i == 0 && !starts_from_init(scan))
        loop_copy_row(carries[k], from[k], lanes->lanes, bytes, lane_bytes, (int)bytes);
      loop_copy_row(to[k], carries[k], lanes->lanes, lane_bytes, bytes, (int)bytes);
    }
  }
}

/* The lanes of a unit of work: a block of a group. */
static scan_lanes_t unit_lanes(const scan_job_t *job, int64_t unit) {
  const native_body_scan_t *scan = job->scan;
  int64_t group = unit / job->per_group, first = unit % job->per_group * LANES, lanes = scan->inner;
  scan_lanes_t block = {.lane_step = 1,
                        .stride = scan->reverse ? -scan->inner : scan->inner,
                        .strides = scan->length};
  if (scan->inner == 1) {
    int64_t piece_step = scan->reverse ? -scan->length : scan->length;
    lanes = scan->pieces > 1 ? scan->pieces : scan->outer;
    block.lane_step = scan->pieces > 1 ? piece_step : scan->count;
  }
  block.base = (group * scan->count + (scan->reverse ? scan->count - 1 : 0)) * scan->inner +
               first * block.lane_step;
  block.lanes = hr_min(lanes - first, LANES);
  return block;
}

/* Scans units; a worker's carries are LANES elements of up to MAX_BYTES for each array. */
static void scan_units(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  char *carries[NATIVE_SCAN_MAX_ARRAYS];
  for (int k = 0; k < job->scan->arrays; k++)
    carries[k] = job->scratch + (worker * job->scan->arrays + k) * LANES * MAX_BYTES;
  for (int64_t unit = begin; unit < end; unit++) {
    scan_lanes_t lanes = unit_lanes(job, unit);
    scan_lanes(job, &lanes, carries);
  }
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* Address of the carry into piece p of a line; that after the last piece is the line's total. */
static void carry_address(const scan_job_t *job, int64_t line, int64_t p, char **out_elements) {
  const native_body_scan_t *scan = job->scan;
  char *offsets = job->scratch + scan->workers * scan->arrays * LANES * MAX_BYTES;
  for (int k = 0; k < scan->arrays; k++)
    out_elements[k] = offsets + ((line * (scan->pieces + 1) + p) * scan->arrays + k) * MAX_BYTES;
}

static int64_t scan_element(const native_body_scan_t *scan, int64_t line, int64_t i) {
  return line * scan->count + (scan->reverse ? scan->count - 1 - i : i);
}

static bool has_carry_in(const native_body_scan_t *scan, int64_t piece) {
  return piece > 0 || !scan->reverse;
}

/* Carry p + 1 of a line is carry p combined with the last element, the total, of scanned piece
 * p; carry 0 is the initial value. Sequential, one element per piece. */
static void compute_carries(const scan_job_t *job) {
  const native_body_scan_t *scan = job->scan;
  char *offset[NATIVE_SCAN_MAX_ARRAYS], *next[NATIVE_SCAN_MAX_ARRAYS],
      *total[NATIVE_SCAN_MAX_ARRAYS];
  for (int64_t line = 0; line < scan->outer; line++) {
    carry_address(job, line, 0, offset);
    for (int k = 0; k < scan->arrays; k++)
      memcpy(offset[k], job->in[scan->arrays + k], (size_t)scan->bytes[k]);
    for (int64_t p = 0; p < scan->pieces; p++) {
      carry_address(job, line, p, offset);
      carry_address(job, line, p + 1, next);
      elements_at(scan, job->out, scan_element(scan, line, (p + 1) * scan->length - 1), total);
      if (has_carry_in(scan, p))
        combine_carry(scan, 1, offset, 1, total, 1, next);
      else
        for (int k = 0; k < scan->arrays; k++) memcpy(next[k], total[k], (size_t)scan->bytes[k]);
    }
  }
}

/* Combines each piece's carry with all of its scanned elements, in place; contiguous from the
 * element at the lowest address, which is the piece's last in reverse. */
static void combine_carries(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  const native_body_scan_t *scan = job->scan;
  char *offset[NATIVE_SCAN_MAX_ARRAYS], *piece[NATIVE_SCAN_MAX_ARRAYS];
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t line = unit / scan->pieces, p = unit % scan->pieces;
    if (!has_carry_in(scan, p)) continue;
    int64_t lowest = scan->reverse ? (p + 1) * scan->length - 1 : p * scan->length;
    carry_address(job, line, p, offset);
    elements_at(scan, job->out, scan_element(scan, line, lowest), piece);
    combine_carry(scan, scan->length, offset, 0, piece, 1, piece);
  }
}

/* Scans the remainder of each line after its pieces: fewer elements than pieces. */
static void scan_remainders(const scan_job_t *job) {
  const native_body_scan_t *scan = job->scan;
  char *carry[NATIVE_SCAN_MAX_ARRAYS], *from[NATIVE_SCAN_MAX_ARRAYS], *to[NATIVE_SCAN_MAX_ARRAYS];
  for (int64_t line = 0; line < scan->outer; line++) {
    carry_address(job, line, scan->pieces, carry);
    for (int64_t i = scan->pieces * scan->length; i < scan->count; i++) {
      elements_at(scan, job->in, scan_element(scan, line, i), from);
      elements_at(scan, job->out, scan_element(scan, line, i), to);
      combine_carry(scan, 1, carry, 1, from, 1, carry);
      for (int k = 0; k < scan->arrays; k++) memcpy(to[k], carry[k], (size_t)scan->bytes[k]);
    }
  }
}

static void scan_pieces(const scan_job_t *job, hr_workers_t *workers) {
  const native_body_scan_t *scan = job->scan;
  compute_carries(job);
  hr_workers_for(workers, scan->outer * scan->pieces, GRAIN / scan->length + 1, combine_carries,
                 (void *)job);
  scan_remainders(job);
}

/* --- backward scans ------------------------------------------------------------ */

static void combine_inits(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  const native_body_scan_t *scan = job->scan;
  char *init[NATIVE_SCAN_MAX_ARRAYS], *results[NATIVE_SCAN_MAX_ARRAYS];
  (void)worker;
  for (int k = 0; k < scan->arrays; k++) init[k] = job->in[scan->arrays + k];
  elements_at(scan, job->out, begin, results);
  apply_body(scan, end - begin, init, 0, results, 1, results);
}

void native_body_scan_run(const native_body_scan_t *scan, hr_workers_t *workers, void *scratch,
                          void *const *in, void *const *out) {
  scan_job_t job = {scan, in, out, scratch, 0, 1};
  if (scan->outer * scan->count * scan->inner == 0) return;
  if (scan->inner > 1) job.per_group = (scan->inner + LANES - 1) / LANES;
  if (scan->inner == 1 && scan->pieces == 1) job.per_group = (scan->outer + LANES - 1) / LANES;
  if (scan->pieces > 1) job.per_group = (scan->pieces + LANES - 1) / LANES;
  job.units = job.per_group * (scan->inner == 1 && scan->pieces == 1 ? 1 : scan->outer);
  hr_workers_for(workers, job.units, GRAIN / (scan->length * LANES) + 1, scan_units, &job);
  if (scan->pieces > 1) scan_pieces(&job, workers);
  if (scan->reverse)
    hr_workers_for(workers, scan->outer * scan->count * scan->inner, GRAIN, combine_inits, &job);
}
