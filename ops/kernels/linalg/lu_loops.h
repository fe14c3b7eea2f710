/* The loops of lu.c for one element type. Included once per type, with
 *   LU_TYPE      the element type
 *   LU_REAL      the type of its parts
 *   LU_BITS      an unsigned integer of the size of LU_REAL
 *   LU_NAME(x)   the name of function x in this instance */

/* |re| + |im| as an integer of the same order (LAPACK's cabs1). Comparing integers lets the search
 * for the largest element be vectorised, NaNs included. */
NATIVE_INLINE LU_BITS LU_NAME(magnitude)(LU_TYPE value) {
  LU_REAL parts[2] = {0, 0}, sum;
  LU_BITS bits;
  memcpy(parts, &value, sizeof value);
  LU_REAL real = parts[0] < 0 ? -parts[0] : parts[0];
  LU_REAL imaginary = parts[1] < 0 ? -parts[1] : parts[1];
  sum = real + imaginary;
  memcpy(&bits, &sum, sizeof bits);
  return bits & ~(LU_BITS)0 >> 1;
}

NATIVE_INLINE int64_t LU_NAME(index_of_largest)(const LU_TYPE *x, int64_t count) {
  LU_BITS most = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < count; i++) {
    LU_BITS size = LU_NAME(magnitude)(x[i]);
    most = size > most ? size : most;
  }
  while (at < count - 1 && LU_NAME(magnitude)(x[at]) != most) at++;
  return at;
}

/* Factors a panel of at most LU_PANEL columns, transposed into `space` so that columns are
 * contiguous. Returns the first column without a pivot, from 1, or 0. */
NATIVE_CLONES static int64_t LU_NAME(panel)(int64_t m, int64_t n, void *data, int64_t stride,
                                            int32_t *pivots, void *space) {
  LU_TYPE *a = data, *columns = space;
  int64_t zero_pivot = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) columns[j * m + i] = a[i * stride + j];
  for (int64_t j = 0; j < n && j < m; j++) {
    LU_TYPE *column = columns + j * m;
    int64_t at = j + LU_NAME(index_of_largest)(column + j, m - j);
    pivots[j] = (int32_t)at;
    if (column[at] == 0) {
      zero_pivot = zero_pivot ? zero_pivot : j + 1;
      continue;
    }
    for (int64_t c = 0; c < n; c++) {
      LU_TYPE saved = columns[c * m + j];
      columns[c * m + j] = columns[c * m + at];
      columns[c * m + at] = saved;
    }
    LU_TYPE pivot = column[j];
    for (int64_t i = j + 1; i < m; i++) column[i] /= pivot;
    for (int64_t c = j + 1; c < n; c++) {
      LU_TYPE *other = columns + c * m, factor = other[j];
      for (int64_t i = j + 1; i < m; i++) other[i] -= column[i] * factor;
    }
  }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) a[i * stride + j] = columns[j * m + i];
  return zero_pivot;
}

/* Sum of a[k] x[k * stride] over [begin, end), in four independent partial sums. */
NATIVE_INLINE LU_TYPE LU_NAME(sum)(const LU_TYPE *a, const LU_TYPE *x, int64_t stride,
                                   int64_t begin, int64_t end) {
  LU_TYPE sums[4] = {0};
  int64_t k = begin;
  for (; k + 4 <= end; k += 4)
    for (int part = 0; part < 4; part++) sums[part] += a[k + part] * x[(k + part) * stride];
  for (; k < end; k++) sums[0] += a[k] * x[k * stride];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* x = a^-1 x by substitution: forward for a lower triangle, backward for an upper one. */
NATIVE_CLONES static void LU_NAME(solve)(bool upper, bool unit, int64_t n, const void *triangle,
                                         int64_t a_step, int64_t columns, void *sides,
                                         int64_t x_step) {
  LU_TYPE *x = sides;
  for (int64_t solved = 0; solved < n; solved++) {
    int64_t i = upper ? n - 1 - solved : solved;
    int64_t begin = upper ? i + 1 : 0;
    int64_t end = upper ? n : i;
    const LU_TYPE *a = (const LU_TYPE *)triangle + i * a_step;
    LU_TYPE *row = x + i * x_step;
    if (columns == 1)
      row[0] -= LU_NAME(sum)(a, x, x_step, begin, end);
    else
      for (int64_t k = begin; k < end; k++)
        for (int64_t j = 0; j < columns; j++) row[j] -= a[k] * x[k * x_step + j];
    for (int64_t j = 0; !unit && j < columns; j++) row[j] /= a[i];
  }
}
