/* The program that the framework shows. On one device it is the program as given; on several it is
 * the program of one partition as a proto, made on request: the program is read, partitioned and
 * written, but not optimised. Cost: as loading the program without code generation. */
#include <string.h>

#include "pjrt/abi/pjrt_api.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/buffer/pjrt_order.h"
#include "proto/hlo_proto.h"
#include "proto/proto_wire.h"

hr_status_t pjrt_rename_instrs(hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && computation != module->entry; i++) {
      hlo_instr_t *instr = computation->instrs.data[i];
      const char *name;
      HR_TRY(hr_arena_printf(&module->arena, &name, "%.*s.c%d", HR_STR_ARGS(instr->name),
                             (int)computation->id));
      instr->name = hr_str_from(name);
    }
  }
  return NULL;
}

enum { SPMD_OUTPUT_SHARDING = 12, SPMD_PARAMETER_SHARDINGS = 14 }; /* fields of HloModuleProto */
enum { KIND_TUPLE = 2 };                                           /* OpSharding.Type */

/* Adds the shardings of parameters and results, which JAX without the extension for shardings reads
 * here. They are a second piece of the module's message, which readers merge with the first. */
static void add_shardings(hr_strbuf_t *text, const pjrt_executable_t *executable) {
  size_t module = proto_open(text, PROTO_wrapper_hlo_module);
  size_t all = proto_open(text, SPMD_OUTPUT_SHARDING);
  if (executable->result_count != 1) proto_put_int(text, PROTO_sharding_type, KIND_TUPLE);
  for (int r = 0; r < executable->result_count; r++) {
    hr_str_t one = {executable->lists.result_shardings[r],
                    executable->lists.result_sharding_sizes[r]};
    if (executable->result_count == 1)
      hr_strbuf_add(text, one.data, one.size);
    else
      proto_put_item(text, PROTO_sharding_tuple_shardings, one);
  }
  proto_close(text, all);
  for (int p = 0; p < executable->param_count; p++)
    proto_put_item(text, SPMD_PARAMETER_SHARDINGS,
                   (hr_str_t){executable->lists.param_shardings[p],
                              executable->lists.param_sharding_sizes[p]});
  proto_close(text, module);
}

static hr_status_t shape_in_order(hr_arena_t *arena, const hlo_shape_t *shape,
                                  const pjrt_order_t *order, const hlo_shape_t **out_shape) {
  hlo_layout_t *layout;
  *out_shape = shape;
  if (!order || order->is_row_major || order->rank != shape->rank) return NULL;
  HR_TRY(HR_NEW(arena, &layout));
  layout->minor_to_major = (hr_ints_t){order->minor_to_major, order->rank};
  return hlo_shape_with_layout(arena, shape, layout, out_shape);
}

/* Sets the layouts of parameters and results; JAX reads those of parameters here. Programs whose
 * parameters are tuples have no layouts of their own. */
static hr_status_t set_entry_layout(hlo_module_t *module, const pjrt_executable_t *executable) {
  hr_arena_t *arena = &module->arena;
  int params = executable->param_count, results = executable->result_count;
  const hlo_shape_t **shapes, **leaves, *root = hlo_entry_result_shape(module);
  if (params != (int)module->entry->params.count || results != hlo_shape_leaf_count(root))
    return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, params + 1, &shapes));
  HR_TRY(HR_NEW_ARRAY(arena, results + 1, &leaves));
  for (int p = 0; p < params; p++)
    HR_TRY(shape_in_order(arena, hlo_entry_param_shape(module, p),
                          executable->lists.param_orders[p], &shapes[p]));
  for (int r = 0; r < results; r++)
    HR_TRY(
        shape_in_order(arena, hlo_shape_leaf(root, r), executable->results[r].order, &leaves[r]));
  module->entry_params = (hlo_shapes_t){params, shapes};
  module->entry_result = leaves[0];
  module->has_entry_layout = true;
  if (!hlo_shape_is_tuple(root)) return NULL;
  return hlo_shape_tuple(arena, results, leaves, &module->entry_result);
}

/* Writes the module with its shardings after it, and keeps the bytes in the arena. */
static hr_status_t write_partition(hlo_module_t *module, pjrt_executable_t *executable) {
  hr_buffer_t *proto = NULL;
  hr_strbuf_t text;
  HR_TRY(pjrt_rename_instrs(module));
  if (executable->has_orders) HR_TRY(set_entry_layout(module, executable));
  HR_TRY(write_hlo_proto(module, HLO_PROTO_WITH_CONFIG, &proto));
  hr_strbuf_init(&text);
  hr_strbuf_add(&text, hr_buffer_data(proto), hr_buffer_size(proto));
  add_shardings(&text, executable);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st)
    st = hr_arena_str(&executable->arena, (hr_str_t){text.data, text.size},
                      &executable->partitioned);
  hr_strbuf_deinit(&text);
  hr_buffer_release(proto);
  return st;
}

/* Reads and partitions the program once more, without code generation. The caller holds the
 * client's mutex. */
static hr_status_t keep_partitioned(pjrt_executable_t *executable) {
  compiler_options_t options = {.world_size = executable->world->count,
                                .spmd = {.keep_unreduced = true, .whole_axes = true}};
  hr_str_t code = executable->code;
  hr_buffer_t *bytes = NULL;
  hlo_module_t *module = NULL;
  HR_TRY(hr_buffer_wrap((void *)code.data, code.size, false, NULL, NULL, &bytes));
  hr_status_t st = compiler_read_partition("<jax>", bytes, &options, &module);
  if (!st) st = write_partition(module, executable);
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
  return st;
}

static bool text_has(hr_str_t text, const char *word) {
  return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

/* Whether the program is shown as the compiler has it. A program of one device is shown as it was
 * given, which costs nothing, unless the framework cannot read it as HLO: operations of Shardy have
 * no form there, layouts are not in the text, and a proto may lack its configuration. */
static bool is_written_anew(const pjrt_executable_t *executable) {
  return executable->options.num_partitions > 1 || executable->has_orders ||
         hlo_proto_is(executable->code) || text_has(executable->code, "manual_computation") ||
         text_has(executable->code, "sharding_constraint");
}

/* The program of one partition; on a single device mostly as it was given.
 * Executable_OptimizedProgram. A caller without room, or with too little, gets the size only. */
hr_status_t pjrt_executable_optimized_program(pjrt_optimized_args_t *args) {
  PJRT_NOT_NULL(args->executable);
  PJRT_NOT_NULL(args->program);
  hr_str_t code = args->executable->code;
  bool is_global = is_written_anew(args->executable);
  args->program->format = is_global ? "hlo_with_config" : "mlir";
  args->program->format_size = strlen(args->program->format);
  if (is_global) {
    pthread_mutex_lock(&args->executable->client->mutex);
    hr_status_t st = NULL;
    if (!args->executable->partitioned.size) st = keep_partitioned(args->executable);
    pthread_mutex_unlock(&args->executable->client->mutex);
    HR_TRY(st);
    code = args->executable->partitioned;
  }
  if (args->program->code && args->program->code_size >= code.size)
    memcpy(args->program->code, code.data, code.size);
  args->program->code_size = code.size;
  return NULL;
}
