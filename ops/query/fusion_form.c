/* Finds the form of a fusion's body in two passes over its instructions. The pass from operands to
 * users finds values that are, or depend on, a reduction, and whether all reductions have one
 * iteration space. The pass from the roots finds at which indices each value is needed, as bits of
 * fusion_role_t, by fusion_need(). A body has the form if no value that depends on a reduction is
 * needed as a SOURCE. Roots of a loop fusion are divided into parts by their sizes and shared
 * instructions. Cost: linear in the body. */
#include "ops/query/fusion_form.h"

#include <string.h>

#include "ops/query/codegen_support.h"
#include "ops/query/index_values.h"

int64_t fusion_count(const hlo_shape_t *shape) {
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] < 0) return 0;
    if (__builtin_mul_overflow(count, shape->dims[d], &count)) return 0;
  }
  return count;
}

bool fusion_sizes_equal(const hlo_shape_t *a, const hlo_shape_t *b) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a->rank && a->dims[i] == 1) i++;
    while (j < b->rank && b->dims[j] == 1) j++;
    if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
    if (a->dims[i] != b->dims[j]) return false;
  }
}

const hlo_shape_t *fusion_root_shape(const hlo_instr_t *root) {
  return op_codegens[root->op] == CODEGEN_UPDATE ? root->operands[1]->shape : root->shape;
}

/* True if an update with constant starts writes the window that the slice reads; the slice is
 * verified, so clamping does not move them. */
static bool slices_at(const hlo_instr_t *slice, const hlo_instr_t *update) {
  const hlo_slice_t *bounds = hlo_attr_slice(slice);
  for (int d = 0; d < slice->shape->rank; d++) {
    const hlo_instr_t *start = update->operands[2 + d];
    if (start->op != HLO_CONSTANT || !start->literal || start->shape->rank) return false;
    if (bounds->dims[d].stride != 1 || op_index_at(start->literal, 0) != bounds->dims[d].start)
      return false;
  }
  return true;
}

static bool slices_dynamically_at(const hlo_instr_t *slice, const hlo_instr_t *update) {
  int starts = update->operand_count - 2;
  if (slice->operand_count - 1 != starts) return false;
  for (int k = 0; k < starts; k++)
    if (slice->operands[1 + k] != update->operands[2 + k]) return false;
  return true;
}

bool fusion_reads_updated(const hlo_instr_t *update, const hlo_instr_t *instr) {
  bool is_fixed = instr->op == HLO_SLICE && update->operand_count - 2 == update->shape->rank;
  if ((!is_fixed && instr->op != HLO_DYNAMIC_SLICE) || instr->operands[0] != update->operands[0])
    return false;
  if (!hlo_shape_same_dims(instr->shape, update->operands[1]->shape)) return false;
  return (is_fixed ? slices_at : slices_dynamically_at)(instr, update);
}

/* --- iteration spaces --- */

static void space_add(fusion_space_t *space, int64_t size, bool reduced) {
  int last = space->rank - 1;
  if (size == 1) return;
  if (last >= 0 && (space->reduced >> last & 1) == reduced) {
    space->sizes[last] *= size;
    return;
  }
  space->reduced |= (uint32_t)reduced << space->rank;
  space->sizes[space->rank++] = size;
}

static uint32_t dims_mask(hr_ints_t dims) {
  uint32_t mask = 0;
  for (int64_t i = 0; i < dims.count; i++) mask |= 1u << dims.data[i];
  return mask;
}

bool fusion_space_of(const hlo_instr_t *reduce, fusion_space_t *out_space) {
  const hlo_shape_t *shape = reduce->operands[0]->shape;
  uint32_t reduced = dims_mask(hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS));
  *out_space = (fusion_space_t){.full_count = 1, .outer_count = 1};
  for (int d = 0; d < shape->rank; d++) {
    bool is_reduced = reduced >> d & 1;
    space_add(out_space, shape->dims[d], is_reduced);
    out_space->full_count *= shape->dims[d];
    if (!is_reduced) out_space->outer_count *= shape->dims[d];
  }
  bool rows = !out_space->reduced || out_space->reduced == 1u << (out_space->rank - 1);
  out_space->kind = rows && out_space->rank <= 2 ? FUSION_ROWS : FUSION_COLUMNS;
  return out_space->full_count > 0;
}

bool fusion_space_equal(const fusion_space_t *a, const fusion_space_t *b) {
  return a->kind == b->kind && a->rank == b->rank && a->reduced == b->reduced &&
         !memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof *a->sizes);
}

/* --- indices of operands --- */

/* dims[i] is the target of dimension i of a value: true if the dimensions of more than one element
 * stay in order. */
static bool dims_ascend(const hlo_shape_t *shape, hr_ints_t dims) {
  int64_t last = -1;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == 1) continue;
    if (dims.data[i] < last) return false;
    last = dims.data[i];
  }
  return true;
}

bool fusion_keeps_order(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_RESHAPE:
    case HLO_BITCAST:
    case HLO_COPY:
      return true;
    case HLO_TRANSPOSE:
      /* The result's dimension i is the operand's dimension dims[i]. */
      return dims_ascend(instr->shape, hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS));
    case HLO_BROADCAST:
      return fusion_count(instr->shape) == fusion_count(instr->operands[0]->shape) &&
             dims_ascend(instr->operands[0]->shape, hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS));
    default:
      return false;
  }
}

/* True if a broadcast to the full sizes of rows gives each row one element of its operand. */
static bool broadcasts_rows(const fusion_space_t *space, const hlo_instr_t *instr) {
  const hlo_shape_t *in = instr->operands[0]->shape;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  if (space->kind != FUSION_ROWS || fusion_count(in) != space->outer_count ||
      !dims_ascend(in, dims))
    return false;
  uint32_t from_operand = dims_mask(dims);
  bool after_row = false;
  for (int d = 0; d < instr->shape->rank; d++) {
    if (instr->shape->dims[d] == 1) continue;
    bool mapped = from_operand >> d & 1;
    if (mapped && after_row) return false;
    after_row |= !mapped;
  }
  return true;
}

static uint8_t need_of_index(const fusion_space_t *space, const hlo_instr_t *user, uint8_t role) {
  if (fusion_keeps_order(user)) return role;
  if (user->op != HLO_BROADCAST || !(role & FUSION_FULL) || !broadcasts_rows(space, user))
    return FUSION_SOURCE;
  return (uint8_t)(FUSION_OUTER | (role == FUSION_FULL ? 0 : FUSION_SOURCE));
}

uint8_t fusion_need(const fusion_space_t *space, const hlo_instr_t *user, uint8_t role, int k) {
  if (!role) return 0;
  switch (op_codegens[user->op]) {
    case CODEGEN_ELEMENTWISE:
      return fusion_count(user->operands[k]->shape) == fusion_count(user->shape) ? role
                                                                                 : FUSION_SOURCE;
    case CODEGEN_INDEX:
      return need_of_index(space, user, role);
    case CODEGEN_REDUCE:
      return k < user->operand_count / 2 ? FUSION_FULL : FUSION_SOURCE;
    case CODEGEN_UPDATE:
      if (k == 0) return 0;
      return k == 1 ? FUSION_FULL : FUSION_SOURCE;
    default:
      return user->op == HLO_GET_TUPLE_ELEMENT ? role : 0;
  }
}

bool fusion_root_role(const fusion_space_t *space, const hlo_instr_t *root, uint8_t *out_role) {
  bool is_update = op_codegens[root->op] == CODEGEN_UPDATE;
  const hlo_shape_t *shape = fusion_root_shape(root);
  int64_t count = fusion_count(hlo_shape_is_tuple(shape) ? shape->elements[0] : shape);
  *out_role = count == space->outer_count ? FUSION_OUTER : FUSION_FULL;
  return count == space->outer_count ? !is_update : count == space->full_count;
}

/* --- forms --- */

typedef struct finder {
  hr_arena_t *arena;
  const hlo_computation_t *body;
  fusion_form_t *form;
  uint8_t *roles;
  bool *reduced;
  bool *updated; /* by id: a parameter that an update overwrites */
  bool good;
} finder_t;

static bool is_root(const finder_t *find, const hlo_instr_t *instr) {
  for (int r = 0; r < find->form->root_count; r++)
    if (find->form->roots[r] == instr) return true;
  return false;
}

/* Checks the kind of a result by its position: an array, except for a tuple at the root and the
 * results of a reduction of several operands. */
static bool is_in_place(const finder_t *find, const hlo_instr_t *instr) {
  op_codegen_t kind = op_codegens[instr->op];
  switch (instr->op) {
    case HLO_PARAMETER:
      return !hlo_shape_is_tuple(instr->shape);
    case HLO_TUPLE:
      return instr == find->body->root;
    case HLO_GET_TUPLE_ELEMENT:
      return instr->operands[0]->op == HLO_REDUCE;
    case HLO_CONSTANT:
      return true;
    default:
      return kind != CODEGEN_NONE && kind != CODEGEN_STRUCTURE;
  }
}

static void find_roots(finder_t *find) {
  hlo_instr_t *const *root = &find->body->root;
  bool tuple = (*root)->op == HLO_TUPLE;
  find->form->root_count = tuple ? (*root)->operand_count : 1;
  find->form->roots = tuple ? (*root)->operands : root;
}

/* Finds the iteration space of all reductions, which must agree. */
static void find_space(finder_t *find) {
  fusion_space_t space, *whole = &find->form->space;
  *whole = (fusion_space_t){.kind = FUSION_LOOP};
  for (size_t i = 0; i < find->body->instrs.count; i++) {
    const hlo_instr_t *instr = find->body->instrs.data[i];
    find->good &= is_in_place(find, instr);
    for (int k = 0; k < instr->operand_count; k++)
      find->reduced[i] |= find->reduced[instr->operands[k]->id];
    if (instr->op != HLO_REDUCE || !find->good) continue;
    find->reduced[i] = true;
    find->good &= fusion_space_of(instr, &space);
    if (whole->kind == FUSION_LOOP) *whole = space;
    find->good &= fusion_space_equal(whole, &space);
  }
}

static void place_roots(finder_t *find) {
  const fusion_space_t *space = &find->form->space;
  for (int r = 0; r < find->form->root_count; r++) {
    const hlo_instr_t *root = find->form->roots[r];
    uint8_t role = FUSION_FULL;
    if (space->kind != FUSION_LOOP)
      find->good &= fusion_root_role(space, root, &role);
    find->roles[root->id] |= role;
  }
}

/* Visits users before operands. */
static void place_operands(finder_t *find) {
  const fusion_space_t *space = &find->form->space;
  for (size_t i = find->body->instrs.count; i-- > 0 && find->good;) {
    const hlo_instr_t *instr = find->body->instrs.data[i];
    uint8_t role = find->roles[i];
    if (instr->op == HLO_TUPLE) continue;
    if (find->reduced[i])
      find->good &= !(role & FUSION_SOURCE) && role != (FUSION_FULL | FUSION_OUTER);
    if (instr->op == HLO_REDUCE) find->good &= !(role & FUSION_FULL);
    if (op_codegens[instr->op] == CODEGEN_UPDATE)
      find->good &= role == FUSION_FULL && is_root(find, instr);
    if (hlo_shape_is_tuple(instr->shape)) find->good &= instr->op == HLO_REDUCE;
    for (int k = 0; k < instr->operand_count; k++)
      find->roles[instr->operands[k]->id] |= fusion_need(space, instr, role, k);
  }
}

/* An update overwrites a parameter that the rest of the body does not read, or, in a loop, reads
 * only at the index that is written next. In other forms a later pass over a row might read what
 * the first one wrote. */
static bool is_good_update(const finder_t *find, const hlo_instr_t *update) {
  const hlo_instr_t *over = update->operands[0];
  if (over->op != HLO_PARAMETER || is_root(find, over)) return false;
  for (size_t i = 0; i < find->body->instrs.count; i++) {
    const hlo_instr_t *instr = find->body->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++) {
      bool reads = instr->operands[k] == over && (instr != update || k > 0);
      bool in_time = find->form->space.kind == FUSION_LOOP && find->roles[i] == FUSION_FULL;
      if (reads && (!in_time || !fusion_reads_updated(update, instr))) return false;
    }
  }
  return true;
}

/* Checks that every update is a root and no operand. */
static void check_updates(finder_t *find) {
  for (size_t i = 0; i < find->body->instrs.count; i++) {
    const hlo_instr_t *instr = find->body->instrs.data[i];
    for (int k = 0; k < instr->operand_count && instr->op != HLO_TUPLE; k++)
      find->good &= op_codegens[instr->operands[k]->op] != CODEGEN_UPDATE;
    if (op_codegens[instr->op] != CODEGEN_UPDATE) continue;
    find->good &= is_good_update(find, instr);
    find->updated[instr->operands[0]->id] = true;
  }
}

/* --- parts: roots that share instructions --- */

static int set_of(int *parents, int i) {
  while (parents[i] != i) {
    parents[i] = parents[parents[i]];
    i = parents[i];
  }
  return i;
}

static bool is_worth_sharing(const hlo_instr_t *instr) {
  return instr->operand_count && fusion_count(instr->shape) > 1 &&
         !(instr->op == HLO_BROADCAST && fusion_count(instr->operands[0]->shape) == 1);
}

static void join_sharers(const finder_t *find, int *parents) {
  for (size_t i = 0; i < find->body->instrs.count; i++) {
    const hlo_instr_t *instr = find->body->instrs.data[i];
    for (int k = 0; k < instr->operand_count && instr->op != HLO_TUPLE; k++) {
      const hlo_instr_t *operand = instr->operands[k];
      bool shared = is_worth_sharing(operand) || find->updated[operand->id];
      if (shared) parents[set_of(parents, (int)operand->id)] = set_of(parents, (int)i);
    }
  }
}

/* Roots are in one part if they are scalars that share a scalar, or arrays of equal sizes that
 * share an instruction. */
static bool are_one_part(const finder_t *find, int *parents, int a, int b) {
  const hlo_shape_t *shape = fusion_root_shape(find->form->roots[a]);
  if (!fusion_sizes_equal(shape, fusion_root_shape(find->form->roots[b]))) return false;
  return fusion_count(shape) == 1 || set_of(parents, (int)find->form->roots[a]->id) ==
                                         set_of(parents, (int)find->form->roots[b]->id);
}

/* Compares the root with the first root of each part. */
static int find_part(const finder_t *find, int *parents, const int *firsts, int count, int root) {
  for (int p = count; p-- > 0;)
    if (are_one_part(find, parents, firsts[p], root)) return p;
  return count;
}

/* True if all users of elements of the overwritten operand are in the loop that writes it. */
static bool is_read_in_time(const finder_t *find, int update_root, bool *uses) {
  const fusion_form_t *form = find->form;
  const hlo_instr_t *update = form->roots[update_root];
  for (size_t i = 0; i < find->body->instrs.count; i++) {
    const hlo_instr_t *instr = find->body->instrs.data[i];
    uses[i] = false;
    for (int k = 0; k < instr->operand_count; k++)
      uses[i] |= uses[instr->operands[k]->id] || instr->operands[k] == update->operands[0];
  }
  for (int r = 0; r < form->root_count; r++)
    if (uses[form->roots[r]->id] && form->part_of_root[r] != form->part_of_root[update_root])
      return false;
  return true;
}

static hr_status_t check_reads(finder_t *find) {
  bool *uses;
  HR_TRY(HR_NEW_ARRAY(find->arena, find->body->instrs.count, &uses));
  for (int r = 0; r < find->form->root_count; r++)
    if (op_codegens[find->form->roots[r]->op] == CODEGEN_UPDATE && !is_read_in_time(find, r, uses))
      find->form->space.kind = FUSION_NONE;
  return NULL;
}

static hr_status_t find_parts(finder_t *find) {
  fusion_form_t *form = find->form;
  int *parents, *part_of_root, *firsts;
  HR_TRY(HR_NEW_ARRAY(find->arena, find->body->instrs.count, &parents));
  HR_TRY(HR_NEW_ARRAY(find->arena, form->root_count, &part_of_root));
  HR_TRY(HR_NEW_ARRAY(find->arena, form->root_count, &firsts));
  form->part_of_root = part_of_root;
  form->part_count = form->space.kind == FUSION_LOOP ? 0 : 1;
  if (form->part_count) return NULL;
  for (size_t i = 0; i < find->body->instrs.count; i++) parents[i] = (int)i;
  join_sharers(find, parents);
  for (int r = 0; r < form->root_count; r++) {
    part_of_root[r] = find_part(find, parents, firsts, form->part_count, r);
    if (part_of_root[r] == form->part_count) firsts[form->part_count++] = r;
  }
  return check_reads(find);
}

hr_status_t fusion_form_find(hr_arena_t *arena, const hlo_computation_t *body,
                             fusion_form_t *out_form) {
  finder_t find = {.arena = arena, .body = body, .form = out_form, .good = true};
  *out_form = (fusion_form_t){0};
  HR_TRY(HR_NEW_ARRAY(arena, body->instrs.count, &find.roles));
  HR_TRY(HR_NEW_ARRAY(arena, body->instrs.count, &find.reduced));
  HR_TRY(HR_NEW_ARRAY(arena, body->instrs.count, &find.updated));
  out_form->roles = find.roles;
  out_form->reduced = find.reduced;
  find_roots(&find);
  find_space(&find);
  if (find.good) place_roots(&find);
  if (find.good) place_operands(&find);
  if (find.good) check_updates(&find);
  if (find.good && out_form->root_count) return find_parts(&find);
  out_form->space.kind = FUSION_NONE;
  return NULL;
}
