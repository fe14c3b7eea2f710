/* fft by FFTW. The last one to three dimensions are transformed, the others are a batch. A real
 * transform of several dimensions is real along the last one and complex along the others: RFFT
 * does the real dimension first, IRFFT last. Inverses are scaled by one over the product of
 * lengths. Plans are created per execution (FFTW_ESTIMATE), with FFTW's planner lock held. Source:
 * StableHLO spec, fft. */
#include <string.h>

#include "ops/kernels/kernel.h"
#include "ops/kernels/libs/fftw.h"

#define FFT_MAX_DIMS 3

typedef struct fft_plan {
  hlo_enum_FFT_TYPE_t type;
  bool is_double;
  int rank; /* number of transformed dimensions */
  int64_t lengths[FFT_MAX_DIMS];
  int64_t batch, in_last, out_last; /* sizes of the last dimension in operand and result */
  int64_t rows;                     /* lines along the last dimension */
} fft_plan_t;

/* Real types on the real side, complex types of the same precision on the other (fft C2). */
static hr_status_t fft_types(const op_step_t *step, fft_plan_t *plan) {
  hr_dtype_t in = step->in_shapes[0]->dtype, out = step->out_shape->dtype;
  bool real_in = plan->type == HLO_FFT_TYPE_RFFT, real_out = plan->type == HLO_FFT_TYPE_IRFFT;
  plan->is_double = hr_dtype_real(in) == HR_F64;
  hr_dtype_t real = plan->is_double ? HR_F64 : HR_F32,
             complex_ = plan->is_double ? HR_C128 : HR_C64;
  hr_dtype_t want_in = real_in ? real : complex_;
  hr_dtype_t want_out = real_out ? real : complex_;
  if (in != want_in || out != want_out) /* fft C2 */
    return hlo_error(step->instr, "fft C2", "%s of %s to %s",
                     hlo_enum_table[HLO_ENUM_FFT_TYPE].texts[plan->type], hr_dtype_name(in),
                     hr_dtype_name(out));
  return NULL;
}

/* Size of the half spectrum of a real line. */
static int64_t half_size(int64_t length) { return length ? length / 2 + 1 : 0; }

/* Checks sizes against fft_length (fft C3-C6) and records batch, lengths and rows. */
static hr_status_t fft_sizes(const op_step_t *step, fft_plan_t *plan) {
  const hlo_shape_t *in = step->in_shapes[0], *out = step->out_shape;
  hr_ints_t lengths = hlo_attr_ints(step->instr, HLO_ATTR_FFT_LENGTH);
  if (lengths.count < 1 || lengths.count > FFT_MAX_DIMS || lengths.count > in->rank ||
      in->rank != out->rank)
    return hlo_error(step->instr, "fft C3", "%ld lengths for an operand of rank %d",
                     (long)lengths.count, in->rank);
  plan->rank = (int)lengths.count;
  plan->batch = 1;
  for (int d = 0; d < in->rank; d++) {
    int t = d - (in->rank - plan->rank);
    int64_t want_in = t < 0 ? in->dims[d] : lengths.data[t], want_out = want_in;
    if (t == plan->rank - 1 && plan->type == HLO_FFT_TYPE_RFFT) want_out = half_size(want_in);
    if (t == plan->rank - 1 && plan->type == HLO_FFT_TYPE_IRFFT) want_in = half_size(want_in);
    if (in->dims[d] != want_in || out->dims[d] != want_out) /* fft C4-C6 */
      return hlo_error(step->instr, "fft C5",
                       "dimension %d has sizes %ld and %ld, want %ld and %ld", d, (long)in->dims[d],
                       (long)out->dims[d], (long)want_in, (long)want_out);
    if (t < 0)
      plan->batch *= in->dims[d];
    else
      plan->lengths[t] = lengths.data[t];
  }
  plan->in_last = in->dims[in->rank - 1];
  plan->out_last = out->dims[out->rank - 1];
  plan->rows = plan->batch;
  for (int t = 0; t < plan->rank - 1; t++) plan->rows *= plan->lengths[t];
  return NULL;
}

static hr_status_t prepare_fft(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  fft_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  plan->type = (hlo_enum_FFT_TYPE_t)hlo_attr_enum(step->instr, HLO_ATTR_FFT_TYPE);
  HR_TRY(fft_types(step, plan));
  HR_TRY(fft_sizes(step, plan));
  *out_plan = plan;
  return NULL;
}

/* Planner calls, also those that destroy plans, are not thread-safe: they hold FFTW's lock. */
static hr_status_t execute(const fftw_library_t *library, fftw_plan transform) {
  if (!transform) return hr_error(HR_UNSUPPORTED, "FFTW has no plan for a transform of this size");
  library->execute(transform);
  fftw_lock();
  library->destroy_plan(transform);
  fftw_unlock();
  return NULL;
}

/* Complex transforms in place, over the first `rank` transformed dimensions of
 * [batch][lengths...][last]. */
static hr_status_t transform_complex(const fftw_library_t *library, const fft_plan_t *plan,
                                     int rank, int64_t last, int sign, void *data) {
  fftw_iodim64 dims[FFT_MAX_DIMS], many[2];
  int64_t stride = last;
  if (rank == 0) return NULL;
  for (int t = plan->rank - 2; t >= 0; stride *= plan->lengths[t--])
    dims[t] = (fftw_iodim64){plan->lengths[t], stride, stride};
  many[0] = (fftw_iodim64){plan->batch, stride, stride};
  many[1] = (fftw_iodim64){last, 1, 1};
  if (rank == plan->rank) dims[rank - 1] = (fftw_iodim64){last, 1, 1};
  fftw_lock();
  fftw_plan transform =
      library->dft(rank, dims, rank == plan->rank ? 1 : 2, many, data, data, sign, FFTW_ESTIMATE);
  fftw_unlock();
  return execute(library, transform);
}

/* Lines along the last dimension, between real and half spectrum. */
static hr_status_t transform_real(const fftw_library_t *library, const fft_plan_t *plan, void *in,
                                  void *out) {
  bool forward = plan->type == HLO_FFT_TYPE_RFFT;
  fftw_iodim64 line = {plan->lengths[plan->rank - 1], 1, 1},
               many = {plan->rows, plan->in_last, plan->out_last};
  fftw_lock();
  fftw_plan transform =
      (forward ? library->dft_r2c : library->dft_c2r)(1, &line, 1, &many, in, out, FFTW_ESTIMATE);
  fftw_unlock();
  return execute(library, transform);
}

/* The half spectrum of a real line has a real first element, and a real last one for even
 * lengths; imaginary parts stored there are ignored. */
static void clear_imaginary(const fft_plan_t *plan, void *data) {
  bool even = plan->lengths[plan->rank - 1] % 2 == 0;
  for (int64_t row = 0; row < plan->rows; row++) {
    int64_t first = row * plan->in_last, middle = first + plan->in_last - 1;
    for (int i = 0; i < (even ? 2 : 1); i++) {
      int64_t at = 2 * (i ? middle : first) + 1;
      if (plan->is_double)
        ((double *)data)[at] = 0;
      else
        ((float *)data)[at] = 0;
    }
  }
}

/* FFTW's inverses are not scaled. */
static void scale_result(const fft_plan_t *plan, hlo_value_t *out) {
  double factor = 1;
  int64_t reals = out->count * (hr_dtype_is_complex(out->dtype) ? 2 : 1);
  for (int t = 0; t < plan->rank; t++) factor /= (double)plan->lengths[t];
  for (int64_t i = 0; i < reals; i++)
    if (plan->is_double)
      ((double *)out->data)[i] *= factor;
    else
      ((float *)out->data)[i] *= (float)factor;
}

/* IRFFT: complex transforms on a copy of the operand, then real lines. */
static hr_status_t inverse_real(op_env_t *env, const fftw_library_t *library,
                                const fft_plan_t *plan, const hlo_value_t *in, hlo_value_t *out) {
  void *copy;
  HR_TRY(hr_arena_copy(env->scratch, in->data, hlo_value_bytes(in), &copy));
  HR_TRY(transform_complex(library, plan, plan->rank - 1, plan->in_last, FFTW_BACKWARD, copy));
  clear_imaginary(plan, copy);
  return transform_real(library, plan, copy, out->data);
}

/* RFFT: real rows, then the other dimensions in place. IRFFT: in reverse order, scaled. FFT and
 * IFFT work in place on a copy of the operand. */
static hr_status_t transform(op_env_t *env, const fft_plan_t *plan, const hlo_value_t *in,
                             hlo_value_t *out) {
  fftw_library_t library;
  if (in->count == 0 || out->count == 0) {
    memset(out->data, 0, hlo_value_bytes(out));
    return NULL;
  }
  HR_TRY(fftw_library_open(plan->is_double, &library));
  switch (plan->type) {
    case HLO_FFT_TYPE_RFFT:
      HR_TRY(transform_real(&library, plan, in->data,
                            out->data)); /* out of place: FFTW preserves the input */
      return transform_complex(&library, plan, plan->rank - 1, plan->out_last, FFTW_FORWARD,
                               out->data);
    case HLO_FFT_TYPE_IRFFT:
      HR_TRY(inverse_real(env, &library, plan, in, out));
      break;
    default:
      memcpy(out->data, in->data, hlo_value_bytes(in));
      HR_TRY(transform_complex(&library, plan, plan->rank, plan->in_last,
                               plan->type == HLO_FFT_TYPE_FFT ? FFTW_FORWARD : FFTW_BACKWARD,
                               out->data));
      if (plan->type == HLO_FFT_TYPE_FFT) return NULL;
  }
  scale_result(plan, out);
  return NULL;
}

static hr_status_t run_fft(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = transform(env, step->plan, in[0], out);
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_fft = {prepare_fft, run_fft};
