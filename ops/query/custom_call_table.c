/* Look-up in custom_calls.def. Patterns are few and calls are looked up once, when they are
 * prepared, so the search is linear. */
#include "ops/query/custom_call_table.h"

#include <string.h>

#include "ops/query/custom_ffi.h"
#include "ops/query/custom_host.h"

#define TABLE_COUNT OP_CUSTOM_HOST

/* __COUNTER__ numbers the rows; it is read first, as headers may have used it. */
enum { FIRST = __COUNTER__ + 1 };

static const op_custom_call_t table[] = {
#define CUSTOM_CALL(target, kernel, native, traits, note) \
  {target, __COUNTER__ - FIRST, traits, note},
#include "ops/query/custom_calls.def"
#undef CUSTOM_CALL
};

/* Functions that the user registered, under any name that is not in the table. */
static const op_custom_call_t host_row = {"", OP_CUSTOM_HOST, 0, ""};
static const op_custom_call_t ffi_row = {"", OP_CUSTOM_FFI, 0, ""};

/* True if the target matches `pattern`: '?' is any character, a '*' at the end any rest. */
static bool matches(const char *pattern, hr_str_t target) {
  size_t i = 0;
  for (; pattern[i] && pattern[i] != '*'; i++)
    if (i >= target.size || (pattern[i] != '?' && pattern[i] != target.data[i])) return false;
  return pattern[i] == '*' || i == target.size;
}

static const op_custom_call_t *find_row(hr_str_t target) {
  static const char suffix[] = "_ffi";
  size_t size = sizeof suffix - 1;
  hr_str_t stem = target;
  if (target.size > size && memcmp(target.data + target.size - size, suffix, size) == 0)
    stem.size -= size;
  for (int i = 0; i < TABLE_COUNT; i++)
    if (matches(table[i].target, target) || matches(table[i].target, stem)) return &table[i];
  return NULL;
}

const op_custom_call_t *op_custom_call_find(hr_str_t target) {
  const op_custom_call_t *row = find_row(target);
  if (row && !(row->traits & CUSTOM_UNLESS_HANDLED)) return row;
  if (custom_ffi_find(target)) return &ffi_row;
  return custom_host_find(target) ? &host_row : row;
}

bool op_custom_call_keeps_state(const hlo_instr_t *instr) {
  if (instr->op != HLO_CUSTOM_CALL) return false;
  hr_str_t target = op_custom_call_target(instr);
  const op_custom_call_t *row = op_custom_call_find(target);
  return row && row->row == OP_CUSTOM_FFI && custom_ffi_find(target)->instantiate;
}

bool op_custom_call_is_identity(const hlo_instr_t *instr) {
  const op_custom_call_t *call = op_custom_call_find(op_custom_call_target(instr));
  return call && call->traits & CUSTOM_IDENTITY && instr->operand_count == 1;
}

/* A token, or a tuple without elements. */
static bool is_nothing(const hlo_shape_t *shape) {
  return hlo_shape_is_tuple(shape) ? !shape->element_count : shape->dtype == HR_TOKEN;
}

bool op_custom_call_is_marker(const hlo_instr_t *instr) {
  const op_custom_call_t *call = op_custom_call_find(op_custom_call_target(instr));
  if (!call) return false;
  if (call->traits & CUSTOM_OR_NOTHING) return !is_nothing(instr->shape);
  return call->traits & CUSTOM_IDENTITY;
}

/* Pin makes a buffer of an array, and Unpin an array of a buffer. */
static bool keeps_contents(const hlo_shape_t *from, const hlo_shape_t *to) {
  return hlo_shape_compatible(hlo_shape_contents(from), hlo_shape_contents(to));
}

hr_status_t op_custom_call_check_marker(const hlo_instr_t *instr) {
  const hlo_shape_t *to = instr->shape;
  char found[HLO_SHAPE_TEXT], wanted[HLO_SHAPE_TEXT];
  int count = instr->operand_count;
  if (count == 1 && keeps_contents(instr->operands[0]->shape, to)) return NULL;
  if (count == 1 && !hlo_shape_is_tuple(to))
    return hlo_error(instr, NULL, "the result is %s, want %s as the operand",
                     hlo_shape_text(to, found), hlo_shape_text(instr->operands[0]->shape, wanted));
  if (!hlo_shape_is_tuple(to) || to->element_count != count)
    return hlo_error(instr, NULL, "%d operands, but the result is %s", count,
                     hlo_shape_text(to, found));
  for (int k = 0; k < count; k++)
    if (!hlo_shape_compatible(instr->operands[k]->shape, to->elements[k]))
      return hlo_error(instr, NULL, "result %d is %s, want %s as the operand", k,
                       hlo_shape_text(to->elements[k], found),
                       hlo_shape_text(instr->operands[k]->shape, wanted));
  return NULL;
}

/* Levenshtein distance of two names with one row of the table, O(|a| |b|); names of more than 64
 * characters count as different. */
static int edit_distance(hr_str_t a, const char *b) {
  int row[65], size = (int)strlen(b);
  if (a.size > 64 || size > 64) return 1000;
  for (int j = 0; j <= size; j++) row[j] = j;
  for (size_t i = 0; i < a.size; i++) {
    int corner = row[0]++;
    for (int j = 1; j <= size; j++) {
      int best = corner + (a.data[i] != b[j - 1] && b[j - 1] != '?');
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      corner = row[j];
      row[j] = best;
    }
  }
  return row[size];
}

const char *op_custom_call_nearest(hr_str_t target) {
  const char *nearest = table[0].target;
  for (int i = 1; i < TABLE_COUNT; i++)
    if (edit_distance(target, table[i].target) < edit_distance(target, nearest))
      nearest = table[i].target;
  return edit_distance(target, nearest) <= (int)target.size / 2 ? nearest : NULL;
}

hr_status_t custom_config(hr_arena_t *arena, const hlo_instr_t *instr,
                          const dict_value_t **out_dict) {
  hr_str_t text = instr->extra ? instr->extra->backend_config : (hr_str_t){"", 0};
  return hr_status_note(mlir_dict_parse(arena, text, out_dict),
                        "while reading backend_config of %%%.*s", HR_STR_ARGS(instr->name));
}

bool op_parallel_grid(const hlo_instr_t *instr, int *out_replicas, int *out_partitions) {
  if (instr->op != HLO_CUSTOM_CALL ||
      !hr_str_is(op_custom_call_target(instr), "interpreter.run_parallel"))
    return false;
  const dict_value_t *config;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = custom_config(&arena, instr, &config);
  int64_t replicas = st ? 0 : mlir_dict_int(config, "replicas", 0),
          partitions = st ? 0 : mlir_dict_int(config, "partitions", 0);
  hr_status_release(st);
  hr_arena_deinit(&arena);
  bool fits = replicas > 0 && partitions > 0 && replicas <= instr->called_count &&
              partitions <= instr->called_count && replicas * partitions <= instr->called_count;
  *out_replicas = fits ? (int)replicas : 0;
  *out_partitions = fits ? (int)partitions : 0;
  return true;
}

static bool orders_descending(const hlo_instr_t *instr) {
  const hlo_computation_t *comparator = instr->called_count ? instr->called[0] : NULL;
  for (size_t i = 0; comparator && i < comparator->instrs.count; i++) {
    const hlo_instr_t *inner = comparator->instrs.data[i];
    int direction = inner->op == HLO_COMPARE ? hlo_attr_enum(inner, HLO_ATTR_DIRECTION) : -1;
    if (direction == HLO_DIRECTION_LT || direction == HLO_DIRECTION_LE) return false;
  }
  return true;
}

hr_status_t custom_approx_order(hr_arena_t *arena, const hlo_instr_t *instr, int rank,
                                int64_t *out_dim, bool *out_descends) {
  const dict_value_t *config;
  HR_TRY(custom_config(arena, instr, &config));
  int64_t dim = mlir_dict_int(config, "reduction_dim", -1);
  *out_dim = dim < 0 ? dim + rank : dim;
  *out_descends = orders_descending(instr);
  return NULL;
}
