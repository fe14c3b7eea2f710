/* Vectors of i1 for processors without mask registers: each becomes a vector of integers whose
 * lanes are all ones or all zeros, with the width of the elements that were compared.
 *
 *     <8 x i1>  = fcmp <8 x float>     ->  <8 x i32> = fcmp <8 x float>
 *     select <8 x i1>, <8 x double>    ->  select (sext <8 x i32> to <8 x i64>), <8 x double>
 *
 * Comparisons and selects with such operands are what the selector has instructions for; logic of
 * masks becomes logic of integers. Users of another width get the mask extended or truncated. A
 * value without a width of its own (a splat, a phi) has that of a user. After this pass no value is
 * a vector of i1, so that all later phases know only two classes of registers. */
#include "jit/x64/x64_code.h"

#define WIDTH_WITHOUT_USER 32

typedef struct masks {
  x64_code_t *code;
  kir_module_t *module;
  kir_builder_t *builder;
  kir_replacements_t replacements;
  bool *was_mask;        /* by id of the original values */
  unsigned char *wanted; /* bits of an element of a user, by id of the mask; 0: unknown */
} masks_t;

static bool is_mask(const kir_type_t *type) { return kir_is_vector(type) && kir_is_i1(type); }

static kir_type_t *mask_type(const kir_type_t *like, unsigned bits) {
  return kir_vector_type(kir_int_type(like->module, bits), like->lanes);
}

/* --- widths ----------------------------------------------------------------------------------- */

/* Index of the mask among the operands; -1: none. */
static int mask_operand(kir_op_t op) {
  switch (op) {
    case KIR_SELECT:
      return 0;
    case KIR_MASKED_LOAD:
    case KIR_GATHER:
      return 2;
    case KIR_MASKED_STORE:
    case KIR_SCATTER:
      return 3;
    default:
      return -1;
  }
}

/* Bits of the elements that a masked operation selects. */
static unsigned masked_bits(const kir_value_t *user) {
  return kir_has_result(user) ? user->type->bits : user->args[0]->type->bits;
}

static bool was_mask(const masks_t *m, const kir_value_t *value) {
  return is_mask(value->type) || (value->id < m->replacements.count && m->was_mask[value->id]);
}

/* Tells the operands of an instruction which width it wants. */
static void want_widths(masks_t *m, const kir_value_t *user) {
  bool is_made = is_mask(user->type) && user->op != KIR_PHI;
  for (int k = 0; k < user->arg_count; k++) {
    const kir_value_t *mask = user->args[k];
    if (!is_mask(mask->type) || !mask->id || mask->id >= m->replacements.count) continue;
    unsigned bits = is_made ? m->wanted[user->id] : 0;
    if (k == mask_operand(user->op)) bits = masked_bits(user);
    if (user->op == KIR_ZEXT || user->op == KIR_SEXT) bits = user->type->bits;
    if (bits) m->wanted[mask->id] = (unsigned char)bits;
  }
}

/* Users come after their operands, but for those of phis. */
static void find_masks(masks_t *m) {
  for (int b = m->code->cfg.block_count; b-- > 0;)
    for (const kir_value_t *instr = m->code->cfg.order[b]->last; instr; instr = instr->prev) {
      m->was_mask[instr->id] = is_mask(instr->type);
      want_widths(m, instr);
    }
}

static unsigned wanted_bits(const masks_t *m, const kir_value_t *value) {
  return m->wanted[value->id] ? m->wanted[value->id] : WIDTH_WITHOUT_USER;
}

/* --- values ----------------------------------------------------------------------------------- */

/* The mask with lanes of `bits` bits. */
static kir_value_t *with_width(masks_t *m, kir_value_t *mask, unsigned bits) {
  kir_type_t *type = mask_type(mask->type, bits);
  if (mask->type == type) return mask;
  if (!kir_is_constant(mask)) return kir_int_cast(m->builder, mask, type, true);
  if (mask->is_poison) return kir_poison(type);
  uint64_t lanes[KIR_LANES_MAX];
  for (unsigned i = 0; i < type->lanes; i++)
    lanes[i] = (uint64_t)kir_sign_extend(mask->lanes[i], mask->type->bits);
  return kir_constant(type, lanes);
}

static void replace(masks_t *m, kir_value_t *instr, kir_value_t *by) {
  m->replacements.of[instr->id] = by;
  kir_unlink(instr);
}

/* The lowest bit of each lane. */
static kir_value_t *truncate(masks_t *m, kir_value_t *value) {
  kir_value_t *one = kir_splat_constant(value->type, 1);
  kir_value_t *args[] = {kir_and(m->builder, value, one), one};
  return kir_build(m->builder, KIR_ICMP, mask_type(value->type, value->type->bits), KIR_ICMP_EQ,
                   args, 2);
}

static kir_value_t *extend(masks_t *m, const kir_value_t *instr) {
  kir_value_t *all = with_width(m, instr->args[0], instr->type->bits);
  if (instr->op == KIR_SEXT) return all;
  return kir_and(m->builder, all, kir_splat_constant(instr->type, 1));
}

/* Logic on masks has the width of the first operand that is no constant. */
static void change_logic(masks_t *m, kir_value_t *instr) {
  const kir_value_t *first = instr->args[kir_is_constant(instr->args[0]) ? 1 : 0];
  for (int k = 0; k < 2; k++) instr->args[k] = with_width(m, instr->args[k], first->type->bits);
  instr->type = first->type;
}

static void change_shuffle(masks_t *m, kir_value_t *instr) {
  const kir_value_t *first = instr->args[kir_is_constant(instr->args[0]) ? 1 : 0];
  unsigned bits = kir_is_constant(first) ? wanted_bits(m, instr) : first->type->bits;
  for (int k = 0; k < 2; k++) instr->args[k] = with_width(m, instr->args[k], bits);
  instr->type = mask_type(instr->type, bits);
}

/* A bit that is inserted is extended in a general register. */
static void change_insertion(masks_t *m, kir_value_t *instr) {
  const kir_value_t *into = instr->args[0];
  unsigned bits = kir_is_constant(into) ? wanted_bits(m, instr) : into->type->bits;
  instr->args[0] = with_width(m, instr->args[0], bits);
  instr->args[1] = kir_sext(m->builder, instr->args[1], kir_int_type(m->module, bits));
  instr->type = mask_type(instr->type, bits);
}

static kir_value_t *extract(masks_t *m, kir_value_t *instr) {
  kir_value_t *lane = kir_extract(m->builder, instr->args[0], instr->args[1]);
  return kir_trunc(m->builder, lane, instr->type);
}

/* A phi may come before its arguments: find_phi_arguments gives it those. */
static void change_phi(masks_t *m, kir_value_t *phi) {
  phi->type = mask_type(phi->type, wanted_bits(m, phi));
}

static void find_phi_arguments(masks_t *m, kir_value_t *phi) {
  for (int a = 0; a < phi->arg_count; a++) {
    kir_value_t *value = kir_replaced(&m->replacements, phi->args[a]);
    kir_position_before(m->builder, phi->blocks[a]->last);
    phi->args[a] =
        value->type->bits == phi->type->bits ? value : with_width(m, value, phi->type->bits);
  }
}

/* --- the pass --------------------------------------------------------------------------------- */

/* An instruction whose result is a vector of i1. */
static void change_mask(masks_t *m, kir_value_t *instr) {
  switch (instr->op) {
    case KIR_ICMP:
    case KIR_FCMP:
      instr->type = mask_type(instr->type, instr->args[0]->type->bits);
      return;
    case KIR_TRUNC:
      replace(m, instr, truncate(m, instr->args[0]));
      return;
    case KIR_AND:
    case KIR_OR:
    case KIR_XOR:
      change_logic(m, instr);
      return;
    case KIR_SHUFFLE:
      change_shuffle(m, instr);
      return;
    case KIR_INSERT:
      change_insertion(m, instr);
      return;
    case KIR_PHI:
      change_phi(m, instr);
      return;
    default:
      m->code->unsupported = "such a mask";
  }
}

/* An instruction that reads a mask: `k` is its operand. */
static void change_user(masks_t *m, kir_value_t *instr, int k) {
  if (instr->op == KIR_ZEXT || instr->op == KIR_SEXT) {
    replace(m, instr, extend(m, instr));
  } else if (instr->op == KIR_EXTRACT) {
    replace(m, instr, extract(m, instr));
  } else if (k == mask_operand(instr->op)) {
    instr->args[k] = with_width(m, instr->args[k], masked_bits(instr));
  } else if (instr->op != KIR_REDUCE_OR) {
    m->code->unsupported = "such a use of a mask";
  }
}

static void change_instr(masks_t *m, kir_value_t *instr) {
  bool reads[8] = {false};
  bool makes = is_mask(instr->type);
  for (int k = 0; k < instr->arg_count && k < 8 && instr->op != KIR_PHI; k++)
    reads[k] = was_mask(m, instr->args[k]);
  if (instr->op != KIR_PHI) kir_replace_operands(&m->replacements, instr);
  kir_position_before(m->builder, instr);
  if (makes) {
    change_mask(m, instr);
    return;
  }
  for (int k = 0; k < 8; k++)
    if (reads[k]) change_user(m, instr, k);
}

static bool has_masks(const x64_code_t *code) {
  for (int b = 0; b < code->cfg.block_count; b++)
    for (const kir_value_t *instr = code->cfg.order[b]->first; instr; instr = instr->next) {
      if (is_mask(instr->type)) return true;
      for (int k = 0; k < instr->arg_count; k++)
        if (is_mask(instr->args[k]->type)) return true;
    }
  return false;
}

hr_status_t x64_remove_masks(x64_code_t *code) {
  masks_t m = {.code = code, .module = code->function->module};
  if (!has_masks(code)) return NULL;
  HR_TRY(kir_replacements_init(&m.replacements, &code->cfg));
  HR_TRY(HR_NEW_ARRAY(code->arena, m.replacements.count + 1, &m.wanted));
  HR_TRY(HR_NEW_ARRAY(code->arena, m.replacements.count + 1, &m.was_mask));
  m.builder = kir_builder_create(m.module);
  find_masks(&m);
  for (int b = 0; b < code->cfg.block_count; b++)
    for (kir_value_t *instr = code->cfg.order[b]->first, *next; instr && !code->unsupported;
         instr = next) {
      next = instr->next;
      if (instr->id < m.replacements.count) change_instr(&m, instr);
    }
  for (int b = 0; b < code->cfg.block_count && !code->unsupported; b++)
    for (kir_value_t *phi = code->cfg.order[b]->first; phi && phi->op == KIR_PHI; phi = phi->next)
      if (kir_is_vector(phi->type)) find_phi_arguments(&m, phi);
  kir_replace_uses(&m.replacements, &code->cfg);
  hr_status_t st = m.module->status;
  m.module->status = NULL;
  return st;
}
