/* TensorProto to values. Elements are either raw bytes (tensor_content) or a list of the type's
 * field; a list that is too short repeats its last element, and an empty one means zeros. */
#include <string.h>

#include "tf/file/tf_graph.h"

/* Smallest constant that is borrowed. Numbers that decide on shapes are smaller. */
#define BORROWED_BYTES ((size_t)1 << 20)

/* List of integers of the field for the type; half types are bit patterns. */
static proto_list_t integer_field(const tf_tensor_proto_t *in, hr_dtype_t dtype) {
  switch (dtype) {
    case HR_S64:
      return in->int64_val;
    case HR_PRED:
      return in->bool_val;
    case HR_U32:
      return in->uint32_val;
    case HR_U64:
      return in->uint64_val;
    case HR_F16:
    case HR_BF16:
      return in->half_val;
    default:
      return in->int_val;
  }
}

/* Concatenated fixed-size numbers of a list, packed or single.
 * Floats are little-endian on the wire as in memory; complex numbers are pairs of real and
 * imaginary part. Numbers beyond the shape are dropped. */
static size_t copy_fixed(proto_list_t list, char *to, size_t limit) {
  size_t used = 0;
  for (int64_t i = 0; i < list.count; i++) {
    size_t size = list.items[i].size;
    if (size > limit - used) size = limit - used;
    if (size) memcpy(to + used, list.items[i].data, size);
    used += size;
  }
  return used;
}

/* Varints are cut to the bytes of the type; negative ones are sign-extended to 64 bits on the
 * wire. */
static hr_status_t copy_integers(hr_arena_t *arena, proto_list_t list, hlo_value_t *value,
                                 size_t *out_bytes) {
  hr_ints_t ints;
  size_t each = hr_dtype_bytes(value->dtype);
  HR_TRY(proto_ints(arena, list, &ints));
  int64_t count = ints.count < value->count ? ints.count : value->count;
  for (int64_t i = 0; i < count; i++)
    memcpy((char *)value->data + (size_t)i * each, &ints.data[i], each);
  *out_bytes = (size_t)count * each;
  return NULL;
}

/* float_val (5), double_val (6), scomplex_val (9) and dcomplex_val (12). */
static proto_list_t float_field(const tf_tensor_proto_t *in, hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F32:
      return in->float_val;
    case HR_F64:
      return in->double_val;
    case HR_C64:
      return in->scomplex_val;
    default:
      return in->dcomplex_val;
  }
}

/* Repeats the last element up to the end; zeros if there is none.
 * Writers of TensorProto leave out a constant tail, and write one number for a whole fill. */
static void repeat_last(hlo_value_t *value, size_t used) {
  size_t each = hr_dtype_bytes(value->dtype);
  size_t total = hlo_value_bytes(value);
  char *data = value->data;
  if (used < each) memset(data, 0, total);
  for (size_t at = used; used >= each && at + each <= total; at += each)
    memcpy(data + at, data + used - each, each);
}

/* Offset of bytes in the graph's buffer; SIZE_MAX: they are not in it, for a text graph. */
static size_t source_offset(const tf_graph_t *graph, hr_str_t bytes) {
  if (!graph->source) return SIZE_MAX;
  uintptr_t first = (uintptr_t)hr_buffer_data(graph->source), at = (uintptr_t)bytes.data;
  size_t size = hr_buffer_size(graph->source);
  return at >= first && at - first <= size && bytes.size <= size - (at - first) ? at - first
                                                                                : SIZE_MAX;
}

/* tensor_content (4) has the elements in row-major order and little-endian. */
static hr_status_t content_value(const tf_graph_t *graph, hr_str_t content, hr_dtype_t dtype,
                                 int rank, const int64_t *dims, hlo_value_t **out_value) {
  size_t offset = source_offset(graph, content);
  bool borrows = graph->borrows && offset != SIZE_MAX && content.size >= BORROWED_BYTES;
  HR_TRY(borrows ? hlo_value_over(dtype, rank, dims, graph->source, offset, out_value)
                 : hlo_value_array(dtype, rank, dims, out_value));
  size_t total = hlo_value_bytes(*out_value);
  if (content.size != total) {
    hlo_value_release(*out_value);
    return hr_error(HR_INVALID, "tensor_content has %zu bytes, want %zu", content.size, total);
  }
  if (borrows) return NULL;
  if (offset == SIZE_MAX)
    memcpy((*out_value)->data, content.data, total);
  else
    hr_buffer_copy_out(graph->source, offset, (*out_value)->data, total);
  return NULL;
}

/* Elements from the field of the tensor's type. A field with fewer numbers than elements repeats
 * the last one. */
static hr_status_t fill_value(hr_arena_t *arena, const tf_tensor_proto_t *in, hlo_value_t *value) {
  size_t total = hlo_value_bytes(value);
  size_t used = 0;
  hr_dtype_t dtype = value->dtype;
  bool fixed = dtype == HR_F32 || dtype == HR_F64 || hr_dtype_is_complex(dtype);
  if (fixed)
    used = copy_fixed(float_field(in, dtype), value->data, total);
  else
    HR_TRY(copy_integers(arena, integer_field(in, dtype), value, &used));
  repeat_last(value, used);
  return NULL;
}

/* A failure releases the value; the caller owns it otherwise. */
hr_status_t tf_read_tensor(const tf_graph_t *graph, hr_arena_t *arena, proto_list_t pieces,
                           hlo_value_t **out_value, proto_list_t *out_strings) {
  tf_tensor_proto_t in;
  hr_dtype_t dtype;
  int rank;
  int64_t dims[HLO_MAX_RANK];
  HR_TRY(TF_DECODE(arena, tensor, pieces, &in));
  HR_TRY(tf_dtype(in.dtype, &dtype));
  *out_value = NULL;
  *out_strings = in.string_val;
  if (in.dtype == TF_STRING) return NULL;
  if (dtype == HR_TUPLE) return hr_error(HR_UNSUPPORTED, "a constant of type %ld", (long)in.dtype);
  HR_TRY(tf_read_shape(arena, in.tensor_shape, &rank, dims));
  if (rank < 0) return hr_error(HR_INVALID, "a constant of unknown rank");
  hlo_value_t *value;
  if (in.tensor_content.size)
    return content_value(graph, in.tensor_content, dtype, rank, dims, out_value);
  HR_TRY(hlo_value_array(dtype, rank, dims, &value));
  hr_status_t st = fill_value(arena, &in, value);
  if (st)
    hlo_value_release(value);
  else
    *out_value = value;
  return st;
}
