/* Prints the MLIR tree as text that parses to the same tree. */
#ifndef MLIR_MLIR_PRINT_H
#define MLIR_MLIR_PRINT_H

#include "base/text_sink.h"
#include "mlir/mlir.h"

/* True if a name needs no quotation marks. */
bool mlir_is_bare(hr_str_t name);
void mlir_print_string(hr_strbuf_t *text, hr_str_t string); /* in quotation marks */
void mlir_print_name(hr_strbuf_t *text, hr_str_t name);     /* bare, or as a string */
void mlir_print_symbol(hr_strbuf_t *text, const mlir_attr_t *attr);
/* A float of an element type. `bits` is its bit pattern, printed if digits do not suffice (NaN). */
void mlir_print_float(hr_strbuf_t *text, const mlir_type_t *type, double value, uint64_t bits);
void mlir_print_integer(hr_strbuf_t *text, const mlir_type_t *type, int64_t value);
void mlir_print_type(hr_strbuf_t *text, const mlir_type_t *type);
void mlir_print_attr(hr_strbuf_t *text, const mlir_attr_t *attr);
/* Prints an attribute; digits of a long array go to the sink, which may be NULL. */
void mlir_print_attr_to(hr_strbuf_t *text, const mlir_attr_t *attr, hr_text_sink_t *sink);
/* "name = value", or the name of a unit. */
void mlir_print_entry(hr_strbuf_t *text, const mlir_named_attr_t *entry);
void mlir_print_ints(hr_strbuf_t *text, const mlir_attr_t *attr); /* array<i64: 1, 2> as "[1, 2]" */
/* True if mlir_print_conv_dims can show the attribute: each dimension has one meaning. */
bool mlir_print_conv_fits(const mlir_attr_t *attr);
/* True for a field's value that the structure `attr` prints without. */
bool mlir_print_leaves_out(const mlir_attr_t *attr, const mlir_attr_t *value);
/* "[b, 0, f]x[0, i, o]->[b, 0, f]" of a #stablehlo.conv attribute. */
void mlir_print_conv_dims(hr_strbuf_t *text, const mlir_attr_t *attr);
/* Digits of a finite value rounded to at most `wanted` (up to 17), without trailing zeros, and the
 * power of ten of the first one. Returns the number of digits. */
#define MLIR_DECIMAL_DIGITS 20
int mlir_decimal_digits(double value, int wanted, char digits[MLIR_DECIMAL_DIGITS], int *out_power);
/* The whole module: pretty forms where mlir_forms.def has one, else the generic form. */
void mlir_print_module(hr_strbuf_t *text, const mlir_module_t *module);
/* Prints the module into a sink in pieces; `located`: with loc(...) after each op whose location
 * is known. Errors: those of the sink. */
hr_status_t mlir_print_module_to(hr_text_sink_t *sink, const mlir_module_t *module, bool located);

#endif
