/* The verifier's driver. Structure is verified first, so that all later checks can follow pointers
 * freely; then each instruction in program order. Each computation is visited once, however often
 * it is called: time and memory are linear in the program. */
#include "base/nesting.h"
#include "ir/module.h"
#include "ops/rules/verify.h"

static hr_status_t computation_error(const hlo_computation_t *computation, const char *message) {
  hr_pos_t pos = {&computation->module->source, computation->line, computation->column};
  return hr_error_at(HR_INVALID, &pos, "computation %%%.*s %s", HR_STR_ARGS(computation->name),
                     message);
}

/* ---- structure ---- */

static hr_status_t check_operands(const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    if (!operand || operand->parent != instr->parent)
      return hlo_error(instr, NULL, "operand %d is not in this computation", k);
    if (operand->id >= instr->id)
      return hlo_error(instr, NULL, "operand %%%.*s is defined later, want it before its use",
                       HR_STR_ARGS(operand->name));
  }
  for (int k = 0; instr->extra && k < instr->extra->control_count; k++) {
    const hlo_instr_t *before = instr->extra->control_predecessors[k];
    hr_str_t name = before ? before->name : HR_STR("?");
    if (!before || before->parent != instr->parent || before->id >= instr->id)
      return hlo_error(instr, NULL, "control predecessor %%%.*s is not defined before",
                       HR_STR_ARGS(name));
  }
  return NULL;
}

/* Callees precede their callers in the module, so calls cannot be cyclic. */
static hr_status_t check_calls(const hlo_instr_t *instr) {
  const hlo_module_t *module = instr->parent->module;
  for (int k = 0; k < instr->called_count; k++) {
    const hlo_computation_t *called = instr->called[k];
    if (!called || called->id >= module->computations.count ||
        module->computations.data[called->id] != called)
      return hlo_error(instr, NULL, "called computation %d is not in this module", k);
    if (called->id >= instr->parent->id)
      return hlo_error(
          instr, NULL,
          "calls %%%.*s, want a computation defined before (recursion is not possible)",
          HR_STR_ARGS(called->name));
  }
  return NULL;
}

/* A layout orders all dimensions of its array. */
static hr_status_t check_layout(const hlo_instr_t *instr, const hlo_shape_t *shape) {
  uint64_t seen = 0;
  if (!shape->layout) return NULL;
  hr_ints_t order = shape->layout->minor_to_major;
  bool sound = order.count == shape->rank;
  for (int64_t i = 0; sound && i < order.count; i++) {
    sound = order.data[i] >= 0 && order.data[i] < shape->rank && !(seen >> order.data[i] & 1);
    if (sound) seen |= 1ull << order.data[i];
  }
  return sound ? NULL
               : hlo_error(instr, NULL, "its layout does not list each of its %d dimensions once",
                           shape->rank);
}

/* Sizes are not negative, dynamic ones may be unbounded, and the whole array fits this machine. */
static hr_status_t check_sizes(const hlo_instr_t *instr, const hlo_shape_t *shape) {
  bool unbounded = false;
  for (int i = 0; i < shape->element_count; i++) HR_TRY(check_sizes(instr, shape->elements[i]));
  for (int d = 0; d < shape->rank; d++) {
    bool open = shape->dims[d] == HLO_UNBOUNDED && shape->dynamic && shape->dynamic[d];
    if (shape->dims[d] < 0 && !open)
      return hlo_error(instr, NULL, "size %ld in dimension %d, want 0 or more",
                       (long)shape->dims[d], d);
    unbounded |= open;
  }
  HR_TRY(check_layout(instr, shape));
  if (!hlo_shape_is_array(shape) || unbounded) return NULL;
  size_t bytes;
  hr_status_t too_big = hlo_shape_bytes(shape, &bytes);
  if (!too_big) return NULL;
  char text[HLO_SHAPE_TEXT];
  hr_status_t st = hlo_unsupported(instr, "%s is too big: %s", hlo_shape_text(shape, text),
                                   hr_status_message(too_big));
  hr_status_release(too_big);
  return st;
}

static hr_status_t check_instr(const hlo_instr_t *instr) {
  if (!instr->shape) return hlo_error(instr, NULL, "it has no shape");
  HR_TRY(check_sizes(instr, instr->shape));
  HR_TRY(check_operands(instr));
  return check_calls(instr);
}

/* Parameters are numbered without gaps; the last one exists. */
static hr_status_t check_numbers(const hlo_computation_t *computation) {
  for (size_t k = 0, gap = SIZE_MAX; k < computation->params.count; k++) {
    const hlo_instr_t *param = computation->params.data[k];
    if (!param && gap == SIZE_MAX) gap = k;
    if (param && gap != SIZE_MAX)
      return hlo_error(param, NULL,
                       "there is no parameter %zu before number %zu, want numbers without gaps",
                       gap, k);
  }
  return NULL;
}

static hr_status_t check_computation(const hlo_computation_t *computation) {
  if (!computation->instrs.count)
    return computation_error(computation, "is empty, want at least one instruction");
  const hlo_instr_t *root = computation->root;
  if (!root || root->id >= computation->instrs.count || computation->instrs.data[root->id] != root)
    return computation_error(computation, "has a root that is not one of its instructions");
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (!instr || instr->id != i || instr->parent != computation)
      return computation_error(computation, "lists an instruction that belongs elsewhere");
  }
  return check_numbers(computation);
}

/* ---- start and done ---- */

/* A start is completed at most once: its done frees the transfer. */
static hr_status_t check_done_once(const hlo_instr_t *instr, const hlo_instr_t **done_of) {
  if (!hlo_op_is(instr->op, OP_DONE)) return NULL;
  const hlo_instr_t *start = instr->operands[0], **done = &done_of[start->id];
  if (*done)
    return hlo_error(instr, NULL,
                     "%%%.*s is completed already by %%%.*s, want one done for each start",
                     HR_STR_ARGS(start->name), HR_STR_ARGS((*done)->name));
  *done = instr;
  return NULL;
}

static hr_status_t verify_instrs(const hlo_computation_t *computation, hr_arena_t *scratch,
                                 const hlo_instr_t **done_of) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    HR_TRY(check_instr(instr));
    HR_TRY(hlo_verify_instr(scratch, instr));
    HR_TRY(check_done_once(instr, done_of));
    hr_arena_reset(scratch);
  }
  return NULL;
}

static hr_status_t verify_computation(const hlo_computation_t *computation, hr_arena_t *scratch) {
  HR_TRY(check_computation(computation));
  void *done_of;
  size_t bytes;
  HR_TRY(hr_size_product(computation->instrs.count, sizeof(hlo_instr_t *), &bytes));
  HR_TRY(hr_alloc_zeroed(bytes, &done_of));
  hr_status_t st = verify_instrs(computation, scratch, done_of);
  hr_free(done_of);
  return st;
}

/* ---- nesting ---- */

/* Callees precede their callers: their levels are known. */
static hr_status_t count_levels(const hlo_computation_t *computation, int most, int *levels) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < instr->called_count; k++) {
      int below = levels[instr->called[k]->id] + 1;
      if (below > most)
        return hlo_unsupported(instr, "computations call each other more than %d deep", most);
      if (below > levels[computation->id]) levels[computation->id] = below;
    }
  }
  return NULL;
}

static hr_status_t check_nesting(const hlo_module_t *module, hr_arena_t *scratch) {
  int *levels, most = hr_nesting_limit();
  HR_TRY(HR_NEW_ARRAY(scratch, module->computations.count, &levels));
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(count_levels(module->computations.data[c], most, levels));
  return NULL;
}

/* ---- the module ---- */

static hr_status_t alias_error(const hlo_module_t *module, const char *what, int k,
                               const char *message) {
  hr_pos_t pos = {&module->source, module->entry->line, module->entry->column};
  return hr_error_at(HR_INVALID, &pos, "%s, entry %d: %s", what, k, message);
}

static hr_status_t check_alias_shapes(const hlo_module_t *module, const char *what, int k,
                                      const hlo_shape_t *in, const hlo_shape_t *out) {
  char in_text[HLO_SHAPE_TEXT], out_text[HLO_SHAPE_TEXT];
  hr_pos_t pos = {&module->source, module->entry->line, module->entry->column};
  size_t in_bytes, out_bytes;
  if (hlo_shape_compatible(in, out)) return NULL;
  bool are_arrays = hlo_shape_is_array(in) && hlo_shape_is_array(out);
  bool are_static = are_arrays && !hlo_shape_is_dynamic(in) && !hlo_shape_is_dynamic(out);
  if (are_static) {
    HR_TRY(hlo_shape_bytes(in, &in_bytes));
    HR_TRY(hlo_shape_bytes(out, &out_bytes));
    if (in_bytes == out_bytes) return NULL; /* equal sizes share memory, whatever their types */
  }
  return hr_error_at(HR_INVALID, &pos,
                     "%s, entry %d: the parameter is %s, and the result %s; want equal sizes in "
                     "bytes",
                     what, k, hlo_shape_text(in, in_text), hlo_shape_text(out, out_text));
}

static hr_status_t check_aliases(const hlo_module_t *module, const hlo_aliasing_t *aliasing,
                                 bool has_output) {
  const char *what = has_output ? "input_output_alias" : "buffer_donor";
  for (int k = 0; k < aliasing->count; k++) {
    const hlo_alias_t *alias = &aliasing->aliases[k];
    if (alias->operand < 0 || (size_t)alias->operand >= module->entry->params.count)
      return alias_error(module, what, k, "the program has no such parameter");
    const hlo_shape_t *in =
        hlo_shape_at_path(hlo_entry_param_shape(module, (int)alias->operand), alias->operand_index);
    const hlo_shape_t *out =
        has_output ? hlo_shape_at_path(hlo_entry_result_shape(module), alias->output_index) : in;
    if (!in) return alias_error(module, what, k, "the parameter has no such element");
    if (!out) return alias_error(module, what, k, "the result has no such element");
    HR_TRY(check_alias_shapes(module, what, k, in, out));
  }
  return NULL;
}

/* Structure that no text can violate but a faulty pass can: numbering, ownership, the entry. */
static hr_status_t check_module(const hlo_module_t *module) {
  const hlo_computation_t *entry = module->entry;
  hr_pos_t pos = {&module->source, 1, 1};
  if (!module->computations.count)
    return hr_error_at(HR_INVALID, &pos, "the module has no computations");
  if (!entry || entry->id >= module->computations.count ||
      module->computations.data[entry->id] != entry)
    return hr_error_at(HR_INVALID, &pos, "the module has no entry computation");
  if (module->replica_count < 1 || module->num_partitions < 1)
    return hr_error_at(HR_INVALID, &pos,
                       "replica_count %ld and num_partitions %ld, want positive ones",
                       (long)module->replica_count, (long)module->num_partitions);
  for (size_t i = 0; i < module->computations.count; i++)
    if (module->computations.data[i]->id != i || module->computations.data[i]->module != module)
      return computation_error(module->computations.data[i], "does not belong to this module");
  return NULL;
}

/* Verifies computations in their order, then the module's attributes of parameters and results. */
hr_status_t hlo_verify(const hlo_module_t *module) {
  hr_arena_t scratch;
  hr_status_t st = NULL;
  HR_TRY(check_module(module));
  hr_arena_init(&scratch);
  for (size_t i = 0; i < module->computations.count && !st; i++)
    st = verify_computation(module->computations.data[i], &scratch);
  if (!st) st = check_nesting(module, &scratch);
  hr_arena_deinit(&scratch);
  if (!st) st = check_aliases(module, &module->input_output_alias, true);
  if (!st) st = check_aliases(module, &module->buffer_donor, false);
  return st;
}
