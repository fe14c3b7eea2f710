/* A reduce-window whose computation is not one op, over few elements a window, becomes elementwise
 * code on slices, which fuses with its neighbours:
 *
 *   reduce-window(x, y, ...), window 1x2   ->   f(f(init, x[:, 0::2], y[:, 0::2]), x[:, 1::2], ...)
 *
 * JAX emits it for derivatives of maxima over windows. Windows without padding only: an engine may
 * combine padding, or leave it out. Elements are combined in order; exact in every bit. */
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

#define MOST_ARRAYS 4
#define MOST_BODY 32 /* instructions of the computation */
#define MOST_OPS 256 /* most ops for all elements of a window */

typedef struct window_job {
  pass_rewrite_t *rewrite;
  const hlo_instr_t *instr;
  const hlo_window_t *window;
  const hlo_shape_t *result; /* shape of the first array */
  int count;                 /* arrays */
} window_job_t;

/* Do windows cover nothing but elements? */
static bool is_plain(const hlo_window_t *window) {
  for (int d = 0; d < window->rank; d++)
    if (window->dims[d].pad_low || window->dims[d].pad_high || window->dims[d].base_dilation != 1 ||
        window->dims[d].reversal)
      return false;
  return true;
}

static int64_t window_elements(const hlo_window_t *window) {
  int64_t count = 1;
  for (int d = 0; d < window->rank && count <= MOST_OPS; d++) count *= window->dims[d].size;
  return count;
}

/* Is it elementwise on scalars, with a tuple of results at most? */
static bool is_elementwise(const hlo_computation_t *body) {
  if (body->instrs.count > MOST_BODY) return false;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    if (instr->op == HLO_TUPLE && instr == body->root) continue;
    if (instr->op == HLO_PARAMETER || pass_is_scalar_constant(instr)) continue;
    if (!hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->called_count || instr->operand_count > 3 ||
        !hlo_shape_is_scalar(instr->shape))
      return false;
  }
  return true;
}

static bool has_types_of_arrays(const hlo_instr_t *instr, int count) {
  const hlo_computation_t *body = instr->called[0];
  for (int k = 0; k < 2 * count; k++) {
    hr_dtype_t dtype = instr->operands[k % count]->shape->dtype;
    if (body->params.data[k]->shape->dtype != dtype || instr->operands[k]->shape->dtype != dtype ||
        hlo_shape_leaf(instr->shape, k % count)->dtype != dtype)
      return false;
  }
  return true;
}

static bool suits(const hlo_instr_t *instr) {
  hlo_opcode_t op;
  int count = instr->operand_count / 2;
  if (instr->op != HLO_REDUCE_WINDOW || count > MOST_ARRAYS) return false;
  const hlo_window_t *window = hlo_attr_window(instr);
  for (int k = 0; k < instr->operand_count; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return false;
  if (!window || !is_plain(window) || !is_elementwise(instr->called[0])) return false;
  if (count == 1 && pass_body_is_binary(instr->called[0], &op)) return false;
  return window_elements(window) * (int64_t)instr->called[0]->instrs.count <= MOST_OPS &&
         hlo_shape_elements(hlo_shape_leaf(instr->shape, 0)) > 0 &&
         has_types_of_arrays(instr, count);
}

/* Element `tap` of each window of array k, in row-major order of the window. */
static hlo_instr_t *slice_of(const window_job_t *job, int k, int64_t tap) {
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  for (int d = job->window->rank - 1; d >= 0; d--) {
    const hlo_window_dim_t *w = &job->window->dims[d];
    int64_t start = tap % w->size * w->window_dilation;
    dims[d] =
        (hlo_slice_dim_t){start, start + (job->result->dims[d] - 1) * w->stride + 1, w->stride};
    tap /= w->size;
  }
  return pass_build_slice(job->rewrite, job->instr->operands[k], dims);
}

/* Instruction `instr` of the body on arrays; made[i] is that of the body's instruction i. */
static hlo_instr_t *apply_op(const window_job_t *job, const hlo_computation_t *body,
                             hlo_instr_t *const *made, const hlo_instr_t *instr) {
  hlo_instr_t *operands[3] = {NULL};
  const hlo_shape_t *shape =
      pass_shape(job->rewrite, instr->shape->dtype, job->result->rank, job->result->dims);
  if (!shape) return NULL;
  if (instr->op == HLO_CONSTANT) {
    hlo_instr_t *scalar = pass_clone(job->rewrite, instr, NULL);
    return scalar ? pass_build_fill(job->rewrite, scalar, shape) : NULL;
  }
  for (int k = 0; k < instr->operand_count; k++)
    for (size_t i = 0; i < body->instrs.count; i++)
      if (body->instrs.data[i] == instr->operands[k]) operands[k] = made[i];
  return pass_build_like(job->rewrite, instr, operands, shape);
}

/* accs = body(accs, values). False: the builder failed. */
static bool apply_body(const window_job_t *job, hlo_instr_t **accs, hlo_instr_t *const *values) {
  const hlo_computation_t *body = job->instr->called[0];
  const hlo_instr_t *root = body->root;
  hlo_instr_t *made[MOST_BODY] = {NULL};
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    if (instr->op == HLO_TUPLE) continue;
    int64_t number = instr->op == HLO_PARAMETER ? hlo_parameter_number(instr) : -1;
    if (number < 0)
      made[i] = apply_op(job, body, made, instr);
    else
      made[i] = number < job->count ? accs[number] : values[number - job->count];
    if (!made[i]) return false;
  }
  for (int k = 0; k < job->count; k++) {
    const hlo_instr_t *result = root->op == HLO_TUPLE ? root->operands[k] : root;
    for (size_t i = 0; i < body->instrs.count; i++)
      if (body->instrs.data[i] == result) accs[k] = made[i];
  }
  return true;
}

static hlo_instr_t *expand(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_instr_t *accs[MOST_ARRAYS], *values[MOST_ARRAYS];
  window_job_t job = {.rewrite = rewrite,
                      .instr = instr,
                      .window = hlo_attr_window(instr),
                      .result = hlo_shape_leaf(instr->shape, 0),
                      .count = instr->operand_count / 2};
  int64_t taps = window_elements(job.window);
  for (int k = 0; k < job.count; k++) {
    accs[k] =
        pass_build_fill(rewrite, instr->operands[job.count + k], hlo_shape_leaf(instr->shape, k));
    if (!accs[k]) return NULL;
  }
  for (int64_t tap = 0; tap < taps; tap++) {
    for (int k = 0; k < job.count; k++)
      if (!(values[k] = slice_of(&job, k, tap))) return NULL;
    if (!apply_body(&job, accs, values)) return NULL;
  }
  if (!hlo_shape_is_array(instr->shape))
    return hlo_build(&rewrite->builder, HLO_TUPLE, instr->shape, job.count, accs, 0, NULL, 0, NULL);
  return accs[0];
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  return suits(instr) ? pass_replace(rewrite, instr, expand(rewrite, instr)) : NULL;
}

hr_status_t pass_expand_windows(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_module(module, visit, NULL, out_changed);
}
