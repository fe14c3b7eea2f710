/* Products and the fusions between them become one fusion, which a kernel computes a tile of rows
 * at a time (ops/kernels/dot/native_tiled_products.c): attention and its gradient in any form, with
 * arbitrary ops between the products.
 *
 *   s = dot(q, k)               [..., rows, columns]
 *   p = fusion(s, mask)         reductions of the columns, or elementwise
 *   o = dot(p, v)          ->   o = fusion(q, k, mask, v), kind=kCustom
 *
 * The cluster grows from a product along arrays with the same number of elements (tiled arrays): to
 * fusions that read them at their own index, to views, to products with a tiled operand, and back
 * to other products that such a fusion reads. Instructions that lead to no further product are
 * dropped, and so are members that depend on the cluster through an instruction outside it. Arrays
 * with other users are additional results. The fusion is profitable if some tiled array is no
 * result, and if the operands of a matrix are small relative to it: heads of attention, not layers
 * of a network. A single matrix is only fused for attention.
 * Exact: the body holds the same instructions; where the kernel declines, they are steps as before.
 * Cost: linear for each product of that size. */
#include "base/log.h"
#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

#define ROWS_MIN 16
#define COLUMNS_MIN 32
#define TERMS_MIN 8
#define ELEMENTS_MIN 16384
/* Least number of matrices if rows of whole matrices are summed: fewer are too few tasks. */
#define SUM_MATRICES_MIN 8
/* Least bytes of all tiles of such a sum: smaller ones stay in caches anyway. */
#define SUM_BYTES_MIN (INT64_C(4) << 20)
/* Most terms of the first products and most columns of the last, whose operands stay in caches. */
#define WIDTH_MAX 256

typedef struct tiling {
  pass_rewrite_t *rewrite;
  pass_users_t users;
  uint32_t count;  /* instructions */
  uint32_t *taken; /* by id: number of the fusion of this pass that contains it; 0: none */
  bool *reached;   /* by that number: does the fusion depend on members? */
  uint32_t fusion_count;
  bool *member;            /* by id */
  bool *tiled;             /* by id: a member whose result is a tiled array */
  bool *marked;            /* by id: scratch of one query */
  int64_t rows, elements;  /* size of a tiled array: rows of all matrices; elements */
  int64_t matrices, least; /* number of matrices; the smaller of rows and columns of one */
  hr_dtype_t dtype;
  hlo_builder_t body;
  hlo_instr_t **copies; /* by id: clone in the body */
  HR_VEC(hlo_instr_t *) inputs;
  HR_VEC(hlo_instr_t *) results; /* members with other users */
  HR_VEC(hlo_instr_t *) outputs; /* results in the body */
} tiling_t;

static hlo_instr_t *instr_at(const tiling_t *t, uint32_t id) {
  return t->rewrite->computation->instrs.data[id];
}

/* --- candidates ------------------------------------------------------------------------------- */

/* Sizes of a product: matrices, rows and columns of the result, and terms. */
static void sizes_of(const hlo_instr_t *dot, int64_t sizes[4]) {
  hr_ints_t batch = hlo_attr_ints(dot, HLO_ATTR_LHS_BATCH_DIMS);
  hr_ints_t terms = hlo_attr_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  const hlo_shape_t *lhs = dot->operands[0]->shape;
  sizes[0] = 1;
  sizes[3] = 1;
  for (int64_t i = 0; i < batch.count; i++) sizes[0] *= lhs->dims[batch.data[i]];
  for (int64_t i = 0; i < terms.count; i++) sizes[3] *= lhs->dims[terms.data[i]];
  int64_t rest = sizes[0] * sizes[3];
  sizes[1] = rest ? fusion_count(lhs) / rest : 0;
  rest = sizes[0] * sizes[1];
  sizes[2] = rest ? fusion_count(dot->shape) / rest : 0;
}

/* Is the product's result a tiled array? */
static bool is_first_product(const hlo_instr_t *dot, int64_t sizes[4]) {
  if (!pass_is_plain_dot(dot)) return false;
  sizes_of(dot, sizes);
  return sizes[1] >= ROWS_MIN && sizes[2] >= COLUMNS_MIN && sizes[3] >= TERMS_MIN &&
         sizes[3] <= WIDTH_MAX && sizes[0] * sizes[1] * sizes[2] >= ELEMENTS_MIN;
}

static bool is_tiled_shape(const tiling_t *t, const hlo_shape_t *shape) {
  return hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape) &&
         fusion_count(shape) == t->elements;
}

/* Is the fusion computed row by row, and does it read tiled members only at its own index? */
static bool reads_by_rows(const tiling_t *t, const hlo_instr_t *fusion, hr_arena_t *arena) {
  const hlo_computation_t *body = fusion->called[0];
  fusion_form_t form;
  hr_status_t st = fusion_form_find(arena, body, &form);
  if (st) {
    hr_status_release(st);
    return false;
  }
  bool fits = form.space.kind == FUSION_LOOP && form.part_count == 1;
  if (form.space.kind == FUSION_ROWS)
    fits = form.space.full_count == t->elements && form.space.outer_count == t->rows;
  for (int r = 0; r < form.root_count && fits; r++)
    fits = (form.space.kind == FUSION_ROWS || fusion_count(form.roots[r]->shape) == t->elements) &&
           op_codegens[form.roots[r]->op] != CODEGEN_UPDATE;
  for (int k = 0; k < fusion->operand_count && fits; k++)
    if (t->member[fusion->operands[k]->id])
      fits =
          t->tiled[fusion->operands[k]->id] && form.roles[body->params.data[k]->id] == FUSION_FULL;
  return fits;
}

static bool may_join_fusion(const tiling_t *t, const hlo_instr_t *fusion) {
  hr_arena_t arena;
  if (hlo_attr_enum(fusion, HLO_ATTR_KIND) == HLO_FUSION_KIND_CUSTOM ||
      (fusion->extra && fusion->extra->control_count))
    return false;
  hr_arena_init(&arena);
  bool fits = reads_by_rows(t, fusion, &arena);
  hr_arena_deinit(&arena);
  return fits;
}

/* Does the product contract rows of the tiled operand, and not columns? */
static bool sums_over_rows(const tiling_t *t, const hlo_instr_t *dot) {
  bool left = t->tiled[dot->operands[0]->id];
  const hlo_shape_t *shape = dot->operands[left ? 0 : 1]->shape;
  hr_ints_t terms =
      hlo_attr_ints(dot, left ? HLO_ATTR_LHS_CONTRACTING_DIMS : HLO_ATTR_RHS_CONTRACTING_DIMS);
  for (int64_t i = 0; i < terms.count; i++)
    if (terms.data[i] == shape->rank - 1) return false;
  return true;
}

static bool may_sum(const tiling_t *t) {
  return t->matrices >= SUM_MATRICES_MIN &&
         t->elements * (int64_t)hr_dtype_bytes(t->dtype) >= SUM_BYTES_MIN;
}

/* Is it a product with one tiled operand? The kernel checks which dimensions it contracts. */
static bool may_join_dot(const tiling_t *t, const hlo_instr_t *dot) {
  int count = t->tiled[dot->operands[0]->id] + t->tiled[dot->operands[1]->id];
  return pass_is_plain_dot(dot) && count == 1 && dot->shape->dtype == t->dtype &&
         (may_sum(t) || !sums_over_rows(t, dot)) &&
         fusion_count(dot->shape) <= t->elements / t->least * WIDTH_MAX;
}

static bool uses_member(const tiling_t *t, const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    if (t->member[instr->operands[k]->id]) return true;
  return false;
}

/* Lets users of members join, in program order. */
static bool grow(tiling_t *t) {
  bool grew = false;
  for (uint32_t i = 0; i < t->count; i++) {
    const hlo_instr_t *instr = instr_at(t, i);
    if (t->member[i] || t->taken[i] || !uses_member(t, instr)) continue;
    bool is_element = instr->op == HLO_GET_TUPLE_ELEMENT;
    bool joins = is_element || (instr->op == HLO_RESHAPE && t->tiled[instr->operands[0]->id]) ||
                 (instr->op == HLO_FUSION && may_join_fusion(t, instr)) ||
                 (instr->op == HLO_DOT && may_join_dot(t, instr));
    t->member[i] = joins;
    t->tiled[i] = joins && instr->op != HLO_DOT && is_tiled_shape(t, instr->shape);
    grew |= joins;
  }
  return grew;
}

static void leave(tiling_t *t, uint32_t id) {
  t->member[id] = false;
  t->tiled[id] = false;
}

static void join(tiling_t *t, uint32_t id) {
  t->member[id] = true;
  t->tiled[id] = true;
}

/* Adds a product and the view of it that a fusion of the cluster reads. False: the fusion would not
 * fit any more, and the cluster is as before. */
static bool add_product(tiling_t *t, const hlo_instr_t *fusion, uint32_t dot, uint32_t view) {
  bool was_member = t->member[dot];
  join(t, dot);
  join(t, view);
  if (may_join_fusion(t, fusion)) return true;
  leave(t, view);
  if (!was_member) leave(t, dot);
  return false;
}

/* Adds products with the same rows that the cluster's fusions read. */
static bool add_products(tiling_t *t, const int64_t wanted[4]) {
  bool grew = false;
  for (uint32_t i = 0; i < t->count; i++) {
    const hlo_instr_t *fusion = instr_at(t, i);
    for (int k = 0; t->member[i] && fusion->op == HLO_FUSION && k < fusion->operand_count; k++) {
      hlo_instr_t *view = fusion->operands[k], *dot = view;
      int64_t sizes[4];
      if (view->op == HLO_RESHAPE) dot = view->operands[0];
      if (t->member[view->id] || t->taken[view->id] || t->taken[dot->id] ||
          !is_first_product(dot, sizes) || sizes[0] != wanted[0] || sizes[1] != wanted[1] ||
          sizes[2] != wanted[2] || dot->shape->dtype != t->dtype)
        continue;
      grew |= add_product(t, fusion, dot->id, view->id);
    }
  }
  return grew;
}

/* Marks members that depend on members through a non-member, and non-members that depend on
 * members. A fusion built by this pass is one instruction. False: the marks may be incomplete. */
static bool mark_dependent(tiling_t *t) {
  bool complete = true;
  for (uint32_t i = 0; i < t->count; i++) {
    const hlo_instr_t *instr = instr_at(t, i);
    uint32_t in = t->taken[i];
    t->marked[i] = in && t->reached[in];
    for (int k = 0; k < instr->operand_count; k++) {
      uint32_t operand = instr->operands[k]->id;
      t->marked[i] |= t->marked[operand] || (t->member[operand] && !t->member[i]);
    }
    if (!in || !t->marked[i] || t->reached[in]) continue;
    t->reached[in] = true;
    complete = false;
  }
  return complete;
}

/* Drops members that depend on other members through a non-member. */
static void drop_dependent(tiling_t *t) {
  for (bool again = true; again;) {
    again = false;
    for (uint32_t f = 0; f <= t->fusion_count; f++) t->reached[f] = false;
    while (!mark_dependent(t)) continue;
    for (uint32_t i = 0; i < t->count; i++) {
      if (!t->member[i] || !t->marked[i]) continue;
      leave(t, i);
      again = true;
    }
  }
}

/* Is it a product of the cluster with a tiled operand? */
static bool is_last_product(const tiling_t *t, const hlo_instr_t *instr) {
  return t->member[instr->id] && instr->op == HLO_DOT && !t->tiled[instr->id];
}

static bool has_outside_user(const tiling_t *t, const hlo_instr_t *instr) {
  bool outside = instr == t->rewrite->computation->root;
  for (uint32_t u = t->users.first[instr->id]; u < t->users.first[instr->id + 1]; u++)
    outside |= !t->member[t->users.users[u]->id];
  return outside;
}

/* Does this result of a member depend on a tiled array that is in the cluster only? */
static bool needs_tiles(const tiling_t *t, const hlo_instr_t *element, bool *depends) {
  const hlo_instr_t *fusion = element->operands[0];
  const hlo_computation_t *body = fusion->called[0];
  for (size_t i = 0; i < body->instrs.count; i++) depends[i] = false;
  for (int k = 0; k < fusion->operand_count; k++)
    depends[body->params.data[k]->id] =
        t->tiled[fusion->operands[k]->id] && !has_outside_user(t, fusion->operands[k]);
  for (size_t i = 0; i < body->instrs.count; i++)
    for (int k = 0; k < body->instrs.data[i]->operand_count; k++)
      depends[i] |= depends[body->instrs.data[i]->operands[k]->id];
  if (body->root->op != HLO_TUPLE) return depends[body->root->id];
  return depends[body->root->operands[hlo_attr_int(element, HLO_ATTR_INDEX)]->id];
}

/* Is a tiled array read by something that no other cluster could compute by tiles? */
static bool is_read_whole(tiling_t *t, const hlo_instr_t *instr) {
  bool whole = instr == t->rewrite->computation->root;
  for (uint32_t u = t->users.first[instr->id]; u < t->users.first[instr->id + 1] && !whole; u++) {
    const hlo_instr_t *user = t->users.users[u];
    join(t, instr->id);
    if (user->op == HLO_RESHAPE)
      whole = is_read_whole(t, user);
    else if (user->op != HLO_DOT)
      whole = user->op != HLO_FUSION || !may_join_fusion(t, user);
    leave(t, instr->id);
  }
  return whole;
}

/* Lets results of the cluster's fusions join again that are read outside only, so that fusions and
 * products are not computed once more for them: what is found of each row, such as sums, and tiled
 * arrays that are needed as a whole. Other tiled arrays are rather computed once more than kept, by
 * the tiles of another cluster. */
static hr_status_t keep_results(tiling_t *t) {
  for (uint32_t i = 0; i < t->count; i++) {
    const hlo_instr_t *instr = instr_at(t, i);
    bool *depends;
    if (instr->op != HLO_GET_TUPLE_ELEMENT || t->member[i] || t->taken[i]) continue;
    const hlo_instr_t *fusion = instr->operands[0];
    if (!t->member[fusion->id] || fusion->op != HLO_FUSION) continue;
    HR_TRY(HR_NEW_ARRAY(&t->rewrite->scratch, fusion->called[0]->instrs.count, &depends));
    t->member[i] = !is_tiled_shape(t, instr->shape) ||
                   (needs_tiles(t, instr, depends) && is_read_whole(t, instr));
  }
  return NULL;
}

/* Drops members that no last product needs, and products without a tile. */
static void drop_useless(tiling_t *t) {
  for (uint32_t i = 0; i < t->count; i++)
    if (is_last_product(t, instr_at(t, i)) && !uses_member(t, instr_at(t, i))) leave(t, i);
  for (uint32_t i = t->count; i-- > 0;) {
    const hlo_instr_t *instr = instr_at(t, i);
    t->marked[i] = is_last_product(t, instr);
    for (uint32_t u = t->users.first[i]; u < t->users.first[i + 1]; u++) {
      const hlo_instr_t *user = t->users.users[u];
      t->marked[i] |= t->marked[user->id];
    }
    if (!t->member[i]) t->marked[i] = false;
    if (t->member[i] && !t->marked[i]) leave(t, i);
  }
}

/* Does a fusion between the products contain an instruction of this op? */
static bool has_between(const tiling_t *t, hlo_opcode_t op) {
  for (uint32_t i = 0; i < t->count; i++) {
    const hlo_instr_t *instr = instr_at(t, i);
    if (!t->member[i] || instr->op != HLO_FUSION) continue;
    const hlo_computation_t *body = instr->called[0];
    for (size_t k = 0; k < body->instrs.count; k++)
      if (body->instrs.data[k]->op == op) return true;
  }
  return false;
}

/* Does the cluster contain a softmax? An exponential alone may belong to a gate between layers. */
static bool has_softmax(const tiling_t *t) {
  return has_between(t, HLO_EXPONENTIAL) && has_between(t, HLO_REDUCE);
}

/* Requires a fusion and a tiled array that is never in memory, for a single matrix also softmax. */
static bool is_worth_it(const tiling_t *t) {
  int fusions = 0, spared = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    const hlo_instr_t *instr = instr_at(t, i);
    if (!t->member[i]) continue;
    fusions += instr->op == HLO_FUSION;
    spared += t->tiled[i] && instr->op != HLO_RESHAPE && !has_outside_user(t, instr);
  }
  return fusions && spared && (t->matrices > 1 || has_softmax(t));
}

static hr_status_t find_cluster(tiling_t *t, const hlo_instr_t *dot, bool *out_found) {
  int64_t sizes[4];
  *out_found = false;
  if (t->taken[dot->id] || !is_first_product(dot, sizes)) return NULL;
  for (uint32_t i = 0; i < t->count; i++) leave(t, i);
  t->rows = sizes[0] * sizes[1];
  t->elements = t->rows * sizes[2];
  t->matrices = sizes[0];
  t->least = sizes[1] < sizes[2] ? sizes[1] : sizes[2];
  t->dtype = dot->shape->dtype;
  join(t, dot->id);
  while (grow(t) || add_products(t, sizes)) continue;
  drop_dependent(t);
  drop_useless(t);
  HR_TRY(keep_results(t));
  *out_found = t->member[dot->id] && is_worth_it(t);
  return NULL;
}

/* --- the fusion ------------------------------------------------------------------------------- */

static hr_status_t copy_operand(tiling_t *t, hlo_instr_t *operand, hlo_instr_t **out_copy) {
  if (!t->copies[operand->id]) {
    t->copies[operand->id] = hlo_build_parameter(&t->body, (int)t->inputs.count, operand->shape);
    HR_VEC_PUSH(&t->inputs, operand);
  }
  *out_copy = t->copies[operand->id];
  return NULL;
}

static hr_status_t copy_member(tiling_t *t, hlo_instr_t *instr) {
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(&t->rewrite->scratch, instr->operand_count, &operands));
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(copy_operand(t, instr->operands[k], &operands[k]));
  hlo_instr_t *copy =
      hlo_build(&t->body, instr->op, instr->shape, instr->operand_count, operands,
                instr->attr_count, instr->attrs, instr->called_count, instr->called);
  if (!copy) return hlo_builder_finish(&t->body);
  copy->name = instr->name;
  copy->line = instr->line;
  copy->column = instr->column;
  t->copies[instr->id] = copy;
  return NULL;
}

/* The member that a member is a view of, or itself. */
static hlo_instr_t *viewed(const tiling_t *t, hlo_instr_t *instr) {
  while (instr->op == HLO_RESHAPE && t->member[instr->operands[0]->id]) instr = instr->operands[0];
  return instr;
}

static bool is_result(const tiling_t *t, const hlo_instr_t *instr) {
  return t->member[instr->id] && !hlo_shape_is_tuple(instr->shape) && has_outside_user(t, instr);
}

/* Tuples are no results, but their elements are. Of an array and its views one is a result: the
 * others are views outside, too. */
static hr_status_t copy_members(tiling_t *t) {
  for (uint32_t i = 0; i < t->count; i++) t->marked[i] = false;
  for (uint32_t i = 0; i < t->count; i++) {
    hlo_instr_t *instr = instr_at(t, i);
    if (is_result(t, instr)) t->marked[viewed(t, instr)->id] = true;
  }
  for (uint32_t i = 0; i < t->count; i++) {
    hlo_instr_t *instr = instr_at(t, i);
    if (!t->member[i]) continue;
    HR_TRY(copy_member(t, instr));
    if (!t->marked[i]) continue;
    HR_VEC_PUSH(&t->results, instr);
    HR_VEC_PUSH(&t->outputs, t->copies[i]);
  }
  return NULL;
}

static hlo_instr_t *build_fusion(tiling_t *t) {
  hlo_computation_t *body = t->body.computation;
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_KIND, HLO_FUSION_KIND_CUSTOM),
                        hlo_attr_of_called(HLO_ATTR_CALLS, 1)};
  hlo_instr_t *fusion = hlo_build(&t->rewrite->builder, HLO_FUSION, body->root->shape,
                                  (int)t->inputs.count, t->inputs.data, 2, attrs, 1, &body);
  if (fusion) fusion->name = has_softmax(t) ? HR_STR("attention") : HR_STR("tiled_products");
  return fusion;
}

static hr_status_t replace_results(tiling_t *t, hlo_instr_t *fusion) {
  hlo_builder_t *builder = &t->rewrite->builder;
  for (size_t r = 0; r < t->results.count; r++) {
    bool is_tuple = fusion && hlo_shape_is_tuple(fusion->shape);
    hlo_instr_t *result = is_tuple ? hlo_build_element(builder, fusion, (int)r) : fusion;
    HR_TRY(pass_replace(t->rewrite, t->results.data[r], result));
  }
  for (uint32_t i = 0; i < t->count; i++) {
    hlo_instr_t *instr = instr_at(t, i), *base;
    if (!is_result(t, instr) || (base = viewed(t, instr)) == instr) continue;
    base = pass_resolve(t->rewrite, base);
    HR_TRY(pass_replace(t->rewrite, instr, hlo_build_reshape(builder, base, instr->shape)));
  }
  return NULL;
}

/* The new fusion takes the position of its last member. */
static void set_position(tiling_t *t) {
  for (uint32_t i = 0; i < t->count; i++) {
    if (!t->member[i]) continue;
    t->rewrite->position = i;
    t->rewrite->builder.line = instr_at(t, i)->line;
    t->rewrite->builder.column = instr_at(t, i)->column;
    t->taken[i] = t->fusion_count;
  }
}

static hr_status_t emit(tiling_t *t) {
  hlo_computation_t *body;
  hr_str_t name = HR_STR("tiled_computation");
  HR_TRY(hlo_computation_add(t->rewrite->computation->module, name, &body));
  body->is_fusion = true;
  t->inputs.count = 0;
  t->results.count = 0;
  t->outputs.count = 0;
  for (uint32_t i = 0; i < t->count; i++) t->copies[i] = NULL;
  t->fusion_count++;
  set_position(t);
  t->body = hlo_builder_at(body, t->rewrite->builder.line, t->rewrite->builder.column);
  HR_TRY(copy_members(t));
  body->root = t->outputs.data[0];
  if (t->outputs.count > 1)
    body->root = hlo_build_tuple(&t->body, (int)t->outputs.count, t->outputs.data);
  HR_TRY(hlo_builder_finish(&t->body));
  return replace_results(t, build_fusion(t));
}

/* --- the pass --------------------------------------------------------------------------------- */

static hr_status_t tile_all(tiling_t *t) {
  hr_arena_t *arena = &t->rewrite->scratch;
  HR_TRY(pass_users_find(arena, t->rewrite->computation, &t->users));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->taken));
  HR_TRY(HR_NEW_ARRAY(arena, t->count + 1, &t->reached));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->member));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->tiled));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->marked));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->copies));
  for (uint32_t i = 0; i < t->count; i++) {
    bool found;
    HR_TRY(find_cluster(t, instr_at(t, i), &found));
    if (found) HR_TRY(emit(t));
  }
  return NULL;
}

static bool has_candidates(const hlo_computation_t *computation) {
  int64_t sizes[4];
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (is_first_product(computation->instrs.data[i], sizes)) return true;
  return false;
}

static hr_status_t tile_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  if (!has_candidates(computation)) return NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  tiling_t t = {.rewrite = &rewrite, .count = rewrite.old_count};
  hr_status_t st = tile_all(&t);
  HR_VEC_FREE(&t.inputs);
  HR_VEC_FREE(&t.results);
  HR_VEC_FREE(&t.outputs);
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_tile_products(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_unfused(module, tile_computation, out_changed);
}
