/* Outfeed into an .npz archive. Each array grows in an unlinked temporary file beside the
 * archive, as the length of the list, which the header needs, is known at the end only. Finishing
 * writes headers and contents into the archive. */
#include "feed/feed_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/npy.h"
#include "io/zip.h"

static bool ends_with(const char *text, const char *end) {
  size_t size = strlen(text), tail = strlen(end);
  return size >= tail && strcmp(text + size - tail, end) == 0;
}

hr_status_t feed_list_open(feed_list_t *list, const feed_endpoint_t *endpoint) {
  *list = (feed_list_t){0};
  if (endpoint->kind != FEED_FILE) return NULL;
  if (ends_with(endpoint->text, ".npy"))
    return hr_error(
        HR_USAGE,
        "%s: an outfeed goes into an .npz, or a file of another name in the format of feeds",
        endpoint->spec);
  if (ends_with(endpoint->text, ".npz")) list->path = endpoint->text;
  return NULL;
}

/* --- parts --- */

static hr_status_t open_part(const feed_list_t *list, const hlo_value_t *leaf,
                             feed_list_part_t *part) {
  char name[4096];
  int size = snprintf(name, sizeof name, "%s.XXXXXX", list->path);
  if (leaf->rank + 1 > HLO_MAX_RANK)
    return hr_error(HR_INVALID, "%s: an array of %d dimensions cannot be listed", list->path,
                    leaf->rank);
  part->fd = size < (int)sizeof name ? mkostemp(name, O_CLOEXEC) : -1;
  if (part->fd < 0) return hr_error(HR_UNAVAILABLE, "cannot make %s: %s", name, strerror(errno));
  unlink(name);
  part->dtype = leaf->dtype;
  part->rank = leaf->rank + 1;
  if (leaf->rank) memcpy(part->dims + 1, leaf->dims, (size_t)leaf->rank * sizeof *leaf->dims);
  return NULL;
}

static hr_status_t make_parts(feed_list_t *list, const hlo_value_t *value) {
  int count = hlo_value_leaf_count(value);
  void *memory;
  HR_TRY(hr_alloc_zeroed(((size_t)count + 1) * sizeof(feed_list_part_t), &memory));
  list->parts = memory;
  for (int k = 0; k < count; k++) {
    const hlo_value_t *leaf = hlo_value_leaf((hlo_value_t *)value, k);
    if (leaf->dtype == HR_TOKEN) continue;
    HR_TRY(open_part(list, leaf, &list->parts[list->count]));
    list->count++;
  }
  return NULL;
}

static bool fits(const feed_list_part_t *part, const hlo_value_t *leaf) {
  return leaf->dtype == part->dtype && leaf->rank + 1 == part->rank &&
         (!leaf->rank ||
          !memcmp(part->dims + 1, leaf->dims, (size_t)leaf->rank * sizeof *leaf->dims));
}

hr_status_t feed_list_add(feed_list_t *list, const hlo_value_t *value) {
  int k = 0;
  if (!list->parts) HR_TRY(make_parts(list, value));
  for (int i = 0; i < hlo_value_leaf_count(value); i++) {
    const hlo_value_t *leaf = hlo_value_leaf((hlo_value_t *)value, i);
    if (leaf->dtype == HR_TOKEN) continue;
    if (k == list->count || !fits(&list->parts[k], leaf))
      return hr_error(HR_INVALID, "%s: value %lld has a different shape than the first", list->path,
                      (long long)list->length);
    feed_io_t io = {.fd = list->parts[k++].fd, .stop_fd = -1, .name = list->path};
    HR_TRY(feed_write(&io, leaf->data, hlo_value_bytes(leaf)));
  }
  if (k < list->count)
    return hr_error(HR_INVALID, "%s: value %lld has %d arrays, and the first %d", list->path,
                    (long long)list->length, k, list->count);
  list->length++;
  return NULL;
}

/* --- the archive --- */

static hr_status_t add_part(const feed_list_t *list, int k, zip_writer_t *writer) {
  feed_list_part_t *part = &list->parts[k];
  char name[24];
  off_t bytes = lseek(part->fd, 0, SEEK_END);
  void *data = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, part->fd, 0) : NULL;
  if (data == MAP_FAILED)
    return hr_error(HR_UNAVAILABLE, "%s: cannot read again: %s", list->path, strerror(errno));
  part->dims[0] = list->length;
  snprintf(name, sizeof name, "out%d", k);
  hr_status_t st = npz_add(writer, name, part->dtype, part->rank, part->dims, data, (size_t)bytes);
  if (data) munmap(data, (size_t)bytes);
  return st;
}

hr_status_t feed_list_finish(feed_list_t *list) {
  zip_writer_t *writer;
  if (!list->path) return NULL;
  HR_TRY(zip_create(list->path, &writer));
  hr_status_t st = NULL;
  for (int k = 0; k < list->count && !st; k++) st = add_part(list, k, writer);
  return zip_finish(writer, st);
}

void feed_list_close(feed_list_t *list) {
  for (int k = 0; k < list->count; k++) close(list->parts[k].fd);
  hr_free(list->parts);
  *list = (feed_list_t){0};
}
