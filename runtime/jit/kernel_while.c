/* A while as one function: scalars that it carries are in registers, arrays are read, and updated in place.
 *
 *   header: scalars = phi; if condition and iterations are left { next scalars; updates of arrays } else leave
 *
 * All that reads an array which is updated comes before the first update. */
#include <stdio.h>
#include <string.h>

#include "jit/element.h"
#include "jit/kernel.h"
#include "ops/emit.h"

#define NODES_MAX 4000
#define UPDATES_MAX 8
#define CARRIES_MAX 256
#define ARRAYS_MAX_BYTES ((int64_t)16 << 20) /* of arrays that may have to be copied before the loop */

/* Update number u writes `count` elements of leaf `leaf`, over loop variable u. */
typedef struct update {
  int leaf;
  int64_t count;
  hr_dtype_t dtype;
  jit_node_t *value;
  const jit_expr_t *place;
} update_t;

struct jit_while {
  int leaf_count, update_count;
  hr_dtype_t dtypes[CARRIES_MAX];
  bool is_scalar[CARRIES_MAX];
  jit_node_t *condition, *next[CARRIES_MAX]; /* of scalars */
  update_t updates[UPDATES_MAX];
  LLVMValueRef values[CARRIES_MAX];          /* of scalars, while code is written */
};
typedef struct jit_while while_t;

/* --- planning -------------------------------------------------------------------------------------------------- */

static hr_status_t declined(const hlo_instr_t *instr, const char *why) { return hlo_unsupported(instr, "%s", why); }

/* What the body leaves in leaf k. */
static const hlo_instr_t *next_of(jit_formula_t *formula, int k, int *number) {
  *number = k;
  return jit_formula_resolve(formula, formula->body->root, number);
}

/* Finds arrays that are updated, before anything reads them. */
static hr_status_t find_updates(jit_formula_t *formula, while_t *loop, const hlo_instr_t **updates) {
  for (int k = 0; k < loop->leaf_count; k++) {
    int number, ignored = 0;
    const hlo_instr_t *next = next_of(formula, k, &number);
    if (loop->is_scalar[k] || jit_formula_carry(formula, next) == k) continue;
    if (next->op != HLO_DYNAMIC_UPDATE_SLICE || loop->update_count == UPDATES_MAX || k >= 64)
      return declined(next, "an array is computed anew");
    if (jit_formula_carry(formula, jit_formula_resolve(formula, next->operands[0], &ignored)) != k)
      return declined(next, "an update of another array");
    formula->changing |= (uint64_t)1 << k;
    updates[loop->update_count] = next;
    loop->updates[loop->update_count++] = (update_t){.leaf = k, .count = fusion_count(next->operands[1]->shape),
                                                     .dtype = next->shape->dtype};
  }
  return NULL;
}

static void build_updates(jit_formula_t *formula, while_t *loop, const hlo_instr_t **updates) {
  const jit_expr_t *variables[UPDATES_MAX];
  for (int u = 0; u < loop->update_count; u++)
    variables[u] = jit_expr_loop(&formula->exprs, 0, loop->updates[u].count - 1);
  for (int u = 0; u < loop->update_count; u++) {
    update_t *update = &loop->updates[u];
    jit_index_t at = {update->count > 1 ? variables[u] : jit_expr_constant(&formula->exprs, 0), NULL};
    update->value = jit_formula_at(formula, updates[u]->operands[1], 0, at, NULL);
    update->place = jit_formula_update_place(formula, updates[u], at);
  }
}

/* Loads of updated arrays come first, unless they depend on an update's own loop: then only at the place written. */
static bool is_safe_load(const jit_formula_t *formula, const while_t *loop, const jit_node_t *node) {
  if (node->kind != JIT_LOAD || formula->buffers[node->number].param < 0) return true;
  int leaf = formula->buffers[node->number].param;
  if (!(formula->changing >> leaf & 1) || !(node->vars & ~(1u << JIT_UNIT_LOOP))) return true;
  for (int u = 0; u < loop->update_count; u++)
    if (loop->updates[u].leaf == leaf) return node->expr == loop->updates[u].place;
  return false;
}

static hr_status_t build(jit_kernel_t *kernel, while_t *loop) {
  jit_formula_t *formula = kernel->formula;
  const hlo_instr_t *updates[UPDATES_MAX];
  jit_index_t zero = {jit_expr_constant(&formula->exprs, 0), NULL};
  HR_TRY(find_updates(formula, loop, updates));
  build_updates(formula, loop, updates);
  zero.linear = jit_expr_constant(&formula->exprs, 0);
  loop->condition = jit_formula_at(formula, formula->condition->root, 0, zero, NULL);
  for (int k = 0; k < loop->leaf_count; k++) {
    int number;
    const hlo_instr_t *next = next_of(formula, k, &number);
    if (loop->is_scalar[k]) loop->next[k] = jit_formula_at(formula, next, number, zero, NULL);
  }
  for (const jit_node_t *node = formula->first_made; node; node = node->next_made)
    if (!is_safe_load(formula, loop, node)) return declined(kernel->loop, "an array is read where it is written");
  return NULL;
}

static hr_status_t look_at_state(const hlo_instr_t *instr, while_t *loop) {
  int64_t bytes = 0;
  loop->leaf_count = instr->shape->element_count;
  if (!hlo_shape_is_tuple(instr->shape) || loop->leaf_count > CARRIES_MAX) return declined(instr, "an unusual state");
  for (int k = 0; k < loop->leaf_count; k++) {
    const hlo_shape_t *shape = instr->shape->elements[k];
    if (!op_can_emit_dtype(shape->dtype) || hlo_shape_is_dynamic(shape)) return declined(instr, "a type without code");
    loop->dtypes[k] = shape->dtype;
    loop->is_scalar[k] = fusion_count(shape) == 1;
    bytes += fusion_count(shape) * (int64_t)hr_dtype_bytes(shape->dtype);
  }
  return bytes > ARRAYS_MAX_BYTES ? declined(instr, "large arrays") : NULL;
}

static hr_status_t plan(jit_kernel_t *kernel, const hlo_instr_t *instr) {
  while_t *loop;
  HR_TRY(HR_NEW(&kernel->arena, &loop));
  HR_TRY(HR_NEW(&kernel->arena, &kernel->formula));
  kernel->whole = loop, kernel->loop = instr, kernel->body = instr->called[1];
  HR_TRY(look_at_state(instr, loop));
  HR_TRY(jit_formula_init(kernel->formula, &kernel->arena, kernel->body, NODES_MAX));
  size_t most = 0;
  for (size_t c = 0; c < kernel->body->module->computations.count; c++)
    most += kernel->body->module->computations.data[c]->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&kernel->arena, kernel->body->module->computations.count, &kernel->formula->callers));
  HR_TRY(HR_NEW_ARRAY(&kernel->arena, most, &kernel->formula->buffers));
  kernel->formula->condition = instr->called[0];
  hr_status_t st = build(kernel, loop), failed = jit_formula_take_failure(kernel->formula);
  HR_TRY(hr_status_join(st, failed));
  if (!jit_kernel_knows(kernel)) return declined(instr, "an op without code");
  kernel->lanes = jit_kernel_lanes(kernel);
  kernel->phase_count = 1;
  kernel->phases[0].unit_ns = jit_kernel_ns(kernel, kernel->formula, 16);
  kernel->node_work = 2 * kernel->formula->node_count;
  return NULL;
}

hr_status_t jit_while_plan(hr_arena_t *arena, const jit_target_t *target, const hlo_instr_t *instr,
                           jit_kernel_t *kernel, jit_buffer_list_t *out_buffers) {
  hr_arena_init(&kernel->arena);
  kernel->target = target;
  hr_status_t st = plan(kernel, instr);
  kernel->is_declined = hr_status_code(st) == HR_UNSUPPORTED;
  if (!st) {
    void *copy;
    out_buffers->count = kernel->buffer_count = kernel->formula->buffer_count;
    st = hr_arena_copy(arena, kernel->formula->buffers, (size_t)kernel->buffer_count * sizeof *out_buffers->items,
                       &copy);
    out_buffers->items = copy;
  }
  if (st) hr_arena_deinit(&kernel->arena);
  if (!kernel->is_declined) return st;
  hr_status_release(st);
  return NULL;
}

/* --- writing --------------------------------------------------------------------------------------------------- */

static LLVMValueRef given(jit_emit_t *emit, jit_node_t *node) {
  const while_t *loop = emit->given_context;
  return node->kind == JIT_LEAF ? loop->values[node->number] : NULL;
}

static LLVMBasicBlockRef new_block(jit_emit_t *emit) {
  return llvm()->AppendBasicBlockInContext(emit->code->context, emit->function, "");
}

static void load_state(jit_emit_t *emit, const while_t *loop, LLVMValueRef *out_values) {
  const jit_expr_t *zero = jit_expr_constant(&emit->formula->exprs, 0);
  for (int k = 0; k < loop->leaf_count; k++)
    if (loop->is_scalar[k]) out_values[k] = jit_emit_load(emit, jit_emit_out(emit, k), loop->dtypes[k], zero, (jit_guard_t){0}, 0);
}

static void store_state(jit_emit_t *emit, const while_t *loop, LLVMValueRef condition) {
  LLVMBuilderRef b = emit->code->builder;
  const jit_expr_t *zero = jit_expr_constant(&emit->formula->exprs, 0);
  for (int k = 0; k < loop->leaf_count; k++)
    if (loop->is_scalar[k]) jit_emit_store(emit, jit_emit_out(emit, k), loop->dtypes[k], zero, loop->values[k], false);
  jit_emit_at(emit, 0);
  LLVMValueRef over = llvm()->BuildNot(b, condition, "");
  llvm()->BuildStore(b, llvm()->BuildZExt(b, over, llvm()->Int64TypeInContext(emit->code->context), ""), emit->scratch);
}

/* Whatever reads an array that is going to be written. */
static void read_first(jit_emit_t *emit, const while_t *loop) {
  uint32_t unit = 1u << JIT_UNIT_LOOP;
  for (jit_node_t *node = emit->formula->first_made; node && loop->update_count; node = node->next_made)
    if (node->kind == JIT_LOAD && node->vars == unit) jit_emit_node(emit, node);
}

static void write_element(jit_emit_t *emit, void *context, int copy) {
  const update_t *update = context;
  (void)copy;
  LLVMValueRef value = jit_emit_in_lanes(emit, update->place->vars) ? jit_emit_lanes(emit, update->value)
                                                                   : jit_emit_node(emit, update->value);
  jit_emit_store(emit, jit_emit_out(emit, update->leaf), update->dtype, update->place, value, false);
}

static void write_updates(jit_emit_t *emit, const jit_kernel_t *kernel, while_t *loop) {
  LLVMValueRef singles[UPDATES_MAX];
  for (int u = 0; u < loop->update_count; u++)
    if (loop->updates[u].count == 1) singles[u] = jit_emit_node(emit, loop->updates[u].value);
  for (int u = 0; u < loop->update_count; u++) {
    update_t *update = &loop->updates[u];
    if (update->count == 1) {
      jit_emit_store(emit, jit_emit_out(emit, update->leaf), update->dtype, update->place, singles[u], false);
      continue;
    }
    jit_lanes_t how = {.var = u, .lanes = kernel->lanes, .count = update->count, .unroll = 1,
                       .body = write_element, .context = update};
    jit_loop_lanes(emit, &how, jit_emit_i64(emit, 0), jit_emit_i64(emit, update->count));
  }
}

/* One iteration, from the block that the condition leads to. */
static void write_iteration(jit_emit_t *emit, const jit_kernel_t *kernel, while_t *loop, LLVMValueRef *out_next) {
  read_first(emit, loop);
  for (int k = 0; k < loop->leaf_count; k++)
    if (loop->is_scalar[k]) out_next[k] = jit_emit_node(emit, loop->next[k]);
  for (int u = 0; u < loop->update_count; u++) jit_emit_expr(emit, loop->updates[u].place);
  write_updates(emit, kernel, loop);
}

static void write_loop(jit_emit_t *emit, const jit_kernel_t *kernel, while_t *loop) {
  LLVMBuilderRef b = emit->code->builder;
  LLVMValueRef first[CARRIES_MAX], next[CARRIES_MAX], zero = jit_emit_i64(emit, 0);
  LLVMBasicBlockRef header = new_block(emit), body = new_block(emit), leave = new_block(emit);
  load_state(emit, loop, first);
  jit_emit_at(emit, 0);
  LLVMBasicBlockRef entry = llvm()->GetInsertBlock(b);
  llvm()->BuildBr(b, header);
  llvm()->PositionBuilderAtEnd(b, header);
  LLVMValueRef turn = llvm()->BuildPhi(b, llvm()->TypeOf(zero), "");
  for (int k = 0; k < loop->leaf_count; k++)
    if (loop->is_scalar[k]) loop->values[k] = llvm()->BuildPhi(b, llvm()->TypeOf(first[k]), "");
  jit_level_enter(emit, JIT_UNIT_LOOP, turn);
  emit->levels[1].block = header;
  LLVMValueRef condition = jit_emit_node(emit, loop->condition);
  jit_emit_at(emit, 1);
  LLVMValueRef left = llvm()->BuildICmp(b, LLVMIntSLT, turn, emit->end, "");
  llvm()->BuildCondBr(b, llvm()->BuildAnd(b, condition, left, ""), body, leave);
  emit->levels[1].block = body;
  write_iteration(emit, kernel, loop, next);
  jit_emit_at(emit, 1);
  LLVMBasicBlockRef last = emit->levels[1].block;
  LLVMValueRef more = llvm()->BuildAdd(b, turn, jit_emit_i64(emit, 1), "");
  llvm()->BuildBr(b, header);
  llvm()->AddIncoming(turn, (LLVMValueRef[]){emit->begin, more}, (LLVMBasicBlockRef[]){entry, last}, 2);
  for (int k = 0; k < loop->leaf_count; k++)
    if (loop->is_scalar[k])
      llvm()->AddIncoming(loop->values[k], (LLVMValueRef[]){first[k], next[k]}, (LLVMBasicBlockRef[]){entry, last}, 2);
  emit->level = 0, emit->levels[0].block = leave;
  store_state(emit, loop, condition);
}

hr_status_t jit_while_write(jit_kernel_t *kernel, jit_code_t *code) {
  jit_emit_t emit;
  char name[64];
  while_t *loop = kernel->whole;
  jit_kernel_phase_name(kernel, 0, name);
  HR_TRY(jit_emit_begin(&emit, code, kernel->formula, name, kernel->buffer_count, loop->leaf_count));
  emit.given = given, emit.given_context = loop;
  write_loop(&emit, kernel, loop);
  jit_emit_end(&emit);
  return jit_formula_take_failure(kernel->formula);
}
