/* The extension for transformations: the framework registers code that changes programs while they
 * are compiled, as jax.extend.xla.register_hlo_module_transformation does. The code gets a
 * serialized HloModuleProto, the program of one partition before hlorun's own passes, and may
 * return another one. Transformations of the stage before the scheduler come first, then those of
 * the stage after it, each in the order of registration. In neither stage has the program a
 * schedule: plans are made later. */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "partition/host.h"
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "proto/hlo_proto.h"
#include "read/read.h"

enum { STAGES = 2 }; /* before the scheduler, behind it */

typedef struct pjrt_transform transform_t;
struct pjrt_transform {
  transform_t *next;
  hr_str_t name;
  int stage;
  pjrt_transform_callbacks_t *callbacks;
  int users; /* executables compiled with it, which may be compiled again */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static transform_t *transforms; /* guarded by the mutex, as are the users; the oldest first */

static hr_status_t check_stage(int stage) {
  if (stage >= 0 && stage < STAGES) return NULL;
  return hr_error(HR_USAGE, "stage %d of a transformation, want 0 or 1", stage);
}

/* Register_Xla_Transform. The callbacks are the plugin's from here on. */
static hr_status_t pjrt_transform_register(pjrt_transform_args_t *args) {
  void *memory;
  PJRT_NOT_NULL(args->name);
  PJRT_NOT_NULL(args->callbacks);
  PJRT_NOT_NULL(args->callbacks->transform);
  HR_TRY(check_stage(args->stage));
  if (args->callbacks->version != PJRT_TRANSFORM_VERSION)
    return hr_error(HR_USAGE, "version %ld of a transformation's callbacks, want %d",
                    (long)args->callbacks->version, PJRT_TRANSFORM_VERSION);
  HR_TRY(hr_alloc(sizeof(transform_t) + args->name_size, &memory));
  transform_t *row = memory;
  char *name = memcpy(row + 1, args->name, args->name_size);
  *row = (transform_t){NULL, {name, args->name_size}, args->stage, args->callbacks, 0};
  pthread_mutex_lock(&mutex);
  transform_t **end = &transforms;
  while (*end) end = &(*end)->next;
  *end = row;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* Takes the rows of this name and stage out of the list; returns those that nobody uses. */
static transform_t *take_out(int stage, hr_str_t name, bool *out_found) {
  transform_t *unused = NULL;
  pthread_mutex_lock(&mutex);
  for (transform_t **place = &transforms, *row; (row = *place);) {
    if (row->stage != stage || !hr_str_equal(row->name, name)) {
      place = &row->next;
      continue;
    }
    *out_found = true;
    *place = row->next;
    if (row->users) continue;
    row->next = unused;
    unused = row;
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

/* Clear_Xla_Transform: all of the name. A transformation in use lives as long as the process: the
 * destructor of its callbacks may need a lock that the caller of this function holds and the last
 * user does not. */
static hr_status_t pjrt_transform_clear(pjrt_transform_clear_args_t *args) {
  PJRT_NOT_NULL(args->name);
  HR_TRY(check_stage(args->stage));
  args->cleared = false;
  transform_t *row = take_out(args->stage, (hr_str_t){args->name, args->name_size}, &args->cleared);
  while (row) {
    transform_t *next = row->next;
    if (row->callbacks->destroy) row->callbacks->destroy(row->callbacks);
    hr_free(row);
    row = next;
  }
  return NULL;
}

/* --- one program --- */

/* The registered ones into `list`, which has room for them; NULL: only counts. With the mutex held.
 */
static int copy_list(transform_t **list) {
  int count = 0;
  for (transform_t *row = transforms; row; row = row->next, count++)
    if (list) list[count] = row;
  return count;
}

/* With the mutex held. */
static hr_status_t note_list(pjrt_executable_t *executable, const pjrt_executable_t *like) {
  int count = like ? like->transform_count : copy_list(NULL);
  if (!count) return NULL;
  HR_TRY(HR_NEW_ARRAY(&executable->arena, count, &executable->transforms));
  executable->transform_count = count;
  if (!like) copy_list(executable->transforms);
  for (int i = 0; i < count; i++) {
    if (like) executable->transforms[i] = like->transforms[i];
    executable->transforms[i]->users++;
  }
  return NULL;
}

hr_status_t pjrt_transforms_retain(pjrt_executable_t *executable, const pjrt_executable_t *like) {
  pthread_mutex_lock(&mutex);
  hr_status_t st = note_list(executable, like);
  pthread_mutex_unlock(&mutex);
  return st;
}

void pjrt_transforms_release(pjrt_executable_t *executable) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < executable->transform_count; i++) executable->transforms[i]->users--;
  pthread_mutex_unlock(&mutex);
}

/* The answer's bytes are the framework's. */
static hr_status_t read_program(pjrt_answer_text_t text, hlo_module_t **out_module) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_create(text.size, &bytes));
  memcpy(hr_buffer_data(bytes), text.data, text.size);
  hr_status_t st = read_module("<transformation>", bytes, out_module);
  hr_buffer_release(bytes);
  return st;
}

/* Callers know the parameters and the result of the program that was there before. */
static hr_status_t check_interface(const hlo_module_t *module, const hlo_module_t *changed) {
  size_t count = module->entry->params.count;
  bool fits = count == changed->entry->params.count &&
              hlo_shape_compatible(hlo_entry_result_shape(module), hlo_entry_result_shape(changed));
  for (size_t p = 0; p < count && fits; p++)
    fits = hlo_shape_compatible(hlo_entry_param_shape(module, (int)p),
                                hlo_entry_param_shape(changed, (int)p));
  return fits ? NULL : hr_error(HR_INVALID, "the program has other parameters or results now");
}

/* *out_changed is NULL where the transformation leaves the program as it is. */
static hr_status_t call(const transform_t *row, hr_buffer_t *bytes, hlo_module_t **out_changed) {
  pjrt_transform_call_t args = {.struct_size = sizeof args};
  args.header.api_version = PJRT_TRANSFORM_VERSION;
  args.module = (pjrt_answer_text_t){hr_buffer_data(bytes), hr_buffer_size(bytes)};
  *out_changed = NULL;
  row->callbacks->transform(row->callbacks, &args);
  hr_status_t st = pjrt_answer_status(&args.header);
  if (!st && args.changed) st = read_program(args.transformed, out_changed);
  if (args.header.free) args.header.free(args.header.data);
  return st;
}

/* Replaces *program, which the caller destroys unless it is `original`. */
static hr_status_t apply(const transform_t *row, hlo_module_t *original, hlo_module_t **program) {
  hr_buffer_t *bytes;
  hlo_module_t *changed;
  HR_TRY(pjrt_rename_instrs(*program));
  HR_TRY(write_hlo_proto(*program, HLO_PROTO_MODULE, &bytes));
  hr_status_t st = call(row, bytes, &changed);
  hr_buffer_release(bytes);
  if (st || !changed) return st;
  st = check_interface(original, changed);
  hlo_module_t *old = st ? changed : *program;
  if (!st) *program = changed;
  if (old != original) hlo_module_destroy(old);
  return st;
}

static hr_status_t apply_all(const pjrt_executable_t *executable, hlo_module_t *original,
                             hlo_module_t **program) {
  for (int stage = 0; stage < STAGES; stage++)
    for (int i = 0; i < executable->transform_count; i++) {
      const transform_t *row = executable->transforms[i];
      if (row->stage == stage)
        HR_TRY(hr_status_note(apply(row, original, program), "while transforming by %.*s",
                              HR_STR_ARGS(row->name)));
    }
  return NULL;
}

hr_status_t pjrt_transform(void *context, hlo_module_t *module, hlo_module_t **out_changed) {
  pjrt_executable_t *executable = context;
  hlo_module_t *program = module;
  hr_status_t st = apply_all(executable, module, &program);
  bool is_changed = program != module;
  if (st && is_changed) hlo_module_destroy(program);
  if (st) return st;
  executable->is_transformed = is_changed;
  *out_changed = is_changed ? program : NULL;
  return NULL;
}

PJRT_ENTRY(Register_Xla_Transform, transform_register, pjrt_transform_args_t, callbacks)
PJRT_ENTRY(Clear_Xla_Transform, transform_clear, pjrt_transform_clear_args_t, cleared)

pjrt_transform_extension_t pjrt_transform_extension = {
    .base = {sizeof pjrt_transform_extension, PJRT_EXTENSION_XLA_TRANSFORM, NULL},
    .functions = {call_transform_register, call_transform_clear}};
