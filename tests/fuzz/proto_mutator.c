/* Changes that keep messages messages: a field is chosen at random, at a random depth, and the
 * lengths around it follow. Without that nearly every change would be no more than a wrong length.
 * Cost: the message is copied once for each change. */
#include "proto_mutator.h"

#include <stdbool.h>
#include <string.h>

#include "proto/proto_wire.h"

typedef struct wire_field {
  const char *from, *content, *end; /* its tag, what follows tag and length, and where it ends */
  uint32_t tag;
} wire_field_t;

/* Reads tag and length of the next field; false at the end or on damage. */
static bool take_field(const char **at, const char *end, wire_field_t *out_field) {
  uint64_t tag, size = 0;
  out_field->from = *at;
  if (!proto_take_varint(at, end, &tag)) return false;
  out_field->tag = (uint32_t)tag;
  out_field->content = *at;
  switch (tag & 7) {
    case 0:
      if (!proto_take_varint(at, end, &size)) return false;
      size = 0;
      break;
    case 1:
      size = 8;
      break;
    case 5:
      size = 4;
      break;
    case 2:
      if (!proto_take_varint(at, end, &size)) return false;
      out_field->content = *at;
      break;
    default:
      return false;
  }
  if (size > (size_t)(end - *at)) return false;
  *at += size;
  out_field->end = *at;
  return true;
}

/* How many fields; 0 if the bytes are no message. */
static uint64_t count_fields(const char *at, const char *end) {
  uint64_t count = 0;
  wire_field_t field;
  for (; at < end; count++)
    if (!take_field(&at, end, &field)) return 0;
  return count;
}

static wire_field_t pick_field(const char *at, const char *end, uint64_t count) {
  wire_field_t field;
  for (uint64_t skip = fuzz_random_below(count) + 1; skip; skip--) take_field(&at, end, &field);
  return field;
}

static void put_number(hr_strbuf_t *out, uint64_t old) {
  static const uint64_t numbers[] = {0,   1,        2,         3,         7,          127,
                                     128, 1u << 20, INT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX};
  uint64_t choice = fuzz_random_below(3);
  uint64_t near = old + fuzz_random_below(5) - 2;
  proto_put_varint(out,
                   choice ? near : numbers[fuzz_random_below(sizeof numbers / sizeof *numbers)]);
}

static void put_changed_bytes(hr_strbuf_t *out, hr_str_t bytes) {
  size_t at = fuzz_random_below(bytes.size + 1), gone = fuzz_random_below(3);
  if (gone > bytes.size - at) gone = bytes.size - at;
  hr_strbuf_add(out, bytes.data, at);
  for (uint64_t more = fuzz_random_below(3); more; more--)
    hr_strbuf_add_char(out, (char)fuzz_random_below(256));
  hr_strbuf_add(out, bytes.data + at + gone, bytes.size - at - gone);
}

static void put_changed(hr_strbuf_t *out, const char *from, const char *end, int depth);

/* One field, changed: the number, the bytes, or something inside. */
static void put_changed_field(hr_strbuf_t *out, const wire_field_t *field, int depth) {
  hr_str_t content = {field->content, (size_t)(field->end - field->content)};
  uint64_t old = 0;
  const char *at = field->content;
  if ((field->tag & 7) == 0) {
    proto_take_varint(&at, field->end, &old);
    proto_put_varint(out, field->tag);
    put_number(out, old);
    return;
  }
  if ((field->tag & 7) != 2) {
    proto_put_varint(out, field->tag);
    for (size_t i = 0; i < content.size; i++) hr_strbuf_add_char(out, (char)fuzz_random_below(256));
    return;
  }
  size_t opened = proto_open(out, field->tag >> 3);
  bool inside = depth < 12 && count_fields(content.data, field->end) > 0 && fuzz_random_below(8);
  if (inside)
    put_changed(out, content.data, field->end, depth + 1);
  else
    put_changed_bytes(out, content);
  proto_close(out, opened);
}

/* A message in which one field is changed, lost, doubled, or replaced by a copy of a neighbour
 * under its own number. */
static void put_changed(hr_strbuf_t *out, const char *from, const char *end, int depth) {
  uint64_t count = count_fields(from, end);
  if (!count) {
    hr_strbuf_add(out, from, (size_t)(end - from));
    return;
  }
  wire_field_t field = pick_field(from, end, count), other = pick_field(from, end, count);
  hr_strbuf_add(out, from, (size_t)(field.from - from));
  switch (fuzz_random_below(10)) {
    case 0:
      break;
    case 1:
      hr_strbuf_add(out, field.from, (size_t)(field.end - field.from));
      hr_strbuf_add(out, other.from, (size_t)(other.end - other.from));
      break;
    case 2:
      hr_strbuf_add(out, other.from, (size_t)(other.end - other.from));
      break;
    case 3: /* another number */
      proto_put_varint(out, (field.tag & 7) | (uint32_t)(1 + fuzz_random_below(99)) << 3);
      if ((field.tag & 7) == 2) proto_put_varint(out, (uint64_t)(field.end - field.content));
      hr_strbuf_add(out, field.content, (size_t)(field.end - field.content));
      break;
    default:
      put_changed_field(out, &field, depth);
      break;
  }
  hr_strbuf_add(out, field.end, (size_t)(end - field.end));
}

/* Also broken in ways that no message is: cut short, or a bit turned. */
void proto_mutate(fuzz_bytes_t *bytes, const fuzz_bytes_t *other) {
  (void)other;
  hr_strbuf_t next;
  hr_strbuf_init(&next);
  put_changed(&next, bytes->data, bytes->data + bytes->size, 0);
  if (next.size <= FUZZ_BYTES_MAX) {
    if (next.size) memcpy(bytes->data, next.data, next.size);
    bytes->size = next.size;
  }
  hr_strbuf_deinit(&next);
  if (!fuzz_random_below(20) && bytes->size)
    bytes->data[fuzz_random_below(bytes->size)] ^= (char)(1 << fuzz_random_below(8));
  if (!fuzz_random_below(40)) bytes->size = fuzz_random_below(bytes->size + 1);
}
