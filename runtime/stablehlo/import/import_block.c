/* Blocks and their ops. Each op is looked up in stablehlo.def by name. Operand counts, required
 * attributes and StableHLO's own rules are checked before the row's function runs, so that the
 * functions need not check them; afterwards the declared result types are compared with the shapes
 * inferred by HLO. A block's instructions go to the builder of its scope (import_scope_t). */
#include <limits.h>
#include <string.h>

#include "base/nearest_name.h"
#include "base/nesting.h"
#include "base/options.h"
#include "ir/name.h"
#include "mlir/bytecode/bytecode_format.h"
#include "mlir/mlir_mhlo.h"
#include "stablehlo/import/import_quant.h"

#define SAME INT_MIN
#define ANY OP_OPERANDS_ANY
#define AT_LEAST(n) OP_OPERANDS_AT_LEAST(n)
static const import_row_t rows[] = {
#define IMPORT(name, op, operands, function) {name, HLO_##op, operands, function},
#include "stablehlo/stablehlo.def"
#undef IMPORT
};

#define ROWS (sizeof rows / sizeof *rows)

/* The attributes of a row's op in bytecode's table; "" if it has no row there. The last of several
 * rows (versions) counts. */
static const char *attrs_of_row(const char *name) {
  const char *attrs = "";
  for (int i = 0; i < bytecode_op_row_count; i++)
    if (!strcmp(bytecode_op_rows[i].name, name)) attrs = bytecode_op_rows[i].attrs;
  return attrs;
}

/* Attributes that bytecode always has are required. The list is looked up once for each row. */
static hr_status_t check_attrs(import_scope_t *scope, const mlir_op_t *op,
                               const import_row_t *row) {
  const char **attrs = &scope->importer->attrs[row - rows];
  hr_str_t name;
  bool optional;
  if (!*attrs) *attrs = attrs_of_row(row->name);
  for (const char *at = *attrs; bytecode_next_attr(&at, &name, &optional);)
    if (!optional && !mlir_op_attr_named(op, name))
      return import_error(scope, op, "the attribute %.*s is missing", HR_STR_ARGS(name));
  return NULL;
}

/* Compares the number of operands with the row's; a negative count -1 - n means at least n. All
 * must be defined, which the order of blocks alone does not guarantee. */
static hr_status_t check_operands(import_scope_t *scope, const mlir_op_t *op,
                                  const import_row_t *row) {
  int wanted = row->operands == SAME ? hlo_op_table[row->op].operands : row->operands;
  bool is_minimum = wanted < 0;
  int count = is_minimum ? -1 - wanted : wanted;
  bool right = is_minimum ? op->operand_count >= count : op->operand_count == count;
  if (!right)
    return import_error(scope, op, "%d operands, want %s%d", op->operand_count,
                        is_minimum ? "at least " : "", count);
  for (int k = 0; k < op->operand_count; k++)
    if (!op->operands[k]->mapped)
      return import_error(scope, op, "operand %d is not defined before it", k);
  return NULL;
}

/* Label of the rule broken by a wrong result type, for ops whose own verification does not check
 * it. */
static const char *result_label(const mlir_op_t *op) {
  if (hr_str_is(op->name, "stablehlo.all_to_all")) return " (all_to_all C9)";
  return hr_str_is(op->name, "stablehlo.constant") ? " (constant C1)" : "";
}

/* Compares a declared type with the shape of the instruction. Opaque types have no counterpart in
 * HLO and are not compared; a future that was started here is compared by import_async_start. */
static hr_status_t check_type(import_scope_t *scope, const mlir_op_t *op, const char *what,
                              int index, const mlir_type_t *declared, const hlo_instr_t *given) {
  const hlo_shape_t *shape;
  char text[2][HLO_SHAPE_TEXT];
  /* shapes and witnesses have no type in HLO */
  if (declared->kind == MLIR_TYPE_OPAQUE) return NULL;
  if (declared->kind == MLIR_TYPE_FUTURE && given && given->op == HLO_ASYNC_START) return NULL;
  HR_TRY(import_shape(scope->importer, declared, &shape));
  if (!given || hlo_shape_compatible(shape, given->shape)) return NULL;
  return import_error(scope, op, "%s %d is declared as %s, want %s%s", what, index,
                      hlo_shape_text(shape, text[0]), hlo_shape_text(given->shape, text[1]),
                      result_label(op));
}

/* The declared types must be those of the inferred shapes; HLO's verifier sees only the latter. */
static hr_status_t check_results(import_scope_t *scope, const mlir_op_t *op) {
  for (int i = 0; i < op->result_count; i++)
    HR_TRY(check_type(scope, op, "result", i, op->results[i].type, op->results[i].mapped));
  return NULL;
}

/* The error names the op's dialect, or the nearest known op. */
static hr_status_t unknown_op(import_scope_t *scope, const mlir_op_t *op) {
  const char *names[ROWS], *word;
  hr_str_t dialect = mlir_foreign_dialect(op->name);
  if (mlir_mhlo_is_alone(op->name)) return import_error(scope, op, MLIR_MHLO_ALONE);
  if (dialect.size) return import_error(scope, op, MLIR_FOREIGN_DIALECT, HR_STR_ARGS(dialect));
  for (size_t i = 0; i < ROWS; i++) names[i] = rows[i].name;
  HR_TRY(hr_arena_cstr(&scope->importer->module->arena, op->name, &word));
  const char *nearest = hr_nearest_name(word, names, ROWS);
  if (nearest) return import_error(scope, op, "this operation is not known; nearest: %s", nearest);
  return import_error(scope, op, "this operation is not known");
}

static hr_status_t check_op(import_scope_t *scope, const mlir_op_t *op, const import_row_t *row) {
  HR_TRY(check_operands(scope, op, row));
  HR_TRY(check_attrs(scope, op, row));
  return import_verify(scope, op);
}

hr_status_t import_by_row(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  HR_TRY(check_op(scope, op, row));
  return row->import(scope, op, row);
}

/* Checks, then the row's function, then frontend attributes of the new instructions. */
static hr_status_t import_op(import_scope_t *scope, mlir_op_t *op) {
  const import_row_t *row = hr_map_get(scope->importer->rows, op->name);
  if (!row) return unknown_op(scope, op);
  scope->builder.line = op->line;
  scope->builder.column = op->column;
  scope->importer->at = op;
  import_frontend_attrs_t note;
  HR_TRY(check_op(scope, op, row));
  HR_TRY(import_await_operands(scope, op));
  size_t first = scope->builder.computation->instrs.count;
  HR_TRY(import_extra(scope, op, &scope->builder.extra, &note));
  HR_TRY(import_is_quantised(op) ? import_quantised(scope, op, row) : row->import(scope, op, row));
  scope->importer->at = op; /* restored after ops of its regions */
  HR_TRY(import_frontend_attrs_instr(scope, &note, first));
  HR_TRY(import_sdy_of_results(scope, op, first));
  return check_results(scope, op);
}

/* True for ops that end blocks in the imported dialects. */
static bool is_terminator(const mlir_op_t *op) {
  return hr_str_is(op->name, "stablehlo.return") || hr_str_is(op->name, "func.return") ||
         hr_str_is(op->name, "sdy.return") || hr_str_is(op->name, "shape.assuming_yield");
}

/* Imports ops in order; the terminator is returned, not imported. */
hr_status_t import_block(import_scope_t *scope, mlir_block_t *block, mlir_op_t **out_terminator) {
  if (++scope->importer->depth > hr_nesting_limit())
    return mlir_error(scope->importer->from, block->parent->parent,
                      "calls and regions nest deeper than %d", hr_nesting_limit());
  for (size_t i = 0; i < block->ops.count; i++) {
    mlir_op_t *op = block->ops.data[i];
    if (is_terminator(op)) {
      scope->importer->depth--;
      *out_terminator = op;
      if (op->result_count) return import_error(scope, op, "it has results, want none");
      if (i + 1 == block->ops.count) return import_await_operands(scope, op);
      return import_error(scope, op, "more operations follow the one that returns");
    }
    HR_TRY(import_op(scope, op));
  }
  return mlir_error(scope->importer->from, block->parent->parent,
                    "a region does not end with a return");
}

/* A name valid in HLO text; a number is appended if it is taken. */
static hr_status_t computation_name(importer_t *importer, hr_str_t wanted, hr_str_t *out_name) {
  hr_str_t clean;
  HR_TRY(hlo_name_make_valid(importer->arena, wanted, &clean));
  *out_name = clean;
  for (int i = 1; hr_map_get(&importer->names, *out_name); i++) {
    const char *numbered;
    HR_TRY(hr_arena_printf(importer->arena, &numbered, "%.*s.%d", HR_STR_ARGS(clean), i));
    *out_name = hr_str_from(numbered);
  }
  return hr_map_put(&importer->names, *out_name, importer, NULL);
}

/* Names of computations are made unique. */
hr_status_t import_scope_new(importer_t *importer, hr_str_t wanted, const mlir_op_t *op,
                             import_scope_t *scope) {
  hlo_computation_t *computation;
  hr_str_t name;
  HR_TRY(computation_name(importer, wanted, &name));
  HR_TRY(hlo_computation_add(importer->module, name, &computation));
  *scope = (import_scope_t){importer, hlo_builder_at(computation, op->line, op->column)};
  computation->line = op->line;
  computation->column = op->column;
  return NULL;
}

/* Moves a completed computation to the end of the list, so that callees come first.
 * O(computations). */
static void move_to_end(hlo_module_t *module, hlo_computation_t *computation) {
  size_t last = module->computations.count - 1;
  for (size_t i = computation->id; i < last; i++) {
    module->computations.data[i] = module->computations.data[i + 1];
    module->computations.data[i]->id = (uint32_t)i;
  }
  module->computations.data[last] = computation;
  computation->id = (uint32_t)last;
}

/* The root is part of the computation already. */
hr_status_t import_scope_close(import_scope_t *scope, hlo_instr_t *root) {
  HR_TRY(hlo_builder_finish(&scope->builder));
  scope->builder.computation->root = root;
  move_to_end(scope->importer->module, scope->builder.computation);
  return NULL;
}

/* The values of the terminator as a tuple; a single value without a tuple if `bare`. NULL after a
 * failure, which is in the builder. */
hlo_instr_t *import_returned(import_scope_t *scope, const mlir_op_t *terminator, bool bare) {
  hlo_instr_t **operands;
  scope->builder.status =
      scope->builder.status ? scope->builder.status : import_operands(scope, terminator, &operands);
  if (scope->builder.status) return NULL;
  if (bare && terminator->operand_count == 1) return operands[0];
  scope->builder.extra = NULL; /* belongs to the last op */
  return hlo_build_tuple(&scope->builder, terminator->operand_count, operands);
}

/* The only block of a region; NULL if it has none, or several, which HLO cannot express. */
mlir_block_t *import_block_of(const mlir_op_t *op, int region) {
  bool has_body = region < op->region_count && op->regions[region]->blocks.count == 1;
  return has_body ? op->regions[region]->blocks.data[0] : NULL;
}

static hr_status_t fill_rows(hr_map_t *map) {
  for (size_t i = 0; i < ROWS; i++)
    HR_TRY(hr_map_put(map, hr_str_from(rows[i].name), (void *)&rows[i], NULL));
  return NULL;
}

/* Finds the map of op names to rows, and makes memory for the lists of attributes from bytecode's
 * table. */
hr_status_t import_list_rows(importer_t *importer) {
  static hr_kept_map_t by_name = HR_KEPT_MAP(fill_rows);
  HR_TRY(hr_kept_map_get(&by_name, &importer->rows));
  return HR_NEW_ARRAY(importer->arena, ROWS, &importer->attrs);
}
