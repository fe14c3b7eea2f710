/* MLIR attribute dictionaries in the backend_config of typed custom calls:
 *   {uplo = 76 : ui8, dims = dense<[0, 1]> : tensor<2xi64>, mode = "full", nested = {k = true},
 *    flag}
 * Owner:  values live in the arena; texts may point into the input.
 * Errors: INVALID with the position in the text. */
#ifndef HLO_OPS_MLIR_DICT_H
#define HLO_OPS_MLIR_DICT_H

#include "base/arena.h"

typedef enum dict_kind {
  DICT_UNIT,   /* a name alone */
  DICT_BOOL,   /* integer 0 or 1 */
  DICT_INT,    /* integer */
  DICT_FLOAT,  /* number */
  DICT_STRING, /* text, escapes resolved */
  DICT_LIST,   /* items: [...], array<...>, dense<...> (flattened; one item if it is a splat) */
  DICT_DICT,   /* items with names */
  DICT_OTHER   /* types, symbols, attributes of dialects: text as written */
} dict_kind_t;

typedef struct dict_value {
  dict_kind_t kind;
  hr_str_t name; /* in a dictionary */
  hr_str_t type; /* text after the colon, or element type of array<...>; may be empty */
  hr_str_t text;
  int64_t integer;
  double number;
  int count;
  const struct dict_value *items;
} dict_value_t;

/* Empty text is the empty dictionary. */
hr_status_t mlir_dict_parse(hr_arena_t *arena, hr_str_t text, const dict_value_t **out_dict);
/* Entry by name, NULL if absent. `dict` may be NULL. */
const dict_value_t *mlir_dict_find(const dict_value_t *dict, const char *name);
/* A bool or integer entry; `fallback` if it is absent or something else. */
int64_t mlir_dict_int(const dict_value_t *dict, const char *name, int64_t fallback);

#endif
