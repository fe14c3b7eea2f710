/* Tables of the bytecode format: the rows of bytecode_attrs.def and bytecode_ops.def as arrays,
 * and their lookup by name. The tables are small (8 enumerations, some 20 structures, 18 floats);
 * lookups are linear, once for each entry of a file's table. */
#include "mlir/bytecode/bytecode_format.h"

#include <string.h>

const bytecode_enum_t bytecode_enums[] = {
#define ENUM(name, stablehlo, vhlo, chlo, mhlo, ...) \
  {#name, stablehlo, vhlo, chlo, mhlo, {__VA_ARGS__}},
#include "mlir/bytecode/bytecode_attrs.def"
};
const int bytecode_enum_count = (int)(sizeof bytecode_enums / sizeof *bytecode_enums);

#define INT(name) {#name, BYTECODE_INT},
#define INTS(name) {#name, BYTECODE_INTS},
#define NEW_INTS(name) {#name, BYTECODE_NEW_INTS},
#define TYPE(name) {#name, BYTECODE_TYPE},
#define BOOL(name) {#name, BYTECODE_BOOL},
#define F64(name) {#name, BYTECODE_F64},
#define ATTR(name) {#name, BYTECODE_ATTR},
#define ATTRS(name) {#name, BYTECODE_ATTRS},
#define STRING(name) {#name, BYTECODE_STRING},
#define MAYBE(name) {#name, BYTECODE_MAYBE},
const bytecode_struct_t bytecode_structs[] = {
#define STRUCT(dialect, code, mnemonic, ...) \
  {dialect, code, mnemonic, {__VA_ARGS__{NULL, BYTECODE_INT}}},
#include "mlir/bytecode/bytecode_attrs.def"
};
const int bytecode_struct_count = (int)(sizeof bytecode_structs / sizeof *bytecode_structs);

const bytecode_float_t bytecode_floats[] = {
#define FLOAT(name, builtin, vhlo, since) {name, builtin, vhlo, since},
#include "mlir/bytecode/bytecode_attrs.def"
};
const int bytecode_float_count = (int)(sizeof bytecode_floats / sizeof *bytecode_floats);

const bytecode_op_row_t bytecode_op_rows[] = {
#define PROPERTIES(name, operand_segments, result_segments, attrs) \
  {name, operand_segments, result_segments, attrs},
#include "mlir/bytecode/bytecode_ops.def"
#undef PROPERTIES
};
const int bytecode_op_row_count = (int)(sizeof bytecode_op_rows / sizeof *bytecode_op_rows);

/* NULL: no dialect here has an enumeration of this name. */
const bytecode_enum_t *bytecode_enum_named(hr_str_t name) {
  for (int i = 0; i < bytecode_enum_count; i++)
    if (hr_str_is(name, bytecode_enums[i].name)) return &bytecode_enums[i];
  return NULL;
}

/* A mnemonic may have an encoding in StableHLO and another in VHLO. */
const bytecode_struct_t *bytecode_struct_named(const char *dialect, hr_str_t mnemonic) {
  for (int i = 0; i < bytecode_struct_count; i++)
    if (!strcmp(dialect, bytecode_structs[i].dialect) &&
        hr_str_is(mnemonic, bytecode_structs[i].mnemonic))
      return &bytecode_structs[i];
  return NULL;
}

/* A list is "a b? c": names separated by blanks; '?' marks an attribute that may be absent. */
bool bytecode_next_attr(const char **list, hr_str_t *out_name, bool *out_optional) {
  while (**list == ' ') (*list)++;
  size_t size = strcspn(*list, " ");
  if (!size) return false;
  *out_optional = (*list)[size - 1] == '?';
  *out_name = (hr_str_t){*list, size - *out_optional};
  *list += size;
  return true;
}
