/* Bytes, numbers and sections of bytecode. Every size is checked against what is left before it is
 * used, and counts are bounded by the bytes left, since every item takes at least one: files may
 * be hostile. Copies that a file may ask for repeatedly are charged to a budget. */
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "base/decimal.h"

/* Messages name the offset of the byte in the file. */
hr_status_t bytecode_error_from(const char *file, int line, const bytecode_reader_t *reader,
                                const uint8_t *at, const char *format, ...) {
  char message[512];
  hr_pos_t pos = {&reader->module->source, 0, 0};
  va_list args;
  va_start(args, format);
  hr_vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return hr_error_from(file, line, HR_INVALID, &pos, "byte %zu of the bytecode: %s",
                       (size_t)(at - reader->start), message);
}

/* INVALID at the offset where bytes are missing. */
static hr_status_t too_short(bytecode_reader_t *reader, const bytecode_cursor_t *cursor) {
  return bytecode_error(reader, cursor, "the section or entry ends here, more is wanted");
}

hr_status_t bytecode_take_byte(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               uint8_t *out_byte) {
  if (cursor->at == cursor->end) return too_short(reader, cursor);
  *out_byte = *cursor->at++;
  return NULL;
}

/* The trailing zeros of the first byte count the bytes that follow: xxxxxxx1 is 7 bits, xxxxxx10
 * with one more byte 14 bits, and so on; eight zeros mean 8 plain bytes. Little-endian. */
hr_status_t bytecode_take_var(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              uint64_t *out_value) {
  if (cursor->at == cursor->end) return too_short(reader, cursor);
  uint8_t first = *cursor->at;
  if (first & 1) {
    *out_value = first >> 1;
    cursor->at++;
    return NULL;
  }
  uint64_t value = 0;
  size_t size = first ? (size_t)__builtin_ctz(first) + 1 : 9;
  if (bytecode_left(cursor) < size) return too_short(reader, cursor);
  if (first)
    memcpy(&value, cursor->at, size);
  else
    memcpy(&value, cursor->at + 1, 8);
  *out_value = first ? value >> size : value;
  cursor->at += size;
  return NULL;
}

/* Zigzag: even numbers are positive, odd ones negative. */
hr_status_t bytecode_take_svar(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               int64_t *out_value) {
  uint64_t zigzag;
  HR_TRY(bytecode_take_var(reader, cursor, &zigzag));
  *out_value = (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
  return NULL;
}

/* The bits of a double as a signed number. */
hr_status_t bytecode_take_f64(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              double *out_value) {
  int64_t bits;
  HR_TRY(bytecode_take_svar(reader, cursor, &bits));
  memcpy(out_value, &bits, sizeof bits);
  return NULL;
}

/* Bounded by the bytes left, so that no count requires more memory than the file's length. */
hr_status_t bytecode_take_count(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                int *out_count) {
  uint64_t count;
  HR_TRY(bytecode_take_var(reader, cursor, &count));
  if (count > bytecode_left(cursor) || count > INT_MAX / 2)
    return bytecode_error(reader, cursor, "a list of %lu in %zu bytes", (unsigned long)count,
                          bytecode_left(cursor));
  *out_count = (int)count;
  return NULL;
}

/* Not a copy: the range points into the file. The size is compared with the bytes left before any
 * addition, so that nothing overflows. */
hr_status_t bytecode_take_bytes(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t size,
                                bytecode_cursor_t *out_bytes) {
  if (size > bytecode_left(cursor)) return too_short(reader, cursor);
  *out_bytes = (bytecode_cursor_t){cursor->at, cursor->at + size};
  cursor->at += size;
  return NULL;
}

/* blob := var size, byte[size] */
hr_status_t bytecode_take_blob(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               bytecode_cursor_t *out_bytes) {
  uint64_t size;
  HR_TRY(bytecode_take_var(reader, cursor, &size));
  return bytecode_take_bytes(reader, cursor, size, out_bytes);
}

/* The alignment is that of the offset in the file; padding bytes have no fixed value here. */
hr_status_t bytecode_take_padding(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  uint64_t alignment) {
  if (!alignment || (alignment & (alignment - 1)) || alignment > 1u << 30)
    return bytecode_error(reader, cursor, "an alignment of %lu, want a power of two",
                          (unsigned long)alignment);
  uint64_t offset = (uint64_t)(cursor->at - reader->start);
  uint64_t padding = -offset & (alignment - 1);
  bytecode_cursor_t skipped;
  return bytecode_take_bytes(reader, cursor, padding, &skipped);
}

/* Bit 7 of the id says that an alignment and padding follow the length. */
hr_status_t bytecode_take_section(bytecode_reader_t *reader, bytecode_cursor_t *cursor, int *out_id,
                                  bytecode_cursor_t *out_section) {
  uint8_t id;
  uint64_t size, alignment;
  HR_TRY(bytecode_take_byte(reader, cursor, &id));
  *out_id = id & 0x7f;
  if (*out_id >= BYTECODE_SECTION_COUNT)
    return bytecode_error(reader, cursor, "a section %d, which does not exist", *out_id);
  HR_TRY(bytecode_take_var(reader, cursor, &size));
  if (id & 0x80) {
    HR_TRY(bytecode_take_var(reader, cursor, &alignment));
    HR_TRY(bytecode_take_padding(reader, cursor, alignment));
  }
  return bytecode_take_bytes(reader, cursor, size, out_section);
}

/* An index into the table of strings; the text points into the file. */
hr_status_t bytecode_take_string(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 hr_str_t *out_string) {
  uint64_t index;
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  if (index >= reader->string_count)
    return bytecode_error(reader, cursor, "string %lu of %zu", (unsigned long)index,
                          reader->string_count);
  *out_string = reader->strings[index];
  return NULL;
}

/* Count, then signed varints. */
hr_status_t bytecode_take_ints(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               hr_ints_t *out_ints) {
  int count;
  int64_t *values;
  HR_TRY(bytecode_take_count(reader, cursor, &count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, count, &values));
  for (int i = 0; i < count; i++) HR_TRY(bytecode_take_svar(reader, cursor, &values[i]));
  *out_ints = (hr_ints_t){values, count};
  return NULL;
}

/* Takes from the budget for copies; INVALID when it is used up. */
hr_status_t bytecode_charge(bytecode_reader_t *reader, uint64_t amount) {
  if (amount > reader->budget) {
    hr_pos_t pos = {&reader->module->source, 0, 0};
    return hr_error_at(HR_INVALID, &pos,
                       "the bytecode repeats more than a file of its size can hold");
  }
  reader->budget -= amount;
  return NULL;
}

/* Enters a nesting level; INVALID beyond BYTECODE_MAX_DEPTH, which bounds the stack. */
hr_status_t bytecode_enter(bytecode_reader_t *reader, const bytecode_cursor_t *cursor) {
  if (++reader->depth <= BYTECODE_MAX_DEPTH) return NULL;
  return bytecode_error(reader, cursor, "nested more than %d levels deep", BYTECODE_MAX_DEPTH);
}

void bytecode_leave(bytecode_reader_t *reader) { reader->depth--; }
