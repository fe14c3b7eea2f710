/* Recording of times, their JSON, and the table made of them. */
#include "base/trace.h"

#include <stdio.h>
#include <string.h>

#include "observe/explain.h"
#include "tests/lib/unit.h"

static hr_trace_t *make_trace(size_t events, int count, hr_trace_span_t **out_subjects) {
  hr_trace_t *trace = NULL;
  CHECK_OK(hr_trace_create(events, &trace));
  CHECK_OK(hr_trace_spans_new(trace, count, out_subjects));
  return trace;
}

static int count_of(const hr_strbuf_t *text, const char *what) {
  int count = 0;
  for (const char *at = text->data; at && (at = strstr(at, what)); at++) count++;
  return count;
}

/* The ring keeps the last calls, the sums all of them. */
static void test_ring(void) {
  hr_trace_span_t *subject;
  hr_trace_t *trace = make_trace(4, 1, &subject);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  subject->name = "step";
  CHECK_OK(hr_trace_stage_add(trace, "read", 1000, 500));
  for (uint64_t i = 0; i < 10; i++) hr_trace_note(trace, subject, 2000 + 1000 * i, 250);
  CU_ASSERT_EQUAL(subject->calls, 10);
  CU_ASSERT_EQUAL(subject->total_ns, 2500);
  CU_ASSERT_EQUAL(hr_trace_dropped(trace), 6);
  CU_ASSERT_EQUAL(hr_trace_first_ns(trace), 1000);
  hr_trace_print(&text, trace, 3, 1000);
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_EQUAL(count_of(&text, "\"name\":\"step\""), 4);
  CU_ASSERT_EQUAL(count_of(&text, "\"name\":\"read\""), 1);
  CU_ASSERT_EQUAL(count_of(&text, "\"ts\":10.000,\"dur\":0.250"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "6 earlier calls dropped"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "\"pid\":3"), 10); /* 5 calls, 3 of the process, 2 for a row */
  hr_strbuf_deinit(&text);
  hr_trace_destroy(trace);
}

/* Names come from programs: quotes and control characters do not end a string. */
static void test_quoting(void) {
  hr_trace_span_t *subject;
  hr_trace_t *trace = make_trace(1, 1, &subject);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  subject->name = "a\"b\\c\n";
  subject->flops = 2000;
  hr_trace_note(trace, subject, 0, 1000);
  hr_trace_print(&text, trace, 0, 0);
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_EQUAL(count_of(&text, "{\"name\":\"a\\\"b\\\\c\\u000a\","), 1);
  CU_ASSERT_EQUAL(count_of(&text, "\"GFLOP/s\":2}"), 1);
  hr_strbuf_deinit(&text);
  hr_trace_destroy(trace);
}

static void fill(hr_trace_span_t *subject, const char *name, uint64_t same, double bytes) {
  subject->name = name;
  subject->op = "op";
  subject->kernel = "kernel";
  subject->kind = HR_TRACE_GENERATED;
  subject->same = same;
  subject->bytes = bytes;
}

/* Equal kernels are one line; the cheapest ones are added up. */
static void test_table(void) {
  enum { COUNT = 40 };
  static char names[COUNT][8];
  machine_peak_t peak = {.bytes_per_s = 100e9, .flops = 1e12};
  hr_trace_span_t *subjects;
  hr_trace_t *trace = make_trace(64, COUNT, &subjects);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int i = 0; i < COUNT; i++) {
    snprintf(names[i], sizeof names[i], "n%d", i);
    fill(&subjects[i], names[i], i < 2 ? 0 : (uint64_t)i, 50e3);
    hr_trace_note(trace, &subjects[i], 0, i < 2 ? 1000000 : (uint64_t)(1000 - i));
  }
  CHECK_OK(exec_explain_print(&text, trace, &peak));
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_EQUAL(count_of(&text, "  kernel (op): n0 n1\n"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "2      2.000    1000.00     1.0      0.1    0%"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "  kernel (op): n"), 30);
  CU_ASSERT_EQUAL(count_of(&text, "others: 9 kernels"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "limit"), 0);
  hr_strbuf_deinit(&text);
  hr_strbuf_init(&text);
  CHECK_OK(exec_explain_limits(&text, trace, &peak));
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_EQUAL(
      count_of(&text, "limit: kernels of known work, 100% of the kernels' time, are at 1%"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "0.001     0% bandwidth   kernel (op): n0 n1\n"), 1);
  CU_ASSERT_EQUAL(
      count_of(&text, "far: 98% of the time at 0%: kernel (op): n0 n1; no reason known\n"), 1);
  hr_strbuf_deinit(&text);
  hr_trace_destroy(trace);
}

/* A call of 100 ns that worker 1 has a share of; worker 2 comes too late. */
static hr_trace_t *make_shared_call(void) {
  hr_trace_span_t *subject;
  hr_trace_t *trace = make_trace(8, 1, &subject);
  fill(subject, "step", 0, 4000);
  CHECK_OK(hr_trace_workers_set(trace, 3));
  uint64_t begin = hr_trace_begin(trace, subject);
  hr_trace_slice_t shares[] = {{begin, 60, 1}, {begin + 10, 80, 3}, {begin + 90, 0, 0}};
  hr_trace_slices_add(trace, shares, 3, 4);
  subject->idle_ns = 30;
  hr_trace_note(trace, subject, begin, 100);
  trace->current = NULL;
  hr_trace_slices_add(trace, shares, 3, 4);
  return trace;
}

/* Each worker's shares are a row, and what nobody is told of is not noted. */
static void test_shares(void) {
  hr_trace_t *trace = make_shared_call();
  machine_peak_t peak = {.bytes_per_s = 100e9, .flops = 1e12};
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_trace_print(&text, trace, 0, 0);
  CHECK_OK(exec_explain_print(&text, trace, &peak));
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_EQUAL(count_of(&text, "\"name\":\"step\""), 3);
  CU_ASSERT_EQUAL(count_of(&text, "\"tid\":1,\"args\":{\"name\":\"worker 0\"}"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "\"units\":1,\"of\":4,\"bytes\":1000}"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "\"units\":3,\"of\":4,\"bytes\":3000}"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "\"tid\":2,\"ts\""), 1);
  CU_ASSERT_EQUAL(
      count_of(&text, "3 workers, busy for 50% of the kernels' time: minimum 0%, maximum 80%"), 1);
  CU_ASSERT_EQUAL(count_of(&text, "     1.5     40.0   40%"), 1);
  hr_strbuf_deinit(&text);
  hr_trace_destroy(trace);
}

static void test_peak(void) {
  machine_peak_t peak = {0};
  CHECK_OK(machine_peak_measure(NULL, &peak));
  CU_ASSERT_TRUE(peak.bytes_per_s > 1e6 && peak.bytes_per_s < 1e13);
  CU_ASSERT_TRUE(peak.flops > 1e6 && peak.flops < 1e15);
}

CU_TestInfo suite_trace[] = {{"ring", test_ring},   {"quoting", test_quoting},
                             {"table", test_table}, {"shares", test_shares},
                             {"peak", test_peak},   CU_TEST_INFO_NULL};
