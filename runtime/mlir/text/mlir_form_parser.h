/* Declarations shared by the parsers of pretty forms: the op being read, and common parts of forms.
 * A parser reads the text after the op's name, up to its last type, and finishes the op. Errors:
 * INVALID with the place, what was found and what was wanted. */
#ifndef MLIR_MLIR_FORM_PARSER_H
#define MLIR_MLIR_FORM_PARSER_H

#include "mlir/mlir_ops.h"
#include "mlir/text/mlir_parser.h"

/* An op while it is read. */
typedef struct mlir_form_state {
  mlir_parser_t *parser;
  mlir_op_t *op;
  mlir_uses_t uses;
  HR_VEC(mlir_named_attr_t) fields;
  const mlir_attr_t *dict;
  const mlir_type_t *type; /* type after ':' */
  size_t type_count;       /* length of a list of types after ':' */
} mlir_form_state_t;

/* Copies the name, which may be part of a format's item. */
hr_status_t mlir_form_add_attr(mlir_form_state_t *state, const char *name,
                               const mlir_attr_t *value);
hr_status_t mlir_form_add_integer(mlir_form_state_t *state, const char *name, int64_t value,
                                  int width);
hr_status_t mlir_form_take_dict(mlir_form_state_t *state);
/* Reads one operand; it is resolved when the op is finished. */
hr_status_t mlir_form_take_one_use(mlir_form_state_t *state);
/* Sets operands, attributes and results when all parts have been read. */
hr_status_t mlir_form_finish(mlir_form_state_t *state, int result_count,
                             const mlir_type_t *const *results);
/* ": (A, B) -> C" */
hr_status_t mlir_form_finish_function(mlir_form_state_t *state);
/* Sets the operands' types from the written ones: one for each, or one for all. */
hr_status_t mlir_form_check_operands(mlir_form_state_t *state, size_t count,
                                     const mlir_type_t *const *types);
/* ": T" or a function type */
hr_status_t mlir_form_finish_same(mlir_form_state_t *state);
hr_status_t mlir_form_finish_result(mlir_form_state_t *state);
/* ": T, T" for each operand; the result types are the same, or there are no results. */
hr_status_t mlir_form_finish_list(mlir_form_state_t *state);
hr_status_t mlir_form_take_enum(mlir_form_state_t *state, const char *names);
/* A string without a type of its own: a ':' after it starts the op's types. */
hr_status_t mlir_form_take_text(mlir_form_state_t *state, const char *name);
/* An integer as an attribute of `width` bits. */
hr_status_t mlir_form_take_width(mlir_form_state_t *state, const char *name, int width);

/* A region "{ ... }" whose entry block has these arguments; the caller lists it in the op. */
hr_status_t mlir_form_new_region(mlir_form_state_t *state, bool isolated, int arg_count,
                                 const mlir_arg_t *args, mlir_region_t **out_region);

#define SPECIAL(op, form) hr_status_t mlir_form_parse_##form(mlir_form_state_t *state);
#include "mlir/text/mlir_forms_special.def"
#undef SPECIAL
/* "%a, %b, name = number, ... {attrs} : T, T, tolerance = ..." of the check dialect; constants
 * stand as attributes. */
hr_status_t mlir_form_parse_check(mlir_form_state_t *state);

#endif
