/* `hlorun convert`: a program in another form. MLIR's forms become each other without a detour
 * through the IR, so that nothing in them is lost; from and to the others the program passes
 * through the IR. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/program/cli_bundle.h"
#include "cli/arrays/cli_extensions.h"
#include "cli/arrays/cli_python.h"
#include "cli/cli_sandbox.h"
#include "cli/cli_uses.h"
#include "io/gzip.h"
#include "ir/print.h"
#include "mlir/bytecode/bytecode.h"
#include "mlir/text/mlir_print.h"
#include "mlir/vhlo/vhlo.h"
#include "ops/rules/verify.h"
#include "proto/hlo_proto.h"
#include "read/read.h"
#include "stablehlo/import/mesh_groups.h"
#include "stablehlo/stablehlo.h"

/* In the order of --to's words. */
typedef enum form { TO_HLO, TO_DOT, TO_MLIR, TO_MLIRBC, TO_PB, TO_PYTHON, TO_JSON } form_t;

static const struct ending {
  const char *ending;
  form_t form;
} endings[] = {{".hlo", TO_HLO},   {".txt", TO_HLO},   {".dot", TO_DOT}, {".gv", TO_DOT},
               {".mlir", TO_MLIR}, {".bc", TO_MLIRBC}, {".pb", TO_PB},   {".mlirbc", TO_MLIRBC},
               {".py", TO_PYTHON}, {".json", TO_JSON}, {NULL, TO_HLO}};

/* --to, else by the ending of the output; a name without an ending is HLO text. */
static hr_status_t target_form(const hr_options_t *options, form_t *out_form) {
  const char *names[sizeof endings / sizeof *endings];
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  size_t i = 0;
  for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) names[k] = endings[k].ending;
  *out_form = (form_t)hr_option_int(options, HR_OPTION_TO, TO_HLO);
  if (!output || hr_option_is_given(options, HR_OPTION_TO)) return NULL;
  HR_TRY(cli_check_extension(options, HR_OPTION_OUTPUT, names));
  while (endings[i].ending && !cli_ends_with(output, endings[i].ending)) i++;
  *out_form = endings[i].form;
  return NULL;
}

/* --- writing --- */

/* To the file of --output, else to standard output. */
static hr_status_t write_text(const hr_options_t *options, hr_strbuf_t *text) {
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  HR_TRY(hr_strbuf_finish(text));
  return output && strcmp(output, "-") ? hr_file_write_all(output, text->data, text->size)
                                       : cli_print(text);
}

/* Takes over the reference. */
static hr_status_t write_bytes(const hr_options_t *options, hr_buffer_t *bytes) {
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  hr_status_t st =
      hr_file_write_all(output ? output : "-", hr_buffer_data(bytes), hr_buffer_size(bytes));
  hr_buffer_release(bytes);
  return st;
}

static hr_status_t write_piece(void *context, const hr_strbuf_t *piece) {
  return context ? hr_file_write(context, piece->data, piece->size) : cli_print(piece);
}

/* The sink of a text for the output; its context is the file, NULL for standard output. */
static hr_status_t open_output(const hr_options_t *options, hr_text_sink_t *out_sink) {
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  hr_file_writer_t *writer = NULL;
  if (output && strcmp(output, "-")) HR_TRY(hr_file_create(output, &writer));
  *out_sink = (hr_text_sink_t){.write = write_piece, .context = writer};
  return NULL;
}

/* "1.13.0", or "latest" */
static hr_status_t read_version(const char *text, mlir_write_options_t *options) {
  const char *at = text;
  options->portable = true;
  if (!strcmp(text, "latest")) return NULL;
  for (int i = 0; i < 3; i++) {
    char *end;
    options->version[i] = strtoll(at, &end, 10);
    bool is_number = *at >= '0' && *at <= '9' && *end == (i < 2 ? '.' : 0);
    if (!is_number)
      return hr_error(HR_USAGE, "--target-version is %s, want a version such as 1.13.0, or latest",
                      text);
    at = end + 1;
  }
  return NULL;
}

/* VHLO has replica groups by the axes of a mesh since version 1.16; 0.0.0 is the newest. */
static bool has_mesh_groups(const mlir_write_options_t *options) {
  const int64_t *version = options->version;
  bool is_newest = !version[0] && !version[1] && !version[2];
  return is_newest || version[0] > 1 || (version[0] == 1 && version[1] >= 16);
}

/* `located`: text says where each op comes from. */
static hr_status_t write_tree(const hr_options_t *options, form_t form, mlir_module_t *tree,
                              bool located) {
  const char *version = hr_option_text(options, HR_OPTION_TARGET_VERSION);
  mlir_write_options_t write_options = {.portable = false};
  hr_buffer_t *bytes;
  hr_text_sink_t sink;
  if (form == TO_MLIRBC) {
    if (version) HR_TRY(read_version(version, &write_options));
    if (version) HR_TRY(vhlo_replace_chlo(tree));
    if (version && !has_mesh_groups(&write_options)) HR_TRY(stablehlo_expand_mesh_groups(tree));
    if (version) HR_TRY(vhlo_add_casts(tree));
    HR_TRY(mlir_write_bytecode(tree, &write_options, &bytes));
    return write_bytes(options, bytes);
  }
  HR_TRY(open_output(options, &sink));
  return hr_file_finish(sink.context, mlir_print_module_to(&sink, tree, located));
}

/* X.hlo.pb is how XLA names the HloProtos that it dumps; else the bare module, as JAX takes and
 * gives it. */
static hr_status_t write_proto(const hr_options_t *options, const hlo_module_t *module) {
  static const char dump[] = ".hlo.pb";
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  size_t size = output ? strlen(output) : 0, ending = sizeof dump - 1;
  bool wrapped = size > ending && strcmp(output + size - ending, dump) == 0;
  hr_buffer_t *bytes;
  HR_TRY(write_hlo_proto(module, wrapped ? HLO_PROTO_HLO : HLO_PROTO_MODULE, &bytes));
  return write_bytes(options, bytes);
}

/* HLO text in the style that is asked for, piece by piece. */
static hr_status_t write_hlo(const hr_options_t *options, const hlo_module_t *module) {
  bool is_short = hr_option_int(options, HR_OPTION_STYLE, 0);
  hr_text_sink_t sink;
  HR_TRY(open_output(options, &sink));
  hr_status_t st = hlo_print_module_to(&sink, module, is_short ? HLO_PRINT_SHORT : HLO_PRINT_LONG);
  return hr_file_finish(sink.context, st);
}

/* HLO text, a graph, or a proto. */
static hr_status_t write_module(const hr_options_t *options, form_t form,
                                const hlo_module_t *module) {
  hr_strbuf_t text;
  if (form == TO_PB) return write_proto(options, module);
  if (form == TO_HLO) return write_hlo(options, module);
  hr_strbuf_init(&text);
  hlo_print_dot(&text, module);
  hr_status_t st = write_text(options, &text);
  hr_strbuf_deinit(&text);
  return st;
}

/* --- the ways --- */

/* As MLIR's own tools do, MLIR comes back without locations unless they are asked for. */
static bool is_long(const hr_options_t *options, bool otherwise) {
  return hr_option_int(options, HR_OPTION_STYLE, otherwise ? 0 : 1) == 0;
}

/* The exporter builds a tree, as the other direction reads one. */
static hr_status_t export_and_write(const hr_options_t *options, form_t form,
                                    const hlo_module_t *module) {
  mlir_module_t *tree;
  HR_TRY(mlir_module_create(&tree));
  hr_status_t st = stablehlo_export(module, tree);
  if (!st) st = write_tree(options, form, tree, is_long(options, true));
  mlir_module_destroy(tree);
  return st;
}

/* The program is verified before it is written. */
static hr_status_t convert_through_ir(const hr_options_t *options, form_t form, const char *path,
                                      hr_buffer_t *bytes) {
  hlo_module_t *module;
  HR_TRY(read_module(path, bytes, &module));
  hr_status_t st = cli_uses_check_read(options, path);
  if (!st) st = hlo_verify(module);
  bool is_mlir = form == TO_MLIR || form == TO_MLIRBC;
  if (!st)
    st = is_mlir ? export_and_write(options, form, module) : write_module(options, form, module);
  hlo_module_destroy(module);
  return st;
}

/* Names of results are in MLIR's tree alone, shapes in the module. */
static hr_status_t write_python(const hr_options_t *options, const char *path, hr_buffer_t *bytes) {
  hlo_module_t *module;
  mlir_module_t *tree = NULL;
  hr_strbuf_t text;
  HR_TRY(read_module(path, bytes, &module));
  hr_strbuf_init(&text);
  hr_status_t st = cli_uses_check_read(options, path);
  if (!st) st = read_tree(path, bytes, &tree);
  if (!st) cli_python_print(&text, module, tree);
  if (!st) st = write_text(options, &text);
  hr_strbuf_deinit(&text);
  mlir_module_destroy(tree);
  hlo_module_destroy(module);
  return st;
}

/* Arguments and results of a TensorFlow graph. */
static hr_status_t write_json(const hr_options_t *options, const char *path, hr_buffer_t *bytes) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t st = read_graph_json(path, bytes, &text);
  if (!st) st = write_text(options, &text);
  hr_strbuf_deinit(&text);
  return st;
}

/* MLIR's forms go from tree to tree, others through the IR. */
static hr_status_t convert_bytes(const hr_options_t *options, form_t form, const char *path,
                                 hr_buffer_t *bytes) {
  mlir_module_t *tree = NULL;
  if (form == TO_PYTHON) return write_python(options, path, bytes);
  if (form == TO_JSON) return write_json(options, path, bytes);
  if (form == TO_MLIR || form == TO_MLIRBC) HR_TRY(read_tree(path, bytes, &tree));
  /* An artifact of CHLO ops that only the IR's importer expands. */
  bool expands = tree && hr_option_text(options, HR_OPTION_TARGET_VERSION) && vhlo_find_chlo(tree);
  if (expands) {
    mlir_module_destroy(tree);
    tree = NULL;
  }
  if (!tree) return convert_through_ir(options, form, path, bytes);
  hr_status_t st = cli_uses_check_read(options, path);
  if (!st) st = write_tree(options, form, tree, is_long(options, false));
  mlir_module_destroy(tree);
  return st;
}

/* Styles are of text, versions of bytecode. */
static hr_status_t check_form(const hr_options_t *options, form_t form) {
  bool is_text = form == TO_HLO || form == TO_MLIR;
  if (hr_option_is_given(options, HR_OPTION_STYLE) && !is_text)
    return hr_error(HR_USAGE, "--style is of HLO and MLIR as text alone");
  if (hr_option_text(options, HR_OPTION_TARGET_VERSION) && form != TO_MLIRBC)
    return hr_error(HR_USAGE, "--target-version is of --to=mlirbc alone");
  return NULL;
}

/* A folder stands for the program in it. */
static hr_status_t convert_file(const hr_options_t *options, form_t form, const char *path) {
  hr_arena_t arena;
  hr_buffer_t *bytes = NULL;
  const char *inner;
  hr_arena_init(&arena);
  hr_status_t st = cli_bundle_program(&arena, path, &inner);
  if (!st && inner) path = inner;
  if (!st) st = gzip_map_file(path, &bytes);
  if (!st) st = convert_bytes(options, form, path, bytes);
  hr_buffer_release(bytes);
  hr_arena_deinit(&arena);
  return st;
}

/* One program at a time; the form is known before the file is read. */
hr_status_t cli_convert(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  hr_mem_any_machine(true); /* nothing runs here */
  if (options->operands.count != 1)
    return hr_error(HR_USAGE, "convert takes one program, found %zu; see hlorun convert --help",
                    options->operands.count);
  form_t form;
  HR_TRY(target_form(options, &form));
  HR_TRY(check_form(options, form));
  HR_TRY(cli_sandbox_enter(options));
  return convert_file(options, form, options->operands.data[0]);
}
