/* Recognition of the form of a program, and the way from bytes to a module: HLO text and protos
 * directly, MLIR text and bytecode through the MLIR tree (mlir/) and the importer
 * (stablehlo/import). HLO programs may declare sizes static that vary at run time:
 * dynamic_dimensions.c finds these. */
#include "read/read.h"

#include <string.h>

#include "io/gzip.h"
#include "mlir/bytecode/bytecode.h"
#include "mlir/text/mlir_parser.h"
#include "proto/hlo_proto.h"
#include "read/check_shardings.h"
#include "read/dynamic_updates.h"
#include "read/export_file.h"
#include "read/foreign.h"
#include "read/hlo_reader.h"
#include "read/mixed_types.h"
#include "read/dynamic_dimensions.h"
#include "stablehlo/stablehlo.h"
#include "tf/file/tf_read.h"

/* The text from its first word on, after blanks and "//" comments. */
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

/* MLIR text begins with an alias, a generic operation, or an operation of a module; HLO text never
 * does. The first bytes of an HLO proto may look alike: a name of 34 bytes begins with a quote. */
static bool is_mlir_text(hr_str_t text) {
  static const char *const starts[] = {"module",         "func.func", "func @", "func public",
                                       "func private",   "#",         "!",      "\"",
                                       "builtin.module", "sdy.mesh",  "vhlo.",  "stablehlo."};
  if (hlo_proto_is(text)) return false;
  text = first_words(text);
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    size_t size = strlen(starts[i]);
    if (text.size > size && !memcmp(text.data, starts[i], size) &&
        !(i == 0 && strchr("_-.0123456789", text.data[size])))
      return true;
  }
  return false;
}

/* Mark of UTF-8 that some editors write before a text. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* The bytes without UTF-8's byte order mark, which some editors put first. */
static hr_source_t source_of(const char *path, const hr_buffer_t *bytes) {
  hr_source_t source = {path, hr_buffer_data(bytes), hr_buffer_size(bytes)};
  size_t mark = strlen(BYTE_ORDER_MARK);
  if (source.size_bytes < mark || memcmp(source.text, BYTE_ORDER_MARK, mark) != 0) return source;
  return (hr_source_t){path, source.text + mark, source.size_bytes - mark};
}

/* State of the process: see read_set_platform. */
static int chosen_platform = -1;
static bool platform_was_asked;

void read_set_platform(int index) { chosen_platform = index; }

bool read_platform_was_asked(void) {
  return __atomic_load_n(&platform_was_asked, __ATOMIC_RELAXED);
}

/* The module within a file of jax.export, which names its platforms, else the source itself. */
static hr_source_t unwrap(hr_source_t source, int *out_platform_index) {
  export_file_t file;
  *out_platform_index = -1;
  if (!export_file_read((hr_str_t){source.text, source.size_bytes}, &file)) return source;
  *out_platform_index = file.platform_index;
  return (hr_source_t){source.path, file.bytecode.data, file.bytecode.size};
}

/* Text begins with a brace; an OpSharding cannot, as '{' is no tag of its fields. */
static hr_status_t read_mhlo_sharding(hlo_module_t *module, hr_str_t sharding,
                                      const hlo_sharding_t **out_sharding) {
  bool is_text = sharding.size && sharding.data[0] == '{';
  return is_text ? read_sharding_text(module, sharding, out_sharding)
                 : hlo_proto_read_sharding(module, sharding, out_sharding);
}

const stablehlo_readers_t read_stablehlo_pieces = {read_mhlo_sharding, read_frontend_attr_text,
                                                   read_shape_text, read_header_text,
                                                   read_stack_frames_text};

/* MLIR as text or, with `read` mlir_read_bytecode, as bytecode. */
static hr_status_t read_mlir(hlo_module_t *module, int platform_index,
                             hr_status_t (*read)(mlir_module_t *)) {
  mlir_module_t *tree;
  HR_TRY(mlir_module_create(&tree));
  bool is_named = platform_index >= 0;
  tree->platform_is_named = is_named;
  tree->platform_index = is_named ? platform_index : chosen_platform;
  tree->source = module->source;
  tree->source_buffer = hr_buffer_retain(module->source_buffer);
  hr_status_t st = read(tree);
  if (!st) st = stablehlo_import(tree, &read_stablehlo_pieces, module);
  if (!st) st = read_check_shardings(module);
  if (!st && module->asks_platform) __atomic_store_n(&platform_was_asked, true, __ATOMIC_RELAXED);
  mlir_module_destroy(tree);
  return st;
}

/* HLO, which may declare sizes static that vary. */
static hr_status_t read_hlo(hlo_module_t *module, hr_str_t text) {
  HR_TRY(hlo_proto_is(text) ? read_hlo_proto(module) : read_hlo_text(module));
  HR_TRY(read_check_shardings(module));
  HR_TRY(read_check_sdy_texts(module));
  HR_TRY(read_unify_types(module));
  HR_TRY(read_grow_before_updates(module));
  return read_mark_dynamic_dimensions(module);
}

/* A StableHLO program inside a TensorFlow graph. The caller restores the fields that belong to the
 * graph. */
static hr_status_t read_inner_program(hlo_module_t *module, hr_str_t bytes, int platform) {
  module->source = (hr_source_t){module->source.path, bytes.data, bytes.size};
  bool is_bytecode = mlir_is_bytecode(bytes.data, bytes.size);
  return read_mlir(module, platform, is_bytecode ? mlir_read_bytecode : mlir_parse_module);
}

/* State of the process: see read_set_graph_options. */
static const tf_read_options_t *graph_options;
static bool graph_was_read;

bool read_saw_graph(void) { return __atomic_load_n(&graph_was_read, __ATOMIC_RELAXED); }

void read_set_graph_options(const tf_read_options_t *options) { graph_options = options; }

/* Chooses the reader by the first bytes, which also identify files of other kinds. */
static hr_status_t read_source(hlo_module_t *module, bool structure) {
  int platform_index;
  module->source = unwrap(module->source, &platform_index);
  hr_str_t text = {module->source.text, module->source.size_bytes};
  if (mlir_is_bytecode(text.data, text.size))
    return read_mlir(module, platform_index, mlir_read_bytecode);
  bool is_graph;
  HR_TRY(tf_find_graph(text, &is_graph));
  if (is_graph) {
    __atomic_store_n(&graph_was_read, true, __ATOMIC_RELAXED);
    tf_read_options_t own = graph_options ? *graph_options : (tf_read_options_t){0};
    own.structure = structure;
    return tf_read_module(module, &own, read_inner_program);
  }
  HR_TRY(read_foreign(module->source.path, text));
  if (is_mlir_text(text)) return read_mlir(module, -1, mlir_parse_module);
  return read_hlo(module, text);
}

hr_status_t read_graph_json(const char *path, hr_buffer_t *bytes, hr_strbuf_t *out_text) {
  hlo_module_t *module;
  hr_str_t text = {hr_buffer_data(bytes), hr_buffer_size(bytes)};
  bool is_graph;
  HR_TRY(tf_find_graph(text, &is_graph));
  if (!is_graph) return hr_error(HR_USAGE, "%s: --to=json is of TensorFlow graphs alone", path);
  HR_TRY(hlo_module_create(HR_STR("module"), &module));
  module->source_buffer = hr_buffer_retain(bytes);
  module->source = source_of(path, bytes);
  hr_status_t st = tf_read_described(module, graph_options, read_inner_program, out_text);
  hlo_module_destroy(module);
  return st;
}

/* On failure the module is destroyed here; on success it retains `bytes`. */
static hr_status_t read_bytes(const char *path, hr_buffer_t *bytes, bool structure,
                              hlo_module_t **out_module) {
  hlo_module_t *module;
  const char *path_copy;
  HR_TRY(hlo_module_create(HR_STR("module"), &module));
  module->source_buffer = hr_buffer_retain(bytes);
  hr_status_t st = hr_arena_cstr(&module->arena, hr_str_from(path), &path_copy);
  if (!st) {
    module->source = source_of(path_copy, bytes);
    st = read_source(module, structure);
  }
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

hr_status_t read_module(const char *path, hr_buffer_t *bytes, hlo_module_t **out_module) {
  return read_bytes(path, bytes, false, out_module);
}

/* The tree retains the bytes, as names and elements point into them. */
static hr_status_t read_tree_into(mlir_module_t *tree, const char *path, hr_buffer_t *bytes) {
  const char *path_copy;
  HR_TRY(hr_arena_cstr(&tree->arena, hr_str_from(path), &path_copy));
  tree->source = unwrap(source_of(path_copy, bytes), &tree->platform_index);
  tree->platform_is_named = tree->platform_index >= 0;
  tree->source_buffer = hr_buffer_retain(bytes);
  return mlir_is_bytecode(tree->source.text, tree->source.size_bytes) ? mlir_read_bytecode(tree)
                                                                      : mlir_parse_module(tree);
}

/* For tools that need the tree itself: convert, verification. */
hr_status_t read_tree(const char *path, hr_buffer_t *bytes, mlir_module_t **out_tree) {
  int platform_index;
  hr_source_t source = unwrap(source_of(path, bytes), &platform_index);
  hr_str_t text = {source.text, source.size_bytes};
  mlir_module_t *tree;
  *out_tree = NULL;
  if (!mlir_is_bytecode(text.data, text.size) && !is_mlir_text(text)) return NULL;
  HR_TRY(mlir_module_create(&tree));
  hr_status_t st = read_tree_into(tree, path, bytes);
  if (st)
    mlir_module_destroy(tree);
  else
    *out_tree = tree;
  return st;
}

/* Works on the tree, where functions that the entry never calls still are. The tree is released
 * before return; bytes of other forms give none and pass. */
hr_status_t read_verify_functions(const char *path, hr_buffer_t *bytes,
                                  const stablehlo_doubts_t *doubts) {
  mlir_module_t *tree;
  HR_TRY(read_tree(path, bytes, &tree));
  hr_status_t st = tree ? stablehlo_verify(tree, &read_stablehlo_pieces, doubts) : NULL;
  mlir_module_destroy(tree);
  return st;
}

hr_status_t read_verify_library(const char *path, hr_buffer_t *bytes,
                                const stablehlo_doubts_t *doubts, int *out_functions) {
  mlir_module_t *tree;
  *out_functions = -1;
  HR_TRY(read_tree(path, bytes, &tree));
  if (tree) *out_functions = stablehlo_library_size(tree);
  hr_status_t st =
      *out_functions >= 0 ? stablehlo_verify(tree, &read_stablehlo_pieces, doubts) : NULL;
  mlir_module_destroy(tree);
  return st;
}

/* The file is mapped, not copied; the module keeps the mapping alive. */
static hr_status_t read_file(const char *path, bool structure, hlo_module_t **out_module) {
  hr_buffer_t *bytes;
  HR_TRY(gzip_map_file(path, &bytes));
  hr_status_t st = read_bytes(path, bytes, structure, out_module);
  hr_buffer_release(bytes);
  return st;
}

hr_status_t read_module_file(const char *path, hlo_module_t **out_module) {
  return read_file(path, false, out_module);
}

hr_status_t read_structure_file(const char *path, hlo_module_t **out_module) {
  return read_file(path, true, out_module);
}
