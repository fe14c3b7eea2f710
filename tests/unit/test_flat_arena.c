/* Offsets in the arena of a flat plan: nothing that lives at the same time overlaps, and little
 * is wasted. */
#include <stdlib.h>
#include <time.h>

#include "tests/lib/flat_fixture.h"

#define ITEMS 400

/* Nothing that lives at the same time overlaps, and the total is not far from the most that lives
 * at a time. */
static void test_random_items(void) {
  flat_item_t items[ITEMS];
  srand(7);
  for (int round = 0; round < 20; round++) {
    hr_arena_t scratch;
    size_t total = 0, most = 0;
    hr_arena_init(&scratch);
    for (int i = 0; i < ITEMS; i++) {
      items[i] = (flat_item_t){.size_bytes = (size_t)rand() % 5000, .start = rand() % 200};
      items[i].end = items[i].start + rand() % (round + 1);
    }
    CHECK_OK(flat_assign_offsets(&scratch, items, ITEMS, 200, &total));
    for (int t = 0; t < 230; t++) {
      size_t alive = 0;
      for (int i = 0; i < ITEMS; i++)
        if (items[i].start <= t && t <= items[i].end) alive += items[i].size_bytes;
      if (alive > most) most = alive;
    }
    for (int i = 0; i < ITEMS; i++) {
      CU_ASSERT(items[i].offset_bytes % HR_ALIGNMENT == 0);
      CU_ASSERT(items[i].offset_bytes + items[i].size_bytes <= total);
      for (int j = 0; j < i; j++)
        if (items[i].start <= items[j].end && items[j].start <= items[i].end)
          CU_ASSERT(items[i].offset_bytes + items[i].size_bytes <= items[j].offset_bytes ||
                    items[j].offset_bytes + items[j].size_bytes <= items[i].offset_bytes);
    }
    CU_ASSERT(total >= most);
    CU_ASSERT(total <= most * 2);
    hr_arena_deinit(&scratch);
  }
}

/* A gap is filled by what fits best, and neighbours that become free join. */
static void test_best_fit(void) {
  flat_item_t items[] = {{640, 0, 0, 2}, {64, 0, 0, 9},  {128, 0, 0, 2},
                         {64, 0, 0, 9},  {128, 0, 3, 9}, {640, 0, 3, 9}};
  hr_arena_t scratch;
  size_t total;
  hr_arena_init(&scratch);
  CHECK_OK(flat_assign_offsets(&scratch, items, 6, 10, &total));
  CU_ASSERT_EQUAL(total, 896);
  CU_ASSERT_EQUAL(items[4].offset_bytes, items[2].offset_bytes);
  CU_ASSERT_EQUAL(items[5].offset_bytes, items[0].offset_bytes);
  flat_item_t joined[] = {
      {64, 0, 0, 1}, {64, 0, 0, 2}, {64, 0, 0, 3}, {64, 0, 0, 9}, {192, 0, 4, 9}};
  CHECK_OK(flat_assign_offsets(&scratch, joined, 5, 10, &total));
  CU_ASSERT_EQUAL(total, 256);
  hr_arena_deinit(&scratch);
}

/* A large item that comes late gets what a small one leaves only if long-lived ones are out of its
 * way. */
static void test_by_weight(void) {
  flat_item_t items[] = {{64, 0, 0, 1}, {64, 0, 0, 5}, {128, 0, 2, 5}};
  hr_arena_t scratch;
  size_t total;
  hr_arena_init(&scratch);
  CHECK_OK(flat_assign_offsets(&scratch, items, 3, 6, &total));
  CU_ASSERT_EQUAL(total, 192);
  CU_ASSERT_EQUAL(items[2].offset_bytes, 0);
  CU_ASSERT_EQUAL(items[1].offset_bytes, 128);
  CU_ASSERT_EQUAL(items[0].offset_bytes, 0);
  hr_arena_deinit(&scratch);
}

/* Arrays of whole pages begin in different sets of a cache, 64 bytes to each. */
static void test_sets(void) {
  enum { COUNT = 24, SETS = 64 };
  flat_item_t items[COUNT];
  hr_arena_t scratch;
  size_t total;
  bool taken[SETS] = {false};
  hr_arena_init(&scratch);
  for (int i = 0; i < COUNT; i++) items[i] = (flat_item_t){163840, 0, 0, 9};
  CHECK_OK(flat_assign_offsets(&scratch, items, COUNT, 10, &total));
  for (int i = 0; i < COUNT; i++) {
    size_t set = items[i].offset_bytes / 64 % SETS;
    CU_ASSERT_FALSE(taken[set]);
    taken[set] = true;
  }
  hr_arena_deinit(&scratch);
}

static void test_many_items(void) {
  enum { COUNT = 200000 };
  void *memory;
  hr_arena_t scratch;
  size_t total;
  CHECK_OK(hr_alloc(COUNT * sizeof(flat_item_t), &memory));
  flat_item_t *items = memory;
  srand(3);
  for (int i = 0; i < COUNT; i++)
    items[i] = (flat_item_t){
        .size_bytes = (size_t)rand() % 100000, .start = i / 2, .end = i / 2 + rand() % 300};
  hr_arena_init(&scratch);
  clock_t start = clock(); /* processor time: other work on the machine does not count */
  CHECK_OK(flat_assign_offsets(&scratch, items, COUNT, COUNT / 2, &total));
  CU_ASSERT(clock() - start < 5 * CLOCKS_PER_SEC);
  hr_arena_deinit(&scratch);
  hr_free(items);
}

CU_TestInfo suite_flat_arena[] = {
    {"random items do not overlap", test_random_items},
    {"best fit", test_best_fit},
    {"best fit by weight", test_by_weight},
    {"sets of a cache", test_sets},
    {"many items", test_many_items},
    CU_TEST_INFO_NULL,
};
