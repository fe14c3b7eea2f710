/* Zeros times a group's matrix, for ragged products that replace masked ones: see ragged_masked.h.
 * Columns whose elements are all finite give 0 and are skipped. Cost: one read of the matrix, and
 * one write of each row for each column that is not finite. */
#include "ops/kernels/reference/ragged_masked.h"

#include <math.h>

#define DEFINE_MULTIPLY_ZEROS(NAME, T)                                                           \
  static bool NAME##_is_finite(const ragged_masked_t *masked, const T *column) {                 \
    bool finite = true;                                                                          \
    for (int64_t k = 0; k < masked->terms; k++)                                                  \
      finite &= (bool)isfinite(column[k * masked->term_step]);                                   \
    return finite;                                                                               \
  }                                                                                              \
  static void NAME(const ragged_masked_t *masked, const T *matrix, int64_t start, int64_t end) { \
    T *result = masked->result;                                                                  \
    for (int64_t c = 0; c < masked->columns; c++) {                                              \
      if (NAME##_is_finite(masked, matrix + c * masked->column_step)) continue;                  \
      for (int64_t row = 0; row < masked->rows; row++)                                           \
        if (row < start || row >= end) result[row * masked->columns + c] = (T)NAN;               \
    }                                                                                            \
  }

DEFINE_MULTIPLY_ZEROS(multiply_f32, float)
DEFINE_MULTIPLY_ZEROS(multiply_f64, double)

void ragged_masked_multiply_zeros(const ragged_masked_t *masked, const void *matrix, int64_t start,
                                  int64_t end) {
  if (masked->real == HR_F32)
    multiply_f32(masked, matrix, start, end);
  else
    multiply_f64(masked, matrix, start, end);
}
