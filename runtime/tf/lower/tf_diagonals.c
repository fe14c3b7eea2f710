/* Bands of diagonals of matrices: MatrixDiag, MatrixDiagPart and MatrixSetDiag in their forms V2
 * and V3. Diagonal d holds the places with column - row = d; a band from `low` to `high` is an
 * array [high - low + 1, longest], the highest diagonal first, or a vector for a single one.
 * Shorter diagonals lie at the left or right end of their rows. All three operations choose
 * elements by places that are known at compile time, so that each is one gather of flat matrices.
 */
#include "tf/compile/tf_lower.h"

#include "base/arith.h"

typedef struct band {
  int64_t low, high;
  int64_t rows, columns; /* sizes of the matrix */
  int64_t longest;       /* diagonal of the band */
  bool above_right;      /* diagonals from the main one upwards lie at the right end */
  bool below_right;
} band_t;

/* Attribute align: the side of the diagonals above, then of those below. V2 has no such attribute:
 * left. */
static hr_status_t read_align(tf_op_t *op, band_t *band) {
  hr_str_t align;
  HR_TRY(tf_attr_str(op->arena, op->node, "align", op->row->variant ? "RIGHT_LEFT" : "LEFT_LEFT",
                     &align));
  band->above_right = hr_str_is(align, "RIGHT_LEFT") || hr_str_is(align, "RIGHT_RIGHT");
  band->below_right = hr_str_is(align, "LEFT_RIGHT") || hr_str_is(align, "RIGHT_RIGHT");
  return NULL;
}

/* Input `at`: one number, or the lowest and the highest. */
static hr_status_t read_band(tf_op_t *op, int at, band_t *band) {
  hr_ints_t k;
  HR_TRY(tf_const_ints(op, at, &k));
  if (k.count < 1 || k.count > 2) return tf_error(op, "%ld numbers of diagonals", (long)k.count);
  band->low = k.data[0];
  band->high = k.data[k.count - 1];
  if (band->low > band->high) return tf_error(op, "the lowest diagonal is above the highest");
  if (band->low < -INT32_MAX || band->high > INT32_MAX) return tf_error(op, "no such diagonal");
  return read_align(op, band);
}

static int64_t length_of(const band_t *band, int64_t d) {
  return hr_min(band->rows + hr_min(d, 0), band->columns - hr_max(d, 0));
}

static int64_t longest_of(const band_t *band) {
  int64_t longest = 0;
  for (int64_t d = band->low; d <= band->high; d++) longest = hr_max(longest, length_of(band, d));
  return longest;
}

/* Most elements of a matrix, as their places are constants of the program. */
#define PLACES_MAX (INT64_C(1) << 26)

/* The main diagonal of a square, whose size may depend on data: its places do not. */
static bool is_main(const band_t *band) { return !band->low && !band->high; }

/* x padded to its bounds; *out_sizes are its actual sizes. For diagonals other than the main one
 * the last `inner` dimensions must be static. */
static hr_status_t make_static(tf_op_t *op, const band_t *band, int inner, expr_t *x,
                               tf_sizes_t *out_sizes) {
  *out_sizes = tf_sizes_of(op->b, *x);
  for (int d = 0; d < out_sizes->rank; d++) {
    if (!out_sizes->exprs[d]) continue;
    if (d >= out_sizes->rank - inner && !is_main(band))
      return tf_unsupported(op, "diagonals of matrices whose sizes depend on data");
    *x = tf_fill_dynamic(op, *x, d, tf_scalar(op->b, 0, (*x)->shape->dtype));
  }
  return *x ? NULL : hlo_builder_finish(op->b);
}

static expr_t with_size(hlo_builder_t *b, expr_t x, int d, expr_t size) {
  return x && size ? tf_set_size(b, x, d, size) : x;
}

static expr_t size_at(hlo_builder_t *b, const tf_sizes_t *sizes, int d) {
  return sizes->exprs[d] ? sizes->exprs[d] : tf_scalar_int(b, sizes->dims[d], HR_S32);
}

/* x with the sizes of the first `count` dimensions. */
static expr_t with_sizes(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes, int count) {
  for (int d = 0; d < count; d++) x = with_size(b, x, d, sizes->exprs[d]);
  return x;
}

/* A diagonal of the band must lie in the matrix. */
static hr_status_t check_band(tf_op_t *op, const band_t *band) {
  int64_t count;
  if (__builtin_mul_overflow(band->rows, band->columns, &count) || count > PLACES_MAX)
    return tf_unsupported(op, "a matrix of %ld by %ld", (long)band->rows, (long)band->columns);
  if (length_of(band, band->low) > 0 && length_of(band, band->high) > 0) return NULL;
  return tf_error(op, "diagonals %ld to %ld of a matrix of %ld by %ld", (long)band->low,
                  (long)band->high, (long)band->rows, (long)band->columns);
}

/* Where element k of diagonal d is in the flat band. */
static int64_t place_in_band(const band_t *band, int64_t d, int64_t k) {
  bool right = d < 0 ? band->below_right : band->above_right;
  int64_t shift = right ? band->longest - length_of(band, d) : 0;
  return (band->high - d) * band->longest + shift + k;
}

/* Elements `places` of the last dimension of x, as an array [x's dims..., dims...]. */
static hr_status_t choose(tf_op_t *op, expr_t x, int64_t count, const int32_t *places, int rank,
                          const int64_t *dims, expr_t *out_x) {
  hlo_value_t *value;
  HR_TRY(hlo_value_array(HR_S32, 1, &count, &value));
  for (int64_t i = 0; i < count; i++) ((int32_t *)value->data)[i] = places[i];
  HR_TRY(hlo_module_adopt_value(op->scope->compiler->module, value));
  tf_value_t indices = {.kind = TF_VALUE_ARRAY, .constant = value};
  expr_t at = tf_value_instr(op->scope->compiler, op->b, &indices);
  if (!x || !at) return hlo_builder_finish(op->b);
  x = tf_gather_rows(op->b, x, at, x->shape->rank - 1, 0);
  *out_x = tf_reshape(op->b, x, rank, dims);
  return hlo_builder_finish(op->b);
}

/* x with its last `inner` dimensions joined. */
static expr_t flatten(hlo_builder_t *b, expr_t x, int inner) {
  int64_t dims[HLO_MAX_RANK];
  int rank = x->shape->rank - inner;
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  dims[rank] = 1;
  for (int d = rank; d < x->shape->rank; d++) dims[rank] *= x->shape->dims[d];
  return tf_reshape(b, x, rank + 1, dims);
}

/* One more element at the end of the last dimension. */
static expr_t with_padding(hlo_builder_t *b, expr_t x, expr_t padding) {
  int64_t dims[HLO_MAX_RANK];
  if (!x || !padding) return NULL;
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) dims[d] = d < rank - 1 ? x->shape->dims[d] : 1;
  expr_t parts[] = {x, tf_broadcast(b, padding, rank, dims)};
  return tf_concat(b, 2, parts, rank - 1);
}

/* Places of the matrix's elements in a flat band; `outside` for elements that the band lacks. A
 * place of -1 stands for the element's own place in the matrix. */
static hr_status_t places_of_matrix(tf_op_t *op, const band_t *band, int64_t base, int64_t outside,
                                    int32_t **out_places) {
  int32_t *places;
  HR_TRY(HR_NEW_ARRAY(op->arena, band->rows * band->columns, &places));
  for (int64_t r = 0; r < band->rows; r++)
    for (int64_t c = 0; c < band->columns; c++) {
      int64_t place = outside < 0 ? r * band->columns + c : outside;
      if (c - r >= band->low && c - r <= band->high)
        place = base + place_in_band(band, c - r, hr_min(r, c));
      places[r * band->columns + c] = (int32_t)place;
    }
  *out_places = places;
  return NULL;
}

/* Sizes that are not given become the smallest that hold the band; the matrix is square if neither
 * is given. */
static hr_status_t matrix_sizes(tf_op_t *op, band_t *band) {
  int64_t rows = band->longest - hr_min(band->high, 0);
  int64_t columns = band->longest + hr_max(band->low, 0);
  HR_TRY(tf_const_int(op, 2, &band->rows));
  HR_TRY(tf_const_int(op, 3, &band->columns));
  bool square = band->rows < 0 && band->columns < 0;
  if (band->rows < 0) band->rows = square ? hr_max(rows, columns) : rows;
  if (band->columns < 0) band->columns = square ? hr_max(rows, columns) : columns;
  return check_band(op, band);
}

/* Inputs: diagonal, k, num_rows, num_cols, padding_value. */
hr_status_t tf_lower_matrix_diag_band(tf_op_t *op) {
  band_t band;
  tf_sizes_t sizes;
  int64_t dims[HLO_MAX_RANK];
  int32_t *places;
  expr_t x = tf_in(op, 0), padding = tf_in(op, 4);
  HR_TRY(read_band(op, 1, &band));
  if (!x || !padding) return hlo_builder_finish(op->b);
  int inner = band.low == band.high ? 1 : 2, rank = x->shape->rank - inner;
  if (rank < 0 || rank + 2 > HLO_MAX_RANK) return tf_error(op, "the diagonals do not fit");
  HR_TRY(make_static(op, &band, 1, &x, &sizes));
  band.longest = x->shape->dims[x->shape->rank - 1];
  HR_TRY(matrix_sizes(op, &band));
  expr_t size = sizes.exprs[sizes.rank - 1];
  if (size && (band.rows != band.longest || band.columns != band.longest))
    return tf_unsupported(op, "a diagonal whose length depends on data, in a matrix of fixed size");
  if ((inner == 2 && x->shape->dims[rank] != band.high - band.low + 1) ||
      band.longest < longest_of(&band))
    return tf_error(op, "the diagonals do not fit");
  x = flatten(op->b, x, inner);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(places_of_matrix(op, &band, 0, x->shape->dims[rank], &places));
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  dims[rank] = band.rows;
  dims[rank + 1] = band.columns;
  x = with_padding(op->b, x, padding);
  HR_TRY(choose(op, x, band.rows * band.columns, places, rank + 2, dims, &x));
  x = with_sizes(op->b, x, &sizes, rank);
  for (int d = rank; d < rank + 2; d++) x = with_size(op->b, x, d, size);
  return tf_out(op, 0, x);
}

/* The band of a given matrix: its sizes, and its longest diagonal. */
static hr_status_t band_of_matrix(tf_op_t *op, int at, const hlo_shape_t *shape, band_t *band) {
  HR_TRY(read_band(op, at, band));
  if (shape->rank < 2) return tf_error(op, "no matrices");
  band->rows = shape->dims[shape->rank - 2];
  band->columns = shape->dims[shape->rank - 1];
  HR_TRY(check_band(op, band));
  band->longest = longest_of(band);
  return NULL;
}

/* Inputs: input, k, padding_value. */
hr_status_t tf_lower_matrix_diag_part_band(tf_op_t *op) {
  band_t band;
  tf_sizes_t sizes;
  int64_t dims[HLO_MAX_RANK];
  int32_t *places;
  expr_t x = tf_in(op, 0), padding = tf_in(op, 2), size = NULL;
  if (!x || !padding) return hlo_builder_finish(op->b);
  HR_TRY(band_of_matrix(op, 1, x->shape, &band));
  HR_TRY(make_static(op, &band, 2, &x, &sizes));
  if (sizes.exprs[sizes.rank - 1] || sizes.exprs[sizes.rank - 2])
    size = f_min(op->b, size_at(op->b, &sizes, sizes.rank - 2),
                 size_at(op->b, &sizes, sizes.rank - 1));
  int rank = x->shape->rank - 2;
  int64_t diagonals = band.high - band.low + 1, count = diagonals * band.longest;
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  if (diagonals > 1) dims[rank++] = diagonals;
  dims[rank++] = band.longest;
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &places));
  for (int64_t i = 0; i < count; i++) places[i] = (int32_t)(band.rows * band.columns);
  for (int64_t d = band.low; d <= band.high; d++)
    for (int64_t k = 0; k < length_of(&band, d); k++)
      places[place_in_band(&band, d, k)] =
          (int32_t)((k - hr_min(d, 0)) * band.columns + k + hr_max(d, 0));
  x = with_padding(op->b, flatten(op->b, x, 2), padding);
  HR_TRY(choose(op, x, count, places, rank, dims, &x));
  x = with_sizes(op->b, x, &sizes, sizes.rank - 2);
  return tf_out(op, 0, with_size(op->b, x, rank - 1, size));
}

/* Inputs: input, diagonal, k. */
hr_status_t tf_lower_matrix_set_diag_band(tf_op_t *op) {
  band_t band;
  tf_sizes_t sizes, lengths;
  int32_t *places;
  expr_t x = tf_in(op, 0), diagonal = tf_in(op, 1);
  if (!x || !diagonal) return hlo_builder_finish(op->b);
  HR_TRY(band_of_matrix(op, 2, x->shape, &band));
  HR_TRY(make_static(op, &band, 2, &x, &sizes));
  HR_TRY(make_static(op, &band, 1, &diagonal, &lengths));
  const hlo_shape_t *shape = x->shape;
  int inner = band.low == band.high ? 1 : 2;
  int64_t count = band.rows * band.columns;
  if (diagonal->shape->rank != shape->rank - 2 + inner ||
      diagonal->shape->dims[diagonal->shape->rank - 1] != band.longest)
    return tf_error(op, "the diagonals do not fit");
  HR_TRY(places_of_matrix(op, &band, count, -1, &places));
  expr_t parts[] = {flatten(op->b, x, 2), flatten(op->b, diagonal, inner)};
  x = tf_concat(op->b, 2, parts, shape->rank - 2);
  HR_TRY(choose(op, x, count, places, shape->rank, shape->dims, &x));
  return tf_out(op, 0, with_sizes(op->b, x, &sizes, sizes.rank));
}
