/* Tables made from ops.def, attrs.def, op_attrs.def and enums.def, and lookup of names. Names are
 * hashed once per process, on first use; printing and parsing go through the same texts. */
#include "ops/table/opcode.h"

#include <ctype.h>
#include <string.h>

#include "base/map.h"

#define ENUM_BEGIN(name, case_) static const char *const texts_##name[] = {
#define ENUM_VALUE(name, id, text) text,
#define ENUM_END(name) \
  }                    \
  ;
#include "ops/table/enums.def"
#undef ENUM_BEGIN
#undef ENUM_VALUE
#undef ENUM_END

const hlo_enum_info_t hlo_enum_table[HLO_ENUM_COUNT] = {
#define ENUM_BEGIN(name, case_) \
  [HLO_ENUM_##name] = {HLO_CASE_##case_, HLO_##name##_COUNT, texts_##name},
#define ENUM_VALUE(name, id, text)
#define ENUM_END(name)
#include "ops/table/enums.def"
#undef ENUM_BEGIN
#undef ENUM_VALUE
#undef ENUM_END
};

/* Linear search: lists are short. An empty text has no spelling and is never found. */
int hlo_enum_find(hlo_enum_id_t id, hr_str_t word) {
  const hlo_enum_info_t *info = &hlo_enum_table[id];
  for (int value = 0; value < info->count; value++) {
    const char *text = info->texts[value];
    if (!*text || strlen(text) != word.size) continue;
    if (info->case_ == HLO_CASE_EXACT ? memcmp(text, word.data, word.size) == 0
                                      : strncasecmp(text, word.data, word.size) == 0)
      return value;
  }
  return -1;
}

const hlo_attr_info_t hlo_attr_table[HLO_ATTR_COUNT] = {
#define ATTR(id, text, kind, enumeration, fallback) \
  {text, HLO_KIND_##kind, HLO_ENUM_##enumeration, fallback},
#include "ops/table/attrs.def"
#undef ATTR
};

/* Uses of an attribute by an op: required, printed even at its default value, or optional. */
#define NEED(key) \
  { HLO_ATTR_##key, HLO_USE_NEED }
#define SHOW(key) \
  { HLO_ATTR_##key, HLO_USE_SHOW }
#define MAY(key) \
  { HLO_ATTR_##key, HLO_USE_MAY }
/* The first entry only keeps empty lists legal C; hlo_op_table points to the entry after it. Each
 * list of op_attrs.def becomes an array attrs_LIST. */
#define ATTRS(list, ...) \
  static const hlo_attr_use_t attrs_##list[] = {{HLO_ATTR_COUNT, HLO_USE_MAY}, ##__VA_ARGS__};
#include "ops/table/op_attrs.def"
#undef ATTRS

enum { /* short trait names for the rows of ops.def */
       LEAF = OP_LEAF,
       ELEMENTWISE = OP_ELEMENTWISE,
       COMMUTATIVE = OP_COMMUTATIVE,
       ASSOCIATIVE = OP_ASSOCIATIVE,
       IDENTITY = OP_IDENTITY,
       CONTROL = OP_CONTROL,
       HAS_BODY = OP_HAS_BODY,
       EFFECT = OP_EFFECT,
       COMM = OP_COMM,
       COLLECTIVE = OP_COLLECTIVE,
       START = OP_START,
       DONE = OP_DONE,
       RANDOM = OP_RANDOM
};
#define ANY OP_OPERANDS_ANY
#define AT_LEAST(n) OP_OPERANDS_AT_LEAST(n)

const hlo_op_info_t hlo_op_table[HLO_OPCODE_COUNT] = {
#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  {name,   stablehlo,         operands,                                                       \
   traits, attrs_##attrs + 1, sizeof attrs_##attrs / sizeof *attrs_##attrs - 1},
#include "ops/table/ops.def"
#undef OP
};

/* Values are opcodes plus 1, since NULL means absent. */
static hr_status_t fill_names(hr_map_t *names) {
  for (uintptr_t op = 0; op < HLO_OPCODE_COUNT; op++)
    HR_TRY(hr_map_put(names, hr_str_from(hlo_op_table[op].name), (void *)(op + 1), NULL));
  return NULL;
}

/* Look-up for a process without memory for the map. */
static bool find_linearly(hr_str_t name, hlo_opcode_t *out_op) {
  for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
    if (!hr_str_is(name, hlo_op_table[op].name)) continue;
    *out_op = (hlo_opcode_t)op;
    return true;
  }
  return false;
}

bool hlo_op_from_name(hr_str_t name, hlo_opcode_t *out_op) {
  static hr_kept_map_t names = HR_KEPT_MAP(fill_names);
  const hr_map_t *map;
  hr_status_t st = hr_kept_map_get(&names, &map);
  hr_status_release(st);
  if (st) return find_linearly(name, out_op); /* memory ran out */
  uintptr_t found = (uintptr_t)hr_map_get(map, name);
  if (found) *out_op = (hlo_opcode_t)(found - 1);
  return found != 0;
}
