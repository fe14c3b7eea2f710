#include "ops/native_scan.h"

#include "ops/native_copy.h"

enum {
  GRAIN = 1 << 14,     /* elements that are worth a worker */
  MIN_PIECE = 1 << 12, /* elements of a line */
  BLOCK_BYTES = 1 << 12,
  LINES = WINDOW_SCAN_LINES
};

/* Lines of neighbouring elements. A line is cut into pieces if there are fewer lines than what keeps the workers busy:
 * all pieces are first added up, which tells what each starts from, then scanned. */
typedef struct scan_job {
  const native_scan_t *scan;
  const char *in;
  char *out;
  window_carry_t init;
  window_carry_t *carries; /* per piece */
} scan_job_t;

void native_scan_plan(native_scan_t *scan, int workers) {
  int64_t bytes = (int64_t)hr_dtype_bytes(scan->rows->dtype);
  scan->workers = workers;
  scan->pieces = 1;
  scan->streams = scan->outer * scan->count * scan->inner * bytes >= NATIVE_STREAM_BYTES;
  if (scan->inner > 1 || scan->outer == 0) return;
  int64_t wanted = (LINES * (int64_t)workers + scan->outer - 1) / scan->outer, most = scan->count / MIN_PIECE;
  scan->pieces = wanted < most ? wanted : most;
  if (scan->pieces < 1) scan->pieces = 1;
}

size_t native_scan_scratch_bytes(const native_scan_t *scan) {
  return scan->pieces > 1 ? (size_t)(scan->outer * scan->pieces) * sizeof(window_carry_t) : 0;
}

/* Piece p of the scan's order, counted over all lines: where its first element is, and how many it has. */
static int64_t piece_at(const native_scan_t *scan, int64_t p, int64_t *out_count) {
  int64_t line = p / scan->pieces, piece = p % scan->pieces;
  int64_t begin = scan->count * piece / scan->pieces, end = scan->count * (piece + 1) / scan->pieces;
  *out_count = end - begin;
  return line * scan->count + (scan->reverse ? scan->count - 1 - begin : begin);
}

static void total_pieces(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  int64_t bytes = (int64_t)hr_dtype_bytes(job->scan->rows->dtype), count;
  (void)worker;
  for (int64_t p = begin; p < end; p++) {
    int64_t at = piece_at(job->scan, p, &count);
    const char *from = job->in + (job->scan->reverse ? at - count + 1 : at) * bytes;
    job->carries[p] = job->scan->rows->start(from);
    job->scan->rows->total(from + bytes, count - 1, &job->carries[p]);
  }
}

/* Totals of pieces become what each starts from. */
static void carry_on(const scan_job_t *job) {
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

/* `count` elements of LINES pieces side by side; what does not stay in the caches goes past them, by way of a buffer. */
static void scan_block(const native_scan_t *scan, const void **in, void **out, int64_t count, window_carry_t *carries) {
  char buffer[LINES][BLOCK_BYTES] __attribute__((aligned(64)));
  int64_t bytes = (int64_t)hr_dtype_bytes(scan->rows->dtype), back = scan->reverse ? (count - 1) * bytes : 0;
  void *to[LINES];
  for (int l = 0; l < LINES; l++) to[l] = scan->streams ? buffer[l] + back : out[l];
  scan->rows->scan(in, to, count, scan->reverse ? -1 : 1, carries);
  for (int l = 0; l < LINES; l++) {
    if (scan->streams) native_stream((char *)out[l] - back, buffer[l], count * bytes);
    in[l] = (const char *)in[l] + (scan->reverse ? -count : count) * bytes;
    out[l] = (char *)out[l] + (scan->reverse ? -count : count) * bytes;
  }
}

/* LINES pieces, as far as the shortest goes. */
static void scan_together(const native_scan_t *scan, const void **in, void **out, int64_t *counts,
                          window_carry_t *carries) {
  int64_t least = counts[0], block = BLOCK_BYTES / (int64_t)hr_dtype_bytes(scan->rows->dtype);
  for (int l = 1; l < LINES; l++)
    if (counts[l] < least) least = counts[l];
  for (int l = 0; l < LINES; l++) counts[l] -= least;
  for (; least > 0; least -= block) scan_block(scan, in, out, least < block ? least : block, carries);
}

static void scan_pieces(const scan_job_t *job, int64_t first, int64_t pieces) {
  const native_scan_t *scan = job->scan;
  const void *in[LINES];
  void *out[LINES];
  window_carry_t carries[LINES];
  int64_t counts[LINES];
  for (int64_t l = 0; l < pieces; l++) {
    int64_t at = piece_at(scan, first + l, &counts[l]) * (int64_t)hr_dtype_bytes(scan->rows->dtype);
    carries[l] = job->carries ? job->carries[first + l] : job->init;
    in[l] = job->in + at;
    out[l] = job->out + at;
  }
  if (pieces == LINES) scan_together(scan, in, out, counts, carries);
  for (int64_t l = 0; l < pieces; l++)
    scan->rows->scan_one(in[l], out[l], counts[l], scan->reverse ? -1 : 1, &carries[l]);
}

static void scan_lines(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  (void)worker;
  for (int64_t p = begin; p < end; p += LINES) scan_pieces(job, p, end - p < LINES ? end - p : LINES);
  if (job->scan->streams) native_stream_end();
}

/* Lines across rows of `inner` neighbours: blocks of columns are scanned together. */
static void scan_column_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const scan_job_t *job = context;
  const native_scan_t *scan = job->scan;
  int64_t bytes = (int64_t)hr_dtype_bytes(scan->rows->dtype);
  int64_t blocks = (scan->inner + WINDOW_SCAN_COLUMNS - 1) / WINDOW_SCAN_COLUMNS;
  (void)worker;
  for (int64_t b = begin; b < end; b++) {
    int64_t first = b % blocks * WINDOW_SCAN_COLUMNS, left = scan->inner - first;
    int64_t row = scan->reverse ? scan->count - 1 : 0;
    int64_t at = ((b / blocks * scan->count + row) * scan->inner + first) * bytes;
    scan->rows->scan_columns(job->in + at, job->out + at, scan->count, scan->reverse ? -scan->inner : scan->inner,
                             left < WINDOW_SCAN_COLUMNS ? left : WINDOW_SCAN_COLUMNS, job->init);
  }
}

void native_scan_run(const native_scan_t *scan, hr_workers_t *workers, void *scratch, const void *in, const void *init,
                     void *out) {
  scan_job_t job = {scan, in, out, scan->rows->start(init), NULL};
  int64_t pieces = scan->outer * scan->pieces, length = scan->count / scan->pieces + 1;
  if (scan->outer * scan->count * scan->inner == 0) return;
  if (scan->inner > 1) {
    int64_t blocks = (scan->inner + WINDOW_SCAN_COLUMNS - 1) / WINDOW_SCAN_COLUMNS;
    hr_workers_for(workers, scan->outer * blocks, GRAIN / (scan->count * WINDOW_SCAN_COLUMNS) + 1, scan_column_blocks,
                   &job);
    return;
  }
  if (scan->pieces > 1) {
    job.carries = scratch;
    hr_workers_for(workers, pieces, GRAIN / length + 1, total_pieces, &job);
    carry_on(&job);
  }
  int64_t grain = GRAIN / length + 1;
  hr_workers_for(workers, pieces, (grain + LINES - 1) / LINES * LINES, scan_lines, &job);
}
