/* Gathers the examples of a step from mapped data sets. While a step runs, a background job gathers
 * those of the next one; a step that was not prefetched is gathered on the spot. */
#include "cli/run/cli_feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/arrays/cli_part.h"
#include "cli/arrays/cli_random.h"
#include "cli/program/cli_tf.h"
#include "transport/core/event_loop.h"

typedef struct fed_param {
  int param;
  const char *label;        /* the option's text, for messages */
  const hlo_shape_t *shape; /* shape of a fed array; the whole array in global programs */
  cli_part_t part;          /* part of this process */
  hlo_value_t *set;         /* whole data set, mapped from the file if possible */
} fed_param_t;

struct cli_feed {
  hr_arena_t arena;
  HR_VEC(fed_param_t) params;
  int batch_dim, rank, replica, num_replicas;
  int64_t examples, batch;
  int64_t global_batch; /* value of --global-batch; 0: not given */
  bool shuffle;
  uint64_t seed;
  uint64_t epoch; /* epoch of `order` */
  int64_t *order;
  bool has_order;
  /* The prefetched step. The members below belong to its background job until it has been awaited.
   */
  tp_loop_t *loop;
  tp_work_t *work; /* NULL: no job is running */
  bool has_prefetched;
  uint64_t prefetch_step;
  hlo_value_t **prefetched; /* by position in params */
  hr_status_t prefetch_status;
};

/* --- opening --- */

/* The array of all examples has the parameter's type and sizes, but for the batch dimension. */
static hr_status_t check_set(const fed_param_t *fed, const npy_t *npy, int batch_dim) {
  bool fits = npy_is(npy, fed->shape->dtype) && npy->rank == fed->shape->rank;
  for (int d = 0; fits && d < npy->rank; d++)
    fits = d == batch_dim || npy->dims[d] == fed->shape->dims[d];
  if (fits) return NULL;
  char found[HLO_SHAPE_TEXT], wanted[HLO_SHAPE_TEXT];
  return hr_error(
      HR_USAGE,
      "--feed %s is %s; parameter %d is %s (%s in files), and only dimension %d may differ",
      fed->label, npy_text(npy, found), fed->param, hlo_shape_text(fed->shape, wanted),
      hr_dtype_table[fed->shape->dtype].npy_descr, batch_dim);
}

static bool is_dynamic(const hlo_shape_t *shape, int d) {
  return shape->dynamic && shape->dynamic[d];
}

/* K=FILE.npy or K=FILE.npz:NAME; *out_file is what follows the equals sign. Errors: USAGE. */
static hr_status_t parse_feed(const char *text, const cli_signature_t *signature, cli_feed_t *feed,
                              fed_param_t *fed, const char **out_file) {
  char *end;
  long param = strtol(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '=' || !end[1])
    return hr_error(HR_USAGE, "--feed: '%s' is not K=FILE.npy or K=FILE.npz:NAME", text);
  if (param >= signature->param_count)
    return hr_error(HR_USAGE, "--feed: there is no parameter %ld, the program has %d", param,
                    signature->param_count);
  if (cli_feed_has(feed, (int)param))
    return hr_error(HR_USAGE, "--feed: parameter %ld is fed twice", param);
  *fed = (fed_param_t){.param = (int)param, .label = text, .shape = signature->whole_params[param]};
  char shape[HLO_SHAPE_TEXT];
  if (!hlo_shape_is_array(fed->shape) || feed->batch_dim >= fed->shape->rank)
    return hr_error(HR_USAGE, "--feed: parameter %ld is %s: it has no dimension %d to feed along",
                    param, hlo_shape_text(fed->shape, shape), feed->batch_dim);
  for (int d = 0; d < fed->shape->rank; d++)
    if (is_dynamic(fed->shape, d) && (d != feed->batch_dim || fed->shape->dims[d] == HLO_UNBOUNDED))
      return hr_error(HR_USAGE,
                      "--feed: parameter %ld is %s: only dimension %d may be dynamic, with a bound",
                      param, hlo_shape_text(fed->shape, shape), feed->batch_dim);
  *out_file = end + 1;
  return NULL;
}

/* Examples of one step for one replica: the size of the batch dimension. If that size is a bound,
 * replicas share the global batch; its default is the bound, so that a single replica takes as
 * much as the program allows. */
static hr_status_t find_batch(const cli_feed_t *feed, const fed_param_t *fed, int64_t *out_batch) {
  int64_t size = fed->shape->dims[feed->batch_dim], replicas = feed->num_replicas;
  bool dynamic = is_dynamic(fed->shape, feed->batch_dim);
  int64_t global = feed->global_batch ? feed->global_batch : size;
  bool divides = global % replicas == 0;
  *out_batch = dynamic || feed->global_batch ? global / replicas : size;
  if (dynamic ? divides && *out_batch <= size
              : *out_batch == size && (divides || !feed->global_batch))
    return NULL;
  char shape[HLO_SHAPE_TEXT];
  return hr_error(
      HR_USAGE,
      "--feed: %lld examples a step over %lld replicas do not suit parameter %d, which is %s",
      (long long)global, (long long)replicas, fed->param, hlo_shape_text(fed->shape, shape));
}

/* Opens the file of one fed parameter. All of them must have as many examples and the same
 * batch. */
static hr_status_t add_param(cli_feed_t *feed, const char *text, const cli_signature_t *signature) {
  fed_param_t fed;
  const char *file;
  HR_TRY(parse_feed(text, signature, feed, &fed, &file));
  HR_TRY(HR_VEC_RESERVE(&feed->params, feed->params.count + 1));
  npy_t npy;
  HR_TRY(cli_npy_open(file, &npy));
  hr_status_t st = check_set(&fed, &npy, feed->batch_dim);
  if (!st) st = hlo_value_rows_from_npy(&npy, fed.shape->dtype, &fed.set);
  npy_deinit(&npy);
  HR_TRY(st);
  cli_part_of(&(cli_arg_t){signature, false, fed.param, false}, feed->rank, &fed.part);
  HR_VEC_PUSH(&feed->params, fed);
  int64_t examples = fed.set->dims[feed->batch_dim], batch;
  HR_TRY(find_batch(feed, &fed, &batch));
  if (feed->params.count == 1) {
    feed->examples = examples;
    feed->batch = batch;
  }
  if (examples != feed->examples || batch != feed->batch)
    return hr_error(HR_USAGE, "--feed: %s has %lld examples, %lld a step; %s has %lld, %lld a step",
                    text, (long long)examples, (long long)batch, feed->params.data[0].label,
                    (long long)feed->examples, (long long)feed->batch);
  return NULL;
}

/* Adds all parameters, and allocates the order of the examples. */
static hr_status_t fill_feed(cli_feed_t *feed, const hr_options_t *options,
                             const cli_signature_t *signature) {
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_FEED, &from));)
    if (!cli_tf_feed_is_named(given->text)) HR_TRY(add_param(feed, given->text, signature));
  if (feed->batch < 1 || feed->examples / feed->num_replicas < feed->batch)
    return hr_error(HR_USAGE,
                    "--feed: %lld examples do not fill one step of %d replicas times %lld",
                    (long long)feed->examples, feed->num_replicas, (long long)feed->batch);
  HR_TRY(HR_NEW_ARRAY(&feed->arena, feed->params.count, &feed->prefetched));
  return HR_NEW_ARRAY(&feed->arena, feed->examples, &feed->order);
}

hr_status_t cli_feed_create(const hr_options_t *options, const cli_signature_t *signature, int rank,
                            int num_replicas, int num_partitions, cli_feed_t **out_feed) {
  *out_feed = NULL;
  if (!cli_tf_has_data_feed(options)) return NULL;
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(cli_feed_t), &memory));
  cli_feed_t *feed = memory;
  hr_arena_init(&feed->arena);
  feed->batch_dim = (int)hr_option_int(options, HR_OPTION_BATCH_DIM, 0);
  feed->global_batch = (int64_t)hr_option_int(options, HR_OPTION_GLOBAL_BATCH, 0);
  feed->rank = rank;
  feed->replica = rank / num_partitions;
  feed->num_replicas = num_replicas;
  feed->shuffle = !hr_option_is_given(options, HR_OPTION_NO_SHUFFLE);
  feed->seed = hr_option_int(options, HR_OPTION_SEED, 0);
  hr_status_t st = fill_feed(feed, options, signature);
  if (!st) st = tp_loop_acquire(&feed->loop);
  if (st)
    cli_feed_destroy(feed);
  else
    *out_feed = feed;
  return st;
}

bool cli_feed_has(const cli_feed_t *feed, int param) {
  for (size_t i = 0; feed && i < feed->params.count; i++)
    if (feed->params.data[i].param == param) return true;
  return false;
}

uint64_t cli_feed_steps_per_epoch(const cli_feed_t *feed) {
  return (uint64_t)(feed->examples / (feed->batch * feed->num_replicas));
}

/* --- gathering --- */

/* Fisher-Yates shuffle; every process computes the same order from seed and epoch. */
static void make_order(cli_feed_t *feed, uint64_t epoch) {
  if (feed->has_order && (feed->epoch == epoch || !feed->shuffle)) return;
  for (int64_t i = 0; i < feed->examples; i++) feed->order[i] = i;
  for (int64_t i = feed->examples - 1; i > 0 && feed->shuffle; i--) {
    uint64_t bits = cli_random_bits(feed->seed, epoch, (uint64_t)i);
    int64_t k = (int64_t)((__uint128_t)bits * (uint64_t)(i + 1) >> 64);
    int64_t other = feed->order[k];
    feed->order[k] = feed->order[i];
    feed->order[i] = other;
  }
  feed->epoch = epoch;
  feed->has_order = true;
}

/* Copies this process's box of each example that is in its part of the batch. */
static hr_status_t gather(const cli_feed_t *feed, const fed_param_t *fed, const int64_t *chosen,
                          hlo_value_t **out_value) {
  int64_t sizes[HLO_MAX_RANK], to_at[HLO_MAX_RANK] = {0}, from_at[HLO_MAX_RANK] = {0};
  int rank = fed->shape->rank, batch_dim = feed->batch_dim;
  memcpy(sizes, fed->part.sizes, (size_t)rank * sizeof *sizes);
  if (!fed->part.is_cut) sizes[batch_dim] = feed->batch;
  HR_TRY(hlo_value_array(fed->shape->dtype, rank, sizes, out_value));
  int64_t count = sizes[batch_dim], first = fed->part.starts[batch_dim];
  memcpy(from_at, fed->part.starts, (size_t)rank * sizeof *from_at);
  sizes[batch_dim] = 1;
  for (int64_t b = 0; b < count; b++) {
    to_at[batch_dim] = b;
    from_at[batch_dim] = chosen[first + b];
    cli_box_copy(rank, sizes, hr_dtype_bytes(fed->shape->dtype), (*out_value)->data,
                 (cli_box_side_t){(*out_value)->dims, to_at}, fed->set->data,
                 (cli_box_side_t){fed->set->dims, from_at});
  }
  return NULL;
}

static hr_status_t gather_step(cli_feed_t *feed, uint64_t step) {
  uint64_t per_epoch = cli_feed_steps_per_epoch(feed);
  make_order(feed, step / per_epoch);
  int64_t first_example =
      ((int64_t)(step % per_epoch) * feed->num_replicas + feed->replica) * feed->batch;
  for (size_t i = 0; i < feed->params.count; i++)
    HR_TRY(gather(feed, &feed->params.data[i], feed->order + first_example, &feed->prefetched[i]));
  return NULL;
}

static void prefetch_examples(void *context) {
  cli_feed_t *feed = context;
  feed->prefetch_status = gather_step(feed, feed->prefetch_step);
}

/* Waits for the prefetched step, and discards it unless it is `step`; true: it is. */
static bool await_prefetched(cli_feed_t *feed, uint64_t step) {
  tp_work_wait(feed->work);
  feed->work = NULL;
  if (feed->has_prefetched && feed->prefetch_step == step) return true;
  for (size_t i = 0; feed->prefetched && i < feed->params.count; i++) {
    hlo_value_release(feed->prefetched[i]);
    feed->prefetched[i] = NULL;
  }
  hr_status_release(feed->prefetch_status);
  feed->prefetch_status = NULL;
  feed->has_prefetched = false;
  return false;
}

hr_status_t cli_feed_step(cli_feed_t *feed, uint64_t step, hlo_value_t **params) {
  if (!await_prefetched(feed, step)) feed->prefetch_status = gather_step(feed, step);
  hr_status_t st = feed->prefetch_status;
  feed->prefetch_status = NULL;
  feed->has_prefetched = false;
  if (st) return st;
  for (size_t i = 0; i < feed->params.count; i++) {
    hlo_value_release(params[feed->params.data[i].param]);
    params[feed->params.data[i].param] = feed->prefetched[i];
    feed->prefetched[i] = NULL;
  }
  feed->prefetch_step = step + 1;
  HR_TRY(tp_loop_work(feed->loop, prefetch_examples, feed, &feed->work));
  feed->has_prefetched = true;
  return NULL;
}

void cli_feed_destroy(cli_feed_t *feed) {
  if (!feed) return;
  await_prefetched(feed, UINT64_MAX);
  tp_loop_release(feed->loop);
  for (size_t i = 0; i < feed->params.count; i++) hlo_value_release(feed->params.data[i].set);
  HR_VEC_FREE(&feed->params);
  hr_arena_deinit(&feed->arena);
  hr_free(feed);
}
