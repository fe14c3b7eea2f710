/* Protocol buffers wire format: decoding into C structs by the tables of hlo_proto.def, and
 * encoding.
 * A message is decoded one level deep: numbers and strings are stored in members, nested messages
 * stay bytes. Unknown fields, and known ones with an unsuitable wire type, are skipped, so that
 * files of newer writers can be read. Every length is checked against the bytes left; nothing
 * recurses, and memory is proportional to the input.
 * Encoding appends to a string buffer. A nested message reserves one byte for its length; if more
 * are needed, the message is moved.
 * Source: protobuf.dev, "Encoding". */
#include "proto/proto_wire.h"

#include <string.h>

/* The table ------------------------------------------------------------------------------------ */

#define MESSAGE(id, text) static const proto_field_t id##_fields[] = {
#define FIELD(message, name, number, kind) \
  {number, PROTO_##kind, offsetof(proto_##message##_t, name)},
#define END(id) \
  }             \
  ;
#include "proto/hlo_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

#define MESSAGE(id, text)                        \
  const proto_message_t proto_##id##_message = { \
      text, sizeof(proto_##id##_t), sizeof id##_fields / sizeof *id##_fields, id##_fields};
#define FIELD(message, name, number, kind)
#define END(id)
#include "proto/hlo_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

/* Reading -------------------------------------------------------------------------------------- */

/* Wire types; 3 and 4 (groups) are refused. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* Seven bits per byte, least significant first. Bits above 64 in a tenth byte are dropped. */
bool proto_take_varint(const char **at, const char *end, uint64_t *out_value) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && *at < end; shift += 7) {
    uint8_t byte = (uint8_t) * *at;
    ++*at;
    if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) {
      *out_value = value;
      return true;
    }
  }
  return false;
}

/* Row of a field; NULL: unknown. Field numbers nearly always ascend, so the search starts at the
 * last row found (*hint), which makes it O(1). */
static const proto_field_t *find_field(const proto_message_t *type, uint32_t number, int *hint) {
  for (int i = 0; i < type->field_count; i++) {
    int k = *hint + i < type->field_count ? *hint + i : *hint + i - type->field_count;
    if (type->fields[k].number != number) continue;
    *hint = k;
    return &type->fields[k];
  }
  return NULL;
}

/* Appends to a list whose capacity is the smallest power of two not below its count; a count that
 * is a power of two means full. */
static hr_status_t append_item(hr_arena_t *arena, proto_list_t *list, hr_str_t item) {
  if ((list->count & (list->count - 1)) == 0) {
    hr_str_t *grown;
    HR_TRY(HR_NEW_ARRAY(arena, list->count ? 2 * list->count : 1, &grown));
    if (list->count) memcpy(grown, list->items, (size_t)list->count * sizeof *grown);
    list->items = grown;
  }
  ((hr_str_t *)list->items)[list->count++] = item;
  return NULL;
}

/* Stores a field: `value` of a number, `raw` bytes of a length-delimited field or list item. Skips
 * it if the wire type does not suit the kind. */
static hr_status_t store_field(hr_arena_t *arena, const proto_field_t *field, int wire,
                               hr_str_t raw, uint64_t value, void *into) {
  void *member = (char *)into + field->offset;
  union {
    uint64_t bits;
    double f64;
    float f32;
  } number = {.bits = value};
  switch ((proto_kind_t)field->kind) {
    case PROTO_INT:
      if (wire == WIRE_VARINT) *(int64_t *)member = (int64_t)value;
      return NULL;
    case PROTO_FLAG:
      if (wire == WIRE_VARINT) *(bool *)member = value != 0;
      return NULL;
    case PROTO_MAYBE:
      if (wire == WIRE_VARINT) *(proto_maybe_t *)member = (proto_maybe_t){true, (int64_t)value};
      return NULL;
    case PROTO_F32:
      if (wire == WIRE_FIXED32) *(double *)member = (double)number.f32;
      return NULL;
    case PROTO_F64:
      if (wire == WIRE_FIXED64) *(double *)member = number.f64;
      return NULL;
    case PROTO_BYTES:
      if (wire == WIRE_BYTES) *(hr_str_t *)member = raw;
      return NULL;
    case PROTO_LIST:
      return append_item(arena, member, raw);
  }
  return NULL;
}

/* Reads the value after a tag; false if the bytes end within it or the wire type is unknown. */
static bool read_field_value(const char **at, const char *end, int wire, hr_str_t *out_raw,
                             uint64_t *out_value) {
  uint64_t size = wire == WIRE_FIXED64 ? 8 : 4;
  *out_value = 0;
  const char *from = *at;
  if (wire == WIRE_VARINT) {
    if (!proto_take_varint(at, end, out_value)) return false;
    *out_raw = (hr_str_t){from, (size_t)(*at - from)};
    return true;
  }
  if (wire == WIRE_BYTES && !proto_take_varint(at, end, &size)) return false;
  if ((wire != WIRE_FIXED64 && wire != WIRE_BYTES && wire != WIRE_FIXED32) ||
      size > (size_t)(end - *at))
    return false;
  *out_raw = (hr_str_t){*at, size};
  if (wire != WIRE_BYTES) memcpy(out_value, *at, size);
  *at += size;
  return true;
}

/* Decodes one occurrence of a message. A field number of 0, a tag beyond 32 bits or an unknown
 * wire type means that the bytes are not such a message. */
static hr_status_t decode_piece(hr_arena_t *arena, const proto_message_t *type, hr_str_t bytes,
                                void *into) {
  const char *at = bytes.data;
  const char *end = at + bytes.size;
  int hint = 0;
  while (at < end) {
    uint64_t tag, value;
    hr_str_t raw;
    if (!proto_take_varint(&at, end, &tag) || tag >> 32 || tag < 8 ||
        !read_field_value(&at, end, (int)(tag & 7), &raw, &value))
      return hr_error(HR_INVALID, "the bytes of message %s are damaged or cut short", type->name);
    const proto_field_t *field = find_field(type, (uint32_t)(tag >> 3), &hint);
    if (field) HR_TRY(store_field(arena, field, (int)(tag & 7), raw, value, into));
  }
  return NULL;
}

/* Later pieces overwrite numbers and strings and append to lists, which is protobuf's rule for
 * repeated occurrences of a message. */
hr_status_t proto_decode(hr_arena_t *arena, const proto_message_t *type, proto_list_t pieces,
                         void *into) {
  for (int64_t i = 0; i < pieces.count; i++)
    HR_TRY(decode_piece(arena, type, pieces.items[i], into));
  return NULL;
}

/* Counts the bytes below 128: each varint has exactly one, its last byte. */
int64_t proto_varint_count(proto_list_t list) {
  int64_t count = 0;
  for (int64_t i = 0; i < list.count; i++) {
    hr_str_t item = list.items[i];
    for (size_t k = 0; k < item.size; k++) count += !(item.data[k] & 128);
    if (item.size && (item.data[item.size - 1] & 128)) return -1;
  }
  return count;
}

size_t proto_list_bytes(proto_list_t list) {
  size_t bytes = 0;
  for (int64_t i = 0; i < list.count; i++) bytes += list.items[i].size;
  return bytes;
}

/* Packed and single encodings may be mixed, as in protobuf. */
hr_status_t proto_ints(hr_arena_t *arena, proto_list_t list, hr_ints_t *out_ints) {
  int64_t count = proto_varint_count(list);
  int64_t *ints;
  int64_t k = 0;
  if (count < 0) return hr_error(HR_INVALID, "a list of numbers is damaged or cut short");
  HR_TRY(HR_NEW_ARRAY(arena, count, &ints));
  for (int64_t i = 0; i < list.count; i++) {
    const char *at = list.items[i].data;
    const char *end = at + list.items[i].size;
    while (at < end) {
      uint64_t value;
      if (!proto_take_varint(&at, end, &value))
        return hr_error(HR_INVALID, "a number is longer than 64 bits");
      ints[k++] = (int64_t)value;
    }
  }
  *out_ints = (hr_ints_t){ints, count};
  return NULL;
}

hr_status_t proto_bools(hr_arena_t *arena, proto_list_t list, int *out_count,
                        const bool **out_flags) {
  hr_ints_t ints;
  bool *flags;
  HR_TRY(proto_ints(arena, list, &ints));
  HR_TRY(HR_NEW_ARRAY(arena, ints.count, &flags));
  for (int64_t i = 0; i < ints.count; i++) flags[i] = ints.data[i] != 0;
  *out_count = (int)ints.count;
  *out_flags = flags;
  return NULL;
}

/* Writing -------------------------------------------------------------------------------------- */

/* At most 10 bytes. */
static int encode_varint(uint64_t value, char *bytes) {
  int size = 0;
  for (; value >= 128; value >>= 7) bytes[size++] = (char)(value | 128);
  bytes[size++] = (char)value;
  return size;
}

void proto_put_varint(hr_strbuf_t *out, uint64_t value) {
  char bytes[10];
  int size = encode_varint(value, bytes);
  hr_strbuf_add(out, bytes, (size_t)size);
}

/* Field number and wire type share one varint, the type in its low three bits. */
static void put_tag(hr_strbuf_t *out, uint32_t number, int wire) {
  proto_put_varint(out, number << 3 | (uint32_t)wire);
}

/* Negative values take ten bytes, as in int64; no XLA message uses zigzag coding (sint64). */
void proto_put_present_int(hr_strbuf_t *out, uint32_t number, int64_t value) {
  put_tag(out, number, WIRE_VARINT);
  proto_put_varint(out, (uint64_t)value);
}

void proto_put_int(hr_strbuf_t *out, uint32_t number, int64_t value) {
  if (value) proto_put_present_int(out, number, value);
}

/* Bytes in memory order: this machine is little-endian, like the wire. -0 counts as 0 and is
 * omitted. */
void proto_put_f32(hr_strbuf_t *out, uint32_t number, double value) {
  float narrow = (float)value;
  if (value == 0) return;
  put_tag(out, number, WIRE_FIXED32);
  hr_strbuf_add(out, (const char *)&narrow, sizeof narrow);
}

void proto_put_f64(hr_strbuf_t *out, uint32_t number, double value) {
  if (value == 0) return;
  put_tag(out, number, WIRE_FIXED64);
  hr_strbuf_add(out, (const char *)&value, sizeof value);
}

void proto_put_item(hr_strbuf_t *out, uint32_t number, hr_str_t bytes) {
  put_tag(out, number, WIRE_BYTES);
  proto_put_varint(out, bytes.size);
  if (bytes.size) hr_strbuf_add(out, bytes.data, bytes.size);
}

void proto_put_bytes(hr_strbuf_t *out, uint32_t number, hr_str_t bytes) {
  if (bytes.size) proto_put_item(out, number, bytes);
}

/* Packed, the form that proto3 writes. */
void proto_put_ints(hr_strbuf_t *out, uint32_t number, hr_ints_t ints) {
  if (!ints.count) return;
  size_t opened = proto_open(out, number);
  for (int64_t i = 0; i < ints.count; i++) proto_put_varint(out, (uint64_t)ints.data[i]);
  proto_close(out, opened);
}

void proto_put_bools(hr_strbuf_t *out, uint32_t number, int64_t count, const bool *flags) {
  if (!count) return;
  size_t opened = proto_open(out, number);
  for (int64_t i = 0; i < count; i++) hr_strbuf_add_char(out, (char)flags[i]);
  proto_close(out, opened);
}

/* Reserves one byte for the length; proto_close makes room for a longer one. */
size_t proto_open(hr_strbuf_t *out, uint32_t number) {
  put_tag(out, number, WIRE_BYTES);
  hr_strbuf_add_char(out, 0);
  return out->size;
}

/* `opened` is the offset after the reserved byte. */
void proto_close(hr_strbuf_t *out, size_t opened) {
  char length[10];
  if (out->failed) return;
  size_t size = out->size - opened;
  int bytes = encode_varint(size, length);
  hr_strbuf_add(out, length, (size_t)bytes - 1); /* grows the buffer by the longer length */
  if (out->failed) return;
  if (bytes > 1) memmove(out->data + opened + bytes - 1, out->data + opened, size);
  memcpy(out->data + opened - 1, length, (size_t)bytes);
}
