/* Operations of MLIR text: what the parser of modules and the parsers of pretty forms share. */
#ifndef MLIR_MLIR_OPS_H
#define MLIR_MLIR_OPS_H

#include "mlir/text/mlir_parser.h"

/* A value as it is used: %name or %name#number. */
typedef struct mlir_use {
  hr_str_t name;
  int number;
  hr_pos_t pos;
} mlir_use_t;
typedef HR_VEC(mlir_use_t) mlir_uses_t;

typedef struct mlir_arg { /* of a block; the name may be empty */
  hr_str_t name;
  const mlir_type_t *type;
} mlir_arg_t;

hr_status_t mlir_parse_use(mlir_parser_t *parser, mlir_use_t *out_use);
/* "%a, %b" as long as values follow commas; the caller frees the list. */
hr_status_t mlir_parse_uses(mlir_parser_t *parser, mlir_uses_t *uses);

/* The operands' types, where they are known already, against those that the op is written with. */
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

/* An op in its own syntax; op->name is known and the parser is behind it. */
hr_status_t mlir_parse_pretty_op(mlir_parser_t *parser, mlir_op_t *op);
/* Do the op's regions see no values from outside? */
bool mlir_op_is_isolated(hr_str_t name);

#endif
