/* Reads shardings. Axes are looked up by name in the mesh that the sharding names and replaced by
 * their images; axes that a smaller world dropped are left out. Cost: linear in the text. */
#include "partition/annotations/shardings.h"

#include <string.h>

#include "ir/sharding.h"

hr_status_t spmd_read_inline_meshes(spmd_meshes_t *meshes, hr_str_t text) {
  static const char word[] = "mesh<[";
  hr_scan_t scan = hr_scan(text, "sharding");
  while (scan.at < scan.end) {
    const char *at = memmem(scan.at, (size_t)(scan.end - scan.at), word, sizeof word - 1);
    if (!at) return NULL;
    scan.at = at + sizeof word - 2;
    const char *end = memchr(scan.at, '>', (size_t)(scan.end - scan.at));
    hr_str_t name = {at, end ? (size_t)(end - at) + 1 : 0};
    if (!end) return hr_scan_want(&scan, ">");
    if (spmd_meshes_find(meshes, name) < 0) HR_TRY(spmd_meshes_read_one(meshes, &scan, name));
    scan.at = end;
  }
  return NULL;
}

hr_status_t spmd_error_no_axis(hr_code_t code, hr_strbuf_t *text, const spmd_mesh_source_t *source,
                               hr_str_t name) {
  hr_strbuf_printf(text, " no axis \"%.*s\", want one of [", HR_STR_ARGS(name));
  for (int a = 0; a < source->axis_count; a++)
    hr_strbuf_printf(text, "%s\"%.*s\"=%ld", a ? ", " : "", HR_STR_ARGS(source->axis_names[a]),
                     (long)source->axis_sizes[a]);
  hr_strbuf_add_char(text, ']');
  HR_TRY(hr_strbuf_finish(text));
  return hr_error(code, "%s", text->data);
}

/* --- sdy --- */

static hr_status_t no_axis(const spmd_mesh_source_t *source, hr_str_t name) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "mesh @%.*s has", HR_STR_ARGS(source->name));
  hr_status_t st = spmd_error_no_axis(HR_INVALID, &text, source, name);
  hr_strbuf_deinit(&text);
  return st;
}

/* "a" or "a":(2)4; appended to `axes`. */
static hr_status_t take_axis(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                             hr_scan_t *scan, spmd_axes_t *axes) {
  hr_str_t name;
  spmd_axes_t image;
  int64_t pre = 1, size;
  HR_TRY(hr_scan_quoted(scan, &name));
  int axis = spmd_source_axis(source, name);
  if (axis < 0) return no_axis(source, name);
  size = source->axis_sizes[axis];
  if (hr_scan_take(scan, ":")) {
    HR_TRY(hr_scan_want(scan, "("));
    HR_TRY(hr_scan_number(scan, &pre));
    HR_TRY(hr_scan_want(scan, ")"));
    HR_TRY(hr_scan_number(scan, &size));
    int64_t whole = source->axis_sizes[axis];
    if (pre < 1 || size < 2 || size == whole || whole % (pre * size))
      return hr_error(HR_INVALID,
                      "sub-axis (%ld)%ld of axis \"%.*s\", want a part of at least 2 that divides "
                      "%ld",
                      (long)pre, (long)size, HR_STR_ARGS(name), (long)source->axis_sizes[axis]);
  }
  HR_TRY(spmd_meshes_image(meshes, source, axis, pre, size, &image));
  if (spmd_axes_overlap(image, *axes))
    return hr_error(HR_INVALID, "axis \"%.*s\" is used twice in one sharding", HR_STR_ARGS(name));
  return spmd_axes_concat(meshes->arena, *axes, image, axes);
}

/* The list after "{", up to "}". */
static hr_status_t take_axes(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                             hr_scan_t *scan, spmd_axes_t *axes) {
  for (bool more = !hr_scan_take(scan, "}"); more;) {
    HR_TRY(take_axis(meshes, source, scan, axes));
    HR_TRY(hr_scan_more(scan, "}", &more));
  }
  return NULL;
}

/* {"a", "b":(1)2, ?}p1 */
static hr_status_t take_dim(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                            hr_scan_t *scan, spmd_dim_t *dim) {
  int64_t priority;
  *dim = (spmd_dim_t){.priority = SPMD_NO_PRIORITY};
  HR_TRY(hr_scan_want(scan, "{"));
  bool is_empty = hr_scan_take(scan, "}");
  for (bool more = !is_empty; more;) {
    if (hr_scan_take(scan, "?"))
      dim->open = true;
    else
      HR_TRY(take_axis(meshes, source, scan, &dim->axes));
    if (dim->open)
      HR_TRY(hr_scan_want(scan, "}"));
    else
      HR_TRY(hr_scan_more(scan, "}", &more));
    more &= !dim->open;
  }
  if (!hr_scan_take(scan, "p")) return NULL;
  HR_TRY(hr_scan_number(scan, &priority));
  if (is_empty)
    return hr_error(HR_INVALID, "priority %ld of a closed dimension without axes", (long)priority);
  dim->priority = (int)priority;
  return NULL;
}

/* Reads the reduction of unreduced axes; no word means a sum. */
static hr_status_t take_kind(hr_scan_t *scan, spmd_reduction_t *out_kind) {
  static const struct {
    const char *word;
    spmd_reduction_t kind;
  } kinds[] = {{"max", SPMD_MAX}, {"min", SPMD_MIN}, {"sum", SPMD_SUM}, {"add", SPMD_SUM}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (hr_scan_take(scan, kinds[i].word)) *out_kind = kinds[i].kind;
  return hr_scan_want(scan, "{");
}

/* , replicated={..}, unreduced=max{..} */
static hr_status_t take_rest(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                             hr_scan_t *scan, spmd_sharding_t *sharding) {
  while (hr_scan_take(scan, ",")) {
    if (hr_scan_take(scan, "replicated={")) {
      HR_TRY(take_axes(meshes, source, scan, &sharding->replicated));
    } else {
      HR_TRY(hr_scan_want(scan, "unreduced="));
      HR_TRY(take_kind(scan, &sharding->reduction));
      HR_TRY(take_axes(meshes, source, scan, &sharding->unreduced));
    }
  }
  HR_TRY(spmd_axes_sort(meshes->arena, sharding->replicated, &sharding->replicated));
  return spmd_axes_sort(meshes->arena, sharding->unreduced, &sharding->unreduced);
}

/* The message lists the program's meshes that have names. */
static hr_status_t no_mesh(const spmd_meshes_t *meshes, hr_str_t name) {
  hr_strbuf_t names;
  hr_strbuf_init(&names);
  for (size_t i = 0; i < meshes->sources.count; i++) {
    hr_str_t known = meshes->sources.data[i].name;
    if (!known.size || memchr(known.data, '<', known.size)) continue; /* a grid; an inline mesh */
    hr_strbuf_printf(&names, "%s@%.*s", names.size ? ", " : "", HR_STR_ARGS(known));
  }
  hr_status_t st = hr_error(HR_INVALID, "there is no mesh @%.*s; the program has %s",
                            HR_STR_ARGS(name), names.size ? names.data : "none");
  hr_strbuf_deinit(&names);
  return st;
}

/* Reads @name, @"name" or mesh<["a"=2]>; the text of an inline mesh is its source's name. */
static hr_status_t take_mesh(const spmd_meshes_t *meshes, hr_scan_t *scan,
                             const spmd_mesh_source_t **out_source) {
  hr_str_t name;
  if (hr_scan_take(scan, "@")) {
    bool quoted = scan->at < scan->end && *scan->at == '"';
    if (quoted)
      HR_TRY(hr_scan_quoted(scan, &name));
    else
      name = hr_scan_name(scan);
  } else {
    HR_TRY(hr_scan_want(scan, "mesh<["));
    const char *start = scan->at - 6;
    while (scan->at < scan->end && *scan->at != '>') scan->at++;
    HR_TRY(hr_scan_want(scan, ">"));
    name = (hr_str_t){start, (size_t)(scan->at - start)};
  }
  int found = spmd_meshes_find(meshes, name);
  if (found < 0) return no_mesh(meshes, name);
  *out_source = &meshes->sources.data[found];
  return NULL;
}

/* [{"a"}, {?}] */
static hr_status_t take_dims(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                             hr_scan_t *scan, spmd_sharding_t *sharding) {
  spmd_dim_t dims[HLO_MAX_RANK], *copy;
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more; sharding->rank++) {
    if (sharding->rank == HLO_MAX_RANK)
      return hr_error(HR_INVALID, "a sharding of more than %d dimensions", HLO_MAX_RANK);
    HR_TRY(take_dim(meshes, source, scan, &dims[sharding->rank]));
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  HR_TRY(HR_NEW_ARRAY(meshes->arena, sharding->rank, &copy));
  memcpy(copy, dims, (size_t)sharding->rank * sizeof *dims);
  sharding->dims = copy;
  return NULL;
}

/* <@mesh, [..], replicated={..}, unreduced={..}> with or without the attribute's name in front. */
hr_status_t spmd_read_sharding(const spmd_meshes_t *meshes, hr_scan_t *scan,
                               const spmd_sharding_t **out_sharding) {
  const spmd_mesh_source_t *source;
  spmd_sharding_t *sharding;
  HR_TRY(HR_NEW(meshes->arena, &sharding));
  hr_scan_take(scan, "#sdy.sharding");
  HR_TRY(hr_scan_want(scan, "<"));
  HR_TRY(take_mesh(meshes, scan, &source));
  *sharding = (spmd_sharding_t){
      .mesh = meshes->mesh, .device = source->device, .placement = source->placement};
  HR_TRY(hr_scan_want(scan, ","));
  HR_TRY(take_dims(meshes, source, scan, sharding));
  HR_TRY(take_rest(meshes, source, scan, sharding));
  *out_sharding = sharding;
  return hr_scan_want(scan, ">");
}

/* Reads all shardings before it compares their number, so that a malformed one is reported first.
 */
hr_status_t spmd_read_shardings(const spmd_meshes_t *meshes, hr_str_t text, int count,
                                const spmd_sharding_t **out_shardings) {
  hr_scan_t scan = hr_scan(text, "sharding");
  int found = 0;
  if (!hr_scan_take(&scan, "#sdy.sharding_per_value<[") && !hr_scan_take(&scan, "[")) {
    if (count != 1) return hr_error(HR_INVALID, "one sharding for %d values", count);
    return spmd_read_sharding(meshes, &scan, out_shardings);
  }
  for (bool more = !hr_scan_take(&scan, "]"); more; found++) {
    const spmd_sharding_t *sharding;
    HR_TRY(spmd_read_sharding(meshes, &scan, &sharding));
    if (found < count) out_shardings[found] = sharding;
    HR_TRY(hr_scan_more(&scan, "]", &more));
  }
  if (found == count) return NULL;
  return hr_error(HR_INVALID, "%d sharding%s for %d value%s", found, found == 1 ? "" : "s", count,
                  count == 1 ? "" : "s");
}

/* The next mesh that a text of shardings names, "<@mesh," or "<mesh<[...]>,"; NULL: none is left.
 */
static const spmd_mesh_source_t *next_mesh(const spmd_meshes_t *meshes, hr_scan_t *scan) {
  const spmd_mesh_source_t *source = NULL;
  for (; scan->at + 1 < scan->end; scan->at++) {
    bool begins = scan->at[0] == '<' && (scan->at[1] == '@' || scan->at[1] == 'm');
    if (!begins) continue;
    scan->at++;
    hr_status_t st = take_mesh(meshes, scan, &source);
    if (!st) return source;
    hr_status_release(st);
  }
  return NULL;
}

void spmd_note_used(spmd_meshes_t *meshes, hr_str_t text, bool is_manual) {
  hr_scan_t scan = hr_scan(text, "sharding");
  const spmd_mesh_source_t *source = next_mesh(meshes, &scan);
  while (source) {
    const char *start = scan.at;
    const spmd_mesh_source_t *next = next_mesh(meshes, &scan);
    size_t size = (size_t)((next ? scan.at : scan.end) - start);
    if (next) size -= next->name.size; /* which may have quotes */
    if (is_manual || memchr(start, '"', size))
      meshes->sources.data[source - meshes->sources.data].is_used = true;
    source = next;
  }
}

/* Tries the list of axes on one mesh; false, with the error in *last, if it lacks one. */
static bool has_axes(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source, hr_scan_t scan,
                     spmd_axes_t *out_axes, hr_status_t *last) {
  *out_axes = (spmd_axes_t){0, NULL};
  hr_status_release(*last);
  *last = take_axes(meshes, source, &scan, out_axes);
  return !*last;
}

hr_status_t spmd_read_manual_axes(const spmd_meshes_t *meshes, hr_str_t text, hr_str_t shardings,
                                  const spmd_mesh_source_t **out_source, spmd_axes_t *out_axes) {
  hr_scan_t scan = hr_scan(text, "list of manual axes");
  hr_scan_t names = hr_scan(shardings, "sharding");
  spmd_axes_t axes = {0, NULL};
  hr_status_t st = NULL;
  bool found = false;
  *out_source = NULL;
  hr_scan_take(&scan, "#sdy<manual_axes");
  HR_TRY(hr_scan_want(&scan, "{"));
  while (!found && (*out_source = next_mesh(meshes, &names)))
    found = has_axes(meshes, *out_source, scan, &axes, &st);
  for (size_t i = 0; i < meshes->sources.count && !found; i++) {
    *out_source = &meshes->sources.data[i];
    found = has_axes(meshes, *out_source, scan, &axes, &st);
  }
  if (!found) *out_source = NULL;
  if (st) return st;
  return spmd_axes_sort(meshes->arena, axes, out_axes);
}

/* --- HLO --- */

/* Axis references of HLO's named shardings; a size of 0 means the whole axis. */
static hr_status_t named_axes(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                              hlo_axes_t from, spmd_axes_t *axes) {
  for (int i = 0; i < from.count; i++) {
    hlo_axis_ref_t ref = from.refs[i];
    spmd_axes_t image;
    int64_t size = ref.size ? ref.size : source->axis_sizes[ref.axis];
    HR_TRY(spmd_meshes_image(meshes, source, ref.axis, ref.size ? ref.pre_size : 1, size, &image));
    HR_TRY(spmd_axes_concat(meshes->arena, *axes, image, axes));
  }
  return NULL;
}

/* Axis by axis, through the images in the common mesh. */
static hr_status_t read_named(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                              const hlo_sharding_t *from, spmd_sharding_t *to, spmd_dim_t *dims,
                              spmd_axes_t *out_manual) {
  if (from->dim_count != to->rank) return spmd_wrong_rank(from->dim_count, to->rank);
  for (int d = 0; d < from->dim_count; d++) {
    HR_TRY(named_axes(meshes, source, from->dims[d].axes, &dims[d].axes));
    dims[d].open = from->dims[d].open;
  }
  HR_TRY(named_axes(meshes, source, from->replicated_axes, &to->replicated));
  HR_TRY(named_axes(meshes, source, from->unreduced_axes, &to->unreduced));
  if (hr_str_is(from->unreduced_kind, "max")) to->reduction = SPMD_MAX;
  if (hr_str_is(from->unreduced_kind, "min")) to->reduction = SPMD_MIN;
  return named_axes(meshes, source, from->manual_axes, out_manual);
}

/* Reads tile dimensions, then the trailing ones by kind: [2,1,4] last_tile_dims={manual} of a
 * matrix cuts rows in two, and its third axis of 4 is manual. Replicated dimensions are skipped. */
static hr_status_t read_tiles(const spmd_meshes_t *meshes, const spmd_mesh_source_t *source,
                              const hlo_sharding_t *from, spmd_sharding_t *to, spmd_dim_t *dims,
                              spmd_axes_t *out_manual) {
  int extra = (int)from->last_tile_kinds.count + from->replicate_last_dim;
  if (source->axis_count - extra != to->rank)
    return spmd_wrong_rank(source->axis_count - extra, to->rank);
  for (int t = 0; t < source->axis_count; t++) {
    spmd_axes_t image, *list = NULL;
    int k = t - to->rank;
    HR_TRY(spmd_meshes_image(meshes, source, t, 1, source->axis_sizes[t], &image));
    if (k < 0)
      list = &dims[t].axes;
    else if (k < from->last_tile_kinds.count &&
             from->last_tile_kinds.data[k] == HLO_TILE_KIND_MANUAL)
      list = out_manual;
    else if (k < from->last_tile_kinds.count &&
             from->last_tile_kinds.data[k] == HLO_TILE_KIND_UNREDUCED)
      list = &to->unreduced;
    if (list) HR_TRY(spmd_axes_concat(meshes->arena, *list, image, list));
  }
  return NULL;
}

/* The grid is a mesh of its own, whose axes are the tile dimensions. */
static hr_status_t read_tiled(spmd_meshes_t *meshes, const hlo_sharding_t *from,
                              spmd_sharding_t *to, spmd_dim_t *dims, spmd_axes_t *out_manual) {
  int index;
  HR_TRY(spmd_meshes_add_hlo(meshes, from, &index));
  const spmd_mesh_source_t *source = &meshes->sources.data[index];
  to->placement = source->placement;
  HR_TRY((from->named ? read_named : read_tiles)(meshes, source, from, to, dims, out_manual));
  HR_TRY(spmd_axes_sort(meshes->arena, *out_manual, out_manual));
  HR_TRY(spmd_axes_sort(meshes->arena, to->replicated, &to->replicated));
  return spmd_axes_sort(meshes->arena, to->unreduced, &to->unreduced);
}

hr_status_t spmd_read_hlo_sharding(spmd_meshes_t *meshes, const hlo_sharding_t *sharding, int rank,
                                   hr_ints_t open_dims, const spmd_sharding_t **out_sharding,
                                   spmd_axes_t *out_manual) {
  spmd_sharding_t *to;
  spmd_dim_t *dims;
  *out_sharding = NULL;
  if (sharding->kind == HLO_TILE_KIND_UNKNOWN || sharding->kind == HLO_TILE_KIND_MANUAL)
    return NULL;
  HR_TRY(HR_NEW(meshes->arena, &to));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, rank, &dims));
  for (int d = 0; d < rank; d++) dims[d].priority = SPMD_NO_PRIORITY;
  for (int64_t i = 0; i < open_dims.count; i++)
    if (open_dims.data[i] >= 0 && open_dims.data[i] < rank) dims[open_dims.data[i]].open = true;
  *to = (spmd_sharding_t){.mesh = meshes->mesh, .device = -1, .rank = rank, .dims = dims};
  if (sharding->kind == HLO_TILE_KIND_MAXIMAL) to->device = sharding->device;
  if (sharding->kind == HLO_TILE_KIND_OTHER)
    HR_TRY(read_tiled(meshes, sharding, to, dims, out_manual));
  *out_sharding = to;
  return NULL;
}

hr_status_t spmd_read_manual_tiles(spmd_meshes_t *meshes, const hlo_sharding_t *sharding,
                                   const spmd_mesh_source_t **out_source, spmd_axes_t *out_axes) {
  int index;
  *out_axes = (spmd_axes_t){0, NULL};
  *out_source = NULL;
  HR_TRY(spmd_meshes_add_hlo(meshes, sharding, &index));
  if (index < 0) return NULL;
  const spmd_mesh_source_t *source = &meshes->sources.data[index];
  *out_source = source;
  if (sharding->named) HR_TRY(named_axes(meshes, source, sharding->manual_axes, out_axes));
  int first = source->axis_count - (int)sharding->last_tile_kinds.count;
  for (int64_t k = 0; k < sharding->last_tile_kinds.count && !sharding->named; k++) {
    spmd_axes_t image;
    int t = first + (int)k;
    if (t < 0 || sharding->last_tile_kinds.data[k] != HLO_TILE_KIND_MANUAL) continue;
    HR_TRY(spmd_meshes_image(meshes, source, t, 1, source->axis_sizes[t], &image));
    HR_TRY(spmd_axes_concat(meshes->arena, *out_axes, image, out_axes));
  }
  return spmd_axes_sort(meshes->arena, *out_axes, out_axes);
}
