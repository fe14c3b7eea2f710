/* HLO text of shapes and layouts:
 *   shape  ::= type "[" ("<="? int | "?"),* "]" layout? | "(" shape,* ")" | "b(" shape ")"
 *            | "token[]"
 *   layout ::= "{" int,* (":" part*)? "}"
 *   part   ::= D() T() L() #() *() E() S() SC() P() M(), in this order
 * Layouts that equal the default are dropped. A brace after a shape may start a literal or a body
 * instead of a layout; the token after the brace decides. */
#include <string.h>

#include "read/hlo_reader.h"

/* Whether the current token starts a shape; "b" is a buffer only right before '('. */
bool read_at_shape(const read_hlo_t *r) {
  const read_lexer_t *l = &r->lexer;
  return read_is(l, READ_TYPE) || read_is(l, READ_OPEN_PAREN) ||
         (read_is_word(l, "b") && l->at < l->size && l->text[l->at] == '(');
}

/* Shapes separated by commas. */
hr_status_t read_shape_list(read_hlo_t *r, read_kind_t open, read_kind_t close,
                            hlo_shapes_t *out_shapes) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->shapes.count;
  HR_TRY(read_expect(l, open));
  for (bool more = l->token.kind != close; more && l->token.kind != close;) {
    const hlo_shape_t *shape;
    HR_TRY(read_shape(r, &shape));
    HR_VEC_PUSH(&r->shapes, shape);
    HR_TRY(read_list_next(l, close, &more));
  }
  HR_TRY(read_expect(l, close));
  void *copy;
  size_t count = r->shapes.count - from;
  HR_TRY(hr_arena_copy(r->arena, r->shapes.data + from, count * sizeof *r->shapes.data, &copy));
  *out_shapes = (hlo_shapes_t){(int)count, copy};
  r->shapes.count = from;
  return NULL;
}

/* Layouts -------------------------------------------------------------------------------------- */

/* minor_to_major: a permutation of the dimensions. */
static READ_OP_FRAME hr_status_t read_order(read_hlo_t *r, int rank, hr_ints_t *out_order) {
  read_lexer_t *l = &r->lexer;
  int64_t order[HLO_MAX_RANK];
  int count = 0;
  size_t at = l->token.at;
  uint64_t seen = 0;
  for (bool more = read_is(l, READ_INT); more;) {
    int64_t dim;
    size_t dim_at = l->token.at;
    HR_TRY(read_int(l, &dim));
    if (dim < 0 || dim >= rank || (seen >> dim & 1))
      return READ_ERROR_AT(l, dim_at, "found dimension %ld in the layout, want 0 to %d, each once",
                           (long)dim, rank - 1);
    seen |= UINT64_C(1) << dim;
    order[count++] = dim;
    HR_TRY(read_accept(l, READ_COMMA, &more));
  }
  if (count != rank)
    return READ_ERROR_AT(l, at, "the layout orders %d dimensions, want all %d", count, rank);
  return hr_arena_ints(r->arena, order, count, out_order);
}

/* The text between parentheses, which the grammar does not interpret. */
static hr_status_t read_raw_parens(read_hlo_t *r, hr_str_t *out_text) {
  read_lexer_t *l = &r->lexer;
  if (!read_is(l, READ_OPEN_PAREN)) return read_want(l, "'('");
  size_t from = l->token.end;
  const char *close = memchr(l->text + from, ')', l->size - from);
  if (!close) return READ_ERROR_AT(l, l->token.at, "the parenthesis that opens here is not closed");
  *out_text = (hr_str_t){l->text + from, (size_t)(close - l->text) - from};
  return read_resume(l, (size_t)(close - l->text) + 1);
}

/* (int) */
static hr_status_t read_one_int(read_hlo_t *r, int64_t *out_value) {
  HR_TRY(read_expect(&r->lexer, READ_OPEN_PAREN));
  HR_TRY(read_int(&r->lexer, out_value));
  return read_expect(&r->lexer, READ_CLOSE_PAREN);
}

/* (8,128), with * for combined dimensions. */
static hr_status_t read_tile(read_hlo_t *r, hlo_tile_t *out_tile) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  HR_TRY(read_expect(l, READ_OPEN_PAREN));
  for (bool more = !read_is(l, READ_CLOSE_PAREN); more;) {
    int64_t size = HLO_TILE_COMBINE;
    bool combine;
    HR_TRY(read_accept(l, READ_STAR, &combine));
    if (!combine) HR_TRY(read_int(l, &size));
    HR_VEC_PUSH(&r->ints, size);
    HR_TRY(read_list_next(l, READ_CLOSE_PAREN, &more));
  }
  HR_TRY(hr_arena_ints(r->arena, r->ints.data + from, (int64_t)(r->ints.count - from),
                       &out_tile->dims));
  r->ints.count = from;
  return read_expect(l, READ_CLOSE_PAREN);
}

#define LAYOUT_LIST_MAX 64 /* tiles, or splits, of one layout */

/* T(8,128)(2,1) */
static READ_OP_FRAME hr_status_t read_tiles(read_hlo_t *r, hlo_layout_t *layout) {
  hlo_tile_t tiles[LAYOUT_LIST_MAX];
  int count = 0;
  void *copy;
  do {
    if (count == LAYOUT_LIST_MAX) return read_want(&r->lexer, "at most %d tiles", LAYOUT_LIST_MAX);
    HR_TRY(read_tile(r, &tiles[count++]));
  } while (read_is(&r->lexer, READ_OPEN_PAREN));
  HR_TRY(hr_arena_copy(r->arena, tiles, (size_t)count * sizeof *tiles, &copy));
  layout->tile_count = count;
  layout->tiles = copy;
  return NULL;
}

/* (dimension:index,...) */
static hr_status_t read_split(read_hlo_t *r, hlo_split_t *out_split) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  HR_TRY(read_expect(l, READ_OPEN_PAREN));
  HR_TRY(read_int(l, &out_split->dimension));
  HR_TRY(read_expect(l, READ_COLON));
  for (bool more = true; more;) {
    int64_t index;
    HR_TRY(read_int(l, &index));
    HR_VEC_PUSH(&r->ints, index);
    HR_TRY(read_list_next(l, READ_CLOSE_PAREN, &more));
  }
  HR_TRY(hr_arena_ints(r->arena, r->ints.data + from, (int64_t)(r->ints.count - from),
                       &out_split->indices));
  r->ints.count = from;
  return read_expect(l, READ_CLOSE_PAREN);
}

/* SC(..)(..) */
static READ_OP_FRAME hr_status_t read_splits(read_hlo_t *r, hlo_layout_t *layout) {
  hlo_split_t splits[LAYOUT_LIST_MAX];
  int count = 0;
  void *copy;
  do {
    if (count == LAYOUT_LIST_MAX) return read_want(&r->lexer, "at most %d splits", LAYOUT_LIST_MAX);
    HR_TRY(read_split(r, &splits[count++]));
  } while (read_is(&r->lexer, READ_OPEN_PAREN));
  HR_TRY(hr_arena_copy(r->arena, splits, (size_t)count * sizeof *splits, &copy));
  layout->split_count = count;
  layout->splits = copy;
  return NULL;
}

/* P(shape): the memory layout of a sparse array. Shapes nest here, hence the count of levels. */
static READ_OP_FRAME hr_status_t read_physical_shape(read_hlo_t *r, hlo_layout_t *layout) {
  HR_TRY(read_deeper(r, "shapes"));
  HR_TRY(read_expect(&r->lexer, READ_OPEN_PAREN));
  HR_TRY(read_shape(r, &layout->physical_shape));
  read_shallower(r);
  return read_expect(&r->lexer, READ_CLOSE_PAREN);
}

/* One field of the layout's tail, after its tag. */
static hr_status_t read_layout_part(read_hlo_t *r, hr_str_t tag, hlo_layout_t *layout) {
  if (hr_str_is(tag, "D")) return read_raw_parens(r, &layout->level_types);
  if (hr_str_is(tag, "T")) return read_tiles(r, layout);
  if (hr_str_is(tag, "L")) return read_one_int(r, &layout->tail_padding_alignment);
  if (hr_str_is(tag, "#")) return read_raw_parens(r, &layout->index_type);
  if (hr_str_is(tag, "*")) return read_raw_parens(r, &layout->pointer_type);
  if (hr_str_is(tag, "E")) return read_one_int(r, &layout->element_bits);
  if (hr_str_is(tag, "S")) return read_one_int(r, &layout->memory_space);
  if (hr_str_is(tag, "SC")) return read_splits(r, layout);
  if (hr_str_is(tag, "P")) return read_physical_shape(r, layout);
  return read_one_int(r, &layout->dynamic_prefix_bytes);
}

/* Fields after the colon, each at most once, in XLA's order. */
static hr_status_t read_layout_tail(read_hlo_t *r, hlo_layout_t *layout) {
  static const char *const tags[] = {"D", "T", "L", "#", "*", "E", "S", "SC", "P", "M"};
  const size_t count = sizeof tags / sizeof *tags;
  read_lexer_t *l = &r->lexer;
  for (size_t next = 0; !read_is(l, READ_CLOSE_BRACE); next++) {
    hr_str_t tag = l->token.text;
    while (next < count && !hr_str_is(tag, tags[next])) next++;
    if (next == count)
      return read_want(l, "'}' or the next of D T L # * E S SC P M, in this order");
    HR_TRY(read_advance(l));
    HR_TRY(read_layout_part(r, tag, layout));
  }
  return NULL;
}

/* {minor_to_major:tail} */
static READ_OP_FRAME hr_status_t read_layout(read_hlo_t *r, const hlo_shape_t **shape) {
  read_lexer_t *l = &r->lexer;
  hlo_layout_t layout = {0}, *copy;
  bool tail;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  HR_TRY(read_order(r, (*shape)->rank, &layout.minor_to_major));
  HR_TRY(read_accept(l, READ_COLON, &tail));
  if (tail) HR_TRY(read_layout_tail(r, &layout));
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  if (hlo_layout_is_default(&layout)) return NULL;
  HR_TRY(HR_NEW(r->arena, &copy));
  *copy = layout;
  return hlo_shape_with_layout(r->arena, *shape, copy, shape);
}

/* A brace after a shape is a layout only if a number or a colon follows. */
static hr_status_t read_layout_if_any(read_hlo_t *r, const hlo_shape_t **shape) {
  read_lexer_t *l = &r->lexer;
  if (read_is_word(l, "dense") && read_peek(l) == '{')
    HR_TRY(read_advance(l)); /* f32[2]dense{0}, of old versions */
  if (!read_is(l, READ_OPEN_BRACE)) return NULL;
  char next = read_peek(l);
  if (next != ':' && (next < '0' || next > '9')) return NULL;
  read_token_t brace = l->token;
  HR_TRY(read_advance(l));
  bool layout = read_is(l, READ_COLON) || read_is(l, READ_INT);
  l->at = brace.end;
  l->token = brace;
  return layout ? read_layout(r, shape) : NULL;
}

/* Arrays and tuples ---------------------------------------------------------------------------- */

/* 8, <=8 or ? */
static hr_status_t read_dim(read_lexer_t *l, int64_t *out_size, bool *out_dynamic) {
  bool unbounded;
  HR_TRY(read_accept(l, READ_QUESTION, &unbounded));
  *out_size = HLO_UNBOUNDED;
  *out_dynamic = true;
  if (unbounded) return NULL;
  HR_TRY(read_accept(l, READ_AT_MOST, out_dynamic));
  if (!read_is(l, READ_INT) || (int64_t)l->token.bits < 0)
    return read_want(l, "a size of 0 or more");
  return read_int(l, out_size);
}

/* Element type and dimensions. */
READ_OP_FRAME hr_status_t read_bare_array(read_hlo_t *r, const hlo_shape_t **out_shape) {
  read_lexer_t *l = &r->lexer;
  hr_dtype_t dtype = l->token.dtype;
  int64_t dims[HLO_MAX_RANK];
  bool dynamic[HLO_MAX_RANK];
  int rank = 0;
  size_t at = l->token.at;
  HR_TRY(read_advance(l));
  HR_TRY(read_expect(l, READ_OPEN_BRACKET));
  for (bool more = !read_is(l, READ_CLOSE_BRACKET); more; rank++) {
    if (rank == HLO_MAX_RANK) return read_want(l, "at most %d dimensions", HLO_MAX_RANK);
    HR_TRY(read_dim(l, &dims[rank], &dynamic[rank]));
    HR_TRY(read_list_next(l, READ_CLOSE_BRACKET, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACKET));
  if (rank && !hr_dtype_is_array(dtype))
    return READ_ERROR_AT(l, at, "found dimensions of type %s, want %s[]", hr_dtype_name(dtype),
                         hr_dtype_name(dtype));
  return hlo_shape_array_dynamic(r->arena, dtype, rank, dims, dynamic, out_shape);
}

/* type[sizes] [{layout}] */
static READ_OP_FRAME hr_status_t read_array(read_hlo_t *r, const hlo_shape_t **out_shape) {
  HR_TRY(read_bare_array(r, out_shape));
  return read_layout_if_any(r, out_shape);
}

/* (shape, shape, ...); () is the empty tuple. */
static hr_status_t read_tuple(read_hlo_t *r, const hlo_shape_t **out_shape) {
  hlo_shapes_t elements;
  HR_TRY(read_deeper(r, "tuples"));
  HR_TRY(read_shape_list(r, READ_OPEN_PAREN, READ_CLOSE_PAREN, &elements));
  read_shallower(r);
  return hlo_shape_tuple(r->arena, elements.count, elements.shapes, out_shape);
}

/* b(array) */
static hr_status_t read_buffer(read_hlo_t *r, const hlo_shape_t **out_shape) {
  hlo_shapes_t elements;
  hlo_shape_t *shape;
  size_t at = r->lexer.token.at;
  HR_TRY(read_advance(&r->lexer));
  HR_TRY(read_deeper(r, "shapes"));
  HR_TRY(read_shape_list(r, READ_OPEN_PAREN, READ_CLOSE_PAREN, &elements));
  read_shallower(r);
  if (elements.count != 1 || !hlo_shape_is_array(elements.shapes[0]))
    return READ_ERROR_AT(&r->lexer, at,
                         "found a buffer of something else, want b(...) around one array shape");
  HR_TRY(HR_NEW(r->arena, &shape));
  *shape = (hlo_shape_t){.dtype = HR_BUFFER, .element_count = 1, .elements = elements.shapes};
  *out_shape = shape;
  return NULL;
}

/* array, tuple or buffer: the first token decides. */
hr_status_t read_shape(read_hlo_t *r, const hlo_shape_t **out_shape) {
  if (!read_at_shape(r)) return read_want(&r->lexer, "a shape such as f32[2,3]");
  if (read_is(&r->lexer, READ_TYPE)) return read_array(r, out_shape);
  return read_is(&r->lexer, READ_OPEN_PAREN) ? read_tuple(r, out_shape) : read_buffer(r, out_shape);
}
