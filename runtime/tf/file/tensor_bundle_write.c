/* Tensor bundles as TensorFlow writes them: one data file, and an index of one block of entries
 * with whole keys, an empty block of filters, and the index block with one entry. Tensors of the
 * old bundle are copied with their check sums; given tensors replace those of their names.
 *
 *   index:  entries   filters (none)   key -> entries   footer
 *
 * Both files take their places when they are on the disk (base/file.h), the data first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tf/file/crc32c.h"
#include "tf/file/tensor_bundle.h"
#include "tf/file/tf_graph.h"

/* One tensor of the new bundle. */
typedef struct written_entry {
  hr_str_t name;
  int64_t dtype;  /* DataType */
  hr_str_t shape; /* encoded TensorShapeProto */
  const char *bytes;
  uint64_t size, offset;
  uint32_t sum; /* masked */
} written_entry_t;

typedef struct bundle_writer {
  hr_arena_t *arena;
  int count;
  written_entry_t *entries;
} bundle_writer_t;

/* --- protos --- */

static void put_varint(hr_strbuf_t *out, uint64_t number) {
  while (number >= 0x80) {
    hr_strbuf_add_char(out, (char)(number | 0x80));
    number >>= 7;
  }
  hr_strbuf_add_char(out, (char)number);
}

static void put_bytes(hr_strbuf_t *out, const void *bytes, size_t size) {
  hr_strbuf_add(out, bytes, size);
}

/* A field of a proto: its number and its number or bytes. */
static void put_number(hr_strbuf_t *out, int field, uint64_t number) {
  put_varint(out, (uint64_t)field << 3);
  put_varint(out, number);
}

static void put_message(hr_strbuf_t *out, int field, const hr_strbuf_t *message) {
  put_varint(out, (uint64_t)field << 3 | 2);
  put_varint(out, message->size);
  put_bytes(out, message->data, message->size);
}

/* TensorShapeProto: dim (2) with size (1). */
static void put_shape(hr_strbuf_t *out, int rank, const int64_t *dims) {
  for (int d = 0; d < rank; d++) {
    hr_strbuf_t dim;
    hr_strbuf_init(&dim);
    put_number(&dim, 1, (uint64_t)dims[d]);
    put_message(out, 2, &dim);
    hr_strbuf_deinit(&dim);
  }
}

/* BundleEntryProto; shard 0 is left out as zeros are. */
static void put_entry(hr_strbuf_t *out, const written_entry_t *entry) {
  put_number(out, 1, (uint64_t)entry->dtype);
  put_varint(out, 2 << 3 | 2);
  put_varint(out, entry->shape.size);
  put_bytes(out, entry->shape.data, entry->shape.size);
  if (entry->offset) put_number(out, 4, entry->offset);
  if (entry->size) put_number(out, 5, entry->size);
  put_varint(out, 6 << 3 | 5);
  put_bytes(out, &entry->sum, sizeof entry->sum);
}

/* BundleHeaderProto: one file, version {producer: 1}. */
static void put_header(hr_strbuf_t *out) {
  hr_strbuf_t version;
  hr_strbuf_init(&version);
  put_number(&version, 1, 1);
  put_number(out, 1, 1);
  put_message(out, 3, &version);
  hr_strbuf_deinit(&version);
}

/* --- the table --- */

/* Ends a block: the restarts, which are all entries, then its type and check sum; *out_size leaves
 * these out. */
static void end_block(hr_strbuf_t *out, size_t start, int count, const uint32_t *restarts,
                      uint64_t *out_size) {
  uint32_t number = (uint32_t)count;
  put_bytes(out, restarts, (size_t)count * sizeof *restarts);
  put_bytes(out, &number, sizeof number);
  *out_size = out->size - start;
  hr_strbuf_add_char(out, 0);
  uint32_t sum = out->data ? crc32c_masked(crc32c(out->data + start, out->size - start)) : 0;
  put_bytes(out, &sum, sizeof sum);
}

/* An entry with its whole key. */
static void put_pair(hr_strbuf_t *out, hr_str_t key, const hr_strbuf_t *value) {
  put_varint(out, 0);
  put_varint(out, key.size);
  put_varint(out, value->size);
  put_bytes(out, key.data, key.size);
  put_bytes(out, value->data, value->size);
}

/* The block of all entries; the header has the empty key. */
static hr_status_t put_entries(const bundle_writer_t *w, hr_strbuf_t *out, uint64_t *out_size) {
  uint32_t *restarts;
  HR_TRY(HR_NEW_ARRAY(w->arena, w->count + 1, &restarts));
  for (int i = 0; i <= w->count; i++) {
    hr_strbuf_t value;
    hr_strbuf_init(&value);
    restarts[i] = (uint32_t)out->size;
    if (i) {
      put_entry(&value, &w->entries[i - 1]);
    } else {
      put_header(&value);
    }
    put_pair(out, i ? w->entries[i - 1].name : (hr_str_t){"", 0}, &value);
    hr_strbuf_deinit(&value);
  }
  end_block(out, 0, w->count + 1, restarts, out_size);
  return NULL;
}

/* The table of LevelDB's format: a block of entries, an empty block of filters, the index of one
 * entry, and the footer with the places of both. */
static hr_status_t put_table(const bundle_writer_t *w, hr_strbuf_t *out) {
  uint64_t entries, filters, index;
  uint32_t first = 0;
  hr_strbuf_t handle;
  HR_TRY(put_entries(w, out, &entries));
  size_t filters_at = out->size;
  end_block(out, filters_at, 1, &first, &filters);
  size_t index_at = out->size;
  hr_strbuf_init(&handle);
  put_varint(&handle, 0);
  put_varint(&handle, entries);
  put_pair(out, w->count ? w->entries[w->count - 1].name : (hr_str_t){"", 0}, &handle);
  hr_strbuf_deinit(&handle);
  end_block(out, index_at, 1, &first, &index);
  size_t footer = out->size;
  put_varint(out, filters_at);
  put_varint(out, filters);
  put_varint(out, index_at);
  put_varint(out, index);
  while (out->size < footer + TENSOR_BUNDLE_FOOTER_BYTES - sizeof(uint64_t))
    hr_strbuf_add_char(out, 0);
  uint64_t magic = TENSOR_BUNDLE_MAGIC;
  put_bytes(out, &magic, sizeof magic);
  return hr_strbuf_finish(out);
}

/* --- files --- */

static hr_status_t put_file(const char *prefix, const char *suffix,
                            hr_status_t (*fill)(hr_file_writer_t *file, const void *context),
                            const void *context) {
  char path[4096];
  hr_file_writer_t *file;
  if (snprintf(path, sizeof path, "%s.%s", prefix, suffix) >= (int)sizeof path)
    return hr_error(HR_USAGE, "the path %s is too long", prefix);
  HR_TRY(hr_file_create(path, &file));
  return hr_file_finish(file, fill(file, context));
}

static hr_status_t fill_data(hr_file_writer_t *file, const void *context) {
  const bundle_writer_t *w = context;
  for (int i = 0; i < w->count; i++)
    HR_TRY(hr_file_write(file, w->entries[i].bytes, w->entries[i].size));
  return NULL;
}

static hr_status_t fill_index(hr_file_writer_t *file, const void *context) {
  const hr_strbuf_t *table = context;
  return hr_file_write(file, table->data, table->size);
}

/* --- contents --- */

/* Names in the order of bytes, as a table has them. */
static int compare_names(const void *a, const void *b) {
  hr_str_t x = ((const written_entry_t *)a)->name, y = ((const written_entry_t *)b)->name;
  int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
  return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* A tensor of the old bundle, as it is stored there. */
static hr_status_t keep_tensor(tensor_bundle_t *from, hr_str_t name, const hr_str_t *bytes,
                               written_entry_t *out) {
  tf_bundle_entry_proto_t entry;
  hr_buffer_t *file;
  HR_TRY(TF_DECODE(from->arena, bundle_entry, proto_piece(bytes), &entry));
  if (entry.slices.count) return hr_error(HR_UNSUPPORTED, "the tensor is stored in slices");
  HR_TRY(tensor_bundle_file(from, entry.shard_id, &file));
  size_t total = hr_buffer_size(file);
  if (entry.offset < 0 || entry.size < 0 || (uint64_t)entry.offset > total ||
      (uint64_t)entry.size > total - (uint64_t)entry.offset || entry.crc32c.count != 1 ||
      entry.crc32c.items[0].size != sizeof out->sum)
    return hr_error(HR_INVALID, "the tensor is damaged");
  *out = (written_entry_t){.name = name,
                           .dtype = entry.dtype,
                           .bytes = (const char *)hr_buffer_data(file) + entry.offset,
                           .size = (uint64_t)entry.size};
  if (entry.shape.count == 1) out->shape = entry.shape.items[0];
  memcpy(&out->sum, entry.crc32c.items[0].data, sizeof out->sum);
  return NULL;
}

/* An entry for a tensor that is changed, with its check sum. */
static hr_status_t new_tensor(hr_arena_t *arena, const tensor_change_t *change,
                              written_entry_t *out) {
  const hlo_value_t *value = change->value;
  hr_strbuf_t shape;
  *out = (written_entry_t){.name = change->name,
                           .dtype = tf_dtype_number(value->dtype),
                           .bytes = value->data,
                           .size = hlo_value_bytes(value)};
  if (!out->dtype)
    return hr_error(HR_UNSUPPORTED, "TensorFlow has no type %s", hr_dtype_name(value->dtype));
  out->sum = crc32c_masked(crc32c(out->bytes, out->size));
  hr_strbuf_init(&shape);
  put_shape(&shape, value->rank, value->dims);
  hr_status_t st = hr_strbuf_finish(&shape);
  if (!st) st = hr_arena_str(arena, (hr_str_t){shape.data, shape.size}, &out->shape);
  hr_strbuf_deinit(&shape);
  return st;
}

static bool is_changed(int count, const tensor_change_t *changes, hr_str_t name) {
  for (int i = 0; i < count; i++)
    if (hr_str_equal(changes[i].name, name)) return true;
  return false;
}

/* Entries of the old bundle that no change replaces, then the changes. */
static hr_status_t collect(bundle_writer_t *w, tensor_bundle_t *from, int count,
                           const tensor_change_t *changes) {
  int old = from ? from->entry_count : 0;
  HR_TRY(HR_NEW_ARRAY(w->arena, old + count, &w->entries));
  for (size_t i = 0; from && i < from->entries.capacity; i++) {
    const hr_map_slot_t *slot = &from->entries.slots[i];
    if (!slot->key.size || !slot->value || is_changed(count, changes, slot->key)) continue;
    hr_status_t st = keep_tensor(from, slot->key, slot->value, &w->entries[w->count++]);
    if (st) return hr_status_note(st, "in tensor %.*s", HR_STR_ARGS(slot->key));
  }
  for (int i = 0; i < count; i++)
    HR_TRY(new_tensor(w->arena, &changes[i], &w->entries[w->count++]));
  qsort(w->entries, (size_t)w->count, sizeof *w->entries, compare_names);
  uint64_t offset = 0;
  for (int i = 0; i < w->count; i++) {
    w->entries[i].offset = offset;
    offset += w->entries[i].size;
  }
  return NULL;
}

hr_status_t tensor_bundle_write(const char *prefix, tensor_bundle_t *from, int count,
                                const tensor_change_t *changes) {
  hr_arena_t arena;
  hr_strbuf_t table;
  bundle_writer_t w = {.arena = &arena};
  hr_arena_init(&arena);
  hr_strbuf_init(&table);
  hr_status_t st = collect(&w, from, count, changes);
  if (!st) st = put_table(&w, &table);
  if (!st) st = put_file(prefix, "data-00000-of-00001", fill_data, &w);
  if (!st) st = put_file(prefix, "index", fill_index, &table);
  hr_strbuf_deinit(&table);
  hr_arena_deinit(&arena);
  return hr_status_note(st, "while writing the tensor bundle %s", prefix);
}
