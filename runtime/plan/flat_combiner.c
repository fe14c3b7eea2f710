/* Generated code for the computations with which collectives combine elements (to_apply). The
 * scalar computation becomes a fusion over two arrays of FLAT_COMBINED elements, so that the code
 * generator is independent of collectives:
 *
 *   (a, b) -> max(a, b) on f32[]   ->   fusion of f32[1024]: max(a, b), written over a
 *
 * Handled: two parameters and a result of one type, elementwise ops only. Anything else is combined
 * by the reference kernel, element by element. */
#include "ops/query/codegen_support.h"
#include "plan/flat_build.h"

static bool is_vectorisable(const hlo_instr_t *instr) {
  bool is_plain = op_codegens[instr->op] == CODEGEN_ELEMENTWISE && !instr->called_count;
  return hlo_shape_is_array(instr->shape) && instr->shape->rank == 0 &&
         (is_plain || instr->op == HLO_PARAMETER || (instr->op == HLO_CONSTANT && instr->literal));
}

/* Two parameters and a result of one scalar type, and elementwise ops only? */
static bool can_vectorise(const hlo_computation_t *computation) {
  if (computation->params.count != 2) return false;
  hr_dtype_t dtype = computation->root->shape->dtype;
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (!is_vectorisable(computation->instrs.data[i])) return false;
  for (int k = 0; k < 2; k++)
    if (computation->params.data[k]->shape->dtype != dtype) return false;
  return op_can_codegen_dtype(dtype);
}

static hr_status_t combined_shape(hr_arena_t *arena, hr_dtype_t dtype,
                                  const hlo_shape_t **out_shape) {
  return hlo_shape_array(arena, dtype, 1, (const int64_t[]){FLAT_COMBINED}, out_shape);
}

static hr_status_t vectorise_instr(hr_arena_t *arena, const hlo_instr_t *instr,
                                   hlo_instr_t *const *copies, hlo_instr_t *copy) {
  *copy = *instr;
  HR_TRY(HR_NEW_ARRAY(arena, instr->operand_count + 1, &copy->operands));
  for (int k = 0; k < instr->operand_count; k++) copy->operands[k] = copies[instr->operands[k]->id];
  return instr->op == HLO_CONSTANT ? NULL
                                   : combined_shape(arena, instr->shape->dtype, &copy->shape);
}

/* A broadcast of a scalar constant. */
static hr_status_t broadcast_constant(hr_arena_t *arena, hlo_instr_t *constant, hlo_instr_t *copy) {
  hlo_attr_t *no_dims;
  HR_TRY(HR_NEW(arena, &no_dims));
  no_dims->key = HLO_ATTR_DIMENSIONS;
  *copy = (hlo_instr_t){.op = HLO_BROADCAST,
                        .name = constant->name,
                        .operand_count = 1,
                        .attr_count = 1,
                        .attrs = no_dims};
  HR_TRY(HR_NEW_ARRAY(arena, 1, &copy->operands));
  copy->operands[0] = constant;
  return combined_shape(arena, constant->shape->dtype, &copy->shape);
}

static void append(hlo_computation_t *body, hlo_instr_t *instr) {
  instr->parent = body;
  instr->id = (uint32_t)body->instrs.count;
  body->instrs.data[body->instrs.count++] = instr;
}

/* Copies `computation`, lifted to arrays. */
static hr_status_t vectorise_body(hr_arena_t *arena, const hlo_computation_t *computation,
                                  hlo_computation_t **out_body) {
  size_t count = computation->instrs.count;
  hlo_computation_t *body;
  hlo_instr_t **list, **copies, *memory;
  HR_TRY(HR_NEW(arena, &body));
  HR_TRY(HR_NEW_ARRAY(arena, 2 * count, &memory));
  HR_TRY(HR_NEW_ARRAY(arena, 2 * count, &list));
  HR_TRY(HR_NEW_ARRAY(arena, count, &copies));
  *body = (hlo_computation_t){.name = computation->name, .module = computation->module};
  body->instrs.data = list;
  for (size_t i = 0; i < count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    hlo_instr_t *copy = memory + 2 * i;
    HR_TRY(vectorise_instr(arena, instr, copies, copy));
    append(body, copy);
    copies[i] = copy;
    if (instr->op != HLO_CONSTANT) continue;
    HR_TRY(broadcast_constant(arena, copy, copy + 1));
    append(body, copy + 1);
    copies[i] = copy + 1;
  }
  body->root = copies[computation->root->id];
  *out_body = body;
  return NULL;
}

static hr_status_t make_fusion(hr_arena_t *arena, const hlo_computation_t *computation,
                               hlo_instr_t **out_fusion) {
  hlo_instr_t *fusion, *operands;
  hlo_computation_t **called;
  HR_TRY(HR_NEW(arena, &fusion));
  HR_TRY(HR_NEW_ARRAY(arena, 2, &operands));
  HR_TRY(HR_NEW_ARRAY(arena, 1, &called));
  *fusion = (hlo_instr_t){.op = HLO_FUSION,
                          .name = computation->name,
                          .operand_count = 2,
                          .called_count = 1,
                          .called = called,
                          .parent = (hlo_computation_t *)computation};
  HR_TRY(vectorise_body(arena, computation, &called[0]));
  HR_TRY(combined_shape(arena, computation->root->shape->dtype, &fusion->shape));
  HR_TRY(HR_NEW_ARRAY(arena, 2, &fusion->operands));
  for (int k = 0; k < 2; k++) {
    operands[k] = (hlo_instr_t){.op = HLO_PARAMETER, .id = (uint32_t)k, .shape = fusion->shape};
    fusion->operands[k] = &operands[k];
  }
  *out_fusion = fusion;
  return NULL;
}

static bool has_combiner(const flat_plan_t *flat, const hlo_computation_t *computation) {
  for (const flat_combiner_t *combiner = flat->combiners; combiner; combiner = combiner->next)
    if (combiner->computation == computation) return true;
  return false;
}

/* Is the code usable: may it overwrite its first operand, and does its scratch memory fit the
 * callers'? */
static bool is_usable(const op_native_step_t *prepared) {
  return prepared->plan && prepared->reuse && (prepared->reuse[0] & 1) &&
         prepared->scratch_bytes <= FLAT_COMBINER_SCRATCH_BYTES;
}

hr_status_t flat_combiner_add(flat_builder_t *builder, const hlo_instr_t *instr) {
  const op_native_t *emitter = builder->options->emitter;
  const hlo_computation_t *computation = instr->called_count ? instr->called[0] : NULL;
  bool combines = hlo_op_is(instr->op, OP_COLLECTIVE) && computation;
  if (!combines || !emitter || has_combiner(builder->flat, computation) ||
      !can_vectorise(computation))
    return NULL;
  flat_combiner_t *combiner;
  hlo_instr_t *fusion;
  op_native_step_t prepared = {0};
  op_native_target_t target = builder->target;
  target.workers = 1;
  HR_TRY(HR_NEW(builder->arena, &combiner));
  HR_TRY(make_fusion(builder->arena, computation, &fusion));
  const hlo_shape_t *in_shapes[] = {fusion->shape, fusion->shape};
  op_step_t step = {.instr = fusion, .in_shapes = in_shapes, .out_shape = fusion->shape};
  HR_TRY(emitter->prepare(&target, &step, &prepared));
  if (!is_usable(&prepared)) return NULL;
  *combiner = (flat_combiner_t){builder->flat->combiners, computation, emitter, prepared.plan,
                                hr_dtype_bytes(fusion->shape->dtype)};
  builder->flat->combiners = combiner;
  return NULL;
}
