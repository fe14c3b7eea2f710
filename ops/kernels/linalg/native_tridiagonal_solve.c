/* gtsv (solution of tridiagonal systems by elimination with partial pivoting), for LAPACK's custom
 * call. The systems of a batch are distributed over the workers. Many systems with few right-hand
 * sides are interleaved over vector lanes (batched_small.h), except for groups with a zero pivot.
 *
 * Of others, a system is factored once, by scalars; LAPACK's steps are kept as a multiplier and an
 * exchange each. Every step then works on rows of right-hand sides, COLUMNS at a time, so that the
 * rows of the next steps stay in the caches. With one right-hand side the time is the latency of a
 * step, and what the next one needs stays in registers. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/linalg/batched_small.h"
#include "ops/kernels/linalg/native_linalg.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

extern const op_kernel_t custom_gtsv;

#define COLUMNS 256 /* right-hand sides at a time */
#define DIAGONALS 3
/* Most bytes of an interleaved group, which stays in the second-level cache. */
#define GROUP_BYTES (1 << 18)

typedef struct gtsv_native {
  native_matrices_t matrices;
  bool is_double;
  int64_t batch, n, k;                  /* systems; rows; right-hand sides */
  const batched_small_loops_t *batched; /* NULL: systems one by one */
} gtsv_native_t;

typedef struct gtsv_run {
  const gtsv_native_t *plan;
  char *diagonals[DIAGONALS]; /* below, on and above the main one; then the factor's upper ones */
  char *b;
  int32_t *info;
} gtsv_run_t;

/* NAME_factor: returns the number of elimination steps done, n - 1 unless a pivot is zero, and sets
 * *out_info as LAPACK does. lower: dl[1 ... n - 1], from its first element on.
 * NAME_eliminate, NAME_substitute: `count` columns of b, whose rows have k elements. */
#define DEFINE_GTSV(NAME, T, ABS)                                                                  \
  static int64_t NAME##_factor(int64_t n, T *lower, T *d, T *du, T *factors, bool *swaps,          \
                               int32_t *out_info) {                                                \
    *out_info = 0;                                                                                 \
    for (int64_t i = 0; i + 1 < n; i++) {                                                          \
      swaps[i] = !(ABS(d[i]) >= ABS(lower[i]));                                                    \
      if (!swaps[i] && d[i] == 0) {                                                                \
        *out_info = (int32_t)(i + 1);                                                              \
        return i;                                                                                  \
      }                                                                                            \
      T above = swaps[i] ? d[i + 1] : du[i];                                                       \
      T other = swaps[i] ? du[i] : d[i + 1];                                                       \
      factors[i] = swaps[i] ? d[i] / lower[i] : lower[i] / d[i];                                   \
      if (swaps[i]) d[i] = lower[i];                                                               \
      d[i + 1] = other - factors[i] * above;                                                       \
      du[i] = above;                                                                               \
      if (i + 2 >= n) continue;                                                                    \
      lower[i] = swaps[i] ? du[i + 1] : 0;                                                         \
      if (swaps[i]) du[i + 1] = -factors[i] * lower[i];                                            \
    }                                                                                              \
    if (d[n - 1] == 0) *out_info = (int32_t)n;                                                     \
    return n - 1;                                                                                  \
  }                                                                                                \
                                                                                                   \
  NATIVE_CLONES static void NAME##_eliminate(int64_t steps, const T *factors, const bool *swaps,   \
                                             int64_t k, int64_t count, T *b) {                     \
    for (int64_t i = 0; i < steps; i++, b += k) {                                                  \
      T factor = factors[i], *next = b + k;                                                        \
      for (int64_t c = 0; c < count && swaps[i]; c++) {                                            \
        T old = b[c];                                                                              \
        b[c] = next[c];                                                                            \
        next[c] = old - factor * next[c];                                                          \
      }                                                                                            \
      for (int64_t c = 0; c < count && !swaps[i]; c++) next[c] -= factor * b[c];                   \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  NATIVE_CLONES static void NAME##_substitute(int64_t n, const T *lower, const T *d, const T *du,  \
                                              int64_t k, int64_t count, T *b) {                    \
    T *row = b + (n - 1) * k;                                                                      \
    for (int64_t c = 0; c < count; c++) row[c] /= d[n - 1];                                        \
    for (int64_t i = n - 2; i >= 0; i--) {                                                         \
      const T *below = row, *second = i + 2 < n ? row + k : row;                                   \
      T near = du[i], far = i + 2 < n ? lower[i] : 0, pivot = d[i];                                \
      row -= k;                                                                                    \
      for (int64_t c = 0; c < count; c++)                                                          \
        row[c] = (row[c] - near * below[c] - far * second[c]) / pivot;                             \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* The same for one right-hand side. Returns what *out_info of NAME_factor would be. */          \
  static int32_t NAME##_single(int64_t n, T *lower, T *d, T *du, T *b) {                           \
    T pivot = d[0], upper = n > 1 ? du[0] : 0, value = b[0], near = 0, far = 0;                    \
    for (int64_t i = 0; i + 1 < n; i++) {                                                          \
      T low = lower[i], next_d = d[i + 1], next_b = b[i + 1], next_u = i + 2 < n ? du[i + 1] : 0;  \
      bool swaps = !(ABS(pivot) >= ABS(low));                                                      \
      d[i] = swaps ? low : pivot;                                                                  \
      du[i] = swaps ? next_d : upper;                                                              \
      b[i] = swaps ? next_b : value;                                                               \
      if (d[i] == 0) return (int32_t)(i + 1);                                                      \
      if (i + 2 < n) lower[i] = swaps ? next_u : 0;                                                \
      if (swaps) {                                                                                 \
        T factor = pivot / low;                                                                    \
        pivot = upper - factor * next_d;                                                           \
        value = value - factor * next_b;                                                           \
        upper = -factor * next_u;                                                                  \
      } else {                                                                                     \
        T factor = low / pivot;                                                                    \
        pivot = next_d - factor * upper;                                                           \
        value = next_b - factor * value;                                                           \
        upper = next_u;                                                                            \
      }                                                                                            \
    }                                                                                              \
    d[n - 1] = pivot;                                                                              \
    b[n - 1] = value;                                                                              \
    if (pivot == 0) return (int32_t)n;                                                             \
    for (int64_t i = n - 1; i >= 0; i--) {                                                         \
      T rest = b[i];                                                                               \
      if (i + 1 < n) rest -= du[i] * near;                                                         \
      if (i + 2 < n) rest -= lower[i] * far;                                                       \
      far = near;                                                                                  \
      near = b[i] = rest / d[i];                                                                   \
    }                                                                                              \
    return 0;                                                                                      \
  }                                                                                                \
                                                                                                   \
  static void NAME##_system(const gtsv_run_t *run, int64_t system, char *space) {                  \
    int64_t n = run->plan->n, k = run->plan->k;                                                    \
    T *at[DIAGONALS], *factors = (T *)space, *b = (T *)run->b + system * n * k;                    \
    bool *swaps = (bool *)(factors + n);                                                           \
    for (int j = 0; j < DIAGONALS; j++) at[j] = (T *)run->diagonals[j] + system * n;               \
    if (k == 1) {                                                                                  \
      run->info[system] = NAME##_single(n, at[0] + 1, at[1], at[2], b);                            \
      return;                                                                                      \
    }                                                                                              \
    int64_t steps = NAME##_factor(n, at[0] + 1, at[1], at[2], factors, swaps, &run->info[system]); \
    for (int64_t c = 0; c < k; c += COLUMNS) {                                                     \
      int64_t count = hr_min(COLUMNS, k - c);                                                      \
      NAME##_eliminate(steps, factors, swaps, k, count, b + c);                                    \
      if (!run->info[system]) NAME##_substitute(n, at[0] + 1, at[1], at[2], k, count, b + c);      \
    }                                                                                              \
  }
DEFINE_GTSV(f32, float, fabsf)
DEFINE_GTSV(f64, double, fabs)

static void solve_system(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                         char *space) {
  const gtsv_run_t *run = context;
  (void)memory, (void)workers;
  if (run->plan->is_double)
    f64_system(run, i, space);
  else
    f32_system(run, i, space);
}

/* Array j of the group's first system: a diagonal, or the right-hand sides, and its elements per
 * system. */
static char *group_array(const gtsv_run_t *run, int j, int64_t first, int64_t *out_elements) {
  const gtsv_native_t *p = run->plan;
  *out_elements = p->n * (j == DIAGONALS ? p->k : 1);
  return (j == DIAGONALS ? run->b : run->diagonals[j]) +
         first * *out_elements * (int64_t)(p->is_double ? sizeof(double) : sizeof(float));
}

static void solve_group(const void *context, int64_t group, hr_workers_t *workers, char *memory,
                        char *space) {
  const gtsv_run_t *run = context;
  const gtsv_native_t *p = run->plan;
  int64_t lanes = p->batched->lanes, first = group * lanes, count = hr_min(p->batch - first, lanes);
  int64_t vector = lanes * (int64_t)(p->is_double ? sizeof(double) : sizeof(float)), elements;
  char *at[DIAGONALS + 1];
  for (int j = 0; j <= DIAGONALS; j++) {
    at[j] = space + j * p->n * vector;
    const char *from = group_array(run, j, first, &elements);
    p->batched->load(from, elements, count, at[j]);
  }
  if (!p->batched->gtsv(p->n, p->k, at[0], at[1], at[2], at[3])) {
    for (int64_t i = first; i < first + count; i++) solve_system(run, i, workers, memory, space);
    return;
  }
  for (int j = 0; j <= DIAGONALS; j++) {
    char *to = group_array(run, j, first, &elements);
    p->batched->store(at[j], elements, count, to);
  }
  memset(run->info + first, 0, (size_t)count * sizeof *run->info);
}

static hr_status_t run_gtsv(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const gtsv_native_t *plan = plan_;
  gtsv_run_t r = {plan, {out[0], out[1], out[2]}, out[3], out[4]};
  size_t bytes = plan->is_double ? sizeof(double) : sizeof(float);
  size_t rows = (size_t)(plan->batch * plan->n);
  for (int j = 0; j <= DIAGONALS; j++)
    if (in[j] != out[j])
      memcpy(out[j], in[j], rows * bytes * (size_t)(j == DIAGONALS ? plan->k : 1));
  native_matrices_run(&plan->matrices, run, plan->batched ? solve_group : solve_system, &r);
  return NULL;
}

static size_t plan_systems(const op_native_target_t *target, hr_dtype_t dtype,
                           gtsv_native_t *plan) {
  size_t bytes = hr_dtype_bytes(dtype), space = (size_t)plan->n * (bytes + sizeof(bool));
  const batched_small_loops_t *batched = batched_small_find(dtype, plan->batch, 1, 1);
  double products = 8 * (double)plan->n * (double)plan->k;
  double elements = (double)plan->n * (double)(plan->k + DIAGONALS);
  if (batched && elements * (double)((size_t)batched->lanes * bytes) <= GROUP_BYTES) {
    plan->batched = batched;
    space = (size_t)(plan->n * (plan->k + DIAGONALS)) * (size_t)batched->lanes * bytes;
  }
  int64_t lanes = plan->batched ? batched->lanes : 1;
  return native_matrices_plan(target, hr_div_ceil(plan->batch, lanes), products * (double)lanes, 0,
                              space, &plan->matrices);
}

/* Real systems in LAPACK's layout. flops: those of the right-hand sides; operands' buffers may
 * become results. */
static hr_status_t prepare_gtsv(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  static const uint64_t in_place[] = {1, 2, 4, 8, 0};
  const lapack_plan_t *lapack;
  gtsv_native_t *plan;
  HR_TRY(native_lapack_check(target, step, &custom_gtsv, 1, &lapack));
  if (!lapack || lapack->is_complex || !lapack->batch || !lapack->n || !lapack->k) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  size_t bytes = hr_dtype_bytes(lapack->dtype);
  plan->is_double = lapack->is_double;
  plan->n = lapack->n;
  plan->k = lapack->k;
  plan->batch = lapack->batch;
  double n = (double)plan->n, k = (double)plan->k;
  out->scratch_bytes = plan_systems(target, lapack->dtype, plan);
  out->flops = (double)lapack->batch * 8 * n * k;
  out->bytes = 2 * (double)lapack->batch * n * (k + DIAGONALS) * (double)bytes;
  out->reuse = in_place;
  out->plan = plan;
  return NULL;
}

const op_native_t native_custom_gtsv = {"gtsv", prepare_gtsv, run_gtsv};
