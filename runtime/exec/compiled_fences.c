/* HLORUN_CHECK=memory: every buffer of the flat plan is a block of its own between guard pages
 * (base/fence.h) instead of a range of the arena; literals and arguments are read-only. An
 * out-of-bounds access faults at the accessing instruction. Arrays that share a buffer after
 * coalescing are not separated from each other. */
#include <string.h>

#include "base/mem.h"
#include "exec/compiled_parts.h"

static hr_status_t make_block(const flat_buffer_t *buffer, hr_fence_t **out_fence) {
  HR_TRY(hr_fence_create(buffer->size_bytes, out_fence));
  if (buffer->storage != FLAT_LITERAL) return NULL;
  memcpy(hr_fence_data(*out_fence), buffer->literal->data, buffer->size_bytes);
  hr_fence_seal(*out_fence, true);
  return NULL;
}

hr_status_t exec_fences_create(exec_compiled_t *machine) {
  const flat_plan_t *flat = machine->flat;
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, flat->buffer_count, &machine->fences));
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, flat->param_count, &machine->argument_fences));
  for (int b = 0; b < flat->buffer_count; b++) {
    const flat_buffer_t *buffer = &flat->buffers[b];
    bool is_known = buffer->storage == FLAT_ARENA || buffer->storage == FLAT_OVERLAY ||
                    buffer->storage == FLAT_LITERAL;
    if (is_known && buffer->coalesced_into < 0) HR_TRY(make_block(buffer, &machine->fences[b]));
  }
  return NULL;
}

void exec_fences_destroy(exec_compiled_t *machine) {
  for (int b = 0; machine->fences && b < machine->flat->buffer_count; b++)
    hr_fence_destroy(machine->fences[b]);
  for (int p = 0; machine->argument_fences && p < machine->flat->param_count; p++)
    hr_fence_destroy(machine->argument_fences[p]);
}

hr_status_t exec_fences_copy_argument(exec_compiled_t *machine, int p, const hlo_value_t *arg,
                                      void **out_address) {
  hr_fence_t **fence = &machine->argument_fences[p];
  hr_fence_destroy(*fence);
  *fence = NULL;
  HR_TRY(hr_fence_create(hlo_value_bytes(arg), fence));
  *out_address = hr_fence_data(*fence);
  memcpy(*out_address, arg->data, hlo_value_bytes(arg));
  hr_fence_seal(*fence, true);
  return NULL;
}
