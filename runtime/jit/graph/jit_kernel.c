/* Planning of a kernel: choice of the form that covers a part of a fusion, and estimates shared by
 * all forms.
 *
 *     kLoop                          kernel_loop.c      one loop nest over the roots' elements
 *     kInput, last dimension kept    kernel_columns.c   lanes are results
 *     kInput, last dimension reduced kernel_rows.c      lanes are terms
 *     kInput, a short one kept       kernel_rows.c      lanes are terms of each of its values
 *     kInput, few terms a result     kernel_loop.c      reductions expanded in the expression graph
 *
 * Costs are in additions of one f32 vector; jit_kernel_ns converts them to nanoseconds, which
 * decide between serial and parallel execution and the sizes of units. A root may reuse an
 * operand's bytes if every load of the operand is at the root's own index and in no later pass. */
#include "jit/graph/jit_kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "jit/element/element.h"
#include "jit/graph/kernel_reduce.h"
#include "jit/math/jit_math.h"

#define SIMPLE_COST 3.0     /* largest cost of a simple op, in additions */
#define SIMPLE_REDUCED 6.0  /* largest cost in a reduction: allows a division, an exponential */
#define SHORT_SUM 8         /* most terms of a written-out sum whose results are lanes */
#define ROW_TERMS 40        /* most terms of an unrolled row, elements of 4 bytes or more */
#define NARROW_ROW_TERMS 64 /* most terms for narrower elements: lanes of terms gain less */
#define RESULTS_LEAST 64    /* least number of results that are worth lanes of their own */
#define IDLE_GAIN 2         /* least gain in used lanes of results as lanes, in short lines */
#define TERMS_LEAST 16      /* least number of terms that are worth lanes of their own */
#define SHORT_LINE 4        /* innermost loops below this many vectors are short */
#define SIMPLE_LOADS 4
#define SIMPLE_NODES 40
/* Least size of an array that is read from memory, not from a cache. */
#define MEMORY_BYTES (16 << 20)

/* --- types and costs -------------------------------------------------------------------------- */

static bool supports_node(const jit_target_t *target, const jit_node_t *node) {
  if (node->kind == JIT_LOAD || node->kind == JIT_CONSTANT || node->kind == JIT_INDEX)
    return jit_element_supports(target, HLO_CONVERT, node->dtype, node->dtype);
  if (node->kind != JIT_OP) return true;
  return jit_element_supports(target, node->op, node->args[node->op == HLO_SELECT ? 1 : 0]->dtype,
                              node->dtype);
}

bool jit_kernel_supports(const jit_kernel_t *kernel) {
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    if (!supports_node(kernel->target, node)) return false;
  return true;
}

/* The type that the node is computed in. Sums are widened. */
static hr_dtype_t compute_type(const jit_kernel_t *kernel, const jit_node_t *node,
                               hr_dtype_t dtype) {
  bool is_half = dtype == HR_F16 && !kernel->reduce &&
                 (node->kind != JIT_OP || jit_half_supports(kernel->target, node->op));
  return is_half && kernel->target->has_f16_arithmetic ? dtype : hr_dtype_table[dtype].compute;
}

/* Adds the work of a node to the sum of its element size. A condition has the size of its
 * operands. */
static void add_work(const jit_kernel_t *kernel, const jit_node_t *node, double work[9]) {
  hr_dtype_t dtype = node->dtype;
  if (dtype == HR_PRED && node->arg_count) dtype = node->args[0]->dtype;
  hr_dtype_t compute = compute_type(kernel, node, dtype);
  size_t bytes =
      hr_dtype_bytes(kernel->reduce || compute == HR_C128 ? hr_dtype_real(compute) : compute);
  if (dtype != HR_PRED && node->kind != JIT_CONSTANT) work[bytes] += jit_node_cost(node);
}

/* Sums the work of the kernel for each element size in bytes. Index nodes count only where ops or
 * roots use them; others are parts of conditions. */
static void sum_work(const jit_kernel_t *kernel, double work[9]) {
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    if (node->kind != JIT_INDEX) add_work(kernel, node, work);
    for (int k = 0; k < node->arg_count; k++)
      if (node->args[k]->kind == JIT_INDEX) add_work(kernel, node->args[k], work);
  }
  for (int r = 0; r < kernel->root_count; r++)
    if (kernel->roots[r].value->kind == JIT_INDEX) add_work(kernel, kernel->roots[r].value, work);
}

/* Lanes of a vector of the element size that determines them; narrower types then use parts of
 * vectors, wider ones several vectors. This is the widest size of which there is work, but 8 bytes
 * only with more work than 4 bytes. In an expanded reduction it is the size with most work, as the
 * result, which may be wider, is computed once for all terms. Complex sums, and all of c128, occupy
 * two vectors, which overlap. */
int jit_kernel_lanes(const jit_kernel_t *kernel) {
  double work[9] = {0};
  int size_bytes = 1;
  sum_work(kernel, work);
  for (int bytes = 2; bytes <= 8; bytes *= 2) {
    double work_to_exceed = bytes == 8 ? work[4] : 0;
    if (kernel->loops.narrow_row) work_to_exceed = work[size_bytes];
    if (work[bytes] > work_to_exceed) size_bytes = bytes;
  }
  return kernel->target->vector_bytes / size_bytes;
}

/* Arrays of at least MEMORY_BYTES do not stay in the caches. */
bool jit_kernel_is_from_memory(const jit_kernel_t *kernel, const jit_node_t *node) {
  int param = kernel->graph->buffers[node->number].param;
  if (param < 0) return false;
  double bytes = (double)hr_dtype_bytes(node->dtype);
  return (double)fusion_count(kernel->body->params.data[param]->shape) * bytes >= MEMORY_BYTES;
}

bool jit_node_is_gathered(const jit_graph_t *graph, const jit_node_t *node) {
  for (int i = 0; node->kind == JIT_LOAD && i < node->expr->count; i++) {
    const jit_symbol_t *symbol = &graph->exprs.symbols[node->expr->terms[i].symbol];
    if (symbol->kind == JIT_SYMBOL_START && symbol->vars) return true;
  }
  return false;
}

/* An f32 vector addition takes about a third of a nanosecond, overhead included. */
double jit_kernel_ns(const jit_kernel_t *kernel, const jit_graph_t *graph, double count) {
  double cost = 0;
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made)
    cost += jit_node_is_gathered(graph, node) ? JIT_GATHER_COST : jit_node_cost(node);
  return (cost + kernel->root_count) * count * 0.25 * 4 / kernel->target->vector_bytes + 20;
}

void jit_kernel_phase_name(const jit_kernel_t *kernel, int phase, char name[64]) {
  snprintf(name, 64, "%s_%d", kernel->name, phase);
}

/* Loads of a buffer. */
typedef struct reads {
  const jit_expr_t *at; /* index of all loads; NULL: indices differ, or there is no load */
  size_t bytes;         /* size of an element in bytes */
  int last;             /* last pass that loads, plus 1 */
  bool is_met;
} reads_t;

/* Updates `reads` by a load. `at` stays set only while all loads have the same index. */
static void record_load(const jit_node_t *node, reads_t *reads) {
  size_t bytes = hr_dtype_bytes(node->dtype);
  if (!reads->is_met) *reads = (reads_t){.at = node->expr, .bytes = bytes, .is_met = true};
  if (node->expr != reads->at || node->guard || bytes != reads->bytes) reads->at = NULL;
  if (node->reduce.end_pass > reads->last) reads->last = node->reduce.end_pass;
}

static bool can_overwrite(const reads_t *reads, const jit_root_t *root) {
  if (root->instr->op == HLO_DYNAMIC_UPDATE_SLICE || reads->at != root->index) return false;
  bool is_over = !root->is_full || reads->last <= root->value->reduce.pass + 1;
  return is_over && reads->bytes == hr_dtype_bytes(root->dtype);
}

/* A root may overwrite an array that is read only at the root's own index, before the root's
 * store. */
hr_status_t jit_kernel_find_reuse(jit_kernel_t *kernel) {
  const jit_graph_t *graph = kernel->graph;
  int words = native_reuse_words(graph->buffer_count);
  reads_t *reads;
  HR_TRY(HR_NEW_ARRAY(&kernel->arena, graph->buffer_count + 1, &reads));
  HR_TRY(HR_NEW_ARRAY(&kernel->arena, kernel->root_count * words + 1, &kernel->arrays.reuse));
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made)
    if (node->kind == JIT_LOAD) record_load(node, &reads[node->number]);
  for (int k = 0; k < graph->buffer_count; k++)
    for (int r = 0; graph->buffers[k].param >= 0 && r < kernel->root_count; r++)
      if (can_overwrite(&reads[k], &kernel->roots[r]))
        native_reuse_add(kernel->arrays.reuse, words, r, k);
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

void jit_root_build(jit_graph_t *graph, jit_root_t *root, const jit_expr_t *index) {
  jit_index_t at = {index, NULL};
  root->index = index;
  if (root->instr->op == HLO_DYNAMIC_UPDATE_SLICE) {
    root->value = jit_graph_at(graph, root->instr->operands[1], 0, at, NULL);
    root->index = jit_graph_update_index(graph, root->instr, at);
  } else {
    root->value = jit_graph_at(graph, root->instr, root->number, at, NULL);
  }
}

/* Makes each leaf of a root of the fusion a root of the kernel. */
static void add_roots(jit_kernel_t *kernel, const hlo_instr_t *instr) {
  int leaves = hlo_shape_leaf_count(instr->shape);
  for (int k = 0; k < leaves; k++)
    kernel->roots[kernel->root_count++] =
        (jit_root_t){.instr = instr, .number = k, .dtype = hlo_shape_leaf(instr->shape, k)->dtype};
}

/* No more roots than needed, as each takes kilobytes. */
static hr_status_t collect_roots(jit_kernel_t *kernel, int part) {
  const fusion_form_t *form = &kernel->form;
  int count = 0;
  for (int r = 0; r < form->root_count; r++)
    if (form->part_of_root[r] == part) count += hlo_shape_leaf_count(form->roots[r]->shape);
  int most = 2 * form->root_count + 8;
  if (count > most)
    return hr_error(HR_UNSUPPORTED, "a kernel of %d results, want %d at most", count, most);
  HR_TRY(HR_NEW_ARRAY(&kernel->arena, count, &kernel->roots));
  for (int r = 0; r < form->root_count; r++)
    if (form->part_of_root[r] == part) add_roots(kernel, form->roots[r]);
  return NULL;
}

static int buffer_list_index(const jit_buffer_list_t *list, const jit_buffer_t *buffer) {
  int k = 0;
  while (list->items[k].param != buffer->param || list->items[k].literal != buffer->literal) k++;
  return k;
}

/* Copies the members that are needed after the graph is freed. */
static hr_status_t copy_arrays(jit_kernel_t *kernel, hr_arena_t *arena,
                               const jit_buffer_list_t *buffers) {
  const jit_graph_t *graph = kernel->graph;
  const uint64_t *reuse = kernel->arrays.reuse;
  kernel->arrays.count = graph->buffer_count;
  int words = kernel->root_count * native_reuse_words(kernel->arrays.count);
  HR_TRY(HR_NEW_ARRAY(arena, kernel->arrays.count, &kernel->arrays.numbers));
  HR_TRY(HR_NEW_ARRAY(arena, words + 1, &kernel->arrays.reuse));
  for (int k = 0; k < kernel->arrays.count; k++)
    kernel->arrays.numbers[k] = buffer_list_index(buffers, &graph->buffers[k]);
  if (reuse) memcpy(kernel->arrays.reuse, reuse, (size_t)words * sizeof *reuse);
  if (!kernel->schedule.producer_grid.rows) return NULL;
  const jit_dependence_t *reach = kernel->arrays.dependence;
  HR_TRY(HR_NEW_ARRAY(arena, kernel->arrays.count, &kernel->arrays.dependence));
  memcpy(kernel->arrays.dependence, reach, (size_t)kernel->arrays.count * sizeof *reach);
  return NULL;
}

/* A part has a kernel only if all its reducers are supported. */
static bool supports_reductions(const jit_kernel_t *kernel) {
  jit_reducer_t reducer;
  for (size_t i = 0; i < kernel->body->instrs.count; i++) {
    const hlo_instr_t *instr = kernel->body->instrs.data[i];
    if (instr->op != HLO_REDUCE || !kernel->form.roles[i]) continue;
    if (!jit_reducer_init(kernel->target, instr, &reducer)) return false;
  }
  return true;
}

static int64_t most_row_terms(const jit_kernel_t *kernel) {
  int64_t most = NARROW_ROW_TERMS;
  for (size_t i = 0; i < kernel->body->instrs.count; i++) {
    const hlo_instr_t *instr = kernel->body->instrs.data[i];
    if (instr->op != HLO_REDUCE || !kernel->form.roles[i]) continue;
    if (hr_dtype_bytes(instr->operands[0]->shape->dtype) >= 4) most = ROW_TERMS;
  }
  return most;
}

/* Are there many results with few terms each? Lanes are then results, and ops on the sums run in
 * lanes, too. With rows, elements of the space may be roots as well. */
static bool can_expand_reductions(const jit_kernel_t *kernel) {
  const fusion_space_t *space = &kernel->form.space;
  int64_t most = kernel->has_rows && space->rank == 2 ? most_row_terms(kernel) : SHORT_SUM;
  if (!space->reduced || space->outer_count < RESULTS_LEAST) return false;
  for (int r = 0; r < kernel->root_count; r++) {
    const hlo_instr_t *root = kernel->roots[r].instr;
    bool is_outer =
        fusion_count(hlo_shape_leaf(root->shape, kernel->roots[r].number)) == space->outer_count;
    if (root->op == HLO_DYNAMIC_UPDATE_SLICE || (!is_outer && !kernel->has_rows)) return false;
    if (!is_outer && most > JIT_NARROW_ROW) most = JIT_NARROW_ROW;
  }
  return space->full_count <= most * space->outer_count && supports_reductions(kernel);
}

/* Part of the lanes that lines of `size` elements use. */
static double lane_use(int64_t size, int lanes) {
  return (double)size / (double)(hr_div_ceil(size, lanes) * lanes);
}

/* Are elements of the rows stored, too? */
static bool stores_rows(const jit_kernel_t *kernel) {
  for (int r = 0; r < kernel->root_count; r++)
    if (kernel->roots[r].is_full) return true;
  return false;
}

/* Is more computed of the sums and beside them than of their terms? Rows would do so without
 * lanes. */
static bool computes_results(const jit_kernel_t *kernel) {
  int64_t ops = 0, terms_ops = 0;
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    ops += node->kind == JIT_OP;
  for (size_t i = 0; i < kernel->body->instrs.count; i++) {
    const hlo_instr_t *instr = kernel->body->instrs.data[i];
    bool is_of_term = kernel->form.roles[i] & FUSION_FULL && hlo_op_is(instr->op, OP_ELEMENTWISE);
    terms_ops += is_of_term || (instr->op == HLO_REDUCE && kernel->form.roles[i]);
  }
  return ops > 2 * terms_ops * kernel->loops.narrow_row;
}

/* Are many results computed in partly idle lanes? Elements that lie apart are then loaded one by
 * one, or transposed, as those that are stored are. Rows that leave most lanes idle, if the terms
 * of a result are the lanes, are still worse. */
static bool has_idle_lanes(const jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest;
  int lanes = kernel->loops.lanes;
  int64_t size = nest->rank > 1 ? nest->sizes[nest->rank - 1] : 0;
  if (size % lanes == 0 || size >= SHORT_LINE * lanes || jit_inner_fits(kernel)) return false;
  if (!stores_rows(kernel) && computes_results(kernel)) return false;
  if (jit_inner_is_small(kernel) && !jit_inner_reads_disjoint(kernel) && !stores_rows(kernel))
    return false;
  return lane_use(size, lanes) < IDLE_GAIN * lane_use(kernel->loops.narrow_row, lanes);
}

/* UNSUPPORTED: the kernel is unchanged. */
static hr_status_t plan_expanded_reductions(jit_kernel_t *kernel) {
  jit_kernel_t before = *kernel;
  const fusion_space_t *space = &kernel->form.space;
  kernel->loops.narrow_row = space->full_count / space->outer_count;
  kernel->form.space.kind = FUSION_LOOP;
  hr_status_t st = jit_loop_plan(kernel);
  if (!st && has_idle_lanes(kernel)) st = hr_error(HR_UNSUPPORTED, "few results in a line");
  if (hr_status_code(st) != HR_UNSUPPORTED) return st;
  before.arena = kernel->arena;
  *kernel = before;
  return st;
}

/* Is a short last dimension kept, after a long reduced one? Lanes of columns would be mostly
 * idle; as rows, whose last dimension is unrolled, they are filled by terms. */
static bool can_unroll_columns(const jit_kernel_t *kernel) {
  const fusion_space_t *space = &kernel->form.space;
  int last = space->rank - 1;
  if (kernel->has_rows || last < 1 || kernel->schedule.producer_grid.rows) return false;
  if (space->sizes[last] > JIT_MAX_SHORT || space->sizes[last - 1] < TERMS_LEAST) return false;
  for (int r = 0; r < kernel->root_count; r++) {
    const jit_root_t *root = &kernel->roots[r];
    int64_t count = fusion_count(hlo_shape_leaf(root->instr->shape, root->number));
    if (root->instr->op == HLO_DYNAMIC_UPDATE_SLICE || count != space->outer_count) return false;
  }
  return true;
}

/* Plans columns as rows with an unrolled last dimension. UNSUPPORTED: the kernel is unchanged. */
static hr_status_t plan_unrolled_columns(jit_kernel_t *kernel) {
  jit_kernel_t before = *kernel;
  kernel->loops.unrolled = (int)kernel->form.space.sizes[kernel->form.space.rank - 1];
  kernel->has_rows = true;
  hr_status_t st = jit_rows_plan(kernel);
  if (hr_status_code(st) != HR_UNSUPPORTED) return st;
  before.arena = kernel->arena;
  *kernel = before;
  return st;
}

/* Without a reduced dimension, or with reduced dimensions of size 1, the columns form is tried
 * first; dependent reductions need rows. */
static hr_status_t plan_form(jit_kernel_t *kernel) {
  const fusion_space_t *space = &kernel->form.space;
  kernel->loops.nest.unmerged_prefix = kernel->schedule.producer_grid.rows;
  if (space->kind == FUSION_LOOP) return jit_loop_plan(kernel);
  kernel->has_rows = !space->rank || space->reduced >> (space->rank - 1) & 1;
  hr_status_t st = can_expand_reductions(kernel) ? plan_expanded_reductions(kernel) : NULL;
  if (kernel->form.space.kind == FUSION_LOOP) return st;
  hr_status_release(st);
  if (kernel->has_rows) return jit_rows_plan(kernel);
  if (can_unroll_columns(kernel)) {
    st = plan_unrolled_columns(kernel);
    if (hr_status_code(st) != HR_UNSUPPORTED) return st;
    hr_status_release(st);
  }
  st = jit_columns_plan(kernel);
  if (hr_status_code(st) != HR_UNSUPPORTED || space->reduced) return st;
  hr_status_release(st);
  kernel->has_rows = true;
  kernel->loops.nest.rank = 0;
  kernel->loops.within.rank = 0;
  return jit_rows_plan(kernel);
}

/* UNSUPPORTED from any step declines the kernel (is_declined), which is no error. */
hr_status_t jit_kernel_plan(hr_arena_t *arena, const jit_target_t *target,
                            const jit_fusion_t *fusion, int part, const jit_buffer_list_t *buffers,
                            jit_kernel_t *kernel) {
  hr_arena_init(&kernel->arena);
  kernel->target = target;
  kernel->body = fusion->body;
  kernel->form = *fusion->form;
  hr_status_t st = collect_roots(kernel, part);
  if (!st) st = plan_form(kernel);
  if (!st && kernel->schedule.producer_grid.rows) st = jit_kernel_find_dependence(kernel);
  if (!st) kernel->bottleneck = jit_kernel_bottleneck(kernel);
  if (!st) st = copy_arrays(kernel, arena, buffers);
  kernel->state.is_declined = hr_status_code(st) == HR_UNSUPPORTED;
  if (st) hr_arena_deinit(&kernel->arena);
  if (!kernel->state.is_declined) return st;
  hr_status_release(st);
  return NULL;
}

/* Modules of simple kernels only may be compiled by LLVM's quick code generator. */
bool jit_kernel_is_simple(const jit_kernel_t *kernel) {
  int loads = 0;
  double most = kernel->form.space.kind == FUSION_LOOP ? SIMPLE_COST : SIMPLE_REDUCED;
  if (kernel->region) return false;
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    if (node->kind == JIT_LOAD) loads++;
    if (node->kind == JIT_OP && jit_node_cost(node) > most) return false;
  }
  return loads <= SIMPLE_LOADS && kernel->graph->node_count <= SIMPLE_NODES;
}

static hr_status_t emit_kernel(jit_kernel_t *kernel, jit_code_t *code) {
  if (kernel->region) return jit_region_write(kernel, code);
  if (kernel->form.space.kind == FUSION_LOOP) return jit_loop_write(kernel, code);
  return kernel->has_rows ? jit_rows_write(kernel, code) : jit_columns_write(kernel, code);
}

/* Emission stores memos in the graph, so a kernel has one writer at a time. */
hr_status_t jit_kernel_write(jit_kernel_t *kernel, jit_code_t *code) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (kernel->state.writers + (kernel->state.uses > 0) < 2) return emit_kernel(kernel, code);
  pthread_mutex_lock(&lock);
  hr_status_t st = emit_kernel(kernel, code);
  pthread_mutex_unlock(&lock);
  return st;
}
