/* The printer of operations: state and pieces, shared by its files. */
#ifndef MLIR_MLIR_OP_PRINTER_H
#define MLIR_MLIR_OP_PRINTER_H

#include "mlir/text/mlir_forms.h"
#include "mlir/text/mlir_print.h"

typedef struct op_printer {
  hr_strbuf_t *text;
  hr_text_sink_t *sink; /* takes pieces of the text; NULL: it stays whole */
  int indent;
  bool locations; /* each op is followed by loc(...) where it has one */
} op_printer_t;

/* Names of attributes that a form has already printed. */
typedef struct printed_name {
  const char *names[12];
  int count;
} printed_name_t;

/* --- names of values (mlir_print_names.c), in mlir_value_t.mapped while the module prints --- */
void mlir_name_values(const mlir_op_t *top);
void mlir_forget_names(const mlir_op_t *top);
void mlir_print_use(op_printer_t *printer, const mlir_value_t *value);
/* "%0:2 = ", or nothing for an op without results. */
void mlir_print_results(op_printer_t *printer, const mlir_op_t *op);

/* The first of the sizes in "operandSegmentSizes" or the like; 0 if there are none. */
int64_t mlir_first_segment(const mlir_op_t *op, const char *name);

/* --- pieces (mlir_print_ops.c) --- */
void mlir_print_op(op_printer_t *printer, const mlir_op_t *op);
void mlir_print_uses(op_printer_t *printer, int count, mlir_value_t *const *values);
void mlir_start_line(op_printer_t *printer);
/* The op's name; inside a function "func." goes without saying. */
void mlir_print_op_name(op_printer_t *printer, const mlir_op_t *op);
/* Attributes that are not yet printed, as one dictionary after `before`; nothing if there are none.
 */
void mlir_print_rest(op_printer_t *printer, const mlir_op_t *op, const printed_name_t *printed_name,
                     const char *before);
void mlir_print_operand_types(op_printer_t *printer, const mlir_op_t *op);
void mlir_print_result_types(op_printer_t *printer, const mlir_op_t *op);
void mlir_print_function_type(op_printer_t *printer, const mlir_op_t *op); /* " : (A) -> B" */
/* `named_args`: the entry block's arguments stand in the op's own syntax. */
void mlir_print_region(op_printer_t *printer, const mlir_region_t *region, bool named_args);

/* --- forms that no row of mlir_forms.def can express (mlir_print_forms.c) --- */
/* Prints the op after its results. Returns false, with nothing printed, if it has no such form or
 * the form cannot express it. */
bool mlir_print_custom_form(op_printer_t *printer, const mlir_op_t *op);

#endif
