/* Reading of --sharding: 'in0=data,model;out0=data+model,-' names, for each dimension of an input
 * or output, the axes that cut it. Dimensions that are left out are whole, '?' leaves one to
 * propagation. Cost: linear in the text. */
#include <string.h>

#include "partition/annotations/shardings.h"

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

/* One dimension: names joined by '+', or '-', '' for none; '?' leaves it open. */
static hr_status_t read_option_dim(const spmd_meshes_t *meshes, spmd_scan_t *scan,
                                   spmd_dim_t *dim) {
  *dim = (spmd_dim_t){.priority = SPMD_NO_PRIORITY};
  bool continues = false;
  if (spmd_scan_take(scan, "?")) dim->open = true;
  for (bool more = !dim->open; more; more = spmd_scan_take(scan, "+")) {
    hr_str_t name = spmd_scan_name(scan);
    int axis = -1;
    if (!name.size && continues)
      return hr_error(HR_USAGE, "option --sharding: want an axis behind '+'");
    if (!name.size || hr_str_is(name, "-")) return NULL;
    continues = true;
    for (int a = 0; meshes->mesh && a < meshes->mesh->axis_count; a++)
      if (hr_str_equal(meshes->mesh->axis_names[a], name)) axis = a;
    int source = axis < 0 ? spmd_meshes_find(meshes, HR_STR("mesh")) : -1;
    bool has_size_1 = source >= 0 && spmd_source_axis(&meshes->sources.data[source], name) >= 0;
    if (axis < 0 && !has_size_1 && !meshes->sources.count)
      return hr_error(
          HR_USAGE, "option --sharding: \"%.*s\" of a program without a mesh: give one with --mesh",
          HR_STR_ARGS(name));
    if (axis < 0 && !has_size_1) return no_axis(meshes, source, name);
    if (axis < 0) continue;
    spmd_axis_t *whole;
    HR_TRY(HR_NEW(meshes->arena, &whole));
    *whole = spmd_whole_axis(meshes->mesh, axis);
    HR_TRY(spmd_axes_concat(meshes->arena, dim->axes, (spmd_axes_t){1, whole}, &dim->axes));
  }
  return NULL;
}

/* Parts end at ';'. Whether the number exists the caller knows. */
hr_status_t spmd_next_option(hr_str_t *text, spmd_option_t *out_option) {
  const char *end = memchr(text->data, ';', text->size);
  size_t size = end ? (size_t)(end - text->data) : text->size;
  hr_str_t part = {text->data, size};
  const char *equals = memchr(part.data, '=', part.size);
  spmd_scan_t scan = spmd_scan(part, "option --sharding");
  *out_option = (spmd_option_t){.number = -1};
  out_option->is_input = spmd_scan_take(&scan, "in");
  bool known = out_option->is_input || spmd_scan_take(&scan, "out");
  if (known) hr_status_release(spmd_scan_number(&scan, &out_option->number));
  if (!equals || out_option->number < 0 || scan.at != equals)
    return hr_error(HR_USAGE,
                    "option --sharding: \"%.*s\", want inN=AXES or outN=AXES, such as "
                    "in0=data,model",
                    HR_STR_ARGS(part));
  out_option->list = (hr_str_t){equals + 1, (size_t)(part.data + part.size - equals - 1)};
  *text = end ? (hr_str_t){end + 1, text->size - size - 1} : (hr_str_t){part.data, 0};
  return NULL;
}

/* "data,-": dimension 0 over data, the others whole. */
hr_status_t spmd_read_option_sharding(const spmd_meshes_t *meshes, const spmd_option_t *option,
                                      int rank, const spmd_sharding_t **out_sharding) {
  spmd_scan_t scan = spmd_scan(option->list, "option --sharding");
  spmd_sharding_t *sharding;
  spmd_dim_t *dims;
  HR_TRY(HR_NEW(meshes->arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(meshes->arena, rank, &dims));
  for (int d = 0; d < rank; d++) dims[d].priority = SPMD_NO_PRIORITY;
  bool more = !spmd_scan_is_done(&scan);
  for (int d = 0; more; d++) {
    if (d == rank)
      return hr_error(HR_USAGE, "option --sharding: \"%s%ld=%.*s\" for a value of rank %d",
                      option->is_input ? "in" : "out", (long)option->number,
                      HR_STR_ARGS(option->list), rank);
    HR_TRY(read_option_dim(meshes, &scan, &dims[d]));
    more = spmd_scan_take(&scan, ",");
  }
  if (!spmd_scan_is_done(&scan))
    return hr_error(HR_USAGE, "option --sharding: \"%.*s\", want axes with ',' between dimensions",
                    HR_STR_ARGS(option->list));
  *sharding = (spmd_sharding_t){.mesh = meshes->mesh, .device = -1, .rank = rank, .dims = dims};
  *out_sharding = sharding;
  return NULL;
}
