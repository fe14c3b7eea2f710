/* Operations of mhlo are those of StableHLO by the same name, but for the ones listed here: some
 * are CHLO's, and some describe what XLA makes of a program and exist in HLO alone. mhlo.copy, in
 * programs of TensorFlow, and mhlo.topk, in dumps of XLA, have rows of their own. The cost is a
 * comparison for other dialects. */
#include "mlir/mlir_mhlo.h"

#include <string.h>

#define PREFIX "mhlo."
#define PREFIX_BYTES (sizeof PREFIX - 1)

/* Ops of mhlo that StableHLO left to CHLO. Source: StableHLO's mhlo-to-stablehlo conversion. */
static const char *const in_chlo[] = {"acos", "acosh", "asin", "asinh",  "atanh",
                                      "cosh", "erf",   "sinh", "erf_inv"};
/* Ops of mhlo without a counterpart: their meaning is XLA's, after its own passes. */
static const char *const alone[] = {"add_dependency",
                                    "async_done",
                                    "async_start",
                                    "async_update",
                                    "bitcast",
                                    "domain",
                                    "dynamic_topk",
                                    "fusion",
                                    "minimum_broadcast_shapes",
                                    "ragged_dot",
                                    "scan",
                                    "sparse_dot",
                                    "stochastic_convert",
                                    "trace",
                                    "xla.rng_get_and_update_state"};

/* Compares whole names; the lists are short and asked for mhlo's ops only. */
static bool is_one_of(const char *const *names, size_t count, hr_str_t name) {
  for (size_t i = 0; i < count; i++)
    if (strlen(names[i]) == name.size && memcmp(names[i], name.data, name.size) == 0) return true;
  return false;
}

/* Dialects with operations in programs for hlorun: its own, and those of sizes and of tests. */
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

/* Such names stay as they are, and are refused by the importer. */
bool mlir_mhlo_is_alone(hr_str_t name) {
  hr_str_t rest;
  return is_mhlo(name, &rest) && is_one_of(alone, sizeof alone / sizeof *alone, rest);
}

/* Names that change are copied to the arena. */
hr_status_t mlir_mhlo_name(hr_arena_t *arena, hr_str_t name, hr_str_t *out_name) {
  hr_str_t rest;
  const char *full;
  *out_name = name;
  if (!is_mhlo(name, &rest) || mlir_mhlo_is_alone(name)) return NULL;
  if (hr_str_is(rest, "copy") || hr_str_is(rest, "topk")) return NULL;
  bool is_chlo = is_one_of(in_chlo, sizeof in_chlo / sizeof *in_chlo, rest);
  HR_TRY(
      hr_arena_printf(arena, &full, "%s.%.*s", is_chlo ? "chlo" : "stablehlo", HR_STR_ARGS(rest)));
  *out_name = (hr_str_t){full, rest.size + (is_chlo ? 5 : 10)};
  return NULL;
}
