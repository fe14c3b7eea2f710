/* Parses the texts of meshes, shardings and lists of axes. What the texts name is looked up later:
 * axes in sdy_axes.c, meshes in sdy_sharding.c. Cost: linear in the text. */
#include <stdio.h>
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

/* --- places --- */

bool sdy_find_place(const sdy_verifier_t *verifier, const char *at, hr_pos_t *out_pos) {
  const hr_source_t *source = &verifier->module->source;
  hr_pos_t pos = {source, 1, 1};
  if (!at || !verifier->op->line || at < source->text || at > source->text + source->size_bytes)
    return false;
  for (const char *c = source->text; c < at; c++) {
    pos.column = *c == '\n' ? 1 : pos.column + 1;
    pos.line += *c == '\n';
  }
  *out_pos = pos;
  return true;
}

static hr_pos_t place_of(const sdy_verifier_t *verifier, const char *at) {
  const mlir_op_t *op = verifier->op;
  hr_pos_t pos = {&verifier->module->source, op->line, op->column};
  sdy_find_place(verifier, at, &pos);
  return pos;
}

static void locate_scan(hr_where_t *where) {
  const sdy_place_t *place = where->at;
  where->pos = place_of(place->verifier, place->scan->at);
}

void sdy_place_push(sdy_place_t *place, const sdy_verifier_t *verifier, const hr_scan_t *scan) {
  *place = (sdy_place_t){{.locate = locate_scan, .at = place}, verifier, scan};
  hr_where_push(&place->where);
}

void sdy_place_pop(sdy_place_t *place) { hr_where_pop(&place->where); }

hr_status_t sdy_error_from(const char *file, int line, const sdy_verifier_t *verifier,
                           const char *at, const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  hr_pos_t pos = place_of(verifier, at);
  return hr_error_from(file, line, HR_INVALID, &pos, "%.*s: %s%s", HR_STR_ARGS(verifier->op->name),
                       verifier->subject, message);
}

void sdy_set_subject(sdy_verifier_t *verifier, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(verifier->subject, sizeof verifier->subject, format, args);
  va_end(args);
}

/* --- attributes --- */

/* "#sdy.sharding<BODY>" and "#sdy<manual_axesBODY>" have the same two brackets around; the name of
 * a kind ends before the body's own bracket. */
hr_str_t sdy_attr_text(const mlir_attr_t *attr) {
  hr_str_t text = attr ? attr->text : (hr_str_t){"", 0};
  if (!text.size || text.data[0] != '#') return text;
  const char *open = memchr(text.data, '<', text.size), *close = memrchr(text.data, '>', text.size);
  if (!open || !close || close < open) return text;
  bool is_kind_inside = !memchr(text.data, '.', (size_t)(open - text.data));
  const char *body = open + 1;
  while (is_kind_inside && body < close && *body != '[' && *body != '{') body++;
  return (hr_str_t){body, (size_t)(close - body)};
}

/* --- meshes --- */

/* A list of HR_VECs that becomes arrays of the arena. */
typedef struct mesh_lists {
  HR_VEC(sdy_mesh_axis_t) axes;
  HR_VEC(int64_t) ids;
} mesh_lists_t;

static hr_status_t parse_mesh_axes(sdy_verifier_t *verifier, hr_scan_t *scan, mesh_lists_t *lists) {
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more;) {
    sdy_mesh_axis_t axis;
    HR_TRY(hr_scan_quoted(scan, &axis.name));
    HR_TRY(hr_scan_want(scan, "="));
    HR_TRY(hr_scan_number(scan, &axis.size));
    if (axis.size < 1)
      return sdy_error(verifier, axis.name.data, "mesh axis \"%.*s\" has size 0, want 1 or more",
                       HR_STR_ARGS(axis.name));
    for (size_t i = 0; i < lists->axes.count; i++)
      if (hr_str_equal(lists->axes.data[i].name, axis.name))
        return sdy_error(verifier, axis.name.data, "there are two mesh axes \"%.*s\"",
                         HR_STR_ARGS(axis.name));
    HR_VEC_PUSH(&lists->axes, axis);
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  return NULL;
}

static hr_status_t parse_device_ids(hr_scan_t *scan, mesh_lists_t *lists) {
  if (!hr_scan_take(scan, ",")) return NULL;
  HR_TRY(hr_scan_want(scan, "device_ids"));
  HR_TRY(hr_scan_want(scan, "="));
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more;) {
    int64_t id;
    HR_TRY(hr_scan_number(scan, &id));
    HR_VEC_PUSH(&lists->ids, id);
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  return NULL;
}

/* Without axes at most one device; else each of them once. */
static hr_status_t check_ids(sdy_verifier_t *verifier, const char *at, const mesh_lists_t *lists) {
  int64_t devices = 1, count = (int64_t)lists->ids.count;
  bool *seen;
  for (size_t a = 0; a < lists->axes.count; a++)
    if (__builtin_mul_overflow(devices, lists->axes.data[a].size, &devices))
      return sdy_error(verifier, at, "the mesh has more than 2^63 devices");
  if (!count || (!lists->axes.count && count == 1)) return NULL;
  if (count != devices)
    return sdy_error(verifier, at, "the mesh lists %ld devices, want %ld", (long)count,
                     (long)devices);
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, count, &seen));
  for (int64_t i = 0; i < count; i++) {
    int64_t id = lists->ids.data[i];
    if (id >= count || seen[id])
      return sdy_error(verifier, at, "the mesh lists device %ld%s, want 0 to %ld, each once",
                       (long)id, id < count ? " twice" : "", (long)count - 1);
    seen[id] = true;
  }
  return NULL;
}

static hr_status_t parse_mesh(sdy_verifier_t *verifier, hr_scan_t *scan, mesh_lists_t *lists) {
  const char *at = scan->at;
  HR_TRY(parse_mesh_axes(verifier, scan, lists));
  HR_TRY(parse_device_ids(scan, lists));
  return check_ids(verifier, at, lists);
}

static hr_status_t new_mesh(hr_arena_t *arena, hr_str_t name, const mesh_lists_t *lists,
                            const sdy_mesh_t **out_mesh) {
  sdy_mesh_t *mesh;
  void *axes, *ids;
  size_t axis_bytes = lists->axes.count * sizeof *lists->axes.data;
  size_t id_bytes = lists->ids.count * sizeof *lists->ids.data;
  HR_TRY(HR_NEW(arena, &mesh));
  HR_TRY(hr_arena_copy(arena, lists->axes.data, axis_bytes, &axes));
  HR_TRY(hr_arena_copy(arena, lists->ids.data, id_bytes, &ids));
  *mesh = (sdy_mesh_t){name, (int)lists->axes.count, axes, (int64_t)lists->ids.count, ids};
  *out_mesh = mesh;
  return NULL;
}

static hr_status_t take_mesh(sdy_verifier_t *verifier, hr_arena_t *arena, hr_scan_t *scan,
                             hr_str_t name, const sdy_mesh_t **out_mesh) {
  mesh_lists_t lists = {0};
  hr_status_t st = parse_mesh(verifier, scan, &lists);
  if (!st) st = new_mesh(arena, name, &lists, out_mesh);
  HR_VEC_FREE(&lists.axes);
  HR_VEC_FREE(&lists.ids);
  return st;
}

/* All of the text must be read. */
static hr_status_t want_end(const hr_scan_t *scan_at_end) {
  hr_scan_t scan = *scan_at_end;
  return hr_scan_is_done(&scan) ? NULL : hr_scan_unexpected(&scan, "its end");
}

hr_status_t sdy_parse_mesh(sdy_verifier_t *verifier, hr_arena_t *arena, hr_str_t text,
                           hr_str_t name, const sdy_mesh_t **out_mesh) {
  hr_scan_t scan = hr_scan(text, "mesh");
  sdy_place_t place;
  sdy_place_push(&place, verifier, &scan);
  hr_status_t st = take_mesh(verifier, arena, &scan, name, out_mesh);
  if (!st) st = want_end(&scan);
  sdy_place_pop(&place);
  return st;
}

/* --- axes --- */

/* "x" or "x":(2)4 */
static hr_status_t parse_axis(hr_scan_t *scan, sdy_axis_t *out_axis) {
  *out_axis = (sdy_axis_t){.pre = 1, .number = -1};
  HR_TRY(hr_scan_quoted(scan, &out_axis->name));
  if (!hr_scan_take(scan, ":")) return NULL;
  out_axis->is_part = true;
  HR_TRY(hr_scan_want(scan, "("));
  HR_TRY(hr_scan_number(scan, &out_axis->pre));
  HR_TRY(hr_scan_want(scan, ")"));
  return hr_scan_number(scan, &out_axis->size);
}

/* Most axes in one list: sub-axes of the axes of a mesh of 2^63 devices. */
#define MAX_AXES 128

/* The list after '{', up to '}'; *out_open: it ends in '?'. NULL: it must not. */
static hr_status_t parse_list(sdy_verifier_t *verifier, hr_scan_t *scan, bool *out_open,
                              sdy_axes_t *out_axes) {
  sdy_axis_t items[MAX_AXES];
  void *copy;
  int count = 0;
  for (bool more = !hr_scan_take(scan, "}"); more; count++) {
    if (out_open && hr_scan_take(scan, "?")) {
      *out_open = true;
      HR_TRY(hr_scan_want(scan, "}"));
      break;
    }
    if (count == MAX_AXES) return hr_scan_unexpected(scan, "at most 128 axes");
    HR_TRY(parse_axis(scan, &items[count]));
    HR_TRY(hr_scan_more(scan, "}", &more));
  }
  HR_TRY(hr_arena_copy(&verifier->scratch, items, (size_t)count * sizeof *items, &copy));
  *out_axes = (sdy_axes_t){count, copy};
  return NULL;
}

hr_status_t sdy_parse_axes(sdy_verifier_t *verifier, hr_scan_t *scan, sdy_axes_t *out_axes) {
  HR_TRY(hr_scan_want(scan, "{"));
  return parse_list(verifier, scan, NULL, out_axes);
}

/* --- shardings --- */

/* {"x", ?}p1 */
static hr_status_t parse_dim(sdy_verifier_t *verifier, hr_scan_t *scan, sdy_dim_t *out_dim) {
  int64_t priority;
  *out_dim = (sdy_dim_t){0};
  HR_TRY(hr_scan_want(scan, "{"));
  out_dim->at = scan->at - 1;
  HR_TRY(parse_list(verifier, scan, &out_dim->is_open, &out_dim->axes));
  const char *at = scan->at;
  if (at == scan->end || *at != 'p') return NULL;
  scan->at++;
  if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9') {
    scan->at = at;
    return hr_scan_unexpected(scan, "a priority such as p1");
  }
  out_dim->has_priority = true;
  bool has_zero = *scan->at == '0';
  HR_TRY(hr_scan_large_number(scan, &priority));
  if (!has_zero || scan->at == at + 2) return NULL;
  scan->at = at;
  return hr_scan_unexpected(scan, "a priority without leading zeros");
}

#define MAX_DIMS 64 /* most dimensions of a sharding; types have fewer */

static hr_status_t parse_dims(sdy_verifier_t *verifier, hr_scan_t *scan, sdy_sharding_t *sharding) {
  sdy_dim_t dims[MAX_DIMS];
  void *copy;
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more; sharding->rank++) {
    if (sharding->rank == MAX_DIMS) return hr_scan_unexpected(scan, "at most 64 dimensions");
    HR_TRY(parse_dim(verifier, scan, &dims[sharding->rank]));
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  HR_TRY(hr_arena_copy(&verifier->scratch, dims, (size_t)sharding->rank * sizeof *dims, &copy));
  sharding->dims = copy;
  return NULL;
}

/* The reduction before a list of unreduced axes; none is a sum. */
static const char *take_reduction(hr_scan_t *scan) {
  static const char *const words[] = {"sum", "max", "min"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (hr_scan_take(scan, words[i])) return words[i];
  return words[0];
}

/* , replicated={..}, unreduced=max{..}: each once, in any order */
static hr_status_t parse_rest(sdy_verifier_t *verifier, hr_scan_t *scan, sdy_sharding_t *sharding) {
  bool has[2] = {false, false};
  while (hr_scan_take(scan, ",")) {
    hr_scan_take(scan, ""); /* blanks */
    const char *at = scan->at;
    bool is_unreduced = hr_scan_take(scan, "unreduced");
    bool is_known = is_unreduced || hr_scan_take(scan, "replicated");
    if (!is_known || has[is_unreduced]) {
      scan->at = at;
      return hr_scan_unexpected(scan, "replicated={...} or unreduced={...}, each once");
    }
    has[is_unreduced] = true;
    HR_TRY(hr_scan_want(scan, "="));
    if (is_unreduced) sharding->reduction = take_reduction(scan);
    HR_TRY(sdy_parse_axes(verifier, scan,
                          is_unreduced ? &sharding->unreduced : &sharding->replicated));
  }
  return NULL;
}

/* @name, @"name" or mesh<["a"=2]> */
static hr_status_t parse_mesh_of(sdy_verifier_t *verifier, hr_scan_t *scan,
                                 sdy_sharding_t *sharding) {
  if (hr_scan_take(scan, "@")) {
    if (scan->at < scan->end && *scan->at == '"') return hr_scan_quoted(scan, &sharding->mesh_name);
    sharding->mesh_name = hr_scan_name(scan);
    return sharding->mesh_name.size ? NULL : hr_scan_unexpected(scan, "the name of a mesh");
  }
  if (!hr_scan_take(scan, "mesh<")) return hr_scan_unexpected(scan, "a mesh, such as @mesh");
  HR_TRY(take_mesh(verifier, &verifier->scratch, scan, (hr_str_t){"", 0}, &sharding->mesh));
  return hr_scan_want(scan, ">");
}

/* @mesh, [dims], replicated={axes} */
static hr_status_t parse_sharding(sdy_verifier_t *verifier, hr_scan_t *scan,
                                  sdy_sharding_t *out_sharding) {
  *out_sharding = (sdy_sharding_t){.reduction = "sum"};
  hr_scan_take(scan, ""); /* blanks */
  out_sharding->at = scan->at;
  HR_TRY(parse_mesh_of(verifier, scan, out_sharding));
  HR_TRY(hr_scan_want(scan, ","));
  HR_TRY(parse_dims(verifier, scan, out_sharding));
  return parse_rest(verifier, scan, out_sharding);
}

hr_status_t sdy_parse_sharding(sdy_verifier_t *verifier, hr_str_t text,
                               sdy_sharding_t *out_sharding) {
  hr_scan_t scan = hr_scan(text, "sharding");
  sdy_place_t place;
  sdy_place_push(&place, verifier, &scan);
  hr_status_t st = parse_sharding(verifier, &scan, out_sharding);
  if (!st) st = want_end(&scan);
  sdy_place_pop(&place);
  return st;
}

/* <@mesh, [..]>, #sdy.sharding<@mesh, [..]> */
static hr_status_t parse_each(sdy_verifier_t *verifier, hr_scan_t *scan, sdy_shardings_t *list) {
  bool is_bracketed = hr_scan_take(scan, "[");
  for (bool more = !(is_bracketed ? hr_scan_take(scan, "]") : hr_scan_is_done(scan)); more;) {
    hr_scan_take(scan, "#sdy.sharding");
    HR_TRY(hr_scan_want(scan, "<"));
    HR_TRY(parse_sharding(verifier, scan, &list->items[list->count++]));
    HR_TRY(hr_scan_want(scan, ">"));
    more = hr_scan_take(scan, ",");
    if (!more && is_bracketed) HR_TRY(hr_scan_want(scan, "]"));
  }
  return want_end(scan);
}

hr_status_t sdy_parse_shardings(sdy_verifier_t *verifier, hr_str_t text,
                                sdy_shardings_t *out_shardings) {
  hr_scan_t scan = hr_scan(text, "list of shardings");
  sdy_place_t place;
  int bound = 0;
  for (size_t i = 0; i < text.size; i++) bound += text.data[i] == '<';
  *out_shardings = (sdy_shardings_t){.at = text.data};
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, bound + 1, &out_shardings->items));
  sdy_place_push(&place, verifier, &scan);
  hr_status_t st = parse_each(verifier, &scan, out_shardings);
  sdy_place_pop(&place);
  return st;
}
