/* Flattening of bodies, in three passes:
 *
 *   1. a walk over the computation inlines its calls, and makes elementwise instructions steps on
 *      virtual values; tuples and identities disappear (body_term_t)
 *   2. a backward walk over last readers removes dead steps
 *   3. a linear scan gives values slots in the scratch area
 *
 * A slot is reused after its last reader. */
#include "ops/kernels/elementwise/body_plan.h"

enum {
  BODY_MAX_VISITS = 65536, /* most inlined instructions; nested calls can grow exponentially */
  BODY_MAX_DEPTH = 256     /* deepest nesting of calls */
};

/* The meaning of an instruction: one value, or a tuple of terms. */
typedef struct body_term {
  int value; /* index of the value; -1: a tuple */
  int count;
  const struct body_term **elements;
} body_term_t;

/* State of the walk; `visits` counts over all inlined calls. */
typedef struct flattener {
  hr_arena_t *arena;
  HR_VEC(body_value_t) values;
  HR_VEC(body_step_t) steps;
  int depth;
  size_t visits;
} flattener_t;

/* The functions below leave *out_term NULL, without an error, if a computation cannot be
 * flattened. */

/* Appends a value; its last reader is found by the second pass. For constants data is the
 * element. */
static hr_status_t add_value(flattener_t *f, body_kind_t kind, int number, const void *data,
                             hr_dtype_t dtype, const body_term_t **out_term) {
  body_term_t *term;
  HR_TRY(HR_NEW(f->arena, &term));
  term->value = (int)f->values.count;
  HR_VEC_PUSH(&f->values, (body_value_t){.kind = kind,
                                         .number = number,
                                         .data = data,
                                         .last_reader = -1,
                                         .element_bytes = (int)hr_dtype_bytes(dtype)});
  *out_term = term;
  return NULL;
}

/* Appends a step, if its operands are single values. */
static hr_status_t flatten_elementwise(flattener_t *f, const hlo_instr_t *instr,
                                       const body_term_t *const *terms,
                                       const body_term_t **out_term) {
  if (!body_is_scalar(instr->shape)) return NULL;
  body_step_t step = {.instr = instr, .operand_count = instr->operand_count};
  for (int k = 0; k < instr->operand_count; k++) {
    step.operands[k] = terms[instr->operands[k]->id]->value;
    if (step.operands[k] < 0) return NULL;
  }
  HR_TRY(ew_kernel_prepare(f->arena, instr, &step.kernel));
  const body_term_t *term;
  HR_TRY(add_value(f, BODY_STEP, (int)f->steps.count, NULL, instr->shape->dtype, &term));
  step.result = term->value;
  HR_VEC_PUSH(&f->steps, step);
  *out_term = term;
  return NULL;
}

/* A tuple is a list of terms: no step moves data. */
static hr_status_t flatten_tuple(flattener_t *f, const hlo_instr_t *instr,
                                 const body_term_t *const *terms, const body_term_t **out_term) {
  body_term_t *term;
  HR_TRY(HR_NEW(f->arena, &term));
  HR_TRY(HR_NEW_ARRAY(f->arena, instr->operand_count, &term->elements));
  term->value = -1;
  term->count = instr->operand_count;
  for (int k = 0; k < instr->operand_count; k++) term->elements[k] = terms[instr->operands[k]->id];
  *out_term = term;
  return NULL;
}

static hr_status_t flatten_computation(flattener_t *f, const hlo_computation_t *computation,
                                       const body_term_t *const *arguments, int argument_count,
                                       const body_term_t **out_term);

/* Inlines a called computation with the operands' terms as its parameters. */
static hr_status_t flatten_call(flattener_t *f, const hlo_instr_t *instr,
                                const body_term_t *const *terms, const body_term_t **out_term) {
  if (instr->called_count != 1 || f->depth >= BODY_MAX_DEPTH) return NULL;
  const body_term_t **arguments;
  HR_TRY(HR_NEW_ARRAY(f->arena, instr->operand_count, &arguments));
  for (int k = 0; k < instr->operand_count; k++) arguments[k] = terms[instr->operands[k]->id];
  f->depth++;
  hr_status_t st =
      flatten_computation(f, instr->called[0], arguments, instr->operand_count, out_term);
  f->depth--;
  return st;
}

/* Custom calls that carry sharding or placement and return their operand. */
static bool is_annotation_call(const hlo_instr_t *instr) {
  static const char *const targets[] = {"Sharding",
                                        "xla.sdy.FuncResultSharding",
                                        "xla.sdy.PropagationBarrier",
                                        "annotate_device_placement",
                                        "LayoutConstraint",
                                        "MoveToHost",
                                        "MoveToDevice"};
  hr_str_t target = hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    if (hr_str_is(target, targets[i])) return true;
  return false;
}

/* True if the instruction returns the bytes of its first operand. For one element every reordering
 * does; a bitcast does if both types use all bits of their bytes. */
static bool is_identity(const hlo_instr_t *instr) {
  if (instr->operand_count < 1) return false;
  const hlo_shape_t *from = instr->operands[0]->shape, *to = instr->shape;
  switch (instr->op) {
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_BROADCAST:
    case HLO_REVERSE:
    case HLO_BITCAST:
    case HLO_BITCAST_CONVERT: {
      if (!body_is_scalar(from) || !body_is_scalar(to)) return false;
      const hr_dtype_info_t *a = &hr_dtype_table[from->dtype], *b = &hr_dtype_table[to->dtype];
      return from->dtype == to->dtype || (a->bits == b->bits && a->bits >= 8);
    }
    case HLO_CUSTOM_CALL:
      return instr->operand_count == 1 && is_annotation_call(instr);
    default:
      return hlo_op_is(instr->op, OP_IDENTITY);
  }
}

/* *out_term stays NULL for instructions without a flat form, such as control flow. */
static hr_status_t flatten_instr(flattener_t *f, const hlo_instr_t *instr,
                                 const body_term_t *const *terms,
                                 const body_term_t *const *arguments, int argument_count,
                                 const body_term_t **out_term) {
  if (is_identity(instr)) {
    *out_term = terms[instr->operands[0]->id];
    return NULL;
  }
  if (hlo_op_is(instr->op, OP_ELEMENTWISE)) return flatten_elementwise(f, instr, terms, out_term);
  switch (instr->op) {
    case HLO_PARAMETER: {
      int64_t number = hlo_parameter_number(instr);
      if (number >= 0 && number < argument_count) *out_term = arguments[number];
      return NULL;
    }
    case HLO_CONSTANT:
      if (!body_is_scalar(instr->shape) || !instr->literal) return NULL;
      return add_value(f, BODY_CONSTANT, 0, instr->literal->data, instr->shape->dtype, out_term);
    case HLO_TUPLE:
      return flatten_tuple(f, instr, terms, out_term);
    case HLO_GET_TUPLE_ELEMENT: {
      const body_term_t *tuple = terms[instr->operands[0]->id];
      int64_t index = hlo_attr_int(instr, HLO_ATTR_INDEX);
      if (tuple->value < 0 && index >= 0 && index < tuple->count)
        *out_term = tuple->elements[index];
      return NULL;
    }
    case HLO_CALL:
    case HLO_FUSION:
      return flatten_call(f, instr, terms, out_term);
    case HLO_MAP:
      return body_is_scalar(instr->shape) ? flatten_call(f, instr, terms, out_term) : NULL;
    default:
      return NULL;
  }
}

/* Marks the instructions that the root depends on; others need not be flattened. */
static void mark_needed(const hlo_computation_t *computation, bool *needed) {
  needed[computation->root->id] = true;
  for (size_t i = computation->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (!needed[instr->id]) continue;
    int operands = is_identity(instr) ? 1 : instr->operand_count;
    for (int k = 0; k < operands; k++) needed[instr->operands[k]->id] = true;
  }
}

static hr_status_t flatten_computation(flattener_t *f, const hlo_computation_t *computation,
                                       const body_term_t *const *arguments, int argument_count,
                                       const body_term_t **out_term) {
  const body_term_t **terms;
  bool *needed;
  f->visits += computation->instrs.count;
  if (f->visits > BODY_MAX_VISITS) return NULL;
  HR_TRY(HR_NEW_ARRAY(f->arena, computation->instrs.count, &terms));
  HR_TRY(HR_NEW_ARRAY(f->arena, computation->instrs.count, &needed));
  mark_needed(computation, needed);
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (!needed[instr->id]) continue;
    HR_TRY(flatten_instr(f, instr, terms, arguments, argument_count, &terms[instr->id]));
    if (!terms[instr->id]) return NULL;
  }
  *out_term = terms[computation->root->id];
  return NULL;
}

/* --- slots of the scratch area ---------------------------------------------------------------- */

/* Sets last_reader of every live value, and removes the steps whose results are not read. */
static void remove_dead_steps(flattener_t *f, const int *results, int result_count) {
  size_t step_count = f->steps.count, live_count = 0;
  for (int r = 0; r < result_count; r++) f->values.data[results[r]].last_reader = (int)step_count;
  for (size_t s = step_count; s-- > 0;) {
    const body_step_t *step = &f->steps.data[s];
    if (f->values.data[step->result].last_reader < 0) continue;
    for (int k = 0; k < step->operand_count; k++) {
      int *last = &f->values.data[step->operands[k]].last_reader;
      if (*last < (int)s) *last = (int)s;
    }
  }
  for (size_t s = 0; s < step_count; s++)
    if (f->values.data[f->steps.data[s].result].last_reader >= 0)
      f->steps.data[live_count++] = f->steps.data[s];
  f->steps.count = live_count;
}

/* Recomputes step numbers and last readers after steps were removed. */
static void find_last_readers(flattener_t *f, const int *results, int result_count) {
  for (size_t s = 0; s < f->steps.count; s++) {
    const body_step_t *step = &f->steps.data[s];
    f->values.data[step->result].number = (int)s;
    for (int k = 0; k < step->operand_count; k++)
      f->values.data[step->operands[k]].last_reader = (int)s;
  }
  for (int r = 0; r < result_count; r++)
    f->values.data[results[r]].last_reader = (int)f->steps.count;
}

/* Slots have the size of the largest element; a slot is free after its value's last reader. */
static hr_status_t assign_offsets(flattener_t *f, int64_t *out_lane_bytes) {
  HR_VEC(int) free_slots = {0};
  int64_t slot_count = 0, bytes = 1;
  hr_status_t st = NULL;
  for (size_t s = 0; s < f->steps.count; s++)
    if (f->values.data[f->steps.data[s].result].element_bytes > bytes)
      bytes = f->values.data[f->steps.data[s].result].element_bytes;
  for (size_t s = 0; s < f->steps.count; s++) {
    const body_step_t *step = &f->steps.data[s];
    body_value_t *result = &f->values.data[step->result];
    int64_t slot = free_slots.count ? free_slots.data[--free_slots.count] : slot_count++;
    result->offset = slot * bytes;
    for (int k = 0; k < step->operand_count; k++) {
      body_value_t *operand = &f->values.data[step->operands[k]];
      if (operand->kind != BODY_STEP || operand->last_reader != (int)s) continue;
      operand->last_reader = -1; /* freed once, even if it is two operands of this step */
      HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&free_slots, free_slots.count + 1));
      free_slots.data[free_slots.count++] = (int)(operand->offset / bytes);
    }
  }
  *out_lane_bytes = slot_count * bytes;
done:
  HR_VEC_FREE(&free_slots);
  return st;
}

/* --- the body --------------------------------------------------------------------------------- */

/* The values that the body returns; false if the root was not flattened. */
static bool find_results(const op_body_t *body, const body_term_t *root, int *results) {
  if (!root) return false;
  bool tuple = hlo_shape_is_tuple(body->computation->root->shape);
  if (tuple && (root->value >= 0 || root->count != body->result_count)) return false;
  for (int k = 0; k < body->result_count; k++) {
    results[k] = tuple ? root->elements[k]->value : root->value;
    if (results[k] < 0) return false;
  }
  return true;
}

/* body->flat is set last, if the scratch area has room for at least one lane. */
static hr_status_t flatten_body(flattener_t *f, op_body_t *body) {
  const body_term_t **arguments, *root = NULL;
  int *results;
  void *values, *steps;
  HR_TRY(HR_NEW_ARRAY(f->arena, body->param_count, &arguments));
  HR_TRY(HR_NEW_ARRAY(f->arena, body->result_count, &results));
  for (int k = 0; k < body->param_count; k++)
    HR_TRY(add_value(f, BODY_PARAM, k, NULL, body->param_dtypes[k], &arguments[k]));
  HR_TRY(flatten_computation(f, body->computation, arguments, body->param_count, &root));
  if (!find_results(body, root, results)) return NULL;
  remove_dead_steps(f, results, body->result_count);
  find_last_readers(f, results, body->result_count);
  HR_TRY(assign_offsets(f, &body->lane_bytes));
  HR_TRY(
      hr_arena_copy(f->arena, f->values.data, f->values.count * sizeof *f->values.data, &values));
  HR_TRY(hr_arena_copy(f->arena, f->steps.data, f->steps.count * sizeof *f->steps.data, &steps));
  body->values = values;
  body->steps = steps;
  body->value_count = (int)f->values.count;
  body->step_count = (int)f->steps.count;
  body->results = results;
  body->flat = body->lane_bytes <= BODY_SCRATCH_BYTES;
  return NULL;
}

/* flat stays unset if the body has loops, calls that are too deep, or ops without an elementwise
 * form. */
hr_status_t body_flatten(hr_arena_t *arena, op_body_t *body) {
  flattener_t f = {.arena = arena};
  hr_status_t st = flatten_body(&f, body);
  HR_VEC_FREE(&f.values);
  HR_VEC_FREE(&f.steps);
  return st;
}
