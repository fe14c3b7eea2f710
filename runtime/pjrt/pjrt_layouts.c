/* The extensions for layouts and for memory descriptions. All arrays are row-major, so that a
 * layout is its rank; its serialized form is HLO text, "{2,1,0}". Layouts that a program asks for
 * are the compiler's affair. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "pjrt/pjrt_buffer.h"
#include "pjrt/pjrt_executable.h"
#include "pjrt/pjrt_extensions.h"

/* A layout is a pointer into this table: nothing is to be freed.
 * The entry's position is the rank; its content is not used. */
static const char ranks[HLO_MAX_RANK + 1];

static hr_status_t layout_of(size_t rank, void **out_layout) {
  if (rank > HLO_MAX_RANK)
    return hr_error(HR_USAGE, "an array of %zu dimensions, want at most %d", rank, HLO_MAX_RANK);
  *out_layout = (void *)(uintptr_t)&ranks[rank];
  return NULL;
}

static hr_status_t pjrt_layout_destroy(pjrt_object_args_t *args) {
  (void)args;
  return NULL;
}

/* Layouts_MemoryLayout_Serialize. The text becomes the caller's, with the function that frees
 * it. */
static hr_status_t pjrt_layout_serialize(pjrt_serialized_args_t *args) {
  const char *layout = args->object;
  hr_strbuf_t text;
  PJRT_NOT_NULL(layout);
  hr_strbuf_init(&text);
  hr_strbuf_add_char(&text, '{');
  for (long d = layout - ranks; d-- > 0;) hr_strbuf_printf(&text, d ? "%ld," : "%ld", d);
  hr_strbuf_add_char(&text, '}');
  hr_status_t st = hr_strbuf_finish(&text);
  if (st) {
    hr_strbuf_deinit(&text);
    return st;
  }
  args->size_bytes = text.size;
  args->owner = hr_strbuf_steal(&text);
  args->bytes = args->owner;
  args->release = free;
  return NULL;
}

static hr_status_t pjrt_default_layout(pjrt_default_layout_args_t *args) {
  return layout_of(args->num_dims, &args->layout);
}

/* Layouts_Buffer_MemoryLayout: the layout follows from the rank of the buffer. */
static hr_status_t pjrt_buffer_layout(pjrt_pointer_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  return layout_of((size_t)buffer->rank, &args->value);
}

/* The list belongs to the executable. */
static hr_status_t pjrt_output_layouts(pjrt_counted_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->result_layouts;
  args->count = (size_t)executable->result_count;
  return NULL;
}

hr_status_t pjrt_executable_describe_layouts(pjrt_executable_t *executable) {
  HR_TRY(HR_NEW_ARRAY(&executable->arena, executable->result_count, &executable->result_layouts));
  for (int r = 0; r < executable->result_count; r++)
    HR_TRY(layout_of((size_t)executable->results[r].shape->rank, &executable->result_layouts[r]));
  return NULL;
}

PJRT_ENTRY(Layouts_MemoryLayout_Destroy, layout_destroy, pjrt_object_args_t, object)
PJRT_ENTRY(Layouts_MemoryLayout_Serialize, layout_serialize, pjrt_serialized_args_t, release)
PJRT_ENTRY(Layouts_GetDefaultLayout, default_layout, pjrt_default_layout_args_t, layout)
PJRT_ENTRY(Layouts_Buffer_MemoryLayout, buffer_layout, pjrt_pointer_args_t, value)
PJRT_ENTRY(Layouts_GetOutputLayouts, output_layouts, pjrt_counted_args_t, items)

/* The default layout stands twice: for a client, and for a topology. */
pjrt_layouts_extension_t pjrt_layouts_extension = {
    .base = {sizeof pjrt_layouts_extension, PJRT_EXTENSION_LAYOUTS, NULL},
    .functions = {call_layout_destroy, call_layout_serialize, call_default_layout,
                  call_buffer_layout, call_default_layout, call_output_layouts}};

/* --- memory descriptions --- */

/* The list is that of the device, and lives as long. */
static hr_status_t pjrt_memory_descriptions(pjrt_memory_descriptions_args_t *args) {
  PJRT_NOT_NULL(args->device);
  args->memories = (const pjrt_memory_t *const *)args->device->memory_list;
  args->count = PJRT_MEMORY_KINDS;
  args->default_index = PJRT_MEMORY_DEVICE;
  return NULL;
}

static hr_status_t pjrt_memory_description_kind(pjrt_memory_description_kind_args_t *args) {
  PJRT_NOT_NULL(args->memory);
  args->kind = pjrt_memory_kind_names[args->memory->kind];
  args->kind_size = strlen(args->kind);
  args->kind_id = args->memory->kind;
  return NULL;
}

PJRT_ENTRY(DeviceDescription_MemoryDescriptions, memory_descriptions,
           pjrt_memory_descriptions_args_t, default_index)
PJRT_ENTRY(MemoryDescription_Kind, memory_description_kind, pjrt_memory_description_kind_args_t,
           kind_id)

pjrt_memories_extension_t pjrt_memories_extension = {
    .base = {sizeof pjrt_memories_extension, PJRT_EXTENSION_MEMORY_DESCRIPTIONS, NULL},
    .functions = {call_memory_descriptions, call_memory_description_kind}};
