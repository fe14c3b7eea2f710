/* Real lines of odd length by fft_lanes_template.h: two lines share a complex one, one in its real
 * and one in its imaginary parts. Each is first multiplied by a power of two that gives all lines
 * about the same 2-norm, because both get rounding errors as large as those of the larger one.
 * Lines whose norm has no such power, among them zeros and those with a NaN or an infinity, are
 * complex lines of their own. */

#define LEAST_SQUARES (sizeof(T) == 4 ? (T)1e-30 : (T)1e-280)
#define MOST_SQUARES (sizeof(T) == 4 ? (T)1e30 : (T)1e280)

/* Lines l and l + LANES share lane l. */
typedef struct line_scales {
  vector_t scale[2], inverse[2];
} line_scales_t;

/* squares: sums of squares of `count` > LANES lines. False if a line cannot be scaled. */
static bool find_scales(const vector_t *squares, int64_t count, line_scales_t *out) {
  for (int64_t line = 0; line < 2 * LANES; line++) {
    T square = line < count ? squares[line / LANES][line % LANES] : 1;
    int exponent;
    if (!(square > LEAST_SQUARES && square < MOST_SQUARES)) return false;
    frexp((double)square, &exponent);
    out->scale[line / LANES][line % LANES] = (T)ldexp(1, -exponent / 2);
    out->inverse[line / LANES][line % LANES] = (T)ldexp(1, exponent / 2);
  }
  return true;
}

static vector_t sum_of_squares(const vector_t *values, int64_t count) {
  vector_t sums[4] = {0};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int64_t j = 0; j < 4; j++) sums[j] += values[i + j] * values[i + j];
  for (; i < count; i++) sums[0] += values[i] * values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* --- single lines ----------------------------------------------------------------------------- */

/* Vectors of reals as cells whose imaginary parts are 0. */
static void reals_to_cells(const vector_t *reals, int64_t length, cell_t *to) {
  for (int64_t k = 0; k < length; k++) to[k] = (cell_t){reals[k], (vector_t){0}};
}

/* The whole spectrum of real lines of odd length from its half, with the parts swapped. */
static void mirror_half_spectrum(int64_t length, cell_t *x) {
  x[0] = (cell_t){(vector_t){0}, x[0].re};
  for (int64_t k = 1; k <= length / 2; k++) {
    x[length - k] = (cell_t){-x[k].im, x[k].re};
    x[k] = cell_swap(x[k]);
  }
}

/* Moves the real parts of swapped cells, in place. */
static void cells_to_reals(cell_t *cells, int64_t length) {
  vector_t *reals = (vector_t *)cells;
  for (int64_t k = 0; k < length; k++) reals[k] = cells[k].im;
}

static void run_odd_lines(const fft_lanes_t *plan, const T *from, T *to, int64_t count, cell_t *a,
                          cell_t *b) {
  bool real_in = plan->type == HLO_FFT_TYPE_RFFT;
  load_rows(from, plan->in_count, count, 0, real_in ? b : a);
  if (real_in)
    reals_to_cells((const vector_t *)b, plan->length, a);
  else
    mirror_half_spectrum(plan->length, a);
  cell_t *result = transform(plan, a, b);
  if (real_in)
    result[0].im = (vector_t){0};
  else
    cells_to_reals(result, plan->length);
  store_rows(result, plan->out_count, count, 0, (T)plan->scale, to);
}

/* --- pairs of lines --------------------------------------------------------------------------- */

/* Spectra of both lines from that of their complex line z: (z_k + conj(z_-k)) / 2 and
 * (z_k - conj(z_-k)) / 2i. The first is written over z, the second to `second`. */
static void split_pairs(int64_t length, const line_scales_t *scales, cell_t *z, cell_t *second) {
  const vector_t half[2] = {scales->inverse[0] * (T)0.5, scales->inverse[1] * (T)0.5};
  second[0] = (cell_t){z[0].im * scales->inverse[1], (vector_t){0}};
  z[0] = (cell_t){z[0].re * scales->inverse[0], (vector_t){0}};
  for (int64_t k = 1; k <= length / 2; k++) {
    cell_t a = z[k], b = z[length - k];
    second[k] = (cell_t){(a.im + b.im) * half[1], (b.re - a.re) * half[1]};
    z[k] = (cell_t){(a.re + b.re) * half[0], (a.im - b.im) * half[0]};
  }
}

/* The spectrum x + i y of a complex line, with the parts swapped, from the half spectra of its two
 * real lines; x is overwritten. */
static void merge_pairs(int64_t length, const line_scales_t *scales, cell_t *x, const cell_t *y) {
  x[0] = (cell_t){y[0].re * scales->scale[1], x[0].re * scales->scale[0]};
  for (int64_t k = 1; k <= length / 2; k++) {
    cell_t a = {x[k].re * scales->scale[0], x[k].im * scales->scale[0]},
           b = {y[k].re * scales->scale[1], y[k].im * scales->scale[1]};
    x[k] = (cell_t){a.im + b.re, a.re - b.im};
    x[length - k] = (cell_t){b.re - a.im, a.re + b.im};
  }
}

/* Parts of the swapped cells: those of the first lines stay in place, in `other` are the second
 * ones. */
static void separate_reals(int64_t length, const line_scales_t *scales, cell_t *cells,
                           vector_t *other) {
  vector_t *reals = (vector_t *)cells;
  for (int64_t k = 0; k < length; k++) {
    other[k] = cells[k].re * scales->inverse[1];
    reals[k] = cells[k].im * scales->inverse[0];
  }
}

/* Loads lines into `a` as complex ones. False: they cannot be scaled. */
static bool load_pairs_of_lines(const fft_lanes_t *plan, const T *from, int64_t count, cell_t *a,
                                cell_t *b, line_scales_t *out_scales) {
  const T *rest = from + LANES * plan->in_count;
  bool real_in = plan->type == HLO_FFT_TYPE_RFFT;
  vector_t *first = (vector_t *)(real_in ? b : a), *second = (vector_t *)b, squares[2];
  if (real_in) second += plan->length + LANES;
  load_rows(from, plan->in_count, LANES, 0, (cell_t *)first);
  load_rows(rest, plan->in_count, count - LANES, 0, (cell_t *)second);
  squares[0] = sum_of_squares(first, plan->in_count);
  squares[1] = sum_of_squares(second, plan->in_count);
  if (!find_scales(squares, count, out_scales)) return false;
  if (!real_in) merge_pairs(plan->length, out_scales, a, b);
  for (int64_t k = 0; k < plan->length && real_in; k++)
    a[k] = (cell_t){first[k] * out_scales->scale[0], second[k] * out_scales->scale[1]};
  return true;
}

/* LANES < count <= 2 LANES lines. False: nothing was stored. */
static bool run_odd_pairs(const fft_lanes_t *plan, const T *from, T *to, int64_t count, cell_t *a,
                          cell_t *b) {
  line_scales_t scales;
  if (!load_pairs_of_lines(plan, from, count, a, b, &scales)) return false;
  cell_t *result = transform(plan, a, b), *other = result == a ? b : a;
  if (plan->type == HLO_FFT_TYPE_RFFT)
    split_pairs(plan->length, &scales, result, other);
  else
    separate_reals(plan->length, &scales, result, (vector_t *)other);
  store_rows(result, plan->out_count, LANES, 0, (T)plan->scale, to);
  store_rows(other, plan->out_count, count - LANES, 0, (T)plan->scale,
             to + LANES * plan->out_count);
  return true;
}

static void run_odd_rows(const fft_lanes_t *plan, const T *from, T *to, int64_t count, cell_t *a,
                         cell_t *b) {
  if (count > LANES && run_odd_pairs(plan, from, to, count, a, b)) return;
  for (int64_t line = 0; line < count; line += LANES)
    run_odd_lines(plan, from + line * plan->in_count, to + line * plan->out_count,
                  hr_min(LANES, count - line), a, b);
}
