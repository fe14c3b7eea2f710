/* HLO text at the level of modules and computations, and names.
 *   text        ::= "HloModule" name header stack-frames? computation+ | computation+ | instruction
 *   computation ::= "ENTRY"? name signature? body ("," "execution_thread=" string)?
 *   signature   ::= "(" (name ":" shape),* ")" "->" shape
 *   body        ::= "{" instruction+ "}"
 * A body may also stand in place of a computation's name; computations are ordered callees first
 * when the module ends. Instructions and computations without names get theirs at the end of their
 * scope, when all written names are known. Recursive descent, to a depth of READ_DEPTH_MAX; memory
 * in proportion to the text. */
#include <string.h>

#include "read/hlo_reader.h"
#include "read/read.h"

/* Element types and keywords are reserved; with '%' only element types are. */
hr_status_t read_name(read_hlo_t *r, const char *want, hr_str_t *out_name) {
  read_lexer_t *l = &r->lexer;
  hr_str_t name = l->token.text;
  if (read_is(l, READ_TYPE) || read_is(l, READ_KEYWORD))
    return read_want(l, "%s; this word is reserved, %.*s_ would do", want, HR_STR_ARGS(name));
  if (!read_is(l, READ_NAME) && !read_is(l, READ_WORD)) return read_want(l, "%s", want);
  if (l->token.percent && name.size < 16) {
    uintptr_t reserved = (uintptr_t)hr_map_get(l->words, name);
    if (reserved && reserved <= HR_DTYPE_COUNT)
      return read_want(l, "%s; element types cannot be names, %.*s_ would do", want,
                       HR_STR_ARGS(name));
  }
  *out_name = name;
  return read_advance(l);
}

/* Scopes --------------------------------------------------------------------------------------- */

/* The scope is the caller's; names are looked up in the innermost one only, as in HLO. */
hr_status_t read_scope_open(read_hlo_t *r, read_scope_t *scope, hlo_computation_t *computation) {
  *scope = (read_scope_t){
      .outer = r->scope, .computation = computation, .anonymous_from = r->anonymous.count};
  r->scope = scope;
  return NULL;
}

/* Gives a name to an instruction that the text did not name: base, base.1, ... The search goes on
 * where the last one for this op ended, so that many cost no more than one each. */
static hr_status_t name_instruction(read_hlo_t *r, hlo_instr_t *instr, uint32_t *next) {
  const char *name = instr->name.data;
  for (void *old = instr; old; ++*next) {
    if (*next)
      HR_TRY(hr_arena_printf(r->arena, &name, "%s.anon.%u", hlo_op_name(instr->op), *next));
    instr->name = hr_str_from(name);
    HR_TRY(hr_map_put(&r->scope->names, instr->name, instr, &old));
  }
  return NULL;
}

/* A search for each op goes on where it ended, hence the list of counters. */
static READ_OP_FRAME hr_status_t name_anonymous(read_hlo_t *r) {
  uint32_t next[HLO_OPCODE_COUNT] = {0};
  for (size_t i = r->scope->anonymous_from; i < r->anonymous.count; i++) {
    hlo_instr_t *instr = r->anonymous.data[i];
    HR_TRY(name_instruction(r, instr, &next[instr->op]));
  }
  return NULL;
}

/* Names anonymous instructions, then frees the map of names. */
hr_status_t read_scope_close(read_hlo_t *r, read_scope_t *scope) {
  hr_status_t st = scope->computation->root ? name_anonymous(r) : NULL;
  if (!st) st = HR_VEC_RESERVE(&r->completed, r->completed.count + 1);
  if (!st) r->completed.data[r->completed.count++] = scope->computation;
  hr_map_deinit(&scope->names);
  r->anonymous.count = scope->anonymous_from;
  r->scope = scope->outer;
  return st;
}

/* Computations --------------------------------------------------------------------------------- */

/* Parameter numbers have no gaps. */
static hr_status_t check_params(read_hlo_t *r, const hlo_computation_t *computation, size_t at) {
  for (size_t i = 0; i < computation->params.count; i++)
    if (!computation->params.data[i])
      return READ_ERROR_AT(&r->lexer, at,
                           "computation '%.*s' has no parameter(%zu), but one of a higher number",
                           HR_STR_ARGS(computation->name), i);
  return NULL;
}

/* The last instruction is the root unless one is marked ROOT. */
static hr_status_t read_instructions(read_hlo_t *r, hlo_computation_t *computation) {
  read_lexer_t *l = &r->lexer;
  size_t at = l->token.at;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  while (!read_is(l, READ_CLOSE_BRACE)) HR_TRY(read_instruction(r));
  if (!computation->instrs.count) return read_want(l, "at least one instruction");
  if (!computation->root)
    computation->root = computation->instrs.data[computation->instrs.count - 1];
  return check_params(r, computation, at);
}

/* { instructions } and the name of a thread. */
static hr_status_t read_body(read_hlo_t *r, hlo_computation_t *computation) {
  read_scope_t scope;
  HR_TRY(read_deeper(r, "computations"));
  HR_TRY(read_scope_open(r, &scope, computation));
  hr_status_t st = read_instructions(r, computation);
  HR_TRY(hr_status_join(st, read_scope_close(r, &scope)));
  read_shallower(r);
  return read_expect(&r->lexer, READ_CLOSE_BRACE);
}

/* The name is a base, which name_generated numbers. */
hr_status_t read_generate_computation(read_hlo_t *r, const char *name,
                                      hlo_computation_t **out_computation) {
  hr_pos_t pos = read_pos(&r->lexer, r->lexer.token.at);
  HR_TRY(hlo_computation_add(r->module, hr_str_from(name), out_computation));
  (*out_computation)->line = pos.line;
  (*out_computation)->column = pos.column;
  HR_VEC_PUSH(&r->generated, *out_computation);
  return NULL;
}

/* Callees must be defined before their callers. */
hr_status_t read_computation_ref(read_hlo_t *r, hlo_computation_t **out_computation) {
  read_lexer_t *l = &r->lexer;
  if (read_is(l, READ_OPEN_BRACE)) {
    HR_TRY(read_generate_computation(r, "_", out_computation));
    return read_body(r, *out_computation);
  }
  hr_str_t name;
  size_t at = l->token.at;
  HR_TRY(read_name(r, "the name of a computation, or its body in braces", &name));
  *out_computation = hr_map_get(&r->computations, name);
  if (*out_computation) return NULL;
  return READ_ERROR_AT(l, at, "computation '%.*s' is not defined before this", HR_STR_ARGS(name));
}

/* (x: f32[], y: s32[2]) -> f32[]. The parameters are ignored, as in XLA; the result must have the
 * shape of the root. */
static hr_status_t read_signature(read_hlo_t *r, const hlo_shape_t **out_result) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_expect(l, READ_OPEN_PAREN));
  for (bool more = !read_is(l, READ_CLOSE_PAREN); more;) {
    const hlo_shape_t *shape;
    if (!read_is(l, READ_NAME) && !read_is(l, READ_WORD))
      return read_want(l, "a parameter such as x: f32[]");
    HR_TRY(read_advance(l));
    HR_TRY(read_shape(r, &shape));
    HR_TRY(read_list_next(l, READ_CLOSE_PAREN, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_PAREN));
  HR_TRY(read_expect(l, READ_ARROW));
  return read_shape(r, out_result);
}

/* The signature may leave out layouts. */
static READ_OP_FRAME hr_status_t check_result(read_hlo_t *r, const hlo_computation_t *computation,
                                              const hlo_shape_t *result, size_t at) {
  char found[HLO_SHAPE_TEXT], want[HLO_SHAPE_TEXT];
  if (!result || hlo_shape_compatible(result, computation->root->shape)) return NULL;
  return READ_ERROR_AT(&r->lexer, at, "the signature says result %s, but the root '%.*s' is %s",
                       hlo_shape_text(result, found), HR_STR_ARGS(computation->root->name),
                       hlo_shape_text(computation->root->shape, want));
}

/* Names of computations are unique in the module. */
static hr_status_t add_named(read_hlo_t *r, hr_str_t name, size_t at,
                             hlo_computation_t **out_computation) {
  void *old;
  hr_pos_t pos = read_pos(&r->lexer, at);
  HR_TRY(hlo_computation_add(r->module, name, out_computation));
  (*out_computation)->line = pos.line;
  (*out_computation)->column = pos.column;
  HR_TRY(hr_map_put(&r->computations, (*out_computation)->name, *out_computation, &old));
  return old ? hr_error_at(HR_INVALID, &pos, "computation '%.*s' is defined twice",
                           HR_STR_ARGS(name))
             : NULL;
}

/* ", execution_thread=" after a body. */
static hr_status_t read_thread(read_hlo_t *r, hlo_computation_t *computation) {
  read_lexer_t *l = &r->lexer;
  bool comma;
  HR_TRY(read_accept(l, READ_COMMA, &comma));
  if (!comma) return NULL;
  if (!read_is(l, READ_ATTR) || !hr_str_is(l->token.text, "execution_thread"))
    return read_want(l, "execution_thread=");
  HR_TRY(read_advance(l));
  return read_string(l, &computation->execution_thread);
}

/* [ENTRY] name [signature] { instructions } */
static hr_status_t read_computation(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  bool entry = read_is_keyword(l, READ_KEYWORD_ENTRY);
  hr_str_t name;
  hlo_computation_t *computation;
  const hlo_shape_t *result = NULL;
  if (entry && r->module->entry) return read_want(l, "one ENTRY only");
  if (entry) HR_TRY(read_advance(l));
  size_t at = l->token.at;
  HR_TRY(read_name(r, "a computation: ENTRY, or its name", &name));
  HR_TRY(add_named(r, name, at, &computation));
  size_t signature_at = l->token.at;
  if (read_is(l, READ_OPEN_PAREN)) HR_TRY(read_signature(r, &result));
  HR_TRY(read_body(r, computation));
  HR_TRY(check_result(r, computation, result, signature_at));
  if (entry) r->module->entry = computation;
  return read_thread(r, computation);
}

/* Files ---------------------------------------------------------------------------------------- */

/* Without ENTRY the last computation is the entry. */
static hr_status_t read_computations(read_hlo_t *r) {
  do HR_TRY(read_computation(r));
  while (!read_is(&r->lexer, READ_END));
  if (!r->module->entry) r->module->entry = r->completed.data[r->completed.count - 1];
  return NULL;
}

/* One instruction, with or without a name. Unknown operands become parameters if their shapes are
 * given. */
static hr_status_t read_single(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  read_scope_t scope;
  hlo_instr_t *root;
  hlo_computation_t *computation;
  read_draft_t draft = {.name = HR_STR("_")};
  bool is_root;
  r->single = true;
  HR_TRY(add_named(r, HR_STR("_"), 0, &computation));
  r->module->entry = computation;
  r->module->is_scheduled = true;
  HR_TRY(read_scope_open(r, &scope, computation));
  is_root = read_is_keyword(l, READ_KEYWORD_ROOT);
  hr_status_t st = is_root ? read_advance(l) : NULL;
  draft.pos = read_pos(l, l->token.at);
  if (!st && (read_is(l, READ_NAME) || (read_is(l, READ_WORD) && read_peek(l) == '='))) {
    st = read_name(r, "the name of an instruction", &draft.name);
    if (!st) st = read_expect(l, READ_EQUAL);
  }
  if (!st) st = read_rhs(r, &draft, &root);
  if (!st) computation->root = root;
  if (!st) st = read_expect(l, READ_END);
  return hr_status_join(st, read_scope_close(r, &scope));
}

/* header [FileNames ...] computation... */
static hr_status_t read_with_header(read_hlo_t *r) {
  HR_TRY(read_header(r));
  if (read_is_keyword(&r->lexer, READ_KEYWORD_FILE_NAMES)) HR_TRY(read_stack_frames(r));
  return read_computations(r);
}

/* Whether a text without a header starts with a computation: ENTRY, NAME {, or NAME (...) -> ...,
 * which looks like an operation without a shape unless its name is no opcode. */
static bool at_computation(const read_hlo_t *r) {
  const read_lexer_t *l = &r->lexer;
  hlo_opcode_t op;
  char next = read_peek(l);
  if (read_is_keyword(l, READ_KEYWORD_ENTRY)) return true;
  if (!read_is(l, READ_NAME) && !read_is(l, READ_WORD)) return false;
  return next == '{' ||
         (next == '(' && (l->token.percent || !hlo_op_from_name(l->token.text, &op)) &&
          !read_is_word(l, "b"));
}

/* The module is named after its entry. */
static hr_status_t read_headerless(read_hlo_t *r) {
  const char *name;
  HR_TRY(read_computations(r));
  HR_TRY(hr_arena_printf(r->arena, &name, "module_%s", r->module->entry->name.data));
  r->module->name = hr_str_from(name);
  return NULL;
}

/* A zero byte would end C strings in messages; no program has one. */
static hr_status_t read_any_form(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  const char *zero = l->size ? memchr(l->text, 0, l->size) : NULL;
  if (zero)
    return READ_ERROR_AT(l, (size_t)(zero - l->text),
                         "found a byte of value 0, which no program contains");
  HR_TRY(read_advance(l));
  if (read_is(l, READ_END)) return read_want(l, "an HLO module");
  if (read_is_keyword(l, READ_KEYWORD_HLO_MODULE)) return read_with_header(r);
  if (at_computation(r)) return read_headerless(r);
  r->module->name = HR_STR("_");
  return read_single(r);
}

/* Names of computations that the text did not name: base, base.1, ... */
static hr_status_t name_generated(read_hlo_t *r) {
  static const char *const bases[] = {"_", "async_wrapped", "compare-less-than"};
  uint32_t next[3] = {0};
  for (size_t i = 0; i < r->generated.count; i++) {
    hlo_computation_t *computation = r->generated.data[i];
    const char *name = computation->name.data;
    int base = 0;
    while (base < 2 && !hr_str_is(computation->name, bases[base])) base++;
    for (void *old = computation; old; next[base]++) {
      if (next[base]) HR_TRY(hr_arena_printf(r->arena, &name, "%s.%u", bases[base], next[base]));
      computation->name = hr_str_from(name);
      HR_TRY(hr_map_put(&r->computations, computation->name, computation, &old));
    }
  }
  return NULL;
}

/* Computations that stand inside others began after them, but are called by them. */
static void order_computations(read_hlo_t *r) {
  for (size_t i = 0; i < r->completed.count; i++) {
    r->module->computations.data[i] = r->completed.data[i];
    r->completed.data[i]->id = (uint32_t)i;
  }
}

/* Owner: module->source must outlive the module. */
hr_status_t read_hlo_text(hlo_module_t *module) {
  read_hlo_t r = {.module = module, .arena = &module->arena};
  hr_status_t st = read_hlo_init(&r);
  if (!st) st = read_any_form(&r);
  if (!st) st = name_generated(&r);
  if (!st) order_computations(&r);
  read_hlo_deinit(&r);
  return st;
}
