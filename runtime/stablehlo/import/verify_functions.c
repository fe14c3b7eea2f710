/* Verification of every function, uncalled ones included, which are imported into temporary
 * modules: O(functions) if all are valid, times the logarithm of their number for each one at
 * fault. */
#include <string.h>

#include "ops/rules/verify.h"
#include "stablehlo/import/import.h"

/* Imports an entry and the functions of a range into a temporary module and verifies it. */
static hr_status_t verify_from(const mlir_module_t *from, const mlir_op_t *entry,
                               const stablehlo_readers_t *readers, import_range_t range,
                               bool *out_reached) {
  hlo_module_t *module;
  HR_TRY(hlo_module_create(HR_STR("module"), &module));
  module->source = from->source;
  hr_status_t st = import_from(from, entry, readers, module, range, out_reached);
  if (!st) st = hlo_verify(module);
  hlo_module_destroy(module);
  return st;
}

/* True for failures that StableHLO's own verifier does not report, so that artifacts may have them
 * in functions that are never run: three rules by label, and meshes of another module. */
static bool is_left_open(hr_status_t status) {
  static const char *const rules[] = {"(all_gather C6)", "(compare C3)", "(rng_bit_generator I2)",
                                      "there is no mesh @"};
  hr_code_t code = hr_status_code(status);
  if (code != HR_INVALID && code != HR_UNSUPPORTED) return false;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strstr(hr_status_message(status), rules[i])) return true;
  return false;
}

/* Each of few functions that the entry does not reach is verified as an entry of a module of its
 * own. Of more, which would take the square of their number, many share a module. */
#define MOST_MODULES 64

/* More functions than this with failures of is_left_open are refused. */
#define MOST_DOUBTS 64

typedef struct unreached {
  const mlir_module_t *from;
  const mlir_block_t *block;
  const stablehlo_readers_t *readers;
  const stablehlo_doubts_t *doubts;
  bool *reached;
  int doubt_count;
} unreached_t;

static bool is_unreached(const unreached_t *all, size_t i) {
  const mlir_op_t *op = all->block->ops.data[i];
  return !all->reached[i] && import_is_function(op);
}

/* Verifies function i as an entry; it may reach others. Failures of is_left_open go to `doubts`. */
static hr_status_t verify_alone(unreached_t *all, size_t i) {
  const mlir_op_t *op = all->block->ops.data[i];
  all->reached[i] = true;
  hr_status_t st = verify_from(all->from, op, all->readers, (import_range_t){0, 0}, all->reached);
  if (!st || !all->doubts || !is_left_open(st) || all->doubt_count++ == MOST_DOUBTS) return st;
  all->doubts->report(all->doubts->context, import_str(op, "sym_name"), st);
  hr_status_release(st);
  return NULL;
}

/* Verifies the functions of a range in one module. If that fails, those at fault are looked for in
 * its halves. */
static hr_status_t verify_range(unreached_t *all, import_range_t range, bool together) {
  size_t count = 0, first = range.end;
  for (size_t i = range.first; i < range.end; i++) {
    if (!is_unreached(all, i)) continue;
    if (!count++) first = i;
  }
  if (count == 0) return NULL;
  if (count == 1) return verify_alone(all, first);
  if (together) {
    hr_status_t st = verify_from(all->from, all->block->ops.data[first], all->readers, range, NULL);
    if (!st) return NULL;
    hr_status_release(st);
  }
  size_t middle = range.first + (range.end - range.first) / 2;
  HR_TRY(verify_range(all, (import_range_t){range.first, middle}, together));
  return verify_range(all, (import_range_t){middle, range.end}, together);
}

/* Verifies the functions that the entry does not reach; any failure that is not left open ends the
 * verification. */
static hr_status_t verify_unreached(unreached_t *all) {
  import_range_t whole = {0, all->block->ops.count};
  int count = 0;
  for (size_t i = 0; i < whole.end && count <= MOST_MODULES; i++) count += is_unreached(all, i);
  return verify_range(all, whole, count > MOST_MODULES);
}

/* Uncalled functions may have failures that are only reported; see stablehlo_doubts_t. */
hr_status_t stablehlo_verify(const mlir_module_t *from, const stablehlo_readers_t *readers,
                             const stablehlo_doubts_t *doubts) {
  unreached_t all = {from, import_block_of(from->op, 0), readers, doubts, NULL, 0};
  const mlir_op_t *entry = import_find_entry(from);
  if (!all.block) return NULL;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, all.block->ops.count, &all.reached);
  if (!st && entry) st = verify_from(from, entry, readers, (import_range_t){0, 0}, all.reached);
  if (!st) st = verify_unreached(&all);
  hr_arena_deinit(&arena);
  return st;
}

int stablehlo_library_size(const mlir_module_t *from) {
  const mlir_block_t *block = import_block_of(from->op, 0);
  int count = 0;
  if (import_find_entry(from)) return -1;
  for (size_t i = 0; block && i < block->ops.count; i++)
    count += hr_str_is(block->ops.data[i]->name, "func.func");
  return count;
}
