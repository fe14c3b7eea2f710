/* Readers of programs in all supported formats. The format is recognised by the contents: MLIR
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
/* Reads a program file for callers that need only shapes and edges: large constants of a
 * TensorFlow graph are not copied from the file, where they may be unaligned. Errors as
 * read_module_file. */
hr_status_t read_structure_file(const char *path, hlo_module_t **out_module);
/* `path` is for messages; retains the buffer. */
hr_status_t read_module(const char *path, hr_buffer_t *bytes, hlo_module_t **out_module);

/* The MLIR tree of a program in one of MLIR's formats; *out_tree is NULL for other formats. */
hr_status_t read_tree(const char *path, hr_buffer_t *bytes, mlir_module_t **out_tree);

/* Verifies all functions of a program in one of MLIR's formats, even uncalled ones; see
 * stablehlo_verify. No effect for a file without functions and for other formats. Errors: as
 * read_module, hlo_verify. */
hr_status_t read_verify_functions(const char *path, hr_buffer_t *bytes,
                                  const stablehlo_doubts_t *doubts);

/* Verifies the functions of a library, which is a module in one of MLIR's formats without an entry.
 * *out_functions is their number; -1: the program is no library, and NULL is returned. Errors: as
 * above. */
hr_status_t read_verify_library(const char *path, hr_buffer_t *bytes,
                                const stablehlo_doubts_t *doubts, int *out_functions);

/* HLO text. module->source is already set by the caller to the text to be read. */
hr_status_t read_hlo_text(hlo_module_t *module);
/* "f32[2]{1,2}", "3.5" (type of `want`), "s32[2,2]{{1,2},{3,4}}": a literal from a command line.
 * `want` may be NULL when the text names its shape. */
hr_status_t read_literal(const char *text, const hlo_shape_t *want, hlo_value_t **out_value);

/* Readers of HLO text inside StableHLO programs. mhlo.sharding is "{devices=[2,4]<=[8]}", or the
 * bytes of an OpSharding in old exports. */
extern const stablehlo_readers_t read_stablehlo_pieces;

/* Sets feeds and fetches of TensorFlow graphs that are read later, in the whole process; NULL:
 * those of the graph. The options are borrowed. Thread: before others read. */
struct tf_read_options;
void read_set_graph_options(const struct tf_read_options *options);
/* The arguments and results of a TensorFlow graph as JSON. Errors: USAGE for other programs; as
 * read_module. */
hr_status_t read_graph_json(const char *path, hr_buffer_t *bytes, hr_strbuf_t *out_text);
/* Sets the platform index for programs that are read later, are for several platforms, and do not
 * name them; -1: the first. Thread: before others read. */
void read_set_platform(int index);
/* True if such a program has been read in this process. */
bool read_platform_was_asked(void);
/* True if a TensorFlow graph has been read in this process. */
bool read_saw_graph(void);

#endif
