/* The extension for memory of the host that is fast to transfer from and to. All memory is the
 * host's here; the alignment is that of the kernels. */
#include <stdint.h>

#include "base/mem.h"
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/abi/pjrt_extensions.h"

static hr_status_t pjrt_host_alignment(pjrt_size_args_t *args) {
  PJRT_NOT_NULL(args->object);
  args->value = HR_ALIGNMENT;
  return NULL;
}

/* An alignment is a power of two; 0: the preferred one. */
static hr_status_t check_request(const pjrt_host_allocate_args_t *args) {
  if (args->alignment & (args->alignment - 1))
    return hr_error(HR_USAGE, "an alignment of %zu bytes, want a power of 2", args->alignment);
  if (args->alignment <= SIZE_MAX / 4 && args->size_bytes <= SIZE_MAX / 4) return NULL;
  return hr_error(HR_NO_MEMORY, "%zu bytes, aligned to %zu", args->size_bytes, args->alignment);
}

/* In front of the memory lies the address that hr_free takes. */
static hr_status_t pjrt_host_allocate(pjrt_host_allocate_args_t *args) {
  void *block;
  PJRT_NOT_NULL(args->client);
  HR_TRY(check_request(args));
  size_t alignment = args->alignment > HR_ALIGNMENT ? args->alignment : HR_ALIGNMENT;
  HR_TRY(hr_alloc(args->size_bytes + alignment, &block));
  size_t skipped = alignment - (uintptr_t)block % alignment;
  void **memory = (void **)((char *)block + skipped);
  memory[-1] = block;
  args->memory = memory;
  return NULL;
}

static hr_status_t pjrt_host_free(pjrt_pointer_args_t *args) {
  void **memory = args->value;
  PJRT_NOT_NULL(args->object);
  if (memory) hr_free(memory[-1]);
  return NULL;
}

PJRT_ENTRY(HostAllocator_GetPreferredAlignment, host_alignment, pjrt_size_args_t, value)
PJRT_ENTRY(HostAllocator_Allocate, host_allocate, pjrt_host_allocate_args_t, memory)
PJRT_ENTRY(HostAllocator_Free, host_free, pjrt_pointer_args_t, value)

pjrt_host_allocator_extension_t pjrt_host_allocator_extension = {
    .base = {sizeof pjrt_host_allocator_extension, PJRT_EXTENSION_HOST_ALLOCATOR, NULL},
    .functions = {call_host_alignment, call_host_allocate, call_host_free}};
