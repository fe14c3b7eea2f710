/* Preparation of convolutions by oneDNN: element types, layouts and scratch memory.
 *
 * Weights are always reordered into the layout that oneDNN chooses. Activations are read in place
 * if their channels are innermost, else they are reordered to that layout; or to oneDNN's own
 * layout if oneDNN has no direct kernel otherwise and that is usually faster
 * (is_native_layout_faster). bf16 and int8 are first tried unconverted, then everything in f32. */
#include <string.h>

#include "base/log.h"
#include "ops/kernels/conv/conv_onednn.h"

#define REORDER_FLOPS 4e6 /* FLOPs from which oneDNN's own layouts can pay for the reorders */
#define MIN_MANY_GROUPS 4
#define MAX_FEW_CHANNELS 8
#define SHORT_ROW 500
#define LONG_ROW 1000
#define MAX_PARTS 256

static size_t desc_bytes(const onednn_t *lib, const dnnl_memory_desc_t *desc) {
  return lib->memory_desc_get_size(desc);
}

static size_t part_op_scratch_bytes(const conv_part_t *part) {
  size_t most = part->primitive->scratch_bytes;
  for (int r = 0; r < CONV_ROLES; r++)
    if (part->arrays[r].reorder && part->arrays[r].reorder->scratch_bytes > most)
      most = part->arrays[r].reorder->scratch_bytes;
  return most;
}

static void assign_part_offset(const onednn_t *lib, const conv_onednn_t *plan, conv_part_t *part,
                               size_t *total) {
  for (int r = 0; r < CONV_ROLES; r++) {
    conv_part_array_t *array = &part->arrays[r];
    bool is_copied = array->reorder || (plan->adds_gradients && r == CONV_WEI);
    if (r == CONV_WEI && (plan->packed_weights || (plan->shares_weights && part != plan->parts)))
      is_copied = false;
    if (is_copied) array->at = scratch_reserve(total, desc_bytes(lib, &array->used));
  }
  part->op_scratch_at = scratch_reserve(total, part_op_scratch_bytes(part));
}

/* Offsets of everything in scratch memory; returns its size in bytes. */
static size_t assign_scratch(const onednn_t *lib, conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  size_t total = 0;
  for (int r = 0; r < CONV_ROLES; r++)
    plan->operands[r].widened_at =
        scratch_reserve(&total, plan->operands[r].widened ? (size_t)p->arrays[r].count * 4 : 0);
  plan->sums_at = scratch_reserve(
      &total, plan->narrowed ? (size_t)p->arrays[conv_role_out(p->kind)].count * 4 : 0);
  plan->flip.at = scratch_reserve(
      &total, plan->flip.needed
                  ? (size_t)p->arrays[CONV_WEI].count * conv_onednn_element_bytes(plan, CONV_WEI)
                  : 0);
  for (int i = 0; i < plan->part_count; i++) assign_part_offset(lib, plan, &plan->parts[i], &total);
  return total;
}

static void plan_weight_flip(conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t sizes[DNNL_MAX_NDIMS], from[DNNL_MAX_NDIMS], to[DNNL_MAX_NDIMS];
  int64_t each = (int64_t)conv_onednn_element_bytes(plan, CONV_WEI);
  int rank = conv_onednn_sizes(p, CONV_WEI, sizes);
  int first = rank - p->spatial;
  conv_onednn_strides(p, CONV_WEI, to);
  for (int d = 0; d < rank; d++) {
    to[d] *= each;
    from[d] = to[d];
  }
  for (int d = 0; d < p->spatial; d++) {
    if (!p->arrays[CONV_WEI].reversed[d] || p->window[d] == 1) continue;
    plan->flip.needed = true;
    plan->flip.from_bytes += (p->window[d] - 1) * from[first + d];
    from[first + d] = -from[first + d];
  }
  if (plan->flip.needed) loop_copy_init(&plan->flip.copy, (int)each, rank, sizes, to, from);
}

static bool can_share_weights(const onednn_t *lib, const conv_onednn_t *plan, conv_split_t split) {
  if (plan->problem->kind == CONV_WEIGHTS ||
      (split != CONV_SPLIT_BATCH && split != CONV_SPLIT_NONE))
    return false;
  for (int i = 1; i < plan->part_count; i++)
    if (!lib->memory_desc_equal(&plan->parts[0].arrays[CONV_WEI].used,
                                &plan->parts[i].arrays[CONV_WEI].used))
      return false;
  return plan->parts[0].arrays[CONV_WEI].reorder != NULL;
}

static hr_status_t make_parts(const onednn_t *lib, const op_native_target_t *target, bool free,
                              conv_onednn_t *plan, bool *out_made) {
  int64_t units, unit;
  conv_split_t split = conv_onednn_choose_split(plan->problem, target->workers, &units, &unit);
  int64_t blocks = (units + unit - 1) / unit;
  bool adds = split == CONV_SPLIT_BATCH && plan->problem->kind == CONV_WEIGHTS;
  int64_t count = adds ? NATIVE_SUM_PARTS : target->workers;
  if (split == CONV_SPLIT_NONE) count = 1;
  if (count > blocks) count = blocks;
  if (count > MAX_PARTS) count = MAX_PARTS;
  HR_TRY(HR_NEW_ARRAY(target->arena, count, &plan->parts));
  plan->part_count = (int)count;
  plan->adds_gradients = adds && count > 1;
  *out_made = true;
  for (int64_t i = 0; i < count && *out_made; i++) {
    int64_t begin = blocks * i / count * unit;
    int64_t end = blocks * (i + 1) / count * unit;
    plan->parts[i].problem =
        conv_onednn_part_problem(plan->problem, split, begin, (end < units ? end : units) - begin);
    HR_TRY(conv_onednn_make_part(lib, target, plan, free, &plan->parts[i], out_made));
  }
  plan->shares_weights = *out_made && can_share_weights(lib, plan, split);
  return NULL;
}

/* --- choice of the layouts --- */

static bool is_by_gemm(const conv_onednn_t *plan) {
  return strstr(plan->parts[0].primitive->name, "gemm");
}

/* True if direct kernels are fast enough with plain activations that reordering does not pay.
 * Kernels by matrix products are not, except for wide strides, for which the direct ones are
 * slow. */
static bool suits_plain_layout(const conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  return !is_by_gemm(plan) || (p->kind == CONV_DATA && p->stride[p->spatial - 1] > 3);
}

/* Inputs of one result in one group: the length of an im2col row. */
static int64_t row_elements(const conv_problem_t *p) {
  int64_t count = p->in_channels;
  for (int d = 0; d < p->spatial; d++) count *= p->window[d];
  return count;
}

/* True if oneDNN's own layout is faster although oneDNN has only matrix products for channels
 * innermost. In most cases it also uses matrix products there, with channels outermost. The limits
 * are fitted to some 150 convolutions of random sizes on processors with AVX-512 and with AVX2: the
 * choice costs 7% of the better one's time in the geometric mean, where plain layout for all costs
 * 39% and oneDNN's for all 45%. */
static bool is_native_layout_faster(const conv_onednn_t *plain, const conv_onednn_t *native) {
  const conv_problem_t *p = plain->problem;
  const conv_part_array_t *arrays = plain->parts[0].arrays;
  bool reorders = arrays[CONV_SRC].reorder || arrays[CONV_DST].reorder;
  if (!is_by_gemm(native)) return true;
  switch (p->kind) {
    case CONV_FORWARD:
      return reorders || p->groups >= MIN_MANY_GROUPS ||
             (p->groups > 1 && p->out_channels < MAX_FEW_CHANNELS);
    case CONV_DATA:
      return reorders && row_elements(p) < SHORT_ROW;
    default:
      break;
  }
  if (p->spatial == 3)
    return p->out_channels <= 4 * MAX_FEW_CHANNELS && (reorders || row_elements(p) < LONG_ROW);
  return reorders && p->spatial == 2 && row_elements(p) < LONG_ROW;
}

/* Makes the parts with plain activations, or in oneDNN's own layout. */
static hr_status_t choose_layouts(const onednn_t *lib, const op_native_target_t *target,
                                  conv_onednn_t *plan, bool *out_made) {
  conv_onednn_t native = *plan;
  bool native_made;
  HR_TRY(make_parts(lib, target, false, plan, out_made));
  if (*out_made && (plan->problem->flops < REORDER_FLOPS || suits_plain_layout(plan))) return NULL;
  HR_TRY(make_parts(lib, target, true, &native, &native_made));
  if (!native_made) return NULL;
  bool uses_native = !*out_made || is_native_layout_faster(plan, &native);
  if (uses_native) *plan = native;
  *out_made = true;
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "convolution by oneDNN's %s, %s",
         plan->parts[0].primitive->name,
         uses_native ? "in its own order" : "with channels innermost");
  return NULL;
}

static bool is_narrow_float(hr_dtype_t dtype) {
  return hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute == HR_F32;
}

/* Element types: bf16 and int8 unconverted if `low_precision`, else f32 for all. False: there is no
 * such convolution. */
static bool choose_types(const conv_problem_t *p, bool low_precision, conv_onednn_t *plan) {
  const matmul_types_t *t = &p->types;
  conv_role_t lhs = conv_role_lhs(p->kind);
  conv_role_t rhs = conv_role_rhs(p->kind);
  conv_role_t out = conv_role_out(p->kind);
  hr_dtype_t sums = t->out;
  bool halves = t->lhs == HR_BF16 && t->rhs == HR_BF16 && (t->out == HR_BF16 || t->out == HR_F32);
  bool bytes = p->kind == CONV_FORWARD && (t->lhs == HR_S8 || t->lhs == HR_U8) && t->rhs == HR_S8 &&
               t->out == HR_S32;
  plan->operands[lhs].dtype = t->lhs;
  plan->operands[rhs].dtype = t->rhs;
  plan->operands[out].dtype = sums;
  if (low_precision) return halves || bytes;
  if (t->is_complex || t->real != HR_F32 || !is_narrow_float(t->lhs) || !is_narrow_float(t->rhs))
    return false;
  plan->operands[lhs].dtype = HR_F32;
  plan->operands[rhs].dtype = HR_F32;
  plan->operands[out].dtype = HR_F32;
  plan->operands[lhs].widened = t->lhs != HR_F32;
  plan->operands[rhs].widened = t->rhs != HR_F32;
  plan->narrowed = t->out != HR_F32;
  return true;
}

/* Reorders constant weights once. The copy lives as long as the plan. */
static hr_status_t pack_constant_weights(const onednn_t *lib, const op_native_target_t *target,
                                         conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  void *packed, *memory;
  if (!p->constant_weights || !plan->shares_weights || plan->operands[CONV_WEI].widened)
    return NULL;
  HR_TRY(hr_arena_alloc(target->arena, desc_bytes(lib, &plan->parts[0].arrays[CONV_WEI].used) + 64,
                        &packed));
  HR_TRY(hr_alloc(assign_scratch(lib, plan) + 64, &memory));
  conv_run_t r = {.plan = plan, .scratch = memory};
  r.arrays[CONV_WEI] = (char *)p->constant_weights;
  conv_onednn_flip_weights(plan, &r);
  conv_onednn_reorder(&r, &plan->parts[0], CONV_WEI, false);
  memcpy(packed, r.scratch + plan->parts[0].arrays[CONV_WEI].at,
         desc_bytes(lib, &plan->parts[0].arrays[CONV_WEI].used));
  hr_free(memory);
  if (!r.failed) plan->packed_weights = packed;
  return NULL;
}

hr_status_t conv_prepare_onednn(const op_native_target_t *target, const conv_problem_t *problem,
                                op_native_step_t *out) {
  conv_onednn_t *plan;
  const onednn_t *lib = NULL;
  bool made = false;
  HR_TRY(HR_NEW(target->arena, &plan));
  for (int low_precision = 1; low_precision >= 0 && !made; low_precision--) {
    *plan = (conv_onednn_t){.problem = problem};
    if (!choose_types(problem, low_precision, plan)) continue;
    if (!lib) lib = onednn_open();
    if (!lib || (problem->types.real == HR_U32 && !onednn_bytes_are_exact(lib))) return NULL;
    if (problem->kind != CONV_WEIGHTS) plan_weight_flip(plan);
    HR_TRY(choose_layouts(lib, target, plan, &made));
  }
  if (!made) return NULL;
  HR_TRY(pack_constant_weights(lib, target, plan));
  out->scratch_bytes = assign_scratch(lib, plan);
  out->plan = plan;
  return NULL;
}
