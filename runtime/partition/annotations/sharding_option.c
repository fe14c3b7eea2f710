/* Reads --sharding: 'in0=data,model;out0=data+model,-' names, for each dimension of an input or
 * output, the axes that cut it. Omitted dimensions are whole; '?' leaves a dimension open to
 * propagation. Cost: linear in the text. */
#include <stdarg.h>
#include <string.h>

#include "partition/annotations/shardings.h"

static const char *prefix_of(const spmd_option_t *option) {
  return option->is_input ? "in" : "out";
}

hr_status_t spmd_option_error(const spmd_option_t *option, const char *format, ...) {
  va_list args;
  char what[512];
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return hr_error(HR_USAGE, "option --sharding: \"%s%ld=%.*s\": %s", prefix_of(option),
                  (long)option->number, HR_STR_ARGS(option->list), what);
}

hr_status_t spmd_option_error_absent(const spmd_option_t *option, int64_t count) {
  const char *prefix = prefix_of(option);
  if (!count) return spmd_option_error(option, "the program has no %sput", prefix);
  return spmd_option_error(option, "%s%ld of a program of %ld %sput%s, want at most %s%ld", prefix,
                           (long)option->number, (long)count, prefix, count == 1 ? "" : "s", prefix,
                           (long)count - 1);
}

hr_status_t spmd_option_error_twice(const spmd_option_t *option) {
  return spmd_option_error(option, "%s%ld is named twice", prefix_of(option), (long)option->number);
}

/* `source` is the mesh of --mesh; -1: the program's, which may be several. */
static hr_status_t no_axis(const spmd_meshes_t *meshes, int source, hr_str_t name) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, "option --sharding: the mesh has");
  hr_status_t st =
      spmd_error_no_axis(HR_USAGE, &text, &meshes->sources.data[source < 0 ? 0 : source], name);
  hr_strbuf_deinit(&text);
  return st;
}

/* Adds the axis `name` to the dimension. An axis of size 1 cuts nothing. */
static hr_status_t add_axis(const spmd_meshes_t *meshes, hr_str_t name, spmd_dim_t *dim) {
  int axis = -1;
  for (int a = 0; meshes->mesh && a < meshes->mesh->axis_count; a++)
    if (hr_str_equal(meshes->mesh->axis_names[a], name)) axis = a;
  int source = axis < 0 ? spmd_meshes_find(meshes, HR_STR("mesh")) : -1;
  bool has_size_1 = source >= 0 && spmd_source_axis(&meshes->sources.data[source], name) >= 0;
  if (axis < 0 && !has_size_1 && !meshes->sources.count)
    return hr_error(HR_USAGE,
                    "option --sharding: \"%.*s\" of a program without a mesh: give one with --mesh",
                    HR_STR_ARGS(name));
  if (axis < 0 && !has_size_1) return no_axis(meshes, source, name);
  if (axis < 0) return NULL;
  spmd_axis_t *whole;
  HR_TRY(HR_NEW(meshes->arena, &whole));
  *whole = spmd_whole_axis(meshes->mesh, axis);
  return spmd_axes_concat(meshes->arena, dim->axes, (spmd_axes_t){1, whole}, &dim->axes);
}

/* Dimension `d`: names joined by '+', or '-' for none; '?' leaves it open. */
static hr_status_t read_option_dim(const spmd_meshes_t *meshes, const spmd_option_t *option, int d,
                                   hr_scan_t *scan, spmd_dim_t *dim) {
  *dim = (spmd_dim_t){.priority = SPMD_NO_PRIORITY};
  dim->open = hr_scan_take(scan, "?");
  bool is_first = true;
  for (bool more = !dim->open; more; is_first = false) {
    hr_str_t name = hr_scan_name(scan);
    more = hr_scan_take(scan, "+");
    if (!name.size)
      return spmd_option_error(option, "no axis for dimension %d%s, want axes, '-' or '?'", d,
                               is_first ? "" : " after '+'");
    bool is_none = hr_str_is(name, "-");
    if (is_none && (more || !is_first))
      return spmd_option_error(option, "'-' beside an axis of dimension %d, want one of the two",
                               d);
    if (!is_none) HR_TRY(add_axis(meshes, name, dim));
  }
  return NULL;
}

/* Assignments end at ';'. The caller checks that the number exists. */
hr_status_t spmd_next_option(hr_str_t *text, spmd_option_t *out_option) {
  const char *end = memchr(text->data, ';', text->size);
  size_t size = end ? (size_t)(end - text->data) : text->size;
  hr_str_t part = {text->data, size};
  const char *equals = memchr(part.data, '=', part.size);
  hr_scan_t scan = hr_scan(part, "option --sharding");
  *out_option = (spmd_option_t){.number = -1};
  out_option->is_input = hr_scan_take(&scan, "in");
  bool known = out_option->is_input || hr_scan_take(&scan, "out");
  if (known) hr_status_release(hr_scan_number(&scan, &out_option->number));
  if (!equals || out_option->number < 0 || scan.at != equals)
    return hr_error(HR_USAGE,
                    "option --sharding: \"%.*s\", want inN=AXES or outN=AXES, such as "
                    "in0=data,model",
                    HR_STR_ARGS(part));
  out_option->list = (hr_str_t){equals + 1, (size_t)(part.data + part.size - equals - 1)};
  *text = end ? (hr_str_t){end + 1, text->size - size - 1} : (hr_str_t){part.data, 0};
  if (end && !text->size)
    return spmd_option_error(out_option, "nothing after ';', want inN=AXES or outN=AXES");
  return NULL;
}

/* "data,-": dimension 0 over data, the others whole. */
hr_status_t spmd_read_option_sharding(const spmd_meshes_t *meshes, const spmd_option_t *option,
                                      int rank, const spmd_sharding_t **out_sharding) {
  hr_scan_t scan = hr_scan(option->list, "option --sharding");
  spmd_sharding_t *sharding;
  spmd_dim_t *dims;
  HR_TRY(HR_NEW(meshes->arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, rank, &dims));
  for (int d = 0; d < rank; d++) dims[d].priority = SPMD_NO_PRIORITY;
  bool more = rank || !hr_str_is(option->list, "-"); /* "-" is the whole of a scalar, too */
  if (!more) scan.at = scan.end;
  for (int d = 0; more; d++) {
    if (d == rank)
      return spmd_option_error(option, "axes for dimension %d of a value of rank %d", d, rank);
    HR_TRY(read_option_dim(meshes, option, d, &scan, &dims[d]));
    more = hr_scan_take(&scan, ",");
  }
  if (!hr_scan_is_done(&scan))
    return spmd_option_error(option, "\"%.*s\", want ',' between dimensions and '+' between axes",
                             (int)(scan.end - scan.at), scan.at);
  *sharding = (spmd_sharding_t){.mesh = meshes->mesh, .device = -1, .rank = rank, .dims = dims};
  *out_sharding = sharding;
  return NULL;
}
