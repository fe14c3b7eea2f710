/* Where the framework wants the arguments and results of the entry: in which order of dimensions
 * their elements lie, and in which memory of the device. Engines work on row-major arrays wherever
 * they are: this is for who hands arrays in and out. Cost: linear in arguments and results. */
#include "base/mem.h"
#include "stablehlo/import/import.h"

static hr_str_t text_of(const mlir_op_t *entry, const char *list, int index, const char *name) {
  const mlir_attr_t *attr = import_value_attr(entry, list, index, name);
  return attr && attr->kind == MLIR_ATTR_STRING ? attr->text : (hr_str_t){"", 0};
}

/* One entry of a list; *any becomes true if something is said. */
static hr_status_t import_place(importer_t *importer, const mlir_op_t *entry, const char *list,
                                int index, hlo_place_t *place, bool *any) {
  hr_str_t layout = text_of(entry, list, index, "mhlo.layout_mode");
  hr_str_t memory = text_of(entry, list, index, "mhlo.memory_kind");
  *any |= layout.size || memory.size;
  HR_TRY(hr_arena_str(importer->arena, layout, &place->layout));
  return hr_arena_str(importer->arena, memory, &place->memory);
}

static int list_size(const mlir_op_t *entry, const char *list) {
  const mlir_attr_t *attrs = mlir_op_attr(entry, list);
  return attrs && attrs->kind == MLIR_ATTR_ARRAY ? attrs->count : 0;
}

hr_status_t import_places(importer_t *importer, const mlir_op_t *entry) {
  hlo_module_t *module = importer->module;
  int args = list_size(entry, "arg_attrs"), results = list_size(entry, "res_attrs"), kept = 0;
  bool any_arg = false, any_result = false;
  hlo_place_t *params, *outs;
  HR_TRY(HR_NEW_ARRAY(importer->arena, args + 1, &params));
  HR_TRY(HR_NEW_ARRAY(importer->arena, results + 1, &outs));
  for (int i = 0; i < args; i++)
    if (!import_is_platform_index(entry, i))
      HR_TRY(import_place(importer, entry, "arg_attrs", i, &params[kept++], &any_arg));
  for (int i = 0; i < results; i++)
    HR_TRY(import_place(importer, entry, "res_attrs", i, &outs[i], &any_result));
  module->param_places = params;
  module->param_place_count = any_arg ? kept : 0;
  module->result_places = outs;
  module->result_place_count = any_result ? results : 0;
  return NULL;
}
