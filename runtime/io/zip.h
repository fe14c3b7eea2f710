/* Zip archives, as far as .npz files need them: stored and deflated members, zip64 in both
 * directions. Reading maps the file: a stored member is bytes of the file itself. Check sums are
 * verified when a member is looked at.
 * Writing stores, with each member's bytes aligned to HR_ALIGNMENT, so that what is read back needs
 * no copy. Errors: INVALID with the file and what is wrong with it; UNAVAILABLE when it cannot be
 * read or written. Source: PKWARE .ZIP application note, 4.3-4.5. */
#ifndef HR_IO_ZIP_H
#define HR_IO_ZIP_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/map.h"

typedef struct zip_member {
  hr_str_t name; /* points into the file */
  uint16_t method;
  uint32_t crc;
  uint64_t stored_bytes, size_bytes, header_offset;
} zip_member_t;

typedef struct zip {
  const char *path;
  hr_buffer_t *file;
  hr_arena_t arena;
  hr_map_t by_name;
  size_t count;
  zip_member_t *members; /* in the directory's order */
  /* Several readers of one file may share the comparing of stored members' check sums: this one
   * looks at members with number % shares == share. 0 shares: at all. */
  size_t share, shares;
} zip_t;

/* Reads the directory. Deinit also after a failure. */
hr_status_t zip_open(const char *path, zip_t *out_zip);
/* The same of bytes that were read already; the buffer is retained. `name` is for messages. */
hr_status_t zip_open_bytes(const char *name, hr_buffer_t *bytes, zip_t *out_zip);
void zip_deinit(zip_t *zip);
const zip_member_t *zip_find(const zip_t *zip, hr_str_t name); /* NULL if absent */
/* The member's bytes, as a place in a buffer: the file's for stored ones, a new one for deflated
 * ones. */
hr_status_t zip_bytes(const zip_t *zip, const zip_member_t *member, hr_buffer_t **out_buffer,
                      size_t *out_offset_bytes);

/* The first bytes of a deflated member, `size_bytes` at most, without the rest; *out_got is 0 for
 * other members and for damaged ones. */
void zip_peek(const zip_t *zip, const zip_member_t *member, void *into, size_t size_bytes,
              size_t *out_got);

typedef struct zip_writer zip_writer_t;
hr_status_t zip_create(const char *path, zip_writer_t **out_writer);
/* Into a file that is being written; it belongs to the writer then, also after a failure. */
hr_status_t zip_begin(hr_file_writer_t *file, zip_writer_t **out_writer);
/* Adds a member whose bytes are `head` and then `body`. The body starts aligned if the head's size
 * is a multiple of HR_ALIGNMENT. */
hr_status_t zip_add(zip_writer_t *writer, const char *name, const void *head, size_t head_bytes,
                    const void *body, size_t body_bytes);
/* As hr_file_finish. */
hr_status_t zip_finish(zip_writer_t *writer, hr_status_t status);

#endif
