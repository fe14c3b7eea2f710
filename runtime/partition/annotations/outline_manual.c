/* Outlining of GSPMD's manual parts. GSPMD marks each array that enters or leaves by itself, and
 * says nothing of what lies between:
 *
 *   l = SPMDFullToShardShape(x)           e = GlobalToLocalShape(x)
 *   m = f(l)                        ->    c = call(e), to_apply=manual_computation_body
 *   y = SPMDShardToFullShape(m)           y = LocalToGlobalShape(c)
 *
 * An instruction is inside if it depends on what entered, or is made of nothing outside and used
 * inside alone (constants, partition-id). Instructions that depend on each other there are one
 * part. The markers carry the GSPMD shardings at the border, the call the manual one. Parts within
 * parts are found when the new body is visited.
 * Not handled: a part that needs what is computed outside from its own results. */
#include "partition/annotations/outline_manual.h"

#include <stdlib.h>

#include "ir/sharding.h"
#include "partition/annotations/normalize.h"
#include "passes/lib/pass_rewrite.h"

static const hlo_sharding_t unknown_sharding = {.kind = HLO_TILE_KIND_UNKNOWN};

typedef struct outliner {
  hlo_module_t *module;
  hlo_computation_t *computation;
  hr_arena_t scratch;
  uint32_t count; /* instructions at the beginning */
  pass_users_t users;
  int *depth;           /* by id: manual parts around the instruction's result */
  bool *forced;         /* by id: leaves a part without depending on anything that entered */
  bool *free;           /* by id: depends on nothing outside, not even parameters */
  uint32_t *parent;     /* by id: union-find over the members of parts */
  int *input;           /* by id: number among the inputs of the current part, from 1; 0: none */
  hlo_instr_t **copies; /* by id: of members and inputs in the current part's body */
  hlo_instr_t **by;     /* by id: replacement of a marker out of a part */
} outliner_t;

static const hlo_sharding_t *sharding_of(const hlo_instr_t *instr) {
  return instr->extra ? instr->extra->sharding : NULL;
}

/* --- what is inside --- */

static bool enters(const outliner_t *o, const hlo_instr_t *instr) {
  return spmd_marker_of(instr) == SPMD_FULL_TO_SHARD && o->depth[instr->id] == 1;
}
static bool leaves(const outliner_t *o, const hlo_instr_t *instr) {
  return spmd_marker_of(instr) == SPMD_SHARD_TO_FULL && o->depth[instr->id] == 0;
}
static bool is_member(const outliner_t *o, const hlo_instr_t *instr) {
  return o->depth[instr->id] > 0 && !enters(o, instr);
}

static uint32_t part_of(outliner_t *o, uint32_t id) {
  while (o->parent[id] != id) {
    o->parent[id] = o->parent[o->parent[id]];
    id = o->parent[id];
  }
  return id;
}

static void find_depths(outliner_t *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    spmd_marker_t marker = spmd_marker_of(instr);
    int depth = o->forced[i];
    for (int k = 0; k < instr->operand_count; k++)
      if (o->depth[instr->operands[k]->id] > depth) depth = o->depth[instr->operands[k]->id];
    depth += marker == SPMD_FULL_TO_SHARD;
    depth -= marker == SPMD_SHARD_TO_FULL && depth > 0;
    o->depth[i] = depth;
  }
}

/* What leaves was inside, even if nothing entered. */
static bool force_results(outliner_t *o) {
  bool any = false;
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    if (spmd_marker_of(instr) != SPMD_SHARD_TO_FULL || instr->operand_count != 1) continue;
    uint32_t from = instr->operands[0]->id;
    if (o->depth[from] || instr->operands[0]->op == HLO_PARAMETER) continue;
    o->forced[from] = any = true;
  }
  return any;
}

static void join_members(outliner_t *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    o->parent[i] = i;
    if (!is_member(o, instr)) continue;
    for (int k = 0; k < instr->operand_count; k++)
      if (is_member(o, instr->operands[k]))
        o->parent[part_of(o, instr->operands[k]->id)] = part_of(o, i);
  }
}

/* The part that all users are members of; -1: they are not, or there are none. */
static int64_t part_of_users(outliner_t *o, const hlo_instr_t *instr) {
  int64_t part = -1;
  for (uint32_t u = o->users.first[instr->id]; u < o->users.first[instr->id + 1]; u++) {
    const hlo_instr_t *user = o->users.users[u];
    if (!is_member(o, user)) return -1;
    uint32_t of_user = part_of(o, user->id);
    if (part >= 0 && part != of_user) return -1;
    part = of_user;
  }
  return part;
}

/* Takes in what is made of nothing and used by one part alone. */
static void absorb(outliner_t *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    o->free[i] = instr->op != HLO_PARAMETER;
    for (int k = 0; k < instr->operand_count; k++) o->free[i] &= o->free[instr->operands[k]->id];
  }
  for (uint32_t i = o->count; i-- > 0;) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    int64_t part = o->free[i] && !o->depth[i] ? part_of_users(o, instr) : -1;
    if (part < 0 || instr == o->computation->root) continue;
    o->depth[i] = 1;
    o->parent[i] = (uint32_t)part;
  }
}

static hr_status_t check_borders(const outliner_t *o) {
  const hlo_instr_t *root = o->computation->root;
  if (o->depth[root->id])
    return hlo_unsupported(root,
                           "a value of a manual part is returned as it is, want it to leave by "
                           "SPMDShardToFullShape");
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    if (spmd_marker_of(instr) < SPMD_FULL_TO_SHARD) continue;
    if (instr->operand_count != 1 || !hlo_shape_is_array(instr->shape) ||
        instr->operands[0]->shape->rank != instr->shape->rank)
      return hlo_error(instr, NULL, "want one array, and a result of its rank");
  }
  return NULL;
}

/* --- one part --- */

typedef struct part {
  uint32_t root;                  /* number of the part */
  HR_VEC(hlo_instr_t *) members;  /* in order */
  HR_VEC(hlo_instr_t *) inputs;   /* markers that enter, or values outside */
  HR_VEC(hlo_instr_t *) results;  /* markers that leave */
  const hlo_sharding_t *sharding; /* manual; NULL: no marker has one */
  uint32_t first;                 /* position of the call: the first marker that leaves */
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

static hr_status_t add_input(outliner_t *o, part_t *part, hlo_instr_t *instr) {
  if (o->input[instr->id]) return NULL;
  if (enters(o, instr)) note_sharding(part, instr);
  HR_VEC_PUSH(&part->inputs, instr);
  o->input[instr->id] = (int)part->inputs.count;
  return NULL;
}

static hr_status_t collect(outliner_t *o, part_t *part) {
  for (uint32_t i = 0; i < o->count; i++) {
    hlo_instr_t *instr = o->computation->instrs.data[i];
    bool out = leaves(o, instr), has_part = out || is_member(o, instr);
    uint32_t id = out ? instr->operands[0]->id : i;
    if (!has_part || part_of(o, id) != part->root) continue;
    if (out) {
      HR_VEC_PUSH(&part->results, instr);
      if (!is_member(o, instr->operands[0])) HR_TRY(add_input(o, part, instr->operands[0]));
      note_sharding(part, instr->operands[0]);
    } else {
      HR_VEC_PUSH(&part->members, instr);
    }
    for (int k = 0; k < instr->operand_count && !out; k++)
      if (!is_member(o, instr->operands[k])) HR_TRY(add_input(o, part, instr->operands[k]));
  }
  part->first = part->results.count ? part->results.data[0]->id : part->root;
  return NULL;
}

static hr_status_t copy_member(outliner_t *o, hlo_computation_t *body, const hlo_instr_t *from) {
  hlo_instr_t **operands, *copy;
  hlo_extra_t *extra = NULL;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, from->operand_count + 1, &operands));
  for (int k = 0; k < from->operand_count; k++) operands[k] = o->copies[from->operands[k]->id];
  if (from->extra) { /* control predecessors are of another computation */
    HR_TRY(HR_NEW(&o->module->arena, &extra));
    *extra = *from->extra;
    extra->control_count = 0;
    extra->control_predecessors = NULL;
  }
  hlo_instr_def_t def = {.op = from->op,
                         .name = from->name,
                         .shape = from->shape,
                         .operand_count = from->operand_count,
                         .operands = operands,
                         .attr_count = from->attr_count,
                         .attrs = from->attrs,
                         .called_count = from->called_count,
                         .called = from->called,
                         .literal = from->literal,
                         .extra = extra,
                         .line = from->line,
                         .column = from->column};
  HR_TRY(hlo_instr_create(body, &def, &copy));
  copy->async_sugar = from->async_sugar;
  o->copies[from->id] = copy;
  return hlo_instr_append(copy);
}

static hr_status_t build_body(outliner_t *o, const part_t *part, hlo_computation_t **out_body) {
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

static hr_status_t set_sharding(outliner_t *o, hlo_instr_t *instr, const hlo_sharding_t *sharding,
                                bool open) {
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(&o->module->arena, &extra));
  extra->sharding = sharding;
  if (open) extra->backend_config = HR_STR("unspecified_dims=all");
  instr->extra = extra;
  return NULL;
}

/* A marker of Shardy's over several arrays. */
static hr_status_t build_marker(outliner_t *o, hlo_builder_t *builder, hr_str_t target, int count,
                                hlo_instr_t *const *operands, const hlo_shape_t *const *shapes,
                                hlo_instr_t **out_marker) {
  const hlo_shape_t *shape;
  hlo_attr_t attr = hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, target);
  HR_TRY(hlo_shape_tuple(&o->module->arena, count, shapes, &shape));
  *out_marker = hlo_build(builder, HLO_CUSTOM_CALL, shape, count, operands, 1, &attr, 0, NULL);
  return hlo_builder_finish(builder);
}

static hr_status_t tuple_sharding(outliner_t *o, int count, hlo_sharding_t **out_tuple,
                                  const hlo_sharding_t ***out_elements) {
  HR_TRY(HR_NEW(&o->module->arena, out_tuple));
  HR_TRY(HR_NEW_ARRAY(&o->module->arena, count + 1, out_elements));
  **out_tuple = (hlo_sharding_t){
      .kind = HLO_TILE_KIND_TUPLE, .element_count = count, .elements = *out_elements};
  return NULL;
}

/* Only some axes are manual: others may cut the values at the border, too. */
static bool is_open(const part_t *part) {
  return part->sharding && part->sharding->kind == HLO_TILE_KIND_OTHER;
}

static hr_status_t build_entry(outliner_t *o, hlo_builder_t *builder, const part_t *part,
                               hlo_instr_t **args) {
  int count = (int)part->inputs.count;
  hlo_instr_t **operands, *marker;
  const hlo_shape_t **shapes;
  const hlo_sharding_t **elements;
  hlo_sharding_t *tuple;
  if (!count) return NULL;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, count, &operands));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, count, &shapes));
  HR_TRY(tuple_sharding(o, count, &tuple, &elements));
  for (int k = 0; k < count; k++) {
    hlo_instr_t *input = part->inputs.data[k];
    bool cut = enters(o, input);
    operands[k] = cut ? input->operands[0] : input;
    shapes[k] = input->shape;
    elements[k] = cut ? sharding_of(operands[k]) : NULL;
    if (!elements[k]) elements[k] = &unknown_sharding;
    if (!hlo_shape_is_array(input->shape))
      return hlo_unsupported(input, "a tuple enters a manual part, want arrays");
  }
  HR_TRY(build_marker(o, builder, HR_STR("xla.sdy.GlobalToLocalShape"), count, operands, shapes,
                      &marker));
  for (int k = 0; k < count; k++) args[k] = hlo_build_element(builder, marker, k);
  HR_TRY(hlo_builder_finish(builder));
  return set_sharding(o, marker, tuple, is_open(part));
}

static hr_status_t build_exit(outliner_t *o, hlo_builder_t *builder, const part_t *part,
                              hlo_instr_t *call) {
  int count = (int)part->results.count;
  hlo_instr_t **operands, *marker;
  const hlo_shape_t **shapes;
  const hlo_sharding_t **elements;
  hlo_sharding_t *tuple;
  if (!count) return NULL;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, count, &operands));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, count, &shapes));
  HR_TRY(tuple_sharding(o, count, &tuple, &elements));
  for (int k = 0; k < count; k++) {
    const hlo_instr_t *result = part->results.data[k];
    operands[k] = hlo_build_element(builder, call, k);
    shapes[k] = result->shape;
    elements[k] = sharding_of(result);
    if (!elements[k]) elements[k] = &unknown_sharding;
  }
  HR_TRY(build_marker(o, builder, HR_STR("xla.sdy.LocalToGlobalShape"), count, operands, shapes,
                      &marker));
  HR_TRY(set_sharding(o, marker, tuple, is_open(part)));
  for (int k = 0; k < count; k++)
    o->by[part->results.data[k]->id] = hlo_build_element(builder, marker, k);
  return hlo_builder_finish(builder);
}

static hr_status_t build_call(outliner_t *o, const part_t *part) {
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

/* --- one computation --- */

static hr_status_t outline_part(outliner_t *o, uint32_t root) {
  part_t part = {.root = root};
  hr_status_t st = collect(o, &part);
  if (!st) st = build_call(o, &part);
  for (size_t k = 0; k < part.inputs.count; k++) o->input[part.inputs.data[k]->id] = 0;
  part_deinit(&part);
  return st;
}

static bool stays(const outliner_t *o, const hlo_instr_t *instr) {
  return instr->id >= o->count ||
         !(o->depth[instr->id] || spmd_marker_of(instr) == SPMD_SHARD_TO_FULL);
}

typedef struct piece {
  uint32_t root, first;
  size_t begin, end; /* its call and markers, in the list before it is put in order */
} piece_t;

/* Calls go where their first result leaves; members and old markers are left out. */
static hr_status_t replace_members(outliner_t *o, const piece_t *parts, size_t count) {
  hlo_computation_t *computation = o->computation;
  size_t all = computation->instrs.count, kept = 0;
  hlo_instr_t **list;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, all, &list));
  for (size_t i = 0; i < all; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++) {
      hlo_instr_t **operand = &computation->instrs.data[i]->operands[k];
      if ((*operand)->id < o->count && o->by[(*operand)->id]) *operand = o->by[(*operand)->id];
    }
  if (o->by[computation->root->id]) computation->root = o->by[computation->root->id];
  for (uint32_t i = 0; i < o->count; i++) {
    for (; count && parts->first == i; parts++, count--)
      for (size_t k = parts->begin; k < parts->end; k++) list[kept++] = computation->instrs.data[k];
    if (stays(o, computation->instrs.data[i])) list[kept++] = computation->instrs.data[i];
  }
  for (size_t i = 0; i < kept; i++) {
    computation->instrs.data[i] = list[i];
    list[i]->id = (uint32_t)i;
  }
  computation->instrs.count = kept;
  return NULL;
}

/* Operands before users again. A cycle is a part that needs its own results. */
static hr_status_t sort_instrs(hlo_computation_t *computation) {
  const hlo_instr_t *root = computation->root;
  hr_status_t st = pass_remove_dead(computation);
  if (hr_status_code(st) != HR_INTERNAL) return st;
  hr_status_release(st);
  return hlo_unsupported(root,
                         "a manual part needs what is computed from its own results outside, want "
                         "two parts");
}

static int by_first(const void *a, const void *b) {
  const piece_t *left = a, *right = b;
  return (left->first > right->first) - (left->first < right->first);
}

/* The parts in the order in which their first results leave. */
static hr_status_t list_parts(outliner_t *o, piece_t **out_parts, size_t *out_count) {
  uint32_t *first;
  size_t count = 0;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &first));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, out_parts));
  for (uint32_t i = o->count; i-- > 0;) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    if (leaves(o, instr)) first[part_of(o, instr->operands[0]->id)] = i + 1;
  }
  for (uint32_t i = 0; i < o->count; i++) {
    bool known = is_member(o, o->computation->instrs.data[i]) || first[i];
    if (!known || part_of(o, i) != i) continue;
    (*out_parts)[count++] = (piece_t){.root = i, .first = first[i] ? first[i] - 1 : i};
  }
  qsort(*out_parts, count, sizeof **out_parts, by_first);
  *out_count = count;
  return NULL;
}

static hr_status_t outline_parts(outliner_t *o) {
  piece_t *parts;
  size_t count;
  HR_TRY(list_parts(o, &parts, &count));
  for (size_t p = 0; p < count; p++) {
    parts[p].begin = o->computation->instrs.count;
    HR_TRY(outline_part(o, parts[p].root));
    parts[p].end = o->computation->instrs.count;
  }
  HR_TRY(replace_members(o, parts, count));
  return sort_instrs(o->computation);
}

static hr_status_t find_members(outliner_t *o) {
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->depth));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->forced));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->free));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->parent));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->input));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->copies));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->by));
  HR_TRY(pass_users_find(&o->scratch, o->computation, &o->users));
  find_depths(o);
  if (force_results(o)) find_depths(o);
  HR_TRY(check_borders(o));
  join_members(o);
  absorb(o);
  return NULL;
}

static bool has_markers(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (spmd_marker_of(computation->instrs.data[i]) >= SPMD_FULL_TO_SHARD) return true;
  return false;
}

static hr_status_t outline(hlo_module_t *module, hlo_computation_t *computation) {
  outliner_t outliner = {
      .module = module, .computation = computation, .count = (uint32_t)computation->instrs.count};
  hr_arena_init(&outliner.scratch);
  hr_status_t st = find_members(&outliner);
  if (!st) st = outline_parts(&outliner);
  hr_arena_deinit(&outliner.scratch);
  return st;
}

hr_status_t spmd_outline_manual(hlo_module_t *module) {
  bool any = false;
  for (size_t c = 0; c < module->computations.count; c++) { /* new bodies come behind */
    if (!has_markers(module->computations.data[c])) continue;
    HR_TRY(outline(module, module->computations.data[c]));
    any = true;
  }
  if (!any) return NULL;
  HR_TRY(pass_computations_order(module));
  return pass_names_settle(module);
}
