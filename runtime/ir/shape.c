/* Shapes: makers, comparison, counts and text. Shapes are immutable and shared, so that a change
 * makes a shallow copy. Scalars are static, one per type, which makes pointers to them
 * comparable.
 * Sizes are checked for overflow once, by hlo_dims_count; later products (hlo_shape_elements)
 * cannot overflow. */
#include "ir/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

bool hlo_shape_is_dynamic(const hlo_shape_t *shape) {
  for (int d = 0; shape->dynamic && d < shape->rank; d++)
    if (shape->dynamic[d]) return true;
  return hlo_shape_is_tuple(shape)
             ? shape->has_dynamic
             : shape->element_count && hlo_shape_is_dynamic(shape->elements[0]);
}

/* One static shape per element type: never freed, equal by address. */
const hlo_shape_t *hlo_shape_scalar(hr_dtype_t dtype) {
  static const hlo_shape_t scalars[HR_DTYPE_COUNT] = {
#define DTYPE(id, ...) [HR_##id] = {.dtype = HR_##id},
#include "base/dtypes.def"
#undef DTYPE
  };
  return &scalars[dtype];
}

/* A `dynamic` list without a true entry is dropped: such shapes equal static ones. */
hr_status_t hlo_shape_array_dynamic(hr_arena_t *arena, hr_dtype_t dtype, int rank,
                                    const int64_t *dims, const bool *dynamic,
                                    const hlo_shape_t **out_shape) {
  if (rank == 0) {
    *out_shape = hlo_shape_scalar(dtype);
    return NULL;
  }
  if (rank > HLO_MAX_RANK)
    return hr_error(HR_INVALID, "rank %d, want at most %d", rank, HLO_MAX_RANK);
  hlo_shape_t *shape;
  void *copy;
  HR_TRY(HR_NEW(arena, &shape));
  HR_TRY(hr_arena_copy(arena, dims, (size_t)rank * sizeof *dims, &copy));
  shape->dtype = dtype;
  shape->rank = rank;
  shape->dims = copy;
  if (dynamic && memchr(dynamic, true, (size_t)rank)) {
    HR_TRY(hr_arena_copy(arena, dynamic, (size_t)rank * sizeof *dynamic, &copy));
    shape->dynamic = copy;
  }
  *out_shape = shape;
  return NULL;
}

/* The sizes are copied to the arena; scalars come from the static table. */
hr_status_t hlo_shape_array(hr_arena_t *arena, hr_dtype_t dtype, int rank, const int64_t *dims,
                            const hlo_shape_t **out_shape) {
  return hlo_shape_array_dynamic(arena, dtype, rank, dims, NULL, out_shape);
}

#define SHORT_TUPLE 8

/* Each tuple knows its leaves, so that trees of tuples are not walked for each question; with the
 * list a leaf of a long tuple is found without a walk over those before it. */
static hr_status_t count_leaves(hr_arena_t *arena, hlo_shape_t *shape) {
  int *starts = NULL, count = shape->element_count;
  if (count > SHORT_TUPLE) HR_TRY(HR_NEW_ARRAY(arena, count, &starts));
  for (int i = 0; i < count; i++) {
    if (starts) starts[i] = shape->leaf_count;
    shape->leaf_count += hlo_shape_leaf_count(shape->elements[i]);
    shape->has_dynamic |= hlo_shape_is_dynamic(shape->elements[i]);
  }
  shape->leaf_starts = starts;
  return NULL;
}

/* The list is copied, the element shapes are shared. */
hr_status_t hlo_shape_tuple(hr_arena_t *arena, int count, const hlo_shape_t *const *elements,
                            const hlo_shape_t **out_shape) {
  hlo_shape_t *shape;
  void *copy;
  HR_TRY(HR_NEW(arena, &shape));
  HR_TRY(hr_arena_copy(arena, elements, (size_t)count * sizeof *elements, &copy));
  *shape = (hlo_shape_t){.dtype = HR_TUPLE, .element_count = count, .elements = copy};
  *out_shape = shape;
  return count_leaves(arena, shape);
}

/* A shallow copy: dimensions, elements and layout stay shared. */
static hr_status_t copy_shape(hr_arena_t *arena, const hlo_shape_t *shape, hlo_shape_t **out_copy) {
  HR_TRY(HR_NEW(arena, out_copy));
  **out_copy = *shape;
  return NULL;
}

hr_status_t hlo_shape_with_layout(hr_arena_t *arena, const hlo_shape_t *shape,
                                  const hlo_layout_t *layout, const hlo_shape_t **out_shape) {
  hlo_shape_t *copy;
  HR_TRY(copy_shape(arena, shape, &copy));
  copy->layout = layout;
  *out_shape = copy;
  return NULL;
}

hr_status_t hlo_shape_with_dtype(hr_arena_t *arena, const hlo_shape_t *shape, hr_dtype_t dtype,
                                 const hlo_shape_t **out_shape) {
  hlo_shape_t *copy;
  HR_TRY(copy_shape(arena, shape, &copy));
  copy->dtype = dtype;
  *out_shape = copy;
  return NULL;
}

static bool is_dynamic_dim(const hlo_shape_t *shape, int d) {
  return shape->dynamic && shape->dynamic[d];
}

/* Whether dimension d agrees: equal size and dynamic flag, or with allow_bounds a size within
 * the dynamic one's bound. */
static bool dims_agree(const hlo_shape_t *a, const hlo_shape_t *b, int d, bool allow_bounds) {
  bool a_dynamic = is_dynamic_dim(a, d);
  bool b_dynamic = is_dynamic_dim(b, d);
  if (!allow_bounds || (!a_dynamic && !b_dynamic))
    return a_dynamic == b_dynamic && a->dims[d] == b->dims[d];
  if (a_dynamic && b_dynamic) return true;
  int64_t bound = a_dynamic ? a->dims[d] : b->dims[d];
  int64_t size = a_dynamic ? b->dims[d] : a->dims[d];
  return bound == HLO_UNBOUNDED || size <= bound;
}

/* Recursion over tuples; equal pointers are the common case. */
static bool shapes_agree(const hlo_shape_t *a, const hlo_shape_t *b, bool allow_bounds) {
  if (a == b) return true;
  if (a->dtype != b->dtype || a->rank != b->rank || a->element_count != b->element_count)
    return false;
  for (int d = 0; d < a->rank; d++)
    if (!dims_agree(a, b, d, allow_bounds)) return false;
  for (int i = 0; i < a->element_count; i++)
    if (!shapes_agree(a->elements[i], b->elements[i], allow_bounds)) return false;
  return true;
}

/* Same types, sizes and bounds, tuple by tuple; layouts do not count. */
bool hlo_shape_equal(const hlo_shape_t *a, const hlo_shape_t *b) {
  return shapes_agree(a, b, false);
}
/* As equal, but a dynamic dimension goes with any size within its bound. */
bool hlo_shape_compatible(const hlo_shape_t *a, const hlo_shape_t *b) {
  return shapes_agree(a, b, true);
}

/* Ranks and sizes alone, with bounds as in hlo_shape_compatible; element types may differ. */
bool hlo_shape_same_dims(const hlo_shape_t *a, const hlo_shape_t *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (!dims_agree(a, b, d, true)) return false;
  return true;
}

/* True if the order, minor to major, is {n-1, ..., 1, 0}: row-major, the default. */
static bool is_descending(hr_ints_t order) {
  for (int64_t i = 0; i < order.count; i++)
    if (order.data[i] != order.count - 1 - i) return false;
  return true;
}

/* Whether the layout has any field beside minor_to_major, printed after ":". */
static bool layout_has_tail(const hlo_layout_t *l) {
  return l->tile_count || l->tail_padding_alignment > 1 || l->element_bits || l->memory_space ||
         l->split_count || l->dynamic_prefix_bytes || l->level_types.size || l->index_type.size ||
         l->pointer_type.size || l->physical_shape;
}

bool hlo_layout_is_default(const hlo_layout_t *layout) {
  return !layout || (!layout_has_tail(layout) && is_descending(layout->minor_to_major));
}

/* Empty lists are equal whatever their pointers are. */
static bool ints_equal(hr_ints_t a, hr_ints_t b) {
  return a.count == b.count &&
         (!a.count || !memcmp(a.data, b.data, (size_t)a.count * sizeof *a.data));
}

/* The fields after ":" but for the physical shape, which is not compared. */
static bool layout_tails_equal(const hlo_layout_t *a, const hlo_layout_t *b) {
  if (a->tile_count != b->tile_count || a->tail_padding_alignment != b->tail_padding_alignment ||
      a->element_bits != b->element_bits || a->memory_space != b->memory_space ||
      a->split_count != b->split_count || a->dynamic_prefix_bytes != b->dynamic_prefix_bytes ||
      !hr_str_equal(a->level_types, b->level_types) ||
      !hr_str_equal(a->index_type, b->index_type) ||
      !hr_str_equal(a->pointer_type, b->pointer_type))
    return false;
  for (int i = 0; i < a->tile_count; i++)
    if (!ints_equal(a->tiles[i].dims, b->tiles[i].dims)) return false;
  for (int i = 0; i < a->split_count; i++)
    if (a->splits[i].dimension != b->splits[i].dimension ||
        !ints_equal(a->splits[i].indices, b->splits[i].indices))
      return false;
  return true;
}

/* NULL equals the default layout written out. */
bool hlo_layout_equal(const hlo_layout_t *a, const hlo_layout_t *b) {
  if (a == b) return true;
  if (!a || !b) return hlo_layout_is_default(a ? a : b);
  return ints_equal(a->minor_to_major, b->minor_to_major) && layout_tails_equal(a, b);
}

/* An array with a dimension of size 0 is empty, however large the others are. */
hr_status_t hlo_dims_count(int rank, const int64_t *dims, hr_dtype_t dtype, int64_t *out_count) {
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (int d = 0; d < rank; d++) {
    if (dims[d] < 0) return hr_error(HR_INVALID, "the size of dimension %d is not known", d);
    empty |= dims[d] == 0;
    overflow |= __builtin_mul_overflow(count, dims[d] ? dims[d] : 1, &count);
  }
  if (empty) count = 0;
  size_t bytes;
  if (!empty && overflow)
    return hr_error(HR_NO_MEMORY, "an array of more than 2^63 elements, which no machine holds");
  HR_TRY(hr_size_product((size_t)count, hr_dtype_bytes(dtype), &bytes));
  *out_count = count;
  return NULL;
}

/* As hlo_dims_count, with the shape named in the error. */
hr_status_t hlo_shape_count(const hlo_shape_t *shape, int64_t *out_count) {
  hr_status_t st = hlo_dims_count(shape->rank, shape->dims, shape->dtype, out_count);
  char text[HLO_SHAPE_TEXT];
  return st ? hr_status_note(st, "for %s", hlo_shape_text(shape, text)) : NULL;
}

/* Sum over the leaves; tokens and opaques have none. */
hr_status_t hlo_shape_bytes(const hlo_shape_t *shape, size_t *out_bytes) {
  size_t bytes = 0;
  if (hlo_shape_is_array(shape)) {
    int64_t count;
    HR_TRY(hlo_shape_count(shape, &count));
    bytes = (size_t)count * hr_dtype_bytes(shape->dtype);
  }
  for (int i = 0; i < shape->element_count; i++) {
    size_t part;
    HR_TRY(hlo_shape_bytes(shape->elements[i], &part));
    HR_TRY(hr_size_product(bytes + part, 1, &bytes));
  }
  *out_bytes = bytes;
  return NULL;
}

/* Arrays, tokens and opaques count one each, an empty tuple none. */
int hlo_shape_leaf_count(const hlo_shape_t *shape) {
  return hlo_shape_is_tuple(shape) ? shape->leaf_count : 1;
}

int hlo_shape_leaf_start(const hlo_shape_t *tuple, int64_t element) {
  int start = 0;
  if (element == tuple->element_count) return tuple->leaf_count;
  if (tuple->leaf_starts) return tuple->leaf_starts[element];
  for (int64_t i = 0; i < element; i++) start += hlo_shape_leaf_count(tuple->elements[i]);
  return start;
}

/* The last element that starts at the leaf or before it. */
int hlo_shape_element_of_leaf(const hlo_shape_t *tuple, int leaf) {
  int low = 0, high = tuple->element_count;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    *(hlo_shape_leaf_start(tuple, middle) <= leaf ? &low : &high) = middle;
  }
  return low;
}

int hlo_shape_leaf_at(const hlo_shape_t *shape, hr_ints_t path) {
  int leaf = 0;
  for (int64_t i = 0; i < path.count; i++) {
    if (!hlo_shape_is_tuple(shape) || path.data[i] < 0 || path.data[i] >= shape->element_count)
      return -1;
    leaf += hlo_shape_leaf_start(shape, path.data[i]);
    shape = shape->elements[path.data[i]];
  }
  return leaf;
}

/* Descends into the tuple element whose range of leaves holds the index. */
const hlo_shape_t *hlo_shape_leaf(const hlo_shape_t *shape, int index) {
  while (hlo_shape_is_tuple(shape)) {
    int element = hlo_shape_element_of_leaf(shape, index);
    index -= hlo_shape_leaf_start(shape, element);
    shape = shape->elements[element];
  }
  return shape;
}

/* A list of integers in which HLO_TILE_COMBINE prints as "*". */
static void print_layout_ints(hr_strbuf_t *text, hr_ints_t ints) {
  for (int64_t i = 0; i < ints.count; i++) {
    if (i) hr_strbuf_add_char(text, ',');
    if (ints.data[i] == HLO_TILE_COMBINE)
      hr_strbuf_add_char(text, '*');
    else
      hr_strbuf_add_int(text, ints.data[i]);
  }
}

/* Tiles, alignment, types, element bits, memory space, splits, physical shape: XLA's order and
 * letters. */
static void print_layout_tail(hr_strbuf_t *text, const hlo_layout_t *l) {
  hr_strbuf_add_char(text, ':');
  if (l->level_types.size) hr_strbuf_printf(text, "D(%.*s)", HR_STR_ARGS(l->level_types));
  if (l->tile_count) hr_strbuf_add_char(text, 'T');
  for (int i = 0; i < l->tile_count; i++) {
    hr_strbuf_add_char(text, '(');
    print_layout_ints(text, l->tiles[i].dims);
    hr_strbuf_add_char(text, ')');
  }
  if (l->tail_padding_alignment > 1)
    hr_strbuf_printf(text, "L(%ld)", (long)l->tail_padding_alignment);
  if (l->index_type.size) hr_strbuf_printf(text, "#(%.*s)", HR_STR_ARGS(l->index_type));
  if (l->pointer_type.size) hr_strbuf_printf(text, "*(%.*s)", HR_STR_ARGS(l->pointer_type));
  if (l->element_bits) hr_strbuf_printf(text, "E(%ld)", (long)l->element_bits);
  if (l->memory_space) hr_strbuf_printf(text, "S(%ld)", (long)l->memory_space);
  if (l->split_count) hr_strbuf_add_str(text, "SC");
  for (int i = 0; i < l->split_count; i++) {
    hr_strbuf_printf(text, "(%ld:", (long)l->splits[i].dimension);
    print_layout_ints(text, l->splits[i].indices);
    hr_strbuf_add_char(text, ')');
  }
  if (l->physical_shape) {
    hr_strbuf_add_str(text, "P(");
    hlo_shape_print(text, l->physical_shape, true);
    hr_strbuf_add_char(text, ')');
  }
  if (l->dynamic_prefix_bytes) hr_strbuf_printf(text, "M(%ld)", (long)l->dynamic_prefix_bytes);
}

/* The default order prints like an explicit one. */
static void print_layout(hr_strbuf_t *text, const hlo_shape_t *shape) {
  const hlo_layout_t *layout = shape->layout;
  bool tail = layout && layout_has_tail(layout);
  if (!shape->rank && !tail) return;
  hr_strbuf_add_char(text, '{');
  for (int d = shape->rank - 1; !layout && d >= 0; d--) {
    hr_strbuf_add_int(text, d);
    if (d) hr_strbuf_add_char(text, ',');
  }
  if (layout) print_layout_ints(text, layout->minor_to_major);
  if (tail) print_layout_tail(text, layout);
  hr_strbuf_add_char(text, '}');
}

/* [2,<=8,?]: static, bounded and unbounded sizes. */
static void print_dims(hr_strbuf_t *text, const hlo_shape_t *shape) {
  hr_strbuf_add_char(text, '[');
  for (int d = 0; d < shape->rank; d++) {
    if (d) hr_strbuf_add_char(text, ',');
    if (shape->dims[d] == HLO_UNBOUNDED) {
      hr_strbuf_add_char(text, '?');
      continue;
    }
    if (is_dynamic_dim(shape, d)) hr_strbuf_add_str(text, "<=");
    hr_strbuf_add_int(text, shape->dims[d]);
  }
  hr_strbuf_add_char(text, ']');
}

/* XLA's text: f32[2,3]{1,0}; every fifth element of a tuple is counted, as index=5, in a comment.
 */
void hlo_shape_print(hr_strbuf_t *text, const hlo_shape_t *shape, bool with_layout) {
  if (hlo_shape_is_tuple(shape) || shape->dtype == HR_BUFFER) {
    hr_strbuf_add_str(text, shape->dtype == HR_BUFFER ? "b(" : "(");
    for (int i = 0; i < shape->element_count; i++) {
      if (i) hr_strbuf_add_str(text, ", ");
      if (i && i % 5 == 0) hr_strbuf_printf(text, "/*index=%d*/", i);
      hlo_shape_print(text, shape->elements[i], with_layout);
    }
    hr_strbuf_add_char(text, ')');
    return;
  }
  hr_strbuf_add_str(text, hr_dtype_name(shape->dtype));
  print_dims(text, shape);
  if (with_layout) print_layout(text, shape);
}

/* Prints into a growing buffer first: the text of a tuple may be pages long. */
const char *hlo_shape_text(const hlo_shape_t *shape, char into[HLO_SHAPE_TEXT]) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_shape_print(&text, shape, false);
  int size = snprintf(into, HLO_SHAPE_TEXT, "%s", text.data ? text.data : "?");
  if (size >= HLO_SHAPE_TEXT) strcpy(into + HLO_SHAPE_TEXT - 4, "...");
  hr_strbuf_deinit(&text);
  return into;
}

/* The shape at a path of tuple indices, such as {1,0}; NULL: there is none. */
const hlo_shape_t *hlo_shape_at_path(const hlo_shape_t *shape, hr_ints_t path) {
  for (int64_t i = 0; i < path.count; i++) {
    if (!hlo_shape_is_tuple(shape) || path.data[i] < 0 || path.data[i] >= shape->element_count)
      return NULL;
    shape = shape->elements[path.data[i]];
  }
  return shape;
}
