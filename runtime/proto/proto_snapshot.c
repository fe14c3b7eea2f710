/* Arguments of an HloSnapshot, which XLA writes with the program that it ran on them. The snapshot
 * is recognised as in proto_read.c: field 1 is a message whose field 1 is a message whose field 1
 * is the module's name. Dumps of unoptimised programs keep their inputs elsewhere and are
 * ignored. */
#include "proto/proto_parts.h"

/* True for a message, which begins with a tag; a name begins with a letter. */
static bool begins_message(proto_list_t pieces) {
  return pieces.count && pieces.items[0].size && (unsigned char)pieces.items[0].data[0] < ' ';
}

/* Checks nested messages to a depth of two only. */
static hr_status_t is_snapshot(proto_reader_t *p, proto_list_t pieces, bool *out_is_snapshot) {
  proto_wrapper_t outer, inner;
  *out_is_snapshot = false;
  HR_TRY(PROTO_DECODE(&p->scratch, wrapper, pieces, &outer));
  if (!begins_message(outer.hlo_module)) return NULL;
  HR_TRY(PROTO_DECODE(&p->scratch, wrapper, outer.hlo_module, &inner));
  *out_is_snapshot = begins_message(inner.hlo_module);
  return NULL;
}

/* Each literal has its own shape. */
static hr_status_t read_arguments(proto_reader_t *p, hlo_value_t ***out_values, int *out_count) {
  hr_str_t bytes = {p->module->source.text, p->module->source.size_bytes};
  proto_list_t pieces = proto_piece(&bytes);
  proto_snapshot_t snapshot;
  const hlo_shape_t *shape;
  bool found;
  HR_TRY(is_snapshot(p, pieces, &found));
  if (!found) return NULL;
  HR_TRY(PROTO_DECODE(&p->scratch, snapshot, pieces, &snapshot));
  HR_TRY(HR_NEW_ARRAY(p->arena, snapshot.arguments.count, out_values));
  for (int64_t i = 0; i < snapshot.arguments.count; i++)
    HR_TRY(proto_read_literal(p, proto_piece(&snapshot.arguments.items[i]), &shape,
                              &(*out_values)[i]));
  *out_count = (int)snapshot.arguments.count;
  return NULL;
}

/* The scratch memory is freed here; the values belong to the module. */
hr_status_t hlo_proto_read_arguments(hlo_module_t *module, hlo_value_t ***out_values,
                                     int *out_count) {
  proto_reader_t p = {.module = module, .arena = &module->arena};
  hr_arena_init(&p.scratch);
  *out_count = 0;
  hr_status_t st = read_arguments(&p, out_values, out_count);
  hr_arena_deinit(&p.scratch);
  return st;
}
