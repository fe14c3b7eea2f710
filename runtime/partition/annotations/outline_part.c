/* One manual part of a GSPMD program: its members are copied into a body, which is called between
 * markers that carry the shardings at the border. Cost: linear in the computation. */
#include "partition/annotations/outline_part.h"

#include "ir/sharding.h"

static const hlo_sharding_t unknown_sharding = {.kind = HLO_TILE_KIND_UNKNOWN};

static const hlo_sharding_t *sharding_of(const hlo_instr_t *instr) {
  return instr->extra ? instr->extra->sharding : NULL;
}

typedef struct part {
  uint32_t root;                  /* number of the part */
  HR_VEC(hlo_instr_t *) members;  /* in order */
  HR_VEC(hlo_instr_t *) inputs;   /* entry markers, or outer values */
  HR_VEC(hlo_instr_t *) results;  /* exit markers */
  const hlo_sharding_t *sharding; /* manual sharding; NULL: no marker has one */
  uint32_t first;                 /* position of the call: that of the first exit marker */
} part_t;

static void part_deinit(part_t *part) {
  HR_VEC_FREE(&part->members);
  HR_VEC_FREE(&part->inputs);
  HR_VEC_FREE(&part->results);
}

static void note_sharding(part_t *part, const hlo_instr_t *instr) {
  const hlo_sharding_t *sharding = sharding_of(instr);
  bool manual = sharding && (sharding->kind == HLO_TILE_KIND_MANUAL ||
                             (sharding->kind == HLO_TILE_KIND_OTHER &&
                              (sharding->last_tile_kinds.count || sharding->manual_axes.count)));
  if (manual && !part->sharding) part->sharding = sharding;
}

static hr_status_t add_input(spmd_outliner_t *o, part_t *part, hlo_instr_t *instr) {
  if (o->input[instr->id]) return NULL;
  if (spmd_outline_enters(o, instr)) note_sharding(part, instr);
  HR_VEC_PUSH(&part->inputs, instr);
  o->input[instr->id] = (int)part->inputs.count;
  return NULL;
}

static hr_status_t collect(spmd_outliner_t *o, part_t *part) {
  for (uint32_t i = 0; i < o->count; i++) {
    hlo_instr_t *instr = o->computation->instrs.data[i];
    bool out = spmd_outline_leaves(o, instr), has_part = out || spmd_outline_is_member(o, instr);
    uint32_t id = out ? instr->operands[0]->id : i;
    if (!has_part || spmd_outline_part_of(o, id) != part->root) continue;
    if (out) {
      HR_VEC_PUSH(&part->results, instr);
      if (!spmd_outline_is_member(o, instr->operands[0]))
        HR_TRY(add_input(o, part, instr->operands[0]));
      note_sharding(part, instr->operands[0]);
    } else {
      HR_VEC_PUSH(&part->members, instr);
    }
    for (int k = 0; k < instr->operand_count && !out; k++)
      if (!spmd_outline_is_member(o, instr->operands[k]))
        HR_TRY(add_input(o, part, instr->operands[k]));
  }
  part->first = part->results.count ? part->results.data[0]->id : part->root;
  return NULL;
}

/* Copies a member. Members come in the order of the computation, so its operands are copied. */
static hr_status_t copy_member(spmd_outliner_t *o, hlo_computation_t *body,
                               const hlo_instr_t *from) {
  hlo_instr_t **operands, *copy;
  hlo_extra_t *extra = NULL;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, from->operand_count + 1, &operands));
  for (int k = 0; k < from->operand_count; k++) operands[k] = o->copies[from->operands[k]->id];
  if (from->extra) { /* not its control predecessors, which are in another computation */
    HR_TRY(HR_NEW(&o->module->arena, &extra));
    *extra = *from->extra;
    extra->control_count = 0;
    extra->control_predecessors = NULL;
  }
  hlo_instr_def_t def = hlo_instr_def_of(from, operands);
  def.extra = extra;
  HR_TRY(hlo_instr_create(body, &def, &copy));
  copy->async_sugar = from->async_sugar;
  o->copies[from->id] = copy;
  return hlo_instr_append(copy);
}

/* The parameters are the inputs, in the order in which they were found; the root is the tuple of
 * the results. */
static hr_status_t build_body(spmd_outliner_t *o, const part_t *part,
                              hlo_computation_t **out_body) {
  hlo_computation_t *body;
  hlo_instr_t **results;
  HR_TRY(hlo_computation_add(o->module, HR_STR("xla.sdy.manual_computation_body"), &body));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, part->results.count + 1, &results));
  hlo_builder_t builder = hlo_builder_at(body, o->computation->line, o->computation->column);
  for (size_t k = 0; k < part->inputs.count; k++)
    o->copies[part->inputs.data[k]->id] =
        hlo_build_parameter(&builder, (int)k, part->inputs.data[k]->shape);
  for (size_t i = 0; i < part->members.count && !builder.status; i++)
    HR_TRY(copy_member(o, body, part->members.data[i]));
  for (size_t k = 0; k < part->results.count; k++)
    results[k] = o->copies[part->results.data[k]->operands[0]->id];
  body->root = hlo_build_tuple(&builder, (int)part->results.count, results);
  *out_body = body;
  return hlo_builder_finish(&builder);
}

/* --- the call and its markers --- */

static hr_status_t set_sharding(spmd_outliner_t *o, hlo_instr_t *instr,
                                const hlo_sharding_t *sharding, bool open) {
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(&o->module->arena, &extra));
  extra->sharding = sharding;
  if (open) extra->backend_config = HR_STR("unspecified_dims=all");
  instr->extra = extra;
  return NULL;
}

/* The contents of a Shardy marker over several arrays. */
typedef struct border {
  int count;
  hlo_instr_t **operands;
  const hlo_shape_t **shapes;      /* shapes of the marker's results */
  const hlo_sharding_t **elements; /* the parts of the tuple's sharding */
  hlo_sharding_t *tuple;
} border_t;

static hr_status_t border_init(spmd_outliner_t *o, int count, border_t *border) {
  hr_arena_t *arena = &o->module->arena;
  border->count = count;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, count, &border->operands));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, count, &border->shapes));
  HR_TRY(HR_NEW(arena, &border->tuple));
  HR_TRY(HR_NEW_ARRAY(arena, count, &border->elements));
  *border->tuple = (hlo_sharding_t){
      .kind = HLO_TILE_KIND_TUPLE, .element_count = count, .elements = border->elements};
  return NULL;
}

static hr_status_t build_marker(spmd_outliner_t *o, hlo_builder_t *builder, hr_str_t target,
                                const border_t *border, hlo_instr_t **out_marker) {
  const hlo_shape_t *shape;
  hlo_attr_t attr = hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, target);
  HR_TRY(hlo_shape_tuple(&o->module->arena, border->count, border->shapes, &shape));
  *out_marker = hlo_build(builder, HLO_CUSTOM_CALL, shape, border->count, border->operands, 1,
                          &attr, 0, NULL);
  return hlo_builder_finish(builder);
}

/* True if only some axes are manual: the others may cut the values at the border, too. */
static bool is_open(const part_t *part) {
  return part->sharding && part->sharding->kind == HLO_TILE_KIND_OTHER;
}

/* Builds xla.sdy.GlobalToLocalShape in front of the call. An input that is no marker, such as a
 * scalar constant, is replicated. */
static hr_status_t build_entry(spmd_outliner_t *o, hlo_builder_t *builder, const part_t *part,
                               hlo_instr_t **args) {
  int count = (int)part->inputs.count;
  border_t border;
  hlo_instr_t *marker;
  if (!count) return NULL;
  HR_TRY(border_init(o, count, &border));
  for (int k = 0; k < count; k++) {
    hlo_instr_t *input = part->inputs.data[k];
    bool cut = spmd_outline_enters(o, input);
    border.operands[k] = cut ? input->operands[0] : input;
    border.shapes[k] = input->shape;
    border.elements[k] = cut ? sharding_of(border.operands[k]) : NULL;
    if (!border.elements[k]) border.elements[k] = &unknown_sharding;
    if (!hlo_shape_is_array(input->shape))
      return hlo_unsupported(input, "a tuple enters a manual part, want arrays");
  }
  HR_TRY(build_marker(o, builder, HR_STR("xla.sdy.GlobalToLocalShape"), &border, &marker));
  for (int k = 0; k < count; k++) args[k] = hlo_build_element(builder, marker, k);
  HR_TRY(hlo_builder_finish(builder));
  return set_sharding(o, marker, border.tuple, is_open(part));
}

/* Builds xla.sdy.LocalToGlobalShape after the call; its elements replace the old markers. */
static hr_status_t build_exit(spmd_outliner_t *o, hlo_builder_t *builder, const part_t *part,
                              hlo_instr_t *call) {
  int count = (int)part->results.count;
  border_t border;
  hlo_instr_t *marker;
  if (!count) return NULL;
  HR_TRY(border_init(o, count, &border));
  for (int k = 0; k < count; k++) {
    const hlo_instr_t *result = part->results.data[k];
    border.operands[k] = hlo_build_element(builder, call, k);
    border.shapes[k] = result->shape;
    border.elements[k] = sharding_of(result);
    if (!border.elements[k]) border.elements[k] = &unknown_sharding;
  }
  HR_TRY(build_marker(o, builder, HR_STR("xla.sdy.LocalToGlobalShape"), &border, &marker));
  HR_TRY(set_sharding(o, marker, border.tuple, is_open(part)));
  for (int k = 0; k < count; k++)
    o->by[part->results.data[k]->id] = hlo_build_element(builder, marker, k);
  return hlo_builder_finish(builder);
}

static hr_status_t build_call(spmd_outliner_t *o, const part_t *part) {
  const hlo_instr_t *at = o->computation->instrs.data[part->first];
  hlo_builder_t builder = hlo_builder_at(o->computation, at->line, at->column);
  hlo_attr_t attr = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  hlo_computation_t *body;
  hlo_instr_t **args;
  HR_TRY(build_body(o, part, &body));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, part->inputs.count + 1, &args));
  HR_TRY(build_entry(o, &builder, part, args));
  hlo_instr_t *call = hlo_build(&builder, HLO_CALL, body->root->shape, (int)part->inputs.count,
                                args, 1, &attr, 1, &body);
  HR_TRY(hlo_builder_finish(&builder));
  HR_TRY(set_sharding(o, call, part->sharding, false));
  return build_exit(o, &builder, part, call);
}

hr_status_t spmd_outline_part(spmd_outliner_t *o, uint32_t root) {
  part_t part = {.root = root};
  hr_status_t st = collect(o, &part);
  if (!st) st = build_call(o, &part);
  for (size_t k = 0; k < part.inputs.count; k++) o->input[part.inputs.data[k]->id] = 0;
  part_deinit(&part);
  return st;
}
