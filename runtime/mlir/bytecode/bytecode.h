/* MLIR bytecode, and portable artifacts of StableHLO, which are bytecode of the VHLO dialect.
 * Source: MLIR bytecode format; StableHLO's bytecode.md and vhlo.md. */
#ifndef MLIR_BYTECODE_H
#define MLIR_BYTECODE_H

#include "base/buffer.h"
#include "mlir/mlir.h"

/* True if the bytes begin with the magic number of MLIR bytecode. */
bool mlir_is_bytecode(const void *bytes, size_t size);

/* Reads a module into the same tree as its text. VHLO of any version is converted to StableHLO;
 * casts between the two are removed.
 * Owner:  module->source is set by the caller and outlives the tree: names and elements point into
 *         it. Elements that are used in place have module->source_buffer as their buffer.
 * Errors: INVALID with the offset of the byte.
 * Cost:   memory is bounded by a multiple of the file's size. */
hr_status_t mlir_read_bytecode(mlir_module_t *module);

typedef struct mlir_write_options {
  bool portable;        /* VHLO of `version`; else plain bytecode of the ops as they are */
  int64_t version[3];   /* 0 0 0: the newest known; the last number is only written, not checked */
  const char *producer; /* name in plain bytecode; NULL: "MLIR" */
} mlir_write_options_t;

/* Writes a module.
 * Errors: INVALID for a version that does not exist, UNSUPPORTED for a program that the version
 *         cannot express.
 * Owner:  the caller releases *out_bytes. */
hr_status_t mlir_write_bytecode(const mlir_module_t *module, const mlir_write_options_t *options,
                                hr_buffer_t **out_bytes);

#endif
