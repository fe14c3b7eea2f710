/* Readers: bytes of any supported form become one module. The form is recognised by contents: MLIR
 * bytecode by its magic number, MLIR text by its first words, HLO protos by their tags, else HLO
 * text.
 * Thread: any; readers share nothing. */
#ifndef READ_READ_H
#define READ_READ_H

#include "mlir/mlir.h"
#include "stablehlo/stablehlo.h"

/* Reads a program file. The module retains the bytes for messages.
 * Errors: UNAVAILABLE (cannot be read), INVALID with file:line:column. */
hr_status_t read_module_file(const char *path, hlo_module_t **out_module);
/* The same for those who want shapes and edges: large constants of a TensorFlow graph are not
 * copied out of the file, where their elements need not be aligned. */
hr_status_t read_structure_file(const char *path, hlo_module_t **out_module);
/* `path` is for messages; retains the buffer. */
hr_status_t read_module(const char *path, hr_buffer_t *bytes, hlo_module_t **out_module);

/* The tree of a program in one of MLIR's forms, as it is written; *out_tree is NULL for programs in
 * other forms. */
hr_status_t read_tree(const char *path, hr_buffer_t *bytes, mlir_module_t **out_tree);

/* Verifies all functions of a program in one of MLIR's forms, even uncalled ones; see
 * stablehlo_verify. A file without functions is fine, and so are other forms, whose modules are
 * whole. Errors: as read_module, hlo_verify. */
hr_status_t read_verify_functions(const char *path, hr_buffer_t *bytes,
                                  const stablehlo_doubts_t *doubts);

/* HLO text. module->source is already set by the caller to the text to be read. */
hr_status_t read_hlo_text(hlo_module_t *module);
/* "f32[2]{1,2}", "3.5" (type of `want`), "s32[2,2]{{1,2},{3,4}}": a literal from a command line.
 * `want` may be NULL when the text names its shape. */
hr_status_t read_literal(const char *text, const hlo_shape_t *want, hlo_value_t **out_value);

/* Readers of HLO text inside StableHLO programs. mhlo.sharding is "{devices=[2,4]<=[8]}", or the
 * bytes of an OpSharding in old exports. */
extern const stablehlo_readers_t read_stablehlo_pieces;

/* Feeds and fetches of TensorFlow graphs that are read from now on, in the whole process; NULL:
 * those of the graph. The options are borrowed. Thread: before others read. */
struct tf_read_options;
void read_set_graph_options(const struct tf_read_options *options);
/* What became of the arguments and results of a TensorFlow graph, as JSON. Errors: USAGE for other
 * programs; as read_module. */
hr_status_t read_graph_json(const char *path, hr_buffer_t *bytes, hr_strbuf_t *out_text);
/* Which platform's code is taken of programs that are read from now on, are for several platforms,
 * and do not name them; -1: the first. Thread: before others read. */
void read_set_platform(int index);
/* Whether such a program has been read in this process. */
bool read_platform_was_asked(void);
/* Whether a TensorFlow graph has been read in this process. */
bool read_saw_graph(void);

#endif
