/* XLA allows set-dimension-size, and values computed from dynamic arrays, to be declared with
 * static sizes; the sizes are dynamic all the same (XLA's DynamicDimensionInference). Here sizes
 * that may vary must be declared dynamic: this pass opens the dimensions of all values that are
 * computed from such arrays, up to their bounds, by the inference functions of the ops. Dimensions
 * are never closed. Loops are visited until their state stays the same. */
#include "base/mem.h"
#include "ops/query/reshape_groups.h"
#include "ops/rules/verify.h"
#include "read/dynamic_dimensions.h"

typedef struct opener {
  hr_arena_t *arena;   /* the module's */
  hr_arena_t *scratch; /* memory of one inference */
  bool *done;          /* by computation: visited since a parameter was last opened */
} opener_t;

static hr_status_t open_computation(opener_t *opener, hlo_computation_t *computation);

/* --- shapes ----------------------------------------------------------------------------------- */

static bool is_open(const hlo_shape_t *shape, int d) { return shape->dynamic && shape->dynamic[d]; }

/* Has `from` a dynamic dimension that `to` declares static, with the same bound? */
static bool adds_open(const hlo_shape_t *from, const hlo_shape_t *to) {
  bool adds = false;
  if (!from || !to) return false; /* the verifier's to say */
  if (hlo_shape_is_tuple(from) && hlo_shape_is_tuple(to) &&
      from->element_count == to->element_count)
    for (int i = 0; i < from->element_count; i++)
      adds |= adds_open(from->elements[i], to->elements[i]);
  if (!hlo_shape_is_array(from) || !hlo_shape_is_array(to) || from->rank != to->rank) return adds;
  for (int d = 0; d < from->rank; d++)
    adds |= is_open(from, d) && !is_open(to, d) && from->dims[d] == to->dims[d];
  return adds;
}

/* Opens the dimensions of *shape that are open in `from`. */
static hr_status_t add_open(hr_arena_t *arena, const hlo_shape_t *from, const hlo_shape_t **shape) {
  hlo_shape_t *opened;
  bool *dynamic;
  if (!adds_open(from, *shape)) return NULL;
  HR_TRY(HR_NEW(arena, &opened));
  *opened = **shape;
  if (hlo_shape_is_tuple(*shape)) {
    const hlo_shape_t **elements;
    HR_TRY(HR_NEW_ARRAY(arena, opened->element_count, &elements));
    for (int i = 0; i < opened->element_count; i++) {
      elements[i] = (*shape)->elements[i];
      HR_TRY(add_open(arena, from->elements[i], &elements[i]));
    }
    opened->elements = elements;
  } else {
    HR_TRY(HR_NEW_ARRAY(arena, opened->rank, &dynamic));
    for (int d = 0; d < opened->rank; d++)
      dynamic[d] = is_open(*shape, d) || (is_open(from, d) && from->dims[d] == opened->dims[d]);
    opened->dynamic = dynamic;
  }
  *shape = opened;
  return NULL;
}

/* --- reshapes --------------------------------------------------------------------------------- */

/* The dimension of a group of the result that varies if one of the operand's does: the declared
 * one, else the outermost. */
static int varying_dim(const hlo_instr_t *instr, const op_reshape_group_t *group) {
  int64_t said = hlo_attr_int(instr, HLO_ATTR_INFERRED_DIMENSION);
  if (said >= group->to[0] && said < group->to[1]) return (int)said;
  for (int d = group->to[0]; d < group->to[1]; d++)
    if (instr->shape->dims[d] != 1) return d;
  return group->to[0];
}

/* A reshape is open if its operand is. */
static hr_status_t open_reshape(opener_t *opener, hlo_instr_t *instr) {
  const hlo_shape_t *in = instr->operands[0]->shape;
  const hlo_shape_t *out = instr->shape;
  hlo_shape_t *wanted;
  bool *dynamic, any = false;
  bool is_said = !in || !out || !hlo_shape_is_dynamic(in) || hlo_shape_is_dynamic(out);
  if (is_said || !hlo_shape_is_array(in) || !hlo_shape_is_array(out)) return NULL;
  HR_TRY(HR_NEW(opener->arena, &wanted));
  HR_TRY(HR_NEW_ARRAY(opener->arena, out->rank + 1, &dynamic));
  for (op_reshape_group_t group = {{0, 0}, {0, 0}}; op_reshape_next(in, out, &group);) {
    bool varies = false;
    for (int d = group.from[0]; d < group.from[1]; d++) varies |= is_open(in, d);
    if (varies) dynamic[varying_dim(instr, &group)] = true;
    any |= varies;
  }
  *wanted = *out;
  wanted->dynamic = dynamic;
  if (any) instr->shape = wanted;
  return NULL;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Gives a parameter the open sizes of its argument. A parameter that changes makes its body one to
 * be visited again, as all shapes in it may follow. */
static hr_status_t open_param(opener_t *opener, hlo_computation_t *body, size_t number,
                              const hlo_shape_t *arg) {
  hlo_instr_t *param = number < body->params.count ? body->params.data[number] : NULL;
  if (!param || !adds_open(arg, param->shape)) return NULL;
  opener->done[body->id] = false;
  return add_open(opener->arena, arg, &param->shape);
}

/* Bodies are listed before their callers, which the verifier checks. */
static hr_status_t open_body(opener_t *opener, const hlo_instr_t *instr, int index) {
  hlo_computation_t *body = instr->called[index];
  if (opener->done[body->id] || body->id >= instr->parent->id || !body->root) return NULL;
  opener->done[body->id] = true;
  return open_computation(opener, body);
}

/* A call has the open sizes of its body's root. */
static hr_status_t take_result(opener_t *opener, hlo_instr_t *instr, int index) {
  const hlo_instr_t *root = instr->called[index]->root;
  return root ? add_open(opener->arena, root->shape, &instr->shape) : NULL;
}

/* Arguments, body, result: in the order in which sizes flow. */
static hr_status_t open_call(opener_t *opener, hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(open_param(opener, instr->called[0], (size_t)k, instr->operands[k]->shape));
  HR_TRY(open_body(opener, instr, 0));
  return take_result(opener, instr, 0);
}

/* The loop state is open where its initial value or the result of the body is. */
static hr_status_t open_while(opener_t *opener, hlo_instr_t *instr) {
  const hlo_shape_t *before;
  HR_TRY(add_open(opener->arena, instr->operands[0]->shape, &instr->shape));
  do {
    for (int c = 0; c < instr->called_count; c++) {
      HR_TRY(open_param(opener, instr->called[c], 0, instr->shape));
      HR_TRY(open_body(opener, instr, c));
    }
    before = instr->shape;
    HR_TRY(take_result(opener, instr, instr->called_count - 1));
  } while (instr->shape != before);
  return NULL;
}

/* Open where any branch is. */
static hr_status_t open_conditional(opener_t *opener, hlo_instr_t *instr) {
  for (int c = 0; c < instr->called_count; c++) {
    if (c + 1 < instr->operand_count)
      HR_TRY(open_param(opener, instr->called[c], 0, instr->operands[c + 1]->shape));
    HR_TRY(open_body(opener, instr, c));
    HR_TRY(take_result(opener, instr, c));
  }
  return NULL;
}

/* --- instructions ----------------------------------------------------------------------------- */

/* Sizes that do not follow from the operands stay as declared; invalid instructions are left to the
 * verifier. */
static hr_status_t open_inferred(opener_t *opener, hlo_instr_t *instr) {
  const hlo_shape_t *const *in, *shape;
  hr_status_t st = hlo_operand_shapes(opener->scratch, instr, &in);
  if (!st) st = hlo_infer_shape(opener->scratch, instr, in, &shape);
  if (!st) return add_open(opener->arena, shape, &instr->shape);
  if (hr_status_code(st) != HR_INVALID && hr_status_code(st) != HR_UNSUPPORTED) return st;
  hr_status_release(st);
  return NULL;
}

/* One operand of the same sizes, for ops whose result has the declared shape. */
static bool is_like_operand(const hlo_instr_t *instr) {
  return instr->operand_count &&
         (hlo_op_is(instr->op, OP_ELEMENTWISE) || hlo_op_is(instr->op, OP_IDENTITY)) &&
         instr->op != HLO_CUSTOM_CALL;
}

/* A dimension of constant size, its bound, is static again. */
static bool is_whole_size(const hlo_instr_t *instr) {
  const hlo_instr_t *size = instr->operand_count == 2 ? instr->operands[1] : NULL;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  bool known = size && size->op == HLO_CONSTANT && size->literal &&
               size->literal->dtype == HR_S32 && size->literal->count == 1 && dims.count == 1;
  return known && instr->shape && dims.data[0] >= 0 && dims.data[0] < instr->shape->rank &&
         !is_open(instr->shape, (int)dims.data[0]) &&
         *(const int32_t *)size->literal->data == instr->shape->dims[dims.data[0]];
}

/* Marks the dimensions of one instruction that may vary. */
static hr_status_t open_instr(opener_t *opener, hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_PARAMETER:
      return NULL;
    case HLO_RESHAPE:
      return instr->operand_count ? open_reshape(opener, instr) : NULL;
    case HLO_SET_DIMENSION_SIZE:
      return is_whole_size(instr) ? NULL : open_inferred(opener, instr);
    case HLO_CALL:
    case HLO_FUSION:
      return instr->called_count ? open_call(opener, instr) : NULL;
    case HLO_WHILE:
      return instr->called_count == 2 && instr->operand_count ? open_while(opener, instr) : NULL;
    case HLO_CONDITIONAL:
      return open_conditional(opener, instr);
    default:
      break;
  }
  if (is_like_operand(instr))
    HR_TRY(add_open(opener->arena, instr->operands[0]->shape, &instr->shape));
  return open_inferred(opener, instr);
}

/* Instructions stand after their operands, so one pass is enough. Scratch memory lasts for one
 * instruction. */
static hr_status_t open_computation(opener_t *opener, hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    HR_TRY(open_instr(opener, computation->instrs.data[i]));
    hr_arena_reset(opener->scratch);
  }
  return NULL;
}

/* --- the module ------------------------------------------------------------------------------- */

/* Most programs have no dynamic sizes and need no pass. */
static bool has_dynamic_sizes(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (instr->op == HLO_SET_DIMENSION_SIZE ||
          (instr->shape && hlo_shape_is_dynamic(instr->shape)))
        return true;
    }
  }
  return false;
}

/* Repeats until nothing changes, as loops feed back. */
hr_status_t read_mark_dynamic_dimensions(hlo_module_t *module) {
  hr_arena_t scratch;
  if (!module->entry || !has_dynamic_sizes(module)) return NULL;
  hr_arena_init(&scratch);
  opener_t opener = {.arena = &module->arena, .scratch = &scratch};
  hr_status_t st = HR_NEW_ARRAY(&module->arena, module->computations.count, &opener.done);
  if (!st) st = open_computation(&opener, module->entry);
  const hlo_instr_t *root = module->entry->root;
  if (!st && module->has_entry_layout && root)
    st = add_open(&module->arena, root->shape, &module->entry_result);
  hr_arena_deinit(&scratch);
  return st;
}
