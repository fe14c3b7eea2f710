/* Emission of clusters as fusion instructions: one body per cluster, with a parameter for each
 * array from outside and clones of the members, operands first. Constants, iotas and broadcasts of
 * constants are cloned into the body, not passed. Results are the roots, as a tuple if there are
 * several. Clusters of one instruction stay unfused unless the fusion saves an array. A cluster
 * whose body has no fusion form after all (which should not happen) is left as it is. */
#include "passes/fuse/fuse_emit.h"

#include <string.h>

#include "base/log.h"
#include "ops/query/codegen_support.h"

/* A root of the cluster. */
typedef struct emit_root {
  hlo_instr_t *instr;
  bool *used; /* by element of its tuple: is it a result? NULL: all are, or it is an array */
  int first;  /* number of its first result */
} emit_root_t;

/* State of the emission of one cluster. */
typedef struct emitter {
  fuse_graph_t *graph;
  fuse_cluster_t *cluster;
  hlo_builder_t body;
  hlo_instr_t **copies; /* by id of the computation: clone in the body */
  uint32_t *made;       /* by id: number of the cluster that copies[id] belongs to */
  uint32_t number;
  HR_VEC(hlo_instr_t *) members; /* operands before users */
  HR_VEC(hlo_instr_t *) inputs;
  HR_VEC(emit_root_t) roots;
  HR_VEC(hlo_instr_t *) results; /* arrays in the body, or the tuple of the only root */
} emitter_t;

/* --- members --- */

static bool is_view(const hlo_instr_t *instr) {
  return (instr->op == HLO_RESHAPE || instr->op == HLO_BITCAST || instr->op == HLO_COPY) &&
         fusion_keeps_order(instr);
}

/* Views of arrays from outside are free outside, so they are not members. */
static hr_status_t list_members(emitter_t *emit) {
  emit->members.count = 0;
  for (const fuse_member_t *m = emit->cluster->first; m; m = m->next)
    HR_VEC_PUSH(&emit->members, m->instr);
  size_t kept = 0;
  emit->number++;
  for (size_t i = emit->members.count; i-- > 0;) {
    hlo_instr_t *instr = emit->members.data[i];
    const hlo_instr_t *of = instr->operand_count ? instr->operands[0] : NULL;
    if (is_view(instr) && emit->made[of->id] != emit->number && !emit->graph->nodes[of->id].free)
      continue;
    emit->made[instr->id] = emit->number;
    emit->members.data[emit->members.count - 1 - kept++] = instr;
  }
  memmove(emit->members.data, emit->members.data + emit->members.count - kept,
          kept * sizeof *emit->members.data);
  emit->members.count = kept;
  for (size_t i = 0; i < kept / 2; i++) {
    hlo_instr_t *swap = emit->members.data[i];
    emit->members.data[i] = emit->members.data[kept - 1 - i];
    emit->members.data[kept - 1 - i] = swap;
  }
  return NULL;
}

static bool has_array_for_free(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  int first = op_codegens[instr->op] == CODEGEN_UPDATE;
  for (int k = first; k < instr->operand_count; k++)
    if (graph->nodes[instr->operands[k]->id].free && instr->operands[k]->op != HLO_CONSTANT)
      return true;
  return false;
}

/* A single instruction needs no fusion unless the fusion saves an array. */
static bool is_profitable(const emitter_t *emit) {
  return emit->members.count > 1 ||
         (emit->members.count == 1 && has_array_for_free(emit->graph, emit->members.data[0]));
}

/* --- the body --- */

static hlo_instr_t *clone_into_body(emitter_t *emit, const hlo_instr_t *instr,
                                    hlo_instr_t *const *operands) {
  hlo_instr_t *copy =
      hlo_build(&emit->body, instr->op, instr->shape, instr->operand_count, operands,
                instr->attr_count, instr->attrs, instr->called_count, instr->called);
  if (!copy) return NULL;
  copy->name = instr->name;
  copy->literal = instr->literal;
  copy->line = instr->line;
  copy->column = instr->column;
  return copy;
}

static hlo_instr_t *record_clone(emitter_t *emit, const hlo_instr_t *instr, hlo_instr_t *copy) {
  emit->made[instr->id] = emit->number;
  emit->copies[instr->id] = copy;
  return copy;
}

static hr_status_t add_parameter(emitter_t *emit, hlo_instr_t *instr, hlo_instr_t **out_copy) {
  *out_copy = hlo_build_parameter(&emit->body, (int)emit->inputs.count, instr->shape);
  HR_VEC_PUSH(&emit->inputs, instr);
  return emit->body.status ? hlo_builder_finish(&emit->body) : NULL;
}

static bool is_cloned(const emitter_t *emit, const hlo_instr_t *instr) {
  return emit->made[instr->id] == emit->number;
}

/* Clones a free instruction with its operands into the body. */
static hr_status_t copy_free(emitter_t *emit, hlo_instr_t *instr, hlo_instr_t **out_copy) {
  hlo_instr_t *operand = NULL;
  if (!is_cloned(emit, instr)) {
    if (instr->operand_count) HR_TRY(copy_free(emit, instr->operands[0], &operand));
    if (!record_clone(emit, instr, clone_into_body(emit, instr, &operand)))
      return hlo_builder_finish(&emit->body);
  }
  *out_copy = emit->copies[instr->id];
  return NULL;
}

/* An operand in the body: a member, a clone of a free instruction, or a parameter. */
static hr_status_t operand_in_body(emitter_t *emit, hlo_instr_t *instr, hlo_instr_t **out_copy) {
  if (emit->graph->nodes[instr->id].free) return copy_free(emit, instr, out_copy);
  if (!is_cloned(emit, instr)) {
    hlo_instr_t *parameter;
    HR_TRY(add_parameter(emit, instr, &parameter));
    record_clone(emit, instr, parameter);
  }
  *out_copy = emit->copies[instr->id];
  return NULL;
}

/* An operand that is updated in place is always a parameter. */
static hr_status_t updated_operand_in_body(emitter_t *emit, hlo_instr_t *instr,
                                           hlo_instr_t **out_copy) {
  bool free = emit->graph->nodes[instr->id].free;
  return free ? add_parameter(emit, instr, out_copy) : operand_in_body(emit, instr, out_copy);
}

static hr_status_t copy_member(emitter_t *emit, const hlo_instr_t *instr) {
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(emit->graph->arena, instr->operand_count, &operands));
  for (int k = 0; k < instr->operand_count; k++) {
    bool written_over = op_codegens[instr->op] == CODEGEN_UPDATE && k == 0;
    HR_TRY((written_over ? updated_operand_in_body : operand_in_body)(emit, instr->operands[k],
                                                                      &operands[k]));
  }
  hlo_instr_t *copy = clone_into_body(emit, instr, operands);
  record_clone(emit, instr, copy);
  return copy ? NULL : hlo_builder_finish(&emit->body);
}

static bool is_root(const emitter_t *emit, const hlo_instr_t *instr) {
  return emit->graph->nodes[instr->id].home == emit->cluster;
}

/* Are only some elements of the root's tuple used, each by get-tuple-element? Lists them. */
static bool list_used(const emitter_t *emit, const hlo_instr_t *root, bool *out_used) {
  const hlo_computation_t *computation = emit->graph->rewrite->computation;
  int count = 0;
  if (computation->root == root) return false;
  for (size_t i = root->id + 1; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    int operands = 0;
    for (int k = 0; k < instr->operand_count; k++) operands += instr->operands[k] == root;
    if (!operands) continue;
    if (instr->op != HLO_GET_TUPLE_ELEMENT || i >= emit->graph->count) return false;
    int64_t element = hlo_attr_int(instr, HLO_ATTR_INDEX);
    count += !out_used[element];
    out_used[element] = true;
  }
  return count > 0 && count < root->shape->element_count;
}

/* Lists the results of one root. Of a tuple only those elements that are used, as unused ones may
 * restrict the order in which a reduction combines its operands. */
static hr_status_t list_elements(emitter_t *emit, emit_root_t *root) {
  const hlo_instr_t *instr = root->instr;
  hlo_instr_t *copy = emit->copies[instr->id];
  root->first = (int)emit->results.count;
  if (hlo_shape_is_tuple(instr->shape)) {
    HR_TRY(HR_NEW_ARRAY(emit->graph->arena, instr->shape->element_count, &root->used));
    if (!list_used(emit, instr, root->used)) root->used = NULL;
  }
  if (!hlo_shape_is_tuple(instr->shape) || (!root->used && emit->cluster->root_count == 1)) {
    HR_VEC_PUSH(&emit->results, copy);
    return NULL;
  }
  for (int e = 0; e < instr->shape->element_count; e++)
    if (!root->used || root->used[e])
      HR_VEC_PUSH(&emit->results, hlo_build_element(&emit->body, copy, e));
  return emit->body.status ? hlo_builder_finish(&emit->body) : NULL;
}

/* Lists the arrays that the fusion returns, in program order of the instructions that compute
 * them. */
static hr_status_t list_results(emitter_t *emit) {
  emit->roots.count = 0;
  emit->results.count = 0;
  for (size_t i = 0; i < emit->members.count; i++) {
    emit_root_t root = {.instr = emit->members.data[i]};
    if (!is_root(emit, root.instr)) continue;
    HR_TRY(list_elements(emit, &root));
    HR_VEC_PUSH(&emit->roots, root);
  }
  return NULL;
}

static hr_status_t emit_body(emitter_t *emit) {
  for (size_t i = 0; i < emit->members.count; i++) HR_TRY(copy_member(emit, emit->members.data[i]));
  HR_TRY(list_results(emit));
  hlo_instr_t *root = emit->results.data[0];
  if (emit->results.count > 1)
    root = hlo_build_tuple(&emit->body, (int)emit->results.count, emit->results.data);
  emit->body.computation->root = root;
  return hlo_builder_finish(&emit->body);
}

/* --- replacement of roots --- */

static int fusion_kind(const emitter_t *emit) {
  for (size_t i = 0; i < emit->members.count; i++)
    if (emit->members.data[i]->op == HLO_REDUCE) return HLO_FUSION_KIND_INPUT;
  return HLO_FUSION_KIND_LOOP;
}

static hlo_instr_t *build_fusion(emitter_t *emit) {
  hlo_computation_t *body = emit->body.computation;
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_KIND, fusion_kind(emit)),
                        hlo_attr_of_called(HLO_ATTR_CALLS, 1)};
  hlo_builder_t *builder = &emit->graph->rewrite->builder;
  hlo_instr_t *fusion = hlo_build(builder, HLO_FUSION, body->root->shape, (int)emit->inputs.count,
                                  emit->inputs.data, 2, attrs, 1, &body);
  if (fusion) fusion->name = HR_STR("fusion");
  return fusion;
}

/* What replaces a root: the fusion, its result number `first`, or a tuple of results from `first`
 * on. */
static hr_status_t result_at(emitter_t *emit, hlo_instr_t *fusion, const emit_root_t *root,
                             hlo_instr_t **out_result) {
  hlo_builder_t *builder = &emit->graph->rewrite->builder;
  hlo_instr_t **elements;
  int count = root->instr->shape->element_count;
  *out_result = emit->results.count == 1 ? fusion : NULL;
  if (*out_result || !fusion) return NULL;
  HR_TRY(HR_NEW_ARRAY(emit->graph->arena, count, &elements));
  for (int e = 0; e < count; e++) elements[e] = hlo_build_element(builder, fusion, root->first + e);
  *out_result = hlo_shape_is_tuple(root->instr->shape)
                    ? hlo_build_tuple(builder, count, elements)
                    : hlo_build_element(builder, fusion, root->first);
  return NULL;
}

/* Clusters have fusion forms by construction. If one has none, its instructions stay. */
static bool has_fusion_form(const emitter_t *emit, const hlo_instr_t *fusion) {
  const hlo_instr_t *first = emit->members.data[0];
  if (op_can_codegen(fusion)) return true;
  hr_log(HR_LOG_PLAN, HR_LOG_WARN,
         "the fusion of %.*s and %zu more has no form of generated code: not fused",
         HR_STR_ARGS(first->name), emit->members.count - 1);
  return false;
}

/* Replaces the used elements of a root, which are all its users. */
static hr_status_t replace_elements(emitter_t *emit, hlo_instr_t *fusion, const emit_root_t *root) {
  hlo_builder_t *builder = &emit->graph->rewrite->builder;
  const hlo_computation_t *computation = emit->graph->rewrite->computation;
  for (uint32_t i = root->instr->id + 1; i < emit->graph->count; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    int place = root->first;
    if (instr->op != HLO_GET_TUPLE_ELEMENT || instr->operands[0] != root->instr) continue;
    for (int64_t e = 0; e < hlo_attr_int(instr, HLO_ATTR_INDEX); e++) place += root->used[e];
    bool is_alone = emit->results.count == 1;
    hlo_instr_t *result = is_alone || !fusion ? fusion : hlo_build_element(builder, fusion, place);
    HR_TRY(pass_replace(emit->graph->rewrite, instr, result));
  }
  return NULL;
}

static hr_status_t replace_roots(emitter_t *emit) {
  hlo_instr_t *fusion = build_fusion(emit), *result;
  if (fusion && !has_fusion_form(emit, fusion)) return NULL;
  for (size_t r = 0; r < emit->roots.count; r++) {
    const emit_root_t *root = &emit->roots.data[r];
    if (root->used) {
      HR_TRY(replace_elements(emit, fusion, root));
      continue;
    }
    HR_TRY(result_at(emit, fusion, root, &result));
    HR_TRY(pass_replace(emit->graph->rewrite, root->instr, result));
  }
  return NULL;
}

static hr_status_t emit_cluster(emitter_t *emit) {
  fuse_graph_t *graph = emit->graph;
  const hlo_instr_t *last = emit->members.data[emit->members.count - 1];
  hlo_computation_t *body;
  emit->number++;
  emit->inputs.count = 0;
  HR_TRY(
      hlo_computation_add(graph->rewrite->computation->module, HR_STR("fused_computation"), &body));
  body->is_fusion = true;
  emit->body = hlo_builder_at(body, last->line, last->column);
  HR_TRY(emit_body(emit));
  graph->rewrite->position = last->id;
  graph->rewrite->builder.line = last->line;
  graph->rewrite->builder.column = last->column;
  return replace_roots(emit);
}

static hr_status_t emit_clusters(emitter_t *emit) {
  fuse_graph_t *graph = emit->graph;
  for (size_t c = 0; c < graph->clusters.count; c++) {
    emit->cluster = graph->clusters.data[c];
    if (emit->cluster->is_dead) continue;
    HR_TRY(list_members(emit));
    if (is_profitable(emit)) HR_TRY(emit_cluster(emit));
  }
  return NULL;
}

hr_status_t fuse_emit(fuse_graph_t *graph) {
  emitter_t emit = {.graph = graph};
  hr_status_t st = HR_NEW_ARRAY(graph->arena, graph->count, &emit.copies);
  if (!st) st = HR_NEW_ARRAY(graph->arena, graph->count, &emit.made);
  if (!st) st = emit_clusters(&emit);
  HR_VEC_FREE(&emit.members);
  HR_VEC_FREE(&emit.inputs);
  HR_VEC_FREE(&emit.roots);
  HR_VEC_FREE(&emit.results);
  return st;
}
