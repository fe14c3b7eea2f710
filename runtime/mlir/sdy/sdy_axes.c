/* Lists of axes: looked up in a mesh, checked, compared. A whole axis of size N is kept as pre 1,
 * size N; so a list says the same as another one if they are equal member by member. */
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

static int find_axis(const sdy_mesh_t *mesh, hr_str_t name) {
  for (int a = 0; a < mesh->axis_count; a++)
    if (hr_str_equal(mesh->axes[a].name, name)) return a;
  return -1;
}

/* The error lists the axes that there are. */
static hr_status_t no_axis(sdy_verifier_t *verifier, const sdy_mesh_t *mesh, hr_str_t name) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int a = 0; a < mesh->axis_count; a++)
    hr_strbuf_printf(&text, "%s\"%.*s\"=%ld", a ? ", " : "", HR_STR_ARGS(mesh->axes[a].name),
                     (long)mesh->axes[a].size);
  hr_status_t st = sdy_error(verifier, name.data, "the mesh has no axis \"%.*s\", want one of [%s]",
                             HR_STR_ARGS(name), text.data ? text.data : "");
  hr_strbuf_deinit(&text);
  return st;
}

/* pre * size must divide the axis; texts have numbers below 2^31, so the product fits. */
static hr_status_t check_part(sdy_verifier_t *verifier, const sdy_axis_t *axis, int64_t whole) {
  if (axis->pre < 1 || axis->size < 2 || whole % (axis->pre * axis->size))
    return sdy_error(verifier, axis->name.data,
                     "sub-axis (%ld)%ld of axis \"%.*s\", want one of at least 2 that divides %ld",
                     (long)axis->pre, (long)axis->size, HR_STR_ARGS(axis->name), (long)whole);
  if (axis->size == whole)
    return sdy_error(verifier, axis->name.data,
                     "sub-axis (%ld)%ld is all of axis \"%.*s\", want the name alone",
                     (long)axis->pre, (long)axis->size, HR_STR_ARGS(axis->name));
  return NULL;
}

static hr_status_t resolve_axis(sdy_verifier_t *verifier, const sdy_mesh_t *mesh,
                                sdy_axis_t *axis) {
  axis->number = find_axis(mesh, axis->name);
  if (axis->number < 0) return no_axis(verifier, mesh, axis->name);
  int64_t whole = mesh->axes[axis->number].size;
  if (axis->is_part) return check_part(verifier, axis, whole);
  axis->size = whole;
  return NULL;
}

/* True if `next` continues `axis` to a larger sub-axis. */
static bool continues(const sdy_axis_t *axis, const sdy_axis_t *next) {
  return axis->is_part && next->is_part && axis->number == next->number &&
         axis->pre * axis->size == next->pre;
}

bool sdy_axis_overlaps(const sdy_axis_t *a, const sdy_axis_t *b) {
  if (a->number != b->number) return false;
  /* an axis of size 1 has no range of factors, but is named twice */
  if (!a->is_part && !b->is_part) return true;
  return a->pre < b->pre * b->size && b->pre < a->pre * a->size;
}

const sdy_axis_t *sdy_find_overlap(sdy_axes_t axes, sdy_axes_t others) {
  for (int i = 0; i < axes.count; i++)
    for (int k = 0; k < others.count; k++)
      if (sdy_axis_overlaps(&axes.items[i], &others.items[k])) return &axes.items[i];
  return NULL;
}

/* "x":(1)2 */
static void print_axis(hr_strbuf_t *text, const sdy_axis_t *axis) {
  hr_strbuf_printf(text, "\"%.*s\"", HR_STR_ARGS(axis->name));
  if (axis->is_part) hr_strbuf_printf(text, ":(%ld)%ld", (long)axis->pre, (long)axis->size);
}

const char *sdy_axes_text(sdy_verifier_t *verifier, sdy_axes_t axes) {
  hr_strbuf_t text;
  const char *copy = "";
  hr_strbuf_init(&text);
  for (int i = 0; i < axes.count; i++) {
    if (i) hr_strbuf_add_str(&text, ", ");
    print_axis(&text, &axes.items[i]);
  }
  if (text.data) hr_status_release(hr_arena_printf(&verifier->scratch, &copy, "%s", text.data));
  hr_strbuf_deinit(&text);
  return copy;
}

hr_status_t sdy_resolve_axes(sdy_verifier_t *verifier, const sdy_mesh_t *mesh, sdy_axes_t axes,
                             sdy_axes_t *seen) {
  for (int i = 0; i < axes.count; i++) {
    sdy_axis_t *axis = &axes.items[i];
    HR_TRY(resolve_axis(verifier, mesh, axis));
    if (sdy_find_overlap((sdy_axes_t){1, axis}, *seen))
      return sdy_error(verifier, axis->name.data, "axis %s is used twice",
                       sdy_axes_text(verifier, (sdy_axes_t){1, axis}));
    if (i && continues(axis - 1, axis))
      return sdy_error(verifier, axis->name.data, "sub-axes %s are neighbours, want one sub-axis",
                       sdy_axes_text(verifier, (sdy_axes_t){2, axis - 1}));
    HR_TRY(sdy_copy_axes(verifier, *seen, 1, seen));
    seen->items[seen->count++] = *axis;
  }
  return NULL;
}

static bool is_before(const sdy_axis_t *a, const sdy_axis_t *b) {
  return a->number < b->number || (a->number == b->number && a->pre < b->pre);
}

hr_status_t sdy_check_order(sdy_verifier_t *verifier, sdy_axes_t axes, const char *what) {
  for (int i = 1; i < axes.count; i++)
    if (is_before(&axes.items[i], &axes.items[i - 1]))
      return sdy_error(verifier, axes.items[i].name.data,
                       "%s axes %s, want them in the order of the mesh", what,
                       sdy_axes_text(verifier, axes));
  return NULL;
}

bool sdy_axes_equal(sdy_axes_t a, sdy_axes_t b) {
  for (int i = 0; i < a.count && i < b.count; i++)
    if (a.items[i].number != b.items[i].number || a.items[i].pre != b.items[i].pre ||
        a.items[i].size != b.items[i].size)
      return false;
  return a.count == b.count;
}

hr_status_t sdy_copy_axes(sdy_verifier_t *verifier, sdy_axes_t axes, int more,
                          sdy_axes_t *out_axes) {
  sdy_axis_t *items;
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, axes.count + more, &items));
  if (axes.count) memcpy(items, axes.items, (size_t)axes.count * sizeof *items);
  *out_axes = (sdy_axes_t){axes.count, items};
  return NULL;
}

void sdy_append_axis(const sdy_mesh_t *mesh, sdy_axes_t *axes, const sdy_axis_t *axis) {
  sdy_axis_t *last = axes->count ? &axes->items[axes->count - 1] : NULL;
  if (!last || !continues(last, axis)) {
    axes->items[axes->count++] = *axis;
    return;
  }
  last->size *= axis->size;
  last->is_part = last->size < mesh->axes[last->number].size;
}

/* Insertion sort: the lists have few members. */
hr_status_t sdy_union_axes(sdy_verifier_t *verifier, const sdy_mesh_t *mesh, sdy_axes_t a,
                           sdy_axes_t b, sdy_axes_t *out_axes) {
  sdy_axes_t all, merged;
  HR_TRY(sdy_copy_axes(verifier, a, b.count, &all));
  for (int i = 0; i < b.count; i++) all.items[all.count++] = b.items[i];
  for (int i = 1; i < all.count; i++)
    for (int k = i; k && is_before(&all.items[k], &all.items[k - 1]); k--) {
      sdy_axis_t swapped = all.items[k];
      all.items[k] = all.items[k - 1];
      all.items[k - 1] = swapped;
    }
  HR_TRY(sdy_copy_axes(verifier, (sdy_axes_t){0, NULL}, all.count, &merged));
  for (int i = 0; i < all.count; i++) sdy_append_axis(mesh, &merged, &all.items[i]);
  *out_axes = merged;
  return NULL;
}

int64_t sdy_axes_parts(sdy_axes_t axes) {
  int64_t parts = 1;
  for (int i = 0; i < axes.count; i++)
    if (__builtin_mul_overflow(parts, axes.items[i].size, &parts)) return INT64_MAX;
  return parts;
}
