/* Zip archives as .npz files need them: stored and deflated members, reading and writing of zip64.
 * Reading maps the file, and stored members are used in place. The check sum of a member is
 * verified when it is read. Writing stores members without compression, aligned to HR_ALIGNMENT, so
 * that they can be used in place.
 * Errors: INVALID with the file and the defect; UNAVAILABLE if it cannot be read or written.
 * Source: PKWARE .ZIP application note, 4.3-4.5. */
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
  /* Several readers of one file may divide the verification of stored members' check sums: this one
   * verifies members with number % shares == share. 0 shares: all members. */
  size_t share, shares;
} zip_t;

/* Reads the directory. Deinit also after a failure. */
hr_status_t zip_open(const char *path, zip_t *out_zip);
/* Reads the directory of an archive in memory; the buffer is retained. `name` is for messages.
 * Deinit also after a failure. */
hr_status_t zip_open_bytes(const char *name, hr_buffer_t *bytes, zip_t *out_zip);
void zip_deinit(zip_t *zip);
const zip_member_t *zip_find(const zip_t *zip, hr_str_t name); /* NULL if absent */
/* The member's bytes as a buffer and an offset: the file's buffer for stored members, a new one for
 * deflated members. */
hr_status_t zip_bytes(const zip_t *zip, const zip_member_t *member, hr_buffer_t **out_buffer,
                      size_t *out_offset_bytes);

/* The first bytes of a deflated member, `size_bytes` at most, without the rest; *out_got is 0 for
 * other members and for damaged ones. */
void zip_peek(const zip_t *zip, const zip_member_t *member, void *into, size_t size_bytes,
              size_t *out_got);

typedef struct zip_writer zip_writer_t;
hr_status_t zip_create(const char *path, zip_writer_t **out_writer);
/* Writes an archive into an open file, which the writer then owns, also after a failure. */
hr_status_t zip_begin(hr_file_writer_t *file, zip_writer_t **out_writer);
/* Adds a member whose bytes are `head` and then `body`. The body starts aligned if the head's size
 * is a multiple of HR_ALIGNMENT. */
hr_status_t zip_add(zip_writer_t *writer, const char *name, const void *head, size_t head_bytes,
                    const void *body, size_t body_bytes);
/* As hr_file_finish. */
hr_status_t zip_finish(zip_writer_t *writer, hr_status_t status);

#endif
