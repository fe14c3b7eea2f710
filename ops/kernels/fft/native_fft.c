/* fft in passes along one dimension each, divided among the workers: many short lines by
 * fft_lanes.h, others by FFTW with plans made at compile time, very long single lines by
 * fft_long.h, real ones of lengths with large prime factors by fft_as_complex.h.
 *
 *   rows      along the last dimension, which is contiguous: some lines per call
 *   columns   along another one: FFT_COLUMNS adjacent lines are copied to contiguous ones,
 *             transformed there and copied back; FFTW is up to ten times slower on strides of a
 *             power of two
 *
 * Real transforms are real in the pass of rows, which is the first one of RFFT and the last one of
 * IRFFT. That pass also scales inverses. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/native_common.h"
#include "ops/kernels/fft/fft_as_complex.h"
#include "ops/kernels/fft/fft_lanes.h"
#include "ops/kernels/fft/fft_lines.h"
#include "ops/kernels/fft/fft_long.h"

#define FFT_MAX_DIMS 3
#define ROW_BYTES 65536       /* bytes of lines per call of FFTW */
#define SPLIT_ELEMENTS 4096   /* least elements per worker */
#define MIN_LANES 4           /* fewest lines for fft_lanes */
#define LANES_LEAST 32        /* complex lines by fft_lanes: least length in f32, */
#define LANES_LEAST_DOUBLE 64 /* in f64, */
#define LANES_END 256         /* and length from which FFTW is as fast */
#define FEW_LEFT 2            /* most remaining columns for which FFTW is faster than lanes */

/* One pass along a dimension that is not the last. */
typedef struct fft_columns {
  fft_lines_t lines;
  const fft_lanes_t *lanes;     /* used instead of FFTW; NULL: FFTW */
  int64_t left;                 /* columns that blocks of lanes leave to FFTW */
  int64_t outer, length, inner; /* the array as three dimensions; lines along the middle one */
} fft_columns_t;

/* One plan, with FFTW's plans made when the program is compiled. */
typedef struct fft_native {
  fftw_library_t library;
  hlo_enum_FFT_TYPE_t type;
  int64_t element_bytes; /* size of a complex element */
  int column_passes, workers;
  fft_columns_t columns[FFT_MAX_DIMS - 1];
  fft_lines_t rows;
  const fft_lanes_t *row_lanes; /* used instead of FFTW; NULL: FFTW */
  bool as_complex;              /* real lines are transformed as complex ones */
  int64_t row_count, in_last, out_last, last_length;
  double scale;
  size_t copy_at, worker_at, worker_bytes;
  const fft_long_t *long_; /* lines shared by all workers; NULL: the passes above */
} fft_native_t;

/* One execution; `from` and `to` are those of the current pass. */
typedef struct fft_run {
  const fft_native_t *plan;
  const fft_columns_t *columns; /* the current pass */
  const char *from;
  char *to;
  char *workers; /* scratch memory of worker 0 */
} fft_run_t;

static bool is_double(const fft_native_t *plan) { return plan->element_bytes == 16; }

/* Scratch memory of one worker. */
static char *worker_space(const fft_run_t *r, int worker) {
  return r->workers + (size_t)worker * r->plan->worker_bytes;
}

/* --- columns --- */

/* `count` adjacent columns by FFTW, through padded copies in the worker's scratch. `at`: bytes from
 * the start of the array. */
static void run_few_columns(const fft_run_t *r, fftw_plan transform, int64_t at, int64_t count,
                            int worker) {
  const fft_native_t *plan = r->plan;
  const fft_columns_t *c = r->columns;
  int64_t step = fft_padded_length(plan->element_bytes, c->length);
  char *space = worker_space(r, worker);
  fft_gather(plan->element_bytes, r->from + at, c->inner, c->length, count, space, step);
  plan->library.execute_dft(transform, space, space);
  fft_scatter(plan->element_bytes, space, step, c->length, count, r->to + at, c->inner);
}

/* Blocks of adjacent columns by fft_lanes, without copies. */
static void run_column_lanes(void *context, int64_t begin, int64_t end, int worker) {
  const fft_run_t *r = context;
  const fft_columns_t *c = r->columns;
  int64_t lanes_per_call = fft_lanes_count(c->lanes),
          blocks = (c->inner + lanes_per_call - 1) / lanes_per_call,
          complex_bytes = r->plan->element_bytes;
  for (int64_t task = begin; task < end; task++) {
    int64_t first = task % blocks * lanes_per_call,
            at = (task / blocks * c->length * c->inner + first) * complex_bytes;
    if (c->left && first + c->left == c->inner)
      run_few_columns(r, c->lines.many, at, c->left, worker);
    else
      fft_lanes_columns(c->lanes, r->from + at, r->to + at, c->inner,
                        hr_min(lanes_per_call, c->inner - first), worker_space(r, worker));
  }
}

/* Blocks of adjacent columns by FFTW. */
static void run_columns(void *context, int64_t begin, int64_t end, int worker) {
  const fft_run_t *r = context;
  const fft_columns_t *c = r->columns;
  int64_t blocks = (c->inner + FFT_COLUMNS - 1) / FFT_COLUMNS;
  for (int64_t task = begin; task < end; task++) {
    int64_t first = task % blocks * FFT_COLUMNS, count = hr_min(FFT_COLUMNS, c->inner - first);
    int64_t at = (task / blocks * c->length * c->inner + first) * r->plan->element_bytes;
    run_few_columns(r, count == FFT_COLUMNS ? c->lines.many : c->lines.rest, at, count, worker);
  }
}

/* --- rows --- */

/* The half spectrum of a real line has a real first element, and a real last one for even lengths;
 * imaginary parts stored there are ignored, as in the reference. */
static void clear_imaginary(const fft_native_t *plan, char *line) {
  int64_t last = plan->last_length % 2 == 0 ? plan->in_last - 1 : 0, half = plan->element_bytes / 2;
  memset(line + half, 0, (size_t)half);
  memset(line + last * plan->element_bytes + half, 0, (size_t)half);
}

/* Inverse transforms divide by the number of elements, once, in the pass of rows. */
static void scale_reals(const fft_native_t *plan, void *data, int64_t count) {
  float factor = (float)plan->scale;
  for (int64_t i = 0; i < count && is_double(plan); i++) ((double *)data)[i] *= plan->scale;
  for (int64_t i = 0; i < count && !is_double(plan); i++) ((float *)data)[i] *= factor;
}

/* `count` lines, at most those of one call, by the FFTW plan `transform`. c2r destroys its
 * input, so IRFFT works on a copy of the half spectrum. */
static void transform_rows(const fft_run_t *r, fftw_plan transform, int64_t row, int64_t count,
                           char *space) {
  const fft_native_t *plan = r->plan;
  int64_t complex_bytes = plan->element_bytes, real = complex_bytes / 2;
  bool real_in = plan->type == HLO_FFT_TYPE_RFFT, real_out = plan->type == HLO_FFT_TYPE_IRFFT;
  const char *from = r->from + row * plan->in_last * (real_in ? real : complex_bytes);
  char *to = r->to + row * plan->out_last * (real_out ? real : complex_bytes);
  if (real_in) {
    plan->library.execute_r2c(transform, (void *)from, to);
  } else if (real_out) {
    memcpy(space, from, (size_t)(count * plan->in_last * complex_bytes));
    for (int64_t i = 0; i < count; i++)
      clear_imaginary(plan, space + i * plan->in_last * complex_bytes);
    plan->library.execute_c2r(transform, space, to);
  } else {
    plan->library.execute_dft(transform, (void *)from, to);
  }
  if (plan->scale != 1) scale_reals(plan, to, count * plan->out_last * (real_out ? 1 : 2));
}

/* A real line, or two consecutive ones, as a complex one. */
static void transform_real(const fft_run_t *r, int64_t row, int64_t count,
                           const fft_pair_scales_t *scales, char *space) {
  const fft_native_t *plan = r->plan;
  const fft_as_complex_t *as = is_double(plan) ? &fft_as_complex_f64 : &fft_as_complex_f32;
  int64_t n = plan->last_length, half = plan->element_bytes / 2;
  bool real_in = plan->type == HLO_FFT_TYPE_RFFT;
  int64_t in_bytes = plan->in_last * (real_in ? half : 2 * half);
  int64_t out_bytes = plan->out_last * (real_in ? 2 * half : half);
  const char *from = r->from + row * in_bytes, *second = count == 2 ? from + in_bytes : NULL;
  char *to = r->to + row * out_bytes, *to_second = count == 2 ? to + out_bytes : NULL;
  char *line = space + hr_round_up(n, 8) * plan->element_bytes;
  (real_in ? as->widen : as->mirror)(from, second, scales, n, space);
  plan->library.execute_dft(plan->rows.many, space, line);
  (real_in ? as->split : as->take)(line, scales, n, to, to_second);
  if (plan->scale != 1) scale_reals(plan, to, count * plan->out_last * (real_in ? 2 : 1));
}

/* Pairs of lines; those that cannot share a complex line are transformed one by one. */
static void run_real_rows(void *context, int64_t begin, int64_t end, int worker) {
  const fft_run_t *r = context;
  const fft_native_t *plan = r->plan;
  const fft_as_complex_t *as = is_double(plan) ? &fft_as_complex_f64 : &fft_as_complex_f32;
  const fft_pair_scales_t none = {{1, 1}, {1, 1}};
  int64_t reals = plan->in_last * (plan->type == HLO_FFT_TYPE_RFFT ? 1 : 2);
  char *space = worker_space(r, worker);
  for (int64_t row = 2 * begin; row < hr_min(2 * end, plan->row_count); row += 2) {
    const char *from = r->from + row * reals * (plan->element_bytes / 2);
    fft_pair_scales_t scales;
    bool has_second = row + 1 < plan->row_count;
    if (has_second &&
        as->find_scales(from, from + reals * (plan->element_bytes / 2), reals, &scales)) {
      transform_real(r, row, 2, &scales, space);
      continue;
    }
    transform_real(r, row, 1, &none, space);
    if (has_second) transform_real(r, row + 1, 1, &none, space);
  }
}

/* Blocks of lines in vector lanes: lane l of a block is line l. */
static void run_row_lanes(void *context, int64_t begin, int64_t end, int worker) {
  const fft_run_t *r = context;
  const fft_native_t *plan = r->plan;
  int64_t lanes_per_call = fft_lanes_count(plan->row_lanes), complex_bytes = plan->element_bytes;
  int64_t in_bytes =
      plan->in_last * (plan->type == HLO_FFT_TYPE_RFFT ? complex_bytes / 2 : complex_bytes);
  int64_t out_bytes =
      plan->out_last * (plan->type == HLO_FFT_TYPE_IRFFT ? complex_bytes / 2 : complex_bytes);
  for (int64_t block = begin; block < end; block++) {
    int64_t row = block * lanes_per_call;
    fft_lanes_rows(plan->row_lanes, r->from + row * in_bytes, r->to + row * out_bytes,
                   hr_min(lanes_per_call, plan->row_count - row), worker_space(r, worker));
  }
}

/* Blocks of lines; each begins at an aligned address, whatever the length of a line. */
static void run_rows(void *context, int64_t begin, int64_t end, int worker) {
  const fft_run_t *r = context;
  const fft_lines_t *lines = &r->plan->rows;
  for (int64_t block = begin; block < end; block++) {
    int64_t row = block * lines->count, count = hr_min(lines->count, r->plan->row_count - row);
    transform_rows(r, count == lines->count ? lines->many : lines->rest, row, count,
                   worker_space(r, worker));
  }
}

/* --- all passes --- */

/* One pass over a dimension: from an array to the same or another one of equal shape. */
static void pass_columns(hr_workers_t *workers, fft_run_t *r, int pass, const void *from,
                         void *to) {
  const fft_columns_t *c = r->columns = &r->plan->columns[pass];
  int64_t lanes_per_call = c->lanes ? fft_lanes_count(c->lanes) : FFT_COLUMNS;
  int64_t tasks = c->outer * hr_div_ceil(c->inner, lanes_per_call);
  r->from = from;
  r->to = to;
  hr_workers_for(workers, tasks, 1 + SPLIT_ELEMENTS / (c->length * lanes_per_call),
                 c->lanes ? run_column_lanes : run_columns, r);
}

/* The pass along the last dimension; its lines are contiguous. */
static void pass_rows(hr_workers_t *workers, fft_run_t *r, const void *from, void *to) {
  const fft_native_t *plan = r->plan;
  r->from = from;
  r->to = to;
  int64_t lines_per_call = plan->row_lanes ? fft_lanes_count(plan->row_lanes) : plan->rows.count;
  if (plan->as_complex) lines_per_call = 2;
  int64_t blocks = hr_div_ceil(plan->row_count, lines_per_call);
  hr_workers_split(workers, blocks, 1 + SPLIT_ELEMENTS / (plan->last_length * lines_per_call),
                   plan->as_complex  ? run_real_rows
                   : plan->row_lanes ? run_row_lanes
                                     : run_rows,
                   r);
}

/* Forward: rows first, then columns in place in the result. IRFFT has real results: columns
 * first, in a copy of the operand, then rows into the result. */
static hr_status_t run_fft(const op_native_run_t *run, const void *plan_, void *const *in,
                           void *const *out) {
  const fft_native_t *plan = plan_;
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  if (plan->long_) {
    fft_long_run(plan->long_, workers, scratch, in[0], out[0]);
    return NULL;
  }
  fft_run_t r = {.plan = plan, .workers = scratch + plan->worker_at};
  if (plan->type != HLO_FFT_TYPE_IRFFT) {
    pass_rows(workers, &r, in[0], out[0]);
    for (int i = 0; i < plan->column_passes; i++) pass_columns(workers, &r, i, out[0], out[0]);
    return NULL;
  }
  const void *from = in[0];
  for (int i = 0; i < plan->column_passes; i++, from = scratch + plan->copy_at)
    pass_columns(workers, &r, i, from, scratch + plan->copy_at);
  pass_rows(workers, &r, from, out[0]);
  return NULL;
}

/* --- planning --- */

/* *out_lanes stays NULL if there are too few lines. */
static hr_status_t plan_lanes(const op_native_target_t *target, const fft_native_t *plan,
                              hlo_enum_FFT_TYPE_t type, int64_t length, int64_t lines, double scale,
                              const fft_lanes_t **out_lanes) {
  *out_lanes = NULL;
  if (lines < MIN_LANES) return NULL;
  return fft_lanes_plan(target->arena, type, length, is_double(plan), scale, out_lanes);
}

/* Plans the columns after the last whole block of lanes, if they are few. */
static hr_status_t plan_left(const op_native_target_t *target, fft_native_t *plan, fft_form_t form,
                             fft_columns_t *c) {
  int64_t left = c->inner % fft_lanes_count(c->lanes);
  if (!left || left > FEW_LEFT) return NULL;
  form.count = left;
  HR_TRY(fft_lines_plan(target, &plan->library, form, left, &c->lines));
  c->left = fft_lines_exist(&c->lines, left) ? left : 0;
  return NULL;
}

/* One pass per transformed dimension but the last, from inner to outer. */
static hr_status_t plan_columns(const op_native_target_t *target, fft_native_t *plan, int rank,
                                const int64_t *sizes) {
  bool forward = plan->type == HLO_FFT_TYPE_FFT || plan->type == HLO_FFT_TYPE_RFFT;
  int64_t inner = sizes[rank - 1], total = plan->row_count * inner;
  for (int t = rank - 2; t >= 0; t--) {
    fft_columns_t *c = &plan->columns[plan->column_passes++];
    *c = (fft_columns_t){.outer = total / (sizes[t] * inner), .length = sizes[t], .inner = inner};
    inner *= sizes[t];
    int64_t step = fft_padded_length(plan->element_bytes, c->length);
    HR_TRY(plan_lanes(target, plan, forward ? HLO_FFT_TYPE_FFT : HLO_FFT_TYPE_IFFT, c->length,
                      c->inner, 1, &c->lanes));
    fft_form_t form = {
        forward ? HLO_FFT_TYPE_FFT : HLO_FFT_TYPE_IFFT, c->length, FFT_COLUMNS, step, step, true};
    HR_TRY(c->lanes ? plan_left(target, plan, form, c)
                    : fft_lines_plan(target, &plan->library, form, c->inner, &c->lines));
  }
  return NULL;
}

/* Lines per block: as many as fit into ROW_BYTES, at least NATIVE_SUM_PARTS blocks, and an even
 * number: FFTW is four times slower on blocks that do not begin at a multiple of 16 bytes. FFTW's
 * algorithm depends on the number of lines, which therefore does not depend on the number of
 * workers. */
static int64_t block_rows(const fft_native_t *plan) {
  int64_t count = ROW_BYTES / (plan->last_length * plan->element_bytes);
  int64_t share = hr_div_ceil(plan->row_count, NATIVE_SUM_PARTS);
  count = hr_min(count, share);
  if (plan->last_length % 2 == 0 && plan->in_last == plan->out_last) return hr_max(count, 1);
  return count > 2 ? count / 2 * 2 : 2;
}

/* True for complex lines of lengths for which lanes are faster than FFTW: shorter ones are mostly
 * transposed, and the cells of longer ones exceed the first-level cache. */
static bool suits_lanes(const fft_native_t *plan) {
  int64_t least = is_double(plan) ? LANES_LEAST_DOUBLE : LANES_LEAST;
  return plan->last_length >= least && plan->last_length < LANES_END;
}

static hr_status_t plan_rows(const op_native_target_t *target, fft_native_t *plan) {
  bool is_real = plan->type == HLO_FFT_TYPE_RFFT || plan->type == HLO_FFT_TYPE_IRFFT;
  bool is_odd = fft_lanes_is_odd(plan->last_length);
  if (is_real || is_odd || suits_lanes(plan))
    HR_TRY(plan_lanes(target, plan, plan->type, plan->last_length, plan->row_count, plan->scale,
                      &plan->row_lanes));
  if (plan->row_lanes) return NULL;
  plan->as_complex = is_real && fft_as_complex_pays(plan->last_length);
  if (plan->as_complex) {
    fft_form_t line = {plan->type == HLO_FFT_TYPE_RFFT ? HLO_FFT_TYPE_FFT : HLO_FFT_TYPE_IFFT,
                       plan->last_length,
                       1,
                       plan->last_length,
                       plan->last_length,
                       false};
    return fft_lines_plan(target, &plan->library, line, 1, &plan->rows);
  }
  int64_t count = block_rows(plan);
  fft_form_t form = {plan->type, plan->last_length, count, plan->in_last, plan->out_last, false};
  return fft_lines_plan(target, &plan->library, form, plan->row_count, &plan->rows);
}

static size_t plan_fft_scratch(const op_native_target_t *target, fft_native_t *plan) {
  size_t total = 0, complex_bytes = 0, bytes = (size_t)plan->element_bytes;
  bool copies = plan->type == HLO_FFT_TYPE_IRFFT;
  plan->copy_at = scratch_reserve(&total, copies && plan->column_passes
                                              ? (size_t)(plan->row_count * plan->in_last) * bytes
                                              : 0);
  if (copies) complex_bytes = (size_t)(plan->rows.count * plan->in_last) * bytes;
  if (plan->as_complex) complex_bytes = 2 * (size_t)hr_round_up(plan->last_length, 8) * bytes;
  if (plan->row_lanes) complex_bytes = fft_lanes_space_bytes(plan->row_lanes);
  for (int i = 0; i < plan->column_passes; i++) {
    const fft_columns_t *c = &plan->columns[i];
    int64_t copied = c->lanes ? c->left : FFT_COLUMNS;
    size_t block = (size_t)(copied * fft_padded_length(plan->element_bytes, c->length)) * bytes;
    size_t lanes = c->lanes ? fft_lanes_space_bytes(c->lanes) : 0;
    if (block < lanes) block = lanes;
    if (block > complex_bytes) complex_bytes = block;
  }
  plan->worker_at = total;
  plan->worker_bytes = (complex_bytes + 63) / 64 * 64;
  return total + plan->worker_bytes * (size_t)target->workers;
}

/* False for sizes that the reference kernel rejects with an error. */
static bool read_sizes(const op_step_t *step, fft_native_t *plan, int *out_rank, int64_t *sizes) {
  const hlo_shape_t *in = step->in_shapes[0], *out = step->out_shape;
  hr_ints_t lengths = hlo_attr_ints(step->instr, HLO_ATTR_FFT_LENGTH);
  int rank = (int)lengths.count;
  if (rank < 1 || rank > FFT_MAX_DIMS || rank > in->rank || in->rank != out->rank) return false;
  plan->in_last = in->dims[in->rank - 1];
  plan->out_last = out->dims[out->rank - 1];
  plan->last_length = lengths.data[rank - 1];
  plan->row_count = 1;
  for (int d = 0; d < in->rank - 1; d++) plan->row_count *= in->dims[d];
  for (int t = 0; t < rank; t++) sizes[t] = lengths.data[t];
  sizes[rank - 1] = plan->type == HLO_FFT_TYPE_RFFT ? plan->out_last : plan->in_last;
  plan->scale = 1;
  for (int t = 0; t < rank && (plan->type == HLO_FFT_TYPE_IFFT || plan->type == HLO_FFT_TYPE_IRFFT);
       t++)
    plan->scale /= (double)lengths.data[t];
  *out_rank = rank;
  return plan->row_count > 0 && plan->in_last > 0 && plan->out_last > 0 && plan->last_length > 0;
}

static bool plans_exist(const fft_native_t *plan) {
  bool exist = plan->row_lanes || fft_lines_exist(&plan->rows, plan->row_count);
  for (int i = 0; i < plan->column_passes; i++)
    exist = exist && (plan->columns[i].lanes ||
                      fft_lines_exist(&plan->columns[i].lines, plan->columns[i].inner));
  return exist;
}

static hr_status_t plan_long(const op_native_target_t *target, fft_native_t *plan,
                             size_t *out_scratch_bytes) {
  fft_line_kind_t kind = {plan->type, plan->last_length, plan->row_count, plan->element_bytes,
                          plan->scale};
  return fft_long_plan(target, &plan->library, &kind, out_scratch_bytes, &plan->long_);
}

static hr_status_t plan_short(const op_native_target_t *target, fft_native_t *plan, int rank,
                              const int64_t *sizes, size_t *out_scratch_bytes) {
  HR_TRY(plan_rows(target, plan));
  HR_TRY(plan_columns(target, plan, rank, sizes));
  *out_scratch_bytes = plan_fft_scratch(target, plan);
  return NULL;
}

static hr_status_t prepare_fft(const op_native_target_t *target, const op_step_t *step,
                               op_native_step_t *out) {
  fft_native_t *plan;
  int rank;
  int64_t sizes[FFT_MAX_DIMS];
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->type = (hlo_enum_FFT_TYPE_t)hlo_attr_enum(step->instr, HLO_ATTR_FFT_TYPE);
  plan->element_bytes = hr_dtype_real(step->in_shapes[0]->dtype) == HR_F64 ? 16 : 8;
  plan->workers = target->workers;
  if (!read_sizes(step, plan, &rank, sizes)) return NULL;
  hr_status_t missing = fftw_library_open(is_double(plan), &plan->library);
  hr_status_release(missing);
  if (missing) return NULL;
  if (rank == 1 && (plan->type == HLO_FFT_TYPE_FFT || plan->type == HLO_FFT_TYPE_IFFT))
    HR_TRY(plan_long(target, plan, &out->scratch_bytes));
  if (!plan->long_) HR_TRY(plan_short(target, plan, rank, sizes, &out->scratch_bytes));
  if (!plan->long_ && !plans_exist(plan)) return NULL;
  double points = (double)plan->row_count * (double)plan->last_length;
  for (double size = 1; size < points; size *= 2) out->flops += 5 * points;
  out->bytes = (double)plan->row_count * (double)(plan->in_last + plan->out_last) *
               (double)plan->element_bytes;
  out->plan = plan;
  return NULL;
}

const op_native_t native_fft = {"FFTW", prepare_fft, run_fft};
