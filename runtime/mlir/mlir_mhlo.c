/* Operations of mhlo equal those of StableHLO with the same name, except for the ones listed here:
 * some are CHLO's, some are HLO's only and have rows in the importer's table, and some are
 * internal to XLA's compilation. Names of other dialects cost one comparison. */
#include "mlir/mlir_mhlo.h"

#include <string.h>

#include "mlir/text/mlir_parser.h"

#define PREFIX "mhlo."
#define PREFIX_BYTES (sizeof PREFIX - 1)

/* Ops of mhlo that StableHLO left to CHLO. Source: StableHLO's mhlo-to-stablehlo conversion. */
static const char *const in_chlo[] = {"acos", "acosh", "asin",    "asinh", "atanh",      "cosh",
                                      "erf",  "sinh",  "erf_inv", "mulhi", "ragged_dot", "scan"};
/* Ops with mhlo rows in the importer's table. */
static const char *const own[] = {"add_dependency", "bitcast",
                                  "copy",           "domain",
                                  "fusion",         "stochastic_convert",
                                  "topk",           "xla.rng_get_and_update_state"};
/* Ops of mhlo without a counterpart: XLA's passes create them and define their meaning. */
static const char *const alone[] = {"async_done",   "async_start", "async_update",
                                    "dynamic_topk", "sparse_dot",  "minimum_broadcast_shapes",
                                    "trace"};

/* Compares whole names. The lists are short and searched for mhlo's ops only. */
static bool is_one_of(const char *const *names, size_t count, hr_str_t name) {
  for (size_t i = 0; i < count; i++)
    if (strlen(names[i]) == name.size && memcmp(names[i], name.data, name.size) == 0) return true;
  return false;
}

/* Dialects whose operations occur in programs for hlorun: its own, and those for sizes and
 * tests. */
static const char *const dialects[] = {"arith", "builtin",     "chlo",   "check",
                                       "func",  "interpreter", "mhlo",   "sdy",
                                       "shape", "stablehlo",   "tensor", "vhlo"};

hr_str_t mlir_foreign_dialect(hr_str_t name) {
  const char *dot = memchr(name.data, '.', name.size);
  hr_str_t dialect = {name.data, dot ? (size_t)(dot - name.data) : 0};
  bool is_known = is_one_of(dialects, sizeof dialects / sizeof *dialects, dialect);
  return is_known ? (hr_str_t){name.data, 0} : dialect;
}

/* True for "mhlo.x", with *out_rest = "x", which points into `name`. */
static bool is_mhlo(hr_str_t name, hr_str_t *out_rest) {
  if (name.size <= PREFIX_BYTES || memcmp(name.data, PREFIX, PREFIX_BYTES) != 0) return false;
  *out_rest = (hr_str_t){name.data + PREFIX_BYTES, name.size - PREFIX_BYTES};
  return true;
}

/* These names are unchanged; the importer refuses them. */
bool mlir_mhlo_is_alone(hr_str_t name) {
  hr_str_t rest;
  return is_mhlo(name, &rest) && is_one_of(alone, sizeof alone / sizeof *alone, rest);
}

/* Converts the precision_config of a ragged_dot: #mhlo<precision HIGH>, read as StableHLO's,
 * becomes #chlo<precision HIGH>. */
hr_status_t mlir_mhlo_adapt_attrs(hr_arena_t *arena, mlir_op_t *op) {
  const mlir_attr_t *config, *items[2];
  mlir_named_attr_t *attrs;
  if (!hr_str_is(op->name, "chlo.ragged_dot")) return NULL;
  config = mlir_op_attr(op, "precision_config");
  if (!config || config->kind != MLIR_ATTR_ARRAY || config->count > 2) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, op->attr_count, &attrs));
  for (int i = 0; i < config->count; i++) {
    items[i] = config->items[i];
    if (items[i]->kind == MLIR_ATTR_ENUM && hr_str_is(items[i]->enum_name, "precision"))
      HR_TRY(mlir_make_enum(arena, "chlo", "precision", items[i]->text, &items[i]));
  }
  for (int i = 0; i < op->attr_count; i++) {
    attrs[i] = op->attrs[i];
    if (attrs[i].value == config)
      HR_TRY(mlir_make_array(arena, config->count, items, &attrs[i].value));
  }
  op->attrs = attrs;
  return NULL;
}

/* A changed name is copied to the arena. */
hr_status_t mlir_mhlo_name(hr_arena_t *arena, hr_str_t name, hr_str_t *out_name) {
  hr_str_t rest;
  const char *full;
  *out_name = name;
  if (!is_mhlo(name, &rest) || mlir_mhlo_is_alone(name)) return NULL;
  if (is_one_of(own, sizeof own / sizeof *own, rest)) return NULL;
  bool is_chlo = is_one_of(in_chlo, sizeof in_chlo / sizeof *in_chlo, rest);
  HR_TRY(
      hr_arena_printf(arena, &full, "%s.%.*s", is_chlo ? "chlo" : "stablehlo", HR_STR_ARGS(rest)));
  *out_name = (hr_str_t){full, rest.size + (is_chlo ? 5 : 10)};
  return NULL;
}
