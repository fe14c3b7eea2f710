/* The index file is a table of LevelDB: blocks of sorted entries whose keys share prefixes, an
 * index block of the blocks, and a footer of 48 bytes:
 *
 *   block: entry ... restart ... count   type (1 byte)   check sum (4)
 *   entry: shared, unshared, value size (varints)   key[shared..]   value
 *
 * All entries are read once into a map, as every one of them is wanted in the usual case.
 * Cost: linear in the index; a tensor's bytes are copied and their check sum is compared. Not
 * handled: compressed blocks, tensors stored in slices. */
#include "tf/file/tensor_bundle.h"

#include <stdio.h>
#include <string.h>

#include "tf/file/crc32c.h"
#include "tf/file/tf_graph.h"

#define TRAILER_BYTES 5 /* type and check sum after a block */
#define KEY_MAX 4096    /* bytes of a name */
#define SHARDS_MAX 100000

/* A block as open_block finds it. The restarts at its end are offsets of entries with shared =
 * 0; they serve binary search and are not needed by a reader of all entries. */
typedef struct block {
  hr_str_t entries; /* without the restarts */
} block_t;

/* The value of 4 little-endian bytes at any alignment, on a little-endian machine. Damaged files
 * reach this function only after the bounds were checked. */
static uint32_t little_u32(const char *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

/* The error of a file whose bytes contradict the format; the message names the index file. */
static hr_status_t damaged(const tensor_bundle_t *bundle, const char *what) {
  return hr_error(HR_INVALID, "%s.index: %s", bundle->prefix, what);
}

/* Offset and size, two varints. */
static bool take_handle(const char **at, const char *end, uint64_t *out_offset,
                        uint64_t *out_size) {
  return proto_take_varint(at, end, out_offset) && proto_take_varint(at, end, out_size);
}

/* The size of a handle leaves out the trailer of 5 bytes: the compression (0: none, 1: snappy)
 * and the masked sum of contents and compression byte. The last 4 bytes of the contents count
 * the restarts, each of 4 bytes. Bounds are compared by subtraction, so that sizes near 2^64
 * cannot overflow. */
static hr_status_t open_block(const tensor_bundle_t *bundle, uint64_t offset, uint64_t size,
                              block_t *out_block) {
  const char *data = hr_buffer_data(bundle->index);
  size_t total = hr_buffer_size(bundle->index);
  if (offset > total || size > total - offset || total - offset - size < TRAILER_BYTES || size < 4)
    return damaged(bundle, "a block lies outside the file");
  const char *at = data + offset;
  if (at[size] != 0)
    return hr_error(HR_UNSUPPORTED, "%s.index: a block of compression %d, want none",
                    bundle->prefix, at[size]);
  if (crc32c_masked(crc32c(at, size + 1)) != little_u32(at + size + 1))
    return damaged(bundle, "the check sum of a block is wrong");
  uint64_t restarts = little_u32(at + size - 4);
  if (restarts > (size - 4) / 4) return damaged(bundle, "a block has more restarts than bytes");
  out_block->entries = (hr_str_t){at, size - 4 - 4 * restarts};
  return NULL;
}

/* One entry in the course of a walk over a block. The key is built up in place: entry k+1 keeps
 * the first `shared` bytes of entry k's key. The value points into the mapped index file. */
typedef struct entry {
  char key[KEY_MAX];
  size_t key_size;
  hr_str_t value;
} entry_t;

/* The next entry of a block; its key continues that of the one before. The layout is shared,
 * unshared and value size as varints, then the unshared bytes of the key, then the value. Each
 * length is checked against the rest of the block before anything is copied. */
static hr_status_t take_entry(const tensor_bundle_t *bundle, const char **at, const char *end,
                              entry_t *entry) {
  uint64_t shared, rest, size;
  bool whole = proto_take_varint(at, end, &shared) && proto_take_varint(at, end, &rest) &&
               proto_take_varint(at, end, &size);
  if (!whole || shared > entry->key_size || rest > (uint64_t)(end - *at) ||
      size > (uint64_t)(end - *at) - rest)
    return damaged(bundle, "an entry is damaged or cut short");
  if (shared + rest > KEY_MAX) return damaged(bundle, "a name is too long");
  memcpy(entry->key + shared, *at, rest);
  entry->key_size = shared + rest;
  entry->value = (hr_str_t){*at + rest, size};
  *at += rest + size;
  return NULL;
}

/* The key is copied, as the walk overwrites its buffer; the value is not, as the file stays
 * mapped. */
static hr_status_t keep_entry(tensor_bundle_t *bundle, const entry_t *entry) {
  hr_str_t key, *value;
  void *old;
  HR_TRY(hr_arena_str(bundle->arena, (hr_str_t){entry->key, entry->key_size}, &key));
  HR_TRY(HR_NEW(bundle->arena, &value));
  *value = entry->value;
  bundle->entry_count++;
  return hr_map_put(&bundle->entries, key, value, &old);
}

/* `handle` is the value of an entry of the index block: offset and size of a data block. A walk
 * begins with an empty key, as the first entry of each block shares nothing. */
static hr_status_t read_data_block(tensor_bundle_t *bundle, hr_str_t handle) {
  const char *at = handle.data;
  uint64_t offset, size;
  block_t block;
  entry_t entry = {.key_size = 0};
  if (!take_handle(&at, handle.data + handle.size, &offset, &size))
    return damaged(bundle, "the index block is damaged");
  HR_TRY(open_block(bundle, offset, size, &block));
  const char *end = block.entries.data + block.entries.size;
  for (const char *from = block.entries.data; from < end;) {
    HR_TRY(take_entry(bundle, &from, end, &entry));
    HR_TRY(keep_entry(bundle, &entry));
  }
  return NULL;
}

/* The first handle of the footer is that of the metaindex block, which holds filters and is
 * skipped; the second one overwrites it and is that of the index block. Keys of the index block
 * separate the data blocks and are not used here. */
static hr_status_t read_table(tensor_bundle_t *bundle) {
  const char *data = hr_buffer_data(bundle->index);
  size_t total = hr_buffer_size(bundle->index);
  uint64_t offset, size, magic;
  block_t index;
  entry_t entry = {.key_size = 0};
  if (total < TENSOR_BUNDLE_FOOTER_BYTES)
    return damaged(bundle, "the file is too short for a table");
  memcpy(&magic, data + total - sizeof magic, sizeof magic);
  if (magic != TENSOR_BUNDLE_MAGIC) return damaged(bundle, "the file does not end as a table does");
  const char *at = data + total - TENSOR_BUNDLE_FOOTER_BYTES;
  const char *end = data + total - sizeof magic;
  if (!take_handle(&at, end, &offset, &size) || !take_handle(&at, end, &offset, &size))
    return damaged(bundle, "the footer is damaged");
  HR_TRY(open_block(bundle, offset, size, &index));
  const char *last = index.entries.data + index.entries.size;
  for (const char *from = index.entries.data; from < last;) {
    HR_TRY(take_entry(bundle, &from, last, &entry));
    HR_TRY(read_data_block(bundle, entry.value));
  }
  return NULL;
}

/* The entry without a name says how many files there are.
 * Keys are sorted, so that the empty key of BundleHeaderProto comes first in the file.
 * Endianness 0 is little-endian. The number of shards fixes the names of the data files. */
static hr_status_t read_header(tensor_bundle_t *bundle) {
  tf_bundle_header_proto_t header;
  const hr_str_t *bytes = hr_map_get(&bundle->entries, (hr_str_t){"", 0});
  if (!bytes) return damaged(bundle, "there is no header");
  HR_TRY(TF_DECODE(bundle->arena, bundle_header, proto_piece(bytes), &header));
  if (header.endianness)
    return hr_error(HR_UNSUPPORTED, "%s.index: tensors are big-endian", bundle->prefix);
  if (header.num_shards < 1 || header.num_shards > SHARDS_MAX)
    return damaged(bundle, "the number of files is wrong");
  bundle->shard_count = (int)header.num_shards;
  return HR_NEW_ARRAY(bundle->arena, bundle->shard_count, &bundle->shards);
}

/* The index is read whole and data files are opened later, one at a time, by
 * tensor_bundle_file. */
hr_status_t tensor_bundle_open(hr_arena_t *arena, const char *prefix, tensor_bundle_t *out_bundle) {
  const char *path;
  tensor_bundle_t bundle = {.arena = arena};
  HR_TRY(hr_arena_cstr(arena, hr_str_from(prefix), &bundle.prefix));
  HR_TRY(hr_arena_printf(arena, &path, "%s.index", prefix));
  HR_TRY(hr_buffer_map_file(path, &bundle.index));
  hr_map_init(&bundle.entries);
  hr_status_t st = read_table(&bundle);
  if (!st) st = read_header(&bundle);
  if (st)
    tensor_bundle_close(&bundle);
  else
    *out_bundle = bundle;
  return st;
}

/* `shards` is still NULL when the header was never reached. */
void tensor_bundle_close(tensor_bundle_t *bundle) {
  if (!bundle->index) return;
  for (int i = 0; bundle->shards && i < bundle->shard_count; i++)
    hr_buffer_release(bundle->shards[i]);
  hr_map_deinit(&bundle->entries);
  hr_buffer_release(bundle->index);
  *bundle = (tensor_bundle_t){0};
}

/* --- tensors --- */

/* Files are named PREFIX.data-00000-of-00001, with the number and the count in 5 digits each. A
 * file is mapped at most once and stays mapped until the bundle is closed. */
hr_status_t tensor_bundle_file(tensor_bundle_t *bundle, int64_t number, hr_buffer_t **out_bytes) {
  const char *path;
  if (number < 0 || number >= bundle->shard_count)
    return hr_error(HR_INVALID, "file %ld of %d", (long)number, bundle->shard_count);
  if (!bundle->shards[number]) {
    HR_TRY(hr_arena_printf(bundle->arena, &path, "%s.data-%05d-of-%05d", bundle->prefix,
                           (int)number, bundle->shard_count));
    HR_TRY(hr_buffer_map_file(path, &bundle->shards[number]));
  }
  *out_bytes = bundle->shards[number];
  return NULL;
}

/* The sum of BundleEntryProto.crc32c is a fixed32 in masked form, over the tensor's bytes only.
 * Bytes are copied as they are: row-major and little-endian, like those of a value. */
static hr_status_t copy_tensor(const tf_bundle_entry_proto_t *entry, const hr_buffer_t *bytes,
                               hlo_value_t *value) {
  uint64_t size = (uint64_t)entry->size, offset = (uint64_t)entry->offset;
  size_t total = hr_buffer_size(bytes);
  if (size != hlo_value_bytes(value))
    return hr_error(HR_INVALID, "%lu bytes are stored, want %zu", (unsigned long)size,
                    hlo_value_bytes(value));
  if (offset > total || size > total - offset)
    return hr_error(HR_INVALID, "bytes %lu to %lu of a file of %zu", (unsigned long)offset,
                    (unsigned long)(offset + size), total);
  if (size) memcpy(value->data, (const char *)hr_buffer_data(bytes) + offset, size);
  if (entry->crc32c.count != 1 || entry->crc32c.items[0].size != 4)
    return hr_error(HR_INVALID, "there is no check sum");
  if (crc32c_masked(crc32c(value->data, size)) != little_u32(entry->crc32c.items[0].data))
    return hr_error(HR_INVALID, "the check sum is wrong");
  return NULL;
}

/* The sizes are compared before the value is allocated, so that a damaged shape cannot ask for
 * more memory than the file has bytes. A value that failed its check is released here. */
static hr_status_t read_entry(tensor_bundle_t *bundle, const hr_str_t *bytes,
                              hlo_value_t **out_value) {
  tf_bundle_entry_proto_t entry;
  hr_dtype_t dtype;
  hr_buffer_t *file;
  hlo_value_t *value;
  int rank;
  int64_t dims[HLO_MAX_RANK];
  const hlo_shape_t *shape;
  *out_value = NULL;
  HR_TRY(TF_DECODE(bundle->arena, bundle_entry, proto_piece(bytes), &entry));
  HR_TRY(tf_dtype(entry.dtype, &dtype));
  if (dtype == HR_TUPLE) return NULL;
  if (entry.slices.count) return hr_error(HR_UNSUPPORTED, "the tensor is stored in slices");
  HR_TRY(tf_read_shape(bundle->arena, entry.shape, &rank, dims));
  if (rank < 0) return hr_error(HR_INVALID, "the rank is not known");
  HR_TRY(hlo_shape_array(bundle->arena, dtype, rank, dims, &shape));
  HR_TRY(tensor_bundle_file(bundle, entry.shard_id, &file));
  if ((uint64_t)entry.size > hr_buffer_size(file))
    return hr_error(HR_INVALID, "%lu bytes of a file of %zu", (unsigned long)entry.size,
                    hr_buffer_size(file));
  if ((uint64_t)hlo_shape_elements(shape) * hr_dtype_bytes(dtype) != (uint64_t)entry.size)
    return hr_error(HR_INVALID, "%ld bytes do not fit the shape", (long)entry.size);
  HR_TRY(hlo_value_array(dtype, rank, dims, &value));
  hr_status_t st = copy_tensor(&entry, file, value);
  if (st)
    hlo_value_release(value);
  else
    *out_value = value;
  return st;
}

hr_status_t tensor_bundle_read(tensor_bundle_t *bundle, hr_str_t name, hlo_value_t **out_value) {
  const hr_str_t *bytes = name.size ? hr_map_get(&bundle->entries, name) : NULL;
  if (!bytes)
    return hr_error(HR_INVALID, "%s has no tensor %.*s", bundle->prefix, HR_STR_ARGS(name));
  hr_status_t st = read_entry(bundle, bytes, out_value);
  return hr_status_note(st, "in tensor %.*s of %s", HR_STR_ARGS(name), bundle->prefix);
}

bool tensor_bundle_has(const tensor_bundle_t *bundle, hr_str_t name) {
  return name.size && hr_map_get(&bundle->entries, name);
}

/* A tensor of strings is stored as the varints of all lengths, a check sum of these in 4 bytes, and
 * the bytes of the strings. */
static hr_status_t read_string(tensor_bundle_t *bundle, const hr_str_t *bytes,
                               hr_str_t *out_string) {
  tf_bundle_entry_proto_t entry;
  hr_buffer_t *file;
  uint64_t length;
  HR_TRY(TF_DECODE(bundle->arena, bundle_entry, proto_piece(bytes), &entry));
  HR_TRY(tensor_bundle_file(bundle, entry.shard_id, &file));
  uint64_t size = (uint64_t)entry.size, offset = (uint64_t)entry.offset;
  size_t total = hr_buffer_size(file);
  if (offset > total || size > total - offset)
    return hr_error(HR_INVALID, "bytes %lu to %lu of a file of %zu", (unsigned long)offset,
                    (unsigned long)(offset + size), total);
  const char *at = (const char *)hr_buffer_data(file) + offset, *end = at + size;
  if (!proto_take_varint(&at, end, &length) || end - at < 4 || length != (uint64_t)(end - at - 4))
    return hr_error(HR_INVALID, "it is not one string");
  *out_string = (hr_str_t){at + 4, (size_t)length};
  return NULL;
}

hr_status_t tensor_bundle_read_string(tensor_bundle_t *bundle, hr_str_t name,
                                      hr_str_t *out_string) {
  const hr_str_t *bytes = name.size ? hr_map_get(&bundle->entries, name) : NULL;
  if (!bytes)
    return hr_error(HR_INVALID, "%s has no tensor %.*s", bundle->prefix, HR_STR_ARGS(name));
  hr_status_t st = read_string(bundle, bytes, out_string);
  return hr_status_note(st, "in tensor %.*s of %s", HR_STR_ARGS(name), bundle->prefix);
}
