/* Seven tables have rows for StableHLO's ops: ops.def, stablehlo.def (import), export.def,
 * quant.def, vhlo.def, mlir_forms.def with mlir_forms_special.def (pretty text) and
 * bytecode_ops.def. Each test holds one of them against the others, so that an op that is added to
 * one and forgotten in another fails here with its name. Ops that a table leaves out on purpose are
 * listed beside the test. */
#include <string.h>

#include "ops/table/opcode.h"
#include "tests/lib/unit.h"

#define PREFIX "stablehlo."
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* --- the tables, as lists of names --- */

typedef struct import_name {
  const char *name;
  hlo_opcode_t op;
} import_name_t;
#define IMPORT(name, op, operands, function) {name, HLO_##op},
static const import_name_t import_names[] = {
#include "stablehlo/stablehlo.def"
};
#undef IMPORT

/* By opcode; the name SAME means the StableHLO column of ops.def, NULL that there is no row. */
#define SAME ""
#define EXPORT(op, name, function, ...) [HLO_##op] = name,
static const char *const export_names[HLO_OPCODE_COUNT] = {
#include "stablehlo/export/export.def"
};
#undef EXPORT
#undef SAME

#define QUANT(name, class_, scales) name,
static const char *const quant_names[] = {
#include "stablehlo/import/quant.def"
};
#undef QUANT

#define FORM(op, format, types) #op,
#define SPECIAL(op, parser) op,
static const char *const form_names[] = {
#include "mlir/text/mlir_forms.def"
#include "mlir/text/mlir_forms_special.def"
};
#undef FORM
#undef SPECIAL

#define PROPERTIES(name, operand_segments, result_segments, attrs) name,
static const char *const property_names[] = {
#include "mlir/bytecode/bytecode_ops.def"
};
#undef PROPERTIES

typedef struct vhlo_name {
  const char *name; /* without dialect and version */
  int until;
  bool has_attrs;
} vhlo_name_t;
#define NOW 9999
#define A(name, how) #name
#define VHLO(name, version, since, until, ...) {name, until, sizeof(#__VA_ARGS__) > 1},
static const vhlo_name_t vhlo_names[] = {
#include "mlir/vhlo/vhlo.def"
};
#undef VHLO
#undef A

/* --- lookup --- */

static bool is_among(const char *name, int count, const char *const *names) {
  for (int i = 0; i < count; i++)
    if (names[i] && !strcmp(name, names[i])) return true;
  return false;
}

static const import_name_t *find_import(const char *name) {
  for (int i = 0; i < COUNT(import_names); i++)
    if (!strcmp(import_names[i].name, name)) return &import_names[i];
  return NULL;
}

/* The newest form of an op; NULL if VHLO has none. */
static const vhlo_name_t *find_vhlo(const char *name) {
  for (int i = 0; i < COUNT(vhlo_names); i++)
    if (vhlo_names[i].until == NOW && !strcmp(vhlo_names[i].name, name)) return &vhlo_names[i];
  return NULL;
}

/* "stablehlo.add" -> "add"; NULL for ops of other dialects. */
static const char *stablehlo_suffix(const char *name) {
  size_t size = strlen(PREFIX);
  return strncmp(name, PREFIX, size) ? NULL : name + size;
}

static void expect_row(bool has_row, const char *op, const char *table) {
  if (!has_row) fprintf(stderr, "%s has no row in %s\n", op, table);
  CU_ASSERT_TRUE(has_row);
}

/* --- ops.def against import and export --- */

static void ops_are_imported_and_exported(void) {
  for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
    char name[128];
    if (!*hlo_op_table[op].stablehlo_name) continue;
    snprintf(name, sizeof name, PREFIX "%s", hlo_op_table[op].stablehlo_name);
    const import_name_t *import = find_import(name);
    expect_row(import, name, "stablehlo/stablehlo.def");
    if (import && (int)import->op != op) fprintf(stderr, "%s is imported as another op\n", name);
    CU_ASSERT_TRUE(!import || (int)import->op == op);
    expect_row(export_names[op], name, "stablehlo/export/export.def");
  }
}

/* HLO ops that StableHLO cannot say; all others have a row. */
static void ops_without_export_are_known(void) {
  static const hlo_opcode_t without[] = {HLO_PARAMETER, HLO_STOCHASTIC_CONVERT, HLO_SCALED_DOT,
                                         HLO_RNG_GET_AND_UPDATE_STATE};
  for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
    bool is_known = false;
    for (int i = 0; i < COUNT(without); i++) is_known |= (int)without[i] == op;
    expect_row((export_names[op] != NULL) != is_known, hlo_op_table[op].name,
               "exactly one of export.def and the list of this test");
  }
}

/* Names that export.def spells out must be ops that can be read back. */
static void exported_names_are_imported(void) {
  for (int op = 0; op < HLO_OPCODE_COUNT; op++)
    if (export_names[op] && *export_names[op])
      expect_row(find_import(export_names[op]), export_names[op], "stablehlo/stablehlo.def");
}

/* --- import against VHLO, quantisation, text and bytecode --- */

/* An op of another version of StableHLO than VHLO has. */
static const char *const not_in_vhlo[] = {"stablehlo.square"};
/* Ops of the func dialect within VHLO. */
static const char *const func_in_vhlo[] = {"call", "func", "return"};

static void imports_agree_with_vhlo(void) {
  for (int i = 0; i < COUNT(import_names); i++) {
    const char *name = import_names[i].name, *suffix = stablehlo_suffix(name);
    if (!suffix || is_among(name, COUNT(not_in_vhlo), not_in_vhlo)) continue;
    expect_row(find_vhlo(suffix), name, "mlir/vhlo/vhlo.def");
  }
  for (int i = 0; i < COUNT(vhlo_names); i++) {
    char name[128];
    if (is_among(vhlo_names[i].name, COUNT(func_in_vhlo), func_in_vhlo)) continue;
    snprintf(name, sizeof name, PREFIX "%s", vhlo_names[i].name);
    expect_row(find_import(name), name, "stablehlo/stablehlo.def");
  }
}

/* Ops that take no quantised values (StableHLO spec, constraints of each op). */
static const char *const not_quantised[] = {"stablehlo.after_all",
                                            "stablehlo.and",
                                            "stablehlo.async_done",
                                            "stablehlo.async_start",
                                            "stablehlo.collective_reduce",
                                            "stablehlo.complex",
                                            "stablehlo.convert",
                                            "stablehlo.count_leading_zeros",
                                            "stablehlo.create_token",
                                            "stablehlo.einsum",
                                            "stablehlo.fft",
                                            "stablehlo.imag",
                                            "stablehlo.not",
                                            "stablehlo.or",
                                            "stablehlo.partition_id",
                                            "stablehlo.popcnt",
                                            "stablehlo.real",
                                            "stablehlo.replica_id",
                                            "stablehlo.rng",
                                            "stablehlo.rng_bit_generator",
                                            "stablehlo.shift_left",
                                            "stablehlo.shift_right_arithmetic",
                                            "stablehlo.shift_right_logical",
                                            "stablehlo.square",
                                            "stablehlo.unary_einsum",
                                            "stablehlo.xor"};

static void imports_agree_with_quantisation(void) {
  for (int i = 0; i < COUNT(import_names); i++) {
    const char *name = import_names[i].name;
    if (!stablehlo_suffix(name)) continue;
    bool has_row = is_among(name, COUNT(quant_names), quant_names);
    expect_row(has_row != is_among(name, COUNT(not_quantised), not_quantised), name,
               "exactly one of quant.def and the list of this test");
  }
  for (int i = 0; i < COUNT(quant_names); i++)
    expect_row(find_import(quant_names[i]), quant_names[i], "stablehlo/stablehlo.def");
}

/* Ops that StableHLO prints in the generic form: those with regions, groups or many attributes. */
static const char *const generic_text[] = {"stablehlo.all_gather",
                                           "stablehlo.all_reduce",
                                           "stablehlo.all_to_all",
                                           "stablehlo.async_done",
                                           "stablehlo.async_start",
                                           "stablehlo.batch_norm_grad",
                                           "stablehlo.batch_norm_inference",
                                           "stablehlo.batch_norm_training",
                                           "stablehlo.case",
                                           "stablehlo.collective_broadcast",
                                           "stablehlo.collective_permute",
                                           "stablehlo.collective_reduce",
                                           "stablehlo.cross-replica-sum",
                                           "stablehlo.dynamic_gather",
                                           "stablehlo.gather",
                                           "stablehlo.if",
                                           "stablehlo.infeed",
                                           "stablehlo.map",
                                           "stablehlo.outfeed",
                                           "stablehlo.recv",
                                           "stablehlo.reduce_scatter",
                                           "stablehlo.reduce_window",
                                           "stablehlo.scatter",
                                           "stablehlo.select_and_scatter",
                                           "stablehlo.send",
                                           "stablehlo.sort",
                                           "stablehlo.torch_index_select",
                                           "stablehlo.triangular_solve"};

static void imports_agree_with_pretty_forms(void) {
  for (int i = 0; i < COUNT(import_names); i++) {
    const char *name = import_names[i].name;
    if (!stablehlo_suffix(name)) continue;
    bool has_row = is_among(name, COUNT(form_names), form_names);
    expect_row(has_row != is_among(name, COUNT(generic_text), generic_text), name,
               "exactly one of mlir_forms*.def and the list of this test");
  }
  for (int i = 0; i < COUNT(form_names); i++) {
    bool is_op = stablehlo_suffix(form_names[i]) && strcmp(form_names[i], PREFIX "return");
    if (is_op) expect_row(find_import(form_names[i]), form_names[i], "stablehlo/stablehlo.def");
  }
}

/* An op has properties in plain bytecode exactly if it has attributes in VHLO. */
static void vhlo_agrees_with_bytecode(void) {
  for (int i = 0; i < COUNT(vhlo_names); i++) {
    const vhlo_name_t *vhlo = &vhlo_names[i];
    char name[128];
    bool is_func = is_among(vhlo->name, COUNT(func_in_vhlo), func_in_vhlo);
    if (vhlo->until != NOW || is_func) continue;
    snprintf(name, sizeof name, PREFIX "%s", vhlo->name);
    bool has_row = is_among(name, COUNT(property_names), property_names);
    expect_row(has_row == vhlo->has_attrs, name,
               "bytecode_ops.def, or one too many: it has one if vhlo.def lists attributes");
  }
  for (int i = 0; i < COUNT(property_names); i++)
    if (stablehlo_suffix(property_names[i]))
      expect_row(find_import(property_names[i]), property_names[i], "stablehlo/stablehlo.def");
}

CU_TestInfo suite_op_names[] = {
    {"every op of ops.def with a name in StableHLO is imported and exported",
     ops_are_imported_and_exported},
    {"ops that StableHLO cannot say are listed", ops_without_export_are_known},
    {"names that the exporter writes can be imported", exported_names_are_imported},
    {"imported ops are those of VHLO", imports_agree_with_vhlo},
    {"imported ops say what they do with quantised values", imports_agree_with_quantisation},
    {"imported ops have a pretty form or are generic", imports_agree_with_pretty_forms},
    {"ops with attributes in VHLO have properties in bytecode", vhlo_agrees_with_bytecode},
    CU_TEST_INFO_NULL};
