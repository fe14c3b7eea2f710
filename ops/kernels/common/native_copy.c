/* Copies above NATIVE_STREAM_BYTES use non-temporal stores: they save the read for ownership of
 * every destination line and evict nothing from the caches. Such stores are weakly ordered, so each
 * worker ends its part with a store fence before the pool's barrier publishes it. Fills have one
 * vector loop per element size. */
#include "ops/kernels/common/native_copy.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

NATIVE_OPTIMIZE

enum { GRAIN = 1 << 18 /* bytes */ };

void native_stream_end(void) {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void native_stream(void *to_run, const void *from_run, int64_t bytes) {
#if defined(__x86_64__)
  char *to = to_run;
  const char *from = from_run;
  int64_t head = (int64_t)(-(uintptr_t)to & 63);
  if (head > bytes) head = bytes;
  memcpy(to, from, (size_t)head);
  int64_t at = head;
  for (; at + 64 <= bytes; at += 64)
    for (int i = 0; i < 64; i += 16)
      _mm_stream_si128((__m128i *)(to + at + i), _mm_loadu_si128((const __m128i *)(from + at + i)));
  memcpy(to + at, from + at, (size_t)(bytes - at));
#else
  memcpy(to_run, from_run, (size_t)bytes);
#endif
}

typedef struct copy_job {
  char *to;
  const char *from;
  int element_bytes;
  bool streams;
} copy_job_t;

static void copy_part(void *context, int64_t begin, int64_t end, int worker) {
  const copy_job_t *job = context;
  (void)worker;
  if (job->streams) {
    native_stream(job->to + begin, job->from + begin, end - begin);
    native_stream_end();
  } else {
    memcpy(job->to + begin, job->from + begin, (size_t)(end - begin));
  }
}

void native_copy(hr_workers_t *workers, void *to, const void *from, int64_t bytes) {
  copy_job_t job = {to, from, 1, bytes >= NATIVE_STREAM_BYTES};
  if (to != from && bytes > 0) hr_workers_split(workers, bytes, GRAIN, copy_part, &job);
}

#define FILL(T)                                               \
  do {                                                        \
    T value = *(const T *)element;                            \
    for (int64_t i = 0; i < count; i++) ((T *)to)[i] = value; \
  } while (0)

NATIVE_CLONES
void native_fill_row(void *restrict to, const void *restrict element, int element_bytes,
                     int64_t count) {
  switch (element_bytes) {
    case 1:
      FILL(uint8_t);
      break;
    case 2:
      FILL(uint16_t);
      break;
    case 4:
      FILL(uint32_t);
      break;
    case 8:
      FILL(uint64_t);
      break;
    default:
      loop_fill(to, element, element_bytes, count);
  }
}

static void fill_part(void *context, int64_t begin, int64_t end, int worker) {
  const copy_job_t *job = context;
  (void)worker;
  native_fill_row(job->to + begin * job->element_bytes, job->from, job->element_bytes, end - begin);
}

void native_fill(hr_workers_t *workers, void *to, const void *element, int element_bytes,
                 int64_t count) {
  copy_job_t job = {to, element, element_bytes, false};
  if (count > 0) hr_workers_split(workers, count, GRAIN / element_bytes, fill_part, &job);
}

typedef struct strided_job {
  const loop_copy_t *copy;
  char *to;
  const char *from;
} strided_job_t;

/* Divides a single row among the workers by elements. */
static void copy_elements(void *context, int64_t begin, int64_t end, int worker) {
  const strided_job_t *job = context;
  int64_t to_stride = job->copy->nest.row_strides[0], from_stride = job->copy->nest.row_strides[1];
  (void)worker;
  loop_copy_row(job->to + begin * to_stride, job->from + begin * from_stride, end - begin,
                to_stride, from_stride, job->copy->element_bytes);
}

#define SHORT_FILL 64 /* bytes of rows that are written as whole vectors */

/* Adjacent rows of at most SHORT_FILL bytes that each repeat one element: a whole vector is stored,
 * whose end the next row overwrites. The last rows are left. Returns the number of rows done. */
#define FILL_SHORT_ROWS(T)                                                 \
  for (; row < whole; row++, to += row_bytes, from += from_step) {         \
    T value = *(const T *)from, values[SHORT_FILL / sizeof(T)];            \
    for (size_t i = 0; i < SHORT_FILL / sizeof(T); i++) values[i] = value; \
    memcpy(to, values, SHORT_FILL);                                        \
  }

typedef struct pair64 {
  uint64_t low, high;
} pair64_t;

NATIVE_CLONES
static int64_t fill_short_rows(char *to, const char *from, int64_t rows, int64_t row_bytes,
                               int64_t from_step, int element_bytes) {
  int64_t row = 0, whole = rows - hr_div_ceil(SHORT_FILL, row_bytes);
  switch (element_bytes) {
    case 1:
      FILL_SHORT_ROWS(uint8_t)
      break;
    case 2:
      FILL_SHORT_ROWS(uint16_t)
      break;
    case 4:
      FILL_SHORT_ROWS(uint32_t)
      break;
    case 8:
      FILL_SHORT_ROWS(uint64_t)
      break;
    case 16:
      FILL_SHORT_ROWS(pair64_t)
      break;
  }
  return row;
}

/* Rows that each repeat one element. */
static void fill_rows(void *context, int64_t begin, int64_t end, int worker) {
  const strided_job_t *job = context;
  const loop_nest_t *nest = &job->copy->nest;
  loop_walk_t walk = loop_walk_at(nest, begin);
  int64_t to_step = nest->rank ? nest->strides[0][nest->rank - 1] : 0;
  int64_t from_step = nest->rank ? nest->strides[1][nest->rank - 1] : 0;
  int element_bytes = job->copy->element_bytes;
  bool is_short =
      to_step == nest->row_count * element_bytes && to_step <= SHORT_FILL && element_bytes <= 16;
  (void)worker;
  while (begin < end) {
    int64_t rows = loop_walk_even(nest, &walk, end - begin), row = 0;
    char *to = job->to + walk.at[0];
    const char *from = job->from + walk.at[1];
    if (is_short) row = fill_short_rows(to, from, rows, to_step, from_step, element_bytes);
    for (; row < rows; row++)
      native_fill_row(to + row * to_step, from + row * from_step, element_bytes, nest->row_count);
    loop_walk_skip(nest, &walk, rows);
    begin += rows;
  }
}

static void copy_rows(void *context, int64_t begin, int64_t end, int worker) {
  const strided_job_t *job = context;
  (void)worker;
  loop_copy_part(job->copy, job->to, job->from, begin, end);
}

void native_copy_strided(hr_workers_t *workers, const loop_copy_t *copy, void *to,
                         const void *from) {
  const loop_nest_t *nest = &copy->nest;
  strided_job_t job = {copy, to, from};
  int64_t rows = loop_row_total(nest), bytes = copy->element_bytes;
  int64_t row_bytes = nest->row_count * (copy->cross_count ? copy->cross_count : 1) * bytes;
  bool fills = nest->row_strides[0] == bytes && nest->row_strides[1] == 0 && nest->row_count > 1;
  if (nest->empty) return;
  if (loop_copy_is_run(copy))
    native_copy(workers, to, from, row_bytes);
  else if (nest->rank == 0 && fills)
    native_fill(workers, to, from, (int)bytes, nest->row_count);
  else if (nest->rank == 0 && !copy->cross_count)
    hr_workers_split(workers, nest->row_count, GRAIN / bytes, copy_elements, &job);
  else
    hr_workers_split(workers, rows, GRAIN / row_bytes + 1, fills ? fill_rows : copy_rows, &job);
}
