/* Helpers of the functions that transfer arrays. Thread: any. */
#ifndef PJRT_TRANSFER_H
#define PJRT_TRANSFER_H

#include "pjrt/buffer/pjrt_buffer.h"
#include "pjrt/buffer/pjrt_strides.h"

/* Checks type, rank and sizes of an array of the framework. Errors: USAGE. */
hr_status_t pjrt_check_dims(const int64_t *dims, size_t count, int type, hr_dtype_t *out_dtype);
/* Strides of a layout; NULL leaves the row-major ones. Errors: USAGE, UNSUPPORTED for tiles. */
hr_status_t pjrt_read_layout(pjrt_strided_t *array, const pjrt_layout_t *layout);
/* An array of this type and these sizes in the framework's layout, with its dimensions in memory
 * order; `dims` has room for HLO_MAX_RANK sizes, which the array refers to. Errors: USAGE;
 * UNSUPPORTED with `what` if it is not dense. */
hr_status_t pjrt_read_dense(int type, const int64_t *sizes, size_t rank,
                            const pjrt_layout_t *layout, const char *what, int64_t *dims,
                            pjrt_strided_t *out_array, const pjrt_order_t **out_order);
/* The order of a layout in the tiled form; NULL: row-major, also without a layout. Errors: USAGE
 * for strides, UNSUPPORTED for tiles. */
hr_status_t pjrt_order_of_layout(const pjrt_layout_t *layout, int rank,
                                 const pjrt_order_t **out_order);

/* A range of bytes of a buffer. */
typedef struct pjrt_range {
  int64_t offset, size_bytes;
} pjrt_range_t;

/* Checks a range. Errors: USAGE if it exceeds the buffer, or if `host`, the source or target, is
 * NULL. */
hr_status_t pjrt_check_range(pjrt_buffer_t *buffer, const pjrt_range_t *range, const void *host);
/* Copies the range to the host, now or later, and then fires the event. Owner: consumes a hold of
 * the buffer. */
hr_status_t pjrt_copy_raw(pjrt_buffer_t *from, const pjrt_range_t *range, void *dst,
                          pjrt_event_t *done);
/* Copies from the host into the buffer; `src` is not NULL and borrowed until the event is set. The
 * event has error USAGE if the bytes are shared. Owner: consumes a hold of the buffer. */
hr_status_t pjrt_write_raw(pjrt_buffer_t *to, const pjrt_range_t *range, const void *src,
                           pjrt_event_t *done);

#endif
