/* Shardings of values: checked by themselves and against types; found for a value; and compared
 * across an op that changes unreduced axes. */
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

bool sdy_meshes_equal(const sdy_mesh_t *a, const sdy_mesh_t *b) {
  if (a == b) return true;
  if (a->axis_count != b->axis_count || a->id_count != b->id_count) return false;
  for (int k = 0; k < a->axis_count; k++)
    if (!hr_str_equal(a->axes[k].name, b->axes[k].name) || a->axes[k].size != b->axes[k].size)
      return false;
  return !a->id_count || !memcmp(a->ids, b->ids, (size_t)a->id_count * sizeof *a->ids);
}

/* --- meshes --- */

static void list_names(const sdy_verifier_t *verifier, hr_strbuf_t *text) {
  for (size_t i = 0; i < verifier->meshes.capacity; i++)
    if (verifier->meshes.slots[i].value)
      hr_strbuf_printf(text, "%s@%.*s", text->size ? ", " : "",
                       HR_STR_ARGS(verifier->meshes.slots[i].key));
}

static hr_status_t find_mesh(sdy_verifier_t *verifier, sdy_sharding_t *sharding) {
  hr_strbuf_t names;
  if (sharding->mesh) return NULL;
  sharding->mesh = hr_map_get(&verifier->meshes, sharding->mesh_name);
  if (sharding->mesh) return NULL;
  hr_strbuf_init(&names);
  list_names(verifier, &names);
  hr_status_t st = sdy_error(verifier, sharding->at, "there is no mesh @%.*s; the program has %s",
                             HR_STR_ARGS(sharding->mesh_name), names.size ? names.data : "none");
  hr_strbuf_deinit(&names);
  return st;
}

/* --- one sharding --- */

/* Axes of enclosing manual computations divide no value inside. */
static hr_status_t check_manual(sdy_verifier_t *verifier, sdy_axes_t axes) {
  for (const sdy_manual_t *manual = verifier->manual; manual; manual = manual->outer)
    for (int i = 0; i < axes.count; i++)
      for (int k = 0; k < manual->axes->count; k++)
        if (hr_str_equal(axes.items[i].name, manual->axes->items[k].name))
          return sdy_error(verifier, axes.items[i].name.data,
                           "axis \"%.*s\" belongs to the manual computation around",
                           HR_STR_ARGS(axes.items[i].name));
  return NULL;
}

static hr_status_t check_axes(sdy_verifier_t *verifier, sdy_sharding_t *sharding) {
  sdy_axes_t seen = {0, NULL};
  for (int d = 0; d < sharding->rank; d++) {
    const sdy_dim_t *dim = &sharding->dims[d];
    if (dim->has_priority && !dim->is_open && !dim->axes.count)
      return sdy_error(verifier, dim->at,
                       "dimension %d has a priority, but is closed and has no axes", d);
    HR_TRY(sdy_resolve_axes(verifier, sharding->mesh, dim->axes, &seen));
  }
  HR_TRY(sdy_resolve_axes(verifier, sharding->mesh, sharding->replicated, &seen));
  HR_TRY(sdy_check_order(verifier, sharding->replicated, "replicated"));
  HR_TRY(sdy_resolve_axes(verifier, sharding->mesh, sharding->unreduced, &seen));
  HR_TRY(sdy_check_order(verifier, sharding->unreduced, "unreduced"));
  return check_manual(verifier, seen);
}

static bool has_rank(const mlir_type_t *type) {
  return type->kind == MLIR_TYPE_TENSOR || type->kind == MLIR_TYPE_MEMREF;
}

static bool is_bare(const sdy_sharding_t *sharding) {
  return !sharding->rank && !sharding->replicated.count && !sharding->unreduced.count;
}

/* The type whose dimensions the sharding is for: a tuple of one stands for its element. */
static hr_status_t find_array(sdy_verifier_t *verifier, const sdy_sharding_t *sharding,
                              const mlir_type_t *type, const mlir_type_t **out_array) {
  *out_array = type;
  if (type->kind == MLIR_TYPE_TUPLE) {
    if (type->result_count != 1)
      return sdy_error(verifier, sharding->at, "a sharding for a tuple of %d, want of 1",
                       type->result_count);
    *out_array = type->results[0];
  }
  if ((*out_array)->kind == MLIR_TYPE_UNRANKED_TENSOR)
    return sdy_error(verifier, sharding->at, "a sharding for a tensor without a rank");
  return NULL;
}

hr_status_t sdy_check_sharding(sdy_verifier_t *verifier, sdy_sharding_t *sharding,
                               const mlir_type_t *type) {
  const mlir_type_t *array;
  HR_TRY(find_mesh(verifier, sharding));
  if (sdy_mesh_is_maximal(sharding->mesh) || !type) {
    if (is_bare(sharding)) return NULL;
    return sdy_error(verifier, sharding->at,
                     "a sharding of %d dimensions, or with further axes, %s: want [] alone",
                     sharding->rank, type ? "on a mesh of one device" : "for no value");
  }
  HR_TRY(find_array(verifier, sharding, type, &array));
  if (!has_rank(array)) {
    if (is_bare(sharding)) return NULL;
    return sdy_error(verifier, sharding->at,
                     "a sharding of %d dimensions, or with further axes, for a value that is no "
                     "array: want [] alone",
                     sharding->rank);
  }
  if (sharding->rank != array->rank)
    return sdy_error(verifier, sharding->at, "a sharding of %d dimension%s for a value of rank %d",
                     sharding->rank, sharding->rank == 1 ? "" : "s", array->rank);
  return check_axes(verifier, sharding);
}

/* --- lists --- */

hr_status_t sdy_check_shardings(sdy_verifier_t *verifier, hr_str_t text, int count,
                                const mlir_value_t *const *values, const char *what,
                                sdy_shardings_t *out_shardings) {
  HR_TRY(sdy_parse_shardings(verifier, text, out_shardings));
  if (!count && out_shardings->count == 1 && is_bare(&out_shardings->items[0]))
    return sdy_check_sharding(verifier, &out_shardings->items[0], NULL);
  if (!count && out_shardings->count == 1) {
    HR_TRY(find_mesh(verifier, &out_shardings->items[0]));
    if (sdy_mesh_is_maximal(out_shardings->items[0].mesh))
      return sdy_check_sharding(verifier, &out_shardings->items[0], NULL);
  }
  if (out_shardings->count != count) {
    const char *plural = out_shardings->count == 1 ? "" : "s",
               *values_plural = count == 1 ? "" : "s";
    return sdy_error(verifier, out_shardings->at, "%d sharding%s for %d %s%s", out_shardings->count,
                     plural, count, what, values_plural);
  }
  for (int i = 0; i < count; i++) {
    if (count == 1)
      sdy_set_subject(verifier, "%s: ", what);
    else
      sdy_set_subject(verifier, "%s %d: ", what, i);
    HR_TRY(sdy_check_sharding(verifier, &out_shardings->items[i], values[i]->type));
  }
  sdy_set_subject(verifier, "%s", "");
  return NULL;
}

/* --- the sharding of a value --- */

/* The attribute of the op or argument that gives the value a sharding, and the value's number in
 * it; -1: it is for one value. NULL: none. */
static const mlir_attr_t *attr_of_result(const mlir_value_t *value, int *out_index) {
  static const struct {
    const char *op, *attr;
    bool is_list;
  } rows[] = {{"sdy.sharding_constraint", "sharding", false},
              {"sdy.reshard", "sharding", false},
              {"sdy.data_flow_edge", "sharding", false},
              {"sdy.manual_computation", "out_shardings", true},
              {"sdy.named_computation", "out_shardings", true}};
  const mlir_op_t *op = value->owner;
  const mlir_attr_t *out = mlir_op_attr(op, "out_sharding");
  *out_index = -1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!hr_str_is(op->name, rows[i].op)) continue;
    if (rows[i].is_list) *out_index = value->index;
    return mlir_op_attr(op, rows[i].attr);
  }
  if (out) return out;
  *out_index = value->index;
  return mlir_op_attr(op, "sdy.sharding");
}

static const mlir_attr_t *attr_of_argument(const mlir_value_t *value, bool *out_known,
                                           int *out_index) {
  const mlir_op_t *parent = value->block->parent->parent;
  *out_index = -1;
  *out_known = true;
  if (hr_str_is(parent->name, "func.func")) {
    const mlir_attr_t *list = mlir_op_attr(parent, "arg_attrs");
    bool has_it = list && list->kind == MLIR_ATTR_ARRAY && value->index < list->count;
    return has_it ? mlir_attr_field(list->items[value->index], "sdy.sharding") : NULL;
  }
  *out_index = value->index;
  if (hr_str_is(parent->name, "sdy.manual_computation") ||
      hr_str_is(parent->name, "sdy.named_computation"))
    return mlir_op_attr(parent, "in_shardings");
  *out_known = false;
  return NULL;
}

/* Inside a manual computation an argument is not cut by the manual axes. */
static hr_status_t drop_manual(sdy_verifier_t *verifier, const mlir_value_t *value,
                               sdy_sharding_t *sharding) {
  const mlir_op_t *parent = value->owner ? NULL : value->block->parent->parent;
  sdy_axes_t axes = {0, NULL};
  if (!parent || !hr_str_is(parent->name, "sdy.manual_computation")) return NULL;
  for (const sdy_manual_t *manual = verifier->manual; manual; manual = manual->outer)
    HR_TRY(sdy_union_axes(verifier, sharding->mesh, axes, *manual->axes, &axes));
  for (int d = 0; d < sharding->rank; d++) {
    sdy_axes_t *own = &sharding->dims[d].axes;
    int skipped = 0;
    for (int i = 0; i < own->count; i++) {
      bool is_manual = false;
      for (int k = 0; k < axes.count; k++)
        is_manual |= hr_str_equal(own->items[i].name, axes.items[k].name);
      if (is_manual) skipped++;
    }
    own->items += skipped;
    own->count -= skipped;
  }
  return NULL;
}

hr_status_t sdy_sharding_of(sdy_verifier_t *verifier, const mlir_value_t *value, bool *out_known,
                            sdy_sharding_t **out_sharding) {
  int index;
  sdy_shardings_t list;
  sdy_sharding_t *sharding;
  *out_sharding = NULL;
  *out_known = true;
  const mlir_attr_t *attr =
      value->owner ? attr_of_result(value, &index) : attr_of_argument(value, out_known, &index);
  if (!attr) return NULL;
  HR_TRY(HR_NEW(&verifier->scratch, &sharding));
  if (index < 0) {
    HR_TRY(sdy_parse_sharding(verifier, sdy_attr_text(attr), sharding));
  } else {
    HR_TRY(sdy_parse_shardings(verifier, sdy_attr_text(attr), &list));
    if (index >= list.count) return NULL; /* refused, or will be, with its op */
    *sharding = list.items[index];
  }
  const sdy_manual_t *manual = verifier->manual;
  verifier->manual = NULL; /* the value is checked where it is defined */
  hr_status_t st = sdy_check_sharding(verifier, sharding, value->type);
  verifier->manual = manual;
  HR_TRY(st);
  *out_sharding = sharding;
  return drop_manual(verifier, value, sharding);
}

/* --- unreduced axes across an op --- */

/* The first unreduced axis of `sharding` that the other has not, or (kept) has; NULL: none. */
static const sdy_axis_t *find_unreduced(const sdy_sharding_t *sharding, const sdy_sharding_t *other,
                                        bool kept) {
  for (int i = 0; i < sharding->unreduced.count; i++) {
    sdy_axes_t one = {1, &sharding->unreduced.items[i]};
    if ((sdy_find_overlap(one, other->unreduced) != NULL) == kept) return one.items;
  }
  return NULL;
}

static bool is_same(const char *a, const char *b) { return strcmp(a, b) == 0; }

hr_status_t sdy_check_transition(sdy_verifier_t *verifier, const sdy_sharding_t *from,
                                 const sdy_sharding_t *to, const sdy_transition_t *rules) {
  if (!sdy_meshes_equal(from->mesh, to->mesh)) return NULL;
  const sdy_axis_t *added = find_unreduced(to, from, false);
  const sdy_axis_t *removed = find_unreduced(from, to, false);
  const sdy_axis_t *kept = find_unreduced(to, from, true);
  if (added && !rules->can_add)
    return sdy_error(verifier, added->name.data,
                     "axis \"%.*s\" is unreduced in the result, but not in the operand",
                     HR_STR_ARGS(added->name));
  if (kept && !is_same(from->reduction, to->reduction))
    return sdy_error(verifier, kept->name.data,
                     "axis \"%.*s\" is unreduced of a %s, want the operand's %s",
                     HR_STR_ARGS(kept->name), to->reduction, from->reduction);
  if (added && !is_same(to->reduction, "sum"))
    return sdy_error(verifier, added->name.data,
                     "axis \"%.*s\" becomes unreduced of a %s, want of a sum",
                     HR_STR_ARGS(added->name), to->reduction);
  if (removed && rules->removes && !is_same(from->reduction, rules->removes))
    return sdy_error(verifier, NULL,
                     "its reduction is %s, but the operand's unreduced axis \"%.*s\" wants %s",
                     rules->removes, HR_STR_ARGS(removed->name), from->reduction);
  return NULL;
}
