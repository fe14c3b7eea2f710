/* Storage of the elements of dense attributes. The text form
 * is read by mlir_dense.c; mlir_dense_from_bytes (mlir_parser.h) takes bytes. Thread: one per
 * attribute. */
#ifndef MLIR_ELEMENTS_H
#define MLIR_ELEMENTS_H

#include "mlir/text/mlir_parser.h"

/* Scalar type of the elements: the storage type of quantised ones, the part type of complex
 * ones. */
const mlir_type_t *mlir_scalar_type(const mlir_type_t *element);
/* Number of elements of a static tensor or vector type. Errors: INVALID for other types and on
 * overflow. */
hr_status_t mlir_element_count(mlir_parser_t *parser, const mlir_type_t *type, int64_t *out_count);
/* Allocates `count` elements, or one for a splat, plus one byte, so that empty copies have an
 * address. Errors: NO_MEMORY. */
hr_status_t mlir_alloc_elements(hr_arena_t *arena, mlir_attr_t *attr, int64_t count, bool splat,
                                void **out_data);
/* Reduces `count` equal elements to one, as attributes with equal meaning must compare equal. */
void mlir_make_splat(mlir_attr_t *attr, int64_t count);
/* Decodes "0x" and pairs of hexadecimal digits. Owner: the bytes live in the parser's arena.
 * Errors: INVALID; NO_MEMORY. */
hr_status_t mlir_decode_hex(mlir_parser_t *parser, hr_str_t text, unsigned char **out_bytes,
                            size_t *out_size);

#endif
