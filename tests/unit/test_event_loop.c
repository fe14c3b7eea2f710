/* The event loop: order of work, threads, timers. */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/lib/unit.h"
#include "transport/core/event_loop.h"

static tp_loop_t *loop;
static size_t live_before;

/* Each test begins and ends with no loop: nothing stays allocated. */
static void acquire(void) {
  live_before = hr_mem_live_blocks();
  CHECK_OK(tp_loop_acquire(&loop));
}

static void release(void) {
  tp_loop_release(loop);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live_before);
}

/* Waits five seconds at most for another thread. */
static void wait_until(atomic_int *counter, int value) {
  for (int i = 0; i < 5000 && atomic_load(counter) < value; i++) usleep(1000);
  CU_ASSERT(atomic_load(counter) >= value);
}

static int order[3], order_count;
static void note_one(void *context) { order[order_count++] = *(int *)context; }
static void count_up(void *context) { atomic_fetch_add((atomic_int *)context, 1); }

/* A call waits for what was posted before it. */
static void work_runs_in_order(void) {
  static int one = 1, two = 2, three = 3;
  acquire();
  order_count = 0;
  CHECK_OK(tp_loop_post(loop, note_one, &one));
  CHECK_OK(tp_loop_post(loop, note_one, &two));
  tp_loop_call(loop, note_one, &three);
  CU_ASSERT_EQUAL(order_count, 3);
  CU_ASSERT(order[0] == 1 && order[1] == 2 && order[2] == 3);
  release();
}

static void call_within(void *context) {
  CU_ASSERT(tp_loop_is_current(loop));
  tp_loop_call(loop, count_up, context);
}

/* A call from the loop's own thread runs at once: to wait for itself would be for ever. */
static void call_on_its_own_thread(void) {
  atomic_int count = 0;
  acquire();
  CU_ASSERT(!tp_loop_is_current(loop));
  tp_loop_call(loop, call_within, &count);
  CU_ASSERT_EQUAL(atomic_load(&count), 1);
  release();
}

/* A second user gets the same loop, and its release leaves the loop to the first. */
static void one_loop_for_all(void) {
  tp_loop_t *again;
  acquire();
  CHECK_OK(tp_loop_acquire(&again));
  CU_ASSERT_PTR_EQUAL(again, loop);
  tp_loop_release(again);
  atomic_int count = 0;
  tp_loop_call(loop, count_up, &count);
  CU_ASSERT_EQUAL(atomic_load(&count), 1);
  release();
}

/* The release waits for what was posted. */
static void posted_work_runs_before_the_end(void) {
  atomic_int count = 0;
  acquire();
  for (int i = 0; i < 100; i++) CHECK_OK(tp_loop_post(loop, count_up, &count));
  release();
  CU_ASSERT_EQUAL(atomic_load(&count), 100);
}

/* After the stop the count stays, and a timer without an interval fires once. */
static void timers_repeat(void) {
  atomic_int often = 0, once = 0;
  tp_source_t *repeating, *single;
  acquire();
  CHECK_OK(tp_loop_timer(loop, 1, 2, count_up, &often, &repeating));
  CHECK_OK(tp_loop_timer(loop, 1, 0, count_up, &once, &single));
  wait_until(&often, 5);
  tp_source_stop(repeating);
  int seen = atomic_load(&often);
  usleep(20000);
  CU_ASSERT_EQUAL(atomic_load(&often), seen);
  CU_ASSERT_EQUAL(atomic_load(&once), 1);
  tp_source_stop(single);
  release();
}

static void signals_arrive(void) {
  atomic_int count = 0;
  tp_source_t *source, *bad;
  acquire();
  CHECK_OK(tp_loop_signal(loop, SIGUSR1, count_up, &count, &source));
  kill(getpid(), SIGUSR1);
  wait_until(&count, 1);
  tp_source_stop(source);
  CHECK_FAILS(HR_UNAVAILABLE, tp_loop_signal(loop, SIGKILL, count_up, &count, &bad));
  release();
}

static void wakers_wake(void) {
  atomic_int count = 0;
  tp_source_t *source;
  acquire();
  CHECK_OK(tp_loop_waker(loop, count_up, &count, &source));
  tp_source_wake(source);
  wait_until(&count, 1);
  tp_source_stop(source);
  release();
}

CU_TestInfo suite_event_loop[] = {
    {"work runs in order", work_runs_in_order},
    {"call on its own thread", call_on_its_own_thread},
    {"one loop for all", one_loop_for_all},
    {"posted work runs before the end", posted_work_runs_before_the_end},
    {"timers repeat", timers_repeat},
    {"signals arrive", signals_arrive},
    {"wakers wake", wakers_wake},
    CU_TEST_INFO_NULL};
