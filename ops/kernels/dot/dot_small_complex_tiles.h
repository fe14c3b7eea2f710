/* The loops of dot_small_complex.c for one width of vectors. Included once per width by
 * simd_foreach.h. A vector holds PAIRS complex numbers, real and imaginary parts alternating. */
#define PAIRS (SIMD_VECTOR_BYTES / 8)
typedef float SIMD_VECTOR_NAME(vec) __attribute__((vector_size(SIMD_VECTOR_BYTES)));
typedef float SIMD_VECTOR_NAME(part)
    __attribute__((vector_size(SIMD_VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t SIMD_VECTOR_NAME(places) __attribute__((vector_size(SIMD_VECTOR_BYTES)));

/* Swaps real and imaginary parts. */
SIMD_VECTOR_TARGET static inline __attribute__((always_inline)) SIMD_VECTOR_NAME(vec)
    SIMD_VECTOR_NAME(swap)(SIMD_VECTOR_NAME(vec) x) {
  SIMD_VECTOR_NAME(places) order;
  for (int i = 0; i < 2 * PAIRS; i++) order[i] = i ^ 1;
  return SIMD_SHUFFLE_1(x, order);
}

/* c[i][j] for one row i and PAIRS columns from j on: the sums of re b and of im swap(b). */
SIMD_VECTOR_TARGET static inline __attribute__((always_inline)) void SIMD_VECTOR_NAME(chunk)(
    const small_complex_job_t *job, const float *a, const float *b, float *c) {
  SIMD_VECTOR_NAME(vec) real = {0}, imaginary = {0}, sign;
  for (int i = 0; i < 2 * PAIRS; i++) sign[i] = i & 1 ? 1.0f : -1.0f;
  for (int64_t p = 0; p < job->k; p++) {
    SIMD_VECTOR_NAME(vec) line = *(const SIMD_VECTOR_NAME(part) *)(b + 2 * job->b_rows[p]);
    real += a[2 * p] * line;
    imaginary += a[2 * p + 1] * SIMD_VECTOR_NAME(swap)(line);
  }
  real += sign * imaginary;
  if (job->c_col == 1) {
    *(SIMD_VECTOR_NAME(part) *)c = real;
    return;
  }
  float parts[2 * PAIRS];
  memcpy(parts, &real, sizeof parts);
  for (int64_t j = 0; j < PAIRS; j++) memcpy(c + 2 * j * job->c_col, parts + 2 * j, 8);
}

/* Few terms: rows of b are dense. */
SIMD_VECTOR_TARGET static void SIMD_VECTOR_NAME(columns)(const small_complex_job_t *job) {
  for (int64_t i = 0; i < job->m; i++) {
    const float *a = job->a + 2 * i * job->k;
    float *c = job->c + 2 * i * job->c_row;
    int64_t j = 0;
    for (; j + PAIRS <= job->n; j += PAIRS)
      SIMD_VECTOR_NAME(chunk)(job, a, job->b + 2 * j, c + 2 * j * job->c_col);
    for (; j < job->n; j++) small_complex_element(job, a, job->b + 2 * j, c + 2 * j * job->c_col);
  }
}

/* Many terms: rows of a and columns of b are dense. */
SIMD_VECTOR_TARGET static void SIMD_VECTOR_NAME(pairs)(const small_complex_job_t *job) {
  for (int64_t i = 0; i < job->m; i++)
    for (int64_t j = 0; j < job->n; j++) {
      const float *a = job->a + 2 * i * job->k, *b = job->b + 2 * j * job->k;
      float *c = job->c + 2 * (i * job->c_row + j * job->c_col);
      SIMD_VECTOR_NAME(vec) straight = {0}, crossed = {0};
      int64_t p = 0;
      for (; p + PAIRS <= job->k; p += PAIRS) {
        SIMD_VECTOR_NAME(vec) x = *(const SIMD_VECTOR_NAME(part) *)(a + 2 * p);
        SIMD_VECTOR_NAME(vec) y = *(const SIMD_VECTOR_NAME(part) *)(b + 2 * p);
        straight += x * y;
        crossed += x * SIMD_VECTOR_NAME(swap)(y);
      }
      c[0] = 0;
      c[1] = 0;
      for (int l = 0; l < 2 * PAIRS; l += 2) {
        c[0] += straight[l] - straight[l + 1];
        c[1] += crossed[l] + crossed[l + 1];
      }
      for (; p < job->k; p++) {
        c[0] += a[2 * p] * b[2 * p] - a[2 * p + 1] * b[2 * p + 1];
        c[1] += a[2 * p] * b[2 * p + 1] + a[2 * p + 1] * b[2 * p];
      }
    }
}
#undef PAIRS
