/* Infeed and outfeed of a program: one worker of the event loop's pool per direction, connected
 * to the program by a queue of FEED_QUEUE_VALUES. The infeed reads ahead, the outfeed writes
 * behind.
 *
 * Shutdown in order: the outfeed's queue is ended, its thread drains it. After a failure: stop_fd
 * makes both threads return from poll(2). */
#include "feed/feeds.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "feed/feed_array.h"
#include "feed/feed_list.h"
#include "feed/feed_open.h"
#include "feed/feed_queue.h"
#include "transport/core/event_loop.h"

/* One direction. */
typedef struct feed {
  bool is_open;
  feed_endpoint_t endpoint;
  feed_io_t io;
  feed_queue_t queue;
  feed_array_t array; /* source of an infeed from .npy or .npz */
  feed_list_t list;   /* sink of an outfeed into .npz */
  feed_shapes_t shapes;
  tp_work_t *work;
  uint64_t values_read;
} feed_t;

struct exec_feeds {
  hr_arena_t arena;
  const exec_feeds_options_t options;
  tp_endpoint_t *endpoint;
  tp_loop_t *loop;
  int replica, partition;
  feed_t in, out;
};

/* --- the threads --- */

/* Makes a write to a broken pipe fail instead of ending this process. */
static void block_sigpipe(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* From an array file, or from the stream. */
static hr_status_t next_value(feed_t *feed, feed_item_t *item) {
  if (feed->array.is_open)
    return feed_array_next(&feed->array, &feed->shapes, &item->leaves, &item->count);
  return feed_read_value(&feed->io, &feed->shapes, &item->leaves, &item->count);
}

/* Reads ahead until the source ends or the program does not take more. */
static hr_status_t read_values(feed_t *feed) {
  HR_TRY(feed_endpoint_connect(&feed->endpoint, &feed->io));
  for (bool stopped = false; !stopped;) {
    feed_item_t item = {0};
    HR_TRY(next_value(feed, &item));
    if (!item.leaves) return NULL;
    HR_TRY(feed_queue_put(&feed->queue, item, NULL, NULL, &stopped));
  }
  return NULL;
}

/* The queue carries how it ended to the program. */
static void run_infeed(void *context) {
  feed_t *feed = context;
  feed_queue_end(&feed->queue, read_values(feed));
}

/* To an array file, or to the stream. */
static hr_status_t put_value(feed_t *feed, const hlo_value_t *value) {
  return feed->list.path ? feed_list_add(&feed->list, value) : feed_write_value(&feed->io, value);
}

/* Writes until the queue has ended and is empty. */
static hr_status_t write_values(feed_t *feed) {
  bool ended = false;
  HR_TRY(feed_endpoint_connect(&feed->endpoint, &feed->io));
  while (!ended) {
    feed_item_t item = {0};
    HR_TRY(feed_queue_take(&feed->queue, NULL, NULL, &item, &ended));
    hr_status_t st = ended ? NULL : put_value(feed, item.value);
    feed_item_release(&item);
    HR_TRY(st);
  }
  return feed_endpoint_finish(&feed->endpoint, feed->io.stop_fd);
}

/* Stops the queue at the end, so that a program does not wait for a sink that failed. */
static void run_outfeed(void *context) {
  feed_t *feed = context;
  block_sigpipe();
  feed_queue_stop(&feed->queue, write_values(feed));
}

/* --- the program's side --- */

/* Ends a wait for a feed when the embedding program interrupts it (Ctrl-C in Python). */
static hr_status_t interrupted(void *context) {
  tp_endpoint_t *endpoint = context;
  return endpoint->interrupted ? endpoint->interrupted(endpoint->interrupted_context) : NULL;
}

/* Makes a value of the infeed's shape from the arrays that came, in order; tokens are made here. */
static hr_status_t assemble_value(feed_t *feed, const hlo_instr_t *instr, const hlo_shape_t *shape,
                                  feed_item_t *item, hlo_value_t **out_value) {
  char text[HLO_SHAPE_TEXT];
  int leaves = hlo_shape_leaf_count(shape), k = 0;
  void *memory;
  HR_TRY(hr_alloc_zeroed(((size_t)leaves + 1) * sizeof(hlo_value_t *), &memory));
  hlo_value_t **all = memory;
  hr_status_t st = NULL;
  for (int i = 0; i < leaves && !st; i++) {
    const hlo_shape_t *want = hlo_shape_leaf(shape, i);
    if (want->dtype == HR_TOKEN)
      st = hlo_value_token(&all[i]);
    else if (k < item->count && hlo_value_fits(item->leaves[k], want))
      all[i] = hlo_value_retain(item->leaves[k++]);
    else
      st = hlo_error(instr, NULL, "value %llu of %s has a different shape than array %d, %s",
                     (unsigned long long)feed->values_read, feed->endpoint.spec, i,
                     hlo_shape_text(want, text));
  }
  if (!st && k < item->count)
    st = hlo_error(instr, NULL, "value %llu of %s has %d arrays, want %d",
                   (unsigned long long)feed->values_read, feed->endpoint.spec, item->count, k);
  if (!st) st = hlo_value_unflatten(shape, all, out_value);
  for (int i = 0; i < leaves; i++) hlo_value_release(all[i]);
  hr_free(all);
  return st;
}

/* Blocks until the reader thread has a value. */
static hr_status_t read_infeed(op_env_t *env, const hlo_instr_t *instr, const hlo_shape_t *shape,
                               hlo_value_t **out_value) {
  exec_feeds_t *feeds = env->feeds;
  feed_t *feed = &feeds->in;
  feed_item_t item = {0};
  bool ended;
  if (!feed->is_open)
    return hlo_unsupported(instr, "this program reads an infeed: name its source with --infeed");
  hr_status_t st = feed_queue_take(&feed->queue, interrupted, feeds->endpoint, &item, &ended);
  if (st)
    return hr_status_note(st, "while waiting for value %llu of %s",
                          (unsigned long long)feed->values_read + 1, feed->endpoint.spec);
  if (ended)
    return hr_error(HR_UNAVAILABLE, "%s ended after %llu values, but the program reads another",
                    feed->endpoint.spec, (unsigned long long)feed->values_read);
  feed->values_read++;
  st = assemble_value(feed, instr, shape, &item, out_value);
  feed_item_release(&item);
  return st;
}

/* The queue retains the value: it is not overwritten while referenced. */
static hr_status_t write_outfeed(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value) {
  exec_feeds_t *feeds = env->feeds;
  feed_t *feed = &feeds->out;
  feed_item_t item = {0};
  bool stopped;
  if (!feed->is_open)
    return hlo_unsupported(instr, "this program writes an outfeed: name its sink with --outfeed");
  item.value = hlo_value_retain(value);
  hr_status_t st = feed_queue_put(&feed->queue, item, interrupted, feeds->endpoint, &stopped);
  if (st) return hr_status_note(st, "while writing to %s", feed->endpoint.spec);
  return stopped ? hr_error(HR_UNAVAILABLE, "%s was closed by the reader", feed->endpoint.spec)
                 : NULL;
}

static const op_feed_ops_t feed_ops = {.infeed = read_infeed, .outfeed = write_outfeed};

void exec_feeds_attach(op_env_t *env, exec_feeds_t *feeds) {
  if (!feeds) return;
  env->feeds = feeds;
  env->feed_ops = &feed_ops;
}

/* --- life --- */

/* Shapes of infeeds while they are found: outside the arena, freed by list_shapes. */
typedef HR_VEC(feed_shape_t) shape_list_t;

/* Appends what an infeed accepts: the leaves of its data without tokens. */
static hr_status_t add_shape(exec_feeds_t *feeds, const hlo_instr_t *infeed, shape_list_t *list) {
  const hlo_shape_t *shape = infeed->shape->elements[0];
  feed_shape_t one = {0};
  HR_TRY(HR_NEW_ARRAY(&feeds->arena, hlo_shape_leaf_count(shape), &one.leaves));
  for (int k = 0; k < hlo_shape_leaf_count(shape); k++)
    if (hlo_shape_leaf(shape, k)->dtype != HR_TOKEN)
      one.leaves[one.leaf_count++] = hlo_shape_leaf(shape, k);
  HR_VEC_PUSH(list, one);
  return NULL;
}

/* What the program's infeeds accept, one entry per instruction, in the arena. */
static hr_status_t list_shapes(exec_feeds_t *feeds, feed_shapes_t *shapes) {
  const hlo_module_t *module = feeds->options.plan->module;
  shape_list_t list = {0};
  void *copy = NULL;
  hr_status_t st = NULL;
  for (size_t c = 0; c < module->computations.count && !st; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && !st; i++)
      if (computation->instrs.data[i]->op == HLO_INFEED)
        st = add_shape(feeds, computation->instrs.data[i], &list);
  }
  if (!st && list.count)
    st = hr_arena_copy(&feeds->arena, list.data, list.count * sizeof *list.data, &copy);
  if (!st) *shapes = (feed_shapes_t){list.count, copy};
  HR_VEC_FREE(&list);
  return st;
}

/* Opens the endpoint and starts its thread. What fails halfway is closed by exec_feeds_destroy. */
static hr_status_t open_feed(exec_feeds_t *feeds, feed_t *feed, const char *spec, bool is_infeed) {
  if (!spec) return NULL;
  feed_queue_init(&feed->queue);
  feed->is_open = true;
  feed->io.stop_fd = -1;
  HR_TRY(feed_endpoint_open(&feeds->arena, spec, is_infeed, feeds->replica, feeds->partition,
                            &feed->endpoint));
  feed->io = (feed_io_t){
      .fd = feed->endpoint.fd, .name = feed->endpoint.spec, .stop_fd = eventfd(0, EFD_CLOEXEC)};
  if (feed->io.stop_fd < 0) return hr_error(HR_UNAVAILABLE, "cannot create an event");
  if (is_infeed) HR_TRY(list_shapes(feeds, &feed->shapes));
  if (is_infeed && feed_array_is_named(&feed->endpoint))
    HR_TRY(feed_array_open(&feed->array, feed->endpoint.text));
  if (!is_infeed) HR_TRY(feed_list_open(&feed->list, &feed->endpoint));
  return tp_loop_work(feeds->loop, is_infeed ? run_infeed : run_outfeed, feed, &feed->work);
}

/* Drains an outfeed, as long as nothing interrupts this process. */
static hr_status_t drain(exec_feeds_t *feeds, feed_t *feed) {
  feed_queue_end(&feed->queue, NULL);
  return hr_status_note(
      feed_queue_await_stop(&feed->queue, interrupted, feeds->endpoint, feeds->options.progress),
      "while waiting for the reader of %s", feed->endpoint.spec);
}

/* In order: an outfeed is drained first. Else both threads are woken through stop_fd. */
static hr_status_t close_feed(exec_feeds_t *feeds, feed_t *feed, bool in_order) {
  if (!feed->is_open) return NULL;
  hr_status_t st = in_order ? drain(feeds, feed) : NULL;
  if ((!in_order || st) && feed->io.stop_fd >= 0) eventfd_write(feed->io.stop_fd, 1);
  if (feed->endpoint.is_infeed)
    feed_queue_stop(&feed->queue, NULL);
  else
    feed_queue_end(&feed->queue, NULL);
  tp_work_wait(feed->work);
  if (st)
    hr_status_release(feed->queue.status); /* that it was stopped */
  else
    st = feed->queue.status;
  feed->queue.status = NULL;
  if (in_order && !st) st = feed_list_finish(&feed->list);
  feed_list_close(&feed->list);
  st = hr_status_join(st, feed_endpoint_close(&feed->endpoint, in_order && !st));
  feed_array_close(&feed->array);
  if (feed->io.stop_fd >= 0) close(feed->io.stop_fd);
  feed_queue_deinit(&feed->queue);
  feed->is_open = false;
  return st;
}

hr_status_t exec_feeds_create(const exec_feeds_options_t *options, exec_feeds_t **out_feeds) {
  *out_feeds = NULL;
  if (!options->infeed && !options->outfeed) return NULL;
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_feeds_t), &memory));
  exec_feeds_t *feeds = memory;
  memcpy((void *)&feeds->options, options, sizeof *options);
  hr_arena_init(&feeds->arena);
  feeds->endpoint = options->comm->groups->endpoint;
  options->comm->waits_for_others = true;
  feeds->replica = feeds->endpoint->rank / options->plan->grid.num_partitions;
  feeds->partition = feeds->endpoint->rank % options->plan->grid.num_partitions;
  hr_status_t st = tp_loop_acquire(&feeds->loop);
  if (!st) st = open_feed(feeds, &feeds->out, options->outfeed, false);
  if (!st) st = open_feed(feeds, &feeds->in, options->infeed, true);
  if (st)
    exec_feeds_destroy(feeds);
  else
    *out_feeds = feeds;
  return st;
}

/* After the last step: the outfeed's values have been written when this returns. */
hr_status_t exec_feeds_finish(exec_feeds_t *feeds) {
  return feeds ? close_feed(feeds, &feeds->out, true) : NULL;
}

void exec_feeds_destroy(exec_feeds_t *feeds) {
  if (!feeds) return;
  hr_status_release(close_feed(feeds, &feeds->out, false));
  hr_status_release(close_feed(feeds, &feeds->in, false));
  tp_loop_release(feeds->loop);
  hr_arena_deinit(&feeds->arena);
  hr_free(feeds);
}
