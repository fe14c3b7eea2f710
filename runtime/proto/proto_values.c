/* Attributes that are messages, both directions: windows, convolution labels, padding, slices,
 * lists of lists, aliasing, domains, sparsity, accuracy. A reader decodes the message and checks
 * all numbers that the verifier and printers use as indices: ranks (HLO_MAX_RANK) and roles of
 * dimensions. A writer writes the instruction's field; proto3 omits zeros, so that reading gives
 * the same values. */
#include "proto/proto_parts.h"

/* Windows -------------------------------------------------------------------------------------- */

/* `what` is for the message. */
static hr_status_t check_rank(const char *what, int64_t rank) {
  if (rank <= HLO_MAX_RANK) return NULL;
  return PROTO_ERROR("%s of %ld dimensions, want at most %d", what, (long)rank, HLO_MAX_RANK);
}

/* One entry for each dimension of the window, in order. */
hr_status_t proto_read_window(proto_reader_t *p, proto_list_t pieces,
                              const hlo_window_t **out_window) {
  proto_window_t in;
  hlo_window_t *window;
  hlo_window_dim_t *dims;
  HR_TRY(PROTO_DECODE(&p->scratch, window, pieces, &in));
  HR_TRY(check_rank("a window", in.dimensions.count));
  HR_TRY(HR_NEW(p->arena, &window));
  HR_TRY(HR_NEW_ARRAY(p->arena, in.dimensions.count, &dims));
  for (int64_t d = 0; d < in.dimensions.count; d++) {
    proto_window_dim_t dim;
    HR_TRY(PROTO_DECODE(&p->scratch, window_dim, proto_piece(&in.dimensions.items[d]), &dim));
    dims[d] = (hlo_window_dim_t){.size = dim.size,
                                 .stride = dim.stride,
                                 .pad_low = dim.padding_low,
                                 .pad_high = dim.padding_high,
                                 .base_dilation = dim.base_dilation,
                                 .window_dilation = dim.window_dilation,
                                 .reversal = dim.window_reversal};
  }
  *window = (hlo_window_t){(int)in.dimensions.count, dims};
  *out_window = window;
  return NULL;
}

/* Window: one message per spatial dimension, in the order of the text's "size=2x2". */
static void write_window(hr_strbuf_t *out, const hlo_window_t *window) {
  size_t opened = proto_open(out, PROTO_instr_window);
  for (int d = 0; d < window->rank; d++) {
    const hlo_window_dim_t *from = &window->dims[d];
    size_t dim = proto_open(out, PROTO_window_dimensions);
    proto_put_int(out, PROTO_window_dim_size, from->size);
    proto_put_int(out, PROTO_window_dim_stride, from->stride);
    proto_put_int(out, PROTO_window_dim_padding_low, from->pad_low);
    proto_put_int(out, PROTO_window_dim_padding_high, from->pad_high);
    proto_put_int(out, PROTO_window_dim_window_dilation, from->window_dilation);
    proto_put_int(out, PROTO_window_dim_base_dilation, from->base_dilation);
    proto_put_int(out, PROTO_window_dim_window_reversal, from->reversal);
    proto_close(out, dim);
  }
  proto_close(out, opened);
}

/* Dimension labels ----------------------------------------------------------------------------- */

#define SPATIAL_MAX 10 /* text labels are single digits */

/* Checks one side of the labels: the two named dimensions and the spatial ones have one role each.
 * The rank is the shape's if there is one, since dimensions without a role are not listed. */
static hr_status_t check_labels_side(const hlo_shape_t *shape, int64_t first, int64_t second,
                                     hr_ints_t spatial, int *out_rank, uint32_t *out_unused) {
  uint64_t seen = 0;
  int64_t max_dim = -1;
  for (int64_t k = -2; k < spatial.count; k++) {
    int64_t named = k == -2 ? first : second;
    int64_t d = k < 0 ? named : spatial.data[k];
    if (d == -1 && k < 0) continue;
    if (d < 0 || d >= HLO_MAX_RANK || (seen >> d & 1))
      return PROTO_ERROR("dimension %ld of a convolution, want each once, and below %d", (long)d,
                         HLO_MAX_RANK);
    seen |= UINT64_C(1) << d;
    if (d > max_dim) max_dim = d;
  }
  *out_rank =
      shape && hlo_shape_is_array(shape) && shape->rank > max_dim ? shape->rank : (int)max_dim + 1;
  *out_unused = (uint32_t)(((UINT64_C(1) << *out_rank) - 1) & ~seen);
  return NULL;
}

/* Reads the roles of dimensions; -1 is an absent batch or feature dimension. Operand shapes give
 * the ranks. */
hr_status_t proto_read_labels(proto_reader_t *p, const proto_draft_t *draft,
                              const hlo_dim_labels_t **out_labels) {
  proto_convolution_t in;
  hlo_dim_labels_t *l;
  hr_ints_t lhs, rhs, out;
  HR_TRY(PROTO_DECODE(&p->scratch, convolution, draft->in.convolution, &in));
  HR_TRY(proto_ints(p->arena, in.input_spatial_dimensions, &lhs));
  HR_TRY(proto_ints(p->arena, in.kernel_spatial_dimensions, &rhs));
  HR_TRY(proto_ints(p->arena, in.output_spatial_dimensions, &out));
  if (lhs.count > SPATIAL_MAX || lhs.count != rhs.count || lhs.count != out.count)
    return PROTO_ERROR(
        "a convolution of %ld, %ld and %ld spatial dimensions, want as many, and at most %d",
        (long)lhs.count, (long)rhs.count, (long)out.count, SPATIAL_MAX);
  HR_TRY(HR_NEW(p->arena, &l));
  *l = (hlo_dim_labels_t){.spatial_rank = (int)lhs.count,
                          .lhs_batch = in.input_batch_dimension,
                          .lhs_feature = in.input_feature_dimension,
                          .rhs_input_feature = in.kernel_input_feature_dimension,
                          .rhs_output_feature = in.kernel_output_feature_dimension,
                          .out_batch = in.output_batch_dimension,
                          .out_feature = in.output_feature_dimension,
                          .lhs_spatial = lhs.data,
                          .rhs_spatial = rhs.data,
                          .out_spatial = out.data};
  const hlo_shape_t *left = draft->operand_count > 0 ? draft->operands[0]->shape : NULL;
  const hlo_shape_t *right = draft->operand_count > 1 ? draft->operands[1]->shape : NULL;
  *out_labels = l;
  HR_TRY(check_labels_side(left, l->lhs_batch, l->lhs_feature, lhs, &l->lhs_rank, &l->lhs_unused));
  HR_TRY(check_labels_side(right, l->rhs_input_feature, l->rhs_output_feature, rhs, &l->rhs_rank,
                           &l->rhs_unused));
  return check_labels_side(draft->shape, l->out_batch, l->out_feature, out, &l->out_rank,
                           &l->out_unused);
}

/* ConvolutionDimensionNumbers: positions of batch, feature and spatial dimensions in the input,
 * the kernel and the output. */
static void write_labels(hr_strbuf_t *out, const hlo_dim_labels_t *l) {
  size_t opened = proto_open(out, PROTO_instr_convolution);
  proto_put_int(out, PROTO_convolution_kernel_input_feature_dimension, l->rhs_input_feature);
  proto_put_int(out, PROTO_convolution_kernel_output_feature_dimension, l->rhs_output_feature);
  proto_put_ints(out, PROTO_convolution_kernel_spatial_dimensions,
                 (hr_ints_t){l->rhs_spatial, l->spatial_rank});
  proto_put_int(out, PROTO_convolution_input_batch_dimension, l->lhs_batch);
  proto_put_int(out, PROTO_convolution_input_feature_dimension, l->lhs_feature);
  proto_put_int(out, PROTO_convolution_output_batch_dimension, l->out_batch);
  proto_put_int(out, PROTO_convolution_output_feature_dimension, l->out_feature);
  proto_put_ints(out, PROTO_convolution_input_spatial_dimensions,
                 (hr_ints_t){l->lhs_spatial, l->spatial_rank});
  proto_put_ints(out, PROTO_convolution_output_spatial_dimensions,
                 (hr_ints_t){l->out_spatial, l->spatial_rank});
  proto_close(out, opened);
}

/* Padding and slices --------------------------------------------------------------------------- */

/* One entry for each dimension: low, high and interior padding. */
hr_status_t proto_read_padding(proto_reader_t *p, proto_list_t pieces,
                               const hlo_padding_t **out_padding) {
  proto_padding_t in;
  hlo_padding_t *padding;
  hlo_padding_dim_t *dims;
  HR_TRY(PROTO_DECODE(&p->scratch, padding, pieces, &in));
  HR_TRY(check_rank("a padding", in.dimensions.count));
  HR_TRY(HR_NEW(p->arena, &padding));
  HR_TRY(HR_NEW_ARRAY(p->arena, in.dimensions.count, &dims));
  for (int64_t d = 0; d < in.dimensions.count; d++) {
    proto_padding_dim_t dim;
    HR_TRY(PROTO_DECODE(&p->scratch, padding_dim, proto_piece(&in.dimensions.items[d]), &dim));
    dims[d] =
        (hlo_padding_dim_t){dim.edge_padding_low, dim.edge_padding_high, dim.interior_padding};
  }
  *padding = (hlo_padding_t){(int)in.dimensions.count, dims};
  *out_padding = padding;
  return NULL;
}

/* PaddingConfig: low and high edge and interior padding, in elements; edges may be negative. */
static void write_padding(hr_strbuf_t *out, const hlo_padding_t *padding) {
  size_t opened = proto_open(out, PROTO_instr_padding);
  for (int d = 0; d < padding->rank; d++) {
    size_t dim = proto_open(out, PROTO_padding_dimensions);
    proto_put_int(out, PROTO_padding_dim_edge_padding_low, padding->dims[d].low);
    proto_put_int(out, PROTO_padding_dim_edge_padding_high, padding->dims[d].high);
    proto_put_int(out, PROTO_padding_dim_interior_padding, padding->dims[d].interior);
    proto_close(out, dim);
  }
  proto_close(out, opened);
}

/* SliceDimensions: start, limit and stride per dimension; the verifier compares them with the
 * shape. */
hr_status_t proto_read_slice(proto_reader_t *p, proto_list_t list, const hlo_slice_t **out_slice) {
  hlo_slice_t *slice;
  hlo_slice_dim_t *dims;
  HR_TRY(check_rank("a slice", list.count));
  HR_TRY(HR_NEW(p->arena, &slice));
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &dims));
  for (int64_t d = 0; d < list.count; d++) {
    proto_slice_dim_t dim;
    HR_TRY(PROTO_DECODE(&p->scratch, slice_dim, proto_piece(&list.items[d]), &dim));
    dims[d] = (hlo_slice_dim_t){dim.start, dim.limit, dim.stride};
  }
  *slice = (hlo_slice_t){(int)list.count, dims};
  *out_slice = slice;
  return NULL;
}

static void write_slice(hr_strbuf_t *out, const hlo_slice_t *slice) {
  for (int d = 0; d < slice->rank; d++) {
    size_t dim = proto_open(out, PROTO_instr_slice_dimensions);
    proto_put_int(out, PROTO_slice_dim_start, slice->dims[d].start);
    proto_put_int(out, PROTO_slice_dim_limit, slice->dims[d].limit);
    proto_put_int(out, PROTO_slice_dim_stride, slice->dims[d].stride);
    proto_close(out, dim);
  }
}

/* Lists of lists ------------------------------------------------------------------------------- */

/* The lists are in the arena already. */
static hr_status_t copy_int_lists(proto_reader_t *p, int64_t count, const hr_ints_t *lists,
                                  const hlo_int_lists_t **out_lists) {
  hlo_int_lists_t *copy;
  HR_TRY(HR_NEW(p->arena, &copy));
  *copy = (hlo_int_lists_t){count, lists};
  *out_lists = copy;
  return NULL;
}

/* source_target_pairs: two ids per pair. */
hr_status_t proto_read_pairs_of_ids(proto_reader_t *p, proto_list_t list,
                                    const hlo_int_lists_t **out_lists) {
  hr_ints_t *lists;
  int64_t *ids;
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &lists));
  HR_TRY(HR_NEW_ARRAY(p->arena, 2 * list.count, &ids));
  for (int64_t i = 0; i < list.count; i++) {
    proto_source_target_t pair;
    HR_TRY(PROTO_DECODE(&p->scratch, source_target, proto_piece(&list.items[i]), &pair));
    ids[2 * i] = pair.source;
    ids[2 * i + 1] = pair.target;
    lists[i] = (hr_ints_t){&ids[2 * i], 2};
  }
  return copy_int_lists(p, list.count, lists, out_lists);
}

/* Splits the concatenated slice_sizes of a collective-permute: each list has the rank of the
 * operand, or of an element of the operand. If there are more lists than elements, each element
 * has the same number of lists. */
hr_status_t proto_read_slice_lists(proto_reader_t *p, const proto_draft_t *draft,
                                   const hlo_int_lists_t **out_lists) {
  hr_ints_t all;
  HR_TRY(proto_ints(p->arena, draft->in.dynamic_slice_sizes, &all));
  const hlo_shape_t *shape = draft->operand_count ? draft->operands[0]->shape : NULL;
  int leaves = shape ? hlo_shape_leaf_count(shape) : 0;
  int64_t ranks = 0, repeats, at = 0, used = 0;
  for (int i = 0; i < leaves; i++) ranks += hlo_shape_leaf(shape, i)->rank;
  if (!ranks || all.count % ranks)
    return PROTO_ERROR("%ld slice sizes for operands of %ld dimensions", (long)all.count,
                       (long)ranks);
  repeats = all.count / ranks;
  hr_ints_t *lists;
  HR_TRY(HR_NEW_ARRAY(p->arena, leaves * repeats, &lists));
  for (int i = 0; i < leaves; i++) {
    int64_t rank = hlo_shape_leaf(shape, i)->rank;
    for (int64_t k = 0; k < repeats && rank; k++, at += rank)
      lists[used++] = (hr_ints_t){all.data + at, rank};
  }
  return copy_int_lists(p, used, lists, out_lists);
}

/* SourceTarget messages; for a list shorter than two ids, the missing fields are omitted. */
static void write_pairs_of_ids(hr_strbuf_t *out, const hlo_int_lists_t *lists) {
  for (int64_t i = 0; i < lists->count; i++) {
    size_t pair = proto_open(out, PROTO_instr_source_target_pairs);
    if (lists->lists[i].count > 0)
      proto_put_int(out, PROTO_source_target_source, lists->lists[i].data[0]);
    if (lists->lists[i].count > 1)
      proto_put_int(out, PROTO_source_target_target, lists->lists[i].data[1]);
    proto_close(out, pair);
  }
}

/* The lists joined as packed varints: dynamic_slice_sizes is one flat field. */
static void write_slice_lists(hr_strbuf_t *out, const hlo_int_lists_t *lists) {
  size_t opened = proto_open(out, PROTO_instr_dynamic_slice_sizes);
  for (int64_t i = 0; i < lists->count; i++)
    for (int64_t k = 0; k < lists->lists[i].count; k++)
      proto_put_varint(out, (uint64_t)lists->lists[i].data[k]);
  proto_close(out, opened);
}

/* Aliasing ------------------------------------------------------------------------------------- */

/* Reads the results that share their buffer with an operand, by tuple indices. */
hr_status_t proto_read_aliasing(proto_reader_t *p, proto_list_t list,
                                const hlo_aliasing_t **out_aliasing) {
  hlo_aliasing_t *aliasing;
  hlo_alias_t *aliases;
  HR_TRY(HR_NEW(p->arena, &aliasing));
  HR_TRY(HR_NEW_ARRAY(p->arena, list.count, &aliases));
  for (int64_t i = 0; i < list.count; i++) {
    proto_operand_alias_t in;
    HR_TRY(PROTO_DECODE(&p->scratch, operand_alias, proto_piece(&list.items[i]), &in));
    aliases[i].operand = in.operand_index;
    HR_TRY(proto_ints(p->arena, in.output_shape_index, &aliases[i].output_index));
    HR_TRY(proto_ints(p->arena, in.operand_shape_index, &aliases[i].operand_index));
  }
  *aliasing = (hlo_aliasing_t){(int)list.count, aliases};
  *out_aliasing = aliasing;
  return NULL;
}

static void write_aliasing(hr_strbuf_t *out, const hlo_aliasing_t *aliasing) {
  for (int i = 0; i < aliasing->count; i++) {
    const hlo_alias_t *alias = &aliasing->aliases[i];
    size_t opened = proto_open(out, PROTO_instr_output_operand_aliasing);
    proto_put_ints(out, PROTO_operand_alias_output_shape_index, alias->output_index);
    proto_put_int(out, PROTO_operand_alias_operand_index, alias->operand);
    proto_put_ints(out, PROTO_operand_alias_operand_shape_index, alias->operand_index);
    proto_close(out, opened);
  }
}

/* Domains, sparsity, accuracy
 * ------------------------------------------------------------------------------------- */

/* The kind of a domain is "sharding" unless hlorun's own field domain_kind has another one. */
hr_status_t proto_read_domain(proto_reader_t *p, const proto_instr_t *in,
                              const hlo_domain_t **out_domain) {
  hlo_domain_t *domain;
  HR_TRY(HR_NEW(p->arena, &domain));
  domain->kind = in->domain_kind.size ? in->domain_kind : HR_STR("sharding");
  HR_TRY(proto_read_sharding(p, in->domain_entry_sharding, &domain->entry));
  *out_domain = domain;
  return proto_read_sharding(p, in->domain_exit_sharding, &domain->exit);
}

/* The kind "sharding" is the reader's default and omitted. */
static void write_domain(hr_strbuf_t *out, const hlo_domain_t *domain) {
  proto_write_sharding(out, PROTO_instr_domain_entry_sharding, domain->entry);
  proto_write_sharding(out, PROTO_instr_domain_exit_sharding, domain->exit);
  if (!hr_str_is(domain->kind, "sharding"))
    proto_put_bytes(out, PROTO_instr_domain_kind, domain->kind);
}

/* A dense side of a sparse product has no message. */
static hr_status_t read_sparsity_side(proto_reader_t *p, proto_list_t pieces,
                                      hlo_sparsity_side_t *side) {
  proto_sparsity_side_t in;
  HR_TRY(PROTO_DECODE(&p->scratch, sparsity_side, pieces, &in));
  *side = (hlo_sparsity_side_t){pieces.count > 0, in.num_non_zero, in.block_size, in.dimension,
                                in.stride};
  return NULL;
}

hr_status_t proto_read_sparsity(proto_reader_t *p, proto_list_t pieces,
                                const hlo_sparsity_t **out_sparsity) {
  proto_sparsity_t in;
  hlo_sparsity_t *sparsity;
  HR_TRY(PROTO_DECODE(&p->scratch, sparsity, pieces, &in));
  HR_TRY(HR_NEW(p->arena, &sparsity));
  *out_sparsity = sparsity;
  HR_TRY(read_sparsity_side(p, in.lhs, &sparsity->lhs));
  return read_sparsity_side(p, in.rhs, &sparsity->rhs);
}

/* Dense operands have no message: its presence means that the side is sparse. */
static void write_sparsity_side(hr_strbuf_t *out, uint32_t number,
                                const hlo_sparsity_side_t *side) {
  if (!side->present) return;
  size_t opened = proto_open(out, number);
  proto_put_int(out, PROTO_sparsity_side_num_non_zero, side->non_zeros);
  proto_put_int(out, PROTO_sparsity_side_block_size, side->block);
  proto_put_int(out, PROTO_sparsity_side_dimension, side->dimension);
  proto_put_int(out, PROTO_sparsity_side_stride, side->stride);
  proto_close(out, opened);
}

static void write_sparsity(hr_strbuf_t *out, const hlo_sparsity_t *sparsity) {
  size_t opened = proto_open(out, PROTO_instr_sparsity);
  write_sparsity_side(out, PROTO_sparsity_lhs, &sparsity->lhs);
  write_sparsity_side(out, PROTO_sparsity_rhs, &sparsity->rhs);
  proto_close(out, opened);
}

/* ResultAccuracy.Mode of xla_data.proto; DEFAULT is 0. */
#define MODE_HIGHEST 1

/* *out_accuracy is NULL for the default accuracy, which some writers include. */
hr_status_t proto_read_accuracy(proto_reader_t *p, proto_list_t pieces,
                                const hlo_result_accuracy_t **out_accuracy) {
  proto_result_accuracy_t in;
  proto_tolerance_t tolerance;
  hlo_result_accuracy_t *accuracy;
  *out_accuracy = NULL;
  HR_TRY(PROTO_DECODE(&p->scratch, result_accuracy, pieces, &in));
  HR_TRY(PROTO_DECODE(&p->scratch, tolerance, in.tolerance, &tolerance));
  if (!in.tolerance.count && in.mode != MODE_HIGHEST) return NULL;
  HR_TRY(HR_NEW(p->arena, &accuracy));
  *accuracy = (hlo_result_accuracy_t){in.tolerance.count > 0, tolerance.atol, tolerance.rtol,
                                      tolerance.ulps};
  *out_accuracy = accuracy;
  return NULL;
}

/* ResultAccuracy is a union: a tolerance, or a mode; HIGHEST is the only mode in the IR. */
static void write_accuracy(hr_strbuf_t *out, const hlo_result_accuracy_t *accuracy) {
  size_t opened = proto_open(out, PROTO_instr_result_accuracy);
  if (accuracy->has_tolerance) {
    size_t tolerance = proto_open(out, PROTO_result_accuracy_tolerance);
    proto_put_f64(out, PROTO_tolerance_atol, accuracy->atol);
    proto_put_f64(out, PROTO_tolerance_rtol, accuracy->rtol);
    proto_put_int(out, PROTO_tolerance_ulps, accuracy->ulps);
    proto_close(out, tolerance);
  } else {
    proto_put_int(out, PROTO_result_accuracy_mode, MODE_HIGHEST);
  }
  proto_close(out, opened);
}

/* Operand layouts. The flag marks the presence of constraints, as the list of shapes may be
 * empty. */
static void write_constraints(hr_strbuf_t *out, const hlo_shapes_t *shapes) {
  proto_put_int(out, PROTO_instr_constrain_layout, 1);
  for (int i = 0; i < shapes->count; i++)
    proto_write_shape(out, PROTO_instr_operand_shapes_with_layout, shapes->shapes[i]);
}

/* Writes an attribute by its kind; kinds with plain values are rows of proto_attrs.def. */
void proto_write_value(hr_strbuf_t *out, const hlo_attr_t *attr) {
  switch (hlo_attr_table[attr->key].kind) {
    case HLO_KIND_INT_LISTS:
      if (attr->key == HLO_ATTR_SOURCE_TARGET_PAIRS)
        write_pairs_of_ids(out, attr->lists);
      else
        write_slice_lists(out, attr->lists);
      break;
    case HLO_KIND_SHAPE:
      proto_write_shape(out, PROTO_instr_outfeed_shape, attr->shape);
      break;
    case HLO_KIND_SHAPES:
      write_constraints(out, attr->shapes);
      break;
    case HLO_KIND_WINDOW:
      write_window(out, attr->window);
      break;
    case HLO_KIND_DIM_LABELS:
      write_labels(out, attr->labels);
      break;
    case HLO_KIND_PADDING:
      write_padding(out, attr->padding);
      break;
    case HLO_KIND_SLICE:
      write_slice(out, attr->slice);
      break;
    case HLO_KIND_GROUPS:
      proto_write_groups(out, attr->groups);
      break;
    case HLO_KIND_ALIASING:
      write_aliasing(out, attr->aliasing);
      break;
    case HLO_KIND_LITERAL:
      proto_write_literal(out, PROTO_instr_literal, attr->literal, NULL);
      break;
    case HLO_KIND_DOMAIN:
      write_domain(out, attr->domain);
      break;
    case HLO_KIND_SPARSITY:
      write_sparsity(out, attr->sparsity);
      break;
    case HLO_KIND_RESULT_ACCURACY:
      if (attr->accuracy) write_accuracy(out, attr->accuracy);
      break;
    default:
      break; /* proto_attrs.def */
  }
}
