/* HLO text of windows, padding and dimension labels. */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "read/hlo_reader.h"

/* Windows -------------------------------------------------------------------------------------- */

/* Numbers joined by 'x': the token 3x3, or a single integer. */
hr_status_t read_sizes(read_hlo_t *r, int64_t sizes[HLO_MAX_RANK], int *out_rank) {
  read_lexer_t *l = &r->lexer;
  if (!read_is(l, READ_SIZES) && !read_is(l, READ_INT)) return read_want(l, "sizes such as 3x3");
  const char *text = l->token.text.data;
  int rank = 0;
  for (char *next; rank < HLO_MAX_RANK; text = next + 1) {
    char *end = (char *)l->token.text.data + l->token.text.size;
    sizes[rank] = 0;
    bool negative = *text == '-';
    for (next = (char *)text + negative; next < end && *next != 'x'; next++)
      if (__builtin_mul_overflow(sizes[rank], 10, &sizes[rank]) ||
          __builtin_add_overflow(sizes[rank], *next - '0', &sizes[rank]))
        return read_want(l, "sizes within 64 bits");
    if (negative) sizes[rank] = -sizes[rank];
    rank++;
    if (next == end) {
      *out_rank = rank;
      return read_advance(l);
    }
  }
  return read_want(l, "sizes of at most %d dimensions", HLO_MAX_RANK);
}

/* The integer at *text, which the lexer has matched; false if it does not fit 64 bits. */
static bool parse_pad(const char **text, const char *end, int64_t *out_value) {
  bool negative = **text == '-';
  bool fits = true;
  int64_t value = 0;
  for (*text += negative; *text < end && **text >= '0' && **text <= '9'; ++*text)
    fits &= !__builtin_mul_overflow(value, 10, &value) &&
            !__builtin_add_overflow(value, **text - '0', &value);
  *out_value = negative ? -value : value;
  return fits;
}

/* low_high or low_high_interior, joined by 'x'. */
static hr_status_t read_pads(read_hlo_t *r, hlo_padding_dim_t pads[HLO_MAX_RANK], int *out_rank,
                             bool *out_interior) {
  read_lexer_t *l = &r->lexer;
  if (!read_is(l, READ_PADS)) return read_want(l, "padding such as 1_1x0_2");
  const char *text = l->token.text.data;
  const char *end = text + l->token.text.size;
  bool fits = true;
  int rank = 0;
  *out_interior = false;
  for (; text < end && rank < HLO_MAX_RANK; rank++) {
    hlo_padding_dim_t *pad = &pads[rank];
    text += rank > 0;
    fits &= parse_pad(&text, end, &pad->low);
    text++;
    fits &= parse_pad(&text, end, &pad->high);
    pad->interior = 0;
    if (text == end || *text != '_') continue;
    text++;
    *out_interior = true;
    fits &= parse_pad(&text, end, &pad->interior);
  }
  if (text < end || !fits)
    return read_want(l, "padding of at most %d dimensions, within 64 bits", HLO_MAX_RANK);
  *out_rank = rank;
  return read_advance(l);
}

/* A window while its parts are read; missing parts keep their defaults. */
typedef struct window_parts {
  hlo_window_dim_t dims[HLO_MAX_RANK];
  int rank;      /* -1: not known yet */
  unsigned seen; /* bit per key */
} window_parts_t;

/* Padding of a window has no interior. */
static hr_status_t read_window_pads(read_hlo_t *r, window_parts_t *w, int *out_rank) {
  hlo_padding_dim_t pads[HLO_MAX_RANK];
  bool interior;
  size_t at = r->lexer.token.at;
  HR_TRY(read_pads(r, pads, out_rank, &interior));
  if (interior)
    return READ_ERROR_AT(&r->lexer, at, "found interior padding in a window, want low_high");
  for (int d = 0; d < *out_rank; d++) {
    w->dims[d].pad_low = pads[d].low;
    w->dims[d].pad_high = pads[d].high;
  }
  return NULL;
}

/* One number per dimension for one key of the window. */
static hr_status_t read_window_sizes(read_hlo_t *r, window_parts_t *w, int key, int *out_rank) {
  int64_t sizes[HLO_MAX_RANK];
  HR_TRY(read_sizes(r, sizes, out_rank));
  for (int d = 0; d < *out_rank; d++) {
    hlo_window_dim_t *dim = &w->dims[d];
    switch (key) {
      case 0:
        dim->size = sizes[d];
        break;
      case 1:
        dim->stride = sizes[d];
        break;
      case 3:
        dim->base_dilation = sizes[d];
        break;
      case 4:
        dim->window_dilation = sizes[d];
        break;
      default:
        dim->reversal = sizes[d] != 0;
        break;
    }
  }
  return NULL;
}

/* All parts must have the same rank, each key once. */
static hr_status_t read_window_part(read_hlo_t *r, window_parts_t *w) {
  static const char *const keys[] = {"size",       "stride",     "pad",
                                     "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  read_lexer_t *l = &r->lexer;
  int key = 0, rank;
  while (key < 6 && !(read_is(l, READ_ATTR) && hr_str_is(l->token.text, keys[key]))) key++;
  if (key == 6)
    return read_want(l, "'}', size=, stride=, pad=, lhs_dilate=, rhs_dilate= or rhs_reversal=");
  if (w->seen >> key & 1) return read_want(l, "each part of a window once");
  w->seen |= 1u << key;
  HR_TRY(read_advance(l));
  size_t at = l->token.at;
  HR_TRY(key == 2 ? read_window_pads(r, w, &rank) : read_window_sizes(r, w, key, &rank));
  if (w->rank >= 0 && rank != w->rank)
    return READ_ERROR_AT(l, at, "found %d dimensions, want %d as in the window's other parts", rank,
                         w->rank);
  w->rank = rank;
  return NULL;
}

/* {size=3x3 stride=2x2 pad=1_1x1_1 ...}; parts may come in any order. */
hr_status_t read_window(read_hlo_t *r, const hlo_window_t **out_window) {
  read_lexer_t *l = &r->lexer;
  window_parts_t w = {.rank = -1};
  hlo_window_t *window;
  size_t at = l->token.at;
  for (int d = 0; d < HLO_MAX_RANK; d++)
    w.dims[d] = (hlo_window_dim_t){.stride = 1, .base_dilation = 1, .window_dilation = 1};
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  while (!read_is(l, READ_CLOSE_BRACE)) HR_TRY(read_window_part(r, &w));
  HR_TRY(read_advance(l));
  if (w.rank > 0 && !(w.seen & 1)) return READ_ERROR_AT(l, at, "the window has no size=");
  HR_TRY(HR_NEW(r->arena, &window));
  window->rank = w.rank > 0 ? w.rank : 0;
  void *copy;
  HR_TRY(hr_arena_copy(r->arena, w.dims, (size_t)window->rank * sizeof *w.dims, &copy));
  window->dims = copy;
  *out_window = window;
  return NULL;
}

/* low_high[_interior] for each dimension; a single one is rank 1. */
hr_status_t read_padding(read_hlo_t *r, const hlo_padding_t **out_padding) {
  hlo_padding_dim_t pads[HLO_MAX_RANK];
  hlo_padding_t *padding;
  bool interior;
  int rank = 0;
  void *copy;
  HR_TRY(read_pads(r, pads, &rank, &interior));
  HR_TRY(HR_NEW(r->arena, &padding));
  HR_TRY(hr_arena_copy(r->arena, pads, (size_t)rank * sizeof *pads, &copy));
  *padding = (hlo_padding_t){rank, copy};
  *out_padding = padding;
  return NULL;
}

/* Dimension labels ----------------------------------------------------------------------------- */

/* One side of dimension labels: the position of a character is its dimension, the character its
 * role. roles[0] and roles[1] are the dimensions of the two letters in `role_names`, -1 if they
 * are absent. */
static bool parse_side(const char *text, int rank, const char *role_names, int64_t roles[2],
                       int64_t spatial[10], int *out_spatial, uint32_t *out_unused) {
  unsigned seen = 0;
  roles[0] = -1;
  roles[1] = -1;
  *out_unused = 0;
  for (int d = 0; d < rank; d++) {
    const char *role = strchr(role_names, text[d]);
    if (role) {
      if (roles[role - role_names] >= 0) return false;
      roles[role - role_names] = d;
    } else if (text[d] == '?') {
      *out_unused |= 1u << d;
    } else {
      if (seen >> (text[d] - '0') & 1) return false;
      seen |= 1u << (text[d] - '0');
      spatial[text[d] - '0'] = d;
    }
  }
  *out_spatial = __builtin_popcount(seen);
  return seen == (1u << *out_spatial) - 1; /* digits 0 to n-1 */
}

/* Copies the labels, and the spatial dimensions of all sides, into the arena. */
static hr_status_t copy_labels(read_hlo_t *r, hlo_dim_labels_t labels, int64_t (*spatial)[10],
                               const hlo_dim_labels_t **out_labels) {
  const int64_t **copies[3] = {&labels.lhs_spatial, &labels.rhs_spatial, &labels.out_spatial};
  for (int side = 0; side < 3; side++) {
    hr_ints_t dims;
    HR_TRY(hr_arena_ints(r->arena, spatial[side], labels.spatial_rank, &dims));
    *copies[side] = dims.data;
  }
  hlo_dim_labels_t *copy;
  HR_TRY(HR_NEW(r->arena, &copy));
  *copy = labels;
  *out_labels = copy;
  return NULL;
}

/* b01f_01io->b01f; all sides have the same digits, from 0 on. */
hr_status_t read_labels(read_hlo_t *r, const hlo_dim_labels_t **out_labels) {
  read_lexer_t *l = &r->lexer;
  if (!read_is(l, READ_LABELS)) return read_want(l, "labels such as b01f_01io->b01f");
  hr_str_t text = l->token.text;
  const char *rhs = (const char *)memchr(text.data, '_', text.size) + 1;
  const char *out = (const char *)memchr(rhs, '>', text.size - (size_t)(rhs - text.data)) + 1;
  hlo_dim_labels_t labels = {.lhs_rank = (int)(rhs - text.data) - 1,
                             .rhs_rank = (int)(out - rhs) - 2};
  labels.out_rank = (int)(text.data + text.size - out);
  if (labels.lhs_rank > HLO_MAX_RANK || labels.rhs_rank > HLO_MAX_RANK ||
      labels.out_rank > HLO_MAX_RANK)
    return read_want(l, "at most %d dimensions", HLO_MAX_RANK);
  int64_t spatial[3][10], roles[3][2];
  int ranks[3];
  if (!parse_side(text.data, labels.lhs_rank, "bf", roles[0], spatial[0], &ranks[0],
                  &labels.lhs_unused) ||
      !parse_side(rhs, labels.rhs_rank, "io", roles[1], spatial[1], &ranks[1],
                  &labels.rhs_unused) ||
      !parse_side(out, labels.out_rank, "bf", roles[2], spatial[2], &ranks[2], &labels.out_unused))
    return read_want(l, "each letter at most once, and each digit from 0 on once, on every side");
  if (ranks[0] != ranks[1] || ranks[0] != ranks[2])
    return read_want(l, "the same digits on every side");
  labels.spatial_rank = ranks[0];
  labels.lhs_batch = roles[0][0];
  labels.lhs_feature = roles[0][1];
  labels.rhs_input_feature = roles[1][0];
  labels.rhs_output_feature = roles[1][1];
  labels.out_batch = roles[2][0];
  labels.out_feature = roles[2][1];
  HR_TRY(copy_labels(r, labels, spatial, out_labels));
  return read_advance(l);
}
