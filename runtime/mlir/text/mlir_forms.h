/* The table of pretty forms (mlir_forms.def), for the parser and the printer. */
#ifndef MLIR_MLIR_FORMS_H
#define MLIR_MLIR_FORMS_H

#include "mlir/mlir.h"

#define MLIR_FORM_ITEM 64 /* bytes of an item of a format, with its NUL */

/* What stands after ':'; mlir_forms.def describes each. */
typedef enum mlir_form_types {
  MLIR_FORM_SAME,
  MLIR_FORM_FN,
  MLIR_FORM_RESULT,
  MLIR_FORM_LIST,
  MLIR_FORM_ARROW
} mlir_form_types_t;

/* A row of mlir_forms.def. */
typedef struct mlir_form {
  const char *op, *format;
  mlir_form_types_t types;
} mlir_form_t;

const mlir_form_t *mlir_form_find(hr_str_t op); /* NULL: no row */
/* Whether an op of the form LIST returns its operands' types (optimization_barrier); others have no
 * results. */
bool mlir_list_passes_on(hr_str_t name);
/* Ops of two operands, in any order, that a reduction's short form ("applies op") may name. */
bool mlir_may_be_applied(hr_str_t name);
/* Next blank-separated item of a format; false at its end. */
bool mlir_form_next_item(const char **format, char item[MLIR_FORM_ITEM]);

#endif
