/* HLO text of shardings:
 *   sharding ::= "{" sharding,* "}" | "{" word* "}" | "{" mesh ("," dims)? ("," key "=" axes)* "}"
 *   word     ::= "replicated" | "manual" | "maximal" | "unreduced" | "device=" int
 *              | "devices=" tiles | "last_tile_dims={" kind,* "}" | "last_tile_dim_replicate"
 *              | "shard_as" int | "shard_like" int | "metadata=" ...
 *   tiles    ::= "[" int,* "]" (int,* | "<=[" int,* "]" ("T(" int,* ")")?)
 * A tuple has a sharding for each leaf. The reader checks that the number of tiles equals the
 * number of devices. */
#include <string.h>

#include "read/hlo_reader.h"

/* Tiled shardings ------------------------------------------------------------------------------ */

/* Each device from 0 on occurs once. */
static hr_status_t check_device_list(read_hlo_t *r, size_t at, hr_ints_t devices) {
  bool *seen;
  HR_TRY(HR_NEW_ARRAY(r->arena, devices.count, &seen));
  for (int64_t i = 0; i < devices.count; i++) {
    int64_t device = devices.data[i];
    bool is_known = device >= 0 && device < devices.count;
    if (!is_known || seen[device])
      return READ_ERROR_AT(&r->lexer, at, "found device %ld%s, want 0 to %ld, each once",
                           (long)device, is_known ? " twice" : "", (long)devices.count - 1);
    seen[device] = true;
  }
  return NULL;
}

/* The devices in the order of the tiles. */
static hr_status_t read_device_list(read_hlo_t *r, hlo_sharding_t *s) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  for (bool more = true; more;) {
    int64_t device;
    HR_TRY(read_int(l, &device));
    HR_VEC_PUSH(&r->ints, device);
    HR_TRY(read_accept(l, READ_COMMA, &more));
  }
  HR_TRY(
      hr_arena_ints(r->arena, r->ints.data + from, (int64_t)(r->ints.count - from), &s->devices));
  r->ints.count = from;
  return NULL;
}

/* devices=[2,2]0,1,2,3 or devices=[2,2]<=[4], after the '='. */
static hr_status_t read_tiles(read_hlo_t *r, hlo_sharding_t *s) {
  read_lexer_t *l = &r->lexer;
  size_t at = l->token.at;
  s->kind = HLO_TILE_KIND_OTHER;
  HR_TRY(read_ints(r, READ_OPEN_BRACKET, READ_CLOSE_BRACKET, &s->tile_dims));
  bool iota;
  HR_TRY(read_accept(l, READ_AT_MOST, &iota));
  if (iota) {
    HR_TRY(read_ints(r, READ_OPEN_BRACKET, READ_CLOSE_BRACKET, &s->iota.dims));
    if (read_is_word(l, "T")) {
      HR_TRY(read_advance(l));
      HR_TRY(read_ints(r, READ_OPEN_PAREN, READ_CLOSE_PAREN, &s->iota.permutation));
    }
    bool whole = s->iota.dims.count == s->iota.permutation.count ||
                 (s->iota.dims.count < 2 && !s->iota.permutation.count);
    if (!whole || !hlo_is_permutation(s->iota.permutation))
      return READ_ERROR_AT(
          l, at, "the transposition of the devices is no permutation of their dimensions");
  } else {
    HR_TRY(read_device_list(r, s));
  }
  int64_t tiles = hlo_device_count(s->tile_dims);
  int64_t devices = iota ? hlo_device_count(s->iota.dims) : s->devices.count;
  if (tiles > 0 && tiles == devices) return iota ? NULL : check_device_list(r, at, s->devices);
  return READ_ERROR_AT(l, at, "found %ld devices for %ld tiles, want as many, and at most %ld",
                       (long)devices, (long)tiles, (long)HLO_MAX_DEVICES);
}

/* last_tile_dims={manual, replicated} */
static hr_status_t read_last_tile_kinds(read_hlo_t *r, hlo_sharding_t *s) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more;) {
    int kind = read_is(l, READ_KEYWORD) ? hlo_enum_find(HLO_ENUM_TILE_KIND, l->token.text) : -1;
    if (kind < 0 || kind == HLO_TILE_KIND_UNKNOWN)
      return read_want(l, "replicated, manual, unreduced or maximal");
    HR_VEC_PUSH(&r->ints, kind);
    HR_TRY(read_advance(l));
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(hr_arena_ints(r->arena, r->ints.data + from, (int64_t)(r->ints.count - from),
                       &s->last_tile_kinds));
  r->ints.count = from;
  return read_expect(l, READ_CLOSE_BRACE);
}

/* metadata={...} or metadata={{...}, {...}}, after the '='. */
static hr_status_t read_sharding_metadata(read_hlo_t *r, hlo_sharding_t *s) {
  read_lexer_t *l = &r->lexer;
  HR_VEC(hlo_metadata_t) list = {0};
  bool several = read_peek(l) == '{';
  hr_status_t st = several ? read_advance(l) : NULL;
  for (bool more = true; more && !st;) {
    st = HR_VEC_RESERVE(&list, list.count + 1);
    if (!st) st = read_metadata(r, &list.data[list.count]);
    list.count += !st;
    more = several;
    if (!st && several) st = read_list_next(l, READ_CLOSE_BRACE, &more);
  }
  if (!st && several) st = read_expect(l, READ_CLOSE_BRACE);
  void *copy = NULL;
  if (!st) st = hr_arena_copy(r->arena, list.data, list.count * sizeof *list.data, &copy);
  s->metadata = copy;
  s->metadata_count = (int)list.count;
  HR_VEC_FREE(&list);
  return st;
}

/* An attribute name=value. */
static hr_status_t read_sharding_attr(read_hlo_t *r, hlo_sharding_t *s) {
  read_lexer_t *l = &r->lexer;
  hr_str_t name = l->token.text;
  bool device = hr_str_is(name, "device");
  bool devices = hr_str_is(name, "devices");
  bool kinds = hr_str_is(name, "last_tile_dims");
  if (!device && !devices && !kinds && !hr_str_is(name, "metadata"))
    return read_want(l, "device=, devices=, last_tile_dims= or metadata=");
  HR_TRY(read_advance(l));
  if (device) return read_int(l, &s->device);
  if (devices && s->tile_dims.count) return READ_ERROR_AT(l, l->token.at, "found devices= twice");
  if (devices) return read_tiles(r, s);
  return kinds ? read_last_tile_kinds(r, s) : read_sharding_metadata(r, s);
}

/* A word without "=": a kind, or a flag. */
static hr_status_t read_sharding_word(read_hlo_t *r, hlo_sharding_t *s, bool *kind_seen) {
  read_lexer_t *l = &r->lexer;
  read_keyword_t word = l->token.keyword;
  if (word == READ_KEYWORD_LAST_TILE_DIM_REPLICATE) {
    s->replicate_last_dim = true;
    return read_advance(l);
  }
  if (word == READ_KEYWORD_SHARD_AS || word == READ_KEYWORD_SHARD_LIKE) {
    if (s->group != HLO_SHARD_GROUP_NONE) return read_want(l, "one shard_as or shard_like");
    HR_TRY(read_advance(l));
    s->group = word == READ_KEYWORD_SHARD_AS ? HLO_SHARD_GROUP_AS : HLO_SHARD_GROUP_LIKE;
    return read_int(l, &s->group_id);
  }
  int kind = hlo_enum_find(HLO_ENUM_TILE_KIND, l->token.text);
  if (kind < 0 || *kind_seen) return read_want(l, "one kind of sharding and its attributes");
  *kind_seen = true;
  s->kind = (hlo_enum_TILE_KIND_t)kind;
  return read_advance(l);
}

/* Words in any order, up to the closing brace. Old versions put the shape of a tile among them. */
static hr_status_t read_words(read_hlo_t *r, hlo_sharding_t *s) {
  read_lexer_t *l = &r->lexer;
  bool kind_seen = false;
  size_t at = l->token.at;
  s->device = -1;
  while (!read_is(l, READ_CLOSE_BRACE)) {
    const hlo_shape_t *tile;
    if (read_is(l, READ_ATTR))
      HR_TRY(read_sharding_attr(r, s));
    else if (read_is(l, READ_KEYWORD))
      HR_TRY(read_sharding_word(r, s, &kind_seen));
    else if (read_is(l, READ_TYPE))
      HR_TRY(read_shape(r, &tile));
    else
      return read_want(l, "'}' or a word of a sharding");
  }
  if (!kind_seen && !s->tile_dims.count)
    return READ_ERROR_AT(l, at, "the sharding has neither a kind nor devices=");
  if (kind_seen && s->tile_dims.count)
    return READ_ERROR_AT(l, at, "the sharding has both a kind and devices=");
  if (s->kind == HLO_TILE_KIND_MAXIMAL && s->device < 0)
    return READ_ERROR_AT(l, at, "the maximal sharding has no device=");
  int64_t extra = s->replicate_last_dim + s->last_tile_kinds.count;
  if (extra && extra > s->tile_dims.count)
    return READ_ERROR_AT(l, at,
                         "found %ld tile dimensions, want at least the %ld that the last ones name",
                         (long)s->tile_dims.count, (long)extra);
  return NULL;
}

/* Named shardings ------------------------------------------------------------------------------ */

/* [{'x'}, {'y', ?}] */
static hr_status_t read_named_dims(read_hlo_t *r, hlo_sharding_t *s, read_used_axes_t *used) {
  read_lexer_t *l = &r->lexer;
  hlo_sharding_dim_t dims[HLO_MAX_RANK];
  void *copy;
  HR_TRY(read_expect(l, READ_OPEN_BRACKET));
  for (bool more = !read_is(l, READ_CLOSE_BRACKET); more; s->dim_count++) {
    if (s->dim_count == HLO_MAX_RANK) return read_want(l, "at most %d dimensions", HLO_MAX_RANK);
    hlo_sharding_dim_t *dim = &dims[s->dim_count];
    HR_TRY(read_axes(r, &s->mesh, used, &dim->axes, &dim->open));
    HR_TRY(read_list_next(l, READ_CLOSE_BRACKET, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACKET));
  HR_TRY(hr_arena_copy(r->arena, dims, (size_t)s->dim_count * sizeof *dims, &copy));
  s->dims = copy;
  return NULL;
}

/* replicated={..}, unreduced={..} or manual={..} */
static hr_status_t read_named_key(read_hlo_t *r, hlo_sharding_t *s, read_used_axes_t *used) {
  read_lexer_t *l = &r->lexer;
  hr_str_t key = l->token.text;
  bool unreduced = hr_str_is(key, "unreduced");
  if (!read_is(l, READ_ATTR) || (!unreduced && !hr_str_is(key, "replicated") &&
                                 !hr_str_is(key, "manual") && !hr_str_is(key, "metadata")))
    return read_want(l, "replicated=, unreduced=, manual= or metadata=");
  HR_TRY(read_advance(l));
  if (hr_str_is(key, "metadata")) return read_sharding_metadata(r, s);
  if (unreduced && read_is(l, READ_WORD)) { /* unreduced=max{...} */
    s->unreduced_kind = l->token.text;
    HR_TRY(read_advance(l));
  }
  hlo_axes_t *axes = unreduced                  ? &s->unreduced_axes
                     : hr_str_is(key, "manual") ? &s->manual_axes
                                                : &s->replicated_axes;
  return read_axes(r, &s->mesh, used, axes, NULL);
}

/* mesh[...], [dims] or a word, then keys. */
static hr_status_t read_named(read_hlo_t *r, hlo_sharding_t *s) {
  read_lexer_t *l = &r->lexer;
  bool comma;
  read_used_axes_t used = {0};
  s->named = true;
  HR_TRY(read_mesh(r, &s->mesh, &comma));
  if (!comma && !s->mesh.maximal) return read_want(l, "','");
  s->kind = HLO_TILE_KIND_OTHER;
  if (s->mesh.maximal) {
    s->kind = HLO_TILE_KIND_MAXIMAL;
    s->device = s->mesh.device_ids.data[0];
    HR_TRY(read_accept(l, READ_COMMA, &comma));
  } else if (read_is(l, READ_OPEN_BRACKET)) {
    HR_TRY(read_named_dims(r, s, &used));
    HR_TRY(read_accept(l, READ_COMMA, &comma));
  } else if (read_is_keyword(l, READ_KEYWORD_REPLICATED) ||
             read_is_keyword(l, READ_KEYWORD_MANUAL) ||
             read_is_keyword(l, READ_KEYWORD_UNREDUCED)) {
    s->kind = (hlo_enum_TILE_KIND_t)hlo_enum_find(HLO_ENUM_TILE_KIND, l->token.text);
    HR_TRY(read_advance(l));
    HR_TRY(read_accept(l, READ_COMMA, &comma));
  } else {
    return read_want(l, "replicated, manual, unreduced, or dimensions in brackets");
  }
  while (comma) {
    HR_TRY(read_named_key(r, s, &used));
    HR_TRY(read_accept(l, READ_COMMA, &comma));
  }
  return NULL;
}

/* ---------------------------------------------------------------------------------------------- */

/* One leaf, up to and including its closing brace. */
static hr_status_t read_leaf(read_hlo_t *r, const hlo_sharding_t **out_sharding) {
  hlo_sharding_t *s;
  HR_TRY(HR_NEW(r->arena, &s));
  bool named = read_is_word(&r->lexer, "mesh") || read_is_word(&r->lexer, "maximal_mesh");
  HR_TRY(named ? read_named(r, s) : read_words(r, s));
  *out_sharding = s;
  return read_expect(&r->lexer, READ_CLOSE_BRACE);
}

/* {{..}, {..}}: one per leaf. */
static hr_status_t read_tuple_sharding(read_hlo_t *r, const hlo_sharding_t **out_sharding) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->nodes.count;
  hlo_sharding_t *tuple;
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more;) {
    const hlo_sharding_t *leaf;
    HR_TRY(read_expect(l, READ_OPEN_BRACE));
    HR_TRY(read_leaf(r, &leaf));
    HR_VEC_PUSH(&r->nodes, leaf);
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  HR_TRY(HR_NEW(r->arena, &tuple));
  void *copy;
  HR_TRY(hr_arena_copy(r->arena, r->nodes.data + from,
                       (r->nodes.count - from) * sizeof *r->nodes.data, &copy));
  tuple->kind = HLO_TILE_KIND_TUPLE;
  tuple->element_count = (int)(r->nodes.count - from);
  tuple->elements = copy;
  r->nodes.count = from;
  *out_sharding = tuple;
  return NULL;
}

/* {leaf} or {{leaf}, {leaf}, ...}: a second brace begins a tuple, and {} is the tuple of none. */
hr_status_t read_sharding(read_hlo_t *r, const hlo_sharding_t **out_sharding) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  if (read_is(l, READ_OPEN_BRACE) || read_is(l, READ_CLOSE_BRACE))
    return read_tuple_sharding(r, out_sharding);
  return read_leaf(r, out_sharding);
}
