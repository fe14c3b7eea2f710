#include "read/read.h"

#include <string.h>

#include "mlir/mlir_parser.h"
#include "stablehlo/stablehlo.h"

/* What the text starts with once blanks and "//" comments are skipped. */
static hr_str_t first_words(hr_str_t text) {
  while (text.size) {
    size_t skipped = 0;
    if (strchr(" \t\r\n", *text.data) && *text.data) {
      skipped = 1;
    } else if (text.size > 1 && text.data[0] == '/' && text.data[1] == '/') {
      const char *newline = memchr(text.data, '\n', text.size);
      skipped = newline ? (size_t)(newline - text.data) : text.size;
    } else {
      break;
    }
    text.data += skipped;
    text.size -= skipped;
  }
  return text;
}

/* MLIR text begins with an alias, a generic operation, or an operation of a module; HLO text never does. */
static bool is_mlir_text(hr_str_t text) {
  static const char *const starts[] = {"module", "func.func", "#", "!", "\"", "builtin.module", "sdy.mesh", "func.func"};
  text = first_words(text);
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    size_t size = strlen(starts[i]);
    if (text.size > size && !memcmp(text.data, starts[i], size) && !(i == 0 && strchr("_-.0123456789", text.data[size])))
      return true;
  }
  return false;
}

static hr_status_t read_mlir_text(hlo_module_t *module) {
  mlir_module_t *tree;
  HR_TRY(mlir_module_create(&tree));
  tree->source = module->source;
  hr_status_t st = mlir_parse_module(tree);
  if (!st) st = stablehlo_import(tree, module);
  mlir_module_destroy(tree);
  return st;
}

hr_status_t read_module(const char *path, hr_buffer_t *bytes, hlo_module_t **out_module) {
  hlo_module_t *module;
  const char *kept_path;
  HR_TRY(hlo_module_create(HR_STR("module"), &module));
  module->source_buffer = hr_buffer_retain(bytes);
  hr_status_t st = hr_arena_cstr(&module->arena, hr_str_from(path), &kept_path);
  if (!st) {
    module->source = (hr_source_t){kept_path, hr_buffer_data(bytes), hr_buffer_size(bytes)};
    hr_str_t text = {module->source.text, module->source.size_bytes};
    st = is_mlir_text(text) ? read_mlir_text(module) : read_hlo_text(module);
  }
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

hr_status_t read_module_file(const char *path, hlo_module_t **out_module) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_map_file(path, &bytes));
  hr_status_t st = read_module(path, bytes, out_module);
  hr_buffer_release(bytes);
  return st;
}
