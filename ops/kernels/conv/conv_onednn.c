/* Convolutions by oneDNN, in parts that the workers take: some entries of the batch, or some
 * channels of the result. Each part is a primitive of its own. Weights are brought into the order
 * that oneDNN likes best for it. Activations stay as they are if channels are innermost, else they
 * are brought into that order, or into oneDNN's own where it has no direct kernel otherwise and
 * that is usually quicker. Gradients of weights are computed per part of the batch and added. The
 * choice follows from the problem, the processor and the library alone: what is measured differs
 * from run to run and from process to process, and with it the order of sums. */
#include <string.h>

#include "base/log.h"
#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/libs/onednn.h"

#define SPLIT_FLOPS 2e5
#define REORDER_FLOPS 4e6 /* where orders of its own may pay */
#define MANY_GROUPS 4
#define FEW_CHANNELS 8
#define SHORT_ROW 500
#define LONG_ROW 1000
#define CHANNEL_UNIT 16
#define MAX_PARTS 256

/* What a part does to one of its arrays. */
typedef struct conv_side {
  dnnl_memory_desc_t given;   /* as the program has it */
  dnnl_memory_desc_t used;    /* as the primitive wants it */
  const onednn_op_t *reorder; /* NULL: they are the same */
  size_t at;                  /* in scratch memory, where `used` is not the program's own */
} conv_side_t;

typedef struct conv_part {
  conv_problem_t problem; /* the part alone */
  conv_side_t sides[CONV_ROLES];
  const onednn_op_t *primitive;
  size_t op_at;
} conv_part_t;

typedef struct conv_onednn {
  const conv_problem_t *problem;
  hr_dtype_t dtypes[CONV_ROLES]; /* after widening */
  int part_count;
  conv_part_t *parts;
  bool adds;                  /* parts are gradients of weights, to be added */
  bool shared_weights;        /* all parts read those that part 0 reordered */
  const void *packed_weights; /* the same, of a constant */
  bool flips;
  loop_copy_t flip;
  int64_t flip_from_bytes;
  size_t flip_at, widened_at[CONV_ROLES], sums_at;
  bool widened[CONV_ROLES], narrowed;
} conv_onednn_t;

/* --- parts --- */

typedef enum conv_cut { CUT_NOTHING, CUT_BATCH, CUT_OUT, CUT_IN, CUT_GROUPS } conv_cut_t;

static conv_problem_t cut_problem(const conv_problem_t *whole, conv_cut_t partition, int64_t begin,
                                  int64_t count) {
  conv_problem_t p = *whole;
  conv_array_t *src = &p.arrays[CONV_SRC];
  conv_array_t *wei = &p.arrays[CONV_WEI];
  conv_array_t *dst = &p.arrays[CONV_DST];
  switch (partition) {
    case CUT_NOTHING:
      break;
    case CUT_BATCH:
      p.batch = count;
      src->start += begin * src->outer;
      dst->start += begin * dst->outer;
      break;
    case CUT_OUT:
      p.out_channels = count;
      wei->start += begin * wei->outer;
      dst->start += begin * dst->inner;
      break;
    case CUT_IN:
      p.in_channels = count;
      wei->start += begin * wei->inner;
      src->start += begin * src->inner;
      break;
    case CUT_GROUPS:
      p.groups = count;
      wei->start += begin * wei->group;
      src->start += begin * p.in_channels * src->inner;
      dst->start += begin * p.out_channels * dst->inner;
  }
  return p;
}

/* Batch entries if there are enough; gradients of weights only if they are small beside the
 * activations. */
static conv_cut_t choose_cut(const conv_problem_t *p, int workers, int64_t *out_units,
                             int64_t *out_unit) {
  *out_units = *out_unit = 1;
  if (workers < 2 || p->flops < SPLIT_FLOPS) return CUT_NOTHING;
  bool adds = p->kind == CONV_WEIGHTS;
  bool cheap = p->arrays[CONV_WEI].count * workers < p->arrays[CONV_DST].count * 2;
  int64_t channels = p->kind == CONV_DATA ? p->in_channels : p->out_channels;
  *out_units = p->batch;
  if ((p->batch % workers == 0 || p->batch >= 4 * workers) && (!adds || cheap)) return CUT_BATCH;
  *out_units = p->groups;
  if (p->groups >= 2 * workers) {
    *out_unit = p->groups >= 2 * CHANNEL_UNIT * workers ? CHANNEL_UNIT : 1;
    return CUT_GROUPS;
  }
  *out_units = channels, *out_unit = CHANNEL_UNIT;
  if (p->groups == 1 && channels >= 2 * CHANNEL_UNIT)
    return p->kind == CONV_DATA ? CUT_IN : CUT_OUT;
  *out_units = p->batch, *out_unit = 1;
  return p->batch > 1 ? CUT_BATCH : CUT_NOTHING;
}

/* --- arrays --- */

/* Sizes of a role's array as oneDNN lists them; returns how many. */
static int list_sizes(const conv_problem_t *p, conv_role_t role, int64_t *sizes) {
  int rank = 0;
  if (role == CONV_WEI) {
    if (p->groups > 1) sizes[rank++] = p->groups;
    sizes[rank++] = p->out_channels, sizes[rank++] = p->in_channels;
  } else {
    sizes[rank++] = p->batch;
    sizes[rank++] = p->groups * (role == CONV_SRC ? p->in_channels : p->out_channels);
  }
  for (int d = 0; d < p->spatial; d++)
    sizes[rank++] = role == CONV_WEI ? p->window[d] : role == CONV_SRC ? p->in[d] : p->out[d];
  return rank;
}

static void list_strides(const conv_problem_t *p, conv_role_t role, int64_t *strides) {
  const conv_array_t *array = &p->arrays[role];
  int rank = 0;
  if (role == CONV_WEI && p->groups > 1) strides[rank++] = array->group;
  strides[rank++] = array->outer, strides[rank++] = array->inner;
  for (int d = 0; d < p->spatial; d++) strides[rank++] = array->spatial[d];
}

/* Dense with channels innermost, which oneDNN takes as it is. */
static void list_plain_strides(const conv_problem_t *p, const int64_t *sizes, int64_t *strides) {
  strides[1] = 1;
  int64_t stride = sizes[1];
  for (int d = p->spatial + 1; d >= 2; d--) strides[d] = stride, stride *= sizes[d];
  strides[0] = stride;
}

/* Do they mean the same bytes? Steps along dimensions of size 1 do not matter. */
static bool is_same_layout(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b) {
  if (a->data_type != b->data_type || a->format_desc.blocking.inner_nblks ||
      b->format_desc.blocking.inner_nblks || a->extra.flags || b->extra.flags)
    return false;
  for (int d = 0; d < a->ndims; d++)
    if (a->padded_dims[d] != b->padded_dims[d] ||
        (a->dims[d] > 1 &&
         a->format_desc.blocking.strides[d] != b->format_desc.blocking.strides[d]))
      return false;
  return true;
}

static bool describe_given(const onednn_t *lib, const conv_onednn_t *plan, conv_part_t *part) {
  for (int r = 0; r < CONV_ROLES; r++) {
    int64_t sizes[DNNL_MAX_NDIMS], strides[DNNL_MAX_NDIMS];
    int rank = list_sizes(&part->problem, (conv_role_t)r, sizes);
    list_strides(&part->problem, (conv_role_t)r, strides);
    if (!onednn_array(lib, onednn_type(plan->dtypes[r]), rank, sizes, strides,
                      &part->sides[r].given))
      return false;
  }
  return true;
}

/* Type of the sums where the primitive makes them: gradients that are added stay wide. */
static dnnl_data_type_t used_type(const conv_onednn_t *plan, conv_role_t role) {
  if (role == CONV_WEI && plan->problem->kind == CONV_WEIGHTS && plan->adds) return dnnl_f32;
  return onednn_type(plan->dtypes[role]);
}

/* What the primitive is asked for: `free` leaves all orders to oneDNN, else only that of the
 * weights. */
static bool describe_wanted(const onednn_t *lib, const conv_onednn_t *plan, const conv_problem_t *p,
                            bool free, dnnl_memory_desc_t *wanted) {
  for (int r = 0; r < CONV_ROLES; r++) {
    dnnl_dims_t sizes;
    int64_t strides[DNNL_MAX_NDIMS];
    int rank = list_sizes(p, (conv_role_t)r, sizes);
    dnnl_data_type_t type = used_type(plan, (conv_role_t)r);
    if (free || r == CONV_WEI) {
      if (lib->memory_desc_init_by_tag(&wanted[r], rank, sizes, type, dnnl_format_tag_any))
        return false;
    } else {
      list_plain_strides(p, sizes, strides);
      if (!onednn_array(lib, type, rank, sizes, strides, &wanted[r])) return false;
    }
  }
  return true;
}

/* --- primitives --- */

static dnnl_status_t describe_operation(const onednn_t *lib, const conv_problem_t *p,
                                        const dnnl_memory_desc_t *w,
                                        dnnl_convolution_desc_t *out_desc) {
  const dnnl_memory_desc_t *src = &w[CONV_SRC];
  const dnnl_memory_desc_t *wei = &w[CONV_WEI];
  const dnnl_memory_desc_t *dst = &w[CONV_DST];
  dnnl_dims_t stride, dilates, low, high;
  for (int d = 0; d < p->spatial; d++) {
    stride[d] = p->stride[d];
    dilates[d] = p->dilation[d] - 1;
    low[d] = p->low[d];
    high[d] = p->high[d];
  }
  switch (p->kind) {
    case CONV_FORWARD:
      return lib->dilated_convolution_forward_desc_init(out_desc, dnnl_forward_inference,
                                                        dnnl_convolution_direct, src, wei, NULL,
                                                        dst, stride, dilates, low, high);
    case CONV_DATA:
      return lib->dilated_convolution_backward_data_desc_init(
          out_desc, dnnl_convolution_direct, src, wei, dst, stride, dilates, low, high);
    default:
      return lib->dilated_convolution_backward_weights_desc_init(
          out_desc, dnnl_convolution_direct, src, wei, NULL, dst, stride, dilates, low, high);
  }
}

/* A gradient's primitive needs the description of the forward one that it belongs to. */
static dnnl_primitive_desc_t describe_hint(const onednn_t *lib, const conv_onednn_t *plan,
                                           const conv_problem_t *p) {
  conv_problem_t forward = *p;
  dnnl_memory_desc_t wanted[CONV_ROLES];
  dnnl_convolution_desc_t desc;
  dnnl_primitive_desc_t hint;
  forward.kind = CONV_FORWARD;
  if (p->kind == CONV_FORWARD || !describe_wanted(lib, plan, &forward, true, wanted)) return NULL;
  for (int r = 0; r < CONV_ROLES; r++)
    wanted[r].data_type = wanted[p->kind == CONV_DATA ? CONV_DST : CONV_SRC].data_type;
  if (describe_operation(lib, &forward, wanted, &desc)) return NULL;
  return lib->primitive_desc_create(&hint, &desc, lib->attr, lib->engine, NULL) ? NULL : hint;
}

static dnnl_primitive_desc_t describe_primitive(const onednn_t *lib, const conv_onednn_t *plan,
                                                const conv_problem_t *p, bool free) {
  dnnl_memory_desc_t wanted[CONV_ROLES];
  dnnl_convolution_desc_t desc;
  dnnl_primitive_desc_t primitive = NULL;
  if (!describe_wanted(lib, plan, p, free, wanted) || describe_operation(lib, p, wanted, &desc))
    return NULL;
  dnnl_primitive_desc_t hint = describe_hint(lib, plan, p);
  if (lib->primitive_desc_create(&primitive, &desc, lib->attr, lib->engine, hint)) primitive = NULL;
  if (hint) lib->primitive_desc_destroy(hint);
  return primitive;
}

static const int argument_numbers[3][CONV_ROLES] = {
    {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
    {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
    {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
};

static const dnnl_query_t argument_queries[3][CONV_ROLES] = {
    {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
    {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
    {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
};

/* Every part is run by one worker at a time, so it needs memories for one only. */
static hr_status_t make_reorders(const onednn_t *lib, const op_native_target_t *one,
                                 const conv_problem_t *p, conv_part_t *part, bool *out_made) {
  conv_role_t out = conv_role_out(p->kind);
  for (int r = 0; r < CONV_ROLES; r++) {
    conv_side_t *side = &part->sides[r];
    side->reorder = NULL;
    if (is_same_layout(&side->given, &side->used)) continue;
    bool back = r == (int)out;
    HR_TRY(onednn_reorder_new(lib, one, back ? &side->used : &side->given,
                              back ? &side->given : &side->used, &side->reorder));
    if (!side->reorder) *out_made = false;
  }
  return NULL;
}

/* Leaves *out_made false if oneDNN cannot. */
static hr_status_t make_part(const onednn_t *lib, const op_native_target_t *target,
                             const conv_onednn_t *plan, bool free, conv_part_t *part,
                             bool *out_made) {
  op_native_target_t one = *target;
  conv_kind_t kind = part->problem.kind;
  one.workers = 1;
  *out_made = false;
  if (!describe_given(lib, plan, part)) return NULL;
  int threads = onednn_enter(lib);
  dnnl_primitive_desc_t desc = describe_primitive(lib, plan, &part->problem, free);
  bool slow = desc && onednn_is_slow(lib, desc);
  if (slow) lib->primitive_desc_destroy(desc);
  onednn_leave(lib, threads);
  if (!desc || slow) return NULL;
  onednn_arg_t args[CONV_ROLES];
  for (int r = 0; r < CONV_ROLES; r++) {
    part->sides[r].used = *lib->primitive_desc_query_md(desc, argument_queries[kind][r], 0);
    args[r] = (onednn_arg_t){argument_numbers[kind][r], &part->sides[r].used};
  }
  HR_TRY(onednn_op_new(lib, &one, desc, CONV_ROLES, args, &part->primitive));
  *out_made = true;
  return make_reorders(lib, &one, &part->problem, part, out_made);
}

/* --- running --- */

typedef struct conv_run {
  const conv_onednn_t *plan;
  char *arrays[CONV_ROLES]; /* the program's, or widened, flipped or not yet narrowed ones */
  char *scratch;
  bool refused;
} conv_run_t;

static size_t element_bytes(const conv_onednn_t *plan, conv_role_t role) {
  return hr_dtype_bytes(plan->dtypes[role]);
}

static void refuse(conv_run_t *r) { __atomic_store_n(&r->refused, true, __ATOMIC_RELAXED); }

static char *given_address(const conv_run_t *r, const conv_part_t *part, conv_role_t role) {
  return r->arrays[role] + part->problem.arrays[role].start * (int64_t)element_bytes(r->plan, role);
}

/* Where the primitive finds or leaves an array. */
static void *used_address(const conv_run_t *r, const conv_part_t *part, conv_role_t role) {
  const conv_onednn_t *plan = r->plan;
  const conv_side_t *side = &part->sides[role];
  if (role == CONV_WEI && plan->packed_weights) return (void *)plan->packed_weights;
  if (role == CONV_WEI && plan->shared_weights) side = &plan->parts[0].sides[role];
  bool is_native = side->reorder || (plan->adds && role == CONV_WEI);
  return is_native ? r->scratch + side->at : given_address(r, part, role);
}

static void reorder(conv_run_t *r, const conv_part_t *part, conv_role_t role, bool back) {
  const conv_side_t *side = &part->sides[role];
  void *given = given_address(r, part, role);
  void *used = r->scratch + side->at;
  if (!side->reorder) return;
  if (!onednn_op_run(side->reorder, 0, back ? (void *[]){used, given} : (void *[]){given, used},
                     r->scratch + part->op_at))
    refuse(r);
}

static void run_part(conv_run_t *r, const conv_part_t *part) {
  const conv_onednn_t *plan = r->plan;
  conv_role_t out = conv_role_out(plan->problem->kind);
  void *addresses[CONV_ROLES];
  for (int role = 0; role < CONV_ROLES; role++) {
    bool ready =
        role == (int)out || (role == CONV_WEI && (plan->packed_weights || plan->shared_weights));
    if (!ready) reorder(r, part, (conv_role_t)role, false);
    addresses[role] = used_address(r, part, (conv_role_t)role);
  }
  if (!onednn_op_run(part->primitive, 0, addresses, r->scratch + part->op_at)) refuse(r);
  if (!plan->adds) reorder(r, part, out, true);
}

static void run_parts(void *context, int64_t begin, int64_t end, int worker) {
  conv_run_t *r = context;
  (void)worker;
  for (int64_t i = begin; i < end; i++) run_part(r, &r->plan->parts[i]);
}

static size_t sum_count(const conv_onednn_t *plan) {
  const dnnl_memory_desc_t *desc = &plan->parts[0].sides[CONV_WEI].used;
  size_t count = 1;
  for (int d = 0; d < desc->ndims; d++) count *= (size_t)desc->padded_dims[d];
  return count;
}

/* The gradients of all parts, into that of part 0. */
static void add_parts(void *context, int64_t begin, int64_t end, int worker) {
  const conv_run_t *r = context;
  const conv_onednn_t *plan = r->plan;
  float *sum = (float *)(r->scratch + plan->parts[0].sides[CONV_WEI].at);
  (void)worker;
  for (int p = 1; p < plan->part_count; p++) {
    const float *other = (const float *)(r->scratch + plan->parts[p].sides[CONV_WEI].at);
    for (int64_t i = begin; i < end; i++) sum[i] += other[i];
  }
}

static void finish_sums(hr_workers_t *workers, conv_run_t *r) {
  const conv_onednn_t *plan = r->plan;
  const conv_part_t *first = &plan->parts[0];
  hr_workers_split(workers, (int64_t)sum_count(plan), 16384, add_parts, r);
  if (first->sides[CONV_WEI].reorder)
    reorder(r, first, CONV_WEI, true);
  else
    memcpy(given_address(r, first, CONV_WEI), r->scratch + first->sides[CONV_WEI].at,
           sum_count(plan) * 4);
}

static void flip_weights(const conv_onednn_t *plan, conv_run_t *r) {
  char *to = r->scratch + plan->flip_at;
  if (!plan->flips || plan->packed_weights) return;
  loop_copy_run(&plan->flip, to, r->arrays[CONV_WEI] + plan->flip_from_bytes);
  r->arrays[CONV_WEI] = to;
}

static void ready_inputs(const op_native_run_t *run, const conv_onednn_t *plan, void *const *in,
                         conv_run_t *r) {
  const conv_problem_t *p = plan->problem;
  conv_role_t roles[] = {conv_role_lhs(p->kind), conv_role_rhs(p->kind)};
  for (int i = 0; i < 2; i++) {
    conv_role_t role = roles[i];
    r->arrays[role] = in[i];
    if (!plan->widened[role]) continue;
    r->arrays[role] = r->scratch + plan->widened_at[role];
    native_widen(run->workers, &p->types, p->arrays[role].dtype, in[i], p->arrays[role].count,
                 r->arrays[role]);
  }
  if (p->kind != CONV_WEIGHTS) flip_weights(plan, r);
}

hr_status_t conv_run_onednn(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const conv_onednn_t *plan = plan_;
  const conv_problem_t *p = plan->problem;
  conv_role_t result = conv_role_out(p->kind);
  conv_run_t r = {.plan = plan, .scratch = run->scratch};
  ready_inputs(run, plan, in, &r);
  r.arrays[result] = plan->narrowed ? r.scratch + plan->sums_at : out[0];
  if (p->zero_first)
    memset(r.arrays[result], 0, (size_t)p->arrays[result].count * element_bytes(plan, result));
  if (plan->shared_weights && !plan->packed_weights) reorder(&r, &plan->parts[0], CONV_WEI, false);
  hr_workers_for(run->workers, plan->part_count, 1, run_parts, &r);
  if (plan->adds) finish_sums(run->workers, &r);
  if (r.refused) return onednn_refused();
  if (plan->narrowed)
    native_narrow(run->workers, &p->types, r.arrays[result], p->arrays[result].count, out[0]);
  return NULL;
}

/* --- planning --- */

static size_t desc_bytes(const onednn_t *lib, const dnnl_memory_desc_t *desc) {
  return lib->memory_desc_get_size(desc);
}

static size_t largest_scratch(const conv_part_t *part) {
  size_t most = part->primitive->scratch_bytes;
  for (int r = 0; r < CONV_ROLES; r++)
    if (part->sides[r].reorder && part->sides[r].reorder->scratch_bytes > most)
      most = part->sides[r].reorder->scratch_bytes;
  return most;
}

static void assign_part_offset(const onednn_t *lib, const conv_onednn_t *plan, conv_part_t *part,
                               size_t *total) {
  for (int r = 0; r < CONV_ROLES; r++) {
    conv_side_t *side = &part->sides[r];
    bool is_native = side->reorder || (plan->adds && r == CONV_WEI);
    if (r == CONV_WEI && (plan->packed_weights || (plan->shared_weights && part != plan->parts)))
      is_native = false;
    if (is_native) side->at = scratch_reserve(total, desc_bytes(lib, &side->used));
  }
  part->op_at = scratch_reserve(total, largest_scratch(part));
}

/* Places of everything in scratch memory; returns its size. */
static size_t assign_offsets(const onednn_t *lib, conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  size_t total = 0;
  for (int r = 0; r < CONV_ROLES; r++)
    plan->widened_at[r] =
        scratch_reserve(&total, plan->widened[r] ? (size_t)p->arrays[r].count * 4 : 0);
  plan->sums_at = scratch_reserve(
      &total, plan->narrowed ? (size_t)p->arrays[conv_role_out(p->kind)].count * 4 : 0);
  plan->flip_at = scratch_reserve(
      &total, plan->flips ? (size_t)p->arrays[CONV_WEI].count * element_bytes(plan, CONV_WEI) : 0);
  for (int i = 0; i < plan->part_count; i++) assign_part_offset(lib, plan, &plan->parts[i], &total);
  return total;
}

static void plan_flip(conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t sizes[DNNL_MAX_NDIMS], from[DNNL_MAX_NDIMS], to[DNNL_MAX_NDIMS];
  int64_t each = (int64_t)element_bytes(plan, CONV_WEI);
  int rank = list_sizes(p, CONV_WEI, sizes);
  int first = rank - p->spatial;
  list_strides(p, CONV_WEI, to);
  for (int d = 0; d < rank; d++) to[d] *= each, from[d] = to[d];
  for (int d = 0; d < p->spatial; d++) {
    if (!p->arrays[CONV_WEI].reversed[d] || p->window[d] == 1) continue;
    plan->flips = true;
    plan->flip_from_bytes += (p->window[d] - 1) * from[first + d];
    from[first + d] = -from[first + d];
  }
  if (plan->flips) loop_copy_init(&plan->flip, (int)each, rank, sizes, to, from);
}

static bool weights_agree(const onednn_t *lib, const conv_onednn_t *plan, conv_cut_t partition) {
  if (plan->problem->kind == CONV_WEIGHTS || (partition != CUT_BATCH && partition != CUT_NOTHING))
    return false;
  for (int i = 1; i < plan->part_count; i++)
    if (!lib->memory_desc_equal(&plan->parts[0].sides[CONV_WEI].used,
                                &plan->parts[i].sides[CONV_WEI].used))
      return false;
  return plan->parts[0].sides[CONV_WEI].reorder != NULL;
}

static hr_status_t make_parts(const onednn_t *lib, const op_native_target_t *target, bool free,
                              conv_onednn_t *plan, bool *out_made) {
  int64_t units, unit;
  conv_cut_t partition = choose_cut(plan->problem, target->workers, &units, &unit);
  int64_t blocks = (units + unit - 1) / unit;
  int64_t count = partition == CUT_NOTHING ? 1 : target->workers;
  if (count > blocks) count = blocks;
  if (count > MAX_PARTS) count = MAX_PARTS;
  HR_TRY(HR_NEW_ARRAY(target->arena, count, &plan->parts));
  plan->part_count = (int)count;
  plan->adds = partition == CUT_BATCH && plan->problem->kind == CONV_WEIGHTS && count > 1;
  *out_made = true;
  for (int64_t i = 0; i < count && *out_made; i++) {
    int64_t begin = blocks * i / count * unit;
    int64_t end = blocks * (i + 1) / count * unit;
    plan->parts[i].problem =
        cut_problem(plan->problem, partition, begin, (end < units ? end : units) - begin);
    HR_TRY(make_part(lib, target, plan, free, &plan->parts[i], out_made));
  }
  plan->shared_weights = *out_made && weights_agree(lib, plan, partition);
  return NULL;
}

/* --- choosing --- */

static bool is_by_products(const conv_onednn_t *plan) {
  return strstr(plan->parts[0].primitive->name, "gemm");
}

/* Kernels that are convolutions are quick enough with plain activations that other orders do not
 * pay; those by way of products of matrices need not be, save for wide steps, where the direct
 * kernels are slow. */
static bool is_direct(const conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  return !is_by_products(plan) || (p->kind == CONV_DATA && p->stride[p->spatial - 1] > 3);
}

/* Elements of the input that go into one of the result, of one group: the length of rows that are
 * multiplied. */
static int64_t row_elements(const conv_problem_t *p) {
  int64_t count = p->in_channels;
  for (int d = 0; d < p->spatial; d++) count *= p->window[d];
  return count;
}

/* Is oneDNN's own order quicker, though products of matrices are what it has for channels
 * innermost? Most often it multiplies there, too, with channels outermost. The limits are fitted to
 * some 150 convolutions of random sizes on processors with AVX-512 and with AVX2: the choice costs
 * 7% of the time of the better one in the geometric mean, where plain order for all costs 39% and
 * oneDNN's for all 45%. */
static bool is_own_order_quicker(const conv_onednn_t *plain, const conv_onednn_t *is_native) {
  const conv_problem_t *p = plain->problem;
  const conv_side_t *sides = plain->parts[0].sides;
  bool reorders = sides[CONV_SRC].reorder || sides[CONV_DST].reorder;
  if (!is_by_products(is_native)) return true;
  switch (p->kind) {
    case CONV_FORWARD:
      return reorders || p->groups >= MANY_GROUPS ||
             (p->groups > 1 && p->out_channels < FEW_CHANNELS);
    case CONV_DATA:
      return reorders && row_elements(p) < SHORT_ROW;
    default:
      break;
  }
  if (p->spatial == 3)
    return p->out_channels <= 4 * FEW_CHANNELS && (reorders || row_elements(p) < LONG_ROW);
  return reorders && p->spatial == 2 && row_elements(p) < LONG_ROW;
}

/* Activations as they are, or in oneDNN's own order. */
static hr_status_t choose(const onednn_t *lib, const op_native_target_t *target,
                          conv_onednn_t *plan, bool *out_made) {
  conv_onednn_t is_native = *plan;
  bool own_made;
  HR_TRY(make_parts(lib, target, false, plan, out_made));
  if (*out_made && (plan->problem->flops < REORDER_FLOPS || is_direct(plan))) return NULL;
  HR_TRY(make_parts(lib, target, true, &is_native, &own_made));
  if (!own_made) return NULL;
  bool takes_own = !*out_made || is_own_order_quicker(plan, &is_native);
  if (takes_own) *plan = is_native;
  *out_made = true;
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "convolution by oneDNN's %s, %s",
         plan->parts[0].primitive->name,
         takes_own ? "in its own order" : "with channels innermost");
  return NULL;
}

static bool is_narrow_float(hr_dtype_t dtype) {
  return hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute == HR_F32;
}

/* bf16 and bytes as they are, else everything in f32. False: there is no such convolution. */
static bool choose_types(const conv_problem_t *p, bool direct, conv_onednn_t *plan) {
  const matmul_types_t *t = &p->types;
  conv_role_t lhs = conv_role_lhs(p->kind);
  conv_role_t rhs = conv_role_rhs(p->kind);
  conv_role_t out = conv_role_out(p->kind);
  hr_dtype_t sums = t->out;
  bool halves = t->lhs == HR_BF16 && t->rhs == HR_BF16 && (t->out == HR_BF16 || t->out == HR_F32);
  bool bytes = p->kind == CONV_FORWARD && (t->lhs == HR_S8 || t->lhs == HR_U8) && t->rhs == HR_S8 &&
               t->out == HR_S32;
  plan->dtypes[lhs] = t->lhs;
  plan->dtypes[rhs] = t->rhs;
  plan->dtypes[out] = sums;
  if (direct) return halves || bytes;
  if (t->is_complex || t->real != HR_F32 || !is_narrow_float(t->lhs) || !is_narrow_float(t->rhs))
    return false;
  plan->dtypes[lhs] = plan->dtypes[rhs] = plan->dtypes[out] = HR_F32;
  plan->widened[lhs] = t->lhs != HR_F32;
  plan->widened[rhs] = t->rhs != HR_F32;
  plan->narrowed = t->out != HR_F32;
  return true;
}

/* Weights that are known are brought into their order now. */
static hr_status_t pack_constant(const onednn_t *lib, const op_native_target_t *target,
                                 conv_onednn_t *plan) {
  const conv_problem_t *p = plan->problem;
  void *packed, *memory;
  if (!p->constant_weights || !plan->shared_weights || plan->widened[CONV_WEI]) return NULL;
  HR_TRY(hr_arena_alloc(target->arena, desc_bytes(lib, &plan->parts[0].sides[CONV_WEI].used) + 64,
                        &packed));
  HR_TRY(hr_alloc(assign_offsets(lib, plan) + 64, &memory));
  conv_run_t r = {.plan = plan, .scratch = memory};
  r.arrays[CONV_WEI] = (char *)p->constant_weights;
  flip_weights(plan, &r);
  reorder(&r, &plan->parts[0], CONV_WEI, false);
  memcpy(packed, r.scratch + plan->parts[0].sides[CONV_WEI].at,
         desc_bytes(lib, &plan->parts[0].sides[CONV_WEI].used));
  hr_free(memory);
  if (!r.refused) plan->packed_weights = packed;
  return NULL;
}

hr_status_t conv_prepare_onednn(const op_native_target_t *target, const conv_problem_t *problem,
                                op_native_step_t *out) {
  conv_onednn_t *plan;
  const onednn_t *lib = NULL;
  bool made = false;
  HR_TRY(HR_NEW(target->arena, &plan));
  for (int direct = 1; direct >= 0 && !made; direct--) {
    *plan = (conv_onednn_t){.problem = problem};
    if (!choose_types(problem, direct, plan)) continue;
    if (!lib) lib = onednn_open();
    if (!lib || (problem->types.real == HR_U32 && !onednn_bytes_are_exact(lib))) return NULL;
    if (problem->kind != CONV_WEIGHTS) plan_flip(plan);
    HR_TRY(choose(lib, target, plan, &made));
  }
  if (!made) return NULL;
  HR_TRY(pack_constant(lib, target, plan));
  out->scratch_bytes = assign_offsets(lib, plan);
  out->plan = plan;
  return NULL;
}
