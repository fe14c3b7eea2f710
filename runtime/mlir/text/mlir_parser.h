/* The parser of MLIR text: declarations shared by its files. The bytecode reader uses it for
 * attributes and types in text form. */
#ifndef MLIR_MLIR_PARSER_H
#define MLIR_MLIR_PARSER_H

#include "base/map.h"
#include "mlir/mlir.h"
#include "mlir/text/mlir_lexer.h"

#define MLIR_MAX_DEPTH 1000 /* nesting of regions, attributes and types */

typedef struct mlir_scope mlir_scope_t; /* value names of a region, see mlir_scope.h */

/* An alias of a location; ops that use it before its definition already share `attr`. */
typedef struct mlir_location_alias {
  hr_str_t text;     /* empty: not defined yet */
  mlir_attr_t *attr; /* for ops that name it; NULL: none so far */
} mlir_location_alias_t;

/* State of parsing one text, of a module or of an entry of bytecode. */
typedef struct mlir_parser {
  mlir_module_t *module;
  hr_arena_t *arena; /* arena of the module */
  mlir_lexer_t lexer;
  int depth;
  hr_map_t attr_aliases, type_aliases;
  size_t alias_bytes;  /* size of the texts that replaced aliases */
  int64_t alias_parts; /* parts of the attributes that aliases stood for so far */
  HR_VEC(mlir_location_alias_t) location_aliases; /* #loc, #loc1, ... by their number */
  hr_map_t resources;                             /* key → mlir_attr_t without a type: the blob */
  HR_VEC(mlir_attr_t *) unresolved; /* dense_resource attributes that wait for their blobs */
  mlir_scope_t *scope;
  hr_map_t forms; /* pretty forms by op name, see mlir_forms.c */
} mlir_parser_t;

/* --- tokens (mlir_take.c) --- */
static inline const mlir_token_t *mlir_peek(const mlir_parser_t *parser) {
  return &parser->lexer.token;
}
static inline bool mlir_at(const mlir_parser_t *parser, char punct) {
  return mlir_peek(parser)->kind == MLIR_TOKEN_PUNCT && mlir_peek(parser)->punct == punct;
}
static inline bool mlir_at_word(const mlir_parser_t *parser, const char *word) {
  return mlir_peek(parser)->kind == MLIR_TOKEN_WORD && hr_str_is(mlir_peek(parser)->text, word);
}
/* Fails with the current token as what was found. */
hr_status_t mlir_expected(mlir_parser_t *parser, const char *wanted);
/* Consume the current token if it is the wanted one; else INVALID with both. Functions with `_if`
 * return whether they did. */
hr_status_t mlir_take(mlir_parser_t *parser, char punct);
hr_status_t mlir_take_word(mlir_parser_t *parser, const char *word);
hr_status_t mlir_take_kind(mlir_parser_t *parser, mlir_token_kind_t kind, const char *wanted,
                           hr_str_t *out_text);
hr_status_t mlir_take_if(mlir_parser_t *parser, char punct, bool *out_taken);
hr_status_t mlir_take_word_if(mlir_parser_t *parser, const char *word, bool *out_taken);
hr_status_t mlir_enter(mlir_parser_t *parser); /* one level deeper; INVALID beyond MLIR_MAX_DEPTH */
void mlir_leave(mlir_parser_t *parser);
/* '-'? INTEGER that fits 64 bits; hexadecimal too. */
hr_status_t mlir_take_integer(mlir_parser_t *parser, int64_t *out_value);
/* The text of a balanced "<...>" whose '<' is the current token, without the brackets. */
hr_status_t mlir_take_balanced(mlir_parser_t *parser, hr_str_t *out_text);

/* --- aliases in texts (mlir_alias_text.c) --- */
/* Replaces the aliases of attributes that are kept as text, as #s in "[#s, #s]". Errors: INVALID if
 * the aliases of the file stand for too much text. */
hr_status_t mlir_replace_aliases(mlir_parser_t *parser, hr_str_t *text);
/* The text of "<@mesh, [...]>" without the brackets: also of #sdy.sharding<...>, or of an alias of
 * one. */
hr_status_t mlir_take_sharding(mlir_parser_t *parser, hr_str_t *out_text);
/* The same of a mesh: <["x"=4]>, #sdy.mesh<["x"=4]> or an alias. */
hr_status_t mlir_take_mesh(mlir_parser_t *parser, hr_str_t *out_text);

/* --- types (mlir_types.c) --- */
hr_status_t mlir_parse_type(mlir_parser_t *parser, const mlir_type_t **out_type);
/* "(A, B) -> C" or "(A) -> (B, C)" */
hr_status_t mlir_parse_function_type(mlir_parser_t *parser, const mlir_type_t **out_type);
bool mlir_at_type(const mlir_parser_t *parser);
hr_status_t mlir_make_integer_type(hr_arena_t *arena, int width, mlir_signedness_t sign,
                                   const mlir_type_t **out_type);
hr_status_t mlir_make_tensor_type(hr_arena_t *arena, const mlir_type_t *element, int rank,
                                  const int64_t *dims, const mlir_type_t **out_type);

/* The IR's element type of a FLOAT type; false for those it does not have (tf32, f80, f128). */
bool mlir_float_dtype(const mlir_type_t *type, hr_dtype_t *out_dtype);

/* --- attributes (mlir_attrs.c, mlir_dense.c) --- */
/* Fills in number and bits of a FLOAT attribute from its digits; `is_pattern`: they are its bits,
 * in hexadecimal. */
hr_status_t mlir_finish_float(hr_arena_t *arena, bool is_pattern, const char *digits, bool negative,
                              mlir_attr_t *attr);
hr_status_t mlir_parse_attr(mlir_parser_t *parser, const mlir_attr_t **out_attr);
/* "{a = 1, b}": fields sorted by name; duplicate names are errors. */
hr_status_t mlir_parse_dict(mlir_parser_t *parser, const mlir_attr_t **out_dict);
/* Errors: INVALID at `pos`, two fields of a dictionary have one name. */
hr_status_t mlir_check_unique(const mlir_attr_t *dict, hr_pos_t pos);
/* "[1, 2]" as array<i64>. */
hr_status_t mlir_parse_int_list(mlir_parser_t *parser, const mlir_attr_t **out_attr);
/* dense<...>, dense_resource<...>, sparse<...>, array<...>; the word is the current token. */
hr_status_t mlir_parse_dense(mlir_parser_t *parser, const mlir_attr_t **out_attr);
hr_status_t mlir_parse_dense_resource(mlir_parser_t *parser, const mlir_attr_t **out_attr);
hr_status_t mlir_parse_sparse(mlir_parser_t *parser, const mlir_attr_t **out_attr);
hr_status_t mlir_parse_dense_array(mlir_parser_t *parser, const mlir_attr_t **out_attr);
/* #stablehlo..., #chlo...; the '#' name is the current token (mlir_dialect_attrs.c). */
hr_status_t mlir_parse_dialect_attr(mlir_parser_t *parser, const mlir_attr_t **out_attr);
/* [b, 0, f]x[0, i, o]->[b, 0, f] */
hr_status_t mlir_parse_conv_dims(mlir_parser_t *parser, const mlir_attr_t **out_attr);
/* loc(...); the word is the current token. */
hr_status_t mlir_parse_location(mlir_parser_t *parser, const mlir_attr_t **out_attr);
/* Resolves aliases in the ops' locations, after the whole file is read. */
hr_status_t mlir_finish_locations(mlir_parser_t *parser);
/* The attribute of an alias; NULL if it is unknown. */
hr_status_t mlir_find_alias(mlir_parser_t *parser, hr_str_t name, const mlir_attr_t **out_attr);
/* True for the name of a location alias in MLIR's form; its definition is "loc(...)" after the '='.
 */
bool mlir_is_location_alias(const mlir_parser_t *parser, hr_str_t name);
hr_status_t mlir_define_location(mlir_parser_t *parser, hr_str_t name);
/* Fills in the data of a DENSE attribute from raw little-endian bytes as MLIR stores them (i1
 * packed or not, one byte per narrow element, one element for a splat). */
hr_status_t mlir_dense_from_bytes(hr_arena_t *arena, const mlir_type_t *type, const void *bytes,
                                  size_t size, mlir_attr_t *attr);
hr_status_t mlir_finish_resources(mlir_parser_t *parser);
hr_status_t mlir_parse_resources(mlir_parser_t *parser);

/* Makers of simple attributes. */
hr_status_t mlir_make_unit(hr_arena_t *arena, const mlir_attr_t **out_attr);
hr_status_t mlir_make_bool(hr_arena_t *arena, bool value, const mlir_attr_t **out_attr);
hr_status_t mlir_make_integer(hr_arena_t *arena, int64_t value, const mlir_type_t *type,
                              const mlir_attr_t **out_attr);
hr_status_t mlir_make_i64(hr_arena_t *arena, int64_t value, const mlir_attr_t **out_attr);
hr_status_t mlir_make_string(hr_arena_t *arena, hr_str_t text, const mlir_attr_t **out_attr);
hr_status_t mlir_make_symbol(hr_arena_t *arena, hr_str_t root, const mlir_attr_t **out_attr);
hr_status_t mlir_make_type_attr(hr_arena_t *arena, const mlir_type_t *type,
                                const mlir_attr_t **out_attr);
hr_status_t mlir_make_array(hr_arena_t *arena, int count, const mlir_attr_t *const *items,
                            const mlir_attr_t **out_attr);
hr_status_t mlir_make_ints(hr_arena_t *arena, int64_t count, const int64_t *values,
                           const mlir_attr_t **out_attr);
hr_status_t mlir_make_enum(hr_arena_t *arena, const char *dialect, const char *enum_name,
                           hr_str_t word, const mlir_attr_t **out_attr);
/* Fields are copied; a DICT is sorted by name. */
hr_status_t mlir_make_dict(hr_arena_t *arena, int count, const mlir_named_attr_t *fields,
                           const mlir_attr_t **out_attr);
hr_status_t mlir_make_struct(hr_arena_t *arena, hr_str_t dialect, hr_str_t mnemonic, int count,
                             const mlir_named_attr_t *fields, const mlir_attr_t **out_attr);

/* Text of a module. module->source is set by the caller. */
hr_status_t mlir_parse_module(mlir_module_t *module);

#endif
