/* Which elements a window covers along one dimension, and which results cover an element. With base
 * dilation b, window dilation w, stride s and low padding p, element k of the window of result o
 * lies over element i of the operand where
 *
 *     i * b = o * s - p + k * w
 *
 * Taps without such an i are padding, or holes between dilated elements; they are skipped. Units:
 * elements. Sizes are those of verified programs, whose padded extents fit 64 bits. */
#ifndef HLO_OPS_WINDOW_RANGE_H
#define HLO_OPS_WINDOW_RANGE_H

#include "ir/attr.h"

/* An arithmetic progression of results, and the elements that one tap of the window reads there. */
typedef struct window_tap_range_s {
  int64_t count;
  int64_t out_first, out_step;
  int64_t in_first, in_step;
} window_tap_range_t;
/* For tap k of the window, operand size n and m results. */
window_tap_range_t window_tap_range(const hlo_window_dim_t *window, int64_t k, int64_t n,
                                    int64_t m);

/* The elements under the window of one result. */
typedef struct window_input_range {
  int64_t first, count; /* first element, and number of elements window_input_range_step apart */
} window_input_range_t;
int64_t window_input_range_step(const hlo_window_dim_t *window);
window_input_range_t window_result_inputs(const hlo_window_dim_t *window, int64_t o, int64_t n);

/* True if the window changes nothing along its dimension. */
static inline bool window_is_trivial(const hlo_window_dim_t *w) {
  return w->size == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
         w->base_dilation == 1;
}

#endif
