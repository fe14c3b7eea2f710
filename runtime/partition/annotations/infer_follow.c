/* Cuts of result dimensions that differ from those of the operands but can be derived from them:
 * dimensions that collectives gather or scatter, from their groups; slices, paddings and
 * concatenations of whole dimensions; reshapes. */
#include "ir/sharding.h"
#include "partition/annotations/infer.h"

/* By device: its number in its group, and the group's first member. *out_size is 0 if the groups
 * differ in size or leave a device out. */
static hr_status_t number_members(infer_t *x, const hlo_instr_t *instr, int64_t *numbers,
                                  int64_t *leaders, int64_t *out_size) {
  const hlo_groups_t *given = hlo_attr_groups(instr);
  hlo_groups_t groups = given ? *given : (hlo_groups_t){.form = HLO_GROUPS_LIST};
  *out_size = 0;
  if (given) HR_TRY(hlo_groups_expand(x->arena, &groups));
  for (int64_t i = 0; i < x->devices; i++) {
    numbers[i] = groups.groups.count ? -1 : i;
    leaders[i] = 0;
  }
  if (!groups.groups.count) *out_size = x->devices;
  for (int64_t g = 0; g < groups.groups.count; g++) {
    hr_ints_t group = groups.groups.lists[g];
    for (int64_t i = 0; i < group.count; i++) {
      if (group.data[i] < 0 || group.data[i] >= x->devices) continue;
      numbers[group.data[i]] = i;
      leaders[group.data[i]] = group.data[0];
    }
    *out_size = g == 0 || *out_size == group.count ? group.count : 0;
  }
  for (int64_t i = 0; i < x->devices && *out_size; i++)
    if (numbers[i] < 0) *out_size = 0;
  return NULL;
}

/* The cut of a result's dimension after a gather merges the parts of a group, or a scatter splits
 * one part. NULL: the groups do not hold neighbouring parts in their order. */
static hr_status_t cut_of_result(infer_t *x, const hlo_instr_t *instr, const dim_cut_t *from,
                                 const dim_cut_t **out_cut) {
  bool gathers = instr->op == HLO_ALL_GATHER;
  int64_t *numbers, *leaders, *places, size;
  dim_cut_t *cut;
  *out_cut = NULL;
  HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &numbers));
  HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &leaders));
  HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &places));
  HR_TRY(number_members(x, instr, numbers, leaders, &size));
  if (!size || !from->parts) return NULL;
  for (int64_t i = 0; i < x->devices; i++) {
    if (gathers && from->places[i] % size != numbers[i]) return NULL;
    places[i] = gathers ? from->places[i] / size : from->places[i] * size + numbers[i];
  }
  HR_TRY(HR_NEW(x->arena, &cut));
  *cut = (dim_cut_t){gathers ? from->parts / size : from->parts * size, places};
  *out_cut = cut;
  return NULL;
}

static const dim_cut_t *cut_of(infer_t *x, const hlo_instr_t *instr, int64_t d) {
  return x->cuts[infer_root(x, infer_first(x, instr) + (int)d)];
}

static bool is_whole(infer_t *x, const hlo_instr_t *instr, int64_t d) {
  const dim_cut_t *cut = cut_of(x, instr, d);
  return cut && cut->parts == 1;
}

/* Sets the cut of dimension d of the result; true if it was unknown. */
static bool tell(infer_t *x, const hlo_instr_t *instr, int64_t d, const dim_cut_t *cut) {
  return cut && !cut_of(x, instr, d) && infer_set_cut(x, infer_first(x, instr) + (int)d, cut);
}

static hr_status_t follow_collective(infer_t *x, const hlo_instr_t *instr, bool *out_news) {
  int64_t d = infer_dimension(instr);
  const dim_cut_t *cut;
  if (instr->operand_count != 1 || d < 0 || d >= instr->shape->rank) return NULL;
  if (!cut_of(x, instr->operands[0], d) || cut_of(x, instr, d)) return NULL;
  HR_TRY(cut_of_result(x, instr, cut_of(x, instr->operands[0], d), &cut));
  *out_news |= tell(x, instr, d, cut);
  return NULL;
}

/* A dimension whose size differs from the operands' is whole if theirs are whole. */
static void follow_whole(infer_t *x, const hlo_instr_t *instr, bool *out_news) {
  for (int d = 0; d < instr->shape->rank; d++) {
    bool all = true;
    for (int k = 0; k < instr->operand_count; k++)
      all &= instr->operands[k]->shape->rank != instr->shape->rank ||
             is_whole(x, instr->operands[k], d);
    if (all) *out_news |= tell(x, instr, d, x->whole);
  }
}

/* Physical dimensions first .. end - 1 of a shape, the major first, and their number of elements.
 */
typedef struct dim_run {
  int first, end;
  int64_t elements;
} dim_run_t;

static void grow(dim_run_t *run, const hlo_shape_t *shape) {
  run->elements *= shape->dims[infer_physical_dim(shape, run->end++)];
}

/* A run of dimensions reshaped to a run of as many elements. If all but the first of `from` are
 * whole, the same holds for `to`, whose first dimension has the same cut. */
static void follow_run(infer_t *x, const hlo_instr_t *instr, dim_run_t from, dim_run_t to,
                       bool *out_news) {
  const hlo_instr_t *operand = instr->operands[0];
  const dim_cut_t *first = cut_of(x, operand, infer_physical_dim(operand->shape, from.first));
  for (int i = from.first + 1; i < from.end; i++)
    if (!is_whole(x, operand, infer_physical_dim(operand->shape, i))) return;
  if (!first) return;
  *out_news |= tell(x, instr, infer_physical_dim(instr->shape, to.first), first);
  for (int j = to.first + 1; j < to.end; j++)
    *out_news |= tell(x, instr, infer_physical_dim(instr->shape, j), x->whole);
}

static void follow_reshape(infer_t *x, const hlo_instr_t *instr, bool *out_news) {
  const hlo_shape_t *from = instr->operands[0]->shape, *to = instr->shape;
  dim_run_t a = {0, 0, 1}, b = {0, 0, 1};
  while (a.end < from->rank || b.end < to->rank) {
    bool grows_a = a.end < from->rank && (a.elements <= b.elements || b.end == to->rank);
    if (grows_a)
      grow(&a, from);
    else
      grow(&b, to);
    if (a.elements != b.elements || a.first == a.end || b.first == b.end) continue;
    follow_run(x, instr, a, b, out_news);
    a = (dim_run_t){a.end, a.end, 1};
    b = (dim_run_t){b.end, b.end, 1};
  }
}

static hr_status_t follow_one(infer_t *x, const hlo_instr_t *instr, bool *out_news) {
  switch (instr->op) {
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
      return follow_collective(x, instr, out_news);
    case HLO_SLICE:
    case HLO_PAD:
    case HLO_CONCATENATE:
      follow_whole(x, instr, out_news);
      return NULL;
    case HLO_RESHAPE:
    case HLO_BITCAST:
      follow_reshape(x, instr, out_news);
      return NULL;
    default:
      return NULL;
  }
}

/* All members of a group get the same result. If they would hold different parts of a dimension,
 * its cut is a contradiction; this happens in programs that their author has partitioned. */
static hr_status_t check_equal(infer_t *x, const hlo_instr_t *instr) {
  int64_t *numbers, *leaders, size;
  int first = infer_first(x, instr), count = infer_dim_count(instr->shape);
  HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &numbers));
  HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &leaders));
  HR_TRY(number_members(x, instr, numbers, leaders, &size));
  for (int i = 0; i < count; i++) {
    const dim_cut_t **cut = &x->cuts[infer_root(x, first + i)];
    for (int64_t device = 0; device < x->devices && *cut && (*cut)->parts && size; device++)
      if ((*cut)->places[device] != (*cut)->places[leaders[device]]) *cut = &infer_contradiction;
  }
  return NULL;
}

hr_status_t infer_check(infer_t *x) {
  for (size_t c = 0; c < x->module->computations.count; c++) {
    const hlo_computation_t *computation = x->module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (instr->op == HLO_ALL_REDUCE || instr->op == HLO_ALL_GATHER) HR_TRY(check_equal(x, instr));
    }
  }
  return NULL;
}

/* Repeats until nothing changes: a gather may depend on another one. */
hr_status_t infer_follow(infer_t *x) {
  for (bool news = true; news;) {
    news = false;
    for (size_t c = 0; c < x->module->computations.count; c++) {
      const hlo_computation_t *computation = x->module->computations.data[c];
      for (size_t i = 0; i < computation->instrs.count; i++)
        HR_TRY(follow_one(x, computation->instrs.data[i], &news));
    }
  }
  return NULL;
}
