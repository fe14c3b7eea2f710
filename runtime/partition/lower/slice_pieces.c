/* Slices of padded arrays as pieces of the arrays themselves. Padding by elements of the array
 * (jnp.pad's modes wrap, edge, reflect) is a concatenation, whose parts are larger than those of
 * the array, so that each part would move to make it, and again for each slice:
 *
 *   p = concatenate(x[63:64], x, x[0:1])          a = p[0:64] = concatenate(x[63:64], x[0:63])
 *   a = p[0:64]    b = p[1:65]             ->     b = p[1:65] = x
 *
 * A roll or a window that takes a few elements of its neighbours is left. Concatenations inside of
 * others and slices inside of slices are followed; padding of several dimensions takes a round for
 * each. */
#include "partition/lower/slice_pieces.h"

#include "base/arith.h"
#include "ops/rules/builder.h"
#include "partition/lower/fetch_window.h"
#include "passes/lib/pass_rewrite.h"

#define MAX_ROUNDS 8    /* most dimensions that are padded one after the other */
#define PADDING_SHARE 4 /* the padded array is at least so many times larger than the padding */
#define MAX_ELEMENTS 4  /* most elements of which each is a piece */
#define MAX_DEPTH 16    /* most concatenations and slices inside of each other */

typedef struct piece { /* elements [start, limit) of an array along a dimension */
  hlo_instr_t *source;
  int64_t start, limit;
} piece_t;
typedef HR_VEC(piece_t) pieces_t;

typedef struct resolver { /* one computation */
  spmd_program_t *program;
  hlo_computation_t *computation;
  hr_arena_t scratch;
  uint32_t count;             /* instructions before a round */
  uint32_t *uses;             /* by id: by live instructions */
  uint32_t *slices;           /* by id: those uses that are slices of a range along the dimension */
  bool *only_sliced;          /* by id: padded arrays that nothing but such slices use */
  hlo_instr_t **replacements; /* by id: what replaces a slice */
  size_t *new_begin; /* by id: the first new instruction for a slice, of those until new_end */
  size_t *new_end;
} resolver_t;

static int concatenated_dim(const hlo_instr_t *concatenation) {
  return (int)hlo_attr_ints(concatenation, HLO_ATTR_DIMENSIONS).data[0];
}

/* True for an array with a little at its ends. */
static bool is_padding(const hlo_instr_t *instr) {
  int64_t largest = 0;
  if (instr->op != HLO_CONCATENATE) return false;
  int d = concatenated_dim(instr);
  for (int k = 0; k < instr->operand_count; k++)
    largest = hr_max(largest, instr->operands[k]->shape->dims[d]);
  return largest / PADDING_SHARE >= instr->shape->dims[d] - largest;
}

static bool is_cut(const resolver_t *resolver, const hlo_instr_t *instr) {
  spmd_value_t **values = resolver->program->computations[resolver->computation->id].values;
  const spmd_sharding_t *sharding = values[instr->id] ? values[instr->id][0].sharding : NULL;
  return sharding && !spmd_sharding_is_replicated(sharding);
}

static bool is_only_sliced(const resolver_t *resolver, const hlo_instr_t *instr) {
  return resolver->uses[instr->id] && resolver->slices[instr->id] == resolver->uses[instr->id] &&
         is_padding(instr) && is_cut(resolver, instr);
}

/* True for a slice that leaves out elements at the ends of a concatenation. One that takes all
 * along the dimension would need the same pieces again. */
static bool takes_range(const hlo_instr_t *slice, const hlo_instr_t *concatenation) {
  int d = concatenated_dim(concatenation);
  return hlo_attr_slice(slice)->dims[d].stride == 1 &&
         slice->shape->dims[d] < concatenation->shape->dims[d];
}

static void count_operands(resolver_t *resolver, const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *x = instr->operands[k];
    resolver->uses[x->id]++;
    if (instr->op == HLO_SLICE && x->op == HLO_CONCATENATE)
      resolver->slices[x->id] += takes_range(instr, x);
  }
}

static hr_status_t begin_round(resolver_t *resolver) {
  const hlo_computation_t *computation = resolver->computation;
  hr_arena_t *scratch = &resolver->scratch;
  resolver->count = (uint32_t)computation->instrs.count;
  HR_TRY(HR_NEW_ARRAY(scratch, resolver->count, &resolver->uses));
  HR_TRY(HR_NEW_ARRAY(scratch, resolver->count, &resolver->slices));
  HR_TRY(HR_NEW_ARRAY(scratch, resolver->count, &resolver->only_sliced));
  HR_TRY(HR_NEW_ARRAY(scratch, resolver->count, &resolver->replacements));
  HR_TRY(HR_NEW_ARRAY(scratch, resolver->count, &resolver->new_begin));
  HR_TRY(HR_NEW_ARRAY(scratch, resolver->count, &resolver->new_end));
  resolver->uses[computation->root->id]++;
  for (uint32_t i = resolver->count; i-- > 0;) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (resolver->uses[i] || pass_must_stay(instr)) count_operands(resolver, instr);
    resolver->only_sliced[i] = is_only_sliced(resolver, instr);
  }
  return NULL;
}

/* --- pieces --- */

/* The array of one element along d that is repeated along it; NULL: none. A broadcast puts a
 * dimension beside d, and a reshape makes one of both (jnp.repeat). */
static hlo_instr_t *repeated(const hlo_instr_t *instr, int d) {
  const hlo_instr_t *rows = instr->op == HLO_RESHAPE ? instr->operands[0] : NULL;
  hlo_instr_t *x = rows && rows->op == HLO_BROADCAST ? rows->operands[0] : NULL;
  if (!x || x->shape->rank != instr->shape->rank || rows->shape->rank != x->shape->rank + 1)
    return NULL;
  hr_ints_t dims = hlo_attr_ints(rows, HLO_ATTR_DIMENSIONS);
  bool is_after = dims.data[d] == d; /* the new dimension comes after d */
  for (int i = 0; i < x->shape->rank; i++) {
    int64_t size = x->shape->dims[i], to = i < d + is_after ? i : i + 1;
    if (dims.data[i] != to || rows->shape->dims[to] != size ||
        (i == d ? size != 1 : size != instr->shape->dims[i]))
      return NULL;
  }
  return x;
}

/* True for an array whose first elements along d are the last ones of another one. */
static bool is_reversed(const hlo_instr_t *instr, int d) {
  if (instr->op != HLO_REVERSE) return false;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  return dims.count == 1 && dims.data[0] == d;
}

static hr_status_t add_pieces(pieces_t *pieces, hlo_instr_t *x, int d, piece_t range, int depth);

static hr_status_t add_operands(pieces_t *pieces, hlo_instr_t *x, int d, piece_t range, int depth) {
  int64_t at = 0;
  for (int k = 0; k < x->operand_count; k++) {
    int64_t size = x->operands[k]->shape->dims[d];
    piece_t part = {NULL, hr_max(range.start - at, 0), hr_min(range.limit - at, size)};
    HR_TRY(add_pieces(pieces, x->operands[k], d, part, depth));
    at += size;
  }
  return NULL;
}

/* The elements one by one: those of a reversal, in their order again, or the repeated one. */
static hr_status_t add_elements(pieces_t *pieces, hlo_instr_t *x, int d, piece_t range, int depth) {
  hlo_instr_t *one = repeated(x, d);
  for (int64_t i = range.start; i < range.limit; i++) {
    int64_t at = one ? 0 : x->shape->dims[d] - 1 - i;
    HR_TRY(add_pieces(pieces, one ? one : x->operands[0], d, (piece_t){NULL, at, at + 1}, depth));
  }
  return NULL;
}

/* Appends a range of x, or of what x takes it from. */
static hr_status_t add_pieces(pieces_t *pieces, hlo_instr_t *x, int d, piece_t range, int depth) {
  piece_t *last = pieces->count ? &pieces->data[pieces->count - 1] : NULL;
  if (range.start >= range.limit) return NULL;
  if (depth && is_padding(x) && concatenated_dim(x) == d)
    return add_operands(pieces, x, d, range, depth - 1);
  if (depth && (is_reversed(x, d) || repeated(x, d)) && range.limit - range.start <= MAX_ELEMENTS)
    return add_elements(pieces, x, d, range, depth - 1);
  if (depth && x->op == HLO_SLICE && spmd_run_dim(x) == d) {
    int64_t start = hlo_attr_slice(x)->dims[d].start;
    piece_t part = {NULL, range.start + start, range.limit + start};
    return add_pieces(pieces, x->operands[0], d, part, depth - 1);
  }
  if (last && last->source == x && last->limit == range.start)
    last->limit = range.limit;
  else
    HR_VEC_PUSH(pieces, ((piece_t){x, range.start, range.limit}));
  return NULL;
}

/* The piece along d, and along the other dimensions what the slice takes. */
static hr_status_t slice_piece(resolver_t *resolver, hlo_builder_t *b, const hlo_instr_t *slice,
                               int d, const piece_t *piece, hlo_instr_t **out_x) {
  const hlo_slice_t *like = hlo_attr_slice(slice);
  hlo_instr_t *x = piece->source;
  hlo_slice_dim_t *dims;
  hlo_slice_t *taken;
  bool all = true;
  HR_TRY(HR_NEW_ARRAY(resolver->program->arena, like->rank, &dims));
  HR_TRY(HR_NEW(resolver->program->arena, &taken));
  for (int i = 0; i < like->rank; i++) {
    dims[i] = i == d ? (hlo_slice_dim_t){piece->start, piece->limit, 1} : like->dims[i];
    all &= dims[i].start == 0 && dims[i].limit == x->shape->dims[i] && dims[i].stride == 1;
  }
  *taken = (hlo_slice_t){like->rank, dims};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = taken};
  *out_x = all ? x : hlo_build(b, HLO_SLICE, NULL, 1, &x, 1, &attr, 0, NULL);
  return b->status ? hlo_builder_finish(b) : NULL;
}

static hr_status_t build_pieces(resolver_t *resolver, const hlo_instr_t *slice, int d,
                                const pieces_t *pieces) {
  hlo_builder_t b = hlo_builder_at(resolver->computation, slice->line, slice->column);
  int64_t dim = d;
  int count = (int)pieces->count;
  hlo_instr_t **parts;
  resolver->new_begin[slice->id] = resolver->computation->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&resolver->scratch, count, &parts));
  for (int k = 0; k < count; k++)
    HR_TRY(slice_piece(resolver, &b, slice, d, &pieces->data[k], &parts[k]));
  hlo_attr_t attr = hlo_attr_of_ints(&b, HLO_ATTR_DIMENSIONS, 1, &dim);
  hlo_instr_t *x = parts[0];
  if (count > 1) x = hlo_build(&b, HLO_CONCATENATE, NULL, count, parts, 1, &attr, 0, NULL);
  resolver->replacements[slice->id] = x;
  resolver->new_end[slice->id] = resolver->computation->instrs.count;
  return hlo_builder_finish(&b);
}

static hr_status_t replace_slice(resolver_t *resolver, const hlo_instr_t *slice) {
  int d = concatenated_dim(slice->operands[0]);
  const hlo_slice_dim_t *dim = &hlo_attr_slice(slice)->dims[d];
  pieces_t pieces = {0};
  hr_status_t st = add_pieces(&pieces, slice->operands[0], d,
                              (piece_t){NULL, dim->start, dim->limit}, MAX_DEPTH);
  if (!st && pieces.count) st = build_pieces(resolver, slice, d, &pieces);
  HR_VEC_FREE(&pieces);
  return st;
}

/* --- the computation with the pieces --- */

static hlo_instr_t *replaced(const resolver_t *resolver, hlo_instr_t *instr) {
  while (instr->id < resolver->count && resolver->replacements[instr->id])
    instr = resolver->replacements[instr->id];
  return instr;
}

/* What the program knows by instruction: order[i] is the one that becomes instruction i, whose
 * facts are those of the instruction like[i]. */
static hr_status_t renumber(resolver_t *resolver, hlo_instr_t *const *order, const uint32_t *like,
                            size_t count) {
  hr_arena_t *arena = resolver->program->arena;
  spmd_computation_t *here = &resolver->program->computations[resolver->computation->id],
                     next = *here;
  const spmd_mesh_t *const **placements = NULL;
  HR_TRY(HR_NEW_ARRAY(arena, count, &next.values));
  HR_TRY(HR_NEW_ARRAY(arena, count, &next.callers));
  if (here->placements) HR_TRY(HR_NEW_ARRAY(arena, count, &placements));
  for (size_t i = 0; i < count; i++) {
    next.values[i] = here->values[like[i]];
    if (here->callers) next.callers[i] = here->callers[like[i]];
    if (placements) placements[i] = here->placements[like[i]];
  }
  next.placements = placements;
  next.borders = NULL; /* read before propagation only */
  *here = next;
  for (size_t i = 0; i < count; i++) {
    resolver->computation->instrs.data[i] = order[i];
    order[i]->id = (uint32_t)i;
  }
  return NULL;
}

/* Puts new instructions where their slices are, which are dropped. */
static hr_status_t finish_round(resolver_t *resolver) {
  hlo_computation_t *computation = resolver->computation;
  size_t all = computation->instrs.count, kept = 0;
  hlo_instr_t **order;
  uint32_t *like;
  HR_TRY(HR_NEW_ARRAY(&resolver->scratch, all, &order));
  HR_TRY(HR_NEW_ARRAY(&resolver->scratch, all, &like));
  for (size_t i = 0; i < all; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++)
      instr->operands[k] = replaced(resolver, instr->operands[k]);
  }
  computation->root = replaced(resolver, computation->root);
  for (uint32_t i = 0; i < resolver->count; i++) {
    for (size_t k = resolver->new_begin[i]; k < resolver->new_end[i]; k++) {
      like[kept] = i;
      order[kept++] = computation->instrs.data[k];
    }
    if (resolver->replacements[i]) continue;
    like[kept] = i;
    order[kept++] = computation->instrs.data[i];
  }
  HR_TRY(renumber(resolver, order, like, kept));
  computation->instrs.count = kept;
  return NULL;
}

/* Replaces the slices of all padded arrays that are used by nothing else. */
static hr_status_t run_round(resolver_t *resolver, bool *out_changed) {
  *out_changed = false;
  HR_TRY(begin_round(resolver));
  for (uint32_t i = 0; i < resolver->count; i++) {
    const hlo_instr_t *instr = resolver->computation->instrs.data[i];
    if (instr->op != HLO_SLICE || !resolver->uses[i] ||
        !resolver->only_sliced[instr->operands[0]->id])
      continue;
    HR_TRY(replace_slice(resolver, instr));
    *out_changed |= resolver->replacements[i] != NULL;
  }
  return *out_changed ? finish_round(resolver) : NULL;
}

hr_status_t spmd_slice_pieces(spmd_program_t *program) {
  hlo_module_t *module = program->module;
  hr_status_t st = NULL;
  for (size_t c = 0; c < module->computations.count && !st; c++) {
    resolver_t resolver = {.program = program, .computation = module->computations.data[c]};
    bool changed = true;
    hr_arena_init(&resolver.scratch);
    for (int round = 0; round < MAX_ROUNDS && changed && !st; round++)
      st = run_round(&resolver, &changed);
    hr_arena_deinit(&resolver.scratch);
  }
  return st;
}
