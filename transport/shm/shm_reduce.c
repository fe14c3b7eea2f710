/* Byte operations of shared-memory transfers: copies, and reductions of arrays that lie in several
 * places. */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "transport/shm/shm_group.h"

#define BLOCK_BYTES \
  65536 /* bytes reduced at a time: the sum stays in the caches while the members are added */
#define COPIED_BYTES ((size_t)64 << 10) /* bytes of one copy */

#ifdef __SSE2__
/* Writes the destination with non-temporal stores, as nobody reads it soon. */
static void copy_around(char *to, const char *from, size_t size_bytes) {
  size_t head = -(uintptr_t)to & 63;
  if (head > size_bytes) head = size_bytes;
  memcpy(to, from, head);
  to += head;
  from += head;
  size_bytes -= head;
  for (; size_bytes >= 64; size_bytes -= 64, to += 64, from += 64) {
    __m128i a = _mm_loadu_si128((const __m128i *)from),
            b = _mm_loadu_si128((const __m128i *)(from + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(from + 32)),
            d = _mm_loadu_si128((const __m128i *)(from + 48));
    _mm_stream_si128((__m128i *)to, a);
    _mm_stream_si128((__m128i *)(to + 16), b);
    _mm_stream_si128((__m128i *)(to + 32), c);
    _mm_stream_si128((__m128i *)(to + 48), d);
  }
  _mm_sfence();
  memcpy(to, from, size_bytes);
}
#else
static void copy_around(char *to, const char *from, size_t size_bytes) {
  memcpy(to, from, size_bytes);
}
#endif

/* The C library uses its method for cached data, which is the fastest here, only for sizes that fit
 * into a cache. */
static void copy_through(char *to, const char *from, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes; done += COPIED_BYTES) {
    size_t left = size_bytes - done;
    memcpy(to + done, from + done, left < COPIED_BYTES ? left : COPIED_BYTES);
  }
}

void tp_shm_copy(void *to, const void *from, size_t size_bytes, bool around_caches) {
  if (!size_bytes || to == from) return;
  if (around_caches)
    copy_around(to, from, size_bytes);
  else
    copy_through(to, from, size_bytes);
}

static hr_status_t reduce_block(const hr_reducer_t *reducer, int size, const char *const *in,
                                size_t offset, int64_t count, char *out) {
  const void *at[size];
  for (int k = 0; k < size; k++) at[k] = in[k] + offset;
  if (reducer->combine && size > 1) return reducer->combine(reducer->context, out, at, size, count);
  if (out != at[0]) memcpy(out, at[0], (size_t)count * reducer->element_bytes);
  for (int k = 1; k < size; k++) HR_TRY(reducer->reduce(reducer->context, out, at[k], count));
  return NULL;
}

static hr_status_t reduce_wide_block(const hr_reducer_t *reducer, int size, const char *const *in,
                                     size_t offset, int64_t count, char *out, char *wide) {
  reducer->widen(reducer->context, in[0] + offset, wide, count);
  for (int k = 1; k < size; k++)
    HR_TRY(reducer->reduce(reducer->context, wide, in[k] + offset, count));
  reducer->narrow(reducer->context, wide, out, count);
  return NULL;
}

hr_status_t tp_shm_reduce(const hr_reducer_t *reducer, int size, const char *const *in,
                          int64_t count, char *out, char *wide) {
  int64_t most =
      (int64_t)(BLOCK_BYTES / (reducer->acc_bytes ? reducer->acc_bytes : reducer->element_bytes));
  if (most < 1) most = 1;
  for (int64_t start = 0; start < count; start += most) {
    int64_t block = count - start < most ? count - start : most;
    size_t offset = (size_t)start * reducer->element_bytes;
    if (reducer->acc_bytes)
      HR_TRY(reduce_wide_block(reducer, size, in, offset, block, out + offset, wide));
    else
      HR_TRY(reduce_block(reducer, size, in, offset, block, out + offset));
  }
  return NULL;
}

hr_status_t tp_shm_begin_reduction(tp_request_t *request, int64_t chunk_count,
                                   tp_shm_step_fn step) {
  const hr_reducer_t *reducer = &request->args.reducer;
  tp_shm_op_t *op = &request->shm_ops[0];
  if (reducer->acc_bytes) HR_TRY(tp_space_reserve(&request->memory.scratch, 1, TP_SHM_WIDE));
  request->state.segment = chunk_count;
  tp_shm_begin(request, op, request->group->shm,
               (size_t)request->args.count * reducer->element_bytes, step);
  op->rounds = (request->args.count + chunk_count - 1) / chunk_count;
  return NULL;
}
