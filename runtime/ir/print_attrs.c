/* Printer of the attributes of an op's row in ops.def, one function per kind (attrs.def), in the
 * notation of XLA's HLO text. Attributes with their default value are left out, apart from those
 * that XLA always shows (HLO_USE_SHOW). Order: that of the row. */
#include <string.h>

#include "ir/print_parts.h"
#include "ir/sharding.h"

static const char *bool_text(bool flag) { return flag ? "true" : "false"; }

static void print_braced_ints(hr_strbuf_t *text, hr_ints_t ints) {
  hr_strbuf_add_char(text, '{');
  hlo_ints_print(text, ints);
  hr_strbuf_add_char(text, '}');
}

/* {{0,1},{2,3}} */
static void print_int_lists(hr_strbuf_t *text, const hlo_int_lists_t *lists) {
  hr_strbuf_add_char(text, '{');
  for (int64_t i = 0; i < lists->count; i++) {
    if (i) hr_strbuf_add_char(text, ',');
    print_braced_ints(text, lists->lists[i]);
  }
  hr_strbuf_add_char(text, '}');
}

/* Windows -------------------------------------------------------------------------------------- */

/* Fields of a window in the order in which they print: the key of the functions below. */
enum {
  WINDOW_SIZE,
  WINDOW_STRIDE,
  WINDOW_PAD,
  WINDOW_LHS_DILATE,
  WINDOW_RHS_DILATE,
  WINDOW_REVERSAL
};

static int64_t window_field(const hlo_window_dim_t *d, int key) {
  switch (key) {
    case WINDOW_SIZE:
      return d->size;
    case WINDOW_STRIDE:
      return d->stride;
    case WINDOW_LHS_DILATE:
      return d->base_dilation;
    case WINDOW_RHS_DILATE:
      return d->window_dilation;
    default:
      return d->reversal;
  }
}

/* Whether a field has its default in all dimensions. Sizes are always printed. */
static bool window_field_is_default(const hlo_window_t *w, int key) {
  static const int64_t defaults[] = {0, 1, 0, 1, 1, 0};
  for (int d = 0; d < w->rank; d++)
    if (key == WINDOW_PAD ? w->dims[d].pad_low || w->dims[d].pad_high
                          : window_field(&w->dims[d], key) != defaults[key])
      return false;
  return key != WINDOW_SIZE;
}

/* {size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=... rhs_dilate=... rhs_reversal=...} */
static void print_window(hr_strbuf_t *text, const hlo_window_t *w) {
  static const char *const keys[] = {"size",       "stride",     "pad",
                                     "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  hr_strbuf_add_char(text, '{');
  for (int key = 0; key <= WINDOW_REVERSAL; key++) {
    if (window_field_is_default(w, key)) continue;
    hr_strbuf_printf(text, "%s%s=", key ? " " : "", keys[key]);
    for (int d = 0; d < w->rank; d++) {
      if (d) hr_strbuf_add_char(text, 'x');
      if (key == WINDOW_PAD)
        hr_strbuf_printf(text, "%ld_%ld", (long)w->dims[d].pad_low, (long)w->dims[d].pad_high);
      else
        hr_strbuf_add_int(text, window_field(&w->dims[d], key));
    }
  }
  hr_strbuf_add_char(text, '}');
}

/* Labels, padding, slices ---------------------------------------------------------------------- */

/* Labels of one side: the two named dimensions, digits for spatial ones, '?' for the rest. */
static void print_dim_labels_side(hr_strbuf_t *text, int rank, int64_t first, int64_t second,
                                  const char *labels, const int64_t *spatial, int spatial_rank) {
  char side[HLO_MAX_RANK];
  memset(side, '?', sizeof side);
  if (first >= 0) side[first] = labels[0];
  if (second >= 0) side[second] = labels[1];
  for (int k = 0; k < spatial_rank; k++) side[spatial[k]] = (char)('0' + k);
  hr_strbuf_add(text, side, (size_t)rank);
}

/* Convolution labels such as b01f_01io->b01f. */
static void print_labels(hr_strbuf_t *text, const hlo_dim_labels_t *l) {
  print_dim_labels_side(text, l->lhs_rank, l->lhs_batch, l->lhs_feature, "bf", l->lhs_spatial,
                        l->spatial_rank);
  hr_strbuf_add_char(text, '_');
  print_dim_labels_side(text, l->rhs_rank, l->rhs_input_feature, l->rhs_output_feature, "io",
                        l->rhs_spatial, l->spatial_rank);
  hr_strbuf_add_str(text, "->");
  print_dim_labels_side(text, l->out_rank, l->out_batch, l->out_feature, "bf", l->out_spatial,
                        l->spatial_rank);
}

/* low_high or low_high_interior per dimension, joined by x. Interior shows if any is not 0. */
static void print_padding(hr_strbuf_t *text, const hlo_padding_t *p) {
  bool interior = false;
  for (int d = 0; d < p->rank; d++) interior |= p->dims[d].interior != 0;
  for (int d = 0; d < p->rank; d++) {
    hr_strbuf_printf(text, "%s%ld_%ld", d ? "x" : "", (long)p->dims[d].low, (long)p->dims[d].high);
    if (interior) hr_strbuf_printf(text, "_%ld", (long)p->dims[d].interior);
  }
}

/* {[start:limit:stride], ...}; strides show if any is not 1. */
static void print_slice(hr_strbuf_t *text, const hlo_slice_t *s) {
  bool strides = false;
  for (int d = 0; d < s->rank; d++) strides |= s->dims[d].stride != 1;
  hr_strbuf_add_char(text, '{');
  for (int d = 0; d < s->rank; d++) {
    hr_strbuf_printf(text, "%s[%ld:%ld", d ? ", " : "", (long)s->dims[d].start,
                     (long)s->dims[d].limit);
    if (strides) hr_strbuf_printf(text, ":%ld", (long)s->dims[d].stride);
    hr_strbuf_add_char(text, ']');
  }
  hr_strbuf_add_char(text, '}');
}

/* Groups, aliasing and the rest ---------------------------------------------------------------- */

/* Replica groups in the notation in which they were written: lists, iota or mesh axes. */
static void print_groups(hr_strbuf_t *text, const hlo_groups_t *g) {
  if (g->form == HLO_GROUPS_LIST) {
    print_int_lists(text, &g->groups);
  } else if (g->form == HLO_GROUPS_MESH) {
    hlo_mesh_print(text, &g->mesh);
    hr_strbuf_add_str(text, " {");
    hlo_axes_print(text, &g->mesh, (hlo_axes_t){g->axis_count, g->axes});
    hr_strbuf_add_char(text, '}');
  } else {
    hr_strbuf_add_char(text, '[');
    hlo_ints_print(text, g->iota_tile);
    hr_strbuf_add_str(text, "]<=[");
    hlo_ints_print(text, g->iota_dims);
    hr_strbuf_add_char(text, ']');
    if (g->iota_permutation.count < 2) return;
    hr_strbuf_add_str(text, "T(");
    hlo_ints_print(text, g->iota_permutation);
    hr_strbuf_add_char(text, ')');
  }
}

/* {output index}: (operand, {operand index}, kind), ... */
void hlo_print_aliasing(hr_strbuf_t *text, const hlo_aliasing_t *aliasing, bool with_kind) {
  for (int i = 0; i < aliasing->count; i++) {
    const hlo_alias_t *a = &aliasing->aliases[i];
    if (i) hr_strbuf_add_str(text, ", ");
    print_braced_ints(text, a->output_index);
    hr_strbuf_printf(text, ": (%ld, ", (long)a->operand);
    print_braced_ints(text, a->operand_index);
    if (with_kind) hr_strbuf_add_str(text, a->must ? ", must-alias" : ", may-alias");
    hr_strbuf_add_char(text, ')');
  }
}

/* N:M structured sparsity of one operand. */
static void print_sparsity_side(hr_strbuf_t *text, const char *name, const hlo_sparsity_side_t *s) {
  hr_strbuf_printf(text, "%s={sparsity=%ldx%ld dimension=%ld stride=%ld}", name, (long)s->non_zeros,
                   (long)s->block, (long)s->dimension, (long)s->stride);
}

static void print_sparsity(hr_strbuf_t *text, const hlo_sparsity_t *s) {
  hr_strbuf_add_char(text, '{');
  if (s->lhs.present) print_sparsity_side(text, "lhs", &s->lhs);
  if (s->lhs.present && s->rhs.present) hr_strbuf_add_char(text, ' ');
  if (s->rhs.present) print_sparsity_side(text, "rhs", &s->rhs);
  hr_strbuf_add_char(text, '}');
}

static void print_domain(hr_strbuf_t *text, const hlo_domain_t *d) {
  hr_strbuf_add_str(text, "{kind=");
  hlo_print_string(text, d->kind);
  hr_strbuf_add_str(text, ", entry=");
  hlo_sharding_print(text, d->entry);
  hr_strbuf_add_str(text, ", exit=");
  hlo_sharding_print(text, d->exit);
  hr_strbuf_add_char(text, '}');
}

static void print_shapes(hr_strbuf_t *text, const hlo_shapes_t *shapes) {
  hr_strbuf_add_char(text, '{');
  for (int i = 0; i < shapes->count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    hlo_shape_print(text, shapes->shapes[i], true);
  }
  hr_strbuf_add_char(text, '}');
}

static void print_enums(hr_strbuf_t *text, const hlo_enum_info_t *info, hr_ints_t values) {
  hr_strbuf_add_char(text, '{');
  for (int64_t i = 0; i < values.count; i++)
    hr_strbuf_printf(text, "%s%s", i ? "," : "", info->texts[values.data[i]]);
  hr_strbuf_add_char(text, '}');
}

/* Names of called computations; `list` adds braces. */
static void print_called(hr_strbuf_t *text, hlo_computation_t *const *called, int64_t count,
                         bool list, hlo_print_style_t style) {
  if (list) hr_strbuf_add_char(text, '{');
  for (int64_t i = 0; i < count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    hlo_print_name(text, called[i]->name, style);
  }
  if (list) hr_strbuf_add_char(text, '}');
}

void hlo_print_accuracy(hr_strbuf_t *text, const hlo_instr_t *instr) {
  const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_RESULT_ACCURACY);
  if (!attr || !attr->accuracy) return;
  const hlo_result_accuracy_t *a = attr->accuracy;
  if (!a->has_tolerance) {
    hr_strbuf_add_str(text, ", result_accuracy={mode=highest}");
    return;
  }
  hr_strbuf_add_str(text, ", result_accuracy={tolerance={atol=");
  hlo_print_double(text, a->atol);
  hr_strbuf_add_str(text, ",rtol=");
  hlo_print_double(text, a->rtol);
  hr_strbuf_printf(text, ",ulps=%ld}}", (long)a->ulps);
}

/* Whether an attribute prints ------------------------------------------------------------------ */

/* Comparison type of a compare that names none: by the class of its operands. */
static int default_comparison(const hlo_instr_t *instr) {
  if (!instr->operand_count) return HLO_COMPARISON_DEFAULT;
  switch (hr_dtype_class(instr->operands[0]->shape->dtype)) {
    case HR_CLASS_FLOAT:
    case HR_CLASS_COMPLEX:
      return HLO_COMPARISON_FLOAT;
    case HR_CLASS_SIGNED:
      return HLO_COMPARISON_SIGNED;
    default:
      return HLO_COMPARISON_UNSIGNED;
  }
}

/* Whether the attribute equals its default. A channel id always prints. */
static bool has_default_value(const hlo_instr_t *instr, const hlo_attr_t *attr) {
  const hlo_attr_info_t *info = &hlo_attr_table[attr->key];
  switch (info->kind) {
    case HLO_KIND_BOOL:
      return attr->flag == (info->fallback != 0);
    case HLO_KIND_INT:
      return attr->key != HLO_ATTR_CHANNEL_ID && attr->integer == info->fallback;
    case HLO_KIND_STRING:
      return attr->text.size == 0;
    case HLO_KIND_ENUM:
      return attr->integer == info->fallback ||
             (attr->key == HLO_ATTR_TYPE && attr->integer == default_comparison(instr));
    case HLO_KIND_ENUMS:
      for (int64_t i = 0; i < attr->ints.count; i++)
        if (attr->ints.data[i] != info->fallback) return false;
      return true;
    case HLO_KIND_INTS:
      return attr->ints.count == 0;
    case HLO_KIND_COMPUTATIONS:
      return attr->called_count == 0;
    case HLO_KIND_WINDOW:
      return attr->window->rank == 0;
    case HLO_KIND_ALIASING:
      return attr->aliasing->count == 0;
    default:
      return false;
  }
}

/* Prints an absent attribute that is always shown, with its default. Returns false if its kind has
 * no default to print. */
static bool print_absent(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_info_t *info = &hlo_attr_table[key];
  bool list = info->kind == HLO_KIND_INTS || info->kind == HLO_KIND_GROUPS;
  bool outfeed = key == HLO_ATTR_OUTFEED_SHAPE && instr->operand_count;
  if (!list && !outfeed && info->kind != HLO_KIND_BOOL) return false;
  hr_strbuf_printf(text, ", %s=", info->text);
  if (outfeed)
    hlo_shape_print(text, instr->operands[0]->shape, true);
  else
    hr_strbuf_add_str(text, list ? "{}" : bool_text(info->fallback));
  return true;
}

/* epsilon, the only attribute with a fraction, is an f32 in HLO. */
static void print_narrow(hr_strbuf_t *text, double number) {
  float narrow = (float)number;
  hlo_print_number(text, HR_F32, &narrow);
}

/* Prints numbers, strings, enums and lists of them. Returns whether the kind is one of these. */
static bool print_plain_value(hr_strbuf_t *text, const hlo_attr_t *attr) {
  const hlo_attr_info_t *info = &hlo_attr_table[attr->key];
  switch ((int)info->kind) {
    case HLO_KIND_BOOL:
      hr_strbuf_add_str(text, bool_text(attr->flag));
      return true;
    case HLO_KIND_INT:
      hr_strbuf_add_int(text, attr->integer);
      return true;
    case HLO_KIND_FLOAT:
      print_narrow(text, attr->number);
      return true;
    case HLO_KIND_STRING:
      hlo_print_string(text, attr->text);
      return true;
    case HLO_KIND_ENUM:
      hr_strbuf_add_str(text, hlo_enum_table[info->enum_id].texts[attr->integer]);
      return true;
    case HLO_KIND_ENUMS:
      print_enums(text, &hlo_enum_table[info->enum_id], attr->ints);
      return true;
    case HLO_KIND_INTS:
      print_braced_ints(text, attr->ints);
      return true;
    case HLO_KIND_INT_LISTS:
      print_int_lists(text, attr->lists);
      return true;
    default:
      return false;
  }
}

/* Prints the kinds with a grammar of their own. RESULT_ACCURACY is not among them: it comes after
 * the metadata (hlo_print_accuracy). */
static void print_structured_value(hr_strbuf_t *text, const hlo_attr_t *attr) {
  switch ((int)hlo_attr_table[attr->key].kind) {
    case HLO_KIND_SHAPE:
      hlo_shape_print(text, attr->shape, true);
      break;
    case HLO_KIND_SHAPES:
      print_shapes(text, attr->shapes);
      break;
    case HLO_KIND_WINDOW:
      print_window(text, attr->window);
      break;
    case HLO_KIND_DIM_LABELS:
      print_labels(text, attr->labels);
      break;
    case HLO_KIND_PADDING:
      print_padding(text, attr->padding);
      break;
    case HLO_KIND_SLICE:
      print_slice(text, attr->slice);
      break;
    case HLO_KIND_GROUPS:
      print_groups(text, attr->groups);
      break;
    case HLO_KIND_ALIASING:
      hr_strbuf_add_char(text, '{');
      hlo_print_aliasing(text, attr->aliasing, false);
      hr_strbuf_add_char(text, '}');
      break;
    case HLO_KIND_LITERAL:
      hlo_print_typed_literal(text, attr->literal);
      break;
    case HLO_KIND_DOMAIN:
      print_domain(text, attr->domain);
      break;
    case HLO_KIND_SPARSITY:
      print_sparsity(text, attr->sparsity);
      break;
    default:
      break;
  }
}

/* Prints a value by its kind. `called` are the computations that the attribute names. */
static void print_value(hr_strbuf_t *text, const hlo_attr_t *attr, hlo_computation_t *const *called,
                        hlo_print_style_t style) {
  hlo_attr_kind_t kind = hlo_attr_table[attr->key].kind;
  if (kind == HLO_KIND_COMPUTATION || kind == HLO_KIND_COMPUTATIONS)
    print_called(text, called, attr->called_count, kind == HLO_KIND_COMPUTATIONS, style);
  else if (!print_plain_value(text, attr))
    print_structured_value(text, attr);
}

/* `called` advances with the attributes that name computations: instr->called is in their order. */
void hlo_print_attrs(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_print_style_t style) {
  const hlo_op_info_t *op = &hlo_op_table[instr->op];
  hlo_computation_t *const *called = instr->called;
  for (int i = 0; i < op->attr_count; i++) {
    hlo_attr_key_t key = (hlo_attr_key_t)op->attrs[i].key;
    const hlo_attr_info_t *info = &hlo_attr_table[key];
    const hlo_attr_t *attr = hlo_attr_find(instr, key);
    if (key == HLO_ATTR_PARAMETER_NUMBER || key == HLO_ATTR_RESULT_ACCURACY)
      continue; /* printed elsewhere */
    if (!attr && op->attrs[i].use == HLO_USE_SHOW) print_absent(text, instr, key);
    if (!attr || (op->attrs[i].use == HLO_USE_MAY && has_default_value(instr, attr))) continue;
    hr_strbuf_printf(text, ", %s=", info->text);
    print_value(text, attr, called, style);
    if (info->kind == HLO_KIND_COMPUTATION || info->kind == HLO_KIND_COMPUTATIONS)
      called += attr->called_count;
  }
}

void hlo_print_attr(hr_strbuf_t *text, const hlo_instr_t *instr, hlo_attr_key_t key) {
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  if (!attr || has_default_value(instr, attr)) return;
  hr_strbuf_printf(text, ", %s=", hlo_attr_table[key].text);
  print_value(text, attr, NULL, HLO_PRINT_SHORT);
}
