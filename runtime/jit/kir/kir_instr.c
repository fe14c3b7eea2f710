/* Builders of the kernel IR's arithmetic, casts, memory and vector instructions.
 *
 * Each function determines the type of the result and calls kir_build, which folds constants.
 * Casts to the same type return their operand. Metadata (alignment, nontemporal, inbounds, nsw)
 * is set on the instruction afterwards. */
#include "jit/kir/kir.h"

/* --- arithmetic ------------------------------------------------------------------------------- */

static kir_value_t *build_two(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                              kir_value_t *x, kir_value_t *y) {
  return kir_expand_or_build(b, op, type, detail, (kir_value_t *[]){x, y}, 2);
}

#define BINARY(name, op)                                                      \
  kir_value_t *kir_##name(kir_builder_t *b, kir_value_t *x, kir_value_t *y) { \
    return build_two(b, op, x->type, 0, x, y);                                \
  }
BINARY(add, KIR_ADD)
BINARY(sub, KIR_SUB)
BINARY(mul, KIR_MUL)
BINARY(udiv, KIR_UDIV)
BINARY(sdiv, KIR_SDIV)
BINARY(urem, KIR_UREM)
BINARY(srem, KIR_SREM)
BINARY(and, KIR_AND)
BINARY(or, KIR_OR)
BINARY(xor, KIR_XOR)
BINARY(shl, KIR_SHL)
BINARY(ashr, KIR_ASHR)
BINARY(fadd, KIR_FADD)
BINARY(fsub, KIR_FSUB)
BINARY(fmul, KIR_FMUL)
BINARY(fdiv, KIR_FDIV)
#undef BINARY

/* What a cast between types of the same size was applied to. */
static kir_value_t *before_bitcasts(kir_value_t *x, const kir_type_t *type) {
  while (x->op == KIR_BITCAST && x->args[0]->type->lanes == type->lanes) x = x->args[0];
  return x;
}

/* Do the bits of a mask from `count` up have to be set for `x & mask`, all of whose lower bits are
 * shifted out, to be `x`? */
static bool is_mask_of_upper_bits(const kir_value_t *mask, uint64_t count) {
  unsigned bits = mask->type->bits;
  return kir_is_constant(mask) && kir_is_splat(mask) &&
         kir_sign_extend(mask->lanes[0], bits) >> count == -1;
}

/* A mask of bits that are shifted out is not needed, as when a rounded bf16 is stored. */
kir_value_t *kir_lshr(kir_builder_t *b, kir_value_t *x, kir_value_t *y) {
  kir_value_t *masked = before_bitcasts(x, x->type);
  if (masked->op == KIR_AND && masked->type == x->type && kir_is_constant(y) && kir_is_splat(y) &&
      y->lanes[0] < x->type->bits && is_mask_of_upper_bits(masked->args[1], y->lanes[0]))
    x = masked->args[0];
  return build_two(b, KIR_LSHR, x->type, 0, x, y);
}

/* x + y, marked as not wrapping when signed; a folded sum has no instruction to mark. */
kir_value_t *kir_nsw_add(kir_builder_t *b, kir_value_t *x, kir_value_t *y) {
  kir_value_t *sum = kir_add(b, x, y);
  if (sum != x && sum != y && sum->op == KIR_ADD) sum->has_nsw = true;
  return sum;
}

kir_value_t *kir_neg(kir_builder_t *b, kir_value_t *x) { return kir_sub(b, kir_null(x->type), x); }

kir_value_t *kir_not(kir_builder_t *b, kir_value_t *x) {
  return kir_xor(b, x, kir_all_ones(x->type));
}

kir_value_t *kir_fneg(kir_builder_t *b, kir_value_t *x) {
  return kir_expand_or_build(b, KIR_FNEG, x->type, 0, &x, 1);
}

kir_value_t *kir_icmp(kir_builder_t *b, kir_icmp_t predicate, kir_value_t *x, kir_value_t *y) {
  return build_two(b, KIR_ICMP, kir_i1_like(x->type), (int)predicate, x, y);
}

kir_value_t *kir_fcmp(kir_builder_t *b, kir_fcmp_t predicate, kir_value_t *x, kir_value_t *y) {
  return build_two(b, KIR_FCMP, kir_i1_like(x->type), (int)predicate, x, y);
}

kir_value_t *kir_select(kir_builder_t *b, kir_value_t *condition, kir_value_t *x, kir_value_t *y) {
  return kir_expand_or_build(b, KIR_SELECT, x->type, 0, (kir_value_t *[]){condition, x, y}, 3);
}

/* --- casts ------------------------------------------------------------------------------------ */

#define CAST(name, op)                                                          \
  kir_value_t *kir_##name(kir_builder_t *b, kir_value_t *x, kir_type_t *type) { \
    return x->type == type ? x : kir_expand_or_build(b, op, type, 0, &x, 1);    \
  }
CAST(trunc, KIR_TRUNC)
CAST(zext, KIR_ZEXT)
CAST(sext, KIR_SEXT)
CAST(fptrunc, KIR_FPTRUNC)
CAST(fpext, KIR_FPEXT)
CAST(fptosi, KIR_FPTOSI)
CAST(fptoui, KIR_FPTOUI)
CAST(sitofp, KIR_SITOFP)
CAST(uitofp, KIR_UITOFP)
#undef CAST

kir_value_t *kir_int_cast(kir_builder_t *b, kir_value_t *x, kir_type_t *type, bool is_signed) {
  if (type->bits < x->type->bits) return kir_trunc(b, x, type);
  return is_signed ? kir_sext(b, x, type) : kir_zext(b, x, type);
}

/* NULL: the number of lanes differs, which LLVM does not fold either. */
static kir_value_t *bitcast_constant(const kir_value_t *value, kir_type_t *type) {
  if (value->is_poison) return kir_poison(type);
  if (value->type->lanes != type->lanes) return NULL;
  return kir_partly_poison(type, value->lanes, value->poison_lanes);
}

kir_value_t *kir_bitcast(kir_builder_t *b, kir_value_t *x, kir_type_t *type) {
  if (x->type == type) return x;
  kir_value_t *folded = kir_is_constant(x) ? bitcast_constant(x, type) : NULL;
  return folded ? folded : kir_append(b, KIR_BITCAST, type, &x, 1);
}

/* --- memory ----------------------------------------------------------------------------------- */

kir_value_t *kir_alloca(kir_builder_t *b, kir_type_t *type) {
  kir_value_t *memory = kir_append(b, KIR_ALLOCA, kir_pointer_type(b->module), NULL, 0);
  if (!kir_is_constant(memory)) memory->memory_type = type;
  return memory;
}

kir_value_t *kir_load(kir_builder_t *b, kir_type_t *type, kir_value_t *pointer) {
  return kir_append(b, KIR_LOAD, type, &pointer, 1);
}

kir_value_t *kir_store(kir_builder_t *b, kir_value_t *value, kir_value_t *pointer) {
  return kir_append(b, KIR_STORE, kir_void_type(b->module), (kir_value_t *[]){value, pointer}, 2);
}

void kir_set_align(kir_value_t *instr, unsigned align) { instr->align = align; }
void kir_set_nontemporal(kir_value_t *store) { store->is_nontemporal = true; }

kir_value_t *kir_gep(kir_builder_t *b, kir_type_t *element, kir_value_t *pointer,
                     kir_value_t *index) {
  kir_type_t *type = pointer->type;
  if (kir_is_vector(index->type)) type = kir_vector_type(type, index->type->lanes);
  kir_value_t *gep = kir_append(b, KIR_GEP, type, (kir_value_t *[]){pointer, index}, 2);
  if (kir_is_constant(gep)) return gep;
  gep->memory_type = element;
  gep->detail = (int)kir_type_bytes(element);
  return gep;
}

kir_value_t *kir_inbounds_gep(kir_builder_t *b, kir_type_t *element, kir_value_t *pointer,
                              kir_value_t *index) {
  kir_value_t *gep = kir_gep(b, element, pointer, index);
  if (!kir_is_constant(gep)) gep->is_inbounds = true;
  return gep;
}

/* --- lanes of vectors ------------------------------------------------------------------------- */

kir_value_t *kir_extract(kir_builder_t *b, kir_value_t *vector, kir_value_t *index) {
  if (kir_is_constant(vector) && kir_is_constant(index))
    return kir_const_lane(vector, (unsigned)index->lanes[0]);
  return kir_expand_or_build(b, KIR_EXTRACT, vector->type->element, 0,
                             (kir_value_t *[]){vector, index}, 2);
}

kir_value_t *kir_insert(kir_builder_t *b, kir_value_t *vector, kir_value_t *value,
                        kir_value_t *index) {
  return kir_expand_or_build(b, KIR_INSERT, vector->type, 0,
                             (kir_value_t *[]){vector, value, index}, 3);
}

kir_value_t *kir_shuffle(kir_builder_t *b, kir_value_t *x, kir_value_t *y, kir_value_t *mask) {
  kir_type_t *type = kir_vector_type(x->type->element, mask->type->lanes);
  kir_value_t *shuffle =
      kir_expand_or_build(b, KIR_SHUFFLE, type, 0, (kir_value_t *[]){x, y, mask}, 3);
  if (shuffle->op == KIR_SHUFFLE && !shuffle->lanes) shuffle->lanes = mask->lanes;
  return shuffle;
}

kir_value_t *kir_splat(kir_builder_t *b, kir_value_t *value, kir_type_t *type) {
  kir_type_t *i32 = kir_int_type(type->module, 32);
  kir_value_t *none = kir_poison(type);
  kir_value_t *first = kir_insert(b, none, value, kir_null(i32));
  return kir_shuffle(b, first, none, kir_null(kir_vector_type(i32, type->lanes)));
}
