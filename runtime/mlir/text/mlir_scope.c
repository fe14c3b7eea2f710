/* Resolves value names of MLIR text to values. A region has a scope, which sees the enclosing
 * scopes unless its op is isolated from above (functions, modules). A use may precede its
 * definition, as blocks are ordered by control flow and graph regions are unordered: it becomes a
 * pending slot.
 *
 *   "cond" { %0 = "use"(%x) }    %x: pending in the inner scope, moved out when it closes
 *   %x = "def"()                 defined in the outer scope
 *                                outer scope closes: the slot of %0's operand is filled
 *
 * A name costs one lookup for each scope around its use; a pending use moves once for each region
 * between it and its definition. */
#include "mlir/text/mlir_scope.h"

/* The innermost visible declaration; it may not have values yet. */
static mlir_name_t *find_name(const mlir_scope_t *scope, hr_str_t name) {
  for (; scope; scope = scope->outer) {
    mlir_name_t *found = hr_map_get(&scope->names, name);
    if (found) return found;
  }
  return NULL;
}

/* Declares a name in the current scope, at its first use or definition. */
static hr_status_t declare_name(mlir_parser_t *parser, hr_str_t name, mlir_name_t **out_name) {
  HR_TRY(HR_NEW(parser->arena, out_name));
  (*out_name)->name = name;
  return hr_map_put(&parser->scope->names, name, *out_name, NULL);
}

/* A name is defined at most once in a region; a use before may have declared it. */
hr_status_t mlir_scope_define(mlir_parser_t *parser, hr_str_t name, mlir_value_t *values,
                              int count) {
  mlir_name_t *known = hr_map_get(&parser->scope->names, name);
  if (known && known->values) {
    hr_pos_t pos = mlir_lexer_pos(&parser->lexer);
    return hr_error_at(HR_INVALID, &pos, "%%%.*s is defined twice", HR_STR_ARGS(name));
  }
  if (!known) HR_TRY(declare_name(parser, name, &known));
  known->values = values;
  known->count = count;
  for (int i = 0; i < count; i++) values[i].name = name;
  return NULL;
}

/* Fills a slot whose name is defined; an undefined name or a number beyond its results is an error
 * at the use. */
static hr_status_t fill_use(const pending_use_t *use) {
  if (!use->name->values)
    return hr_error_at(HR_INVALID, &use->pos, "%%%.*s is not defined",
                       HR_STR_ARGS(use->name->name));
  if (use->number >= use->name->count)
    return hr_error_at(HR_INVALID, &use->pos, "%%%.*s#%d: it has %d results",
                       HR_STR_ARGS(use->name->name), use->number, use->name->count);
  *use->slot = &use->name->values[use->number];
  return NULL;
}

/* Sets the slots of uses: immediately, or at the end of the region for values defined later. */
hr_status_t mlir_scope_resolve(mlir_parser_t *parser, const mlir_use_t *uses, int count,
                               mlir_value_t **slots) {
  for (int i = 0; i < count; i++) {
    mlir_name_t *name = find_name(parser->scope, uses[i].name);
    if (!name) HR_TRY(declare_name(parser, uses[i].name, &name));
    pending_use_t use = {name, uses[i].number, &slots[i], uses[i].pos};
    if (name->values)
      HR_TRY(fill_use(&use));
    else
      HR_VEC_PUSH(&parser->scope->pending, use);
  }
  return NULL;
}

/* Undefined names move out, since the enclosing region may define them; at an isolated region they
 * are errors. */
hr_status_t mlir_scope_close(mlir_parser_t *parser, mlir_scope_t *scope) {
  hr_status_t st = NULL;
  for (size_t i = 0; i < scope->pending.count && !st; i++) {
    pending_use_t use = scope->pending.data[i];
    if (use.name->values || !scope->outer) {
      st = fill_use(&use);
      continue;
    }
    mlir_name_t *outside = find_name(scope->outer, use.name->name);
    parser->scope = scope->outer;
    if (!outside) st = declare_name(parser, use.name->name, &outside);
    use.name = outside;
    if (!st) st = HR_VEC_RESERVE(&scope->outer->pending, scope->outer->pending.count + 1);
    if (!st) scope->outer->pending.data[scope->outer->pending.count++] = use;
  }
  return st;
}

/* --- uses --- */

/* %name or %name#number. */
hr_status_t mlir_parse_use(mlir_parser_t *parser, mlir_use_t *out_use) {
  bool numbered;
  int64_t number = 0;
  *out_use = (mlir_use_t){.pos = mlir_lexer_pos(&parser->lexer)};
  HR_TRY(mlir_take_kind(parser, MLIR_TOKEN_VALUE, "a value such as %0", &out_use->name));
  HR_TRY(mlir_take_if(parser, '#', &numbered));
  if (numbered) HR_TRY(mlir_take_integer(parser, &number));
  if (number < 0 || number > INT32_MAX) return mlir_expected(parser, "the number of a result");
  out_use->number = (int)number;
  return NULL;
}

/* Stops before a comma that is not followed by a value: in "%a, %b, dim = 0" it belongs to the
 * form. */
hr_status_t mlir_parse_uses(mlir_parser_t *parser, mlir_uses_t *uses) {
  for (bool more = mlir_peek(parser)->kind == MLIR_TOKEN_VALUE; more;) {
    mlir_use_t use;
    HR_TRY(mlir_parse_use(parser, &use));
    HR_VEC_PUSH(uses, use);
    bool comma = mlir_at(parser, ',');
    if (!comma) break;
    /* in "%a, %b, dim = 0" the last comma belongs to the form */
    const char *at = parser->lexer.at;
    while (at < parser->lexer.end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
      at++;
    more = at < parser->lexer.end && *at == '%';
    if (more) HR_TRY(mlir_lexer_next(&parser->lexer));
  }
  return NULL;
}
