/* Parallel prefix sums (scans).
 *
 *   inner = 1   a line is contiguous. Lines are distributed over the workers; a few long ones are
 *               divided into pieces: the total of each piece is computed, the totals are scanned,
 *               and then each piece is scanned from its carry. Two reads, one write; a single
 *               worker processes piece after piece, so that the second read is from the cache.
 *   inner > 1   lines are columns of rows: blocks of WINDOW_SCAN_COLUMNS columns are scanned
 *               together, row after row.
 *
 * Pieces depend on sizes only, so that sums have the same bits with any number of workers; sums of
 * f32 are accumulated in f64. */
#include "ops/kernels/window/prefix_scan.h"

#include "base/arith.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/native.h"

enum {
  GRAIN = 1 << 14,                   /* least elements per worker */
  PIECE = 1 << 15,                   /* elements per piece of a line */
  SHORT_BYTES = 4 * SCAN_LINES_ALIGN /* lines below this size are scanned without vectors */
};

/* One run over contiguous lines. `carries` holds the value from which each piece starts; NULL if
 * lines are not divided. */
typedef struct scan_job {
  const native_scan_t *scan;
  const char *in;
  char *out;
  window_carry_t init;
  window_carry_t *carries; /* one per piece */
} scan_job_t;

void native_scan_plan(native_scan_t *scan, int workers) {
  int64_t bytes = (int64_t)hr_dtype_bytes(scan->rows->dtype);
  scan->workers = workers;
  scan->pieces = 1;
  scan->line =
      scan->count * bytes < SHORT_BYTES ? NULL : scan_lines_find(scan->rows->op, scan->rows->dtype);
  scan->streams =
      scan->line && scan->outer * scan->count * scan->inner * bytes >= NATIVE_STREAM_BYTES;
  if (scan->inner > 1 || scan->outer == 0) return;
  if (scan->outer < NATIVE_SUM_PARTS) scan->pieces = hr_max(1, scan->count / PIECE);
}

size_t native_scan_scratch_bytes(const native_scan_t *scan) {
  return scan->pieces > 1 ? (size_t)(scan->outer * scan->pieces) * sizeof(window_carry_t) : 0;
}

/* Piece p in scan order, counted over all lines: returns the offset of its lowest element, and
 * its length. */
static int64_t piece_at(const native_scan_t *scan, int64_t p, int64_t *out_count) {
  int64_t line = p / scan->pieces, piece = p % scan->pieces;
  int64_t begin = scan->count * piece / scan->pieces,
          end = scan->count * (piece + 1) / scan->pieces;
  *out_count = end - begin;
  return line * scan->count + (scan->reverse ? scan->count - end : begin);
}

static void total_pieces(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  int64_t bytes = (int64_t)hr_dtype_bytes(job->scan->rows->dtype), count;
  (void)worker;
  for (int64_t p = begin; p < end; p++) {
    const char *from = job->in + piece_at(job->scan, p, &count) * bytes;
    job->carries[p] = job->scan->rows->start(from);
    job->scan->rows->total(from + bytes, count - 1, &job->carries[p]);
  }
}

/* Exclusive scan of the totals: each total is replaced by the value from which its piece starts. */
static void scan_carries(const scan_job_t *job) {
  const native_scan_t *scan = job->scan;
  for (int64_t line = 0; line < scan->outer; line++) {
    window_carry_t carry = job->init;
    for (int64_t p = line * scan->pieces; p < (line + 1) * scan->pieces; p++) {
      window_carry_t total = job->carries[p];
      job->carries[p] = carry;
      carry = scan->rows->combine(carry, total);
    }
  }
}

/* Scans a piece in three parts: up to the first aligned vector, whole vectors, and the
 * remainder. */
static void scan_piece(const native_scan_t *scan, const char *in, char *out, int64_t count,
                       window_carry_t *carry) {
  int64_t bytes = (int64_t)hr_dtype_bytes(scan->rows->dtype), unit = SCAN_LINES_ALIGN / bytes;
  int64_t head = (int64_t)(-(uintptr_t)out % SCAN_LINES_ALIGN) / bytes;
  int64_t middle = (count - head) / unit * unit, tail = count - head - middle;
  int64_t parts[3][2] = {{0, head}, {head, middle}, {head + middle, tail}};
  for (int n = 0; n < 3; n++) {
    const int64_t *part = parts[scan->reverse ? 2 - n : n];
    const char *from = in + part[0] * bytes;
    char *to = out + part[0] * bytes;
    if (part == parts[1])
      scan->line(from, to, middle, scan->reverse, scan->streams, carry);
    else
      scan->rows->scan(from, to, 1, part[1], scan->reverse, carry);
  }
}

static void scan_lines(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  const native_scan_t *scan = job->scan;
  int64_t bytes = (int64_t)hr_dtype_bytes(scan->rows->dtype), count;
  (void)worker;
  for (int64_t p = begin; p < end; p++) {
    window_carry_t carry = job->carries ? job->carries[p] : job->init;
    int64_t at = piece_at(scan, p, &count) * bytes;
    if (scan->line)
      scan_piece(scan, job->in + at, job->out + at, count, &carry);
    else
      scan->rows->scan(job->in + at, job->out + at, 1, count, scan->reverse, &carry);
  }
  if (scan->streams) native_stream_end();
}

/* Processes piece after piece on one worker, from `begin` to `end`: first the total of each, then
 * its scan. */
static void scan_pieces_in_order(scan_job_t *job, int64_t begin, int64_t end) {
  for (int64_t p = begin; p < end; p++) {
    if (p % job->scan->pieces == 0) job->carries[p] = job->init;
    window_carry_t carry = job->carries[p];
    if ((p + 1) % job->scan->pieces) {
      total_pieces(job, p, p + 1, 0);
      job->carries[p + 1] = job->scan->rows->combine(carry, job->carries[p]);
    }
    job->carries[p] = carry;
    scan_lines(job, p, p + 1, 0);
  }
}

/* Scans consecutive short lines in one call. */
static void scan_short_lines(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  int64_t at = begin * job->scan->count * (int64_t)hr_dtype_bytes(job->scan->rows->dtype);
  window_carry_t carry = job->init;
  (void)worker;
  job->scan->rows->scan(job->in + at, job->out + at, end - begin, job->scan->count,
                        job->scan->reverse, &carry);
}

/* Scans blocks of columns down the rows. */
static void scan_column_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  const native_scan_t *scan = job->scan;
  int64_t bytes = (int64_t)hr_dtype_bytes(scan->rows->dtype);
  int64_t blocks = hr_div_ceil(scan->inner, WINDOW_SCAN_COLUMNS);
  (void)worker;
  for (int64_t b = begin; b < end; b++) {
    int64_t first = b % blocks * WINDOW_SCAN_COLUMNS, left = scan->inner - first;
    int64_t row = scan->reverse ? scan->count - 1 : 0;
    int64_t at = ((b / blocks * scan->count + row) * scan->inner + first) * bytes;
    scan->rows->scan_columns(job->in + at, job->out + at, scan->count,
                             scan->reverse ? -scan->inner : scan->inner,
                             left < WINDOW_SCAN_COLUMNS ? left : WINDOW_SCAN_COLUMNS, job->init);
  }
}

void native_scan_run(const native_scan_t *scan, hr_workers_t *workers, void *scratch,
                     const void *in, const void *init, void *out) {
  scan_job_t job = {scan, in, out, scan->rows->start(init), NULL};
  int64_t pieces = scan->outer * scan->pieces, length = scan->count / scan->pieces + 1;
  if (scan->outer * scan->count * scan->inner == 0) return;
  if (scan->inner > 1) {
    int64_t blocks = hr_div_ceil(scan->inner, WINDOW_SCAN_COLUMNS);
    hr_workers_for(workers, scan->outer * blocks, GRAIN / (scan->count * WINDOW_SCAN_COLUMNS) + 1,
                   scan_column_blocks, &job);
    return;
  }
  if (scan->pieces > 1) {
    job.carries = scratch;
    if (hr_workers_count(workers) == 1) {
      scan_pieces_in_order(&job, 0, pieces);
      return;
    }
    hr_workers_for(workers, pieces, GRAIN / length + 1, total_pieces, &job);
    scan_carries(&job);
  }
  bool is_short = !scan->line && scan->pieces == 1;
  hr_workers_for(workers, pieces, GRAIN / length + 1, is_short ? scan_short_lines : scan_lines,
                 &job);
}
