/* Reading: finds the end record from the back of the file, follows it to the directory (or through
 * the zip64 records), and indexes the members by name. All offsets come from the file and are
 * checked against its size. Writing: members are stored as they come, aligned by an extra field;
 * the directory follows, with zip64 records where 32 bits do not suffice. */
#include "io/zip.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "io/crc32.h"
#include "io/gzip.h"

#define END_SIGNATURE 0x06054b50u
#define END64_LOCATOR_SIGNATURE 0x07064b50u
#define END64_SIGNATURE 0x06064b50u
#define ENTRY_SIGNATURE 0x02014b50u
#define LOCAL_SIGNATURE 0x04034b50u
#define END_BYTES 22
#define END64_LOCATOR_BYTES 20
#define END64_BYTES 56
#define ENTRY_BYTES 46
#define LOCAL_BYTES 30
#define COMMENT_MAX 65535
#define EXTRA_ZIP64 0x0001
#define EXTRA_PADDING 0xd935 /* extra field id of Android's zipalign for alignment padding */
#define METHOD_STORED 0
#define METHOD_DEFLATED 8
#define FLAG_ENCRYPTED 1
#define FLAG_UTF8 0x0800
#define VERSION_PLAIN 20
#define VERSION_ZIP64 45
#define DATE_1980 0x0021 /* members carry no time, so that equal results make equal files */
#define FULL16 UINT16_MAX
#define FULL32 UINT32_MAX

static uint16_t get16(const unsigned char *at) { return (uint16_t)(at[0] | at[1] << 8); }
static uint32_t get32(const unsigned char *at) { return get16(at) | (uint32_t)get16(at + 2) << 16; }
static uint64_t get64(const unsigned char *at) { return get32(at) | (uint64_t)get32(at + 4) << 32; }

#define zip_error(zip, ...) \
  hr_status_note(hr_error(HR_INVALID, __VA_ARGS__), "while reading %s", (zip)->path)

/* --- reading --- */

static const unsigned char *file_bytes(const zip_t *zip) { return hr_buffer_data(zip->file); }

/* True if the file has `size` bytes at `offset`. */
static bool has_bytes(const zip_t *zip, uint64_t offset, uint64_t size) {
  uint64_t all = hr_buffer_size(zip->file);
  return offset <= all && size <= all - offset;
}

typedef struct directory {
  uint64_t count, size_bytes, offset;
} directory_t;

/* The end record stands before a comment of any length: search backwards. */
static bool find_end(const zip_t *zip, uint64_t *out_offset) {
  uint64_t size = hr_buffer_size(zip->file);
  if (size < END_BYTES) return false;
  uint64_t last = size - END_BYTES, first = last > COMMENT_MAX ? last - COMMENT_MAX : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (get32(file_bytes(zip) + at) != END_SIGNATURE) continue;
    *out_offset = at;
    return true;
  }
  return false;
}

/* The directory record is found from the end of the file; a zip64 locator before it leads to the
 * wide one. */
static hr_status_t read_end(const zip_t *zip, directory_t *out_directory) {
  uint64_t end;
  if (!find_end(zip, &end))
    return zip_error(zip, "%s is no zip archive, or is cut off: it has no directory", zip->path);
  const unsigned char *at = file_bytes(zip) + end;
  *out_directory = (directory_t){get16(at + 10), get32(at + 12), get32(at + 16)};
  if (end < END64_LOCATOR_BYTES || get32(at - END64_LOCATOR_BYTES) != END64_LOCATOR_SIGNATURE)
    return NULL;
  uint64_t end64 = get64(at - END64_LOCATOR_BYTES + 8);
  if (!has_bytes(zip, end64, END64_BYTES) || get32(file_bytes(zip) + end64) != END64_SIGNATURE)
    return zip_error(zip, "the zip64 directory record is missing");
  at = file_bytes(zip) + end64;
  *out_directory = (directory_t){get64(at + 32), get64(at + 40), get64(at + 48)};
  return NULL;
}

/* Reads the zip64 field at `at`: the sizes and the offset that do not fit into 32 bits, only those,
 * in this order. */
static hr_status_t read_zip64_field(const zip_t *zip, const unsigned char *at, size_t size,
                                    zip_member_t *member) {
  uint64_t *const wanted[] = {&member->size_bytes, &member->stored_bytes, &member->header_offset};
  const unsigned char *end = at + size;
  for (size_t i = 0; i < 3; i++) {
    if (*wanted[i] != FULL32) continue;
    if (end - at < 8)
      return zip_error(zip, "the zip64 field of %.*s is too short", HR_STR_ARGS(member->name));
    *wanted[i] = get64(at);
    at += 8;
  }
  return NULL;
}

/* Looks for the zip64 field among the extra fields of an entry, and reads it. */
static hr_status_t read_zip64(const zip_t *zip, const unsigned char *extra, size_t size,
                              zip_member_t *member) {
  while (size >= 4) {
    size_t field = get16(extra + 2);
    if (field > size - 4) break;
    if (get16(extra) == EXTRA_ZIP64) return read_zip64_field(zip, extra + 4, field, member);
    extra += 4 + field;
    size -= 4 + field;
  }
  return NULL;
}

/* One member; *offset moves to the next entry. Sizes that do not fit 32 bits follow in the zip64
 * field. */
static hr_status_t read_entry(const zip_t *zip, uint64_t *offset, zip_member_t *member) {
  if (!has_bytes(zip, *offset, ENTRY_BYTES) || get32(file_bytes(zip) + *offset) != ENTRY_SIGNATURE)
    return zip_error(zip, "the directory is damaged at byte %llu", (unsigned long long)*offset);
  const unsigned char *at = file_bytes(zip) + *offset;
  size_t name = get16(at + 28), extra = get16(at + 30), comment = get16(at + 32);
  if (!has_bytes(zip, *offset, ENTRY_BYTES + name + extra + comment))
    return zip_error(zip, "the directory is cut off at byte %llu", (unsigned long long)*offset);
  *member = (zip_member_t){.name = {(const char *)at + ENTRY_BYTES, name},
                           .method = get16(at + 10),
                           .crc = get32(at + 16),
                           .stored_bytes = get32(at + 20),
                           .size_bytes = get32(at + 24),
                           .header_offset = get32(at + 42)};
  if (get16(at + 8) & FLAG_ENCRYPTED)
    return zip_error(zip, "%.*s is encrypted", HR_STR_ARGS(member->name));
  *offset += ENTRY_BYTES + name + extra + comment;
  return read_zip64(zip, at + ENTRY_BYTES + name, extra, member);
}

/* Counts are checked against the file's size before anything is allocated for them. */
static hr_status_t read_directory(zip_t *zip) {
  directory_t directory = {0};
  HR_TRY(read_end(zip, &directory));
  if (!has_bytes(zip, directory.offset, directory.size_bytes) ||
      directory.count > directory.size_bytes / ENTRY_BYTES)
    return zip_error(zip, "the directory of %llu members does not fit into the file",
                     (unsigned long long)directory.count);
  HR_TRY(HR_NEW_ARRAY(&zip->arena, directory.count, &zip->members));
  uint64_t offset = directory.offset;
  for (uint64_t i = 0; i < directory.count; i++) {
    HR_TRY(read_entry(zip, &offset, &zip->members[i]));
    HR_TRY(hr_map_put(&zip->by_name, zip->members[i].name, &zip->members[i], NULL));
    zip->count++;
  }
  return NULL;
}

static hr_status_t init_zip(const char *name, zip_t *out_zip) {
  *out_zip = (zip_t){.path = name};
  hr_arena_init(&out_zip->arena);
  hr_map_init(&out_zip->by_name);
  return hr_arena_cstr(&out_zip->arena, hr_str_from(name), &out_zip->path);
}

hr_status_t zip_open(const char *path, zip_t *out_zip) {
  HR_TRY(init_zip(path, out_zip));
  HR_TRY(gzip_map_file(path, &out_zip->file));
  return read_directory(out_zip);
}

hr_status_t zip_open_bytes(const char *name, hr_buffer_t *bytes, zip_t *out_zip) {
  HR_TRY(init_zip(name, out_zip));
  out_zip->file = hr_buffer_retain(bytes);
  return read_directory(out_zip);
}

void zip_deinit(zip_t *zip) {
  hr_map_deinit(&zip->by_name);
  hr_arena_deinit(&zip->arena);
  hr_buffer_release(zip->file);
  *zip = (zip_t){0};
}

const zip_member_t *zip_find(const zip_t *zip, hr_str_t name) {
  return hr_map_get(&zip->by_name, name);
}

/* zlib counts in 32 bits: feed it in pieces. */
static bool inflate_all(const unsigned char *from, uint64_t from_bytes, unsigned char *to,
                        uint64_t to_bytes) {
  const uint64_t piece = UINT64_C(1) << 30;
  z_stream stream = {0};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  stream.next_in = (unsigned char *)from;
  stream.next_out = to;
  int result = Z_OK;
  while (result == Z_OK) {
    uInt in = (uInt)(from_bytes < piece ? from_bytes : piece),
         out = (uInt)(to_bytes < piece ? to_bytes : piece);
    stream.avail_in = in;
    stream.avail_out = out;
    result = inflate(&stream, Z_NO_FLUSH);
    from_bytes -= in - stream.avail_in;
    to_bytes -= out - stream.avail_out;
    if (in == stream.avail_in && out == stream.avail_out && result == Z_OK) result = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END && to_bytes == 0;
}

/* The size is what the directory says; more or fewer bytes, or a wrong check sum, are INVALID. */
static hr_status_t inflate_member(const zip_t *zip, const zip_member_t *member, uint64_t offset,
                                  hr_buffer_t **out_buffer) {
  size_t size;
  HR_TRY(hr_size_product(member->size_bytes, 1, &size));
  hr_buffer_t *buffer;
  HR_TRY(hr_buffer_create(size, &buffer));
  bool fine =
      inflate_all(file_bytes(zip) + offset, member->stored_bytes, hr_buffer_data(buffer), size) &&
      hr_crc32(0, hr_buffer_data(buffer), size) == member->crc;
  if (!fine) {
    hr_buffer_release(buffer);
    return zip_error(zip, "%.*s is damaged: its compressed bytes or its check sum are wrong",
                     HR_STR_ARGS(member->name));
  }
  *out_buffer = buffer;
  return NULL;
}

/* Stored members are used in place, in the mapped file; compressed ones are inflated into a new
 * buffer. The local header repeats the name, whose length may differ from the directory's. */
hr_status_t zip_bytes(const zip_t *zip, const zip_member_t *member, hr_buffer_t **out_buffer,
                      size_t *out_offset_bytes) {
  uint64_t offset = member->header_offset;
  if (!has_bytes(zip, offset, LOCAL_BYTES) || get32(file_bytes(zip) + offset) != LOCAL_SIGNATURE)
    return zip_error(zip, "%.*s is not where the directory says", HR_STR_ARGS(member->name));
  const unsigned char *at = file_bytes(zip) + offset;
  offset += LOCAL_BYTES + get16(at + 26) + get16(at + 28);
  if (!has_bytes(zip, offset, member->stored_bytes))
    return zip_error(zip, "%.*s is cut off", HR_STR_ARGS(member->name));
  if (member->method == METHOD_DEFLATED) {
    *out_offset_bytes = 0;
    return inflate_member(zip, member, offset, out_buffer);
  }
  if (member->method != METHOD_STORED)
    return zip_error(zip, "%.*s is compressed by method %d, want stored or deflated",
                     HR_STR_ARGS(member->name), member->method);
  if (member->stored_bytes != member->size_bytes)
    return zip_error(zip, "%.*s is stored, but its two sizes differ", HR_STR_ARGS(member->name));
  bool checked = !zip->shares || (size_t)(member - zip->members) % zip->shares == zip->share;
  if (checked && hr_crc32(0, file_bytes(zip) + offset, (size_t)member->stored_bytes) != member->crc)
    return zip_error(zip, "%.*s is damaged: its check sum is wrong", HR_STR_ARGS(member->name));
  *out_offset_bytes = offset;
  *out_buffer = hr_buffer_retain(zip->file);
  return NULL;
}

void zip_peek(const zip_t *zip, const zip_member_t *member, void *into, size_t size_bytes,
              size_t *out_got) {
  uint64_t offset = member->header_offset;
  z_stream stream = {0};
  *out_got = 0;
  if (member->method != METHOD_DEFLATED || !has_bytes(zip, offset, LOCAL_BYTES)) return;
  const unsigned char *at = file_bytes(zip) + offset;
  offset += LOCAL_BYTES + get16(at + 26) + get16(at + 28);
  if (!has_bytes(zip, offset, member->stored_bytes)) return;
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return;
  stream.next_in = (unsigned char *)file_bytes(zip) + offset;
  stream.avail_in = (uInt)(member->stored_bytes < UINT32_MAX ? member->stored_bytes : UINT32_MAX);
  stream.next_out = into;
  stream.avail_out = (uInt)size_bytes;
  inflate(&stream, Z_SYNC_FLUSH);
  *out_got = size_bytes - stream.avail_out;
  inflateEnd(&stream);
}

/* --- writing --- */

struct zip_writer {
  hr_file_writer_t *file;
  hr_arena_t arena; /* memory of the names */
  HR_VEC(zip_member_t) members;
};

/* A record under construction. */
typedef struct record {
  unsigned char bytes[256];
  size_t size;
} record_t;

static void put(record_t *record, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) record->bytes[record->size++] = (unsigned char)(value >> (8 * i));
}

static uint32_t clip32(uint64_t value) { return value < FULL32 ? (uint32_t)value : FULL32; }

/* Owns the file, also after a failure. */
hr_status_t zip_begin(hr_file_writer_t *file, zip_writer_t **out_writer) {
  void *memory;
  hr_status_t st = hr_alloc_zeroed(sizeof(zip_writer_t), &memory);
  if (st) return hr_file_finish(file, st);
  *out_writer = memory;
  (*out_writer)->file = file;
  hr_arena_init(&(*out_writer)->arena);
  return NULL;
}

hr_status_t zip_create(const char *path, zip_writer_t **out_writer) {
  hr_file_writer_t *file;
  HR_TRY(hr_file_create(path, &file));
  return zip_begin(file, out_writer);
}

/* Version, flags, method, time, date, check sum, sizes, name length: what both headers share. */
static void put_common(record_t *record, const zip_member_t *member, bool zip64,
                       uint64_t shown_size) {
  put(record, zip64 ? VERSION_ZIP64 : VERSION_PLAIN, 2);
  put(record, FLAG_UTF8, 2);
  put(record, METHOD_STORED, 2);
  put(record, 0, 2);
  put(record, DATE_1980, 2);
  put(record, member->crc, 4);
  put(record, shown_size, 4);
  put(record, shown_size, 4);
  put(record, member->name.size, 2);
}

/* Signature to extra fields, the last of which pads the member's bytes to alignment. */
static hr_status_t write_local(zip_writer_t *writer, const zip_member_t *member) {
  bool zip64 = member->size_bytes >= FULL32;
  size_t extra = zip64 ? 20 : 0;
  uint64_t start = member->header_offset + LOCAL_BYTES + member->name.size + extra + 4;
  size_t padding = (size_t)(-start & (HR_ALIGNMENT - 1));
  record_t head = {.size = 0}, tail = {.size = 0};
  put(&head, LOCAL_SIGNATURE, 4);
  put_common(&head, member, zip64, clip32(member->size_bytes));
  put(&head, extra + 4 + padding, 2);
  if (zip64) {
    put(&tail, EXTRA_ZIP64, 2);
    put(&tail, 16, 2);
    put(&tail, member->size_bytes, 8);
    put(&tail, member->size_bytes, 8);
  }
  put(&tail, EXTRA_PADDING, 2);
  put(&tail, padding, 2);
  for (size_t i = 0; i < padding; i++) put(&tail, 0, 1);
  HR_TRY(hr_file_write(writer->file, head.bytes, head.size));
  HR_TRY(hr_file_write(writer->file, member->name.data, member->name.size));
  return hr_file_write(writer->file, tail.bytes, tail.size);
}

/* A member in two parts, a header and its data, so that they need not be joined in memory. */
hr_status_t zip_add(zip_writer_t *writer, const char *name, const void *head, size_t head_bytes,
                    const void *body, size_t body_bytes) {
  zip_member_t member = {.header_offset = hr_file_offset(writer->file),
                         .size_bytes = head_bytes + body_bytes};
  HR_TRY(hr_arena_str(&writer->arena, hr_str_from(name), &member.name));
  member.crc = hr_crc32(hr_crc32(0, head, head_bytes), body_bytes ? body : head, body_bytes);
  HR_TRY(write_local(writer, &member));
  HR_TRY(hr_file_write(writer->file, head, head_bytes));
  HR_TRY(hr_file_write(writer->file, body, body_bytes));
  HR_VEC_PUSH(&writer->members, member);
  return NULL;
}

/* A zip64 field with those numbers that do not fit 32 bits. */
static hr_status_t write_entry(zip_writer_t *writer, const zip_member_t *member) {
  bool big_size = member->size_bytes >= FULL32, big_offset = member->header_offset >= FULL32;
  size_t field = 16 * (size_t)big_size + 8 * (size_t)big_offset;
  record_t head = {.size = 0}, tail = {.size = 0};
  put(&head, ENTRY_SIGNATURE, 4);
  put(&head, VERSION_ZIP64, 2);
  put_common(&head, member, field != 0, clip32(member->size_bytes));
  put(&head, field ? 4 + field : 0, 2);
  put(&head, 0, 2 + 2); /* comment, disk */
  put(&head, 0, 2 + 4); /* attributes */
  put(&head, clip32(member->header_offset), 4);
  if (field) {
    put(&tail, EXTRA_ZIP64, 2);
    put(&tail, field, 2);
    if (big_size) put(&tail, member->size_bytes, 8);
    if (big_size) put(&tail, member->size_bytes, 8);
    if (big_offset) put(&tail, member->header_offset, 8);
  }
  HR_TRY(hr_file_write(writer->file, head.bytes, head.size));
  HR_TRY(hr_file_write(writer->file, member->name.data, member->name.size));
  return hr_file_write(writer->file, tail.bytes, tail.size);
}

/* The wide directory record and its locator. */
static void put_end64(record_t *record, const directory_t *directory) {
  put(record, END64_SIGNATURE, 4);
  put(record, END64_BYTES - 12, 8);
  put(record, VERSION_ZIP64, 2);
  put(record, VERSION_ZIP64, 2);
  put(record, 0, 8); /* disks */
  put(record, directory->count, 8);
  put(record, directory->count, 8);
  put(record, directory->size_bytes, 8);
  put(record, directory->offset, 8);
  put(record, END64_LOCATOR_SIGNATURE, 4);
  put(record, 0, 4);
  put(record, directory->offset + directory->size_bytes, 8);
  put(record, 1, 4);
}

/* With the wide record only where a number needs it, as old readers do not know it. */
static hr_status_t write_directory(zip_writer_t *writer) {
  directory_t directory = {.count = writer->members.count, .offset = hr_file_offset(writer->file)};
  for (size_t i = 0; i < writer->members.count; i++)
    HR_TRY(write_entry(writer, &writer->members.data[i]));
  directory.size_bytes = hr_file_offset(writer->file) - directory.offset;
  bool zip64 =
      directory.count >= FULL16 || directory.size_bytes >= FULL32 || directory.offset >= FULL32;
  record_t end = {.size = 0};
  if (zip64) put_end64(&end, &directory);
  uint64_t count = directory.count < FULL16 ? directory.count : FULL16;
  put(&end, END_SIGNATURE, 4);
  put(&end, 0, 4);
  put(&end, count, 2);
  put(&end, count, 2);
  put(&end, clip32(directory.size_bytes), 4);
  put(&end, clip32(directory.offset), 4);
  put(&end, 0, 2);
  return hr_file_write(writer->file, end.bytes, end.size);
}

/* The file appears under its name only if all went well. */
hr_status_t zip_finish(zip_writer_t *writer, hr_status_t status) {
  if (!writer) return status;
  if (!status) status = write_directory(writer);
  status = hr_file_finish(writer->file, status);
  HR_VEC_FREE(&writer->members);
  hr_arena_deinit(&writer->arena);
  hr_free(writer);
  return status;
}
