/* Finds the module and the platforms in a serialized jax.export.Exported. A flatbuffer begins with
 * the offset of its root table; a table begins with the distance back to its vtable, whose entries
 * are 16-bit offsets of fields, 0 for those that are absent; vectors and strings are a 32-bit count
 * and the elements. All numbers are little-endian. The module is recognised by the magic of MLIR
 * bytecode, so that other flatbuffers are not taken for exports. Fields by number: 9 platforms, 13
 * the module; in_tree, avals and shardings are not needed to run. Source: FlatBuffers internals;
 * JAX's schema of Exported, versions 1 to 6. */
#include "read/export_file.h"

#include <string.h>

#include "mlir/bytecode/bytecode.h"

#define FIELD_PLATFORMS 9
#define FIELD_MODULE 13
#define PLATFORMS_MAX 64

/* False beyond the end: offsets come from the file. */
static bool read_u16(hr_str_t bytes, size_t at, size_t *out_value) {
  if (at > bytes.size || bytes.size - at < 2) return false;
  const unsigned char *from = (const unsigned char *)bytes.data + at;
  *out_value = (size_t)from[0] | (size_t)from[1] << 8;
  return true;
}

/* Two halves, so that one check of bounds suffices. */
static bool read_u32(hr_str_t bytes, size_t at, size_t *out_value) {
  size_t low, high;
  if (!read_u16(bytes, at, &low) || !read_u16(bytes, at + 2, &high)) return false;
  *out_value = low | high << 16;
  return true;
}

/* Where the value of a table's field lies; false: the table has no such field. */
static bool find_field(hr_str_t bytes, size_t table, int field, size_t *out_at) {
  size_t back, size, offset;
  if (!read_u32(bytes, table, &back)) return false;
  size_t vtable = table - (size_t)(int64_t)(int32_t)back;
  if (vtable >= bytes.size || !read_u16(bytes, vtable, &size)) return false;
  size_t entry = 4 + 2 * (size_t)field;
  if (entry + 2 > size || !read_u16(bytes, vtable + entry, &offset) || !offset) return false;
  *out_at = table + offset;
  return true;
}

/* The elements of a vector field, which are `element_bytes` wide. */
static bool find_vector(hr_str_t bytes, size_t table, int field, size_t element_bytes,
                        size_t *out_at, size_t *out_count) {
  size_t at, offset;
  if (!find_field(bytes, table, field, &at) || !read_u32(bytes, at, &offset)) return false;
  at += offset;
  if (!read_u32(bytes, at, out_count)) return false;
  *out_at = at + 4;
  return *out_count <= (bytes.size - *out_at) / element_bytes;
}

/* Strings are not copied. */
static bool read_string(hr_str_t bytes, size_t at, hr_str_t *out_string) {
  size_t offset, count;
  if (!read_u32(bytes, at, &offset) || !read_u32(bytes, at + offset, &count)) return false;
  size_t start = at + offset + 4;
  if (start > bytes.size || count > bytes.size - start) return false;
  *out_string = (hr_str_t){bytes.data + start, count};
  return true;
}

/* A list that cannot be read is no failure: there is one platform then. */
static void read_platforms(hr_str_t bytes, size_t table, export_file_t *file) {
  size_t at, count;
  if (!find_vector(bytes, table, FIELD_PLATFORMS, 4, &at, &count)) return;
  for (size_t i = 0; i < count && i < PLATFORMS_MAX; i++) {
    hr_str_t name;
    if (!read_string(bytes, at + 4 * i, &name)) return;
    if (!i) file->platform = name;
    if (file->has_cpu || name.size != 3 || memcmp(name.data, "cpu", 3) != 0) continue;
    file->has_cpu = true;
    file->platform_index = (int)i;
  }
}

/* Offsets that lead out of the file make it no such file. */
bool export_file_read(hr_str_t bytes, export_file_t *out_file) {
  size_t table, at, count;
  export_file_t file = {.platform_index = 0};
  if (!read_u32(bytes, 0, &table) || table < 4 || table >= bytes.size) return false;
  if (!find_vector(bytes, table, FIELD_MODULE, 1, &at, &count)) return false;
  file.bytecode = (hr_str_t){bytes.data + at, count};
  if (!mlir_is_bytecode(file.bytecode.data, count)) return false;
  read_platforms(bytes, table, &file);
  *out_file = file;
  return true;
}
