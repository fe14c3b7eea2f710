/* Large arrays between fusions that compute them row by row are computed a tile of rows at a time,
 * in a loop, so that a tile is all of them that is in memory:
 *
 *   d = fusion(x, y)        [rows, columns]       while (i < rows / tile):
 *   e = fusion(d)           [rows, columns]   ->    d = fusion(x[i], y)   [tile, columns]
 *   r = fusion(x, y, e)     [rows]                  e = fusion(d)
 *                                                   r[i] = fusion(x[i], y, e)
 *
 * Example: the distances of all pairs of points, of which only sums over one of both are used. The
 * tile divides the rows. Exact: each row is computed by the same operations.
 * Cost: linear for each such array. */
#include <stdlib.h>

#include "passes/fuse/fuse_cost.h"
#include "passes/fuse/fusion_rows.h"
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

/* Sizes in bytes: the least array that is worth a loop, the most and the least of all tiles. Bodies
 * of 2,048 and 4,096 points, f32, took 1.0 and 0.75 times as long with tiles of 8 MiB as without,
 * on two cores of Zen 3, and 1.15 and 1.03 times with 2 MiB, which leave workers little to do. */
#define MIN_BYTES (16 << 20)
#define TILE_BYTES (8 << 20)
#define LEAST_TILE (1 << 20)
#define MOST_SLICED (1.0 / 8) /* most bytes that are sliced, of those that are spared */
#define MAX_MEMBERS 64

/* A fusion, an element of the tuple of one that is a member, or an operation that is not fused. */
typedef struct member {
  hlo_instr_t *instr;
  uint8_t *reads;    /* by id of what a fusion computes; NULL: no fusion */
  bool is_result;    /* something else reads it */
  hlo_instr_t *tile; /* in the body */
  int state;         /* element of the loop's state, if it is a result */
} member_t;

typedef struct tile_rows {
  pass_rewrite_t *rewrite;
  pass_users_t users;
  uint32_t count; /* instructions */
  bool *taken;    /* by id: in a loop already */
  bool *reached;  /* by id: depends on a member */
  int *number;    /* by id: its number + 1 among the members; 0: no member */
  member_t members[MAX_MEMBERS];
  int member_count;
  int64_t rows, tile;
  double spared; /* bytes of arrays that are not in memory any more */
  hlo_builder_t body;
  HR_VEC(hlo_instr_t *) inputs; /* initial values of the state, after the counter */
  HR_VEC(hlo_instr_t *) inside; /* the same in the body */
  HR_VEC(hlo_instr_t *) slices; /* by input: rows of the tile; NULL: none yet */
} tile_rows_t;

static hlo_instr_t *instr_at(const tile_rows_t *t, uint32_t id) {
  return t->rewrite->computation->instrs.data[id];
}

static bool is_large(const hlo_instr_t *instr) {
  return hlo_shape_is_array(instr->shape) && fuse_shape_bytes(instr->shape) >= MIN_BYTES;
}

/* A large array that a fusion makes. */
static bool may_be_spared(const hlo_instr_t *instr) {
  if (!is_large(instr)) return false;
  bool is_element = instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0]->op == HLO_FUSION;
  return instr->op == HLO_FUSION || is_element;
}

static bool is_plain_fusion(const tile_rows_t *t, const hlo_instr_t *instr) {
  return instr->op == HLO_FUSION && !t->taken[instr->id] && pass_is_pure(instr) &&
         hlo_attr_enum(instr, HLO_ATTR_KIND) != HLO_FUSION_KIND_CUSTOM &&
         !(instr->extra && instr->extra->control_count);
}

/* --- members --- */

static void add_member(tile_rows_t *t, hlo_instr_t *instr, uint8_t *reads) {
  bool is_result = hlo_shape_is_array(instr->shape);
  t->members[t->member_count++] =
      (member_t){.instr = instr, .reads = reads, .is_result = is_result};
  t->number[instr->id] = t->member_count;
}

/* Adds the elements of a tuple; false: something else reads it. */
static bool add_elements(tile_rows_t *t, const hlo_instr_t *tuple) {
  for (uint32_t u = t->users.first[tuple->id]; u < t->users.first[tuple->id + 1]; u++) {
    hlo_instr_t *user = t->users.users[u];
    if (user->op != HLO_GET_TUPLE_ELEMENT || t->member_count == MAX_MEMBERS) return false;
    add_member(t, user, NULL);
  }
  return tuple != t->rewrite->computation->root;
}

/* True if it is not fused, and its rows can be computed by themselves. */
static bool is_plain_operation(const tile_rows_t *t, const hlo_instr_t *instr) {
  bool is_computed = instr->operand_count && instr->op != HLO_TUPLE && !t->taken[instr->id];
  return is_computed && fusion_has_rows(instr->shape, t->rows) && pass_has_static_arrays(instr) &&
         pass_is_pure(instr) && fusion_keeps_rows(instr, t->rows) &&
         !(instr->extra && instr->extra->control_count);
}

/* Makes the instruction a member, with the elements of its tuple, if its rows can be computed by
 * themselves. */
static hr_status_t try_member(tile_rows_t *t, hlo_instr_t *instr, bool *out_fits) {
  uint8_t *reads;
  int64_t rows;
  *out_fits = t->number[instr->id] > 0;
  if (*out_fits || t->member_count == MAX_MEMBERS) return NULL;
  *out_fits = is_plain_operation(t, instr);
  if (*out_fits) add_member(t, instr, NULL);
  if (*out_fits || !is_plain_fusion(t, instr)) return NULL;
  HR_TRY(fusion_rows_find(&t->rewrite->scratch, instr->called[0], &rows, &reads));
  *out_fits = rows && rows == t->rows;
  if (*out_fits) add_member(t, instr, reads);
  if (*out_fits && hlo_shape_is_tuple(instr->shape)) *out_fits = add_elements(t, instr);
  return NULL;
}

static uint8_t reads_of(const member_t *member, int k) {
  const hlo_instr_t *instr = member->instr;
  if (member->reads) return member->reads[instr->called[0]->params.data[k]->id];
  return instr->op == HLO_GET_TUPLE_ELEMENT ? ROWS_OWN : fusion_row_reads(instr, k);
}

/* True if the member reads no other rows of other members than its own. */
static bool reads_own_rows(const tile_rows_t *t, const member_t *member) {
  for (int k = 0; k < member->instr->operand_count; k++)
    if (t->number[member->instr->operands[k]->id] && reads_of(member, k) & ROWS_ALL) return false;
  return true;
}

/* Makes all users of a large member members, so that it need not be in memory. */
static hr_status_t take_users(tile_rows_t *t, int m) {
  const hlo_instr_t *instr = t->members[m].instr;
  bool fits = instr != t->rewrite->computation->root;
  int before = t->member_count;
  for (uint32_t u = t->users.first[instr->id]; u < t->users.first[instr->id + 1] && fits; u++)
    HR_TRY(try_member(t, t->users.users[u], &fits));
  for (int i = 0; i < t->member_count && fits; i++) fits = reads_own_rows(t, &t->members[i]);
  if (fits) {
    t->members[m].is_result = false;
    t->spared += fuse_shape_bytes(instr->shape);
    return NULL;
  }
  while (t->member_count > before) t->number[t->members[--t->member_count].instr->id] = 0;
  return NULL;
}

/* True if no member depends on another one through an instruction that is no member. */
static bool is_closed(const tile_rows_t *t) {
  for (uint32_t i = 0; i < t->count; i++) {
    const hlo_instr_t *instr = instr_at(t, i);
    t->reached[i] = false;
    for (int k = 0; k < instr->operand_count; k++) {
      uint32_t operand = instr->operands[k]->id;
      bool is_outside = !t->number[operand] && operand < t->count && t->reached[operand];
      if (is_outside && t->number[i]) return false;
      if (is_outside || (operand < t->count && t->number[operand])) t->reached[i] = true;
    }
  }
  return true;
}

/* Bytes of operands of which rows are sliced. */
static double sliced_bytes(const tile_rows_t *t) {
  double sum = 0;
  for (int m = 0; m < t->member_count; m++) {
    const hlo_instr_t *instr = t->members[m].instr;
    for (int k = 0; k < instr->operand_count; k++)
      if (!t->number[instr->operands[k]->id] && reads_of(&t->members[m], k) & ROWS_OWN)
        sum += fuse_shape_bytes(instr->operands[k]->shape);
    if (t->members[m].is_result) sum += fuse_shape_bytes(instr->shape);
  }
  return sum;
}

/* The most rows that divide the rows and whose tiles are small enough; 0: there are none. */
static int64_t find_tile(const tile_rows_t *t) {
  double row = t->spared / (double)t->rows;
  int64_t most = (int64_t)(TILE_BYTES / row);
  if (most >= t->rows) return 0;
  while (most > 0 && t->rows % most) most--;
  return (double)most * row >= LEAST_TILE ? most : 0;
}

static int by_position(const void *a, const void *b) {
  const member_t *x = a, *y = b;
  return x->instr->id < y->instr->id ? -1 : x->instr->id > y->instr->id;
}

/* The members of a loop that spares the large array `first`; false: it does not pay. */
static hr_status_t find_members(tile_rows_t *t, hlo_instr_t *first, bool *out_found) {
  bool fits;
  for (int m = 0; m < t->member_count; m++) t->number[t->members[m].instr->id] = 0;
  t->member_count = 0;
  t->spared = 0;
  t->rows = first->shape->rank ? first->shape->dims[0] : 0;
  *out_found = false;
  HR_TRY(try_member(t, first->op == HLO_FUSION ? first : first->operands[0], &fits));
  if (!fits) return NULL;
  for (int m = 0; m < t->member_count; m++)
    if (is_large(t->members[m].instr)) HR_TRY(take_users(t, m));
  if (t->spared == 0 || sliced_bytes(t) > MOST_SLICED * t->spared || !is_closed(t)) return NULL;
  qsort(t->members, (size_t)t->member_count, sizeof *t->members, by_position);
  for (int m = 0; m < t->member_count; m++) t->number[t->members[m].instr->id] = m + 1;
  t->tile = find_tile(t);
  *out_found = t->tile > 0;
  return NULL;
}

/* --- the loop --- */

/* Element of the state that begins as `value`. */
static hr_status_t enter(tile_rows_t *t, hlo_instr_t *value, int *out_index) {
  for (size_t i = 0; i < t->inputs.count; i++)
    if (t->inputs.data[i] == value) {
      *out_index = (int)i;
      return NULL;
    }
  *out_index = (int)t->inputs.count;
  HR_VEC_PUSH(&t->inputs, value);
  HR_VEC_PUSH(&t->slices, NULL);
  return NULL;
}

/* The counter, operands from outside, and results, which begin as zeros. */
static hr_status_t find_state(tile_rows_t *t) {
  hlo_builder_t *b = &t->rewrite->builder;
  int index;
  t->inputs.count = t->slices.count = 0;
  HR_TRY(enter(t, hlo_build_number(b, 0, HR_S32), &index));
  for (int m = 0; m < t->member_count; m++) {
    const hlo_instr_t *instr = t->members[m].instr;
    for (int k = 0; k < instr->operand_count; k++)
      if (!t->number[instr->operands[k]->id])
        HR_TRY(enter(t, pass_resolve(t->rewrite, instr->operands[k]), &index));
  }
  for (int m = 0; m < t->member_count; m++) {
    if (!t->members[m].is_result) continue;
    const hlo_shape_t *shape = t->members[m].instr->shape;
    hlo_instr_t *zero = hlo_build_number(b, 0, shape->dtype);
    HR_TRY(
        enter(t, hlo_build_broadcast(b, zero, shape, (hr_ints_t){NULL, 0}), &t->members[m].state));
  }
  return b->status ? hlo_builder_finish(b) : NULL;
}

/* A computation of the loop, with the elements of its state. */
static hr_status_t begin_body(tile_rows_t *t, const char *name, const hlo_shape_t *state) {
  hlo_computation_t *computation;
  HR_TRY(hlo_computation_add(t->rewrite->computation->module, hr_str_from(name), &computation));
  t->body = hlo_builder_at(computation, t->rewrite->builder.line, t->rewrite->builder.column);
  hlo_instr_t *param = hlo_build_parameter(&t->body, 0, state);
  t->inside.count = 0;
  for (int i = 0; i < state->element_count; i++)
    HR_VEC_PUSH(&t->inside, hlo_build_element(&t->body, param, i));
  return NULL;
}

/* Operands of a dynamic slice or update: arrays, then the first row and zeros. */
static int with_start(tile_rows_t *t, int count, int rank, hlo_instr_t **operands) {
  hlo_instr_t *tile = hlo_build_number(&t->body, (double)t->tile, HR_S32);
  hlo_instr_t *zero = hlo_build_number(&t->body, 0, HR_S32);
  operands[count++] = hlo_build_binary(&t->body, HLO_MULTIPLY, t->inside.data[0], tile);
  for (int d = 1; d < rank; d++) operands[count++] = zero;
  return count;
}

static hlo_instr_t *rows_of(tile_rows_t *t, int index) {
  hlo_instr_t *x = t->inside.data[index], *operands[HLO_MAX_RANK + 1] = {x};
  int64_t sizes[HLO_MAX_RANK];
  if (!x || t->slices.data[index]) return t->slices.data[index];
  for (int d = 0; d < x->shape->rank; d++) sizes[d] = d ? x->shape->dims[d] : t->tile;
  int count = with_start(t, 1, x->shape->rank, operands);
  hlo_attr_t attr = hlo_attr_of_ints(&t->body, HLO_ATTR_DYNAMIC_SLICE_SIZES, x->shape->rank, sizes);
  t->slices.data[index] =
      hlo_build(&t->body, HLO_DYNAMIC_SLICE, NULL, count, operands, 1, &attr, 0, NULL);
  return t->slices.data[index];
}

static hr_status_t operand_of(tile_rows_t *t, const hlo_instr_t *operand, bool own,
                              hlo_instr_t **out_operand) {
  int number = t->number[operand->id], index;
  if (number) {
    *out_operand = t->members[number - 1].tile;
    return NULL;
  }
  HR_TRY(enter(t, pass_resolve(t->rewrite, (hlo_instr_t *)operand), &index));
  *out_operand = own ? rows_of(t, index) : t->inside.data[index];
  return NULL;
}

/* The tile of a fusion. */
static hr_status_t build_fusion(tile_rows_t *t, member_t *member) {
  const hlo_instr_t *instr = member->instr;
  fusion_rows_operand_t *read;
  hlo_computation_t *fused;
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(&t->rewrite->scratch, 2 * instr->operand_count + 1, &read));
  HR_TRY(HR_NEW_ARRAY(&t->rewrite->scratch, 2 * instr->operand_count + 1, &operands));
  HR_TRY(fusion_rows_clone(&t->rewrite->scratch, instr->called[0], member->reads, t->tile, &fused,
                           read));
  int count = (int)fused->params.count;
  for (int i = 0; i < count; i++)
    HR_TRY(operand_of(t, instr->operands[read[i].k], read[i].own, &operands[i]));
  member->tile = hlo_build(&t->body, HLO_FUSION, fused->root->shape, count, operands,
                           instr->attr_count, instr->attrs, 1, &fused);
  return NULL;
}

/* The tile of an operation that is not fused. */
static hr_status_t build_operation(tile_rows_t *t, member_t *member) {
  const hlo_instr_t *instr = member->instr;
  const hlo_shape_t *shape;
  hlo_instr_t **operands;
  int64_t dims[HLO_MAX_RANK];
  for (int d = 0; d < instr->shape->rank; d++) dims[d] = d ? instr->shape->dims[d] : t->tile;
  HR_TRY(hlo_shape_array(t->rewrite->arena, instr->shape->dtype, instr->shape->rank, dims, &shape));
  HR_TRY(HR_NEW_ARRAY(&t->rewrite->scratch, instr->operand_count, &operands));
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(operand_of(t, instr->operands[k], reads_of(member, k) == ROWS_OWN, &operands[k]));
  member->tile = hlo_build(&t->body, instr->op, shape, instr->operand_count, operands,
                           instr->attr_count, instr->attrs, instr->called_count, instr->called);
  return NULL;
}

/* Computes the tile of a member; of a result, puts it into its rows. */
static hr_status_t build_tile(tile_rows_t *t, member_t *member) {
  const hlo_instr_t *instr = member->instr;
  hlo_instr_t *update[HLO_MAX_RANK + 2];
  if (member->reads)
    HR_TRY(build_fusion(t, member));
  else if (instr->op != HLO_GET_TUPLE_ELEMENT)
    HR_TRY(build_operation(t, member));
  else
    member->tile =
        hlo_build_element(&t->body, t->members[t->number[instr->operands[0]->id] - 1].tile,
                          (int)hlo_attr_int(instr, HLO_ATTR_INDEX));
  if (!member->is_result || !member->tile) return NULL;
  update[0] = t->inside.data[member->state];
  update[1] = member->tile;
  int count = with_start(t, 2, instr->shape->rank, update);
  t->inside.data[member->state] =
      hlo_build(&t->body, HLO_DYNAMIC_UPDATE_SLICE, NULL, count, update, 0, NULL, 0, NULL);
  return NULL;
}

static hr_status_t end_body(tile_rows_t *t, hlo_instr_t *root, hlo_computation_t **out_body) {
  *out_body = t->body.computation;
  (*out_body)->root = root;
  return hlo_builder_finish(&t->body);
}

static hr_status_t build_called(tile_rows_t *t, const hlo_shape_t *state,
                                hlo_computation_t *called[2]) {
  HR_TRY(begin_body(t, "tile_rows.condition", state));
  hlo_instr_t *end = hlo_build_number(&t->body, (double)(t->rows / t->tile), HR_S32);
  hlo_instr_t *goes_on = hlo_build_compare(&t->body, HLO_DIRECTION_LT, t->inside.data[0], end);
  HR_TRY(end_body(t, goes_on, &called[0]));
  HR_TRY(begin_body(t, "tile_rows.body", state));
  for (int m = 0; m < t->member_count; m++) HR_TRY(build_tile(t, &t->members[m]));
  hlo_instr_t *one = hlo_build_number(&t->body, 1, HR_S32);
  t->inside.data[0] = hlo_build_binary(&t->body, HLO_ADD, t->inside.data[0], one);
  return end_body(t, hlo_build_tuple(&t->body, (int)t->inside.count, t->inside.data), &called[1]);
}

static hr_status_t build_loop(tile_rows_t *t) {
  hlo_builder_t *b = &t->rewrite->builder;
  hlo_computation_t *called[2];
  t->rewrite->position = t->members[t->member_count - 1].instr->id;
  b->line = t->members[0].instr->line;
  b->column = t->members[0].instr->column;
  HR_TRY(find_state(t));
  hlo_instr_t *tuple = hlo_build_tuple(b, (int)t->inputs.count, t->inputs.data);
  if (!tuple) return hlo_builder_finish(b);
  HR_TRY(build_called(t, tuple->shape, called));
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_CONDITION, 1),
                        hlo_attr_of_called(HLO_ATTR_BODY, 1)};
  hlo_instr_t *loop = hlo_build(b, HLO_WHILE, tuple->shape, 1, &tuple, 2, attrs, 2, called);
  for (int m = 0; m < t->member_count; m++) {
    t->taken[t->members[m].instr->id] = true;
    if (t->members[m].is_result)
      HR_TRY(pass_replace(t->rewrite, t->members[m].instr,
                          hlo_build_element(b, loop, t->members[m].state)));
  }
  return NULL;
}

/* --- the pass --- */

static hr_status_t tile_all(tile_rows_t *t) {
  hr_arena_t *arena = &t->rewrite->scratch;
  bool found;
  HR_TRY(pass_users_find(arena, t->rewrite->computation, &t->users));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->taken));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->reached));
  HR_TRY(HR_NEW_ARRAY(arena, t->count, &t->number));
  for (uint32_t i = 0; i < t->count; i++) {
    hlo_instr_t *instr = instr_at(t, i);
    if (!may_be_spared(instr) || t->taken[i]) continue;
    HR_TRY(find_members(t, instr, &found));
    if (found) HR_TRY(build_loop(t));
  }
  return NULL;
}

static bool has_candidates(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (may_be_spared(computation->instrs.data[i])) return true;
  return false;
}

static hr_status_t tile_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  if (!has_candidates(computation)) return NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  tile_rows_t t = {.rewrite = &rewrite, .count = rewrite.old_count};
  hr_status_t st = tile_all(&t);
  HR_VEC_FREE(&t.inputs);
  HR_VEC_FREE(&t.inside);
  HR_VEC_FREE(&t.slices);
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_tile_rows(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_unfused(module, tile_computation, out_changed);
}
