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

#include "ops/rules/builder.h"
#include "partition/lower/array_runs.h"
#include "passes/lib/pass_rewrite.h"

#define MAX_ROUNDS 8   /* most dimensions that are padded one after the other */
#define MAX_ELEMENTS 4 /* most elements of which each is a piece */

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

static bool is_cut(const resolver_t *resolver, const hlo_instr_t *instr) {
  spmd_value_t **values = resolver->program->computations[resolver->computation->id].values;
  const spmd_sharding_t *sharding = values[instr->id] ? values[instr->id][0].sharding : NULL;
  return sharding && !spmd_sharding_is_replicated(sharding);
}

static bool is_only_sliced(const resolver_t *resolver, const hlo_instr_t *instr) {
  return resolver->uses[instr->id] && resolver->slices[instr->id] == resolver->uses[instr->id] &&
         spmd_is_padding(instr) && is_cut(resolver, instr);
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

/* `count` elements of x along d, and along the other dimensions what the slice takes. */
static hr_status_t slice_piece(resolver_t *resolver, hlo_builder_t *b, const hlo_instr_t *slice,
                               int d, hlo_instr_t *x, int64_t from, int64_t count,
                               hlo_instr_t **out_x) {
  const hlo_slice_t *like = hlo_attr_slice(slice);
  hlo_slice_dim_t *dims;
  hlo_slice_t *taken;
  bool all = true;
  HR_TRY(HR_NEW_ARRAY(resolver->program->arena, like->rank, &dims));
  HR_TRY(HR_NEW(resolver->program->arena, &taken));
  for (int i = 0; i < like->rank; i++) {
    dims[i] = i == d ? (hlo_slice_dim_t){from, from + count, 1} : like->dims[i];
    all &= dims[i].start == 0 && dims[i].limit == x->shape->dims[i] && dims[i].stride == 1;
  }
  *taken = (hlo_slice_t){like->rank, dims};
  hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = taken};
  *out_x = all ? x : hlo_build(b, HLO_SLICE, NULL, 1, &x, 1, &attr, 0, NULL);
  return b->status ? hlo_builder_finish(b) : NULL;
}

/* Number of pieces of a run: a reversal and a repetition have their elements one by one. */
static int64_t piece_count(const spmd_run_t *run) { return run->step == 1 ? 1 : run->count; }

static hr_status_t slice_runs(resolver_t *resolver, hlo_builder_t *b, const hlo_instr_t *slice,
                              int d, const spmd_runs_t *runs, hlo_instr_t **parts) {
  for (size_t r = 0; r < runs->count; r++) {
    const spmd_run_t *run = &runs->data[r];
    int64_t pieces = piece_count(run), size = run->count / pieces;
    for (int64_t i = 0; i < pieces; i++)
      HR_TRY(slice_piece(resolver, b, slice, d, run->source, run->from + i * run->step, size,
                         parts++));
  }
  return NULL;
}

static hr_status_t build_pieces(resolver_t *resolver, const hlo_instr_t *slice, int d,
                                const spmd_runs_t *runs) {
  hlo_builder_t b = hlo_builder_at(resolver->computation, slice->line, slice->column);
  int64_t dim = d, count = 0;
  hlo_instr_t **parts;
  for (size_t r = 0; r < runs->count; r++) count += piece_count(&runs->data[r]);
  resolver->new_begin[slice->id] = resolver->computation->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&resolver->scratch, count, &parts));
  HR_TRY(slice_runs(resolver, &b, slice, d, runs, parts));
  hlo_attr_t attr = hlo_attr_of_ints(&b, HLO_ATTR_DIMENSIONS, 1, &dim);
  hlo_instr_t *x = parts[0];
  if (count > 1) x = hlo_build(&b, HLO_CONCATENATE, NULL, (int)count, parts, 1, &attr, 0, NULL);
  resolver->replacements[slice->id] = x;
  resolver->new_end[slice->id] = resolver->computation->instrs.count;
  return hlo_builder_finish(&b);
}

static hr_status_t replace_slice(resolver_t *resolver, const hlo_instr_t *slice) {
  int d = concatenated_dim(slice->operands[0]);
  const hlo_slice_dim_t *dim = &hlo_attr_slice(slice)->dims[d];
  spmd_run_rules_t rules = {.paddings_only = true, .longest = MAX_ELEMENTS};
  spmd_runs_t runs = {0};
  hr_status_t st =
      spmd_add_runs(&runs, slice->operands[0], d, dim->start, dim->limit - dim->start, &rules);
  spmd_join_runs(&runs);
  if (!st && runs.count) st = build_pieces(resolver, slice, d, &runs);
  HR_VEC_FREE(&runs);
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
