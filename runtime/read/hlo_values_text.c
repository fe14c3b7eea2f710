/* HLO text of attribute values, one function per kind. Lists of unknown length are collected on
 * the reader's stacks or on the C stack up to HLO_MAX_RANK, and copied to the arena. */
#include <stdlib.h>
#include <string.h>

#include "read/hlo_reader.h"
#include "base/decimal.h"

/* Values of attributes, one function per kind of value. */

/* open int, int, ... close */
hr_status_t read_ints(read_hlo_t *r, read_kind_t open, read_kind_t close, hr_ints_t *out_ints) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  HR_TRY(read_expect(l, open));
  for (bool more = l->token.kind != close; more;) {
    int64_t value;
    HR_TRY(read_int(l, &value));
    HR_VEC_PUSH(&r->ints, value);
    HR_TRY(read_list_next(l, close, &more));
  }
  HR_TRY(read_expect(l, close));
  HR_TRY(hr_arena_ints(r->arena, r->ints.data + from, (int64_t)(r->ints.count - from), out_ints));
  r->ints.count = from;
  return NULL;
}

/* {{0,1},{2,3}} */
hr_status_t read_int_lists(read_hlo_t *r, const hlo_int_lists_t **out_lists) {
  read_lexer_t *l = &r->lexer;
  hlo_int_lists_t *result;
  HR_VEC(hr_ints_t) lists = {0};
  hr_status_t st = read_expect(l, READ_OPEN_BRACE);
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more && !st;) {
    st = HR_VEC_RESERVE(&lists, lists.count + 1);
    if (!st) st = read_ints(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, &lists.data[lists.count]);
    lists.count += !st;
    if (!st) st = read_list_next(l, READ_CLOSE_BRACE, &more);
  }
  if (!st) st = read_expect(l, READ_CLOSE_BRACE);
  void *copy = NULL;
  if (!st) st = hr_arena_copy(r->arena, lists.data, lists.count * sizeof *lists.data, &copy);
  int64_t count = (int64_t)lists.count;
  HR_VEC_FREE(&lists);
  if (!st) st = HR_NEW(r->arena, &result);
  if (st) return st;
  *result = (hlo_int_lists_t){count, copy};
  *out_lists = result;
  return NULL;
}

/* An integer, a float, inf or nan. */
hr_status_t read_number(read_hlo_t *r, double *out_number) {
  read_lexer_t *l = &r->lexer;
  bool is_inf = read_is_keyword(l, READ_KEYWORD_INF);
  if (!is_inf && !read_is(l, READ_FLOAT) && !read_is(l, READ_INT)) return read_want(l, "a number");
  char digits[64];
  if (l->token.text.size >= sizeof digits) return read_want(l, "a number of fewer digits");
  memcpy(digits, l->token.text.data, l->token.text.size);
  digits[l->token.text.size] = 0;
  *out_number = hr_strtod(digits, NULL);
  return read_advance(l);
}

/* Windows -------------------------------------------------------------------------------------- */

/* Numbers joined by 'x': the token 3x3, or a single integer. */
static hr_status_t read_sizes(read_hlo_t *r, int64_t sizes[HLO_MAX_RANK], int *out_rank) {
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

/* Slices --------------------------------------------------------------------------------------- */

/* [start:limit] or [start:limit:stride] */
static hr_status_t read_range(read_lexer_t *l, hlo_slice_dim_t *out_dim) {
  bool stride;
  out_dim->stride = 1;
  HR_TRY(read_expect(l, READ_OPEN_BRACKET));
  HR_TRY(read_int(l, &out_dim->start));
  HR_TRY(read_expect(l, READ_COLON));
  HR_TRY(read_int(l, &out_dim->limit));
  HR_TRY(read_accept(l, READ_COLON, &stride));
  if (stride) HR_TRY(read_int(l, &out_dim->stride));
  return read_expect(l, READ_CLOSE_BRACKET);
}

/* One range per dimension. */
hr_status_t read_slice(read_hlo_t *r, const hlo_slice_t **out_slice) {
  read_lexer_t *l = &r->lexer;
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  hlo_slice_t *slice;
  int rank = 0;
  void *copy;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more; rank++) {
    if (rank == HLO_MAX_RANK) return read_want(l, "at most %d dimensions", HLO_MAX_RANK);
    HR_TRY(read_range(l, &dims[rank]));
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  HR_TRY(HR_NEW(r->arena, &slice));
  HR_TRY(hr_arena_copy(r->arena, dims, (size_t)rank * sizeof *dims, &copy));
  *slice = (hlo_slice_t){rank, copy};
  *out_slice = slice;
  return NULL;
}

/* Aliasing ------------------------------------------------------------------------------------- */

/* {out}: (operand, {index}) or (parameter, {index}, may-alias). */
static hr_status_t read_alias(read_hlo_t *r, hlo_alias_t *out_alias) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_ints(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, &out_alias->output_index));
  HR_TRY(read_expect(l, READ_COLON));
  HR_TRY(read_expect(l, READ_OPEN_PAREN));
  HR_TRY(read_int(l, &out_alias->operand));
  HR_TRY(read_expect(l, READ_COMMA));
  HR_TRY(read_ints(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, &out_alias->operand_index));
  bool kind;
  HR_TRY(read_accept(l, READ_COMMA, &kind));
  out_alias->must = kind && read_is_word(l, "must-alias");
  if (kind) {
    if (!out_alias->must && !read_is_word(l, "may-alias"))
      return read_want(l, "may-alias or must-alias");
    HR_TRY(read_advance(l));
  }
  return read_expect(l, READ_CLOSE_PAREN);
}

/* { {output index}: (operand, {index}), ... } */
hr_status_t read_aliasing(read_hlo_t *r, const hlo_aliasing_t **out_aliasing) {
  read_lexer_t *l = &r->lexer;
  HR_VEC(hlo_alias_t) aliases = {0};
  hlo_aliasing_t *aliasing = NULL;
  void *copy = NULL;
  hr_status_t st = read_expect(l, READ_OPEN_BRACE);
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more && !st;) {
    st = HR_VEC_RESERVE(&aliases, aliases.count + 1);
    if (!st) st = read_alias(r, &aliases.data[aliases.count]);
    aliases.count += !st;
    if (!st) st = read_list_next(l, READ_CLOSE_BRACE, &more);
  }
  if (!st) st = read_expect(l, READ_CLOSE_BRACE);
  if (!st) st = HR_NEW(r->arena, &aliasing);
  if (!st) st = hr_arena_copy(r->arena, aliases.data, aliases.count * sizeof *aliases.data, &copy);
  if (!st) *aliasing = (hlo_aliasing_t){(int)aliases.count, copy};
  HR_VEC_FREE(&aliases);
  *out_aliasing = aliasing;
  return st;
}

/* Domains, sparsity, accuracy
 * ------------------------------------------------------------------------------------- */

/* Takes "key=", or fails. */
static hr_status_t expect_key(read_lexer_t *l, const char *key) {
  if (!read_is(l, READ_ATTR) || !hr_str_is(l->token.text, key)) return read_want(l, "%s=", key);
  return read_advance(l);
}

/* {kind="sharding", entry={..}, exit={..}} */
hr_status_t read_domain(read_hlo_t *r, const hlo_domain_t **out_domain) {
  read_lexer_t *l = &r->lexer;
  hlo_domain_t *domain;
  HR_TRY(HR_NEW(r->arena, &domain));
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  HR_TRY(expect_key(l, "kind"));
  HR_TRY(read_string(l, &domain->kind));
  HR_TRY(read_expect(l, READ_COMMA));
  HR_TRY(expect_key(l, "entry"));
  HR_TRY(read_sharding(r, &domain->entry));
  HR_TRY(read_expect(l, READ_COMMA));
  HR_TRY(expect_key(l, "exit"));
  HR_TRY(read_sharding(r, &domain->exit));
  *out_domain = domain;
  return read_expect(l, READ_CLOSE_BRACE);
}

/* {sparsity=2x4 dimension=1 stride=1} */
static hr_status_t read_sparsity_side(read_hlo_t *r, hlo_sparsity_side_t *side) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  while (!read_is(l, READ_CLOSE_BRACE)) {
    bool sparsity = read_is(l, READ_ATTR) && hr_str_is(l->token.text, "sparsity");
    bool dimension = read_is(l, READ_ATTR) && hr_str_is(l->token.text, "dimension");
    if (!sparsity && !dimension && !(read_is(l, READ_ATTR) && hr_str_is(l->token.text, "stride")))
      return read_want(l, "sparsity=, dimension= or stride=");
    HR_TRY(read_advance(l));
    if (sparsity) {
      int64_t sizes[HLO_MAX_RANK];
      int rank;
      size_t at = l->token.at;
      HR_TRY(read_sizes(r, sizes, &rank));
      if (rank != 2) return READ_ERROR_AT(l, at, "found %d numbers, want NxM", rank);
      side->non_zeros = sizes[0];
      side->block = sizes[1];
    } else {
      HR_TRY(read_int(l, dimension ? &side->dimension : &side->stride));
    }
  }
  side->present = true;
  return read_advance(l);
}

/* Either side may be absent. */
hr_status_t read_sparsity(read_hlo_t *r, const hlo_sparsity_t **out_sparsity) {
  read_lexer_t *l = &r->lexer;
  hlo_sparsity_t *sparsity;
  HR_TRY(HR_NEW(r->arena, &sparsity));
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  while (!read_is(l, READ_CLOSE_BRACE)) {
    bool lhs = read_is(l, READ_ATTR) && hr_str_is(l->token.text, "lhs");
    HR_TRY(expect_key(l, lhs ? "lhs" : "rhs"));
    hlo_sparsity_side_t *side = lhs ? &sparsity->lhs : &sparsity->rhs;
    if (side->present) return read_want(l, "each side once");
    HR_TRY(read_sparsity_side(r, side));
  }
  *out_sparsity = sparsity;
  return read_advance(l);
}

/* {atol=..,rtol=..,ulps=..} */
static hr_status_t read_tolerance(read_hlo_t *r, hlo_result_accuracy_t *accuracy) {
  read_lexer_t *l = &r->lexer;
  accuracy->has_tolerance = true;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more;) {
    hr_str_t key = l->token.text;
    bool known = hr_str_is(key, "atol") || hr_str_is(key, "rtol") || hr_str_is(key, "ulps");
    if (!read_is(l, READ_ATTR) || !known) return read_want(l, "atol=, rtol= or ulps=");
    HR_TRY(read_advance(l));
    if (hr_str_is(key, "ulps"))
      HR_TRY(read_int(l, &accuracy->ulps));
    else
      HR_TRY(read_number(r, hr_str_is(key, "atol") ? &accuracy->atol : &accuracy->rtol));
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  return read_advance(l);
}

/* {mode=highest} or {tolerance={..}}; the default mode is NULL. */
hr_status_t read_accuracy(read_hlo_t *r, const hlo_result_accuracy_t **out_accuracy) {
  read_lexer_t *l = &r->lexer;
  hlo_result_accuracy_t *accuracy;
  bool is_default = false;
  HR_TRY(HR_NEW(r->arena, &accuracy));
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  if (read_is(l, READ_ATTR) && hr_str_is(l->token.text, "mode")) {
    HR_TRY(read_advance(l));
    is_default = read_is_word(l, "default") || read_is_word(l, "DEFAULT");
    bool is_highest = read_is_word(l, "highest") || read_is_word(l, "HIGHEST");
    if (!is_default && !is_highest) return read_want(l, "default or highest");
    HR_TRY(read_advance(l));
  } else {
    HR_TRY(expect_key(l, "tolerance"));
    HR_TRY(read_tolerance(r, accuracy));
  }
  *out_accuracy = is_default ? NULL : accuracy;
  return read_expect(l, READ_CLOSE_BRACE);
}
