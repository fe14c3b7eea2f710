/* Parser of MLIR text: modules, operations, regions and blocks. Tokens are taken in mlir_take.c,
 * value names resolved in mlir_scope.c; types, attributes and pretty forms have files of their own.
 * Recursive descent with one token of lookahead; nesting is bounded by MLIR_MAX_DEPTH.
 *
 *   file    ::= (alias | resources | op)*
 *   op      ::= results? ("name" generic | name pretty) location?
 *   region  ::= "{" op* (label op*)* "}"
 *   label   ::= ^name ("(" (%name ":" type location?)* ")")? ":"
 *
 * Source: MLIR language reference, "Operations", "Blocks", "Regions". Every byte is read once,
 * dense literals twice (mlir_dense.c). */
#include "mlir/mlir_mhlo.h"
#include "mlir/text/mlir_parser.h"

#include <string.h>

#include "mlir/mlir_ops.h"
#include "mlir/text/mlir_print.h"
#include "mlir/text/mlir_scope.h"

#define MAX_RESULTS 1000000 /* most results of one name, "%a:1000000" */

/* --- regions --- */

/* (%a: T loc(..), ...) */
static hr_status_t parse_block_args(mlir_parser_t *parser, mlir_block_t *block) {
  HR_VEC(mlir_arg_t) args = {0};
  hr_status_t st = mlir_take(parser, '(');
  for (bool more = !mlir_at(parser, ')'); more && !st;) {
    mlir_arg_t arg = {0};
    const mlir_attr_t *location;
    HR_TRY_GOTO(done, st, mlir_take_kind(parser, MLIR_TOKEN_VALUE, "an argument", &arg.name));
    HR_TRY_GOTO(done, st, mlir_take(parser, ':'));
    HR_TRY_GOTO(done, st, mlir_parse_type(parser, &arg.type));
    if (mlir_at_word(parser, "loc")) HR_TRY_GOTO(done, st, mlir_parse_location(parser, &location));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&args, args.count + 1));
    args.data[args.count++] = arg;
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  if (!st) st = mlir_take(parser, ')');
  if (!st) st = mlir_add_block_args(parser, block, (int)args.count, args.data);
done:
  HR_VEC_FREE(&args);
  return st;
}

/* Forms such as "applies op" make arguments without names, to which the text cannot refer. */
hr_status_t mlir_add_block_args(mlir_parser_t *parser, mlir_block_t *block, int count,
                                const mlir_arg_t *args) {
  HR_TRY(HR_NEW_ARRAY(parser->arena, count, &block->args));
  block->arg_count = count;
  for (int i = 0; i < count; i++) {
    block->args[i] = (mlir_value_t){.type = args[i].type, .block = block, .index = i};
    if (args[i].name.size) HR_TRY(mlir_scope_define(parser, args[i].name, &block->args[i], 1));
  }
  return NULL;
}

/* Ops up to the end of the region or the next label. */
static hr_status_t parse_block_ops(mlir_parser_t *parser, mlir_block_t *block) {
  while (!mlir_at(parser, '}') && mlir_peek(parser)->kind != MLIR_TOKEN_BLOCK) {
    mlir_op_t *op;
    HR_TRY(mlir_parse_op(parser, &op));
    HR_TRY(mlir_block_add_op(block, op));
  }
  return NULL;
}

/* ^label(args): ops. The first label may belong to the entry block, which exists already. */
static hr_status_t parse_labelled_blocks(mlir_parser_t *parser, mlir_region_t *region,
                                         bool replace_first) {
  while (mlir_peek(parser)->kind == MLIR_TOKEN_BLOCK) {
    mlir_block_t *block;
    if (replace_first)
      block = region->blocks.data[0];
    else
      HR_TRY(mlir_region_add_block(parser->module, region, &block));
    replace_first = false;
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_BLOCK, "a block", &block->label));
    if (mlir_at(parser, '(')) HR_TRY(parse_block_args(parser, block));
    HR_TRY(mlir_take(parser, ':'));
    HR_TRY(parse_block_ops(parser, block));
  }
  return NULL;
}

/* An entry block, with or without a label, and labelled blocks. Arguments given by the op's own
 * syntax (functions, loops) belong to the entry block, which then has no label: the first label
 * starts another block. */
static hr_status_t parse_region_body(mlir_parser_t *parser, mlir_region_t *region, int arg_count,
                                     const mlir_arg_t *args) {
  HR_TRY(mlir_take(parser, '{'));
  if (mlir_at(parser, '}') && !arg_count) return mlir_take(parser, '}');
  mlir_block_t *entry;
  HR_TRY(mlir_region_add_block(parser->module, region, &entry));
  HR_TRY(mlir_add_block_args(parser, entry, arg_count, args));
  bool labelled = mlir_peek(parser)->kind == MLIR_TOKEN_BLOCK;
  if (!labelled) HR_TRY(parse_block_ops(parser, entry));
  HR_TRY(parse_labelled_blocks(parser, region, labelled && !arg_count));
  return mlir_take(parser, '}');
}

/* The scope is on the stack while its region is parsed; an isolated region does not see outer
 * names. */
hr_status_t mlir_parse_region(mlir_parser_t *parser, mlir_region_t *region, bool isolated,
                              int arg_count, const mlir_arg_t *args) {
  mlir_scope_t scope = {.outer = isolated ? NULL : parser->scope};
  mlir_scope_t *before = parser->scope;
  HR_TRY(mlir_enter(parser));
  parser->scope = &scope;
  hr_status_t st = parse_region_body(parser, region, arg_count, args);
  if (!st) st = mlir_scope_close(parser, &scope);
  parser->scope = before;
  hr_map_deinit(&scope.names);
  HR_VEC_FREE(&scope.pending);
  mlir_leave(parser);
  return st;
}

/* --- operations --- */

/* A name on the left of '=', with its number of results. */
typedef struct result_name {
  hr_str_t name;
  int count;
} result_name_t;
typedef HR_VEC(result_name_t) result_names_t;

/* %a, %b:2 = ...; nothing for an op without results. */
static hr_status_t parse_result_names(mlir_parser_t *parser, result_names_t *names) {
  if (mlir_peek(parser)->kind != MLIR_TOKEN_VALUE) return NULL;
  for (bool more = true; more;) {
    result_name_t name = {.count = 1};
    bool counted;
    int64_t count = 1;
    HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_VALUE, "a result", &name.name));
    HR_TRY(mlir_take_if(parser, ':', &counted));
    if (counted) HR_TRY(mlir_take_integer(parser, &count));
    if (count < 1 || count > MAX_RESULTS) return mlir_expected(parser, "1 to 1000000 results");
    name.count = (int)count;
    HR_VEC_PUSH(names, name);
    HR_TRY(mlir_take_if(parser, ',', &more));
  }
  return mlir_take(parser, '=');
}

/* All results must be named if any is. */
static hr_status_t name_results(mlir_parser_t *parser, const result_names_t *names, mlir_op_t *op) {
  int named = 0;
  for (size_t i = 0; i < names->count; i++) {
    result_name_t name = names->data[i];
    if (named + name.count > op->result_count)
      return mlir_error(parser->module, op, "it has %d results, more are named", op->result_count);
    HR_TRY(mlir_scope_define(parser, name.name, op->results + named, name.count));
    named += name.count;
  }
  if (names->count && named != op->result_count)
    return mlir_error(parser->module, op, "%d results are named, it has %d", named,
                      op->result_count);
  return NULL;
}

/* Results exist before their names are known. */
hr_status_t mlir_set_results(mlir_parser_t *parser, mlir_op_t *op, int count,
                             const mlir_type_t *const *types) {
  op->result_count = count;
  HR_TRY(HR_NEW_ARRAY(parser->arena, count, &op->results));
  for (int i = 0; i < count; i++)
    op->results[i] = (mlir_value_t){.type = types[i], .owner = op, .index = i};
  return NULL;
}

/* Operands may stay NULL until their names are defined; they are not read before the region
 * ends. */
hr_status_t mlir_set_operands(mlir_parser_t *parser, mlir_op_t *op, const mlir_uses_t *uses) {
  op->operand_count = (int)uses->count;
  HR_TRY(HR_NEW_ARRAY(parser->arena, op->operand_count, &op->operands));
  return mlir_scope_resolve(parser, uses->data, op->operand_count, op->operands);
}

/* The message has the operand's type and the written one. */
static hr_status_t operand_type_error(mlir_parser_t *parser, const mlir_op_t *op, int k,
                                      const mlir_type_t *written) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "operand %d is ", k);
  mlir_print_type(&text, op->operands[k]->type);
  hr_strbuf_add_str(&text, ", and is written as ");
  mlir_print_type(&text, written);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = mlir_error(parser->module, op, "%.*s", (int)text.size, text.data);
  hr_strbuf_deinit(&text);
  return st;
}

/* An operand that is not defined yet is not checked here; the importer infers types anyway. */
hr_status_t mlir_check_operand_type(mlir_parser_t *parser, const mlir_op_t *op, int k,
                                    const mlir_type_t *written) {
  bool fits = !op->operands[k] || mlir_type_equal(op->operands[k]->type, written);
  return fits ? NULL : operand_type_error(parser, op, k, written);
}

hr_status_t mlir_check_operand_types(mlir_parser_t *parser, const mlir_op_t *op,
                                     const mlir_type_t *function) {
  for (int k = 0; k < op->operand_count && k < function->input_count; k++)
    HR_TRY(mlir_check_operand_type(parser, op, k, function->inputs[k]));
  return NULL;
}

/* Before properties existed, inherent attributes were in the dictionary: names without a dot are
 * inherent in either place. */
hr_status_t mlir_set_attrs(mlir_parser_t *parser, mlir_op_t *op, const mlir_attr_t *properties,
                           const mlir_attr_t *dict) {
  int total = (properties ? properties->count : 0);
  total += dict ? dict->count : 0;
  int inherent = properties ? properties->count : 0;
  mlir_named_attr_t *attrs, *extras;
  HR_TRY(HR_NEW_ARRAY(parser->arena, total, &attrs));
  HR_TRY(HR_NEW_ARRAY(parser->arena, total, &extras));
  for (int i = 0; i < inherent; i++) attrs[i] = properties->fields[i];
  for (int i = 0; dict && i < dict->count; i++) {
    /* attributes of a dialect ("mhlo.sharding") are discardable, plain names inherent */
    bool discardable = memchr(dict->fields[i].name.data, '.', dict->fields[i].name.size) != NULL;
    if (discardable)
      extras[op->extra_count++] = dict->fields[i];
    else
      attrs[inherent++] = dict->fields[i];
  }
  const mlir_attr_t *sorted;
  HR_TRY(mlir_make_dict(parser->arena, inherent, attrs, &sorted));
  hr_pos_t pos = {.source = &parser->module->source, .line = op->line, .column = op->column};
  HR_TRY(mlir_check_unique(sorted, pos));
  op->attrs = sorted->fields;
  op->attr_count = inherent;
  op->extras = extras;
  return mlir_mhlo_adapt_attrs(parser->arena, op);
}

/* "(" regions ")" of the generic form. */
static hr_status_t parse_generic_regions(mlir_parser_t *parser, mlir_op_t *op) {
  HR_VEC(mlir_region_t *) regions = {0};
  hr_status_t st = mlir_take(parser, '(');
  for (bool more = !st; more && !st;) {
    mlir_region_t *region;
    HR_TRY_GOTO(done, st, HR_NEW(parser->arena, &region));
    HR_TRY_GOTO(done, st,
                mlir_parse_region(parser, region, mlir_op_is_isolated(op->name), 0, NULL));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&regions, regions.count + 1));
    regions.data[regions.count++] = region;
    HR_TRY_GOTO(done, st, mlir_take_if(parser, ',', &more));
  }
  if (!st) st = mlir_take(parser, ')');
  if (!st) st = mlir_set_regions(parser, op, (int)regions.count, regions.data);
done:
  HR_VEC_FREE(&regions);
  return st;
}

/* Copies the list, which is on the caller's stack. */
hr_status_t mlir_set_regions(mlir_parser_t *parser, mlir_op_t *op, int count,
                             mlir_region_t *const *regions) {
  void *copy;
  HR_TRY(hr_arena_copy(parser->arena, regions, (size_t)count * sizeof *regions, &copy));
  op->regions = copy;
  op->region_count = count;
  for (int i = 0; i < count; i++) regions[i]->parent = op;
  return NULL;
}

/* "name"(%a, %b) <{props}> ({regions}) {attrs} : (types) -> types */
static hr_status_t parse_generic_op(mlir_parser_t *parser, mlir_op_t *op) {
  mlir_uses_t uses = {0};
  const mlir_attr_t *properties = NULL, *dict = NULL;
  const mlir_type_t *type;
  hr_status_t st = NULL;
  HR_TRY_GOTO(done, st, mlir_take_kind(parser, MLIR_TOKEN_STRING, "an operation", &op->name));
  HR_TRY_GOTO(done, st, mlir_mhlo_name(parser->arena, op->name, &op->name));
  HR_TRY_GOTO(done, st, mlir_take(parser, '('));
  HR_TRY_GOTO(done, st, mlir_parse_uses(parser, &uses));
  HR_TRY_GOTO(done, st, mlir_take(parser, ')'));
  if (mlir_at(parser, '<')) {
    HR_TRY_GOTO(done, st, mlir_take(parser, '<'));
    HR_TRY_GOTO(done, st, mlir_parse_dict(parser, &properties));
    HR_TRY_GOTO(done, st, mlir_take(parser, '>'));
  }
  if (mlir_at(parser, '(')) HR_TRY_GOTO(done, st, parse_generic_regions(parser, op));
  if (mlir_at(parser, '{')) HR_TRY_GOTO(done, st, mlir_parse_dict(parser, &dict));
  HR_TRY_GOTO(done, st, mlir_take(parser, ':'));
  HR_TRY_GOTO(done, st, mlir_parse_function_type(parser, &type));
  if (type->input_count != (int)uses.count) {
    st = mlir_error(parser->module, op, "%zu operands, the type has %d", uses.count,
                    type->input_count);
    goto done;
  }
  HR_TRY_GOTO(done, st, mlir_set_operands(parser, op, &uses));
  HR_TRY_GOTO(done, st, mlir_check_operand_types(parser, op, type));
  HR_TRY_GOTO(done, st, mlir_set_attrs(parser, op, properties, dict));
  st = mlir_set_results(parser, op, type->result_count, type->results);
done:
  HR_VEC_FREE(&uses);
  return st;
}

/* Full names of ops that MLIR prints without their dialect: return and call of func, module of
 * builtin. */
static hr_str_t full_name(hr_str_t word) {
  if (hr_str_is(word, "return") || hr_str_is(word, "call"))
    return hr_str_is(word, "call") ? HR_STR("func.call") : HR_STR("func.return");
  if (hr_str_is(word, "func")) return HR_STR("func.func"); /* MLIR before 2022 */
  return hr_str_is(word, "module") ? HR_STR("builtin.module") : word;
}

/* Results, generic form or pretty form, location. */
hr_status_t mlir_parse_op(mlir_parser_t *parser, mlir_op_t **out_op) {
  mlir_op_t *op;
  result_names_t names = {0};
  HR_TRY(mlir_enter(parser));
  hr_status_t st = NULL;
  HR_TRY_GOTO(done, st, parse_result_names(parser, &names));
  HR_TRY_GOTO(done, st, HR_NEW(parser->arena, &op));
  hr_pos_t pos = mlir_lexer_pos(&parser->lexer);
  op->line = pos.line;
  op->column = pos.column;
  if (mlir_peek(parser)->kind == MLIR_TOKEN_STRING) {
    HR_TRY_GOTO(done, st, parse_generic_op(parser, op));
  } else {
    hr_str_t word;
    HR_TRY_GOTO(done, st, mlir_take_kind(parser, MLIR_TOKEN_WORD, "an operation", &word));
    HR_TRY_GOTO(done, st, mlir_mhlo_name(parser->arena, full_name(word), &op->name));
    HR_TRY_GOTO(done, st, mlir_parse_pretty_op(parser, op));
  }
  if (mlir_at_word(parser, "loc"))
    HR_TRY_GOTO(done, st, mlir_parse_location(parser, &op->location));
  HR_TRY_GOTO(done, st, name_results(parser, &names, op));
  *out_op = op;
done:
  HR_VEC_FREE(&names);
  mlir_leave(parser);
  return st;
}

/* --- files --- */

/* "#name = attribute" or "!name = type" */
static hr_status_t parse_alias(mlir_parser_t *parser) {
  bool is_type = mlir_peek(parser)->kind == MLIR_TOKEN_BANG;
  hr_str_t name = mlir_peek(parser)->text;
  HR_TRY(mlir_lexer_next(&parser->lexer));
  HR_TRY(mlir_take(parser, '='));
  if (is_type) {
    const mlir_type_t *type;
    HR_TRY(mlir_parse_type(parser, &type));
    return hr_map_put(&parser->type_aliases, name, (void *)type, NULL);
  }
  if (mlir_at_word(parser, "loc") && mlir_is_location_alias(parser, name))
    return mlir_define_location(parser, name);
  const mlir_attr_t *attr;
  HR_TRY(mlir_parse_attr(parser, &attr));
  return hr_map_put(&parser->attr_aliases, name, (void *)attr, NULL);
}

/* Puts everything into a module, unless the file consists of one module. */
static hr_status_t wrap_in_module(mlir_parser_t *parser, mlir_region_t *region) {
  mlir_module_t *module = parser->module;
  mlir_block_t *block = region->blocks.data[0];
  if (block->ops.count == 1 && hr_str_is(block->ops.data[0]->name, "builtin.module")) {
    module->op = block->ops.data[0];
    module->op->parent = NULL;
    return NULL;
  }
  HR_TRY(HR_NEW(parser->arena, &module->op));
  module->op->name = HR_STR("builtin.module");
  module->op->line = 1;
  module->op->column = 1;
  return mlir_set_regions(parser, module->op, 1, &region);
}

/* Ops, aliases of types and attributes, and resources, in any order. */
static hr_status_t parse_file(mlir_parser_t *parser) {
  mlir_region_t *region;
  mlir_block_t *block;
  HR_TRY(HR_NEW(parser->arena, &region));
  HR_TRY(mlir_region_add_block(parser->module, region, &block));
  HR_TRY(mlir_lexer_next(&parser->lexer));
  while (mlir_peek(parser)->kind != MLIR_TOKEN_END) {
    mlir_token_kind_t kind = mlir_peek(parser)->kind;
    mlir_op_t *op;
    if (kind == MLIR_TOKEN_HASH || kind == MLIR_TOKEN_BANG) {
      HR_TRY(parse_alias(parser));
    } else if (kind == MLIR_TOKEN_RESOURCES_BEGIN) {
      HR_TRY(mlir_parse_resources(parser));
    } else {
      HR_TRY(mlir_parse_op(parser, &op));
      HR_TRY(mlir_block_add_op(block, op));
    }
  }
  HR_TRY(mlir_finish_resources(parser));
  HR_TRY(mlir_finish_locations(parser));
  return wrap_in_module(parser, region);
}

/* Ops at the top level are put into a module, unless there is only one module. */
hr_status_t mlir_parse_module(mlir_module_t *module) {
  mlir_scope_t scope = {0};
  mlir_parser_t parser = {.module = module, .arena = &module->arena, .scope = &scope};
  mlir_lexer_init(&parser.lexer, &module->source, &module->arena);
  hr_status_t st = parse_file(&parser);
  if (!st) st = mlir_scope_close(&parser, &scope);
  hr_map_deinit(&scope.names);
  HR_VEC_FREE(&scope.pending);
  hr_map_deinit(&parser.forms);
  hr_map_deinit(&parser.attr_aliases);
  hr_map_deinit(&parser.type_aliases);
  HR_VEC_FREE(&parser.location_aliases);
  hr_map_deinit(&parser.resources);
  HR_VEC_FREE(&parser.unresolved);
  return st;
}
