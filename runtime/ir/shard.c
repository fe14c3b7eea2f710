/* Shards of named shardings, and the reader of Shardy's text in frontend attributes (xla.sdy.*).
 * A device's axis_coordinate on an axis is (device / product of later axis sizes) mod axis size; a
 * sub-axis (pre)size divides it once more. The shard index of a dimension is the mixed-radix
 * number of the coordinates on its axes, major first.
 * The text parser is a cursor with one function per production; unknown trailing parts of a
 * sharding (replicated={...}, unreduced={...}) are skipped. */
#include "ir/shard.h"

/* Distance of neighbouring devices on an axis: the product of the sizes of later axes. */
static int64_t axis_stride(const hlo_mesh_t *mesh, int axis) {
  int64_t stride = 1;
  for (int a = axis + 1; a < mesh->axis_count; a++) stride *= mesh->axes[a].size;
  return stride;
}

/* Shards that an axis or sub-axis makes; a size of 0 stands for the whole axis. */
static int64_t axis_ref_size(const hlo_mesh_t *mesh, const hlo_axis_ref_t *ref) {
  return ref->size ? ref->size : mesh->axes[ref->axis].size;
}

/* Coordinate of a device on an axis, or on its sub-axis (pre)size. */
static int64_t axis_coordinate(const hlo_mesh_t *mesh, const hlo_axis_ref_t *ref, int64_t device) {
  int64_t axis_size = mesh->axes[ref->axis].size;
  int64_t coordinate = device / axis_stride(mesh, ref->axis) % axis_size;
  if (!ref->size) return coordinate;
  int64_t post_size = axis_size / (ref->pre_size * ref->size);
  return coordinate / (post_size ? post_size : 1) % ref->size;
}

/* --- tiled shardings: devices=[2,1,4]<=[8] --- */

/* Is it in GSPMD's form (tile sizes and devices), not in Shardy's (names of axes)? */
static bool is_tiled(const hlo_sharding_t *sharding) {
  return sharding && !sharding->named && sharding->kind == HLO_TILE_KIND_OTHER;
}

/* Where a device stands in an iota of `dims` that was transposed: its coordinates, read in the
 * order of the permutation. */
static int64_t position_in_iota(const hlo_iota_t *iota, int64_t device) {
  int64_t coordinates[HLO_MAX_RANK], position = 0;
  int rank = (int)iota->dims.count;
  if (!iota->permutation.count || rank > HLO_MAX_RANK) return device;
  for (int d = rank - 1; d >= 0; d--) {
    coordinates[d] = device % iota->dims.data[d];
    device /= iota->dims.data[d];
  }
  for (int d = 0; d < rank; d++) {
    int64_t from = iota->permutation.data[d];
    position = position * iota->dims.data[from] + coordinates[from];
  }
  return position;
}

/* Position of a device in the row-major list of tiles; -1: it is not listed. */
static int64_t position_of_device(const hlo_sharding_t *sharding, int64_t device) {
  if (!sharding->devices.count) return position_in_iota(&sharding->iota, device);
  for (int64_t i = 0; i < sharding->devices.count; i++)
    if (sharding->devices.data[i] == device) return i;
  return -1;
}

/* Extra tile dimensions, behind the value's, divide nothing: their devices hold the same tile. */
static hr_status_t shard_of_tiled(const hlo_sharding_t *sharding, int rank, const int64_t *dims,
                                  int64_t device, int64_t *out_starts, int64_t *out_sizes) {
  int64_t position = position_of_device(sharding, device);
  const hr_ints_t *tiles = &sharding->tile_dims;
  if (position < 0 || tiles->count < rank)
    return hr_error(HR_INVALID, "device %ld has no tile of %d dimensions", (long)device, rank);
  for (int d = (int)tiles->count - 1; d >= 0; d--) {
    int64_t parts = tiles->data[d], index = parts > 0 ? position % parts : 0;
    if (parts < 1 || (d < rank && dims[d] % parts))
      return hr_error(HR_INVALID, "dimension %d does not divide into %ld shards", d, (long)parts);
    position /= parts;
    if (d >= rank) continue;
    out_sizes[d] = dims[d] / parts;
    out_starts[d] = index * out_sizes[d];
  }
  return NULL;
}

/* --- named shardings --- */

/* Shards of dimension d: the tile count, or the product of its axes' sizes; 1: not divided. */
int64_t hlo_shard_parts(const hlo_sharding_t *sharding, int d) {
  int64_t parts = 1;
  if (is_tiled(sharding)) return d < sharding->tile_dims.count ? sharding->tile_dims.data[d] : 1;
  if (!sharding || !sharding->named || d >= sharding->dim_count) return 1;
  for (int i = 0; i < sharding->dims[d].axes.count; i++)
    parts *= axis_ref_size(&sharding->mesh, &sharding->dims[d].axes.refs[i]);
  return parts;
}

/* Position of a device in the mesh: meshes may list their devices in another order. */
static int64_t position_of(const hlo_mesh_t *mesh, int64_t device) {
  for (int64_t p = 0; p < mesh->device_ids.count; p++)
    if (mesh->device_ids.data[p] == device) return p;
  return device;
}

/* Each dimension is divided evenly; axes are digits of the shard index, major first. */
hr_status_t hlo_shard_of(const hlo_sharding_t *sharding, int rank, const int64_t *dims,
                         int64_t device, int64_t *out_starts, int64_t *out_sizes) {
  if (is_tiled(sharding))
    return shard_of_tiled(sharding, rank, dims, device, out_starts, out_sizes);
  if (sharding->named) device = position_of(&sharding->mesh, device);
  for (int d = 0; d < rank; d++) {
    int64_t parts = hlo_shard_parts(sharding, d);
    int64_t index = 0;
    if (parts < 1 || dims[d] % parts)
      return hr_error(HR_INVALID, "dimension %d of size %ld does not divide into %ld shards", d,
                      (long)dims[d], (long)parts);
    for (int i = 0; parts > 1 && i < sharding->dims[d].axes.count; i++) {
      const hlo_axis_ref_t *ref = &sharding->dims[d].axes.refs[i];
      index = index * axis_ref_size(&sharding->mesh, ref) +
              axis_coordinate(&sharding->mesh, ref, device);
    }
    out_sizes[d] = dims[d] / parts;
    out_starts[d] = index * out_sizes[d];
  }
  return NULL;
}

/* --- Shardy's text --- */

/* Cursor over a text; parsed lists go to the arena, names point into the text. */
typedef struct sdy_text {
  hr_arena_t *arena;
  const char *at;
  const char *end;
} sdy_text_t;

/* Blanks may stand before every token. */
static void skip_blanks(sdy_text_t *text) {
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
    text->at++;
}

/* Skips blanks and then `word`; false, without moving past more than blanks, if the text
 * differs. */
static bool accept_word(sdy_text_t *text, const char *word) {
  skip_blanks(text);
  size_t size = hr_str_from(word).size;
  if ((size_t)(text->end - text->at) < size ||
      !hr_str_equal((hr_str_t){text->at, size}, hr_str_from(word)))
    return false;
  text->at += size;
  return true;
}

/* As accept_word; INVALID if the word is not there. */
static hr_status_t expect_word(sdy_text_t *text, const char *word) {
  if (accept_word(text, word)) return NULL;
  return hr_error(HR_INVALID, "a Shardy attribute has \"%.20s\", want \"%s\"",
                  text->at < text->end ? text->at : "", word);
}

/* Characters of bare names: those of MLIR's identifiers without "$". */
static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/* A bare name; empty if there is none. It points into the text. */
static hr_str_t parse_name(sdy_text_t *text) {
  skip_blanks(text);
  const char *start = text->at;
  while (text->at < text->end && is_name_char(*text->at)) text->at++;
  return (hr_str_t){start, (size_t)(text->at - start)};
}

/* "name", without escapes, which Shardy's axis names do not have. */
static hr_status_t parse_quoted(sdy_text_t *text, hr_str_t *out_name) {
  HR_TRY(expect_word(text, "\""));
  const char *start = text->at;
  while (text->at < text->end && *text->at != '"') text->at++;
  *out_name = (hr_str_t){start, (size_t)(text->at - start)};
  return expect_word(text, "\"");
}

/* A decimal number; digits after 2^31 are left for the next token, which then fails. */
static hr_status_t parse_number(sdy_text_t *text, int64_t *out_number) {
  skip_blanks(text);
  const char *start = text->at;
  *out_number = 0;
  while (text->at < text->end && *text->at >= '0' && *text->at <= '9' && *out_number < INT32_MAX)
    *out_number = *out_number * 10 + (*text->at++ - '0');
  return text->at > start ? NULL : expect_word(text, "a number");
}

/* The rest of device_ids=[3, 2, 1, 0]: as many numbers as the mesh has positions. */
static hr_status_t parse_device_ids(sdy_text_t *text, const hlo_mesh_t *mesh, hr_ints_t *out_ids) {
  int64_t total = 1, count = 0, *ids;
  for (int a = 0; a < mesh->axis_count; a++)
    if (__builtin_mul_overflow(total, mesh->axes[a].size, &total) || total > HLO_MAX_DEVICES)
      return hr_error(HR_INVALID, "a mesh of more than %ld devices", (long)HLO_MAX_DEVICES);
  HR_TRY(HR_NEW_ARRAY(text->arena, total, &ids));
  for (bool more = !accept_word(text, "]"); more; count++) {
    if (count == total)
      return hr_error(HR_INVALID, "more device_ids than the %ld devices of the mesh", (long)total);
    HR_TRY(parse_number(text, &ids[count]));
    more = accept_word(text, ",");
    if (!more) HR_TRY(expect_word(text, "]"));
  }
  if (count != total)
    return hr_error(HR_INVALID, "%ld device_ids for a mesh of %ld devices", (long)count,
                    (long)total);
  *out_ids = (hr_ints_t){ids, count};
  return NULL;
}

/* ["a"=2, "b"=4] and perhaps device_ids=[...] */
static hr_status_t parse_mesh(sdy_text_t *text, hlo_mesh_t *out_mesh) {
  hlo_mesh_axis_t axes[HLO_MAX_RANK];
  int count = 0;
  HR_TRY(expect_word(text, "["));
  for (bool more = !accept_word(text, "]"); more; count++) {
    if (count == HLO_MAX_RANK)
      return hr_error(HR_INVALID, "a mesh of more than %d axes", HLO_MAX_RANK);
    HR_TRY(parse_quoted(text, &axes[count].name));
    HR_TRY(expect_word(text, "="));
    HR_TRY(parse_number(text, &axes[count].size));
    if (axes[count].size < 1) return hr_error(HR_INVALID, "a mesh axis of size 0");
    more = accept_word(text, ",");
    if (!more) HR_TRY(expect_word(text, "]"));
  }
  void *copy;
  HR_TRY(hr_arena_copy(text->arena, axes, (size_t)count * sizeof *axes, &copy));
  *out_mesh = (hlo_mesh_t){.axis_count = count, .axes = copy};
  if (!accept_word(text, ",")) return NULL;
  HR_TRY(expect_word(text, "device_ids=["));
  return parse_device_ids(text, out_mesh, &out_mesh->device_ids);
}

/* {name = #sdy.mesh<...>, ...}: at most HLO_MAX_RANK meshes. */
hr_status_t hlo_sdy_meshes(hr_arena_t *arena, hr_str_t source, hlo_named_mesh_t **out_meshes,
                           int *out_count) {
  sdy_text_t text = {arena, source.data, source.data + source.size};
  hlo_named_mesh_t meshes[HLO_MAX_RANK];
  int count = 0;
  HR_TRY(expect_word(&text, "{"));
  for (bool more = !accept_word(&text, "}"); more; count++) {
    if (count == HLO_MAX_RANK) return hr_error(HR_INVALID, "more than %d meshes", HLO_MAX_RANK);
    meshes[count].name = parse_name(&text);
    HR_TRY(expect_word(&text, "="));
    HR_TRY(expect_word(&text, "#sdy.mesh<"));
    HR_TRY(parse_mesh(&text, &meshes[count].mesh));
    HR_TRY(expect_word(&text, ">"));
    more = accept_word(&text, ",");
    if (!more) HR_TRY(expect_word(&text, "}"));
  }
  void *copy;
  HR_TRY(hr_arena_copy(arena, meshes, (size_t)count * sizeof *meshes, &copy));
  *out_meshes = copy;
  *out_count = count;
  return NULL;
}

/* "a" or "a":(2)4 */
static hr_status_t parse_axis_ref(sdy_text_t *text, const hlo_mesh_t *mesh,
                                  hlo_axis_ref_t *out_ref) {
  hr_str_t name;
  HR_TRY(parse_quoted(text, &name));
  *out_ref = (hlo_axis_ref_t){.axis = -1};
  for (int a = 0; a < mesh->axis_count; a++)
    if (hr_str_equal(mesh->axes[a].name, name)) out_ref->axis = a;
  if (out_ref->axis < 0)
    return hr_error(HR_INVALID, "the mesh has no axis \"%.*s\"", HR_STR_ARGS(name));
  if (!accept_word(text, ":(")) return NULL;
  HR_TRY(parse_number(text, &out_ref->pre_size));
  HR_TRY(expect_word(text, ")"));
  HR_TRY(parse_number(text, &out_ref->size));
  int64_t axis_size = mesh->axes[out_ref->axis].size;
  bool divides = out_ref->pre_size > 0 && out_ref->size > 0 &&
                 axis_size % (out_ref->pre_size * out_ref->size) == 0;
  return divides ? NULL
                 : hr_error(HR_INVALID, "a sub-axis that does not divide its axis of size %ld",
                            (long)axis_size);
}

/* {"a", "b":(1)2, ?}p1 */
static hr_status_t parse_sharding_dim(sdy_text_t *text, const hlo_mesh_t *mesh,
                                      hlo_sharding_dim_t *out_dim) {
  hlo_axis_ref_t refs[HLO_MAX_RANK];
  int count = 0;
  int64_t priority;
  *out_dim = (hlo_sharding_dim_t){.open = false};
  HR_TRY(expect_word(text, "{"));
  for (bool more = !accept_word(text, "}"); more;) {
    if (accept_word(text, "?")) {
      out_dim->open = true;
    } else {
      if (count == HLO_MAX_RANK)
        return hr_error(HR_INVALID, "more than %d axes on a dimension", HLO_MAX_RANK);
      HR_TRY(parse_axis_ref(text, mesh, &refs[count++]));
    }
    more = accept_word(text, ",");
    if (!more) HR_TRY(expect_word(text, "}"));
  }
  if (accept_word(text, "p")) HR_TRY(parse_number(text, &priority));
  void *copy;
  HR_TRY(hr_arena_copy(text->arena, refs, (size_t)count * sizeof *refs, &copy));
  out_dim->axes = (hlo_axes_t){count, copy};
  return NULL;
}

/* The mesh of a name; NULL: there is none. */
static const hlo_mesh_t *find_mesh(const hlo_named_mesh_t *meshes, int count, hr_str_t name) {
  for (int i = 0; i < count; i++)
    if (hr_str_equal(meshes[i].name, name)) return &meshes[i].mesh;
  return NULL;
}

/* <@mesh, [{..}, {..}], replicated={..}> */
static hr_status_t parse_sharding(sdy_text_t *text, const hlo_named_mesh_t *meshes, int mesh_count,
                                  const hlo_sharding_t **out_sharding) {
  hlo_sharding_dim_t dims[HLO_MAX_RANK];
  hlo_sharding_t *sharding;
  HR_TRY(expect_word(text, "<@"));
  hr_str_t name = parse_name(text);
  const hlo_mesh_t *mesh = find_mesh(meshes, mesh_count, name);
  if (!mesh) return hr_error(HR_INVALID, "there is no mesh @%.*s", HR_STR_ARGS(name));
  HR_TRY(HR_NEW(text->arena, &sharding));
  sharding->kind = HLO_TILE_KIND_OTHER;
  sharding->named = true;
  sharding->mesh = *mesh;
  HR_TRY(expect_word(text, ","));
  HR_TRY(expect_word(text, "["));
  for (bool more = !accept_word(text, "]"); more; sharding->dim_count++) {
    if (sharding->dim_count == HLO_MAX_RANK)
      return hr_error(HR_INVALID, "a sharding of more than %d dimensions", HLO_MAX_RANK);
    HR_TRY(parse_sharding_dim(text, mesh, &dims[sharding->dim_count]));
    more = accept_word(text, ",");
    if (!more) HR_TRY(expect_word(text, "]"));
  }
  void *copy;
  HR_TRY(hr_arena_copy(text->arena, dims, (size_t)sharding->dim_count * sizeof *dims, &copy));
  sharding->dims = copy;
  /* replicated={...} is implied by the axes that the dimensions do not use. */
  while (text->at < text->end && *text->at != '>') text->at++;
  *out_sharding = sharding;
  return expect_word(text, ">");
}

/* The list may be long (one entry per result), so that it grows outside the arena first. */
hr_status_t hlo_sdy_shardings(hr_arena_t *arena, hr_str_t source, const hlo_named_mesh_t *meshes,
                              int mesh_count, const hlo_sharding_t *const **out_shardings,
                              int *out_count) {
  sdy_text_t text = {arena, source.data, source.data + source.size};
  HR_VEC(const hlo_sharding_t *) list = {0};
  hr_status_t st = expect_word(&text, "#sdy.sharding_per_value<[");
  for (bool more = !st && !accept_word(&text, "]"); more && !st;) {
    const hlo_sharding_t *sharding;
    HR_TRY_GOTO(done, st, parse_sharding(&text, meshes, mesh_count, &sharding));
    HR_TRY_GOTO(done, st, HR_VEC_RESERVE(&list, list.count + 1));
    list.data[list.count++] = sharding;
    more = accept_word(&text, ",");
    if (!more) HR_TRY_GOTO(done, st, expect_word(&text, "]"));
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
