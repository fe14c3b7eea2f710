/* Attributes that every instruction may have (hlo_extra_t): metadata, frontend attributes,
 * sharding, control predecessors, statistics, origin, replication, backend configuration. Empty
 * messages, which XLA writes for absent ones, are read as absent. Metadata and backend
 * configurations may refer to payloads shared by instructions of the module.
 * Origins are trees in the IR and lists of (path, leaf) in the proto: the list is sorted by path
 * and consumed in one walk over the shape. */
#include <stdlib.h>
#include <string.h>

#include "ir/origin.h"
#include "proto/proto_parts.h"

/* Metadata ------------------------------------------------------------------------------------- */

/* The payload's bytes: inline, or an entry of the module's pool. Empty if there is none. */
static hr_status_t find_payload(proto_reader_t *p, proto_list_t pieces, proto_list_t *out_bytes) {
  proto_payload_t in;
  *out_bytes = (proto_list_t){0};
  HR_TRY(PROTO_DECODE(&p->scratch, payload, pieces, &in));
  if (!in.id.present) {
    *out_bytes = in.value;
    return NULL;
  }
  if (in.id.value < 0 || in.id.value >= p->payloads.count)
    return PROTO_ERROR("payload %ld of a module that has %ld", (long)in.id.value,
                       (long)p->payloads.count);
  *out_bytes = proto_piece(&p->payloads.items[in.id.value]);
  return NULL;
}

/* The shared payload is decoded first, so that fields of the instruction override it. */
hr_status_t proto_read_metadata(proto_reader_t *p, proto_list_t pieces, hlo_metadata_t *m) {
  proto_metadata_t direct, in = {0};
  proto_list_t shared;
  HR_TRY(PROTO_DECODE(&p->scratch, metadata, pieces, &direct));
  HR_TRY(find_payload(p, direct.payload, &shared));
  HR_TRY(proto_decode(&p->scratch, &proto_metadata_message, shared, &in));
  HR_TRY(proto_decode(&p->scratch, &proto_metadata_message, pieces, &in));
  *m = (hlo_metadata_t){.op_type = in.op_type,
                        .op_name = in.op_name,
                        .source_file = in.source_file,
                        .source_line = in.source_line,
                        .source_end_line = in.source_end_line,
                        .source_column = in.source_column,
                        .source_end_column = in.source_end_column,
                        .stack_frame_id = in.stack_frame_id,
                        .deduplicated_name = in.deduplicated_name,
                        .scheduling_name = in.scheduling_name};
  return proto_ints(p->arena, in.profile_type, &m->profile_type);
}

/* OpMetadata. Empty strings and zeros are omitted, so that an absent field stays absent. */
void proto_write_metadata(hr_strbuf_t *out, uint32_t number, const hlo_metadata_t *m) {
  size_t opened = proto_open(out, number);
  proto_put_bytes(out, PROTO_metadata_op_type, m->op_type);
  proto_put_bytes(out, PROTO_metadata_op_name, m->op_name);
  proto_put_bytes(out, PROTO_metadata_source_file, m->source_file);
  proto_put_int(out, PROTO_metadata_source_line, m->source_line);
  proto_put_ints(out, PROTO_metadata_profile_type, m->profile_type);
  proto_put_bytes(out, PROTO_metadata_deduplicated_name, m->deduplicated_name);
  proto_put_int(out, PROTO_metadata_stack_frame_id, m->stack_frame_id);
  proto_put_bytes(out, PROTO_metadata_scheduling_name, m->scheduling_name);
  proto_put_int(out, PROTO_metadata_source_end_line, m->source_end_line);
  proto_put_int(out, PROTO_metadata_source_column, m->source_column);
  proto_put_int(out, PROTO_metadata_source_end_column, m->source_end_column);
  proto_close(out, opened);
}

/* Frontend attributes -------------------------------------------------------------------------- */

/* Byte-wise order; a prefix is before the longer name. */
static int compare_names(const void *a, const void *b) {
  hr_str_t x = ((const hlo_name_value_t *)a)->name;
  hr_str_t y = ((const hlo_name_value_t *)b)->name;
  size_t shorter = x.size < y.size ? x.size : y.size;
  int order = shorter ? memcmp(x.data, y.data, shorter) : 0;
  return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Reads a map of strings. Entries come in any order; the IR has them sorted by name. */
hr_status_t proto_read_pairs(proto_reader_t *p, proto_list_t pieces, hlo_name_values_t *out_pairs) {
  proto_frontend_attributes_t in;
  hlo_name_value_t *pairs;
  HR_TRY(PROTO_DECODE(&p->scratch, frontend_attributes, pieces, &in));
  HR_TRY(HR_NEW_ARRAY(p->arena, in.map.count, &pairs));
  for (int64_t i = 0; i < in.map.count; i++) {
    proto_name_value_t pair;
    HR_TRY(PROTO_DECODE(&p->scratch, name_value, proto_piece(&in.map.items[i]), &pair));
    pairs[i] = (hlo_name_value_t){.name = pair.name, .value = pair.value};
  }
  if (in.map.count > 1) qsort(pairs, (size_t)in.map.count, sizeof *pairs, compare_names);
  *out_pairs = (hlo_name_values_t){(int)in.map.count, pairs};
  return NULL;
}

/* FrontendAttributes: a protobuf map, on the wire a repeated message of key and value. Both are
 * written even if empty. The order of the IR is kept. */
void proto_write_pairs(hr_strbuf_t *out, uint32_t number, const hlo_name_values_t *pairs) {
  size_t opened = proto_open(out, number);
  for (int i = 0; i < pairs->count; i++) {
    size_t pair = proto_open(out, PROTO_frontend_attributes_map);
    proto_put_item(out, PROTO_name_value_name, pairs->items[i].name);
    proto_put_item(out, PROTO_name_value_value, pairs->items[i].value);
    proto_close(out, pair);
  }
  proto_close(out, opened);
}

/* Statistics ----------------------------------------------------------------------------------- */

/* XLA writes an empty message for none. */
static hr_status_t read_statistics(proto_reader_t *p, proto_list_t pieces,
                                   const hlo_statistics_t **out_statistics) {
  proto_statistics_t in;
  hlo_statistics_t *result;
  struct hlo_statistic *items;
  HR_TRY(PROTO_DECODE(&p->scratch, statistics, pieces, &in));
  *out_statistics = NULL;
  if (!in.statistics.count && !in.stat_index_to_visualize) return NULL;
  HR_TRY(HR_NEW(p->arena, &result));
  HR_TRY(HR_NEW_ARRAY(p->arena, in.statistics.count, &items));
  for (int64_t i = 0; i < in.statistics.count; i++) {
    proto_statistic_t item;
    HR_TRY(PROTO_DECODE(&p->scratch, statistic, proto_piece(&in.statistics.items[i]), &item));
    items[i].name = item.stat_name;
    items[i].value = item.stat_val;
  }
  *result = (hlo_statistics_t){in.stat_index_to_visualize, (int)in.statistics.count, items};
  *out_statistics = result;
  return NULL;
}

/* StatisticsViz: named profile figures, and the index of the one that viewers show. */
static void write_statistics(hr_strbuf_t *out, const hlo_statistics_t *statistics) {
  size_t opened = proto_open(out, PROTO_instr_statistics);
  proto_put_int(out, PROTO_statistics_stat_index_to_visualize, statistics->visualizing_index);
  for (int i = 0; i < statistics->count; i++) {
    size_t item = proto_open(out, PROTO_statistics_statistics);
    proto_put_bytes(out, PROTO_statistic_stat_name, statistics->items[i].name);
    proto_put_f64(out, PROTO_statistic_stat_val, statistics->items[i].value);
    proto_close(out, item);
  }
  proto_close(out, opened);
}

/* Origins -------------------------------------------------------------------------------------- */

/* A leaf of an origin tree, as listed in the proto. */
typedef struct origin_leaf {
  hr_ints_t path;
  hlo_origin_t origin;
} origin_leaf_t;

/* Walk over a shape with the leaves sorted by path. */
typedef struct origin_walk {
  proto_reader_t *p;
  int64_t count; /* leaves */
  int64_t next;  /* first leaf not yet placed */
  origin_leaf_t *leaves;
  int64_t path[PROTO_DEPTH_MAX + 1];
  int depth;
} origin_walk_t;

/* Order in which a walk over the shape visits the leaves. */
static int compare_paths(const void *a, const void *b) {
  hr_ints_t x = ((const origin_leaf_t *)a)->path;
  hr_ints_t y = ((const origin_leaf_t *)b)->path;
  for (int64_t i = 0; i < x.count && i < y.count; i++)
    if (x.data[i] != y.data[i]) return x.data[i] < y.data[i] ? -1 : 1;
  return (x.count > y.count) - (x.count < y.count);
}

/* Reads a path and, if known, the leaf's original instruction and its path there. */
static hr_status_t read_origin_leaf(proto_reader_t *p, const hr_str_t *bytes, origin_leaf_t *leaf) {
  proto_original_element_t in;
  proto_original_array_t array;
  HR_TRY(PROTO_DECODE(&p->scratch, original_element, proto_piece(bytes), &in));
  HR_TRY(PROTO_DECODE(&p->scratch, original_array, in.original_array, &array));
  HR_TRY(proto_ints(&p->scratch, in.shape_index, &leaf->path));
  leaf->origin =
      (hlo_origin_t){.known = in.original_array.count > 0, .instruction = array.instruction_name};
  return proto_ints(p->arena, array.shape_index, &leaf->origin.index);
}

/* True at the path of the next leaf. */
static bool at_next_leaf(const origin_walk_t *w) {
  if (w->next == w->count || w->leaves[w->next].path.count != w->depth) return false;
  return !w->depth ||
         !memcmp(w->leaves[w->next].path.data, w->path, (size_t)w->depth * sizeof *w->path);
}

/* Builds the tree below the current path: a leaf of the list, or a tuple like the shape's. */
static hr_status_t build_origin(origin_walk_t *w, const hlo_shape_t *shape,
                                const hlo_origin_t **out_origin) {
  hlo_origin_t *origin;
  HR_TRY(HR_NEW(w->p->arena, &origin));
  *out_origin = origin;
  if (at_next_leaf(w)) {
    *origin = w->leaves[w->next++].origin;
    return NULL;
  }
  if (!hlo_shape_is_tuple(shape)) return NULL;
  const hlo_origin_t **elements;
  HR_TRY(HR_NEW_ARRAY(w->p->arena, shape->element_count, &elements));
  *origin =
      (hlo_origin_t){.is_tuple = true, .element_count = shape->element_count, .elements = elements};
  w->depth++;
  for (int i = 0; i < shape->element_count; i++) {
    w->path[w->depth - 1] = i;
    HR_TRY(build_origin(w, shape->elements[i], &elements[i]));
  }
  w->depth--;
  return NULL;
}

/* Leaves that remain after the walk have paths that do not exist in the shape. */
static hr_status_t read_origin(proto_reader_t *p, proto_list_t pieces, const hlo_shape_t *shape,
                               const hlo_origin_t **out_origin) {
  proto_original_value_t in;
  hlo_origin_t *synthetic;
  origin_walk_t *walk;
  HR_TRY(PROTO_DECODE(&p->scratch, original_value, pieces, &in));
  if (in.is_synthetic_call) {
    HR_TRY(HR_NEW(p->arena, &synthetic));
    synthetic->synthetic_call = true;
    *out_origin = synthetic;
    return NULL;
  }
  HR_TRY(HR_NEW(&p->scratch, &walk));
  walk->p = p;
  walk->count = in.elements.count;
  HR_TRY(HR_NEW_ARRAY(&p->scratch, walk->count, &walk->leaves));
  for (int64_t i = 0; i < walk->count; i++)
    HR_TRY(read_origin_leaf(p, &in.elements.items[i], &walk->leaves[i]));
  if (walk->count > 1)
    qsort(walk->leaves, (size_t)walk->count, sizeof *walk->leaves, compare_paths);
  HR_TRY(build_origin(walk, shape, out_origin));
  if (walk->next == walk->count) return NULL;
  return PROTO_ERROR(
      "an origin lists %ld elements that the value does not have, or lists them twice",
      (long)(walk->count - walk->next));
}

/* One leaf of the tree: `path` is its place in the shape of this instruction. A leaf without an
 * original array has an unknown origin. */
static void write_origin_leaf(hr_strbuf_t *out, const hlo_origin_t *leaf, hr_ints_t path) {
  size_t opened = proto_open(out, PROTO_original_value_elements);
  proto_put_ints(out, PROTO_original_element_shape_index, path);
  if (leaf->known) {
    size_t array = proto_open(out, PROTO_original_element_original_array);
    proto_put_bytes(out, PROTO_original_array_instruction_name, leaf->instruction);
    proto_put_ints(out, PROTO_original_array_shape_index, leaf->index);
    proto_close(out, array);
  }
  proto_close(out, opened);
}

/* Writes a leaf for each path, in the order of the walk. */
static void write_origin_tree(hr_strbuf_t *out, const hlo_origin_t *origin, int64_t *path,
                              int depth) {
  if (!origin->is_tuple) {
    write_origin_leaf(out, origin, (hr_ints_t){path, depth});
    return;
  }
  for (int i = 0; i < origin->element_count && depth < PROTO_DEPTH_MAX; i++) {
    path[depth] = i;
    write_origin_tree(out, origin->elements[i], path, depth + 1);
  }
}

/* OriginalValueProto: the leaves of the tree in depth-first order. A synthetic call has no
 * leaves. */
static void write_origin(hr_strbuf_t *out, const hlo_origin_t *origin) {
  int64_t path[PROTO_DEPTH_MAX];
  size_t opened = proto_open(out, PROTO_instr_original_value);
  proto_put_int(out, PROTO_original_value_is_synthetic_call, origin->synthetic_call);
  if (!origin->synthetic_call) write_origin_tree(out, origin, path, 0);
  proto_close(out, opened);
}

/* Control predecessors ------------------------------------------------------------------------- */

/* The id of an instruction in written files. */
int64_t proto_instr_id(const hlo_instr_t *instr) {
  return (int64_t)instr->parent->id << 32 | instr->id;
}

/* Ids of current files are computation << 32 | position. Ids of old files have 32 bits; the lookup
 * by the low half finds them. */
hlo_instr_t *proto_find_instr(proto_reader_t *p, int64_t id) {
  hlo_instr_t *instr = hr_map_get(&p->instrs, (hr_str_t){(const char *)&id, 8});
  return instr ? instr : hr_map_get(&p->instrs, (hr_str_t){(const char *)&id, 4});
}

/* Control predecessors must come before the instruction, like operands. */
static hr_status_t read_control(proto_reader_t *p, proto_list_t list, hlo_extra_t *extra) {
  hr_ints_t ids;
  HR_TRY(proto_ints(&p->scratch, list, &ids));
  HR_TRY(HR_NEW_ARRAY(p->arena, ids.count, &extra->control_predecessors));
  for (int64_t i = 0; i < ids.count; i++) {
    extra->control_predecessors[i] = proto_find_instr(p, ids.data[i]);
    if (!extra->control_predecessors[i])
      return PROTO_ERROR("control predecessor %ld is not defined before", (long)ids.data[i]);
  }
  extra->control_count = (int)ids.count;
  return NULL;
}

/* ---------------------------------------------------------------------------------------------- */

/* Repeats the sharding of an instruction with a tuple shape for each leaf. */
static hr_status_t expand_sharding(proto_reader_t *p, const hlo_shape_t *shape,
                                   hlo_extra_t *extra) {
  const hlo_sharding_t *leaf = extra->sharding;
  const hlo_sharding_t **elements;
  hlo_sharding_t *tuple;
  if (leaf->kind == HLO_TILE_KIND_TUPLE || !hlo_shape_is_tuple(shape)) return NULL;
  int count = hlo_shape_leaf_count(shape);
  if (!count) return NULL;
  HR_TRY(HR_NEW(p->arena, &tuple));
  HR_TRY(HR_NEW_ARRAY(p->arena, count, &elements));
  for (int i = 0; i < count; i++) elements[i] = leaf;
  *tuple =
      (hlo_sharding_t){.kind = HLO_TILE_KIND_TUPLE, .element_count = count, .elements = elements};
  extra->sharding = tuple;
  return NULL;
}

/* Metadata with only empty fields is read as absent. */
static hr_status_t read_extra_metadata(proto_reader_t *p, proto_list_t pieces, hlo_extra_t *extra) {
  hlo_metadata_t metadata, *copy;
  HR_TRY(proto_read_metadata(p, pieces, &metadata));
  bool is_present = metadata.op_type.size || metadata.op_name.size || metadata.source_file.size ||
                    metadata.source_line || metadata.source_end_line || metadata.source_column ||
                    metadata.source_end_column || metadata.stack_frame_id ||
                    metadata.profile_type.count || metadata.deduplicated_name.size ||
                    metadata.scheduling_name.size;
  if (!is_present) return NULL; /* an empty message means none */
  HR_TRY(HR_NEW(p->arena, &copy));
  *copy = metadata;
  extra->metadata = copy;
  return NULL;
}

/* Reads the configuration from the instruction or from the module's pool of payloads. */
static hr_status_t read_backend_config(proto_reader_t *p, const proto_instr_t *in,
                                       hlo_extra_t *extra) {
  proto_list_t payload;
  extra->backend_config = in->backend_config;
  HR_TRY(find_payload(p, in->backend_config_payload, &payload));
  if (payload.count) extra->backend_config = payload.items[payload.count - 1];
  return NULL;
}

/* The arena gets a copy only if it is not empty; most instructions have no extra attributes. */
hr_status_t proto_read_extra(proto_reader_t *p, const proto_draft_t *draft,
                             const hlo_extra_t **out_extra) {
  const proto_instr_t *in = &draft->in;
  hlo_extra_t extra = {0}, *copy;
  proto_replication_t replication;
  if (in->sharding.count) {
    HR_TRY(proto_read_sharding(p, in->sharding, &extra.sharding));
    HR_TRY(expand_sharding(p, draft->shape, &extra));
  }
  HR_TRY(proto_read_pairs(p, in->frontend_attributes, &extra.frontend_attributes));
  if (in->control_predecessor_ids.count)
    HR_TRY(read_control(p, in->control_predecessor_ids, &extra));
  HR_TRY(read_statistics(p, in->statistics, &extra.statistics));
  HR_TRY(PROTO_DECODE(&p->scratch, replication, in->parameter_replication, &replication));
  HR_TRY(proto_bools(p->arena, replication.replicated_at_leaf_buffers, &extra.replication_count,
                     &extra.replication));
  if (in->original_value.count)
    HR_TRY(read_origin(p, in->original_value, draft->shape, &extra.origin));
  if (in->metadata.count) HR_TRY(read_extra_metadata(p, in->metadata, &extra));
  HR_TRY(read_backend_config(p, in, &extra));
  bool is_present = extra.sharding || extra.frontend_attributes.count || extra.control_count ||
                    extra.statistics || extra.replication_count || extra.origin || extra.metadata ||
                    extra.backend_config.size;
  *out_extra = NULL;
  if (!is_present) return NULL;
  HR_TRY(HR_NEW(p->arena, &copy));
  *copy = extra;
  *out_extra = copy;
  return NULL;
}

/* Predecessors by id as packed varints. */
static void write_control(hr_strbuf_t *out, const hlo_extra_t *extra) {
  size_t opened = proto_open(out, PROTO_instr_control_predecessor_ids);
  for (int i = 0; i < extra->control_count; i++)
    proto_put_varint(out, (uint64_t)proto_instr_id(extra->control_predecessors[i]));
  proto_close(out, opened);
}

/* Inverse of proto_read_extra: writes only what is set. */
void proto_write_extra(hr_strbuf_t *out, const hlo_extra_t *extra) {
  if (extra->sharding) proto_write_sharding(out, PROTO_instr_sharding, extra->sharding);
  if (extra->frontend_attributes.count)
    proto_write_pairs(out, PROTO_instr_frontend_attributes, &extra->frontend_attributes);
  if (extra->control_count) write_control(out, extra);
  if (extra->statistics) write_statistics(out, extra->statistics);
  if (extra->replication_count) {
    size_t opened = proto_open(out, PROTO_instr_parameter_replication);
    proto_put_bools(out, PROTO_replication_replicated_at_leaf_buffers, extra->replication_count,
                    extra->replication);
    proto_close(out, opened);
  }
  if (extra->origin) write_origin(out, extra->origin);
  if (extra->metadata) proto_write_metadata(out, PROTO_instr_metadata, extra->metadata);
  proto_put_bytes(out, PROTO_instr_backend_config, extra->backend_config);
}
