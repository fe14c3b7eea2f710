/* HLO text of meshes and replica groups:
 *   groups ::= "{" ("{" int,* "}"),* "}" | "[" groups "," members "]" "<=" iota | mesh axes
 *   iota   ::= "[" int,* "]" ("T(" int,* ")")?
 *   mesh   ::= "mesh[" ("'" name "'=" int),* "]" ("," "device_ids=(" (int,* | iota) ")")?
 *            | "maximal_mesh[...]"
 *   axes   ::= "{" ("'" name "'" (":(" pre ")" size)?),* "}"
 * A short text can name many devices: equal texts are expanded once, and the total is limited. */
#include <string.h>

#include "read/hlo_reader.h"

#define MESH_AXES_MAX 64 /* axes of a mesh, and axes listed at one place */

/* [dims], and T(permutation) if it is there. The bracket is the current token. */
static hr_status_t read_iota(read_hlo_t *r, hr_ints_t *out_dims, hr_ints_t *out_permutation) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_ints(r, READ_OPEN_BRACKET, READ_CLOSE_BRACKET, out_dims));
  *out_permutation = (hr_ints_t){NULL, 0};
  if (!read_is_word(l, "T")) return NULL;
  HR_TRY(read_advance(l));
  return read_ints(r, READ_OPEN_PAREN, READ_CLOSE_PAREN, out_permutation);
}

/* Meshes --------------------------------------------------------------------------------------- */

/* 'a'=2; old versions wrote the name without quotes. */
static hr_status_t read_mesh_axis(read_lexer_t *l, hlo_mesh_axis_t *out_axis) {
  bool quoted = read_is(l, READ_STRING);
  if (!quoted && !read_is(l, READ_ATTR)) return read_want(l, "an axis such as 'x'=4");
  out_axis->name = l->token.text;
  HR_TRY(read_advance(l));
  if (quoted) HR_TRY(read_expect(l, READ_EQUAL));
  if (!read_is(l, READ_INT) || (int64_t)l->token.bits < 1)
    return read_want(l, "a size of 1 or more");
  return read_int(l, &out_axis->size);
}

/* ['a'=2,'b'=4] */
static hr_status_t read_mesh_axes(read_hlo_t *r, hlo_mesh_t *mesh) {
  read_lexer_t *l = &r->lexer;
  hlo_mesh_axis_t axes[MESH_AXES_MAX];
  int count = 0;
  void *copy;
  HR_TRY(read_expect(l, READ_OPEN_BRACKET));
  for (bool more = !read_is(l, READ_CLOSE_BRACKET); more; count++) {
    if (count == MESH_AXES_MAX) return read_want(l, "at most %d axes", MESH_AXES_MAX);
    size_t at = l->token.at;
    HR_TRY(read_mesh_axis(l, &axes[count]));
    for (int k = 0; k < count; k++)
      if (hr_str_equal(axes[k].name, axes[count].name))
        return READ_ERROR_AT(l, at, "found axis '%.*s' twice in a mesh", HR_STR_ARGS(axes[k].name));
    HR_TRY(read_list_next(l, READ_CLOSE_BRACKET, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACKET));
  HR_TRY(hr_arena_copy(r->arena, axes, (size_t)count * sizeof *axes, &copy));
  mesh->axis_count = count;
  mesh->axes = copy;
  return NULL;
}

/* (0,2,1,3) or ([2,2]T(1,0)). */
static hr_status_t read_device_ids(read_hlo_t *r, hlo_mesh_t *mesh) {
  read_lexer_t *l = &r->lexer;
  if (!read_is(l, READ_OPEN_PAREN)) return read_want(l, "'('");
  if (read_peek(l) != '[')
    return read_ints(r, READ_OPEN_PAREN, READ_CLOSE_PAREN, &mesh->device_ids);
  HR_TRY(read_advance(l));
  HR_TRY(read_iota(r, &mesh->iota_dims, &mesh->iota_permutation));
  return read_expect(l, READ_CLOSE_PAREN);
}

/* maximal_mesh[device_id=N] */
static hr_status_t read_maximal_mesh(read_hlo_t *r, hlo_mesh_t *mesh) {
  read_lexer_t *l = &r->lexer;
  int64_t device;
  mesh->maximal = true;
  HR_TRY(read_expect(l, READ_OPEN_BRACKET));
  if (!read_is(l, READ_ATTR) || !hr_str_is(l->token.text, "device_id"))
    return read_want(l, "device_id=");
  HR_TRY(read_advance(l));
  HR_TRY(read_int(l, &device));
  HR_TRY(hr_arena_ints(r->arena, &device, 1, &mesh->device_ids));
  return read_expect(l, READ_CLOSE_BRACKET);
}

/* The comma after a mesh may belong to the attribute around it: the caller learns that it was
 * read. */
hr_status_t read_mesh(read_hlo_t *r, hlo_mesh_t *out_mesh, bool *out_comma) {
  read_lexer_t *l = &r->lexer;
  bool maximal = read_is_word(l, "maximal_mesh");
  *out_mesh = (hlo_mesh_t){0};
  *out_comma = false;
  if (!maximal && !read_is_word(l, "mesh")) return read_want(l, "mesh[...]");
  HR_TRY(read_advance(l));
  if (maximal) return read_maximal_mesh(r, out_mesh);
  HR_TRY(read_mesh_axes(r, out_mesh));
  HR_TRY(read_accept(l, READ_COMMA, out_comma));
  if (!*out_comma || !read_is(l, READ_ATTR) || !hr_str_is(l->token.text, "device_ids")) return NULL;
  HR_TRY(read_advance(l));
  size_t at = l->token.at;
  HR_TRY(read_device_ids(r, out_mesh));
  int64_t devices = 1, ids = out_mesh->device_ids.count;
  if (!ids) ids = hlo_device_count(out_mesh->iota_dims);
  for (int a = 0; a < out_mesh->axis_count; a++)
    if (__builtin_mul_overflow(devices, out_mesh->axes[a].size, &devices)) devices = -1;
  if (ids != devices)
    return READ_ERROR_AT(l, at, "found %ld device_ids, want the mesh's %ld", (long)ids,
                         (long)devices);
  return read_accept(l, READ_COMMA, out_comma);
}

/* An axis by its name, or by its number as text. */
static hr_status_t find_axis(read_lexer_t *l, const hlo_mesh_t *mesh, int *out_axis) {
  hr_str_t name = l->token.text;
  for (int a = 0; a < mesh->axis_count; a++)
    if (hr_str_equal(mesh->axes[a].name, name)) return *out_axis = a, NULL;
  int64_t number = 0;
  bool digits = name.size > 0 && name.size < 4;
  for (size_t i = 0; i < name.size && digits; i++) {
    digits = name.data[i] >= '0' && name.data[i] <= '9';
    number = number * 10 + name.data[i] - '0';
  }
  if (!digits || number >= mesh->axis_count) return read_want(l, "an axis of the mesh");
  *out_axis = (int)number;
  return NULL;
}

/* 'a', or 'a':(pre)size. Old versions wrote names without quotes, where a: is one token. */
static hr_status_t read_axis(read_hlo_t *r, const hlo_mesh_t *mesh, hlo_axis_ref_t *out_ref) {
  read_lexer_t *l = &r->lexer;
  bool part = read_is(l, READ_NAME) && !l->token.percent;
  if (!part && !read_is(l, READ_STRING) && !read_is(l, READ_WORD))
    return read_want(l, "an axis such as 'x'");
  size_t at = l->token.at;
  *out_ref = (hlo_axis_ref_t){0};
  HR_TRY(find_axis(l, mesh, &out_ref->axis));
  HR_TRY(read_advance(l));
  if (!part) HR_TRY(read_accept(l, READ_COLON, &part));
  if (!part) return NULL;
  HR_TRY(read_expect(l, READ_OPEN_PAREN));
  HR_TRY(read_int(l, &out_ref->pre_size));
  HR_TRY(read_expect(l, READ_CLOSE_PAREN));
  HR_TRY(read_int(l, &out_ref->size));
  int64_t whole = mesh->axes[out_ref->axis].size;
  if (out_ref->pre_size < 1 || out_ref->size < 1 || out_ref->pre_size > whole ||
      out_ref->size > whole / out_ref->pre_size || whole % (out_ref->pre_size * out_ref->size))
    return READ_ERROR_AT(l, at,
                         "found part (%ld)%ld of an axis of size %ld, want one that divides it",
                         (long)out_ref->pre_size, (long)out_ref->size, (long)whole);
  return NULL;
}

/* The reference with its part of the axis written out: (1)size for a whole axis. */
static hlo_axis_ref_t part_of_axis(const hlo_mesh_t *mesh, hlo_axis_ref_t ref) {
  if (ref.size) return ref;
  return (hlo_axis_ref_t){ref.axis, 1, mesh->axes[ref.axis].size};
}

/* Refuses an axis, whose name is at byte `at`, that shares a part with one that is used. */
static hr_status_t use_axis(read_lexer_t *l, size_t at, const hlo_mesh_t *mesh, hlo_axis_ref_t ref,
                            read_used_axes_t *used) {
  hlo_axis_ref_t part = part_of_axis(mesh, ref);
  for (int i = 0; i < used->count; i++) {
    hlo_axis_ref_t other = used->refs[i];
    if (other.axis == part.axis && part.pre_size < other.pre_size * other.size &&
        other.pre_size < part.pre_size * part.size)
      return READ_ERROR_AT(l, at, "axis '%.*s' is used twice, want each part of it once",
                           HR_STR_ARGS(mesh->axes[ref.axis].name));
  }
  if (part.size > 1 && used->count < READ_MOST_AXES) used->refs[used->count++] = part;
  return NULL;
}

/* {'a', 'b':(1)2, ?} */
hr_status_t read_axes(read_hlo_t *r, const hlo_mesh_t *mesh, read_used_axes_t *used,
                      hlo_axes_t *out_axes, bool *out_open) {
  read_lexer_t *l = &r->lexer;
  hlo_axis_ref_t refs[MESH_AXES_MAX];
  int count = 0;
  bool open = false;
  void *copy;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more;) {
    if (count == MESH_AXES_MAX) return read_want(l, "at most %d axes", MESH_AXES_MAX);
    if (out_open) HR_TRY(read_accept(l, READ_QUESTION, &open));
    if (open) break; /* '?' comes last */
    size_t at = l->token.at;
    HR_TRY(read_axis(r, mesh, &refs[count]));
    HR_TRY(use_axis(l, at, mesh, refs[count++], used));
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  HR_TRY(hr_arena_copy(r->arena, refs, (size_t)count * sizeof *refs, &copy));
  *out_axes = (hlo_axes_t){count, copy};
  if (out_open) *out_open = open;
  return NULL;
}

/* Replica groups ------------------------------------------------------------------------------- */

/* [groups,members]<=[dims]T(permutation) */
static hr_status_t read_iota_groups(read_hlo_t *r, hlo_groups_t *groups) {
  read_lexer_t *l = &r->lexer;
  size_t at = l->token.at;
  groups->form = HLO_GROUPS_IOTA;
  HR_TRY(read_ints(r, READ_OPEN_BRACKET, READ_CLOSE_BRACKET, &groups->iota_tile));
  if (groups->iota_tile.count != 2)
    return READ_ERROR_AT(l, at, "found %ld numbers, want [groups,members]",
                         (long)groups->iota_tile.count);
  HR_TRY(read_expect(l, READ_AT_MOST));
  at = l->token.at;
  HR_TRY(read_iota(r, &groups->iota_dims, &groups->iota_permutation));
  bool transposed = groups->iota_permutation.count > 0;
  if (groups->iota_dims.count > 1 && !transposed)
    return read_want(l, "T(...), as there are several dimensions");
  if (groups->iota_dims.count < 2 && transposed)
    return READ_ERROR_AT(l, at,
                         "found T(...) of one dimension, want it only where there are several");
  return NULL;
}

/* mesh[...] {'a'} */
static hr_status_t read_mesh_groups(read_hlo_t *r, hlo_groups_t *groups) {
  bool comma;
  hlo_axes_t axes;
  read_used_axes_t used = {0};
  groups->form = HLO_GROUPS_MESH;
  HR_TRY(read_mesh(r, &groups->mesh, &comma));
  if (comma || groups->mesh.maximal)
    return read_want(&r->lexer, "a list of axes, without a comma before it");
  HR_TRY(read_axes(r, &groups->mesh, &used, &axes, NULL));
  groups->axis_count = axes.count;
  groups->axes = axes.refs;
  return NULL;
}

/* Expands the groups, unless the same text was met before. The sum of all expansions is limited. */
static hr_status_t share_groups(read_hlo_t *r, hr_str_t text, size_t at, hlo_groups_t *groups,
                                const hlo_groups_t **out_groups) {
  const hlo_groups_t *known = hr_map_get(&r->groups, text);
  if (known) {
    *out_groups = known;
    return NULL;
  }
  int64_t size = hlo_groups_size(groups);
  r->devices_made += size > 0 ? size : 0;
  if (size < 0 || r->devices_made > HLO_MAX_MODULE_DEVICES + (int64_t)r->lexer.size)
    return READ_ERROR_AT(&r->lexer, at,
                         "replica groups of too many devices, want at most %ld in one list",
                         (long)HLO_MAX_DEVICES);
  hr_status_t st = hlo_groups_expand(r->arena, groups);
  if (st && hr_status_code(st) == HR_INVALID) {
    hr_status_t placed = READ_ERROR_AT(&r->lexer, at, "%s", hr_status_message(st));
    hr_status_release(st);
    st = placed;
  }
  if (!st) st = hr_map_put(&r->groups, text, groups, NULL);
  *out_groups = groups;
  return st;
}

/* The first token decides among the notations. */
hr_status_t read_groups(read_hlo_t *r, const hlo_groups_t **out_groups) {
  read_lexer_t *l = &r->lexer;
  hlo_groups_t *groups;
  size_t from = l->token.at;
  HR_TRY(HR_NEW(r->arena, &groups));
  if (read_is(l, READ_OPEN_BRACE)) {
    const hlo_int_lists_t *lists;
    HR_TRY(read_int_lists(r, &lists));
    groups->groups = *lists;
    *out_groups = groups;
    return NULL;
  }
  if (!read_is(l, READ_OPEN_BRACKET) && !read_is_word(l, "mesh"))
    return read_want(l, "replica groups: {{0,1},...}, [2,4]<=[8], or mesh[...] {...}");
  size_t end;
  HR_TRY(read_is(l, READ_OPEN_BRACKET) ? read_iota_groups(r, groups) : read_mesh_groups(r, groups));
  end = l->token.at;
  return share_groups(r, (hr_str_t){l->text + from, end - from}, from, groups, out_groups);
}
