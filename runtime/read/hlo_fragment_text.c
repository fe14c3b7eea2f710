/* Fragments of HLO text that stand alone: literals of the command line; shardings, shapes,
 * attributes, headers and stack frames that other formats carry as strings. */
#include <string.h>

#include "read/hlo_reader.h"
#include "read/read.h"

/* f32[2]{1,2}: in texts of the command line braces right after a shape are the literal, unless
 * more of them follow. */
static hr_status_t read_written_array(read_hlo_t *r, hlo_value_t **out_value) {
  read_lexer_t *l = &r->lexer;
  const hlo_shape_t *shape;
  hr_str_t braces;
  size_t from = l->token.at;
  HR_TRY(read_bare_array(r, &shape));
  size_t after = l->token.at;
  bool layout = false;
  if (read_is(l, READ_OPEN_BRACE)) {
    HR_TRY(read_braces(l, &braces));
    layout = !read_is(l, READ_END);
  }
  HR_TRY(read_resume(l, layout ? from : after));
  return layout ? read_typed_literal(r, out_value) : read_literal_text(r, &shape, out_value);
}

/* Where a literal begins that has no shape before it: a word there is a type that is not known. */
static hr_status_t check_type(read_lexer_t *l) {
  hr_str_t name = l->token.text;
  if (!read_is(l, READ_WORD) || !name.size || read_peek(l) != '[') return NULL;
  return READ_ERROR_AT(l, 0, "found '%.*s', want a type such as f32, s32 or pred",
                       HR_STR_ARGS(name));
}

static hr_status_t wrong_shape(read_lexer_t *l, const hlo_value_t *value, const hlo_shape_t *want) {
  char found[HLO_SHAPE_TEXT], wanted[HLO_SHAPE_TEXT];
  return READ_ERROR_AT(l, 0, "found a literal of %s, want %s", hlo_value_shape_text(value, found),
                       hlo_shape_text(want, wanted));
}

/* A literal with its shape, or without one if the wanted shape says it. */
static hr_status_t read_literal_alone(read_hlo_t *r, const hlo_shape_t *want,
                                      hlo_value_t **out_value) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_advance(l));
  HR_TRY(check_type(l));
  if (read_is(l, READ_TYPE))
    HR_TRY(read_written_array(r, out_value));
  else if (!want)
    HR_TRY(read_is(l, READ_OPEN_PAREN)
               ? read_typed_literal(r, out_value)
               : read_want(l, "a literal with its shape, such as f32[2] {1, 2}"));
  else
    HR_TRY(read_literal_text(r, &want, out_value));
  if (!*out_value) return READ_ERROR_AT(l, 0, "found an elided literal, want all elements");
  if (want && !hlo_value_fits(*out_value, want)) return wrong_shape(l, *out_value, want);
  return read_expect(l, READ_END);
}

/* The value outlives the module that the reader needs. */
hr_status_t read_literal(const char *text, const hlo_shape_t *want, hlo_value_t **out_value) {
  hlo_module_t *module; /* owner of everything that the reader allocates */
  hlo_value_t *value;
  HR_TRY(hlo_module_create(HR_STR("literal"), &module));
  module->source = (hr_source_t){NULL, text, strlen(text)};
  read_hlo_t r = {.module = module, .arena = &module->arena};
  hr_status_t st = read_hlo_init(&r);
  if (!st) st = read_literal_alone(&r, want, &value);
  if (!st) *out_value = hlo_value_retain(value);
  read_hlo_deinit(&r);
  hlo_module_destroy(module);
  return st;
}

/* What a text that stands alone is, and where its value goes. */
typedef struct fragment {
  hlo_opcode_t op;
  stablehlo_frontend_attrs_t *attrs;
  const hlo_sharding_t **sharding;
  const hlo_shape_t **shape;
} fragment_t;

/* A text that is part of the program ends the source there, so that messages have places of the
 * program; of another text a copy becomes the source. Names point into the text, which must live as
 * long as the module. */
static hr_status_t choose_source(hlo_module_t *module, hr_str_t text, size_t *out_from) {
  const hr_source_t *program = &module->source;
  uintptr_t start = (uintptr_t)program->text, at = (uintptr_t)text.data;
  bool is_inside = program->text && at >= start && at + text.size <= start + program->size_bytes;
  hr_str_t copy;
  *out_from = is_inside ? (size_t)(at - start) : 0;
  if (is_inside) {
    module->source.size_bytes = *out_from + text.size;
    return NULL;
  }
  HR_TRY(hr_arena_str(&module->arena, text, &copy));
  module->source = (hr_source_t){NULL, copy.data, copy.size};
  return NULL;
}

/* Reads a text as if it were the source of the module, which is restored afterwards. */
static hr_status_t read_fragment(hlo_module_t *module, hr_str_t text,
                                 hr_status_t (*read)(read_hlo_t *, const fragment_t *),
                                 const fragment_t *fragment) {
  hr_source_t program = module->source;
  size_t from;
  HR_TRY(choose_source(module, text, &from));
  read_hlo_t r = {.module = module, .arena = &module->arena};
  hr_status_t st = read_hlo_init(&r);
  r.lexer.at = from;
  if (!st) st = read(&r, fragment);
  if (!st) st = read_expect(&r.lexer, READ_END);
  read_hlo_deinit(&r);
  module->source = program;
  return st;
}

/* Reads {devices=[2,1]<=[2]}, as an attribute has it. */
static hr_status_t sharding_fragment(read_hlo_t *r, const fragment_t *fragment) {
  HR_TRY(read_advance(&r->lexer));
  return read_sharding(r, fragment->sharding);
}

hr_status_t read_sharding_text(hlo_module_t *module, hr_str_t text,
                               const hlo_sharding_t **out_sharding) {
  return read_fragment(module, text, sharding_fragment, &(fragment_t){.sharding = out_sharding});
}

/* Reads f32[2,3]{1,0}. */
static hr_status_t shape_fragment(read_hlo_t *r, const fragment_t *fragment) {
  HR_TRY(read_advance(&r->lexer));
  return read_shape(r, fragment->shape);
}

hr_status_t read_shape_text(hlo_module_t *module, hr_str_t text, const hlo_shape_t **out_shape) {
  return read_fragment(module, text, shape_fragment, &(fragment_t){.shape = out_shape});
}

/* Computations and other instructions cannot be named here: there is no scope that knows them. */
static hr_status_t attrs_fragment(read_hlo_t *r, const fragment_t *fragment) {
  read_draft_t draft = {.op = fragment->op, .async = HLO_OPCODE_COUNT, .wrapped = HLO_OPCODE_COUNT};
  read_scope_t scope = {0};
  hr_map_init(&scope.names);
  r->scope = &scope;
  hr_status_t st = read_advance(&r->lexer);
  if (!st) st = read_attributes(r, &draft);
  hr_map_deinit(&scope.names);
  if (!st && r->called.count) st = hr_error(HR_INVALID, "a note names a computation");
  if (st) return st;
  hlo_attr_t *attrs;
  HR_TRY(HR_NEW_ARRAY(r->arena, r->attrs.count, &attrs));
  for (size_t i = 0; i < r->attrs.count; i++) attrs[i] = r->attrs.data[i].attr;
  *fragment->attrs = (stablehlo_frontend_attrs_t){draft.extra, (int)r->attrs.count, attrs};
  return NULL;
}

hr_status_t read_frontend_attr_text(hlo_module_t *module, hlo_opcode_t op, hr_str_t text,
                                    stablehlo_frontend_attrs_t *out_attrs) {
  return read_fragment(module, text, attrs_fragment, &(fragment_t){.op = op, .attrs = out_attrs});
}

/* Reads the header alone: no computation follows. */
static hr_status_t header_fragment(read_hlo_t *r, const fragment_t *fragment) {
  (void)fragment;
  HR_TRY(read_advance(&r->lexer));
  return read_header(r);
}

/* The text is put in place of a header line. */
hr_status_t read_header_text(hlo_module_t *module, hr_str_t text) {
  const char *line;
  hr_str_t name = module->name;
  HR_TRY(hr_arena_printf(&module->arena, &line, "HloModule m, %.*s", HR_STR_ARGS(text)));
  hr_status_t st =
      read_fragment(module, hr_str_from(line), header_fragment, &(fragment_t){.op = 0});
  module->name = name;
  return st;
}

/* Reads the tables FileNames, FunctionNames, FileLocations and StackFrames. */
static hr_status_t stack_frames_fragment(read_hlo_t *r, const fragment_t *fragment) {
  (void)fragment;
  HR_TRY(read_advance(&r->lexer));
  return read_stack_frames(r);
}

hr_status_t read_stack_frames_text(hlo_module_t *module, hr_str_t text) {
  return read_fragment(module, text, stack_frames_fragment, &(fragment_t){.op = 0});
}
