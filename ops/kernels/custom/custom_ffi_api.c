/* The table of functions for FFI handlers. Memory and tasks are on the host: a task runs at once,
 * in the thread of the call. There is no stream. */
#include "ops/kernels/custom/custom_ffi_api.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_code.h"
#include "ops/query/custom_ffi.h"

/* Handlers that were built with the framework may treat an error as the framework's own object, a
 * status word that is freed with it: (code << 2) + 1 is a code without a message (absl::Status). */
struct ffi_error {
  uintptr_t status;
  char message[];
};

struct ffi_future {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_set;
  ffi_error_t *error;
};

/* Errors are allocated by malloc: handlers may drop them at any time. */
static ffi_error_t *make_error(int code, const char *message) {
  size_t size = strlen(message) + 1;
  ffi_error_t *error = malloc(sizeof *error + size);
  if (!error) abort(); /* there is no way to report it */
  error->status = ((uintptr_t)code << 2) + 1;
  memcpy(error->message, message, size);
  return error;
}

enum { CODE_INVALID = 3, CODE_UNIMPLEMENTED = 12, CODE_NO_MEMORY = 8, CODE_NOT_FOUND = 5 };

static ffi_error_t *error_create(void *args_) {
  const ffi_error_create_args_t *args = args_;
  return make_error(args->code, args->message ? args->message : "");
}
static void error_message(void *args_) {
  ffi_error_message_args_t *args = args_;
  args->message = args->error ? args->error->message : "";
}
static void error_destroy(void *args_) { free(((ffi_error_args_t *)args_)->error); }

static ffi_error_t *handler_register(void *args) {
  (void)args;
  return make_error(CODE_UNIMPLEMENTED, "a handler registers others: register them by the caller");
}
static ffi_error_t *stream_get(void *args) {
  (void)args;
  return make_error(CODE_UNIMPLEMENTED, "a CPU has no stream");
}

static ffi_error_t *type_register(void *args_) {
  const ffi_type_args_t *args = args_;
  const ffi_type_info_t *info = args->type_info;
  hr_status_t st = custom_ffi_type((hr_str_t){args->name.data, args->name.size},
                                   info ? info->destroy : NULL, args->type_id);
  hr_status_release(st);
  return st ? make_error(CODE_NO_MEMORY, "no memory for a type") : NULL;
}

static ffi_error_t *user_data_get(void *args_) {
  ffi_user_data_args_t *args = args_;
  const custom_ffi_context_t *context = custom_ffi_current();
  args->data = context && context->find ? context->find(context->context, *args->type_id) : NULL;
  return args->data ? NULL : make_error(CODE_NOT_FOUND, "the execution has no data of this type");
}

static ffi_error_t *state_set(void *args_) {
  const ffi_state_args_t *args = args_;
  if (args->stage < 0 || args->stage >= FFI_STAGES)
    return make_error(CODE_INVALID, "a state of an unknown stage");
  ffi_states_t *states = args->execution->states;
  if (states->states[args->stage].object) return make_error(CODE_INVALID, "a state is set twice");
  states->states[args->stage].object = args->state;
  states->states[args->stage].type = *args->type_id;
  return NULL;
}
static ffi_error_t *state_get(void *args_) {
  ffi_state_args_t *args = args_;
  if (args->stage < 0 || args->stage >= FFI_STAGES)
    return make_error(CODE_INVALID, "a state of an unknown stage");
  const ffi_states_t *states = args->execution->states;
  args->state = states->states[args->stage].object;
  if (!args->state) return make_error(CODE_NOT_FOUND, "no state was set");
  if (states->states[args->stage].type == *args->type_id) return NULL;
  return make_error(CODE_INVALID, "the state is of another type");
}

void custom_ffi_end_states(ffi_states_t *states, int first) {
  for (int stage = first; stage < FFI_STAGES; stage++) {
    void *object = states->states[stage].object;
    custom_ffi_delete_fn destroy = object ? custom_ffi_destroyer(states->states[stage].type) : NULL;
    if (destroy) destroy(object);
    states->states[stage].object = NULL;
  }
}

static ffi_error_t *memory_allocate(void *args_) {
  ffi_allocate_args_t *args = args_;
  size_t alignment = args->alignment < sizeof(void *) ? sizeof(void *) : args->alignment;
  if (!posix_memalign(&args->data, alignment, args->size_bytes ? args->size_bytes : 1)) return NULL;
  return make_error(CODE_NO_MEMORY, "no memory for a handler");
}
static ffi_error_t *memory_free(void *args) {
  free(((ffi_free_args_t *)args)->data);
  return NULL;
}

static ffi_error_t *task_schedule(void *args_) {
  const ffi_task_args_t *args = args_;
  args->task(args->data);
  return NULL;
}
static ffi_error_t *thread_count(void *args) {
  *((ffi_threads_args_t *)args)->count = 1;
  return NULL;
}

static ffi_error_t *future_create(void *args_) {
  ffi_future_args_t *args = args_;
  args->future = calloc(1, sizeof *args->future);
  if (!args->future) return make_error(CODE_NO_MEMORY, "no memory for a future");
  pthread_mutex_init(&args->future->mutex, NULL);
  pthread_cond_init(&args->future->changed, NULL);
  return NULL;
}

static void set_future(ffi_future_t *future, ffi_error_t *error) {
  pthread_mutex_lock(&future->mutex);
  future->is_set = true;
  future->error = error;
  pthread_cond_signal(&future->changed);
  pthread_mutex_unlock(&future->mutex);
}
static ffi_error_t *future_set(void *args) {
  set_future(((ffi_future_args_t *)args)->future, NULL);
  return NULL;
}
static ffi_error_t *future_set_error(void *args_) {
  const ffi_future_args_t *args = args_;
  set_future(args->future, args->error);
  return NULL;
}

static ffi_error_t *run_id(void *args_) {
  ffi_int_args_t *args = args_;
  args->value = args->execution->run_id;
  return NULL;
}
static ffi_error_t *device_ordinal(void *args_) {
  ffi_int_args_t *args = args_;
  const custom_ffi_context_t *context = custom_ffi_current();
  int32_t device = context ? context->device : 0;
  memcpy(&args->value, &device, sizeof device);
  return NULL;
}

/* Waits for the handler's result and frees the future, which has no other owner then. */
ffi_error_t *custom_ffi_await(ffi_future_t *future) {
  if (!future) return NULL;
  pthread_mutex_lock(&future->mutex);
  while (!future->is_set) pthread_cond_wait(&future->changed, &future->mutex);
  ffi_error_t *error = future->error;
  pthread_mutex_unlock(&future->mutex);
  pthread_cond_destroy(&future->changed);
  pthread_mutex_destroy(&future->mutex);
  free(future);
  return error;
}

/* Codes are absl's (3 invalid argument, 12 unimplemented, ...); unlisted ones become internal
 * errors. The status keeps the code for a caller that has the same ones. */
hr_status_t custom_ffi_status(ffi_error_t *error, const char *target) {
  static const hr_code_t codes[] = {
      [1] = HR_CANCELLED, [3] = HR_USAGE,        [4] = HR_DEADLINE,
      [8] = HR_NO_MEMORY, [12] = HR_UNSUPPORTED, [14] = HR_UNAVAILABLE};
  if (!error) return NULL;
  hr_code_t code = HR_INTERNAL;
  size_t given = error->status >> 2;
  if (given < sizeof codes / sizeof *codes && codes[given]) code = codes[given];
  hr_status_t st = hr_error(code, "%s", error->message);
  hr_status_set_foreign_code(st, (int)given);
  free(error);
  return hr_status_note(st, "while calling %s", target);
}

const ffi_api_t custom_ffi_api = {.struct_size = sizeof custom_ffi_api,
                                  .version = {.struct_size = sizeof custom_ffi_api.version,
                                              .major = FFI_MAJOR,
                                              .minor = FFI_MINOR},
                                  .error_create = error_create,
                                  .error_message = error_message,
                                  .error_destroy = error_destroy,
                                  .handler_register = handler_register,
                                  .stream_get = stream_get,
                                  .type_register = type_register,
                                  .user_data_get = user_data_get,
                                  .state_set = state_set,
                                  .state_get = state_get,
                                  .memory_allocate = memory_allocate,
                                  .memory_free = memory_free,
                                  .task_schedule = task_schedule,
                                  .thread_count = thread_count,
                                  .future_create = future_create,
                                  .future_set = future_set,
                                  .future_set_error = future_set_error,
                                  .run_id = run_id,
                                  .device_ordinal = device_ordinal};
