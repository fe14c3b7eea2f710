/* Printers of ops whose form no row of mlir_forms.def can express, and their helpers. */
#ifndef MLIR_MLIR_PRINT_FORMS_H
#define MLIR_MLIR_PRINT_FORMS_H

#include <string.h>

#include "mlir/text/mlir_op_printer.h"

typedef struct print_form {
  const char *op;                    /* NULL: the end of a table */
  bool (*fits)(const mlir_op_t *op); /* whether the form can express the op; NULL: always */
  void (*print)(op_printer_t *printer, const mlir_op_t *op); /* the op after its results */
} print_form_t;

extern const print_form_t mlir_region_forms[]; /* ops with regions, and functions */

static inline void form_add(op_printer_t *printer, const char *text) {
  hr_strbuf_add_str(printer->text, text);
}

/* True if the op has a string attribute of this name. */
static inline bool form_has_string(const mlir_op_t *op, const char *name) {
  const mlir_attr_t *attr = mlir_op_attr(op, name);
  return attr && attr->kind == MLIR_ATTR_STRING;
}

/* True if an attribute is array<i64>; false for NULL. */
static inline bool form_is_ints(const mlir_attr_t *attr) {
  return attr && attr->kind == MLIR_ATTR_DENSE_ARRAY && attr->type->kind == MLIR_TYPE_INTEGER &&
         attr->type->width == 64;
}

/* @name, in quotation marks if it needs them. */
static inline void form_print_symbol(op_printer_t *printer, hr_str_t name) {
  mlir_print_attr(printer->text, &(mlir_attr_t){.kind = MLIR_ATTR_SYMBOL, .text = name});
}

/* True if the region exists and has a single block, as forms without labels need. */
static inline bool form_has_block(const mlir_op_t *op, int region) {
  return region < op->region_count && op->regions[region]->blocks.count == 1;
}

#endif
