/* Analysis of one module for the communication checker, independent of rank:
 *
 *   communicates  computations that reach a communication operation (callees come first)
 *   order         the planned order of each computation (plan/plan_order.h)
 *   needs         backward slice from all decisions about control: the tuple elements of values
 *                 that have to be evaluated; a fixed point over calls and loop-carried state
 *   before        transitive closure of data and control dependencies between communicating
 *                 instructions, as rows of bits, iterated to a fixed point
 *
 * Cost: linear sweeps times the depth of nesting; `before` is items squared bits per computation
 *       and is made only for proofs over any order. */
#include <limits.h>

#include "comm/model/comm_analysis.h"

#include "base/map.h"
#include "base/mem.h"
#include "comm/model/abstract_value.h"
#include "ir/print_parts.h"
#include "ops/query/async_collective.h"
#include "plan/plan_order.h"

/* --- communicating computations --- */

/* Transfers with the host (infeeds, outfeeds, host sends) have no peer among the processes. */
bool check_is_communication(const hlo_instr_t *instr) {
  if (!hlo_op_is(instr->op, OP_COMM)) return false;
  return !hlo_attr_bool(instr, HLO_ATTR_IS_HOST_TRANSFER);
}

/* send-done or recv-done between processes. */
static bool check_is_transfer_done(const hlo_instr_t *instr) {
  return (instr->op == HLO_SEND_DONE || instr->op == HLO_RECV_DONE) &&
         check_is_communication(instr);
}

/* True if the instruction communicates, or calls a computation that does. Callees must have been
 * analysed before. An async-done communicates if its start wraps a collective; an update never
 * does. */
bool check_communicates(const comm_analysis_t *analysis, const hlo_instr_t *instr) {
  if (check_is_communication(instr)) return true;
  if (instr->op == HLO_ASYNC_DONE || instr->op == HLO_ASYNC_UPDATE) {
    const hlo_instr_t *start = instr;
    while (start->op != HLO_ASYNC_START && start->operand_count) start = start->operands[0];
    return instr->op == HLO_ASYNC_DONE && op_wrapped_collective(start);
  }
  for (int i = 0; i < instr->called_count && hlo_op_is(instr->op, OP_CONTROL); i++)
    if (analysis->communicates[instr->called[i]->id]) return true;
  return false;
}

/* One sweep over the computations, callees first. */
static void find_communication(comm_analysis_t *analysis) {
  for (size_t c = 0; c < analysis->module->computations.count; c++) {
    const hlo_computation_t *computation = analysis->module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count && !analysis->communicates[c]; i++)
      analysis->communicates[c] = check_communicates(analysis, computation->instrs.data[i]);
  }
}

/* --- order --- */

/* Orders a computation and its callees, and numbers its communicating instructions (items).
 * Computations that control flow does not reach, such as reducers, have no order. */
static hr_status_t plan_body(hr_arena_t *arena, comm_analysis_t *analysis,
                             const hlo_computation_t *computation) {
  check_body_t *body = &analysis->bodies[computation->id];
  if (body->order) return NULL;
  HR_TRY(plan_order(arena, computation, analysis->has_effect, &body->order, &body->count));
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &body->needs));
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &body->item));
  for (size_t i = 0; i < computation->instrs.count; i++) body->item[i] = -1;
  for (int i = 0; i < body->count; i++) {
    const hlo_instr_t *instr = body->order[i];
    if (check_communicates(analysis, instr)) body->item[instr->id] = body->item_count++;
    for (int k = 0; k < instr->called_count && hlo_op_is(instr->op, OP_CONTROL); k++)
      HR_TRY(plan_body(arena, analysis, instr->called[k]));
  }
  return NULL;
}

typedef struct reach { /* per instruction a bit row: the items it depends on, and itself */
  const check_body_t *body;
  uint64_t *rows;
  bool changed;
} reach_t;

/* row |= row of `from`. */
static void add_row(reach_t *reach, uint64_t *row, const hlo_instr_t *from) {
  const uint64_t *other = reach->rows + (size_t)from->id * reach->body->row_words;
  for (int w = 0; w < reach->body->row_words; w++) {
    reach->changed |= (other[w] & ~row[w]) != 0;
    row[w] |= other[w];
  }
}

/* Operands precede their users in the list, control predecessors may follow them: sweeps up to a
 * fixed point. */
static void sweep_reach(reach_t *reach, const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    uint64_t *row = reach->rows + i * reach->body->row_words;
    int item = reach->body->item[i];
    if (item >= 0) row[item / 64] |= UINT64_C(1) << item % 64;
    for (int k = 0; k < instr->operand_count; k++) add_row(reach, row, instr->operands[k]);
    for (int k = 0; instr->extra && k < instr->extra->control_count; k++)
      add_row(reach, row, instr->extra->control_predecessors[k]);
  }
}

/* The rows of instructions and those that are kept grow with the square of the program. They may
 * take a quarter of the memory: other computations have rows, too. */
static hr_status_t check_reach(const hlo_computation_t *computation, const check_body_t *body) {
  double rows = (double)computation->instrs.count + body->item_count;
  double bytes = rows * body->item_count / CHAR_BIT, most = (double)hr_mem_physical_bytes() / 4;
  if (bytes <= most) return NULL;
  return hr_error(HR_NO_MEMORY,
                  "the order of %d communicating instructions needs %.3g bytes, want at most %.3g",
                  body->item_count, bytes, most);
}

static hr_status_t find_before(hr_arena_t *arena, const hlo_computation_t *computation,
                               check_body_t *body) {
  void *memory;
  size_t bytes;
  HR_TRY(check_reach(computation, body));
  body->row_words = (body->item_count + 63) / 64;
  HR_TRY(hr_size_product(computation->instrs.count + 1, (size_t)body->row_words * sizeof(uint64_t),
                         &bytes));
  HR_TRY(HR_NEW_ARRAY(arena, (size_t)body->item_count * (size_t)body->row_words, &body->before));
  HR_TRY(hr_alloc_zeroed(bytes, &memory));
  reach_t reach = {.body = body, .rows = memory, .changed = true};
  while (reach.changed) {
    reach.changed = false;
    sweep_reach(&reach, computation);
  }
  for (size_t i = 0; i < computation->instrs.count; i++)
    for (int w = 0; body->item[i] >= 0 && w < body->row_words; w++)
      body->before[(size_t)body->item[i] * body->row_words + w] =
          reach.rows[i * body->row_words + w];
  hr_free(memory);
  return NULL;
}

/* True if b depends on a, both items of one computation. Needs the rows of find_before. */
bool check_is_before(const comm_analysis_t *analysis, const hlo_instr_t *a, const hlo_instr_t *b) {
  const check_body_t *body = &analysis->bodies[b->parent->id];
  int from = body->item[a->id], to = body->item[b->id];
  return a != b && (body->before[(size_t)to * body->row_words + from / 64] >> from % 64 & 1);
}

/* --- slice of control decisions --- */

typedef struct needs {
  comm_analysis_t *analysis;
  bool changed;
} needs_t;

/* Adds elements of a value (a mask of check_need_bit) that decisions need. */
static void add_need(needs_t *needs, const hlo_instr_t *instr, uint64_t mask) {
  uint64_t *have = needs->analysis->bodies[instr->parent->id].needs;
  if (!have || !(mask & ~have[instr->id])) return;
  have[instr->id] |= mask;
  needs->changed = true;
}

/* Propagates the needs of a parameter to the caller's argument. */
static void need_argument(needs_t *needs, const hlo_computation_t *called, size_t number,
                          const hlo_instr_t *argument) {
  const uint64_t *have = needs->analysis->bodies[called->id].needs;
  if (have && number < called->params.count)
    add_need(needs, argument, have[called->params.data[number]->id]);
}

/* Needs of a call apply to the callees' roots; needs of their parameters apply to the arguments.
 * Branch c takes operand 1 + c; the whole selector is needed if the result is, or if a branch
 * communicates. */
static void propagate_calls(needs_t *needs, const hlo_instr_t *instr, uint64_t mask) {
  bool is_conditional = instr->op == HLO_CONDITIONAL;
  if (instr->op == HLO_ASYNC_START && mask) mask = CHECK_NEED_ALL;
  for (int c = 0; c < instr->called_count; c++) {
    if (mask) add_need(needs, instr->called[c]->root, mask);
    if (is_conditional && c + 1 < instr->operand_count)
      need_argument(needs, instr->called[c], 0, instr->operands[c + 1]);
    for (int k = 0; k < instr->operand_count && !is_conditional; k++)
      need_argument(needs, instr->called[c], (size_t)k, instr->operands[k]);
  }
  if (is_conditional && (mask || check_communicates(needs->analysis, instr)))
    add_need(needs, instr->operands[0], CHECK_NEED_ALL);
}

/* Loop-carried state: needs of the condition and of the body apply to the initial state and to the
 * result of the body. */
static void propagate_while(needs_t *needs, const hlo_instr_t *instr, uint64_t mask) {
  const hlo_computation_t *condition = instr->called[0], *body = instr->called[1];
  if (mask || check_communicates(needs->analysis, instr))
    add_need(needs, condition->root, CHECK_NEED_ALL);
  if (mask) add_need(needs, body->root, mask);
  need_argument(needs, condition, 0, instr->operands[0]);
  need_argument(needs, body, 0, instr->operands[0]);
  need_argument(needs, condition, 0, body->root);
  need_argument(needs, body, 0, body->root);
  if (mask) add_need(needs, instr->operands[0], mask);
}

static void propagate_needs(needs_t *needs, const hlo_instr_t *instr) {
  uint64_t mask = needs->analysis->bodies[instr->parent->id].needs[instr->id];
  if (check_is_transfer_done(instr))
    add_need(needs, instr->operands[0], CHECK_NEED_ALL); /* the handle of the transfer */
  if (instr->op == HLO_WHILE) {
    propagate_while(needs, instr, mask);
  } else if (hlo_op_is(instr->op, OP_CONTROL) && instr->op != HLO_ASYNC_UPDATE &&
             instr->op != HLO_ASYNC_DONE) {
    propagate_calls(needs, instr, mask);
  } else if (!mask || hlo_op_is(instr->op, OP_COMM)) {
    if (mask && hlo_op_is(instr->op, OP_DONE)) add_need(needs, instr->operands[0], CHECK_NEED_ALL);
  } else if (instr->op == HLO_TUPLE) {
    for (int k = 0; k < instr->operand_count; k++)
      if (mask & check_need_bit(k)) add_need(needs, instr->operands[k], CHECK_NEED_ALL);
  } else if (instr->op == HLO_GET_TUPLE_ELEMENT) {
    add_need(needs, instr->operands[0], check_need_bit(hlo_attr_int(instr, HLO_ATTR_INDEX)));
  } else {
    for (int k = 0; k < instr->operand_count; k++) add_need(needs, instr->operands[k], mask);
  }
}

static void find_needs(comm_analysis_t *analysis) {
  needs_t needs = {analysis, true};
  while (needs.changed) {
    needs.changed = false;
    for (size_t c = analysis->module->computations.count; c-- > 0;)
      for (int i = analysis->bodies[c].count; i-- > 0;)
        propagate_needs(&needs, analysis->bodies[c].order[i]);
  }
}

hr_status_t comm_analysis_init(hr_arena_t *arena, const hlo_module_t *module, bool any_order,
                               comm_analysis_t *analysis) {
  size_t count = module->computations.count;
  *analysis = (comm_analysis_t){.module = module};
  HR_TRY(plan_find_effects(arena, module, &analysis->has_effect));
  HR_TRY(HR_NEW_ARRAY(arena, count, &analysis->communicates));
  HR_TRY(HR_NEW_ARRAY(arena, count, &analysis->bodies));
  find_communication(analysis);
  HR_TRY(plan_body(arena, analysis, module->entry));
  find_needs(analysis);
  for (size_t c = 0; any_order && c < count; c++)
    if (analysis->bodies[c].item_count)
      HR_TRY(find_before(arena, module->computations.data[c], &analysis->bodies[c]));
  return NULL;
}

/* --- hashes of instructions and computations --- */

/* A hash of op, shape, attributes and literal: equal in all processes for instructions that compute
 * the same function of their operands. Hashes the printed text, which lacks the parameter
 * number. */
hr_status_t check_instr_hash(const hlo_instr_t *instr, uint64_t *out_hash) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, hlo_op_name(instr->op));
  hlo_shape_print(&text, instr->shape, false);
  hlo_print_attrs(&text, instr, HLO_PRINT_SHORT);
  if (instr->op == HLO_CONSTANT && instr->literal) hlo_print_literal(&text, instr->literal);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) *out_hash = hr_hash_bytes(text.data, text.size, 1);
  hr_strbuf_deinit(&text);
  return st;
}

/* A hash of the root's expression tree, operands in order, without names of instructions. */
hr_status_t check_computation_hash(const hlo_computation_t *computation, uint64_t *out_hash) {
  hr_arena_t arena;
  uint64_t *hashes;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, computation->instrs.count, &hashes);
  for (size_t i = 0; i < computation->instrs.count && !st; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    st = check_instr_hash(instr, &hashes[i]);
    if (instr->op == HLO_PARAMETER)
      hashes[i] = check_mix(hashes[i], (uint64_t)hlo_parameter_number(instr));
    for (int k = 0; k < instr->operand_count; k++)
      hashes[i] = check_mix(hashes[i], hashes[instr->operands[k]->id]);
  }
  if (!st) *out_hash = hashes[computation->root->id];
  hr_arena_deinit(&arena);
  return st;
}
