/* Reading of HLO protos: recognition, wrappers, schedule, computations, entry. The five forms nest
 * the module at different depths:
 *
 *   HloModuleProto                 fields of the module itself
 *   HloProto, ...WithConfig        1: module
 *   HloSnapshot, Unoptimized...    1: HloProto with 1: module
 *
 * Field 1 of a module is its name; a nested message begins with a small tag instead. Order:
 * header, schedules, computations (callees first), entry, marking of asynchronous ops. */
#include "proto/proto_read.h"

#include <string.h>

#include "proto/hlo_proto.h"

/* Recognition ---------------------------------------------------------------------------- */

/* True for bytes that do not occur in text. */
static bool is_control(char c) { return (unsigned char)c < ' ' && !strchr("\t\n\v\f\r", c); }

/* All forms begin with field 1, or with 2 or 3 if the module has no name. The tag of field 1 is a
 * newline, which may also begin a text; but lengths and tags of a proto soon include bytes that do
 * not occur in text. */
bool hlo_proto_is(hr_str_t bytes) {
  enum { SNIFF_BYTES = 1 << 16 };
  if (bytes.size < 2) return false;
  char first = bytes.data[0];
  if (first == (2 << 3 | 2) || first == (3 << 3 | 2)) return true;
  if (first != (1 << 3 | 2)) return false;
  for (size_t i = 1; i < bytes.size && i < SNIFF_BYTES; i++)
    if (!bytes.data[i] || is_control(bytes.data[i])) return true;
  return false;
}

/* True if field 1 is a nested message, which begins with a tag of fields 1 to 3, rather than a
 * name. */
static bool has_nested_message(proto_list_t pieces) {
  return pieces.count && pieces.items[0].size && (unsigned char)pieces.items[0].data[0] < ' ';
}

/* Reads HloModuleConfigProto, field 2 of HloModuleProtoWithConfig. Other wrappers use this number
 * for other messages, which have neither count and are ignored. */
static hr_status_t read_wrapper_config(proto_reader_t *p, const proto_wrapper_t *wrapper) {
  proto_config_t config;
  if (wrapper->config.count != 1 || wrapper->version.present) return NULL;
  HR_TRY(PROTO_DECODE(&p->scratch, config, wrapper->config, &config));
  return config.replica_count || config.num_partitions ? proto_read_config(p, wrapper->config)
                                                       : NULL;
}

/* Modules -------------------------------------------------------------------------------------- */

/* Schedules: ids of computations (keys of the map), and their instruction orders. */
typedef struct schedules {
  int64_t count;
  int64_t *ids;
  hr_ints_t *orders;
} schedules_t;

static hr_status_t read_schedules(proto_reader_t *p, proto_list_t pieces, hr_map_t *by_id) {
  proto_schedule_t in;
  schedules_t s;
  HR_TRY(PROTO_DECODE(&p->scratch, schedule, pieces, &in));
  HR_TRY(HR_NEW_ARRAY(&p->scratch, in.sequences.count, &s.ids));
  HR_TRY(HR_NEW_ARRAY(&p->scratch, in.sequences.count, &s.orders));
  for (int64_t i = 0; i < in.sequences.count; i++) {
    proto_sequence_entry_t entry;
    proto_sequence_t sequence;
    HR_TRY(PROTO_DECODE(&p->scratch, sequence_entry, proto_piece(&in.sequences.items[i]), &entry));
    HR_TRY(PROTO_DECODE(&p->scratch, sequence, entry.sequence, &sequence));
    HR_TRY(proto_ints(&p->scratch, sequence.instruction_ids, &s.orders[i]));
    s.ids[i] = entry.computation_id;
    HR_TRY(hr_map_put(by_id, (hr_str_t){(const char *)&s.ids[i], 8}, &s.orders[i], NULL));
  }
  return NULL;
}

/* Callees come first in the file. Scratch memory is released after each computation. */
static hr_status_t read_computations(proto_reader_t *p, proto_list_t list,
                                     const hr_map_t *schedules) {
  static const hr_ints_t none;
  for (int64_t i = 0; i < list.count; i++) {
    proto_computation_t in;
    hr_arena_mark_t mark = hr_arena_mark(&p->scratch);
    HR_TRY(PROTO_DECODE(&p->scratch, computation, proto_piece(&list.items[i]), &in));
    const hr_ints_t *schedule = hr_map_get(schedules, (hr_str_t){(const char *)&in.id, 8});
    HR_TRY(proto_read_computation(p, &in, schedule ? schedule : &none));
    hr_arena_rewind(&p->scratch, mark);
  }
  return NULL;
}

/* Finds the entry by its id; old files have only its name, and some have both. */
static hr_status_t find_entry(proto_reader_t *p, const proto_module_t *in) {
  int64_t id = in->entry_computation_id.value;
  hlo_module_t *module = p->module;
  module->entry = hr_map_get(&p->computations, (hr_str_t){(const char *)&id, 8});
  hr_str_t name = in->entry_computation_name;
  if (name.size && (!module->entry || !in->entry_computation_id.present)) {
    hlo_computation_t *named = hr_map_get(&p->computation_names, name);
    if (named) module->entry = named;
  }
  if (module->entry) return NULL;
  return PROTO_ERROR("the module has no entry computation of id %ld", (long)id);
}

/* XLA's partitioner writes the shardings of the results, one for each leaf of a tuple. */
static hr_status_t read_result_shardings(proto_reader_t *p, proto_list_t pieces) {
  hlo_module_t *module = p->module;
  const hlo_sharding_t *sharding, **leaves;
  int count = hlo_shape_leaf_count(module->entry->root->shape);
  if (!pieces.count || module->num_partitions < 2) return NULL;
  HR_TRY(proto_read_sharding(p, pieces, &sharding));
  bool is_tuple = sharding->kind == HLO_TILE_KIND_TUPLE;
  if (is_tuple && sharding->element_count != count)
    return PROTO_ERROR("shardings of %d results, want %d", sharding->element_count, count);
  HR_TRY(HR_NEW_ARRAY(&module->arena, count + 1, &leaves));
  for (int i = 0; i < count; i++) leaves[i] = is_tuple ? sharding->elements[i] : sharding;
  module->result_shardings = leaves;
  module->was_global = true;
  return NULL;
}

/* The name is made valid in HLO text, like all others. */
static hr_status_t read_module(proto_reader_t *p, proto_list_t pieces) {
  proto_module_t in;
  hr_map_t schedules;
  HR_TRY(PROTO_DECODE(&p->scratch, module, pieces, &in));
  if (!in.computations.count)
    return PROTO_ERROR("the bytes are no HLO proto: there are no computations in them");
  hr_map_t none;
  hr_map_init(&none);
  hr_status_t st = proto_make_name(p, in.name, &none, p, &p->module->name);
  hr_map_deinit(&none);
  HR_TRY(st);
  p->payloads = in.payloads;
  hr_map_init(&schedules);
  st = proto_read_header(p, &in);
  if (!st) st = read_schedules(p, in.schedule, &schedules);
  if (!st) st = read_computations(p, in.computations, &schedules);
  hr_map_deinit(&schedules);
  if (!st) st = find_entry(p, &in);
  if (!st) st = read_result_shardings(p, in.output_sharding);
  return st ? st : proto_mark_async(p);
}

/* Decodes field 1 at most twice, to find the depth of the module. */
static hr_status_t read_any_form(proto_reader_t *p) {
  const hr_source_t *source = &p->module->source;
  hr_str_t bytes = {source->text, source->size_bytes};
  proto_list_t pieces = proto_piece(&bytes);
  proto_snapshot_t snapshot;
  proto_wrapper_t wrapper = {0}, inner;
  HR_TRY(PROTO_DECODE(&p->scratch, wrapper, pieces, &wrapper));
  if (!has_nested_message(wrapper.hlo_module)) return read_module(p, pieces);
  HR_TRY(PROTO_DECODE(&p->scratch, wrapper, wrapper.hlo_module, &inner));
  if (has_nested_message(inner.hlo_module)) { /* HloSnapshot around HloProto */
    HR_TRY(PROTO_DECODE(&p->scratch, snapshot, pieces, &snapshot));
    HR_TRY(PROTO_DECODE(&p->scratch, wrapper, snapshot.hlo, &wrapper));
    wrapper.config.count = 0;
  }
  HR_TRY(read_module(p, wrapper.hlo_module));
  return read_wrapper_config(p, &wrapper);
}

/* Frees maps and scratch memory; the module keeps its arena. */
static void deinit_reader(proto_reader_t *p) {
  hr_map_deinit(&p->computations);
  hr_map_deinit(&p->computation_names);
  hr_map_deinit(&p->instrs);
  hr_map_deinit(&p->names);
  hr_map_deinit(&p->groups);
  hr_arena_deinit(&p->scratch);
}

/* Owner: strings of the module point into module->source. */
hr_status_t read_hlo_proto(hlo_module_t *module) {
  proto_reader_t p = {.module = module, .arena = &module->arena};
  hr_arena_init(&p.scratch);
  hr_status_t st = read_any_form(&p);
  if (st && module->source.path)
    st = hr_status_note(st, "while reading %s as an HLO proto", module->source.path);
  deinit_reader(&p);
  return st;
}

hr_status_t hlo_proto_read_sharding(hlo_module_t *module, hr_str_t bytes,
                                    const hlo_sharding_t **out_sharding) {
  proto_reader_t p = {.module = module, .arena = &module->arena};
  hr_arena_init(&p.scratch);
  hr_status_t st = proto_read_sharding(&p, (proto_list_t){1, &bytes}, out_sharding);
  deinit_reader(&p);
  return st;
}
