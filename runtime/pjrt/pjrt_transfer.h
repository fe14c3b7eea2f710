/* What functions that transfer arrays share. Thread: any. */
#ifndef PJRT_TRANSFER_H
#define PJRT_TRANSFER_H

#include "pjrt/pjrt_buffer.h"
#include "pjrt/pjrt_strides.h"

/* Checks what the framework says of an array: type, rank, sizes, and that its size fits.
 * Errors: USAGE. */
hr_status_t pjrt_check_dims(const int64_t *dims, size_t count, int type, hr_dtype_t *out_dtype);
/* Strides of a layout; NULL leaves the row-major ones. Errors: USAGE, UNSUPPORTED for tiles. */
hr_status_t pjrt_read_layout(pjrt_strided_t *array, const pjrt_layout_t *layout);
/* An array of this type and these sizes as the framework's layout has it, in the order of its
 * bytes; `dims` has room for HLO_MAX_RANK sizes, which the array refers to. Errors: USAGE;
 * UNSUPPORTED with `what`, if it is not dense. */
hr_status_t pjrt_read_dense(int type, const int64_t *sizes, size_t rank,
                            const pjrt_layout_t *layout, const char *what, int64_t *dims,
                            pjrt_strided_t *out_array, const pjrt_order_t **out_order);
/* The order that a layout with tiles names; NULL: row-major, also where none is given. Strides are
 * no order. Errors: USAGE, UNSUPPORTED for tiles. */
hr_status_t pjrt_order_of_layout(const pjrt_layout_t *layout, int rank,
                                 const pjrt_order_t **out_order);

/* Bytes of a buffer as they lie. */
typedef struct pjrt_range {
  int64_t offset, size_bytes;
} pjrt_range_t;

/* Errors: USAGE if they are not in the buffer, or `host`, where they go or come from, is NULL. */
hr_status_t pjrt_check_range(pjrt_buffer_t *buffer, const pjrt_range_t *range, const void *host);
/* Copies them to the host now or later, and fires the event then. Owner: consumes a hold of the
 * buffer. */
hr_status_t pjrt_copy_raw(pjrt_buffer_t *from, const pjrt_range_t *range, void *dst,
                          pjrt_event_t *done);
/* The same from the host into the buffer; `src` is not NULL, and the caller's until the event is
 * set. USAGE, by the event, if others share the bytes. Owner: consumes a hold of the buffer. */
hr_status_t pjrt_write_raw(pjrt_buffer_t *to, const pjrt_range_t *range, const void *src,
                           pjrt_event_t *done);

#endif
