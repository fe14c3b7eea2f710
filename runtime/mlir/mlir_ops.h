/* Operations of MLIR text: interface between the parser of modules and those of pretty forms.
 * Errors: INVALID with line and column, the token that was found and what was wanted.
 * Owner:  results live in the module's arena. */
#ifndef MLIR_MLIR_OPS_H
#define MLIR_MLIR_OPS_H

#include "mlir/text/mlir_parser.h"

/* A use of a value: %name or %name#number. */
typedef struct mlir_use {
  hr_str_t name;
  int number;
  hr_pos_t pos;
} mlir_use_t;
typedef HR_VEC(mlir_use_t) mlir_uses_t;

/* An argument of a block. */
typedef struct mlir_arg {
  hr_str_t name; /* may be empty */
  const mlir_type_t *type;
} mlir_arg_t;

hr_status_t mlir_parse_use(mlir_parser_t *parser, mlir_use_t *out_use);
/* "%a, %b" as long as values follow commas; the caller frees the list. */
hr_status_t mlir_parse_uses(mlir_parser_t *parser, mlir_uses_t *uses);

/* Compares the operands' types, as far as they are known, with the types written for the op. */
hr_status_t mlir_check_operand_types(mlir_parser_t *parser, const mlir_op_t *op,
                                     const mlir_type_t *function);
hr_status_t mlir_check_operand_type(mlir_parser_t *parser, const mlir_op_t *op, int k,
                                    const mlir_type_t *written);
hr_status_t mlir_set_operands(mlir_parser_t *parser, mlir_op_t *op, const mlir_uses_t *uses);
hr_status_t mlir_set_results(mlir_parser_t *parser, mlir_op_t *op, int count,
                             const mlir_type_t *const *types);
/* Sorts attributes into inherent and discardable ones. Both may be NULL. */
hr_status_t mlir_set_attrs(mlir_parser_t *parser, mlir_op_t *op, const mlir_attr_t *properties,
                           const mlir_attr_t *dict);
hr_status_t mlir_set_regions(mlir_parser_t *parser, mlir_op_t *op, int count,
                             mlir_region_t *const *regions);

/* "{ ... }"; the entry block has these arguments if arg_count is not 0, else those of its label. */
hr_status_t mlir_parse_region(mlir_parser_t *parser, mlir_region_t *region, bool isolated,
                              int arg_count, const mlir_arg_t *args);
hr_status_t mlir_add_block_args(mlir_parser_t *parser, mlir_block_t *block, int count,
                                const mlir_arg_t *args);
hr_status_t mlir_parse_op(mlir_parser_t *parser, mlir_op_t **out_op);

/* Parses an op in its own syntax, from the token after its name; op->name is set. */
hr_status_t mlir_parse_pretty_op(mlir_parser_t *parser, mlir_op_t *op);
/* True if the op's regions cannot use values from outside (trait IsolatedFromAbove). */
bool mlir_op_is_isolated(hr_str_t name);

#endif
