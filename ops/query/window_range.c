#include "ops/query/window_range.h"

#include "base/arith.h"

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
static int64_t modulo(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

/* x with a * x = 1 modulo m, for coprime a and m. */
static int64_t inverse(int64_t a, int64_t m) {
  int64_t r = m, next_r = a % m, x = 0, next_x = 1;
  while (next_r) {
    int64_t q = r / next_r, old_r = r, old_x = x;
    r = next_r;
    next_r = old_r - q * next_r;
    x = next_x;
    next_x = old_x - q * next_x;
  }
  return modulo(x, m);
}

/* The x >= 0 with a * x = c modulo b are first, first + period, ...; false if there is none. */
static bool solve(int64_t a, int64_t c, int64_t b, int64_t *out_first, int64_t *out_period) {
  int64_t divisor = hr_gcd(a, b);
  if (modulo(c, divisor)) return false;
  *out_period = b / divisor;
  __int128 x = (__int128)modulo(c / divisor, *out_period) * inverse(a / divisor, *out_period);
  *out_first = (int64_t)(x % *out_period);
  return true;
}

window_tap_range_t window_tap_range(const hlo_window_dim_t *w, int64_t k, int64_t n, int64_t m) {
  window_tap_range_t hits = {0};
  int64_t shift = k * w->window_dilation - w->pad_low; /* i * b = o * s + shift */
  int64_t first = 0, period = 1;
  if (n == 0 || m == 0) return hits;
  if (w->base_dilation > 1 && !solve(w->stride, -shift, w->base_dilation, &first, &period))
    return hits;
  int64_t low = ceil_div(-shift, w->stride),
          high = floor_div((n - 1) * w->base_dilation - shift, w->stride);
  if (low < 0) low = 0;
  if (high > m - 1) high = m - 1;
  if (low > first) first += (low - first + period - 1) / period * period;
  if (first > high) return hits;
  hits.count = (high - first) / period + 1;
  hits.out_first = first;
  hits.in_first = (first * w->stride + shift) / w->base_dilation;
  if (hits.count == 1) return hits;
  hits.out_step = period;
  hits.in_step = period * w->stride / w->base_dilation;
  return hits;
}

int64_t window_input_range_step(const hlo_window_dim_t *w) {
  return w->base_dilation == 1 ? w->window_dilation
                               : w->window_dilation / hr_gcd(w->window_dilation, w->base_dilation);
}

window_input_range_t window_result_inputs(const hlo_window_dim_t *w, int64_t o, int64_t n) {
  window_input_range_t cover = {0, 0};
  int64_t start = o * w->stride - w->pad_low; /* i * b = start + k * w */
  int64_t first = 0, period = 1, step = window_input_range_step(w);
  if (w->base_dilation > 1 && !solve(w->window_dilation, -start, w->base_dilation, &first, &period))
    return cover;
  if (first >= w->size) return cover;
  int64_t positions = (w->size - 1 - first) / period + 1;
  int64_t i = floor_div(start + first * w->window_dilation, w->base_dilation); /* no remainder */
  int64_t skip = i < 0 ? ceil_div(-i, step) : 0;
  int64_t past = i > n - 1 ? 0 : (n - 1 - i) / step + 1;
  if (past > positions) past = positions;
  if (past <= skip) return cover;
  return (window_input_range_t){i + skip * step, past - skip};
}
