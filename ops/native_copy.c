#include "ops/native_copy.h"

#include <string.h>

#include "ops/loops.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

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

static void fill_part(void *context, int64_t begin, int64_t end, int worker) {
  const copy_job_t *job = context;
  (void)worker;
  loop_fill(job->to + begin * job->element_bytes, job->from, job->element_bytes, end - begin);
}

void native_fill(hr_workers_t *workers, void *to, const void *element, int element_bytes, int64_t count) {
  copy_job_t job = {to, element, element_bytes, false};
  if (count > 0) hr_workers_split(workers, count, GRAIN / element_bytes, fill_part, &job);
}
