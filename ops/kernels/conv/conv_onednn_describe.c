/* Descriptions of arrays and convolutions for oneDNN 2, and the primitives made from them.
 *
 * Every part is described by its own sizes and the program's strides. The primitive is queried with
 * the weights' layout left open, and activations dense with channels innermost or open, too; the
 * layouts in its answer decide which arrays must be reordered. Gradients need the description of
 * the forward convolution as a hint. Kernels that onednn_is_slow rejects are not used. */
#include "ops/kernels/conv/conv_onednn.h"

int conv_onednn_sizes(const conv_problem_t *p, conv_role_t role, int64_t *sizes) {
  int rank = 0;
  if (role == CONV_WEI) {
    if (p->groups > 1) sizes[rank++] = p->groups;
    sizes[rank++] = p->out_channels;
    sizes[rank++] = p->in_channels;
  } else {
    sizes[rank++] = p->batch;
    sizes[rank++] = p->groups * (role == CONV_SRC ? p->in_channels : p->out_channels);
  }
  const int64_t *spatial = role == CONV_SRC ? p->in : p->out;
  if (role == CONV_WEI) spatial = p->window;
  for (int d = 0; d < p->spatial; d++) sizes[rank++] = spatial[d];
  return rank;
}

void conv_onednn_strides(const conv_problem_t *p, conv_role_t role, int64_t *strides) {
  const conv_array_t *array = &p->arrays[role];
  int rank = 0;
  if (role == CONV_WEI && p->groups > 1) strides[rank++] = array->group;
  strides[rank++] = array->outer;
  strides[rank++] = array->inner;
  for (int d = 0; d < p->spatial; d++) strides[rank++] = array->spatial[d];
}

/* Strides of dense activations with channels innermost: dimensions are batch, channels, spatial. */
static void list_plain_strides(const conv_problem_t *p, const int64_t *sizes, int64_t *strides) {
  strides[1] = 1;
  int64_t stride = sizes[1];
  for (int d = p->spatial + 1; d >= 2; d--) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  strides[0] = stride;
}

/* True if two descriptions address the same bytes. Strides of dimensions of size 1 are ignored. */
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

static bool describe_program_arrays(const onednn_t *lib, const conv_onednn_t *plan,
                                    conv_part_t *part) {
  for (int r = 0; r < CONV_ROLES; r++) {
    int64_t sizes[DNNL_MAX_NDIMS], strides[DNNL_MAX_NDIMS];
    int rank = conv_onednn_sizes(&part->problem, (conv_role_t)r, sizes);
    conv_onednn_strides(&part->problem, (conv_role_t)r, strides);
    if (!onednn_array(lib, onednn_type(plan->operands[r].dtype), rank, sizes, strides,
                      &part->arrays[r].given))
      return false;
  }
  return true;
}

/* Element type of the primitive's array. Gradients that are added stay f32. */
static dnnl_data_type_t used_type(const conv_onednn_t *plan, conv_role_t role) {
  if (role == CONV_WEI && plan->problem->kind == CONV_WEIGHTS && plan->adds_gradients)
    return dnnl_f32;
  return onednn_type(plan->operands[role].dtype);
}

/* Describes the arrays of the query: `free` leaves all layouts to oneDNN, else only the
 * weights'. */
static bool describe_wanted(const onednn_t *lib, const conv_onednn_t *plan, const conv_problem_t *p,
                            bool free, dnnl_memory_desc_t *wanted) {
  for (int r = 0; r < CONV_ROLES; r++) {
    dnnl_dims_t sizes;
    int64_t strides[DNNL_MAX_NDIMS];
    int rank = conv_onednn_sizes(p, (conv_role_t)r, sizes);
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

/* The description of the forward convolution as the hint of a gradient's primitive, or NULL. */
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

/* One worker at a time runs a part, so its operations need memory for one only. */
static hr_status_t make_reorders(const onednn_t *lib, const op_native_target_t *one,
                                 const conv_problem_t *p, conv_part_t *part, bool *out_made) {
  conv_role_t out = conv_role_out(p->kind);
  for (int r = 0; r < CONV_ROLES; r++) {
    conv_part_array_t *array = &part->arrays[r];
    array->reorder = NULL;
    if (is_same_layout(&array->given, &array->used)) continue;
    bool back = r == (int)out;
    HR_TRY(onednn_reorder_new(lib, one, back ? &array->used : &array->given,
                              back ? &array->given : &array->used, &array->reorder));
    if (!array->reorder) *out_made = false;
  }
  return NULL;
}

/* The description is made with oneDNN's threads set to one (onednn_enter), because the kernel that
 * it chooses depends on their number. */
hr_status_t conv_onednn_make_part(const onednn_t *lib, const op_native_target_t *target,
                                  const conv_onednn_t *plan, bool free, conv_part_t *part,
                                  bool *out_made) {
  op_native_target_t one = *target;
  conv_kind_t kind = part->problem.kind;
  one.workers = 1;
  *out_made = false;
  if (!describe_program_arrays(lib, plan, part)) return NULL;
  int threads = onednn_enter(lib);
  dnnl_primitive_desc_t desc = describe_primitive(lib, plan, &part->problem, free);
  bool slow = desc && onednn_is_slow(lib, desc);
  if (slow) lib->primitive_desc_destroy(desc);
  onednn_leave(lib, threads);
  if (!desc || slow) return NULL;
  onednn_arg_t args[CONV_ROLES];
  for (int r = 0; r < CONV_ROLES; r++) {
    part->arrays[r].used = *lib->primitive_desc_query_md(desc, argument_queries[kind][r], 0);
    args[r] = (onednn_arg_t){argument_numbers[kind][r], &part->arrays[r].used};
  }
  HR_TRY(onednn_op_new(lib, &one, desc, CONV_ROLES, args, &part->primitive));
  *out_made = true;
  return make_reorders(lib, &one, &part->problem, part, out_made);
}
