/* Shapes and layouts between xla_data.proto and the IR. As in XLA, default layouts are dropped on
 * reading and written on writing. Tuples recurse at most to depth PROTO_DEPTH_MAX; sizes and
 * orders are checked here, as all later code relies on them. */
#include <string.h>

#include "proto/proto_parts.h"

/* Element types by their number in PrimitiveType, plus 1; 0: no such type. */
static const uint8_t dtypes[256] = {
#define DTYPE(id, hlo, mlir, npy, number, ...) [number] = HR_##id + 1,
#include "base/dtypes.def"
#undef DTYPE
};

/* The element type by XLA's number. */
static hr_status_t find_dtype(int64_t number, hr_dtype_t *out_dtype) {
  if (number < 0 || number > 255 || !dtypes[number])
    return PROTO_ERROR("element type %ld, which is none that is known", (long)number);
  *out_dtype = (hr_dtype_t)(dtypes[number] - 1);
  return NULL;
}

/* Layouts -------------------------------------------------------------------------------------- */

/* Tilings of the layout, outermost first. */
static hr_status_t read_tiles(proto_reader_t *p, proto_list_t list, hlo_layout_t *layout) {
  hlo_tile_t *tiles;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &tiles));
  for (int64_t i = 0; i < list.count; i++) {
    proto_tile_t tile;
    HR_TRY(PROTO_DECODE(&p->scratch, tile, proto_piece(&list.items[i]), &tile));
    HR_TRY(proto_ints(p->arena, tile.dimensions, &tiles[i].dims));
  }
  layout->tile_count = (int)list.count;
  layout->tiles = tiles;
  return NULL;
}

/* Reads dimensions that are split over memories, with the split indices. */
static hr_status_t read_splits(proto_reader_t *p, proto_list_t list, hlo_layout_t *layout) {
  hlo_split_t *splits;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &splits));
  for (int64_t i = 0; i < list.count; i++) {
    proto_split_t split;
    HR_TRY(PROTO_DECODE(&p->scratch, split, proto_piece(&list.items[i]), &split));
    splits[i].dimension = split.dimension;
    HR_TRY(proto_ints(p->arena, split.split_indices, &splits[i].indices));
  }
  layout->split_count = (int)list.count;
  layout->splits = splits;
  return NULL;
}

#define LEVEL_LETTERS "DCSH" /* dense, compressed, singleton, loose compressed */

/* Text such as "D,C+~": a letter per dimension, '+' if not unique, '~' if not ordered. */
static hr_status_t read_levels(proto_reader_t *p, const proto_layout_t *in, hr_str_t *out_text) {
  hr_ints_t types, unique, ordered;
  char *text;
  size_t size = 0;
  HR_TRY(proto_ints(&p->scratch, in->dim_level_types, &types));
  HR_TRY(proto_ints(&p->scratch, in->dim_unique, &unique));
  HR_TRY(proto_ints(&p->scratch, in->dim_ordered, &ordered));
  HR_TRY(HR_NEW_ARRAY(p->arena, 4 * types.count + 1, &text));
  for (int64_t i = 0; i < types.count; i++) {
    if (types.data[i] < 0 || types.data[i] > 3)
      return PROTO_ERROR("dimension level type %ld, want 0 to 3", (long)types.data[i]);
    if (i) text[size++] = ',';
    text[size++] = LEVEL_LETTERS[types.data[i]];
    if (i < unique.count && !unique.data[i]) text[size++] = '+';
    if (i < ordered.count && !ordered.data[i]) text[size++] = '~';
  }
  *out_text = (hr_str_t){text, size};
  return NULL;
}

/* Number 0 means no type. */
static hr_status_t read_type_name(int64_t number, hr_str_t *out_name) {
  hr_dtype_t dtype;
  if (!number) return NULL;
  HR_TRY(find_dtype(number, &dtype));
  *out_name = hr_str_from(hr_dtype_name(dtype));
  return NULL;
}

/* A layout must list each dimension once. */
static hr_status_t check_order(hr_ints_t order, int rank) {
  if (order.count == rank && hlo_is_permutation(order)) return NULL;
  return PROTO_ERROR("a layout does not list each of its %d dimensions once", rank);
}

/* Replaces *shape by one with the layout, unless it is the default. */
static hr_status_t read_layout(proto_reader_t *p, proto_list_t pieces, const hlo_shape_t **shape) {
  proto_layout_t in;
  hlo_layout_t layout = {0}, *copy;
  HR_TRY(PROTO_DECODE(&p->scratch, layout, pieces, &in));
  HR_TRY(proto_ints(p->arena, in.minor_to_major, &layout.minor_to_major));
  HR_TRY(check_order(layout.minor_to_major, (*shape)->rank));
  HR_TRY(read_tiles(p, in.tiles, &layout));
  HR_TRY(read_splits(p, in.split_configs, &layout));
  HR_TRY(read_levels(p, &in, &layout.level_types));
  HR_TRY(read_type_name(in.index_primitive_type, &layout.index_type));
  HR_TRY(read_type_name(in.pointer_primitive_type, &layout.pointer_type));
  if (in.physical_shape.count)
    HR_TRY(proto_read_shape(p, in.physical_shape, &layout.physical_shape));
  if (in.tail_padding_alignment_in_elements > 1)
    layout.tail_padding_alignment = in.tail_padding_alignment_in_elements;
  layout.element_bits = in.element_size_in_bits;
  layout.memory_space = in.memory_space;
  layout.dynamic_prefix_bytes = in.dynamic_shape_metadata_prefix_bytes;
  if (hlo_layout_is_default(&layout)) return NULL;
  HR_TRY(HR_NEW(p->arena, &copy));
  *copy = layout;
  return hlo_shape_with_layout(p->arena, *shape, copy, shape);
}

/* Inverse of read_levels. Flags are written only if a dimension is not unique or not ordered. */
static void write_levels(hr_strbuf_t *out, hr_str_t levels) {
  int64_t types[HLO_MAX_RANK];
  bool unique[HLO_MAX_RANK], ordered[HLO_MAX_RANK], plain = true;
  int count = 0;
  for (size_t i = 0; i < levels.size; i++) {
    const char *level = levels.data[i] ? strchr(LEVEL_LETTERS, levels.data[i]) : NULL;
    if (level && count < HLO_MAX_RANK) {
      types[count] = level - LEVEL_LETTERS;
      unique[count] = true;
      ordered[count] = true;
      count++;
    }
    if (!count) continue;
    if (levels.data[i] == '+') unique[count - 1] = false;
    if (levels.data[i] == '~') ordered[count - 1] = false;
    plain &= unique[count - 1] && ordered[count - 1];
  }
  proto_put_ints(out, PROTO_layout_dim_level_types, (hr_ints_t){types, count});
  if (plain) return;
  proto_put_bools(out, PROTO_layout_dim_unique, count, unique);
  proto_put_bools(out, PROTO_layout_dim_ordered, count, ordered);
}

/* Writes a PrimitiveType number; omits unknown names. */
static void write_type_name(hr_strbuf_t *out, uint32_t number, hr_str_t name) {
  hr_dtype_t dtype;
  if (hr_dtype_from_name(name, &dtype)) proto_put_int(out, number, hr_dtype_table[dtype].proto);
}

/* Fields of LayoutProto after minor_to_major. Nested messages recurse only through
 * physical_shape. */
static void write_layout_tail(hr_strbuf_t *out, const hlo_layout_t *layout) {
  for (int i = 0; i < layout->tile_count; i++) {
    size_t tile = proto_open(out, PROTO_layout_tiles);
    proto_put_ints(out, PROTO_tile_dimensions, layout->tiles[i].dims);
    proto_close(out, tile);
  }
  proto_put_int(out, PROTO_layout_element_size_in_bits, layout->element_bits);
  proto_put_int(out, PROTO_layout_memory_space, layout->memory_space);
  write_levels(out, layout->level_types);
  if (layout->physical_shape)
    proto_write_shape(out, PROTO_layout_physical_shape, layout->physical_shape);
  write_type_name(out, PROTO_layout_index_primitive_type, layout->index_type);
  write_type_name(out, PROTO_layout_pointer_primitive_type, layout->pointer_type);
  proto_put_int(out, PROTO_layout_dynamic_shape_metadata_prefix_bytes,
                layout->dynamic_prefix_bytes);
  for (int i = 0; i < layout->split_count; i++) {
    size_t split = proto_open(out, PROTO_layout_split_configs);
    proto_put_int(out, PROTO_split_dimension, layout->splits[i].dimension);
    proto_put_ints(out, PROTO_split_split_indices, layout->splits[i].indices);
    proto_close(out, split);
  }
}

/* tail_padding_alignment is at least 1 in XLA's files. */
static void write_layout(hr_strbuf_t *out, const hlo_shape_t *shape) {
  const hlo_layout_t *layout = shape->layout;
  int64_t order[HLO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) order[d] = shape->rank - 1 - d;
  size_t opened = proto_open(out, PROTO_shape_layout);
  proto_put_ints(out, PROTO_layout_minor_to_major,
                 layout ? layout->minor_to_major : (hr_ints_t){order, shape->rank});
  if (layout) write_layout_tail(out, layout);
  int64_t alignment = layout && layout->tail_padding_alignment ? layout->tail_padding_alignment : 1;
  proto_put_int(out, PROTO_layout_tail_padding_alignment_in_elements, alignment);
  proto_close(out, opened);
}

/* Shapes --------------------------------------------------------------------------------------- */

/* Sizes are not negative, except that of an unbounded dynamic dimension. */
static hr_status_t check_dims(hr_ints_t dims, const bool *dynamic) {
  for (int64_t d = 0; d < dims.count; d++) {
    bool unbounded = dims.data[d] == HLO_UNBOUNDED && dynamic && dynamic[d];
    if (dims.data[d] < 0 && !unbounded)
      return PROTO_ERROR("size %ld in dimension %ld, want 0 or more", (long)dims.data[d], (long)d);
  }
  return NULL;
}

/* Reads an array, or a token-like type, which must not have dimensions. */
static hr_status_t read_array(proto_reader_t *p, const proto_shape_t *in, hr_dtype_t dtype,
                              const hlo_shape_t **out_shape) {
  hr_ints_t dims;
  const bool *dynamic = NULL;
  int dynamic_count;
  HR_TRY(proto_ints(&p->scratch, in->dimensions, &dims));
  HR_TRY(proto_bools(&p->scratch, in->is_dynamic_dimension, &dynamic_count, &dynamic));
  if (dims.count > HLO_MAX_RANK)
    return PROTO_ERROR("an array of %ld dimensions, want at most %d", (long)dims.count,
                       HLO_MAX_RANK);
  if (dims.count && !hr_dtype_is_array(dtype))
    return PROTO_ERROR("dimensions of type %s", hr_dtype_name(dtype));
  if (dynamic_count && dynamic_count != dims.count)
    return PROTO_ERROR("%d flags of dynamic dimensions, want %ld", dynamic_count, (long)dims.count);
  if (!dynamic_count) dynamic = NULL;
  HR_TRY(check_dims(dims, dynamic));
  HR_TRY(hlo_shape_array_dynamic(p->arena, dtype, (int)dims.count, dims.data, dynamic, out_shape));
  return in->layout.count && hr_dtype_is_array(dtype) ? read_layout(p, in->layout, out_shape)
                                                      : NULL;
}

hr_status_t proto_read_shapes(proto_reader_t *p, proto_list_t list, hlo_shapes_t *out_shapes) {
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &shapes));
  for (int64_t i = 0; i < list.count; i++)
    HR_TRY(proto_read_shape(p, proto_piece(&list.items[i]), &shapes[i]));
  *out_shapes = (hlo_shapes_t){(int)list.count, shapes};
  return NULL;
}

/* Reads the elements of a tuple, or the one array of a buffer. */
static hr_status_t read_elements(proto_reader_t *p, const proto_shape_t *in, hr_dtype_t dtype,
                                 const hlo_shape_t **out_shape) {
  hlo_shapes_t elements;
  hlo_shape_t *shape;
  if (++p->depth > PROTO_DEPTH_MAX)
    return PROTO_ERROR("shapes nested more than %d deep", PROTO_DEPTH_MAX);
  HR_TRY(proto_read_shapes(p, in->tuple_shapes, &elements));
  p->depth--;
  if (dtype == HR_BUFFER && (elements.count != 1 || !hlo_shape_is_array(elements.shapes[0])))
    return PROTO_ERROR("a buffer of something else than one array");
  if (dtype == HR_TUPLE)
    return hlo_shape_tuple(p->arena, elements.count, elements.shapes, out_shape);
  HR_TRY(HR_NEW(p->arena, &shape));
  *shape = (hlo_shape_t){.dtype = dtype, .element_count = 1, .elements = elements.shapes};
  *out_shape = shape;
  return NULL;
}

/* Tuples and buffers have element shapes, all others dimensions. */
hr_status_t proto_read_shape(proto_reader_t *p, proto_list_t pieces,
                             const hlo_shape_t **out_shape) {
  proto_shape_t in;
  hr_dtype_t dtype;
  if (!pieces.count) return PROTO_ERROR("a shape is missing");
  HR_TRY(PROTO_DECODE(&p->scratch, shape, pieces, &in));
  HR_TRY(find_dtype(in.element_type, &dtype));
  bool nested = dtype == HR_TUPLE || dtype == HR_BUFFER;
  return nested ? read_elements(p, &in, dtype, out_shape) : read_array(p, &in, dtype, out_shape);
}

/* XLA writes a flag per dimension even if all are static. */
static void write_fields(hr_strbuf_t *out, const hlo_shape_t *shape) {
  static const bool none[HLO_MAX_RANK];
  proto_put_int(out, PROTO_shape_element_type, hr_dtype_table[shape->dtype].proto);
  proto_put_ints(out, PROTO_shape_dimensions, (hr_ints_t){shape->dims, shape->rank});
  for (int i = 0; i < shape->element_count; i++)
    proto_write_shape(out, PROTO_shape_tuple_shapes, shape->elements[i]);
  if (hlo_shape_is_array(shape)) write_layout(out, shape);
  proto_put_bools(out, PROTO_shape_is_dynamic_dimension, shape->rank,
                  shape->dynamic ? shape->dynamic : none);
}

void proto_write_shape(hr_strbuf_t *out, uint32_t number, const hlo_shape_t *shape) {
  size_t opened = proto_open(out, number);
  write_fields(out, shape);
  proto_close(out, opened);
}

hr_status_t hlo_proto_write_shape(const hlo_shape_t *shape, hr_strbuf_t *out) {
  write_fields(out, shape);
  return hr_strbuf_finish(out);
}
