/* Shares of a machine: how processes of one host divide its cores, and what is printed of that. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/lib/unit.h"
#include "topo/topo.h"

/* hwloc shows the machine that this variable describes: 8 cores. */
static void pretend(void) { setenv("HWLOC_SYNTHETIC", "pack:2 numa:1 core:4 pu:2", 1); }
static void stop_pretending(void) { unsetenv("HWLOC_SYNTHETIC"); }

static int cores_of(int local_rank, int local_size) {
  topo_share_t *share = NULL;
  CHECK_OK(topo_share_create(local_rank, local_size, &share));
  CU_ASSERT_PTR_NOT_NULL_FATAL(share);
  int cores = topo_share_cores(share);
  topo_share_destroy(share);
  return cores;
}

/* Every core belongs to one process as long as there are enough of them. */
static void shares_add_up(void) {
  size_t live = hr_mem_live_blocks();
  pretend();
  for (int size = 1; size <= 8; size++) {
    int sum = 0;
    for (int rank = 0; rank < size; rank++) sum += cores_of(rank, size);
    CU_ASSERT_EQUAL(sum, 8);
  }
  CU_ASSERT_EQUAL(cores_of(0, 1), 8);
  CU_ASSERT_EQUAL(cores_of(1, 2), 4);
  for (int rank = 0; rank < 20; rank++)
    CU_ASSERT_EQUAL(cores_of(rank, 20), 1); /* more ranks than cores */
  stop_pretending();
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* The real machine is used here: a binding must succeed, whatever it has. */
static void threads_bind(void) {
  topo_share_t *share;
  CHECK_OK(topo_share_create(0, 1, &share));
  for (int worker = 0; worker < 3; worker++) {
    CHECK_OK(topo_share_bind(share, worker, TOPO_BIND_CORE));
    CHECK_OK(topo_share_bind(share, worker, TOPO_BIND_NUMA));
    CHECK_OK(topo_share_bind(share, worker, TOPO_BIND_NONE));
  }
  topo_share_destroy(share);
}

/* Eight cores for three processes: the rest of the division goes to the later ones. */
static void shares_are_printed(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
  pretend();
  CHECK_OK(topo_print_shares(stream, 3));
  stop_pretending();
  fclose(stream);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "2 packages, 2 NUMA nodes, 8 cores, 16 processors"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "rank 0: 2 workers on processors 0-1 | 2-3\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "rank 2: 3 workers on processors 10-11 | 12-13 | 14-15\n"));
  free(text);
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (; (text = strstr(text, word)); text++) count++;
  return count;
}

/* A box for each core, package and the machine; each core says whose it is. */
static void shares_are_drawn(void) {
  hr_strbuf_t text;
  size_t live = hr_mem_live_blocks();
  hr_strbuf_init(&text);
  pretend();
  CHECK_OK(topo_draw_shares(&text, 3));
  stop_pretending();
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_EQUAL(count_of(text.data, "<rect"), 11);
  CU_ASSERT_EQUAL(count_of(text.data, ">rank 0<"), 2);
  CU_ASSERT_EQUAL(count_of(text.data, ">rank 2<"), 3);
  CU_ASSERT_EQUAL(count_of(text.data, "no rank"), 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data, ">CPU 10-11<"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data, ">Package 1, NUMA node 1"));
  hr_strbuf_deinit(&text);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* More processes than cores: a core names all of its ranks. */
static void shared_cores_are_drawn(void) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  pretend();
  CHECK_OK(topo_draw_shares(&text, 16));
  stop_pretending();
  CHECK_OK(hr_strbuf_finish(&text));
  CU_ASSERT_EQUAL(count_of(text.data, ">ranks 0 to 1<"), 1);
  CU_ASSERT_EQUAL(count_of(text.data, ">ranks 14 to 15<"), 1);
  hr_strbuf_deinit(&text);
}

CU_TestInfo suite_topo[] = {{"shares add up", shares_add_up},
                            {"threads bind", threads_bind},
                            {"shares are printed", shares_are_printed},
                            {"shares are drawn", shares_are_drawn},
                            {"shared cores are drawn", shared_cores_are_drawn},
                            CU_TEST_INFO_NULL};
