/* Execution of a convolution by oneDNN.
 *
 *   widen inputs -> flip weights -> [ reorder inputs -> primitive -> reorder result ] per part
 *                -> add the gradients of the parts -> narrow the result
 *
 * Parts run at once, each on one worker with its own scratch memory; weights that all parts share
 * are reordered before. Errors of oneDNN set `failed`, which is checked when all parts have
 * ended. */
#include <string.h>

#include "ops/kernels/conv/conv_onednn.h"

static void mark_failed(conv_run_t *r) { __atomic_store_n(&r->failed, true, __ATOMIC_RELAXED); }

static char *program_address(const conv_run_t *r, const conv_part_t *part, conv_role_t role) {
  return r->arrays[role] +
         part->problem.arrays[role].start * (int64_t)conv_onednn_element_bytes(r->plan, role);
}

/* Address of an array as the primitive reads or writes it. */
static void *primitive_address(const conv_run_t *r, const conv_part_t *part, conv_role_t role) {
  const conv_onednn_t *plan = r->plan;
  const conv_part_array_t *array = &part->arrays[role];
  if (role == CONV_WEI && plan->packed_weights) return (void *)plan->packed_weights;
  if (role == CONV_WEI && plan->shares_weights) array = &plan->parts[0].arrays[role];
  bool is_copied = array->reorder || (plan->adds_gradients && role == CONV_WEI);
  return is_copied ? r->scratch + array->at : program_address(r, part, role);
}

void conv_onednn_reorder(conv_run_t *r, const conv_part_t *part, conv_role_t role, bool back) {
  const conv_part_array_t *array = &part->arrays[role];
  void *given = program_address(r, part, role);
  void *used = r->scratch + array->at;
  if (!array->reorder) return;
  if (!onednn_op_run(array->reorder, 0, back ? (void *[]){used, given} : (void *[]){given, used},
                     r->scratch + part->op_scratch_at))
    mark_failed(r);
}

static void run_part(conv_run_t *r, const conv_part_t *part) {
  const conv_onednn_t *plan = r->plan;
  conv_role_t out = conv_role_out(plan->problem->kind);
  void *addresses[CONV_ROLES];
  for (int role = 0; role < CONV_ROLES; role++) {
    bool in_place =
        role == (int)out || (role == CONV_WEI && (plan->packed_weights || plan->shares_weights));
    if (!in_place) conv_onednn_reorder(r, part, (conv_role_t)role, false);
    addresses[role] = primitive_address(r, part, (conv_role_t)role);
  }
  if (!onednn_op_run(part->primitive, 0, addresses, r->scratch + part->op_scratch_at))
    mark_failed(r);
  if (!plan->adds_gradients) conv_onednn_reorder(r, part, out, true);
}

static void run_parts(void *context, int64_t begin, int64_t end, int worker) {
  conv_run_t *r = context;
  (void)worker;
  for (int64_t i = begin; i < end; i++) run_part(r, &r->plan->parts[i]);
}

static size_t gradient_elements(const conv_onednn_t *plan) {
  const dnnl_memory_desc_t *desc = &plan->parts[0].arrays[CONV_WEI].used;
  size_t count = 1;
  for (int d = 0; d < desc->ndims; d++) count *= (size_t)desc->padded_dims[d];
  return count;
}

/* Adds the gradients of all parts to that of part 0, in order of the parts. */
static void add_gradient_range(void *context, int64_t begin, int64_t end, int worker) {
  const conv_run_t *r = context;
  const conv_onednn_t *plan = r->plan;
  float *sum = (float *)(r->scratch + plan->parts[0].arrays[CONV_WEI].at);
  (void)worker;
  for (int p = 1; p < plan->part_count; p++) {
    const float *other = (const float *)(r->scratch + plan->parts[p].arrays[CONV_WEI].at);
    for (int64_t i = begin; i < end; i++) sum[i] += other[i];
  }
}

static void add_part_gradients(hr_workers_t *workers, conv_run_t *r) {
  const conv_onednn_t *plan = r->plan;
  const conv_part_t *first = &plan->parts[0];
  hr_workers_split(workers, (int64_t)gradient_elements(plan), 16384, add_gradient_range, r);
  if (first->arrays[CONV_WEI].reorder)
    conv_onednn_reorder(r, first, CONV_WEI, true);
  else
    memcpy(program_address(r, first, CONV_WEI), r->scratch + first->arrays[CONV_WEI].at,
           gradient_elements(plan) * 4);
}

void conv_onednn_flip_weights(const conv_onednn_t *plan, conv_run_t *r) {
  char *to = r->scratch + plan->flip.at;
  if (!plan->flip.needed || plan->packed_weights) return;
  loop_copy_run(&plan->flip.copy, to, r->arrays[CONV_WEI] + plan->flip.from_bytes);
  r->arrays[CONV_WEI] = to;
}

static void prepare_inputs(const op_native_run_t *run, const conv_onednn_t *plan, void *const *in,
                           conv_run_t *r) {
  const conv_problem_t *p = plan->problem;
  conv_role_t roles[] = {conv_role_lhs(p->kind), conv_role_rhs(p->kind)};
  for (int i = 0; i < 2; i++) {
    conv_role_t role = roles[i];
    r->arrays[role] = in[i];
    if (!plan->operands[role].widened) continue;
    r->arrays[role] = r->scratch + plan->operands[role].widened_at;
    native_widen(run->workers, &p->types, p->arrays[role].dtype, in[i], p->arrays[role].count,
                 r->arrays[role]);
  }
  if (p->kind != CONV_WEIGHTS) conv_onednn_flip_weights(plan, r);
}

hr_status_t conv_run_onednn(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const conv_onednn_t *plan = plan_;
  const conv_problem_t *p = plan->problem;
  conv_role_t result = conv_role_out(p->kind);
  conv_run_t r = {.plan = plan, .scratch = run->scratch};
  prepare_inputs(run, plan, in, &r);
  r.arrays[result] = plan->narrowed ? r.scratch + plan->sums_at : out[0];
  if (p->zero_first)
    memset(r.arrays[result], 0,
           (size_t)p->arrays[result].count * conv_onednn_element_bytes(plan, result));
  if (plan->shares_weights && !plan->packed_weights)
    conv_onednn_reorder(&r, &plan->parts[0], CONV_WEI, false);
  hr_workers_for(run->workers, plan->part_count, 1, run_parts, &r);
  if (plan->adds_gradients) add_part_gradients(run->workers, &r);
  if (r.failed) return onednn_refused();
  if (plan->narrowed)
    native_narrow(run->workers, &p->types, r.arrays[result], p->arrays[result].count, out[0]);
  return NULL;
}
