#include "ir/shard.h"

/* How many devices share one step of an axis: the product of the sizes behind it. */
static int64_t axis_stride(const hlo_mesh_t *mesh, int axis) {
  int64_t stride = 1;
  for (int a = axis + 1; a < mesh->axis_count; a++) stride *= mesh->axes[a].size;
  return stride;
}

static int64_t ref_size(const hlo_mesh_t *mesh, const hlo_axis_ref_t *ref) {
  return ref->size ? ref->size : mesh->axes[ref->axis].size;
}

/* Coordinate of a device on an axis, or on its sub-axis (pre)size. */
static int64_t coordinate(const hlo_mesh_t *mesh, const hlo_axis_ref_t *ref, int64_t device) {
  int64_t full = mesh->axes[ref->axis].size, whole = device / axis_stride(mesh, ref->axis) % full;
  if (!ref->size) return whole;
  int64_t rest = full / (ref->pre_size * ref->size);
  return whole / (rest ? rest : 1) % ref->size;
}

int64_t hlo_shard_parts(const hlo_sharding_t *sharding, int d) {
  int64_t parts = 1;
  if (!sharding || !sharding->named || d >= sharding->dim_count) return 1;
  for (int i = 0; i < sharding->dims[d].axes.count; i++)
    parts *= ref_size(&sharding->mesh, &sharding->dims[d].axes.refs[i]);
  return parts;
}

hr_status_t hlo_shard_of(const hlo_sharding_t *sharding, int rank, const int64_t *dims,
                         int64_t device, int64_t *out_starts, int64_t *out_sizes) {
  for (int d = 0; d < rank; d++) {
    int64_t parts = hlo_shard_parts(sharding, d), index = 0;
    if (parts < 1 || dims[d] % parts)
      return hr_error(HR_INVALID, "dimension %d of size %ld does not divide into %ld shards", d,
                      (long)dims[d], (long)parts);
    for (int i = 0; parts > 1 && i < sharding->dims[d].axes.count; i++) {
      const hlo_axis_ref_t *ref = &sharding->dims[d].axes.refs[i];
      index = index * ref_size(&sharding->mesh, ref) + coordinate(&sharding->mesh, ref, device);
    }
    out_sizes[d] = dims[d] / parts;
    out_starts[d] = index * out_sizes[d];
  }
  return NULL;
}

/* --- Shardy's text --- */

typedef struct sdy_text {
  hr_arena_t *arena;
  const char *at, *end;
} sdy_text_t;

static void skip_blanks(sdy_text_t *text) {
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
    text->at++;
}

static bool take(sdy_text_t *text, const char *word) {
  skip_blanks(text);
  size_t size = hr_str_from(word).size;
  if ((size_t)(text->end - text->at) < size ||
      !hr_str_equal((hr_str_t){text->at, size}, hr_str_from(word)))
    return false;
  text->at += size;
  return true;
}

static hr_status_t want(sdy_text_t *text, const char *word) {
  if (take(text, word)) return NULL;
  return hr_error(HR_INVALID, "a Shardy attribute has \"%.20s\", want \"%s\"",
                  text->at < text->end ? text->at : "", word);
}

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

static hr_str_t take_name(sdy_text_t *text) {
  skip_blanks(text);
  const char *start = text->at;
  while (text->at < text->end && is_name_char(*text->at)) text->at++;
  return (hr_str_t){start, (size_t)(text->at - start)};
}

static hr_status_t take_quoted(sdy_text_t *text, hr_str_t *out_name) {
  HR_TRY(want(text, "\""));
  const char *start = text->at;
  while (text->at < text->end && *text->at != '"') text->at++;
  *out_name = (hr_str_t){start, (size_t)(text->at - start)};
  return want(text, "\"");
}

static hr_status_t take_number(sdy_text_t *text, int64_t *out_number) {
  skip_blanks(text);
  const char *start = text->at;
  *out_number = 0;
  while (text->at < text->end && *text->at >= '0' && *text->at <= '9' && *out_number < INT32_MAX)
    *out_number = *out_number * 10 + (*text->at++ - '0');
  return text->at > start ? NULL : want(text, "a number");
}

/* ["a"=2, "b"=4] and perhaps device_ids=[...] */
static hr_status_t take_mesh(sdy_text_t *text, hlo_mesh_t *out_mesh) {
  hlo_mesh_axis_t axes[HLO_MAX_RANK];
  int count = 0;
  int64_t id;
  HR_TRY(want(text, "["));
  for (bool more = !take(text, "]"); more; count++) {
    if (count == HLO_MAX_RANK)
      return hr_error(HR_INVALID, "a mesh of more than %d axes", HLO_MAX_RANK);
    HR_TRY(take_quoted(text, &axes[count].name));
    HR_TRY(want(text, "="));
    HR_TRY(take_number(text, &axes[count].size));
    if (axes[count].size < 1) return hr_error(HR_INVALID, "a mesh axis of size 0");
    more = take(text, ",");
    if (!more) HR_TRY(want(text, "]"));
  }
  if (take(text, ",")) {
    HR_TRY(want(text, "device_ids=["));
    for (bool more = !take(text, "]"); more;) {
      HR_TRY(take_number(text, &id));
      more = take(text, ",");
      if (!more) HR_TRY(want(text, "]"));
    }
  }
  void *copy;
  HR_TRY(hr_arena_copy(text->arena, axes, (size_t)count * sizeof *axes, &copy));
  *out_mesh = (hlo_mesh_t){.axis_count = count, .axes = copy};
  return NULL;
}

hr_status_t hlo_sdy_meshes(hr_arena_t *arena, hr_str_t source, hlo_named_mesh_t **out_meshes,
                           int *out_count) {
  sdy_text_t text = {arena, source.data, source.data + source.size};
  hlo_named_mesh_t meshes[HLO_MAX_RANK];
  int count = 0;
  HR_TRY(want(&text, "{"));
  for (bool more = !take(&text, "}"); more; count++) {
    if (count == HLO_MAX_RANK) return hr_error(HR_INVALID, "more than %d meshes", HLO_MAX_RANK);
    meshes[count].name = take_name(&text);
    HR_TRY(want(&text, "="));
    HR_TRY(want(&text, "#sdy.mesh<"));
    HR_TRY(take_mesh(&text, &meshes[count].mesh));
    HR_TRY(want(&text, ">"));
    more = take(&text, ",");
    if (!more) HR_TRY(want(&text, "}"));
  }
  void *copy;
  HR_TRY(hr_arena_copy(arena, meshes, (size_t)count * sizeof *meshes, &copy));
  *out_meshes = copy;
  *out_count = count;
  return NULL;
}

/* "a" or "a":(2)4 */
static hr_status_t take_axis(sdy_text_t *text, const hlo_mesh_t *mesh, hlo_axis_ref_t *out_ref) {
  hr_str_t name;
  HR_TRY(take_quoted(text, &name));
  *out_ref = (hlo_axis_ref_t){.axis = -1};
  for (int a = 0; a < mesh->axis_count; a++)
    if (hr_str_equal(mesh->axes[a].name, name)) out_ref->axis = a;
  if (out_ref->axis < 0)
    return hr_error(HR_INVALID, "the mesh has no axis \"%.*s\"", HR_STR_ARGS(name));
  if (!take(text, ":(")) return NULL;
  HR_TRY(take_number(text, &out_ref->pre_size));
  HR_TRY(want(text, ")"));
  HR_TRY(take_number(text, &out_ref->size));
  int64_t full = mesh->axes[out_ref->axis].size;
  bool fits =
      out_ref->pre_size > 0 && out_ref->size > 0 && full % (out_ref->pre_size * out_ref->size) == 0;
  return fits ? NULL
              : hr_error(HR_INVALID, "a sub-axis that does not divide its axis of size %ld",
                         (long)full);
}

/* {"a", "b":(1)2, ?}p1 */
static hr_status_t take_dim(sdy_text_t *text, const hlo_mesh_t *mesh, hlo_sharding_dim_t *out_dim) {
  hlo_axis_ref_t refs[HLO_MAX_RANK];
  int count = 0;
  int64_t priority;
  *out_dim = (hlo_sharding_dim_t){.open = false};
  HR_TRY(want(text, "{"));
  for (bool more = !take(text, "}"); more;) {
    if (take(text, "?")) {
      out_dim->open = true;
    } else {
      if (count == HLO_MAX_RANK)
        return hr_error(HR_INVALID, "more than %d axes on a dimension", HLO_MAX_RANK);
      HR_TRY(take_axis(text, mesh, &refs[count++]));
    }
    more = take(text, ",");
    if (!more) HR_TRY(want(text, "}"));
  }
  if (take(text, "p")) HR_TRY(take_number(text, &priority));
  void *copy;
  HR_TRY(hr_arena_copy(text->arena, refs, (size_t)count * sizeof *refs, &copy));
  out_dim->axes = (hlo_axes_t){count, copy};
  return NULL;
}

static const hlo_mesh_t *find_mesh(const hlo_named_mesh_t *meshes, int count, hr_str_t name) {
  for (int i = 0; i < count; i++)
    if (hr_str_equal(meshes[i].name, name)) return &meshes[i].mesh;
  return NULL;
}

/* <@mesh, [{..}, {..}], replicated={..}> */
static hr_status_t take_sharding(sdy_text_t *text, const hlo_named_mesh_t *meshes, int mesh_count,
                                 const hlo_sharding_t **out_sharding) {
  hlo_sharding_dim_t dims[HLO_MAX_RANK];
  hlo_sharding_t *sharding;
  HR_TRY(want(text, "<@"));
  hr_str_t name = take_name(text);
  const hlo_mesh_t *mesh = find_mesh(meshes, mesh_count, name);
  if (!mesh) return hr_error(HR_INVALID, "there is no mesh @%.*s", HR_STR_ARGS(name));
  HR_TRY(HR_NEW(text->arena, &sharding));
  sharding->kind = HLO_TILE_KIND_OTHER;
  sharding->named = true;
  sharding->mesh = *mesh;
  HR_TRY(want(text, ","));
  HR_TRY(want(text, "["));
  for (bool more = !take(text, "]"); more; sharding->dim_count++) {
    if (sharding->dim_count == HLO_MAX_RANK)
      return hr_error(HR_INVALID, "a sharding of more than %d dimensions", HLO_MAX_RANK);
    HR_TRY(take_dim(text, mesh, &dims[sharding->dim_count]));
    more = take(text, ",");
    if (!more) HR_TRY(want(text, "]"));
  }
  void *copy;
  HR_TRY(hr_arena_copy(text->arena, dims, (size_t)sharding->dim_count * sizeof *dims, &copy));
  sharding->dims = copy;
  while (text->at < text->end && *text->at != '>')
    text->at++; /* replicated={...} says what is so anyway */
  *out_sharding = sharding;
  return want(text, ">");
}

hr_status_t hlo_sdy_shardings(hr_arena_t *arena, hr_str_t source, const hlo_named_mesh_t *meshes,
                              int mesh_count, const hlo_sharding_t *const **out_shardings,
                              int *out_count) {
  sdy_text_t text = {arena, source.data, source.data + source.size};
  HR_VEC(const hlo_sharding_t *) list = {0};
  hr_status_t st = want(&text, "#sdy.sharding_per_value<[");
  for (bool more = !st && !take(&text, "]"); more && !st;) {
    const hlo_sharding_t *sharding;
    HR_TRY_GOTO(done, st, take_sharding(&text, meshes, mesh_count, &sharding));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&list, list.count + 1));
    list.data[list.count++] = sharding;
    more = take(&text, ",");
    if (!more) HR_TRY_GOTO(done, st, want(&text, "]"));
  }
  void *copy;
  if (!st) st = hr_arena_copy(arena, list.data, list.count * sizeof *list.data, &copy);
  if (!st) {
    *out_shardings = copy;
    *out_count = (int)list.count;
  }
done:
  HR_VEC_FREE(&list);
  return st;
}
