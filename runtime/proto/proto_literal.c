/* Literals. LiteralProto has one field per element type, in the order of the literal's layout;
 * values in the IR are row-major, so that other layouts are permuted. 32- and 64-bit integers and
 * pred are varints, other types are bytes as in memory; types narrower than a byte take one byte
 * each.
 * The number of elements is checked against the shape before memory is allocated. Cost: one copy;
 * two if the layout is not the default. */
#include <string.h>

#include "proto/proto_parts.h"

/* Field that holds elements of a type: varints, or bytes as in memory. */
typedef struct element_field {
  uint16_t offset;
  uint32_t number;
  bool varints;
} element_field_t;

#define ELEMENTS(id, field, varints) \
  [HR_##id] = {offsetof(proto_literal_t, field), PROTO_literal_##field, varints}
static const element_field_t element_fields[HR_DTYPE_COUNT] = {
    ELEMENTS(PRED, preds, true),
    ELEMENTS(S1, s1s, false),
    ELEMENTS(S2, s2s, false),
    ELEMENTS(S4, s4s, false),
    ELEMENTS(S8, s8s, false),
    ELEMENTS(S16, s16s, false),
    ELEMENTS(S32, s32s, true),
    ELEMENTS(S64, s64s, true),
    ELEMENTS(U1, u1s, false),
    ELEMENTS(U2, u2s, false),
    ELEMENTS(U4, u4s, false),
    ELEMENTS(U8, u8s, false),
    ELEMENTS(U16, u16s, false),
    ELEMENTS(U32, u32s, true),
    ELEMENTS(U64, u64s, true),
    ELEMENTS(F4E2M1FN, f4e2m1fns, false),
    ELEMENTS(F6E2M3FN, f6e2m3fns, false),
    ELEMENTS(F6E3M2FN, f6e3m2fns, false),
    ELEMENTS(F8E3M4, f8e3m4s, false),
    ELEMENTS(F8E4M3, f8e4m3s, false),
    ELEMENTS(F8E4M3FN, f8e4m3fns, false),
    ELEMENTS(F8E4M3B11FNUZ, f8e4m3b11fnuzs, false),
    ELEMENTS(F8E4M3FNUZ, f8e4m3fnuzs, false),
    ELEMENTS(F8E5M2, f8e5m2s, false),
    ELEMENTS(F8E5M2FNUZ, f8e5m2fnuzs, false),
    ELEMENTS(F8E8M0FNU, f8e8m0fnus, false),
    ELEMENTS(F16, f16s, false),
    ELEMENTS(BF16, bf16s, false),
    ELEMENTS(F32, f32s, false),
    ELEMENTS(F64, f64s, false),
    ELEMENTS(C64, c64s, false),
    ELEMENTS(C128, c128s, false),
};

/* Moves elements between row-major order and the order of a layout. Elements are enumerated in the
 * layout's order, the minor-most dimension fastest; `row` is the row-major position, updated by
 * strides. O(count). */
static void permute_elements(const hlo_value_t *value, hr_ints_t order, const char *from, char *to,
                             bool to_rows) {
  int64_t strides[HLO_MAX_RANK], at[HLO_MAX_RANK] = {0}, row = 0;
  size_t element_bytes = hr_dtype_bytes(value->dtype);
  int rank = value->rank;
  for (int64_t d = rank - 1, stride = 1; d >= 0; stride *= value->dims[d--]) strides[d] = stride;
  for (int64_t i = 0; i < value->count; i++) {
    int64_t source = to_rows ? i : row;
    int64_t target = to_rows ? row : i;
    memcpy(to + (size_t)target * element_bytes, from + (size_t)source * element_bytes,
           element_bytes);
    for (int k = 0; k < rank; k++) {
      int64_t d = order.data[k];
      row += strides[d];
      if (++at[d] < value->dims[d]) break;
      row -= strides[d] * at[d];
      at[d] = 0;
    }
  }
}

/* True if the layout is not row-major, {rank-1, ..., 0}. */
static bool is_permuted(const hlo_shape_t *shape) {
  if (!shape || !shape->layout) return false;
  hr_ints_t order = shape->layout->minor_to_major;
  for (int64_t k = 0; k < order.count; k++)
    if (order.data[k] != order.count - 1 - k) return true;
  return false;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Sign-extends elements narrower than a byte, which are stored zero-extended. */
static void sign_extend_narrow(hr_dtype_t dtype, uint8_t *bytes, int64_t count) {
  int bits = hr_dtype_table[dtype].bits;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  if (bits >= 8 || dtype == HR_PRED) return;
  for (int64_t i = 0; i < count; i++) {
    uint8_t low = bytes[i] & (uint8_t)((1u << bits) - 1);
    bytes[i] = is_signed && low >> (bits - 1) ? (uint8_t)(low | ~((1u << bits) - 1)) : low;
  }
}

/* Decodes packed pieces of whole varints. The count has been checked. */
static hr_status_t decode_varints(proto_list_t list, hr_dtype_t dtype, char *to) {
  size_t element_bytes = hr_dtype_bytes(dtype);
  for (int64_t i = 0; i < list.count; i++) {
    const char *at = list.items[i].data;
    const char *end = at + list.items[i].size;
    while (at < end) {
      uint64_t value;
      if (!proto_take_varint(&at, end, &value))
        return PROTO_ERROR("an element of a literal is longer than 64 bits");
      if (dtype == HR_PRED) value = value != 0;
      memcpy(to, &value, element_bytes);
      to += element_bytes;
    }
  }
  return NULL;
}

/* Decodes varints, or bytes as in memory, from one or several pieces. */
static hr_status_t decode_elements(proto_list_t list, bool varints, const hlo_value_t *value) {
  char *to = value->data;
  if (varints) return decode_varints(list, value->dtype, to);
  for (int64_t i = 0; i < list.count; i++) {
    if (list.items[i].size) memcpy(to, list.items[i].data, list.items[i].size);
    to += list.items[i].size;
  }
  sign_extend_narrow(value->dtype, value->data, value->count);
  return NULL;
}

/* Checks the number of encoded elements before memory is allocated for them. */
static hr_status_t check_count(const proto_literal_t *in, const hlo_shape_t *shape) {
  const element_field_t *field = &element_fields[shape->dtype];
  proto_list_t list = *(const proto_list_t *)((const char *)in + field->offset);
  int64_t want;
  HR_TRY(hlo_dims_count(shape->rank, shape->dims, shape->dtype, &want));
  int64_t element_bytes = (int64_t)hr_dtype_bytes(shape->dtype);
  int64_t bytes = (int64_t)proto_list_bytes(list);
  int64_t whole = bytes % element_bytes ? -1 : bytes / element_bytes;
  int64_t found = field->varints ? proto_varint_count(list) : whole;
  if (found == want) return NULL;
  hr_status_t st = PROTO_ERROR("a literal of type %s has %ld elements, want %ld",
                               hr_dtype_name(shape->dtype), (long)found, (long)want);
  if (found) return st;
  return hr_status_note(st,
                        "constants were left out when the program was written; TensorFlow's "
                        "get_compiler_ir has them with stage=\"hlo_serialized\"");
}

/* Decodes an array in layout order, and permutes it into a second one if needed. */
static hr_status_t read_array(const proto_literal_t *in, const hlo_shape_t *shape,
                              hlo_value_t **out_value) {
  const element_field_t *field = &element_fields[shape->dtype];
  hlo_value_t *value, *ordered = NULL;
  HR_TRY(check_count(in, shape));
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, &value));
  proto_list_t list = *(const proto_list_t *)((const char *)in + field->offset);
  hr_status_t st = decode_elements(list, field->varints, value);
  if (!st && is_permuted(shape)) {
    st = hlo_value_array(shape->dtype, shape->rank, shape->dims, &ordered);
    if (!st)
      permute_elements(value, shape->layout->minor_to_major, value->data, ordered->data, true);
  }
  if (!st) *out_value = ordered ? ordered : hlo_value_retain(value);
  hlo_value_release(value);
  return st;
}

static hr_status_t read_any(proto_reader_t *p, const proto_literal_t *in, const hlo_shape_t *shape,
                            hlo_value_t **out_value);

/* After a failure, elements made before are released; the tuple has its own references. */
static hr_status_t read_tuple(proto_reader_t *p, const proto_literal_t *in,
                              const hlo_shape_t *shape, hlo_value_t **out_value) {
  hlo_value_t **elements;
  int count = 0;
  hr_status_t st = NULL;
  if (in->tuple_literals.count != shape->element_count)
    return PROTO_ERROR("a literal of %ld elements, want %d", (long)in->tuple_literals.count,
                       shape->element_count);
  HR_TRY(HR_NEW_ARRAY(&p->scratch, shape->element_count, &elements));
  for (; count < shape->element_count && !st; count += !st) {
    proto_literal_t element;
    st =
        PROTO_DECODE(&p->scratch, literal, proto_piece(&in->tuple_literals.items[count]), &element);
    if (!st) st = read_any(p, &element, shape->elements[count], &elements[count]);
  }
  if (!st) st = hlo_value_tuple(count, elements, out_value);
  for (int i = 0; i < count; i++) hlo_value_release(elements[i]);
  return st;
}

/* Reads a literal of the given shape. The shapes of a tuple's elements are ignored, as they repeat
 * parts of the outermost shape. */
static hr_status_t read_any(proto_reader_t *p, const proto_literal_t *in, const hlo_shape_t *shape,
                            hlo_value_t **out_value) {
  if (hlo_shape_is_tuple(shape)) return read_tuple(p, in, shape, out_value);
  if (hlo_shape_is_array(shape)) return read_array(in, shape, out_value);
  return PROTO_ERROR("a literal of type %s, which has no values", hr_dtype_name(shape->dtype));
}

/* The module owns the value. */
hr_status_t proto_read_literal(proto_reader_t *p, proto_list_t pieces,
                               const hlo_shape_t **out_shape, hlo_value_t **out_value) {
  proto_literal_t in;
  hlo_value_t *value;
  HR_TRY(PROTO_DECODE(&p->scratch, literal, pieces, &in));
  HR_TRY(proto_read_shape(p, in.shape, out_shape));
  HR_TRY(read_any(p, &in, *out_shape, &value));
  HR_TRY(hlo_module_adopt_value(p->module, value));
  *out_value = value;
  return NULL;
}

/* Writing -------------------------------------------------------------------------------------- */

/* Literals are static: sizes are the value's, layouts the shape's. */
static void write_value_shape(hr_strbuf_t *out, uint32_t number, const hlo_value_t *value,
                              const hlo_shape_t *shape) {
  if (value->dtype != HR_TUPLE) {
    const hlo_shape_t array_shape = {.dtype = value->dtype,
                                     .rank = value->rank,
                                     .dims = value->dims,
                                     .layout = shape ? shape->layout : NULL};
    proto_write_shape(out, number, &array_shape);
    return;
  }
  size_t opened = proto_open(out, number);
  proto_put_int(out, PROTO_shape_element_type, hr_dtype_table[HR_TUPLE].proto);
  for (int i = 0; i < value->element_count; i++)
    write_value_shape(out, PROTO_shape_tuple_shapes, value->elements[i],
                      shape ? shape->elements[i] : NULL);
  proto_close(out, opened);
}

/* 32-bit signed numbers are sign-extended to 64 bits, as protobuf encodes int32; narrow types have
 * their high bits cleared. */
static void put_elements(hr_strbuf_t *out, const hlo_value_t *value, const char *data) {
  const element_field_t *field = &element_fields[value->dtype];
  size_t element_bytes = hr_dtype_bytes(value->dtype);
  int bits = hr_dtype_table[value->dtype].bits;
  bool is_signed = hr_dtype_class(value->dtype) == HR_CLASS_SIGNED;
  size_t opened = proto_open(out, field->number);
  if (field->varints) {
    for (int64_t i = 0; i < value->count; i++) {
      uint64_t number = 0;
      memcpy(&number, data + (size_t)i * element_bytes, element_bytes);
      if (is_signed && element_bytes == 4) number = (uint64_t)(int64_t)(int32_t)number;
      proto_put_varint(out, number);
    }
  } else if (bits < 8) {
    for (int64_t i = 0; i < value->count; i++)
      hr_strbuf_add_char(out, (char)(data[i] & ((1 << bits) - 1)));
  } else {
    hr_strbuf_add(out, data, (size_t)value->count * element_bytes);
  }
  proto_close(out, opened);
}

/* Writes elements in the order of the shape's layout. A failed allocation is recorded in `out`,
 * which is checked at the end. */
static void write_elements(hr_strbuf_t *out, const hlo_value_t *value, const hlo_shape_t *shape) {
  void *ordered = NULL;
  if (!value->count) return;
  if (is_permuted(shape)) {
    hr_status_t st = hr_alloc(hlo_value_bytes(value), &ordered);
    out->failed |= st != NULL;
    hr_status_release(st);
    if (!ordered) return;
    permute_elements(value, shape->layout->minor_to_major, value->data, ordered, false);
  }
  put_elements(out, value, ordered ? ordered : value->data);
  hr_free(ordered);
}

void proto_write_literal(hr_strbuf_t *out, uint32_t number, const hlo_value_t *value,
                         const hlo_shape_t *shape) {
  size_t opened = proto_open(out, number);
  write_value_shape(out, PROTO_literal_shape, value, shape);
  for (int i = 0; i < value->element_count; i++)
    proto_write_literal(out, PROTO_literal_tuple_literals, value->elements[i],
                        shape ? shape->elements[i] : NULL);
  if (value->dtype != HR_TUPLE && value->dtype != HR_TOKEN) write_elements(out, value, shape);
  proto_close(out, opened);
}
