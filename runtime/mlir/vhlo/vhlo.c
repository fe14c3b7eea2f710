/* The tables of VHLO: names of operations on the wire and in StableHLO, codes of types, names of
 * structures. An op's form changes over the versions of the format; each form is a row with its
 * range of versions, and the rows of one op do not overlap. Lookups are linear: the table has some
 * 170 rows, and a file lists each op once in its table of names. Attributes are converted by
 * vhlo_upgrade.c and vhlo_downgrade.c.
 * Source: StableHLO, vhlo.md and VhloOps.td (names, versions), VhloBytecode.cpp (codes). */
#include "mlir/vhlo/vhlo.h"

#include <string.h>

#define NOW 9999 /* last version of rows that are still current */
#define A(name, how) {#name, VHLO_##how},
#define VHLO(name, version, since, until, ...)                                                   \
  {name "_v" #version,                                                                           \
   "stablehlo." name,                                                                            \
   version,                                                                                      \
   since,                                                                                        \
   until,                                                                                        \
   (int)(sizeof((const vhlo_attr_t[]){__VA_ARGS__{NULL, VHLO_SAME}}) / sizeof(vhlo_attr_t)) - 1, \
   (const vhlo_attr_t[]){__VA_ARGS__{NULL, VHLO_SAME}}},
const vhlo_row_t vhlo_rows[] = {
#include "mlir/vhlo/vhlo.def"
};
#undef VHLO
#undef A
const int vhlo_row_count = (int)(sizeof vhlo_rows / sizeof *vhlo_rows);

/* True if major.minor is a known version of the format. */
bool vhlo_is_version(int64_t major, int64_t minor) {
  static const struct {
    int first, last;
  } minors[] = {
#define VHLO_MINORS(major, first, last) [major] = {first, last},
#include "mlir/vhlo/vhlo.def"
#undef VHLO_MINORS
  };
  bool known = major >= 0 && major < (int64_t)(sizeof minors / sizeof *minors);
  return known && minor >= minors[major].first && minor <= minors[major].last;
}

const vhlo_row_t *vhlo_find(hr_str_t wire_name) {
  for (int i = 0; i < vhlo_row_count; i++)
    if (hr_str_is(wire_name, vhlo_rows[i].wire_name)) return &vhlo_rows[i];
  return NULL;
}

/* Rows of one op have disjoint ranges of versions. */
const vhlo_row_t *vhlo_find_for(hr_str_t name, int version) {
  if (hr_str_is(name, "func.func")) name = HR_STR("stablehlo.func");
  if (hr_str_is(name, "func.call")) name = HR_STR("stablehlo.call");
  if (hr_str_is(name, "func.return")) name = HR_STR("stablehlo.return");
  for (int i = 0; i < vhlo_row_count; i++)
    if (hr_str_is(name, vhlo_rows[i].stablehlo_name) && vhlo_rows[i].since <= version &&
        version <= vhlo_rows[i].until)
      return &vhlo_rows[i];
  return NULL;
}

/* Return ops belong to the dialect of their parent. */
hr_str_t vhlo_upgrade_name(const vhlo_row_t *row, const mlir_op_t *parent) {
  if (!strcmp(row->stablehlo_name, "stablehlo.func")) return HR_STR("func.func");
  if (!strcmp(row->stablehlo_name, "stablehlo.call")) return HR_STR("func.call");
  if (!strcmp(row->stablehlo_name, "stablehlo.return") && parent &&
      hr_str_is(parent->name, "func.func"))
    return HR_STR("func.return");
  return hr_str_from(row->stablehlo_name);
}

/* --- types --- */

/* Codes of the integer types on the wire; signless types of StableHLO are signed in VHLO. */
static const struct {
  int code, width;
  bool is_unsigned;
} integers[] = {{0, 1, false},           {10, 4, false},  {11, 8, false}, {12, 16, false},
                {13, 32, false},         {14, 64, false}, {15, 4, true},  {16, 8, true},
                {17, 16, true},          {18, 32, true},  {19, 64, true}, {VHLO_TYPE_SI2, 2, false},
                {VHLO_TYPE_UI2, 2, true}};

bool vhlo_integer_type(uint64_t code, int *out_width, bool *out_unsigned) {
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
    if ((uint64_t)integers[i].code != code) continue;
    *out_width = integers[i].width;
    *out_unsigned = integers[i].is_unsigned;
    return true;
  }
  return false;
}

int vhlo_integer_code(int width, bool is_unsigned) {
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
    if (integers[i].width == width && integers[i].is_unsigned == is_unsigned)
      return integers[i].code;
  return -1;
}

/* First version of a type; types not listed exist since the first version of the format. */
int vhlo_type_since(int code) {
  static const struct {
    int code, since;
  } later[] = {{VHLO_TYPE_SI2, VHLO_SINCE_INT2},
               {VHLO_TYPE_UI2, VHLO_SINCE_INT2},
               {VHLO_TYPE_QUANT_AXIS, VHLO_SINCE_QUANT_AXIS},
               {VHLO_TYPE_NONE, VHLO_SINCE_NONE_TYPE},
               {VHLO_TYPE_BUFFER, VHLO_SINCE_BUFFER},
               {VHLO_TYPE_FUTURE, VHLO_SINCE_FUTURE}};
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (later[i].code == code) return later[i].since;
  return VHLO_OLDEST;
}

/* --- structures --- */

/* Gather and scatter name their structures differently. */
const char *vhlo_struct_attr(vhlo_how_t how, hr_str_t op_name) {
  switch (how) {
    case VHLO_DOT:
      return "dot_dimension_numbers";
    case VHLO_SCATTER:
      return "scatter_dimension_numbers";
    case VHLO_ALGORITHM:
      return "algorithm";
    default:
      return op_name.size ? "dimension_numbers" : NULL;
  }
}

/* Mnemonic of the structure in StableHLO. */
const char *vhlo_struct_mnemonic(vhlo_how_t how) {
  switch (how) {
    case VHLO_DOT:
      return "dot";
    case VHLO_GATHER:
      return "gather";
    case VHLO_SCATTER:
      return "scatter";
    case VHLO_CONV:
      return "conv";
    default:
      return "dot_algorithm";
  }
}
