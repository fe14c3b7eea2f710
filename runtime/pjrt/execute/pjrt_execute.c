/* Executions. A launch has one run per local device of the executable's world:
 *
 *   caller:   check, hold arguments, make results -> run at once, or append to the streams
 *   stream:   wait for arguments of other streams -> libhlorun -> hand over results, fire the event
 *
 * A run is done in the calling thread if the program is on one device, was quick before (or is
 * small), its arguments are there, and nothing waits in the stream. One event signals the end of a
 * run: it is the ready event of all its results. Runs of one launch enter the streams under a lock,
 * so that devices that talk to each other see launches in one order.
 * Cost: two allocations per result and two per run. */
#include <string.h>

#include "base/clock.h"
#include "base/mem_object.h"
#include "ops/query/custom_ffi.h"
#include "pjrt/execute/pjrt_agree.h"
#include "pjrt/buffer/pjrt_buffer.h"
#include "pjrt/execute/pjrt_context.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/client/pjrt_fork.h"
#include "pjrt/execute/pjrt_host_transfer.h"
#include "pjrt/extension/pjrt_profile.h"

#define QUICK_NS 100000 /* executions that take less run in the calling thread */

/* One device's part of a launch. It and its lists are one block. */
typedef struct run {
  pjrt_job_t job; /* first member */
  pjrt_executable_t *executable;
  int local; /* position of the device in the world */
  int launch_id;
  pjrt_error_t *poison;    /* fails the run in place of its execution; guarded by the stream */
  pjrt_context_t *context; /* user data of the caller; may be NULL */
  pjrt_host_ends_t *host;  /* for transfers with the host; NULL: none */
  pjrt_event_t *done;      /* the "ready" of all results; NULL for a run in the calling thread */
  pjrt_buffer_t **args;    /* held */
  pjrt_buffer_t **results; /* one reference of each is the run's; NULL: made when it is over */
  hlo_value_t **values;    /* values of the arguments, then of the results */
  bool *donate;            /* per argument: the program may overwrite the value */
} run_t;

/* Signature of custom_ffi_context_t.find.
 * The list is short: one entry, the callbacks of JAX, is usual. */
static void *find_user_data(const void *context, int64_t type_id) {
  const pjrt_context_t *c = context;
  for (const pjrt_user_data_t *data = c ? c->first : NULL; data; data = data->next)
    if (data->type_id == type_id || type_id == CUSTOM_FFI_ANY_TYPE) return data->data;
  return NULL;
}

/* --- a run --- */

/* The block holds, behind the run: arguments, results, values of both, flags of donation. */
static hr_status_t create_run(pjrt_executable_t *executable, int local, run_t **out_run) {
  size_t args = (size_t)executable->param_count, results = (size_t)executable->result_count;
  void *memory;
  size_t size_bytes = sizeof(run_t) + 2 * (args + results) * sizeof(void *) + args;
  HR_TRY(hr_alloc_object(size_bytes, &memory));
  hr_clear(memory, size_bytes);
  run_t *run = memory;
  run->executable = pjrt_executable_retain(executable);
  run->local = local;
  run->args = (pjrt_buffer_t **)(run + 1);
  run->results = run->args + args;
  run->values = (hlo_value_t **)(run->results + results);
  run->donate = (bool *)(run->values + args + results);
  *out_run = run;
  return NULL;
}

/* Releases arguments that are still held. */
static void destroy_run(run_t *run) {
  const pjrt_executable_t *executable = run->executable;
  for (int k = 0; k < executable->param_count; k++) {
    if (!run->args[k]) continue;
    pjrt_buffer_unhold(run->args[k]);
    pjrt_buffer_release(run->args[k]);
  }
  for (int r = 0; r < executable->result_count; r++) pjrt_buffer_release(run->results[r]);
  pjrt_error_free(run->poison);
  pjrt_event_release(run->done);
  pjrt_context_release(run->context);
  pjrt_host_ends_destroy(run->host);
  pjrt_executable_release(run->executable);
  hr_free(run);
}

/* The caller may keep an argument that the program would overwrite (kept_inputs). */
static bool may_donate(const pjrt_executable_t *executable, const pjrt_execute_options_t *options,
                       int k) {
  if (!executable->donated[k]) return false;
  for (size_t i = 0; options && i < options->num_kept_inputs; i++)
    if (options->kept_inputs[i] == k) return false;
  return true;
}

static hr_status_t argument_error(const pjrt_executable_t *executable, int k,
                                  const pjrt_buffer_t *buffer) {
  char want[HLO_SHAPE_TEXT], found[HLO_SHAPE_TEXT];
  hlo_shape_t shape = {.dtype = buffer->dtype, .rank = buffer->rank, .dims = buffer->dims};
  return hr_error(HR_USAGE, "argument %d of %s is %s, the program wants %s", k, executable->name,
                  hlo_shape_text(&shape, found), hlo_shape_text(executable->params[k], want));
}

/* Sizes of a dynamic buffer are not checked here: they are known once it is computed. */
static hr_status_t check_argument(const pjrt_executable_t *executable, int k,
                                  const pjrt_buffer_t *buffer) {
  const hlo_shape_t *shape = executable->params[k];
  if (!buffer) return hr_error(HR_USAGE, "argument %d of %s is NULL", k, executable->name);
  if (shape->dtype == HR_TOKEN) return NULL; /* any array represents a token: JAX passes pred[0] */
  if (buffer->dtype != shape->dtype || buffer->rank != shape->rank)
    return argument_error(executable, k, buffer);
  for (int d = 0; d < shape->rank && !buffer->is_dynamic; d++)
    if (buffer->dims[d] != shape->dims[d] && !(shape->dynamic && shape->dynamic[d]))
      return argument_error(executable, k, buffer);
  return NULL;
}

/* A buffer that is donated may be passed once. */
static hr_status_t check_repeated(const run_t *run, int count, pjrt_buffer_t *buffer,
                                  bool donated) {
  for (int k = 0; k < count; k++)
    if (run->args[k] == buffer && (run->donate[k] || donated))
      return hr_error(HR_USAGE,
                      "Attempt to donate the same buffer twice in Execute(): it is argument %d and "
                      "%d of %s",
                      k, count, run->executable->name);
  return NULL;
}

/* After a failure half-way, destroy_run releases the arguments held so far. */
static hr_status_t hold_arguments(run_t *run, pjrt_buffer_t *const *args,
                                  const pjrt_execute_options_t *options) {
  const pjrt_executable_t *executable = run->executable;
  for (int k = 0; k < executable->param_count; k++) {
    HR_TRY(check_argument(executable, k, args[k]));
    bool donated = executable->has_donations && may_donate(executable, options, k);
    if (executable->has_donations) HR_TRY(check_repeated(run, k, args[k], donated));
    HR_TRY(donated ? pjrt_buffer_donate(args[k]) : pjrt_buffer_hold(args[k]));
    run->donate[k] = donated;
    run->args[k] = pjrt_buffer_retain(args[k]);
  }
  return NULL;
}

static pjrt_memory_t *result_memory(const run_t *run, int r) {
  const pjrt_executable_t *executable = run->executable;
  pjrt_device_t *device = executable->world->devices[run->local];
  return device->memory_list[executable->results[r].memory_kind];
}

/* Results for the framework, which come later.
 * All results are made before any is given to the caller, who owns nothing after a failure. */
static hr_status_t make_pending(run_t *run, pjrt_buffer_t **out_results) {
  const pjrt_executable_t *executable = run->executable;
  HR_TRY(pjrt_event_new(&run->done));
  for (int r = 0; r < executable->result_count; r++) {
    HR_TRY(pjrt_buffer_pending(result_memory(run, r), executable->results[r].shape, run->done,
                               &run->results[r]));
    run->results[r]->order = executable->results[r].order;
  }
  for (int r = 0; r < executable->result_count; r++)
    out_results[r] = pjrt_buffer_retain(run->results[r]);
  return NULL;
}

/* Blocks only in the thread of a stream. The failure of an argument becomes that of the run. */
static hr_status_t await_arguments(run_t *run) {
  for (int k = 0; k < run->executable->param_count; k++) {
    hlo_value_t *value;
    HR_TRY(pjrt_buffer_wait(run->args[k], &value));
    if (run->args[k]->order)
      HR_TRY(pjrt_order_undo(run->args[k]->order, value, run->args[k]->dims, &value));
    run->values[k] = run->executable->params[k]->dtype == HR_TOKEN ? NULL : value;
  }
  return NULL;
}

/* Releases the row-major copies of arguments that lie in another order. */
static void release_copies(run_t *run) {
  for (int k = 0; k < run->executable->param_count; k++) {
    if (!run->args[k] || !run->args[k]->order) continue;
    hlo_value_release(run->values[k]);
    run->values[k] = NULL;
  }
}

/* Donated values leave their buffers, unless a view of the framework needs them. A donated argument
 * in another order is passed as its row-major copy. */
static void take_donated(run_t *run) {
  for (int k = 0; k < run->executable->param_count; k++) {
    if (!run->donate[k]) continue;
    hlo_value_t *value = pjrt_buffer_take(run->args[k]);
    if (run->args[k]->order)
      hlo_value_release(value);
    else
      run->values[k] = value;
    pjrt_buffer_release(run->args[k]);
    run->args[k] = NULL;
  }
}

/* A moving average with weight 1/8 for the newest run. Two runs that end at once may lose one
 * time. */
static void note_time(pjrt_executable_t *executable, uint64_t took_ns) {
  long before = atomic_load_explicit(&executable->average_ns, memory_order_relaxed);
  long now = before ? (7 * before + (long)took_ns) / 8 : (long)took_ns;
  atomic_store_explicit(&executable->average_ns, now, memory_order_relaxed);
}

/* Is the result a value that the framework has as another array, too? */
static bool is_shared(const run_t *run, const pjrt_result_t *result) {
  return result->is_copy || (result->argument >= 0 && !run->donate[result->argument]);
}

/* Results that share one value get values of their own, and results wanted in another order of
 * dimensions are transposed. On failure the results are released. */
static hr_status_t finish_results(run_t *run) {
  const pjrt_executable_t *executable = run->executable;
  hlo_value_t **values = run->values + executable->param_count;
  hr_status_t st = NULL;
  for (int r = 0; r < executable->result_count && !st; r++) {
    const pjrt_result_t *result = &executable->results[r];
    hlo_value_t *made = NULL;
    if (result->order)
      st = pjrt_order_apply(result->order, values[r], &made);
    else if (is_shared(run, result))
      st = hlo_value_copy(values[r], &made);
    if (!made || st) continue;
    hlo_value_release(values[r]);
    values[r] = made;
  }
  for (int r = 0; st && r < executable->result_count; r++) hlo_value_release(values[r]);
  return st;
}

/* Runs the program. Meanwhile the caller's context is current, for handlers of custom calls; a
 * nested execution restores the outer one. */
static hr_status_t compute_held(run_t *run) {
  pjrt_executable_t *executable = run->executable;
  custom_ffi_context_t ffi = {.find = find_user_data,
                              .context = run->context,
                              .device = executable->world->devices[run->local]->local_id,
                              .run_id = run->launch_id};
  HR_TRY(await_arguments(run));
  HR_TRY(pjrt_launches_agree(executable, run->local));
  if (executable->has_donations) take_donated(run);
  host_transfers_t host = pjrt_host_ends_transfers(run->host);
  uint64_t begin_ns = hr_clock_ns();
  const custom_ffi_context_t *outer = custom_ffi_enter(&ffi);
  const host_transfers_t *outer_host = host_transfers_enter(run->host ? &host : NULL);
  hr_status_t st = hlorun_execute(executable->programs[run->local], run->values, run->donate,
                                  run->values + executable->param_count);
  host_transfers_enter(outer_host);
  custom_ffi_enter(outer);
  pjrt_profile_note(executable->world->devices[run->local]->id, executable->name, begin_ns);
  note_time(executable, hr_clock_ns() - begin_ns);
  bool is_to_finish = executable->has_orders || executable->has_copies;
  return !st && is_to_finish ? finish_results(run) : st;
}

static hr_status_t compute(run_t *run) {
  hr_status_t st = compute_held(run);
  release_copies(run);
  return st;
}

/* Cancels the peers, which would wait for this rank for ever. Later launches use another world. */
static void cancel_peers(pjrt_world_t *world, const char *reason) {
  if (world->count > 1) atomic_store(&world->is_broken, world->local_count == world->count);
  for (int i = 0; world->count > 1 && i < world->local_count; i++)
    hlorun_client_cancel(world->clients[i], reason);
}

/* Keeps the first failure of a world, which the framework gets for all devices, as it looks at one
 * device only: the others fail merely because they were cancelled. */
static void note_cause(pjrt_world_t *world, const pjrt_error_t *error) {
  pjrt_error_t *none = NULL, *cause = pjrt_error_copy(error);
  if (!atomic_compare_exchange_strong(&world->cause, &none, cause)) pjrt_error_free(cause);
}

/* The error of a run that has failed; its peers are cancelled. Releases the status. */
static pjrt_error_t *fail_run(const run_t *run, hr_status_t st) {
  pjrt_world_t *world = run->executable->world;
  const pjrt_error_t *cause = atomic_load(&world->cause);
  bool is_cancelled = hr_status_code(st) == HR_CANCELLED;
  if (is_cancelled && cause) {
    hr_status_release(st);
    return pjrt_error_copy(cause);
  }
  pjrt_error_t *error = pjrt_error_copy(run->poison);
  if (error)
    hr_status_release(st);
  else
    error = pjrt_error_from_status(st);
  if (!is_cancelled) note_cause(world, error);
  cancel_peers(world, pjrt_error_text(error));
  return error;
}

/* Signature of pjrt_job_t.run. The results are handed over before the event fires; the run is
 * destroyed before as well, so that the arguments are released when the event is set. */
static void run_later(pjrt_job_t *job) {
  run_t *run = (run_t *)job;
  const pjrt_executable_t *executable = run->executable;
  hr_status_t st = run->poison ? pjrt_error_status(run->poison) : compute(run);
  for (int r = 0; !st && r < executable->result_count; r++)
    pjrt_buffer_fulfil(run->results[r], run->values[executable->param_count + r]);
  pjrt_error_t *error = st ? fail_run(run, st) : NULL;
  pjrt_event_t *done = pjrt_event_retain(run->done);
  destroy_run(run);
  pjrt_event_fire(done, error);
  pjrt_event_release(done);
}

/* Signature of the function of pjrt_stream_visit. */
static bool poison_run(pjrt_job_t *job, void *context) {
  const pjrt_poison_args_t *args = context;
  run_t *run = (run_t *)job;
  if (job->run != run_later || run->launch_id != args->launch_id || run->poison) return false;
  run->poison = pjrt_error_given(args->code, args->message, args->message_size);
  return true;
}

/* Device_PoisonExecution: a run that has begun is not stopped. */
hr_status_t pjrt_poison(pjrt_poison_args_t *args) {
  PJRT_NOT_NULL(args->device);
  if (args->code == PJRT_OK) return hr_error(HR_USAGE, "a launch is poisoned without an error");
  args->is_poisoned = pjrt_stream_visit(&args->device->stream, poison_run, args);
  return NULL;
}

/* Runs in the calling thread.
 * The results are ready when they are given: they have no event. */
static hr_status_t run_now(run_t *run, pjrt_buffer_t **out_results) {
  const pjrt_executable_t *executable = run->executable;
  hlo_value_t **values = run->values + executable->param_count;
  HR_TRY(compute(run));
  hr_status_t st = NULL;
  int made = 0;
  for (int r = 0; r < executable->result_count; r++) {
    if (st)
      hlo_value_release(values[r]);
    else
      st = pjrt_buffer_in(result_memory(run, r), values[r], executable->results[r].order,
                          &out_results[r]);
    made += !st;
  }
  while (st && made) pjrt_buffer_release(out_results[--made]);
  return st;
}

/* A program of several devices always goes through the streams: its ranks wait for each other. So
 * does a program that receives from the host: the caller may send the data after the launch. For a
 * program that calls Python only its size counts: users expect that a small program's call raises
 * what its functions raise, however long they take. */
static bool can_run_now(const run_t *run) {
  const pjrt_executable_t *executable = run->executable;
  const pjrt_stream_t *stream = &executable->world->devices[run->local]->stream;
  long average_ns = atomic_load_explicit(&executable->average_ns, memory_order_relaxed);
  bool is_nested = custom_ffi_current() != NULL; /* its caller, a callback, would wait for ever */
  bool has_time = average_ns && !executable->calls_python;
  bool is_quick = has_time ? average_ns < QUICK_NS : executable->is_small;
  if (executable->world->count > 1 || run->host) return false;
  if (!is_nested && !(is_quick && pjrt_stream_is_free(stream))) return false;
  for (int k = 0; k < executable->param_count; k++)
    if (!pjrt_buffer_is_ready(run->args[k])) return false;
  return true;
}

/* --- a launch --- */

static hr_status_t check_launch(const pjrt_execute_args_t *args) {
  const pjrt_executable_t *executable = args->executable;
  PJRT_NOT_NULL(executable);
  PJRT_NOT_NULL(args->options);
  if (args->num_devices) PJRT_NOT_NULL(args->arguments);
  if (args->num_devices) PJRT_NOT_NULL(args->results);
  if (atomic_load(&executable->is_deleted))
    return hr_error(HR_USAGE, "executable %s has been deleted", executable->name);
  if (args->num_devices != (size_t)executable->world->local_count)
    return hr_error(HR_USAGE, "%s is executed on %zu devices, want %d", executable->name,
                    args->num_devices, executable->world->local_count);
  if (args->num_devices && args->num_args != (size_t)executable->param_count)
    return hr_error(HR_USAGE, "%s gets %zu arguments, want %d", executable->name, args->num_args,
                    executable->param_count);
  for (size_t i = 0; i < args->num_devices; i++)
    if ((args->num_args && !args->arguments[i]) || (executable->result_count && !args->results[i]))
      return hr_error(HR_USAGE, "the lists of device %zu are NULL", i);
  return NULL;
}

/* The run of one device, with its arguments held. On failure nothing stays held. */
static hr_status_t prepare(const pjrt_execute_args_t *args, int local, run_t **out_run) {
  HR_TRY(create_run(args->executable, local, out_run));
  const pjrt_execute_options_t *options = args->options;
  bool has_context = PJRT_HAS(options, context) && options->context;
  (*out_run)->launch_id = options->launch_id;
  (*out_run)->context = pjrt_context_retain(has_context ? options->context : NULL);
  hr_status_t st = pjrt_host_ends_create(options, local, &(*out_run)->host);
  if (!st) st = hold_arguments(*out_run, args->arguments[local], options);
  if (st) destroy_run(*out_run);
  return st;
}

/* The event of the device is set already when the caller gets it. */
static hr_status_t launch_now(const pjrt_execute_args_t *args, run_t *run) {
  hr_status_t st = run_now(run, args->results[0]);
  destroy_run(run);
  if (!st && args->complete) st = pjrt_event_new_ready(&args->complete[0]);
  return st;
}

/* Appends all runs to their streams. A failure half-way leaves peers without partners. */
static hr_status_t launch_later(const pjrt_execute_args_t *args, run_t **runs) {
  const pjrt_world_t *world = args->executable->world;
  hr_status_t st = NULL;
  pthread_mutex_lock(&args->executable->client->launch_mutex);
  for (int i = 0; i < world->local_count; i++) {
    if (!st) st = pjrt_stream_add(&world->devices[i]->stream, &runs[i]->job);
    if (!st) continue;
    cancel_peers(args->executable->world, hr_status_message(st));
    destroy_run(runs[i]);
  }
  pthread_mutex_unlock(&args->executable->client->launch_mutex);
  return st;
}

/* All runs are prepared before the first starts: a wrong argument of one device stops the launch
 * while nothing runs. */
static hr_status_t launch(const pjrt_execute_args_t *args, run_t **runs) {
  int count = args->executable->world->local_count, prepared = 0;
  hr_status_t st = NULL;
  while (!st && prepared < count) {
    st = prepare(args, prepared, &runs[prepared]);
    prepared += !st;
  }
  if (!st && count == 1 && can_run_now(runs[0])) return launch_now(args, runs[0]);
  for (int i = 0; i < count && !st; i++) {
    runs[i]->job.run = run_later;
    st = make_pending(runs[i], args->results[i]);
    if (!st && args->complete) args->complete[i] = pjrt_event_retain(runs[i]->done);
  }
  if (!st) return launch_later(args, runs);
  while (prepared) destroy_run(runs[--prepared]);
  return st;
}

/* The executable to launch: another one than the caller's where its world is broken, or a profile
 * is taken. */
static hr_status_t find_current(pjrt_executable_t **executable) {
  if (pjrt_profile_is_on()) HR_TRY(pjrt_executable_profiled(*executable, executable));
  return pjrt_executable_current(*executable, executable);
}

/* LoadedExecutable_Execute. It returns when the runs are queued, or done if they are quick. The
 * copy of the arguments may be shorter than the caller's struct, or longer. */
hr_status_t pjrt_execute(pjrt_execute_args_t *given) {
  run_t *few[16], **runs = few;
  void *memory = NULL;
  pjrt_execute_args_t copy, *args = given;
  HR_TRY(check_launch(args));
  HR_TRY(pjrt_check_fork());
  bool is_broken = atomic_load(&args->executable->world->is_broken);
  if (__builtin_expect(is_broken, false) || pjrt_profile_is_on()) {
    memcpy(&copy, given, sizeof copy < given->struct_size ? sizeof copy : given->struct_size);
    HR_TRY(find_current(&copy.executable));
    args = &copy;
  }
  if (args->num_devices > sizeof few / sizeof *few) {
    HR_TRY(hr_alloc(args->num_devices * sizeof *runs, &memory));
    runs = memory;
  }
  hr_status_t st = launch(args, runs);
  hr_free(memory);
  return st;
}
