/* The function table, and the symbol by which a framework finds it. Each entry checks that the
 * caller's struct is there and has all fields that the function needs, calls the function, and
 * translates its status. Functions that are not implemented fail with their name. */
#include "pjrt/abi/pjrt_api.h"

#include "pjrt/abi/pjrt_error.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "pjrt/extension/pjrt_python.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

/* JAX hands objects from thread to thread under locks that the sanitizer of threads does not see:
 * for it, a call begins after all calls that have ended before. */
static char ended_calls;

static void note_begin(void) { __tsan_acquire(&ended_calls); }
void pjrt_note_end(void) { __tsan_release(&ended_calls); }
#else
static inline void note_begin(void) {}
#endif

/* The first field of every struct is its size, so that the check need not know the type. */
hr_status_t pjrt_check_args(const void *args, size_t size_bytes, const char *name) {
  note_begin();
  if (!args) return hr_error(HR_USAGE, "%s: the arguments are NULL", name);
  size_t found = *(const size_t *)args;
  if (found >= size_bytes) return NULL;
  return hr_error(HR_USAGE, "%s: struct_size is %zu, want at least %zu", name, found, size_bytes);
}

/* Size in bytes of a struct of arguments up to its field `last`, that field included. */
#define END_OF(args, last) \
  (offsetof(pjrt_##args##_args_t, last) + sizeof(((pjrt_##args##_args_t *)NULL)->last))

/* One entry of the table per row. Success is the likely path: it costs one comparison and one
 * call. */
#define PJRT_FUNCTION(name, fn, args, last)                                         \
  static pjrt_error_t *call_##name(void *arguments) {                               \
    hr_status_t st = pjrt_check_args(arguments, END_OF(args, last), "PJRT_" #name); \
    if (!st) st = pjrt_##fn(arguments);                                             \
    pjrt_note_end();                                                                \
    return __builtin_expect(st != NULL, false) ? pjrt_error_from_status(st) : NULL; \
  }
#define PJRT_DIRECT(name, fn, args, last)                                           \
  static pjrt_error_t *call_##name(void *arguments) {                               \
    hr_status_t st = pjrt_check_args(arguments, END_OF(args, last), "PJRT_" #name); \
    pjrt_error_t *error = st ? pjrt_error_from_status(st) : pjrt_##fn(arguments);   \
    pjrt_note_end();                                                                \
    return error;                                                                   \
  }
#include "pjrt/abi/pjrt_functions.def"
#undef PJRT_FUNCTION
#undef PJRT_DIRECT

/* The table. It is constant but for the list of extensions, which GetPjrtApi links. */
static pjrt_api_t api = {
    .struct_size = sizeof api,
    .version = {.struct_size = sizeof api.version, .major = PJRT_MAJOR, .minor = PJRT_MINOR},
    .functions = {
#define PJRT_FUNCTION(name, fn, args, last) call_##name,
#define PJRT_DIRECT(name, fn, args, last) call_##name,
#include "pjrt/abi/pjrt_functions.def"
#undef PJRT_FUNCTION
#undef PJRT_DIRECT
    }};

/* The one symbol that the plugin exports: frameworks find it with dlsym. The table is static; a
 * second call links the same list again. */
const pjrt_api_t *GetPjrtApi(void);
const pjrt_api_t *GetPjrtApi(void) {
  api.extension_start = &pjrt_shardings_extension.base;
  pjrt_shardings_extension.base.next = &pjrt_layouts_extension.base;
  pjrt_layouts_extension.base.next = &pjrt_memories_extension.base;
  pjrt_memories_extension.base.next = &pjrt_ffi_extension.base;
  pjrt_ffi_extension.base.next = &pjrt_partitioner_extension.base;
  pjrt_partitioner_extension.base.next = &pjrt_profiler_extension.base;
  pjrt_profiler_extension.base.next = &pjrt_metadata_extension.base;
  pjrt_metadata_extension.base.next = &pjrt_transform_extension.base;
  pjrt_transform_extension.base.next = &pjrt_raw_buffer_extension.base;
  pjrt_raw_buffer_extension.base.next = &pjrt_host_allocator_extension.base;
  return &api;
}

/* Plugin_Initialize. It comes before any client, and only readies callbacks into Python. */
hr_status_t pjrt_plugin_initialize(pjrt_plugin_args_t *args) {
  (void)args;
  pjrt_python_begin();
  return NULL;
}

/* The version of StableHLO that programs are to be written in: the newest that runtime/mlir reads
 * in all its forms. */
static const int64_t stablehlo_current[] = {1, 17, 0}, stablehlo_minimum[] = {0, 9, 0};

/* An attribute whose value is a version of three numbers. */
#define STABLEHLO_VERSION(text, list)                                                       \
  {                                                                                         \
    .struct_size = sizeof(pjrt_named_t), .name = text, .name_size = sizeof text - 1,        \
    .kind = PJRT_NAMED_INT64_LIST, .int64s = list, .value_size = sizeof list / sizeof *list \
  }

/* Plugin_Attributes. JAX writes its programs in `stablehlo_current_version`; without the
 * attribute it takes a version that is twelve weeks old. */
hr_status_t pjrt_plugin_attributes(pjrt_plugin_attributes_args_t *args) {
  static const pjrt_named_t attributes[] = {
      STABLEHLO_VERSION("stablehlo_current_version", stablehlo_current),
      STABLEHLO_VERSION("stablehlo_minimum_version", stablehlo_minimum),
      {.struct_size = sizeof(pjrt_named_t),
       .name = "xla_version",
       .name_size = 11,
       .kind = PJRT_NAMED_INT64,
       .int64 = 2,
       .value_size = 1}};
  args->attributes = attributes;
  args->count = sizeof attributes / sizeof *attributes;
  return NULL;
}
