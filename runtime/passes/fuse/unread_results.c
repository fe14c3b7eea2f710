/* Results of fusions that nobody reads are dropped, so that they are neither stored nor given
 * memory: tile_products.c leaves such, as tiles compute again what fits into a cache. The body is
 * copied, as tiles call it, too. Cost: linear. */
#include "ops/query/codegen_support.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

typedef struct dropper {
  pass_rewrite_t rewrite;
  pass_users_t users;
} dropper_t;

/* True for fusions of generated code whose results are elements of a tuple. */
static bool may_drop(const hlo_instr_t *fusion) {
  if (fusion->op != HLO_FUSION || !hlo_shape_is_tuple(fusion->shape)) return false;
  if (hlo_attr_enum(fusion, HLO_ATTR_KIND) == HLO_FUSION_KIND_CUSTOM) return false;
  return fusion->called[0]->root->op == HLO_TUPLE;
}

/* Finds the new number of each result, -1 for those that nobody reads. Returns how many are read;
 * 0: all of them, or the tuple itself. */
static int number_results(const dropper_t *dropper, const hlo_instr_t *fusion, int *numbers) {
  int count = fusion->shape->element_count, read = 0;
  const pass_users_t *users = &dropper->users;
  if (dropper->rewrite.computation->root == fusion) return 0;
  for (int e = 0; e < count; e++) numbers[e] = -1;
  for (uint32_t u = users->first[fusion->id]; u < users->first[fusion->id + 1]; u++) {
    const hlo_instr_t *user = users->users[u];
    if (user->op != HLO_GET_TUPLE_ELEMENT) return 0;
    numbers[hlo_attr_int(user, HLO_ATTR_INDEX)] = 0;
  }
  for (int e = 0; e < count; e++)
    if (!numbers[e]) numbers[e] = read++;
  return read < count ? read : 0;
}

/* Copies all instructions but the root. */
static hr_status_t copy_instrs(hr_arena_t *arena, const hlo_computation_t *from,
                               hlo_computation_t *to, hlo_instr_t **copies) {
  for (size_t i = 0; i < from->instrs.count; i++) {
    const hlo_instr_t *instr = from->instrs.data[i];
    hlo_instr_t **operands;
    if (instr == from->root) continue;
    HR_TRY(HR_NEW_ARRAY(arena, instr->operand_count, &operands));
    for (int k = 0; k < instr->operand_count; k++) operands[k] = copies[instr->operands[k]->id];
    hlo_instr_def_t def = hlo_instr_def_of(instr, operands);
    HR_TRY(hlo_instr_create(to, &def, &copies[i]));
    HR_TRY(hlo_instr_append(copies[i]));
  }
  return NULL;
}

/* Makes a copy of a body that has only the results with a number. */
static hr_status_t shorten_body(hr_arena_t *arena, const hlo_computation_t *from,
                                const int *numbers, int read, hlo_computation_t **out_body) {
  hlo_instr_t **copies, **results;
  hlo_computation_t *body;
  HR_TRY(HR_NEW_ARRAY(arena, from->instrs.count, &copies));
  HR_TRY(HR_NEW_ARRAY(arena, read, &results));
  HR_TRY(hlo_computation_add(from->module, from->name, &body));
  body->is_fusion = true;
  HR_TRY(copy_instrs(arena, from, body, copies));
  for (int e = 0; e < from->root->operand_count; e++)
    if (numbers[e] >= 0) results[numbers[e]] = copies[from->root->operands[e]->id];
  hlo_builder_t b = hlo_builder_at(body, from->root->line, from->root->column);
  body->root = read == 1 ? results[0] : hlo_build_tuple(&b, read, results);
  HR_TRY(hlo_builder_finish(&b));
  *out_body = body;
  return pass_remove_dead(body);
}

static hr_status_t replace_elements(dropper_t *dropper, const hlo_instr_t *fusion,
                                    hlo_instr_t *shorter, const int *numbers) {
  const pass_users_t *users = &dropper->users;
  bool is_tuple = hlo_shape_is_tuple(shorter->shape);
  for (uint32_t u = users->first[fusion->id]; u < users->first[fusion->id + 1]; u++) {
    hlo_instr_t *user = users->users[u], *result = shorter;
    if (is_tuple)
      result = hlo_build_element(&dropper->rewrite.builder, shorter,
                                 numbers[hlo_attr_int(user, HLO_ATTR_INDEX)]);
    HR_TRY(pass_replace(&dropper->rewrite, user, result));
  }
  return NULL;
}

/* The fusion stays if a shorter one has no form of generated code. */
static hr_status_t drop_results(dropper_t *dropper, const hlo_instr_t *fusion) {
  int *numbers;
  hlo_computation_t *body;
  hlo_builder_t *builder = &dropper->rewrite.builder;
  hr_arena_t *scratch = &dropper->rewrite.scratch;
  HR_TRY(HR_NEW_ARRAY(scratch, fusion->shape->element_count, &numbers));
  int read = number_results(dropper, fusion, numbers);
  if (!read) return NULL;
  HR_TRY(shorten_body(scratch, fusion->called[0], numbers, read, &body));
  hlo_instr_t *shorter = hlo_build(builder, HLO_FUSION, body->root->shape, fusion->operand_count,
                                   fusion->operands, fusion->attr_count, fusion->attrs, 1, &body);
  if (!shorter) return hlo_builder_finish(builder);
  shorter->name = fusion->name;
  return op_can_codegen(shorter) ? replace_elements(dropper, fusion, shorter, numbers) : NULL;
}

static hr_status_t drop_all(dropper_t *dropper) {
  pass_rewrite_t *rewrite = &dropper->rewrite;
  HR_TRY(pass_users_find(&rewrite->scratch, rewrite->computation, &dropper->users));
  for (uint32_t i = 0; i < rewrite->old_count; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(rewrite, i);
    if (instr && may_drop(instr)) HR_TRY(drop_results(dropper, instr));
  }
  return NULL;
}

static hr_status_t drop_from(hlo_computation_t *computation, bool *out_changed) {
  dropper_t dropper;
  HR_TRY(pass_rewrite_begin(&dropper.rewrite, computation));
  hr_status_t st = drop_all(&dropper);
  *out_changed |= dropper.rewrite.changed;
  return pass_rewrite_end(&dropper.rewrite, st);
}

hr_status_t pass_unread_results(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_unfused(module, drop_from, out_changed);
}
