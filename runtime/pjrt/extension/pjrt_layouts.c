/* The extensions for layouts and for memory descriptions. A layout is an order of dimensions; its
 * serialized form is HLO text, "{2,1,0}". Programs work on row-major arrays: arrays that the
 * framework wants in another order are transposed when they enter or leave (pjrt_execute.c). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "pjrt/buffer/pjrt_buffer.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/abi/pjrt_extensions.h"

static hr_status_t layout_of(size_t rank, const pjrt_order_t *order, void **out_layout) {
  if (rank > HLO_MAX_RANK)
    return hr_error(HR_USAGE, "an array of %zu dimensions, want at most %d", rank, HLO_MAX_RANK);
  if (!order) HR_TRY(pjrt_order_find((int)rank, NULL, &order));
  *out_layout = (void *)(uintptr_t)order;
  return NULL;
}

/* Orders live as long as the process. */
static hr_status_t pjrt_layout_destroy(pjrt_object_args_t *args) {
  (void)args;
  return NULL;
}

/* Layouts_MemoryLayout_Serialize. The text becomes the caller's, with the function that frees
 * it. */
static hr_status_t pjrt_layout_serialize(pjrt_serialized_args_t *args) {
  const pjrt_order_t *layout = args->object;
  hr_strbuf_t text;
  PJRT_NOT_NULL(layout);
  hr_strbuf_init(&text);
  hr_strbuf_add_char(&text, '{');
  for (int i = 0; i < layout->rank; i++)
    hr_strbuf_printf(&text, i ? ",%ld" : "%ld", (long)layout->minor_to_major[i]);
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
  return layout_of(args->num_dims, NULL, &args->layout);
}

static hr_status_t pjrt_buffer_layout(pjrt_pointer_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  return layout_of((size_t)buffer->rank, buffer->order, &args->value);
}

/* The list belongs to the executable. */
static hr_status_t pjrt_output_layouts(pjrt_counted_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->lists.result_layouts;
  args->count = (size_t)executable->result_count;
  return NULL;
}

/* Without this function frameworks read the whole program to find the layouts of its parameters. */
static hr_status_t pjrt_param_layouts(pjrt_counted_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->lists.param_orders;
  args->count = (size_t)executable->param_count;
  return NULL;
}

hr_str_t pjrt_place_text(const hlo_module_t *module, const char *name, int index) {
  hr_str_t text = {"", 0};
  for (int i = 0; i < module->frontend_attributes.count; i++)
    if (hr_str_is(module->frontend_attributes.items[i].name, name))
      text = module->frontend_attributes.items[i].value;
  for (; text.size; index--) {
    const char *end = memchr(text.data, ';', text.size);
    size_t size = end ? (size_t)(end - text.data) : text.size;
    if (index == 0) return (hr_str_t){text.data, size};
    if (!end) break;
    text = (hr_str_t){end + 1, text.size - size - 1};
  }
  return (hr_str_t){"", 0};
}

/* "auto" lets the program choose: a transposed result keeps the order of the array that it was made
 * from, so that the transposition moves nothing. */
static hr_status_t choose_order(const hlo_instr_t *result, int rank,
                                const pjrt_order_t **out_order) {
  int64_t minor_to_major[HLO_MAX_RANK];
  if (result->op != HLO_TRANSPOSE) return pjrt_order_find(rank, NULL, out_order);
  hr_ints_t permutation = hlo_attr_ints(result, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < rank && d < permutation.count; d++)
    minor_to_major[rank - 1 - permutation.data[d]] = d;
  return pjrt_order_find(rank, minor_to_major, out_order);
}

/* The order of result r; the default one for elements of a tuple within a tuple. */
static hr_status_t order_of_result(const hlo_module_t *module, int r, int rank,
                                   const pjrt_order_t **out_order) {
  const hlo_instr_t *root = module->entry->root;
  bool is_tuple = root->op == HLO_TUPLE && r < root->operand_count;
  hr_str_t text = pjrt_place_text(module, "mhlo.result_layout_modes", r);
  if (hr_str_is(text, "auto") && (is_tuple || !hlo_shape_is_tuple(root->shape)))
    return choose_order(is_tuple ? root->operands[r] : root, rank, out_order);
  return pjrt_order_read(text, rank, out_order);
}

static hr_status_t describe_param_orders(pjrt_executable_t *executable,
                                         const hlo_module_t *module) {
  HR_TRY(HR_NEW_ARRAY(&executable->arena, executable->param_count + 1,
                      &executable->lists.param_orders));
  for (int p = 0; p < executable->param_count; p++) {
    hr_str_t text = pjrt_place_text(module, "mhlo.param_layout_modes", p);
    HR_TRY(pjrt_order_read(text, executable->params[p]->rank, &executable->lists.param_orders[p]));
    executable->has_orders |= !executable->lists.param_orders[p]->is_row_major;
  }
  return NULL;
}

hr_status_t pjrt_executable_describe_layouts(pjrt_executable_t *executable) {
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  HR_TRY(describe_param_orders(executable, module));
  HR_TRY(HR_NEW_ARRAY(&executable->arena, executable->result_count,
                      &executable->lists.result_layouts));
  for (int r = 0; r < executable->result_count; r++) {
    pjrt_result_t *result = &executable->results[r];
    const pjrt_order_t *order;
    HR_TRY(order_of_result(module, r, result->shape->rank, &order));
    result->order = order->is_row_major ? NULL : order;
    executable->has_orders |= result->order != NULL;
    HR_TRY(layout_of((size_t)result->shape->rank, order, &executable->lists.result_layouts[r]));
  }
  return NULL;
}

PJRT_ENTRY(Layouts_MemoryLayout_Destroy, layout_destroy, pjrt_object_args_t, object)
PJRT_ENTRY(Layouts_MemoryLayout_Serialize, layout_serialize, pjrt_serialized_args_t, release)
PJRT_ENTRY(Layouts_GetDefaultLayout, default_layout, pjrt_default_layout_args_t, layout)
PJRT_ENTRY(Layouts_Buffer_MemoryLayout, buffer_layout, pjrt_pointer_args_t, value)
PJRT_ENTRY(Layouts_GetOutputLayouts, output_layouts, pjrt_counted_args_t, items)
PJRT_ENTRY(Layouts_GetParameterLayouts, param_layouts, pjrt_counted_args_t, items)

/* The default layout stands twice: for a client, and for a topology. */
pjrt_layouts_extension_t pjrt_layouts_extension = {
    .base = {sizeof pjrt_layouts_extension, PJRT_EXTENSION_LAYOUTS, NULL},
    .functions = {call_layout_destroy, call_layout_serialize, call_default_layout,
                  call_buffer_layout, call_default_layout, call_output_layouts,
                  call_param_layouts}};

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
