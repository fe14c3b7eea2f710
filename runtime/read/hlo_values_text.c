/* HLO text of attribute values, one function per kind. Lists of unknown length are collected on
 * the reader's stacks or on the C stack up to HLO_MAX_RANK, and copied to the arena. */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "read/hlo_reader.h"

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
