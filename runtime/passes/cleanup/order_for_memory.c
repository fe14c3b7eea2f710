/* An order of instructions in which fewer bytes are alive at once.
 *
 * Two orders are compared with the program's own. The best of the three is taken if it saves enough
 * (GAIN):
 *
 *   greedy       of the ready instructions, the one that adds the fewest bytes, or frees the most
 *   depth first  operands of the root one after the other, each with its transitive operands
 *
 * In-place updates of an array stay after its earlier readers. Computations with effects,
 * communication or control dependences keep their order. Cost: greedy compares all ready
 * instructions at every step, up to BUDGET comparisons. */
#include "base/arith.h"
#include "base/log.h"
#include "passes/cleanup/order_buffers.h"
#include "passes/passes.h"

#define GAIN 0.95
#define BUDGET (INT64_C(1) << 25)
#define SMALL_BYTES (64 << 10) /* smaller peaks are ignored */

typedef struct orderer {
  hr_arena_t *arena;
  hlo_computation_t *computation;
  order_buffers_t buffers;
  pass_users_t users;
  int64_t *inside;       /* by id: bytes needed while it runs */
  uint32_t *first_after; /* by id: range of `after` */
  uint32_t *after;       /* successors of an instruction, apart from operand uses */
  uint32_t *order;       /* under construction */
} orderer_t;

static uint32_t count_of(const orderer_t *o) { return (uint32_t)o->computation->instrs.count; }
static hlo_instr_t *instr_at(const orderer_t *o, uint32_t id) {
  return o->computation->instrs.data[id];
}

/* --- required order --------------------------------------------------------------------------- */

/* May the instruction overwrite an operand's bytes? */
static bool may_update(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_SCATTER:
    case HLO_SORT:
    case HLO_WHILE:
    case HLO_CONDITIONAL:
    case HLO_CALL:
    case HLO_CUSTOM_CALL:
      return true;
    case HLO_FUSION:
      break;
    default:
      return false;
  }
  const hlo_computation_t *body = instr->called[0];
  for (size_t i = 0; i < body->instrs.count; i++)
    if (may_update(body->instrs.data[i])) return true;
  return false;
}

/* Called with a reader and a later updater of the same array. */
typedef void (*reader_fn)(orderer_t *o, uint32_t reader, uint32_t updater);

static void count_reader(orderer_t *o, uint32_t reader, uint32_t updater) {
  (void)updater;
  o->first_after[reader + 2]++;
}

static void list_reader(orderer_t *o, uint32_t reader, uint32_t updater) {
  o->after[o->first_after[reader + 1]++] = updater;
}

/* An updater runs after the updater before it, and so after the readers before that one: only the
 * readers in between are visited. */
static void visit_buffer_readers(orderer_t *o, reader_fn visit) {
  const order_buffers_t *b = &o->buffers;
  for (uint32_t k = 0; k < b->made[count_of(o)]; k++) {
    const uint32_t *users = &b->users[b->buffers[k].first];
    uint32_t from = 0;
    for (uint32_t u = 0; u < b->buffers[k].count; u++) {
      if (!may_update(instr_at(o, users[u]))) continue;
      for (uint32_t r = from; r < u; r++) visit(o, users[r], users[u]);
      from = u;
    }
  }
}

/* Visits the readers of parameters, which are no buffers. */
static void visit_parameter_readers(orderer_t *o, reader_fn visit) {
  for (size_t p = 0; p < o->computation->params.count; p++) {
    uint32_t id = o->computation->params.data[p]->id, from = o->users.first[id];
    for (uint32_t u = from; u < o->users.first[id + 1]; u++) {
      const hlo_instr_t *updater = o->users.users[u];
      if (!may_update(updater)) continue;
      for (uint32_t r = from; r < u; r++)
        if (o->users.users[r] != updater) visit(o, o->users.users[r]->id, updater->id);
      from = u;
    }
  }
}

/* Lists the updaters that must run after each reader of their array: counts, sums, then lists. */
static hr_status_t find_order_to_keep(orderer_t *o) {
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o) + 3, &o->first_after));
  visit_buffer_readers(o, count_reader);
  visit_parameter_readers(o, count_reader);
  for (uint32_t i = 0; i < count_of(o); i++) o->first_after[i + 2] += o->first_after[i + 1];
  HR_TRY(HR_NEW_ARRAY(o->arena, o->first_after[count_of(o) + 1] + 1, &o->after));
  visit_buffer_readers(o, list_reader);
  visit_parameter_readers(o, list_reader);
  return NULL;
}

/* Number of operand uses and other predecessors of each instruction. */
static hr_status_t count_predecessors(const orderer_t *o, uint32_t **out_waits) {
  uint32_t *waits;
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o), &waits));
  for (uint32_t i = 0; i < count_of(o); i++) waits[i] += (uint32_t)instr_at(o, i)->operand_count;
  for (uint32_t a = 0; a < o->first_after[count_of(o)]; a++) waits[o->after[a]]++;
  *out_waits = waits;
  return NULL;
}

/* --- greedy ----------------------------------------------------------------------------------- */

typedef struct greedy {
  orderer_t *o;
  uint32_t *waits, *ready, ready_count;
  uint32_t *left; /* by buffer: number of remaining readers */
  int64_t budget;
} greedy_t;

/* Bytes that the instruction adds: those it makes, less those it is the last to read. */
static int64_t added_by(const greedy_t *g, uint32_t id) {
  const order_buffers_t *b = &g->o->buffers;
  int64_t bytes = 0;
  for (uint32_t k = b->made[id]; k < b->made[id + 1]; k++)
    if (b->buffers[k].count || b->buffers[k].stays) bytes += b->buffers[k].bytes;
  for (uint32_t r = b->read_first[id]; r < b->read_first[id + 1]; r++)
    if (g->left[b->read[r]] == 1 && !b->buffers[b->read[r]].stays)
      bytes -= b->buffers[b->read[r]].bytes;
  return bytes;
}

/* Takes the cheapest ready instruction; ties are broken by program order. */
static uint32_t take_best(greedy_t *g) {
  uint32_t best = 0;
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < g->ready_count; i++) {
    int64_t bytes = added_by(g, g->ready[i]);
    if (bytes > least || (bytes == least && g->ready[i] > g->ready[best])) continue;
    least = bytes;
    best = i;
  }
  g->budget -= g->ready_count;
  uint32_t id = g->ready[best];
  g->ready[best] = g->ready[--g->ready_count];
  return id;
}

static void release(greedy_t *g, uint32_t id) {
  if (--g->waits[id] == 0) g->ready[g->ready_count++] = id;
}

/* False: the budget is spent. */
static bool run_greedy(greedy_t *g) {
  orderer_t *o = g->o;
  uint32_t count = count_of(o), at = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!g->waits[i]) g->ready[g->ready_count++] = i;
  while (g->ready_count && g->budget > 0) {
    uint32_t id = take_best(g);
    o->order[at++] = id;
    for (uint32_t r = o->buffers.read_first[id]; r < o->buffers.read_first[id + 1]; r++)
      g->left[o->buffers.read[r]]--;
    for (uint32_t u = o->users.first[id]; u < o->users.first[id + 1]; u++)
      release(g, o->users.users[u]->id);
    for (uint32_t a = o->first_after[id]; a < o->first_after[id + 1]; a++) release(g, o->after[a]);
  }
  return at == count;
}

static hr_status_t find_greedy(orderer_t *o, bool *out_found) {
  greedy_t g = {.o = o, .budget = BUDGET};
  uint32_t buffers = o->buffers.made[count_of(o)];
  HR_TRY(count_predecessors(o, &g.waits));
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o), &g.ready));
  HR_TRY(HR_NEW_ARRAY(o->arena, buffers + 1, &g.left));
  for (uint32_t b = 0; b < buffers; b++) g.left[b] = o->buffers.buffers[b].count;
  *out_found = run_greedy(&g);
  return NULL;
}

/* --- depth first ------------------------------------------------------------------------------ */

typedef struct visitor {
  orderer_t *o;
  bool *listed;
  uint32_t *seen;                  /* by id: number of predecessors that were found listed */
  uint32_t *first_before, *before; /* by id: predecessors of an instruction, apart from operands */
  HR_VEC(uint32_t) stack;
  uint32_t at;
} visitor_t;

/* Inverts `after`. */
static hr_status_t find_before(visitor_t *v) {
  const orderer_t *o = v->o;
  uint32_t count = count_of(o);
  HR_TRY(HR_NEW_ARRAY(o->arena, count + 3, &v->first_before));
  HR_TRY(HR_NEW_ARRAY(o->arena, o->first_after[count] + 1, &v->before));
  for (uint32_t a = 0; a < o->first_after[count]; a++) v->first_before[o->after[a] + 2]++;
  for (uint32_t i = 0; i < count; i++) v->first_before[i + 2] += v->first_before[i + 1];
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t a = o->first_after[i]; a < o->first_after[i + 1]; a++)
      v->before[v->first_before[o->after[a] + 1]++] = i;
  return NULL;
}

/* The next predecessor of the instruction that is not listed; count_of: none. What is listed stays
 * listed, so the search goes on where it ended. */
static uint32_t missing(visitor_t *v, uint32_t id) {
  const hlo_instr_t *instr = instr_at(v->o, id);
  uint32_t operands = (uint32_t)instr->operand_count;
  uint32_t count = operands + v->first_before[id + 1] - v->first_before[id];
  for (uint32_t *k = &v->seen[id]; *k < count; ++*k) {
    uint32_t before =
        *k < operands ? instr->operands[*k]->id : v->before[v->first_before[id] + *k - operands];
    if (!v->listed[before]) return before;
  }
  return count_of(v->o);
}

static hr_status_t list_with_operands(visitor_t *v, uint32_t id) {
  if (v->listed[id]) return NULL;
  HR_VEC_PUSH(&v->stack, id);
  while (v->stack.count) {
    uint32_t top = v->stack.data[v->stack.count - 1], next = missing(v, top);
    if (next < count_of(v->o)) {
      HR_VEC_PUSH(&v->stack, next);
      continue;
    }
    v->stack.count--;
    v->listed[top] = true;
    v->o->order[v->at++] = top;
  }
  return NULL;
}

static hr_status_t visit_all(visitor_t *v) {
  const orderer_t *o = v->o;
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o), &v->listed));
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o), &v->seen));
  HR_TRY(find_before(v));
  HR_TRY(list_with_operands(v, o->computation->root->id));
  for (uint32_t i = 0; i < count_of(o); i++) HR_TRY(list_with_operands(v, i));
  return NULL;
}

static hr_status_t find_depth_first(orderer_t *o) {
  visitor_t v = {.o = o};
  hr_status_t st = visit_all(&v);
  HR_VEC_FREE(&v.stack);
  return st;
}

/* --- the pass --------------------------------------------------------------------------------- */

/* Does the computation run as steps in any order? */
static bool has_free_order(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    bool bound = hlo_op_is(instr->op, OP_COMM) || hlo_op_is(instr->op, OP_DONE) ||
                 pass_has_effect(instr) || (instr->extra && instr->extra->control_count);
    if (bound || (hlo_shape_is_array(instr->shape) && hlo_shape_is_dynamic(instr->shape)))
      return false;
  }
  return computation->instrs.count > 2;
}

static void store_order(orderer_t *o, const uint32_t *order, hlo_instr_t **list) {
  for (uint32_t i = 0; i < count_of(o); i++) list[i] = instr_at(o, order[i]);
  for (uint32_t i = 0; i < count_of(o); i++) {
    o->computation->instrs.data[i] = list[i];
    list[i]->id = i;
  }
}

/* Takes the new order if it needs fewer bytes than *least. */
static void take_if_better(const orderer_t *o, uint32_t **best, int64_t *least) {
  int64_t peak = order_peak(o->arena, &o->buffers, o->order, o->inside);
  if (peak >= *least) return;
  *least = peak;
  for (uint32_t i = 0; i < count_of(o); i++) (*best)[i] = o->order[i];
}

/* *out_peak: most bytes alive in the final order. */
static hr_status_t order_computation(orderer_t *o, int64_t *out_peak, bool *out_changed) {
  uint32_t *best;
  hlo_instr_t **list;
  bool found = false;
  HR_TRY(order_buffers_find(o->arena, o->computation, &o->buffers));
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o), &o->order));
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o), &best));
  for (uint32_t i = 0; i < count_of(o); i++) o->order[i] = i;
  int64_t before = order_peak(o->arena, &o->buffers, o->order, o->inside), least = before;
  *out_peak = before;
  if (before < SMALL_BYTES || !has_free_order(o->computation)) return NULL;
  HR_TRY(HR_NEW_ARRAY(o->arena, count_of(o), &list));
  HR_TRY(pass_users_find(o->arena, o->computation, &o->users));
  HR_TRY(find_order_to_keep(o));
  HR_TRY(find_greedy(o, &found));
  if (found) take_if_better(o, &best, &least);
  HR_TRY(find_depth_first(o));
  take_if_better(o, &best, &least);
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "%.*s: %ld bytes alive at most, in the best order %ld",
         HR_STR_ARGS(o->computation->name), (long)before, (long)least);
  if ((double)least > GAIN * (double)before) return NULL;
  store_order(o, best, list);
  *out_peak = least;
  *out_changed = true;
  return NULL;
}

/* Most bytes needed by the computations that an instruction calls. */
static int64_t bytes_inside(const hlo_instr_t *instr, const int64_t *peaks) {
  int64_t most = 0;
  bool steps = instr->op == HLO_WHILE || instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL;
  for (int k = 0; steps && k < instr->called_count; k++)
    most = hr_max(most, peaks[instr->called[k]->id]);
  return most;
}

static hr_status_t order_all(hlo_module_t *module, hr_arena_t *arena, bool *out_changed) {
  int64_t *peaks;
  HR_TRY(HR_NEW_ARRAY(arena, module->computations.count, &peaks));
  for (size_t c = 0; c < module->computations.count; c++) {
    orderer_t o = {.arena = arena, .computation = module->computations.data[c]};
    if (o.computation->is_fusion || o.computation->is_async_wrapper) continue;
    hr_arena_mark_t mark = hr_arena_mark(arena);
    HR_TRY(HR_NEW_ARRAY(arena, count_of(&o), &o.inside));
    for (uint32_t i = 0; i < count_of(&o); i++) o.inside[i] = bytes_inside(instr_at(&o, i), peaks);
    HR_TRY(order_computation(&o, &peaks[c], out_changed));
    hr_arena_rewind(arena, mark);
  }
  return NULL;
}

/* Computations are listed callees first. */
hr_status_t pass_order_for_memory(hlo_module_t *module, bool *out_changed) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = order_all(module, &arena, out_changed);
  hr_arena_deinit(&arena);
  return st;
}
