/* Merges the timelines of all ranks. Every rank prints its events as JSON relative to a common zero
 * and sends the text to rank 0, which concatenates them by rank. Clocks: after a barrier each rank
 * reads its clock; if a rank's reading is within SAME_CLOCK_NS of rank 0's, both are assumed to be
 * the same clock (one host), otherwise the difference is the offset, exact to the latency of the
 * barrier. */
#include "observe/trace_merge.h"

#include "base/mem.h"

#define SAME_CLOCK_NS \
  INT64_C(20000000) /* maximum difference of readings of one clock after a barrier */
#define LINE_END 2  /* bytes of ",\n", cut after the last event */

typedef struct clock_reading {
  int64_t first_ns, now_ns; /* oldest event; reading right after a barrier */
} clock_reading_t;

/* Nanoseconds to add to a rank's times to get rank 0's. */
static int64_t clock_offset(const clock_reading_t *readings, int rank) {
  int64_t apart = readings[0].now_ns - readings[rank].now_ns;
  return apart < SAME_CLOCK_NS && apart > -SAME_CLOCK_NS ? 0 : apart;
}

/* Start of the timeline by this rank's clock, in nanoseconds. */
static int64_t find_zero(const clock_reading_t *readings, int rank, int world_size) {
  int64_t first = INT64_MAX;
  for (int r = 0; r < world_size; r++)
    if (readings[r].first_ns + clock_offset(readings, r) < first)
      first = readings[r].first_ns + clock_offset(readings, r);
  return first - clock_offset(readings, rank);
}

static hr_status_t agree_on_zero(exec_comm_t *comm, int rank, int world_size,
                                 const hr_trace_t *trace, uint64_t *out_zero_ns) {
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)world_size * sizeof(clock_reading_t), &memory));
  clock_reading_t *readings = memory, mine = {.first_ns = (int64_t)hr_trace_first_ns(trace)};
  hr_status_t st = exec_comm_barrier(comm);
  mine.now_ns = (int64_t)hr_clock_ns();
  if (!st) st = exec_comm_all_gather(comm, &mine, sizeof mine, readings);
  if (!st) *out_zero_ns = (uint64_t)find_zero(readings, rank, world_size);
  hr_free(memory);
  return st;
}

static hr_status_t send_events(exec_comm_t *comm, hr_strbuf_t *text) {
  uint64_t size = text->size;
  HR_TRY(exec_comm_send(comm, 0, &size, sizeof size));
  hr_status_t st = exec_comm_send(comm, 0, text->data, size);
  hr_strbuf_cut(text, 0);
  return st;
}

static hr_status_t receive_events(exec_comm_t *comm, int rank, hr_strbuf_t *text) {
  uint64_t size;
  void *bytes;
  HR_TRY(exec_comm_recv(comm, rank, &size, sizeof size));
  HR_TRY(hr_alloc(size, &bytes));
  hr_status_t st = exec_comm_recv(comm, rank, bytes, size);
  if (!st) hr_strbuf_add(text, bytes, size);
  hr_free(bytes);
  return st;
}

#define HEAD "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"

static hr_status_t end_list(hr_strbuf_t *text) {
  if (text->size > sizeof HEAD - 1) hr_strbuf_cut(text, text->size - LINE_END);
  hr_strbuf_add_str(text, "\n]}\n");
  return hr_strbuf_finish(text);
}

hr_status_t exec_trace_print(int rank, const hr_trace_t *trace, hr_strbuf_t *text) {
  hr_strbuf_add_str(text, HEAD);
  hr_trace_print(text, trace, rank, hr_trace_first_ns(trace));
  return end_list(text);
}

/* If memory for a text runs out, the rank still sends the bytes it has, which its peers expect. */
hr_status_t exec_trace_merge(exec_comm_t *comm, int rank, int world_size, const hr_trace_t *trace,
                             hr_strbuf_t *text) {
  uint64_t zero_ns = 0;
  HR_TRY(agree_on_zero(comm, rank, world_size, trace, &zero_ns));
  if (!rank) hr_strbuf_add_str(text, HEAD);
  hr_trace_print(text, trace, rank, zero_ns);
  if (rank) {
    hr_status_t st = hr_strbuf_finish(text);
    return hr_status_join(send_events(comm, text), st);
  }
  for (int r = 1; r < world_size; r++) HR_TRY(receive_events(comm, r, text));
  return end_list(text);
}
