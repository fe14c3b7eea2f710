/* Layouts and memory kinds that the framework wants for arguments and results of the entry.
 * Engines use row-major arrays in any memory: this is for callers that pass arrays in and out. If
 * any is not the default, an attribute of the module has all of them, one text per argument or
 * result, separated by semicolons:
 *
 *   mhlo.result_layout_modes = "default;{0,1}"
 *
 * Cost: linear in arguments and results. */
#include "base/mem.h"
#include "stablehlo/import/import.h"

static hr_str_t text_of(const mlir_op_t *entry, const char *list, int index, const char *name) {
  const mlir_attr_t *attr = import_value_attr(entry, list, index, name);
  return attr && attr->kind == MLIR_ATTR_STRING ? attr->text : (hr_str_t){"", 0};
}

static int list_size(const mlir_op_t *entry, const char *list) {
  const mlir_attr_t *attrs = mlir_op_attr(entry, list);
  return attrs && attrs->kind == MLIR_ATTR_ARRAY ? attrs->count : 0;
}

/* Appends a frontend attribute of the module. */
static hr_status_t add_attribute(importer_t *importer, const char *name, hr_str_t value) {
  hlo_name_values_t *list = &importer->module->frontend_attributes;
  hlo_name_value_t *items;
  HR_TRY(HR_NEW_ARRAY(importer->arena, list->count + 1, &items));
  for (int i = 0; i < list->count; i++) items[i] = list->items[i];
  items[list->count].name = hr_str_from(name);
  HR_TRY(hr_arena_str(importer->arena, value, &items[list->count].value));
  *list = (hlo_name_values_t){list->count + 1, items};
  return NULL;
}

/* Joins the texts of one attribute of all arguments or results, without hidden arguments. */
static hr_status_t import_texts(importer_t *importer, const mlir_op_t *entry, const char *list,
                                const char *from, const char *usual, const char *to) {
  hr_strbuf_t texts;
  bool any = false;
  int written = 0;
  hr_strbuf_init(&texts);
  for (int i = 0; i < list_size(entry, list); i++) {
    hr_str_t text = text_of(entry, list, i, from);
    if (list[0] == 'a' && import_is_platform_index(entry, i)) continue;
    any |= text.size && !hr_str_is(text, usual);
    if (written++) hr_strbuf_add_char(&texts, ';');
    hr_strbuf_add(&texts, text.data, text.size);
  }
  hr_status_t st = hr_strbuf_finish(&texts);
  if (!st && any) st = add_attribute(importer, to, (hr_str_t){texts.data, texts.size});
  hr_strbuf_deinit(&texts);
  return st;
}

hr_status_t import_places(importer_t *importer, const mlir_op_t *entry) {
  HR_TRY(import_texts(importer, entry, "arg_attrs", "mhlo.layout_mode", "default",
                      "mhlo.param_layout_modes"));
  HR_TRY(import_texts(importer, entry, "res_attrs", "mhlo.layout_mode", "default",
                      "mhlo.result_layout_modes"));
  HR_TRY(import_texts(importer, entry, "arg_attrs", "mhlo.memory_kind", "device",
                      "mhlo.param_memory_kinds"));
  return import_texts(importer, entry, "res_attrs", "mhlo.memory_kind", "device",
                      "mhlo.result_memory_kinds");
}
