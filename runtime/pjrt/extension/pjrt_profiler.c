/* The profiler extension: how a framework starts a profile, stops it and gets its data. Its
 * functions have structs of arguments and errors of their own, whose fields are the interface's. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "pjrt/extension/pjrt_profile.h"

/* One profile of the framework. What it collects lives until it is destroyed. */
typedef struct pjrt_profiler {
  hr_strbuf_t collected;
  bool has_collected;
} pjrt_profiler_t;

/* Structs of errors are laid out as the table's. */
static void error_destroy(pjrt_error_args_t *args) { pjrt_error_free(args->error); }
static void error_message(pjrt_error_message_args_t *args) {
  pjrt_error_free(pjrt_error_message(args));
}
static pjrt_error_t *error_code(pjrt_error_code_args_t *args) { return pjrt_error_get_code(args); }

/* Options are not read: all is shown. */
static pjrt_error_t *create(pjrt_profiler_create_args_t *args) {
  void *memory;
  hr_status_t st = hr_alloc_zeroed(sizeof(pjrt_profiler_t), &memory);
  if (st) return pjrt_error_from_status(st);
  args->profiler = memory;
  hr_strbuf_init(&args->profiler->collected);
  return NULL;
}

static pjrt_error_t *destroy(pjrt_profiler_args_t *args) {
  if (!args->profiler) return NULL;
  hr_strbuf_deinit(&args->profiler->collected);
  hr_free(args->profiler);
  return NULL;
}

static pjrt_error_t *start(pjrt_profiler_args_t *args) {
  (void)args;
  pjrt_profile_start();
  return NULL;
}

static pjrt_error_t *stop(pjrt_profiler_args_t *args) {
  (void)args;
  pjrt_profile_stop();
  return NULL;
}

/* Frameworks call it twice, without a buffer for the size and then with one that is filled; or
 * once, and read the profiler's own bytes. */
static pjrt_error_t *collect(pjrt_profiler_collect_args_t *args) {
  pjrt_profiler_t *profiler = args->profiler;
  if (!profiler->has_collected) {
    hr_status_t st = pjrt_profile_write(&profiler->collected);
    if (st) return pjrt_error_from_status(st);
    profiler->has_collected = true;
  }
  args->size = profiler->collected.size;
  if (args->buffer && args->size) memcpy(args->buffer, profiler->collected.data, args->size);
  if (!args->buffer) args->buffer = (uint8_t *)profiler->collected.data;
  return NULL;
}

/* An activity on a device, which the framework names. */
struct pjrt_tracking {
  int device;
  uint64_t begin_ns;
  char text[];
};

hr_status_t pjrt_tracking_create(pjrt_tracking_args_t *args) {
  void *memory;
  PJRT_NOT_NULL(args->device);
  size_t size = args->text ? args->text_size : 0;
  HR_TRY(hr_alloc_zeroed(sizeof(pjrt_tracking_t) + size + 1, &memory));
  args->tracking = memory;
  args->tracking->device = args->device->id;
  args->tracking->begin_ns = hr_clock_ns();
  if (size) memcpy(args->tracking->text, args->text, size);
  return NULL;
}

/* AsyncTrackingEvent_Destroy: the activity ends. A profile that is being taken shows it. */
hr_status_t pjrt_tracking_destroy(pjrt_object_args_t *args) {
  pjrt_tracking_t *tracking = args->object;
  if (!tracking) return NULL;
  pjrt_profile_note(tracking->device, tracking->text, tracking->begin_ns);
  hr_free(tracking);
  return NULL;
}

static pjrt_profiler_api_t profiler_api = {.struct_size = sizeof profiler_api,
                                           .error_destroy = error_destroy,
                                           .error_message = error_message,
                                           .error_code = error_code,
                                           .create = create,
                                           .destroy = destroy,
                                           .start = start,
                                           .stop = stop,
                                           .collect = collect};

pjrt_profiler_extension_t pjrt_profiler_extension = {
    .base = {sizeof pjrt_profiler_extension, PJRT_EXTENSION_PROFILER, NULL}, .api = &profiler_api};
