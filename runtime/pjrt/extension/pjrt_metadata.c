/* The extension for metadata of executables: a serialized xla.ExecutableMetadata, which holds the
 * same figures of memory as Executable_GetCompiledMemoryStats. Field numbers are those of
 * executable_metadata.proto. */
#include <string.h>

#include "base/mem.h"
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/abi/pjrt_error.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "proto/proto_wire.h"

enum { METADATA_COMPILED_MEMORY = 1 };
enum {
  MEMORY_GENERATED_CODE = 1,
  MEMORY_ARGUMENTS,
  MEMORY_RESULTS,
  MEMORY_ALIASES,
  MEMORY_TEMPORARIES,
  MEMORY_PEAK = 14,
  MEMORY_TOTAL
};

static hr_status_t write_metadata(pjrt_executable_t *executable, hr_strbuf_t *text) {
  pjrt_compiled_memory_args_t memory = {.struct_size = sizeof memory, .executable = executable};
  HR_TRY(pjrt_executable_memory(&memory));
  size_t begin = proto_open(text, METADATA_COMPILED_MEMORY);
  proto_put_int(text, MEMORY_GENERATED_CODE, memory.generated_code);
  proto_put_int(text, MEMORY_ARGUMENTS, memory.arguments);
  proto_put_int(text, MEMORY_RESULTS, memory.results);
  proto_put_int(text, MEMORY_ALIASES, memory.aliases);
  proto_put_int(text, MEMORY_TEMPORARIES, memory.temporaries);
  proto_put_int(text, MEMORY_PEAK, memory.peak);
  proto_put_int(text, MEMORY_TOTAL, memory.total);
  proto_close(text, begin);
  return hr_strbuf_finish(text);
}

/* The metadata and its bytes are one allocation. */
static hr_status_t create(pjrt_metadata_args_t *args, hr_strbuf_t *text) {
  void *memory;
  PJRT_NOT_NULL(args->executable);
  HR_TRY(write_metadata(args->executable, text));
  HR_TRY(hr_alloc(sizeof(pjrt_metadata_t) + text->size, &memory));
  pjrt_metadata_t *metadata = memory;
  char *bytes = memcpy(metadata + 1, text->data, text->size);
  *metadata = (pjrt_metadata_t){.bytes = bytes, .size_bytes = text->size};
  args->metadata = metadata;
  return NULL;
}

/* Frameworks look for an answer, not for an error. */
static pjrt_error_t *get(pjrt_metadata_args_t *args) {
  hr_strbuf_t text;
  args->metadata = NULL;
  hr_strbuf_init(&text);
  hr_status_t st = create(args, &text);
  hr_strbuf_deinit(&text);
  return pjrt_error_from_status(st);
}

static void destroy(pjrt_metadata_destroy_args_t *args) { hr_free(args->metadata); }

pjrt_metadata_extension_t pjrt_metadata_extension = {
    .base = {sizeof pjrt_metadata_extension, PJRT_EXTENSION_EXECUTABLE_METADATA, NULL},
    .get = get,
    .destroy = destroy};
