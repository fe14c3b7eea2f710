/* Printer of shardings, meshes and metadata in the notation of XLA's HLO text, old
 * (devices=[2,1]<=[2]) and named (mesh['x'=2], [{'x'}, {}]). The form that was read is the form
 * that is printed. */
#include "ir/print.h"
#include "ir/sharding.h"

void hlo_ints_print(hr_strbuf_t *text, hr_ints_t ints) {
  for (int64_t i = 0; i < ints.count; i++) {
    if (i) hr_strbuf_add_char(text, ',');
    hr_strbuf_add_int(text, ints.data[i]);
  }
}

/* Axis names print in single quotes. */
static void print_axis_name(hr_strbuf_t *text, hr_str_t name) {
  hr_strbuf_t quoted;
  hr_strbuf_init(&quoted);
  hlo_print_string(&quoted, name);
  if (quoted.size >= 2) {
    quoted.data[0] = '\'';
    quoted.data[quoted.size - 1] = '\'';
    hr_strbuf_add(text, quoted.data, quoted.size);
  }
  text->failed |= quoted.failed;
  hr_strbuf_deinit(&quoted);
}

/* Iota tile assignment [4,2]T(1,0); the identity permutation is left out. */
static void print_iota(hr_strbuf_t *text, hr_ints_t dims, hr_ints_t permutation) {
  hr_strbuf_add_char(text, '[');
  hlo_ints_print(text, dims);
  hr_strbuf_add_char(text, ']');
  if (permutation.count < 2) return;
  hr_strbuf_add_str(text, "T(");
  hlo_ints_print(text, permutation);
  hr_strbuf_add_char(text, ')');
}

/* mesh['x'=2,'y'=4], device_ids=(...), or maximal_mesh[device_id=N]. */
void hlo_mesh_print(hr_strbuf_t *text, const hlo_mesh_t *mesh) {
  if (mesh->maximal) {
    hr_strbuf_printf(text, "maximal_mesh[device_id=%ld]", (long)mesh->device_ids.data[0]);
    return;
  }
  hr_strbuf_add_str(text, "mesh[");
  for (int a = 0; a < mesh->axis_count; a++) {
    if (a) hr_strbuf_add_char(text, ',');
    print_axis_name(text, mesh->axes[a].name);
    hr_strbuf_printf(text, "=%ld", (long)mesh->axes[a].size);
  }
  hr_strbuf_add_char(text, ']');
  if (!mesh->device_ids.count && !mesh->iota_dims.count) return;
  hr_strbuf_add_str(text, ", device_ids=(");
  if (mesh->iota_dims.count)
    print_iota(text, mesh->iota_dims, mesh->iota_permutation);
  else
    hlo_ints_print(text, mesh->device_ids);
  hr_strbuf_add_char(text, ')');
}

static void print_axis(hr_strbuf_t *text, const hlo_mesh_t *mesh, const hlo_axis_ref_t *ref) {
  print_axis_name(text, mesh->axes[ref->axis].name);
  if (ref->size) hr_strbuf_printf(text, ":(%ld)%ld", (long)ref->pre_size, (long)ref->size);
}

void hlo_axes_print(hr_strbuf_t *text, const hlo_mesh_t *mesh, hlo_axes_t axes) {
  for (int i = 0; i < axes.count; i++) {
    if (i) hr_strbuf_add_char(text, ',');
    print_axis(text, mesh, &axes.refs[i]);
  }
}

/* In shardings, unlike replica groups, axes are separated by ", ". */
static void print_axes(hr_strbuf_t *text, const hlo_mesh_t *mesh, hlo_axes_t axes) {
  for (int i = 0; i < axes.count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    print_axis(text, mesh, &axes.refs[i]);
  }
}

static void print_axes_key(hr_strbuf_t *text, const hlo_sharding_t *s, const char *key,
                           hr_str_t kind, hlo_axes_t axes) {
  if (!axes.count) return;
  hr_strbuf_printf(text, ", %s=%.*s{", key, HR_STR_ARGS(kind));
  print_axes(text, &s->mesh, axes);
  hr_strbuf_add_char(text, '}');
}

/* Axes per dimension; '?' marks a dimension that may be split further. */
static void print_named_dims(hr_strbuf_t *text, const hlo_sharding_t *s) {
  hr_strbuf_add_str(text, ", [");
  for (int d = 0; d < s->dim_count; d++) {
    hr_strbuf_add_str(text, d ? ", {" : "{");
    print_axes(text, &s->mesh, s->dims[d].axes);
    if (s->dims[d].open) hr_strbuf_add_str(text, s->dims[d].axes.count ? ", ?" : "?");
    hr_strbuf_add_char(text, '}');
  }
  hr_strbuf_add_char(text, ']');
}

static void print_named(hr_strbuf_t *text, const hlo_sharding_t *s) {
  hlo_mesh_print(text, &s->mesh);
  if (s->mesh.maximal) return;
  if (s->kind == HLO_TILE_KIND_OTHER)
    print_named_dims(text, s);
  else
    hr_strbuf_printf(text, ", %s", hlo_enum_table[HLO_ENUM_TILE_KIND].texts[s->kind]);
  print_axes_key(text, s, "replicated", (hr_str_t){"", 0}, s->replicated_axes);
  print_axes_key(text, s, "unreduced", s->unreduced_kind, s->unreduced_axes);
  print_axes_key(text, s, "manual", (hr_str_t){"", 0}, s->manual_axes);
}

/* devices=[tile dims]device list, then the kinds of the trailing tile dimensions. */
static void print_tiles(hr_strbuf_t *text, const hlo_sharding_t *s) {
  hr_strbuf_add_str(text, "devices=[");
  hlo_ints_print(text, s->tile_dims);
  hr_strbuf_add_char(text, ']');
  if (s->devices.count) {
    hlo_ints_print(text, s->devices);
  } else {
    hr_strbuf_add_str(text, "<=");
    print_iota(text, s->iota.dims, s->iota.permutation);
  }
  if (s->replicate_last_dim) hr_strbuf_add_str(text, " last_tile_dim_replicate");
  for (int64_t i = 0; i < s->last_tile_kinds.count; i++)
    hr_strbuf_printf(text, "%s%s", i ? ", " : " last_tile_dims={",
                     hlo_enum_table[HLO_ENUM_TILE_KIND].texts[s->last_tile_kinds.data[i]]);
  if (s->last_tile_kinds.count) hr_strbuf_add_char(text, '}');
}

/* A single metadata of an old sharding has no inner braces. */
static void print_metadata_key(hr_strbuf_t *text, const hlo_sharding_t *s) {
  if (!s->metadata_count) return;
  bool list = s->named || s->metadata_count > 1;
  hr_strbuf_add_str(text, s->named ? ", metadata={" : " metadata={");
  for (int i = 0; i < s->metadata_count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (list) hr_strbuf_add_char(text, '{');
    hlo_metadata_print(text, &s->metadata[i]);
    if (list) hr_strbuf_add_char(text, '}');
  }
  hr_strbuf_add_char(text, '}');
}

static void print_single(hr_strbuf_t *text, const hlo_sharding_t *s) {
  if (s->named)
    print_named(text, s);
  else if (s->kind == HLO_TILE_KIND_OTHER)
    print_tiles(text, s);
  else
    hr_strbuf_add_str(text, hlo_enum_table[HLO_ENUM_TILE_KIND].texts[s->kind]);
  if (s->kind == HLO_TILE_KIND_MAXIMAL && !s->named)
    hr_strbuf_printf(text, " device=%ld", (long)s->device);
  const char *group = s->group == HLO_SHARD_GROUP_AS ? "shard_as" : "shard_like";
  if (s->group) hr_strbuf_printf(text, " %s %ld", group, (long)s->group_id);
  print_metadata_key(text, s);
}

/* A tuple sharding lists one sharding per leaf. */
void hlo_sharding_print(hr_strbuf_t *text, const hlo_sharding_t *s) {
  hr_strbuf_add_char(text, '{');
  if (s->kind != HLO_TILE_KIND_TUPLE) print_single(text, s);
  for (int i = 0; i < s->element_count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (i && i % 5 == 0) hr_strbuf_printf(text, "/*index=%d*/", i);
    hlo_sharding_print(text, s->elements[i]);
  }
  hr_strbuf_add_char(text, '}');
}

/* A field of the metadata: a text, or a number if `text` is NULL. */
typedef struct field {
  const char *key;
  const hr_str_t *text;
  int64_t number;
} field_t;

/* Fields with a value, in the order of XLA's printer; profile_type is a list. */
void hlo_metadata_print(hr_strbuf_t *text, const hlo_metadata_t *m) {
  const field_t fields[] = {
      {"op_type", &m->op_type, 0},
      {"op_name", &m->op_name, 0},
      {"source_file", &m->source_file, 0},
      {"source_line", NULL, m->source_line},
      {"source_end_line", NULL, m->source_end_line},
      {"source_column", NULL, m->source_column},
      {"source_end_column", NULL, m->source_end_column},
      {"stack_frame_id", NULL, m->stack_frame_id},
      {"profile_type", NULL, 0},
      {"deduplicated_name", &m->deduplicated_name, 0},
      {"scheduling_name", &m->scheduling_name, 0},
  };
  const char *separator = "";
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const field_t *f = &fields[i];
    bool types = i == 8 && m->profile_type.count;
    if (!types && (f->text ? f->text->size == 0 : f->number == 0)) continue;
    hr_strbuf_printf(text, "%s%s=", separator, f->key);
    separator = " ";
    if (f->text) {
      hlo_print_string(text, *f->text);
    } else if (types) {
      hr_strbuf_add_char(text, '{');
      hlo_ints_print(text, m->profile_type);
      hr_strbuf_add_char(text, '}');
    } else {
      hr_strbuf_add_int(text, f->number);
    }
  }
}
