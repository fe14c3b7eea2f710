/* Arrays in the memory of results that come later (plan/flat_overlays.c): which are moved, that no
 * two that live together overlap, and that results are those of the reference engine, also where a
 * result takes the bytes of an argument. */
#include <stdlib.h>

#include "base/arith.h"

#include "tests/lib/flat_fixture.h"

#define BIG "s32[20000]"

/* `a` lives through the chain of products; the second result is computed after it. */
#define CHAIN_BEGIN                                                                           \
  "HloModule m\nENTRY e { x = " BIG " parameter(0) y = " BIG " parameter(1)\n a = " BIG       \
  " add(x, x) v0 = " BIG " multiply(a, y)\n"
#define LINK(i, j) " v" #i " = " BIG " multiply(v" #j ", y)\n"
#define CHAIN                                                                                  \
  CHAIN_BEGIN LINK(1, 0) LINK(2, 1) LINK(3, 2) LINK(4, 3) LINK(5, 4) LINK(6, 5) LINK(7, 6)     \
      LINK(8, 7) LINK(9, 8) " w = " BIG " add(v9, a)\n"

static int count_overlays(const flat_fixture_t *f) {
  int count = 0;
  for (int b = 0; b < f->flat->buffer_count; b++)
    count += f->flat->buffers[b].storage == FLAT_OVERLAY && f->flat->buffers[b].coalesced_into < 0;
  return count;
}

/* So many arrays are moved in the plan with native steps; its arena is smaller than one of them. */
static void check_overlays(const char *text, int want) {
  flat_fixture_t f;
  CHECK_OK(fixture_load(text, &fixture_native, &f));
  CU_ASSERT_EQUAL(count_overlays(&f), want);
  if (want) CU_ASSERT(f.flat->arena_bytes < 80000);
  fixture_deinit(&f);
  fixture_agree(text);
}

static void later_result(void) {
  check_overlays(CHAIN " z = " BIG " multiply(w, x) ROOT t = (" BIG ", " BIG ") tuple(w, z) }", 1);
}

/* The only result is computed where the chain begins, and all of it in place. */
static void no_later_result(void) { check_overlays(CHAIN " ROOT z = " BIG " multiply(w, x) }", 0); }

/* Do two overlays of a result overlap that live at the same time, or one and the result? */
static void check_overlaps(const flat_fixture_t *f) {
  const flat_plan_t *flat = f->flat;
  for (int i = 0; i < flat->buffer_count; i++) {
    const flat_buffer_t *a = &flat->buffers[i];
    if (a->storage != FLAT_OVERLAY || a->coalesced_into >= 0) continue;
    CU_ASSERT(a->offset_bytes + a->size_bytes <= flat->results[a->index].overlay_bytes);
    CU_ASSERT_EQUAL(a->offset_bytes % HR_ALIGNMENT, 0);
    for (int j = 0; j < flat->buffer_count; j++) {
      const flat_buffer_t *b = &flat->buffers[j];
      bool is_result = b->storage == FLAT_RESULT;
      if (i == j || b->coalesced_into >= 0 || b->index != a->index) continue;
      if (b->storage != FLAT_OVERLAY && !is_result) continue;
      if (a->start > b->end || b->start > a->end) continue;
      CU_ASSERT_FALSE(is_result);
      CU_ASSERT(a->offset_bytes + a->size_bytes <= b->offset_bytes ||
                b->offset_bytes + b->size_bytes <= a->offset_bytes);
    }
  }
}

/* Sums and products of earlier values of one of two sizes, of which some are results. */
static void write_random(hr_strbuf_t *text) {
  static const char *const shapes[] = {"s32[17000]", "s32[40000]"};
  enum { VALUES = 60, RESULTS = 5 };
  int results[RESULTS];
  hr_strbuf_add_str(text, "HloModule m\nENTRY e {\n");
  for (int i = 0; i < 4; i++)
    hr_strbuf_printf(text, "v%d = %s parameter(%d)\n", i, shapes[i % 2], i);
  for (int i = 4; i < VALUES; i++) {
    int back = rand() % 3 ? 8 : i, a = i - 2 - 2 * (rand() % (hr_min(back, i) / 2));
    hr_strbuf_printf(text, "v%d = %s %s(v%d, v%d)\n", i, shapes[i % 2],
                     rand() % 2 ? "add" : "multiply", i - 2, a);
  }
  for (int r = 0; r < RESULTS; r++) results[r] = VALUES - 1 - rand() % (r < 3 ? 4 : 40);
  hr_strbuf_add_str(text, "ROOT t = (");
  for (int r = 0; r < RESULTS; r++)
    hr_strbuf_printf(text, "%s%s", r ? ", " : "", shapes[results[r] % 2]);
  hr_strbuf_add_str(text, ") tuple(");
  for (int r = 0; r < RESULTS; r++) hr_strbuf_printf(text, "%sv%d", r ? ", " : "", results[r]);
  hr_strbuf_add_str(text, ") }\n");
  CHECK_OK(hr_strbuf_finish(text));
}

static void random_programs(void) {
  int overlays = 0;
  for (unsigned seed = 1; seed <= 60; seed++) {
    flat_fixture_t f;
    hr_strbuf_t text;
    srand(seed);
    hr_strbuf_init(&text);
    write_random(&text);
    CHECK_OK(fixture_load(text.data, &fixture_native, &f));
    overlays += count_overlays(&f);
    check_overlaps(&f);
    fixture_deinit(&f);
    fixture_agree(text.data);
    hr_strbuf_deinit(&text);
  }
  CU_ASSERT(overlays > 60);
}

CU_TestInfo suite_flat_overlays[] = {{"a later result", later_result},
                                  {"no later result", no_later_result},
                                  {"random programs", random_programs},
                                  CU_TEST_INFO_NULL};
