/* TensorFlow's checkpoints (tensor bundles): PREFIX.index, a sorted table of names, and
 * PREFIX.data-00000-of-00001, ..., the bytes of the tensors.
 * Owner:  names and entries live in the bundle; values are the caller's.
 * Errors: UNAVAILABLE (a file cannot be read), INVALID with the file: damaged, check sums, bounds;
 *         UNSUPPORTED: compressed tables, big-endian bytes, sliced tensors.
 * Thread: one at a time; files of data are opened as they are needed.
 * Source: tensor_bundle.proto and the table format of LevelDB. */
#ifndef TF_TENSOR_BUNDLE_H
#define TF_TENSOR_BUNDLE_H

#include "base/map.h"
#include "ir/value.h"

/* The footer of the index holds the handle of the metaindex block, that of the index block, zeros
 * up to 40 bytes, and the magic number as 8 little-endian bytes. Source: table_format.md of
 * LevelDB. */
#define TENSOR_BUNDLE_FOOTER_BYTES 48
#define TENSOR_BUNDLE_MAGIC UINT64_C(0xdb4775248b80fb57)

typedef struct tensor_bundle {
  hr_arena_t *arena;
  const char *prefix; /* path without suffix, for messages and names of files */
  hr_buffer_t *index; /* the mapped index file, which values of `entries` point into */
  int shard_count;
  hr_buffer_t **shards; /* by number; NULL until one is needed */
  hr_map_t entries;     /* encoded BundleEntryProto (hr_str_t) by name */
  int entry_count;      /* entries of the index, header included */
} tensor_bundle_t;

hr_status_t tensor_bundle_open(hr_arena_t *arena, const char *prefix, tensor_bundle_t *out_bundle);
void tensor_bundle_close(tensor_bundle_t *bundle); /* accepts one that is all zero */
/* The value of a tensor of numbers; *out_value is NULL for strings, variants and resources.
 * Errors: also INVALID if there is no such tensor. */
hr_status_t tensor_bundle_read(tensor_bundle_t *bundle, hr_str_t name, hlo_value_t **out_value);

/* The bytes of a scalar string tensor, in the mapped file. Errors: INVALID. */
hr_status_t tensor_bundle_read_string(tensor_bundle_t *bundle, hr_str_t name, hr_str_t *out_string);
/* Whether it has a tensor of this name. */
bool tensor_bundle_has(const tensor_bundle_t *bundle, hr_str_t name);

/* File `number` of the tensors, mapped; the bundle owns it. Errors: UNAVAILABLE, INVALID. */
hr_status_t tensor_bundle_file(tensor_bundle_t *bundle, int64_t number, hr_buffer_t **out_bytes);

/* A new tensor, or a replacement for the tensor of this name. */
typedef struct tensor_change {
  hr_str_t name;
  const hlo_value_t *value;
} tensor_change_t;
/* Writes PREFIX.index and PREFIX.data-00000-of-00001: the tensors of `from` (NULL: none) with these
 * changes. Errors: UNAVAILABLE; UNSUPPORTED for types that TensorFlow lacks. */
hr_status_t tensor_bundle_write(const char *prefix, tensor_bundle_t *from, int count,
                                const tensor_change_t *changes);

#endif
