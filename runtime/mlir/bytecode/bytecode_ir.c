/* Operations, blocks and regions of bytecode.
 *   ops     ::= block, with one op, the module
 *   block   ::= count << 1 | has_args, args?, op*
 *   op      ::= name:var mask:byte location attrs? properties? results? operands? successors?
 *               orders? regions?         each '?' by a bit of the mask
 *   regions ::= count << 1 | isolated, region*
 *   region  ::= blocks:var (values:var block*)?
 * Values are numbered. The numbers of a region are those of all arguments and results of its
 * blocks in order, without nested regions. The numbers of a nested region continue after those of
 * the enclosing region; an isolated region starts at 0. Uses before definitions wait in a list
 * (pending). */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/mlir_mhlo.h"
#include "mlir/mlir_ops.h"

/* A use of an operand before its definition. */
typedef struct pending_use {
  uint64_t number;
  mlir_value_t **slot;
} pending_use_t;

/* The values visible to ops: one scope for each isolated region and the regions nested in it. */
typedef struct value_scope {
  HR_VEC(mlir_value_t *) values; /* by number; NULL: not yet defined */
  size_t next;                   /* number of the next value of the current region */
  size_t end;                    /* end of the numbers of the current region */
  HR_VEC(pending_use_t) pending;
} value_scope_t;

static hr_status_t read_ops(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                            value_scope_t *scope, mlir_block_t *block, uint64_t count);

/* --- values --- */

/* Gives the next number of the region to a value. */
static hr_status_t define_value(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                                value_scope_t *scope, mlir_value_t *value) {
  if (scope->next == scope->end)
    return bytecode_error(reader, cursor, "more values than the region announced");
  scope->values.data[scope->next++] = value;
  return NULL;
}

/* Reads a number below the end of the visible values; if its value is not defined yet, the use
 * becomes pending. */
static hr_status_t read_operand(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                value_scope_t *scope, mlir_value_t **slot) {
  uint64_t number;
  HR_TRY(bytecode_take_var(reader, cursor, &number));
  if (number >= scope->values.count)
    return bytecode_error(reader, cursor, "value %lu of %zu", (unsigned long)number,
                          scope->values.count);
  *slot = scope->values.data[number];
  if (!*slot) HR_VEC_PUSH(&scope->pending, (pending_use_t){number, slot});
  return NULL;
}

/* At the end of a region, resolves the pending uses of its values, whose numbers start at `first`;
 * entries before `from` are not looked at. The other entries move up and stay pending. */
static hr_status_t resolve_pending(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                                   value_scope_t *scope, size_t from, size_t first) {
  size_t remaining = from;
  for (size_t i = from; i < scope->pending.count; i++) {
    pending_use_t use = scope->pending.data[i];
    if (use.number < first) {
      scope->pending.data[remaining++] = use;
      continue;
    }
    *use.slot = scope->values.data[use.number];
    if (!*use.slot)
      return bytecode_error(reader, cursor, "value %lu is not defined", (unsigned long)use.number);
  }
  scope->pending.count = remaining;
  return NULL;
}

/* --- blocks and regions --- */

/* Skips use-list orders, which do not change the program. */
static hr_status_t skip_use_orders(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   int values) {
  int count = 1;
  uint64_t number, header;
  if (values > 1) HR_TRY(bytecode_take_count(reader, cursor, &count));
  for (int i = 0; i < count; i++) {
    if (values > 1) HR_TRY(bytecode_take_var(reader, cursor, &number));
    HR_TRY(bytecode_take_var(reader, cursor, &header));
    if (header >> 1 > bytecode_left(cursor))
      return bytecode_error(reader, cursor, "an order of uses that is too long");
    for (uint64_t k = 0; k < header >> 1; k++) HR_TRY(bytecode_take_var(reader, cursor, &number));
  }
  return NULL;
}

/* Type and location; since version 4 one number holds the type and a flag for the location. */
static hr_status_t read_arg(bytecode_reader_t *reader, bytecode_cursor_t *cursor, mlir_value_t *arg,
                            const mlir_attr_t **out_location) {
  uint64_t header;
  if (reader->version < 4) {
    HR_TRY(bytecode_take_type(reader, cursor, &arg->type));
    return bytecode_take_attr(reader, cursor, out_location);
  }
  HR_TRY(bytecode_take_var(reader, cursor, &header));
  HR_TRY(bytecode_type_at(reader, cursor, header >> 1, &arg->type));
  return header & 1 ? bytecode_take_attr(reader, cursor, out_location) : NULL;
}

/* Block arguments, which are values of the region. */
static hr_status_t read_args(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                             value_scope_t *scope, mlir_block_t *block) {
  uint8_t has_orders = 0;
  HR_TRY(bytecode_take_count(reader, cursor, &block->arg_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, block->arg_count, &block->args));
  HR_TRY(HR_NEW_ARRAY(reader->arena, block->arg_count, &block->arg_locations));
  for (int i = 0; i < block->arg_count; i++) {
    block->args[i] = (mlir_value_t){.block = block, .index = i};
    HR_TRY(read_arg(reader, cursor, &block->args[i], &block->arg_locations[i]));
    HR_TRY(define_value(reader, cursor, scope, &block->args[i]));
  }
  if (reader->version >= 3) HR_TRY(bytecode_take_byte(reader, cursor, &has_orders));
  return has_orders ? skip_use_orders(reader, cursor, block->arg_count) : NULL;
}

/* block := var (op count * 2 + has arguments), [arguments], op... */
static hr_status_t read_block(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              value_scope_t *scope, mlir_block_t *block) {
  uint64_t header;
  HR_TRY(bytecode_take_var(reader, cursor, &header));
  if (header & 1) HR_TRY(read_args(reader, cursor, scope, block));
  return read_ops(reader, cursor, scope, block, header >> 1);
}

/* Reserves the region's numbers after the visible ones. The count is charged to the budget: every
 * value takes a byte somewhere, so that all regions together have no more values than the file has
 * bytes. */
static hr_status_t open_values(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               value_scope_t *scope) {
  int count;
  HR_TRY(bytecode_take_count(reader, cursor, &count));
  HR_TRY(bytecode_charge(reader, (uint64_t)count));
  scope->next = scope->values.count;
  scope->end = scope->next + (size_t)count;
  HR_TRY(HR_VEC_RESERVE(&scope->values, scope->end));
  while (scope->values.count < scope->end) scope->values.data[scope->values.count++] = NULL;
  return NULL;
}

/* All blocks are created before their ops are read, as successors refer to them. The region's
 * numbers are released at its end. */
static hr_status_t read_blocks(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               value_scope_t *scope, mlir_region_t *region, int count) {
  size_t first = scope->values.count;
  size_t pending = scope->pending.count;
  mlir_block_t *block;
  HR_TRY(open_values(reader, cursor, scope));
  for (int i = 0; i < count; i++) HR_TRY(mlir_region_add_block(reader->module, region, &block));
  for (int i = 0; i < count; i++) HR_TRY(read_block(reader, cursor, scope, region->blocks.data[i]));
  HR_TRY(resolve_pending(reader, cursor, scope, pending, first));
  scope->values.count = first;
  return NULL;
}

/* Afterwards the numbers of the enclosing region continue where they stopped. */
static hr_status_t read_region(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               value_scope_t *scope, mlir_region_t *region) {
  int blocks;
  size_t next = scope->next;
  size_t end = scope->end;
  HR_TRY(bytecode_take_count(reader, cursor, &blocks));
  if (!blocks) return NULL;
  HR_TRY(bytecode_enter(reader, cursor));
  HR_TRY(read_blocks(reader, cursor, scope, region, blocks));
  bytecode_leave(reader);
  scope->next = next;
  scope->end = end;
  return NULL;
}

/* Regions that see no values of the enclosing regions have a new scope. */
static hr_status_t read_isolated(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 mlir_op_t *op) {
  value_scope_t scope = {0};
  hr_status_t st = NULL;
  for (int i = 0; i < op->region_count && !st; i++)
    st = read_region(reader, cursor, &scope, op->regions[i]);
  HR_VEC_FREE(&scope.values);
  HR_VEC_FREE(&scope.pending);
  return st;
}

/* Since version 2 isolated regions are separate sections, which can be read lazily. */
static hr_status_t read_regions(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                value_scope_t *scope, mlir_op_t *op) {
  uint64_t header;
  HR_TRY(bytecode_take_var(reader, cursor, &header));
  if (header >> 1 > bytecode_left(cursor))
    return bytecode_error(reader, cursor, "%lu regions", (unsigned long)(header >> 1));
  op->region_count = (int)(header >> 1);
  HR_TRY(HR_NEW_ARRAY(reader->arena, op->region_count, &op->regions));
  for (int i = 0; i < op->region_count; i++) {
    HR_TRY(HR_NEW(reader->arena, &op->regions[i]));
    op->regions[i]->parent = op;
  }
  bool isolated = header & 1;
  if (isolated && reader->version >= 2) {
    int id;
    bytecode_cursor_t section;
    HR_TRY(bytecode_take_section(reader, cursor, &id, &section));
    if (id != BYTECODE_IR)
      return bytecode_error(reader, cursor, "want the section of an isolated region");
    return read_isolated(reader, &section, op);
  }
  if (isolated) return read_isolated(reader, cursor, op);
  for (int i = 0; i < op->region_count; i++)
    HR_TRY(read_region(reader, cursor, scope, op->regions[i]));
  return NULL;
}

/* --- operations --- */

/* results := var count, type index...; the values get their numbers in define_results, after the
 * operands. */
static hr_status_t read_results(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                mlir_op_t *op) {
  HR_TRY(bytecode_take_count(reader, cursor, &op->result_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, op->result_count, &op->results));
  for (int i = 0; i < op->result_count; i++) {
    op->results[i] = (mlir_value_t){.owner = op, .index = i};
    HR_TRY(bytecode_take_type(reader, cursor, &op->results[i].type));
  }
  return NULL;
}

/* Operand numbers. */
static hr_status_t read_operands(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 value_scope_t *scope, mlir_op_t *op) {
  HR_TRY(bytecode_take_count(reader, cursor, &op->operand_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, op->operand_count, &op->operands));
  for (int i = 0; i < op->operand_count; i++)
    HR_TRY(read_operand(reader, cursor, scope, &op->operands[i]));
  return NULL;
}

/* Indices of blocks of the enclosing region. */
static hr_status_t read_successors(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   mlir_op_t *op) {
  const mlir_region_t *region = op->parent ? op->parent->parent : NULL;
  HR_TRY(bytecode_take_count(reader, cursor, &op->successor_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, op->successor_count, &op->successors));
  for (int i = 0; i < op->successor_count; i++) {
    uint64_t index;
    HR_TRY(bytecode_take_var(reader, cursor, &index));
    if (!region || index >= region->blocks.count)
      return bytecode_error(reader, cursor, "block %lu, which does not exist",
                            (unsigned long)index);
    op->successors[i] = region->blocks.data[index];
  }
  return NULL;
}

/* True for casts between a type of VHLO and its counterpart: the tree has only the latter, so that
 * the result equals the operand. A cast with a pending operand is kept. */
static bool is_identity(const mlir_op_t *op) {
  if (!hr_str_is(op->name, "builtin.unrealized_conversion_cast") ||
      op->operand_count != op->result_count)
    return false;
  for (int i = 0; i < op->operand_count; i++)
    if (!op->operands[i] || !mlir_type_equal(op->operands[i]->type, op->results[i].type))
      return false;
  return true;
}

/* Results take the next numbers of the scope. An identity op binds its operands to the numbers
 * instead, so that its users see them directly. */
static hr_status_t define_results(bytecode_reader_t *reader, const bytecode_cursor_t *cursor,
                                  value_scope_t *scope, mlir_op_t *op, bool identity) {
  for (int i = 0; i < op->result_count; i++)
    HR_TRY(define_value(reader, cursor, scope, identity ? op->operands[i] : &op->results[i]));
  return NULL;
}

static hr_str_t skip_char(hr_str_t text) { return (hr_str_t){text.data + 1, text.size - 1}; }

/* Inherent attributes of sdy ops become strings without the name of their kind, as the parser of
 * text has them: "#sdy.mesh<["x"=2]>" is "["x"=2]". */
static hr_status_t strip_sdy_mnemonics(bytecode_reader_t *reader, mlir_op_t *op) {
  mlir_named_attr_t *attrs;
  HR_TRY(bytecode_charge(reader, (uint64_t)op->attr_count));
  HR_TRY(HR_NEW_ARRAY(reader->arena, op->attr_count, &attrs));
  for (int i = 0; i < op->attr_count; i++) {
    attrs[i] = op->attrs[i];
    hr_str_t text = attrs[i].value->text;
    bool is_short = text.size > 5 && !memcmp(text.data, "#sdy<", 5); /* #sdy<kind[...]> */
    if (attrs[i].value->kind != MLIR_ATTR_OPAQUE || text.size < 2) continue;
    while (text.size > 1 && *text.data != '<') text = skip_char(text);
    text = (hr_str_t){text.data + 1, text.size > 2 ? text.size - 2 : 0};
    bool is_list = hr_str_is(attrs[i].name, "manual_axes") ||
                   hr_str_is(attrs[i].name, "in_shardings") ||
                   hr_str_is(attrs[i].name, "out_shardings");
    while ((is_list || is_short) && text.size > 2 && !strchr("[{", *text.data))
      text = skip_char(text);
    if (is_list && text.size >= 2) text = (hr_str_t){text.data + 1, text.size - 2};
    HR_TRY(mlir_make_string(reader->arena, text, &attrs[i].value));
  }
  op->attrs = attrs;
  return NULL;
}

/* Name, mask, location, and attributes from properties and dictionary. An op of VHLO must have its
 * attributes in one of them. */
static hr_status_t read_head(bytecode_reader_t *reader, bytecode_cursor_t *cursor, mlir_op_t *op,
                             uint8_t *out_mask) {
  uint64_t index;
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  if (index >= reader->op_names.count)
    return bytecode_error(reader, cursor, "operation %lu of %zu", (unsigned long)index,
                          reader->op_names.count);
  const bytecode_op_name_t *name = &reader->op_names.data[index];
  const mlir_op_t *holder = op->parent && op->parent->parent ? op->parent->parent->parent : NULL;
  const mlir_attr_t *dict = NULL;
  op->name = name->vhlo ? vhlo_upgrade_name(name->vhlo, holder) : name->name;
  HR_TRY(bytecode_take_byte(reader, cursor, out_mask));
  if (*out_mask & 0x80)
    return bytecode_error(reader, cursor, "an operation of a form that is not known");
  HR_TRY(bytecode_take_attr(reader, cursor, &op->location));
  if (op->location->kind != MLIR_ATTR_LOCATION || hr_str_is(op->location->text, "unknown"))
    op->location = NULL;
  if (*out_mask & BYTECODE_OP_ATTRS) HR_TRY(bytecode_take_attr(reader, cursor, &dict));
  bool has_properties = *out_mask & BYTECODE_OP_PROPERTIES;
  if (has_properties && reader->version < 5)
    return bytecode_error(reader, cursor, "properties before version 5");
  if (has_properties) HR_TRY(bytecode_take_properties(reader, cursor, name, op));
  if (dict) HR_TRY(bytecode_add_dict(reader, cursor, name, dict, op));
  bool bare =
      name->vhlo && name->vhlo->attr_count && !has_properties && !(dict && reader->version < 5);
  if (bare)
    return bytecode_error(reader, cursor, "%.*s without its attributes", HR_STR_ARGS(name->name));
  bool is_sdy = name->name.size > 4 && !memcmp(name->name.data, "sdy.", 4);
  return is_sdy && op->attr_count ? strip_sdy_mnemonics(reader, op)
                                  : mlir_mhlo_adapt_attrs(reader->arena, op);
}

/* Name, location and attributes, then the parts of the mask in their fixed order. */
static hr_status_t read_op(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                           value_scope_t *scope, mlir_op_t *op, bool *out_keep) {
  uint8_t mask;
  HR_TRY(read_head(reader, cursor, op, &mask));
  if (mask & BYTECODE_OP_RESULTS) HR_TRY(read_results(reader, cursor, op));
  if (mask & BYTECODE_OP_OPERANDS) HR_TRY(read_operands(reader, cursor, scope, op));
  if (mask & BYTECODE_OP_SUCCESSORS) HR_TRY(read_successors(reader, cursor, op));
  if (mask & BYTECODE_OP_USE_ORDERS) HR_TRY(skip_use_orders(reader, cursor, op->result_count));
  *out_keep = !is_identity(op);
  HR_TRY(define_results(reader, cursor, scope, op, !*out_keep));
  return mask & BYTECODE_OP_REGIONS ? read_regions(reader, cursor, scope, op) : NULL;
}

/* Identity casts leave no op behind. */
static hr_status_t read_ops(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                            value_scope_t *scope, mlir_block_t *block, uint64_t count) {
  if (count > bytecode_left(cursor))
    return bytecode_error(reader, cursor, "%lu operations", (unsigned long)count);
  for (uint64_t i = 0; i < count; i++) {
    mlir_op_t *op;
    bool keep;
    HR_TRY(HR_NEW(reader->arena, &op));
    op->parent = block;
    HR_TRY(read_op(reader, cursor, scope, op, &keep));
    if (keep) HR_TRY(mlir_block_add_op(block, op));
  }
  return NULL;
}

/* The section is a block without arguments that holds one op, the module: its header is 1 << 1. */
hr_status_t bytecode_read_ir(bytecode_reader_t *reader) {
  bytecode_cursor_t *cursor = &reader->sections[BYTECODE_IR];
  value_scope_t scope = {0};
  uint64_t header;
  mlir_op_t *op;
  bool keep;
  HR_TRY(bytecode_take_var(reader, cursor, &header));
  if (header != 2) return bytecode_error(reader, cursor, "want one operation at the top");
  HR_TRY(HR_NEW(reader->arena, &op));
  hr_status_t st = read_op(reader, cursor, &scope, op, &keep);
  HR_VEC_FREE(&scope.values);
  HR_VEC_FREE(&scope.pending);
  HR_TRY(st);
  if (!hr_str_is(op->name, "builtin.module"))
    return bytecode_error(reader, cursor, "want a module at the top");
  reader->module->op = op;
  return NULL;
}
