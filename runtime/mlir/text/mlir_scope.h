/* Scopes of value names: one for each region while it is parsed. Internal to the parser. */
#ifndef MLIR_MLIR_SCOPE_H
#define MLIR_MLIR_SCOPE_H

#include "mlir/mlir_ops.h"

/* A name and the values that it stands for: "%a:2 = ..." defines %a#0 and %a#1. */
typedef struct mlir_name {
  hr_str_t name;
  mlir_value_t *values; /* NULL: not defined yet */
  int count;
} mlir_name_t;

/* A use before its definition: the operand's slot, which is filled later, and the place of the use.
 */
typedef struct pending_use {
  mlir_name_t *name;
  int number;
  mlir_value_t **slot;
  hr_pos_t pos;
} pending_use_t;

struct mlir_scope {
  mlir_scope_t *outer; /* visible from here; NULL at isolated regions */
  hr_map_t names;
  HR_VEC(pending_use_t) pending;
};

/* Defines `name` in the parser's scope for `count` values, which get the name, too. Errors: INVALID
 * if the scope itself defines it already; names of outer scopes may be shadowed. */
hr_status_t mlir_scope_define(mlir_parser_t *parser, hr_str_t name, mlir_value_t *values,
                              int count);
/* Sets slots[i] to the value that uses[i] names: now, or when a region that is open now ends. The
 * slots must live until then. */
hr_status_t mlir_scope_resolve(mlir_parser_t *parser, const mlir_use_t *uses, int count,
                               mlir_value_t **slots);
/* Ends a scope: pending uses move to the outer scope. Errors: INVALID for an undefined name, if
 * there is no outer scope. The caller frees the scope's lists. */
hr_status_t mlir_scope_close(mlir_parser_t *parser, mlir_scope_t *scope);

#endif
