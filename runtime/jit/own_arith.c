/* LLVM's functions that write arithmetic, choices and casts, on own code. */
#include "jit/own_build.h"

static LLVMTypeRef like(LLVMTypeRef type, LLVMTypeKind kind, unsigned bits) {
  own_type_t *element = own_type_of(TYPE(type)->context, kind, bits);
  return (LLVMTypeRef)(TYPE(type)->kind == LLVMVectorTypeKind ? own_vector_of(element, TYPE(type)->lanes) : element);
}

/* What is computed from a truth value and a constant is a choice between two constants. NULL: not known. */
static LLVMValueRef build_from_truth(LLVMBuilderRef b, own_op_t op, own_value_t *x, own_value_t *y) {
  if (x->op != OWN_ZEXT || x->args[0]->type->bits != 1 || !own_is_constant(y)) return NULL;
  own_value_t *one = own_constant_of_all(x->type, 1), *zero = own_constant_of_all(x->type, 0);
  one = own_fold(op, x->type, 0, (own_value_t *[]){one, y}, 2);
  zero = own_fold(op, x->type, 0, (own_value_t *[]){zero, y}, 2);
  if (!one || !zero) return NULL;
  return (LLVMValueRef)own_build(b, OWN_SELECT, x->type, 0, (own_value_t *[]){x->args[0], one, zero}, 3);
}

/* Bytes, for which vectors have no instruction, are computed as 16 bits. */
static LLVMValueRef build_bytes(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMValueRef y) {
  own_type_t *type = VALUE(x)->type;
  bool are_bytes = type->kind == LLVMVectorTypeKind && type->bits == 8;
  if (!are_bytes) return own_build_refs(b, op, type, 0, (LLVMValueRef[]){x, y}, 2);
  LLVMValueRef choice = build_from_truth(b, op, VALUE(x), VALUE(y));
  if (choice) return choice;
  LLVMTypeRef wide = like((LLVMTypeRef)type, LLVMIntegerTypeKind, 16);
  x = (op == OWN_ASHR ? own_build_sext : own_build_zext)(b, x, wide, ""), y = own_build_zext(b, y, wide, "");
  return own_build_trunc(b, own_build_refs(b, op, TYPE(wide), 0, (LLVMValueRef[]){x, y}, 2), (LLVMTypeRef)type, "");
}

/* Of what the ops with two arguments are made. */
static LLVMValueRef build_two(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMValueRef y) {
  switch (op) {
    case OWN_UDIV:
    case OWN_SDIV:
    case OWN_UREM:
    case OWN_SREM: return own_divide(b, op, x, y);
    case OWN_MUL:
    case OWN_SHL:
    case OWN_LSHR:
    case OWN_ASHR: return build_bytes(b, op, x, y);
    default: return own_build_refs(b, op, VALUE(x)->type, 0, (LLVMValueRef[]){x, y}, 2);
  }
}

#define TWO(name, op)                                                                                         \
  LLVMValueRef own_build_##name(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const char *unused) {       \
    (void)unused;                                                                                             \
    return build_two(b, op, x, y);                                                                            \
  }
TWO(add, OWN_ADD)
TWO(sub, OWN_SUB)
TWO(mul, OWN_MUL)
TWO(udiv, OWN_UDIV)
TWO(sdiv, OWN_SDIV)
TWO(urem, OWN_UREM)
TWO(srem, OWN_SREM)
TWO(and, OWN_AND)
TWO(or, OWN_OR)
TWO(xor, OWN_XOR)
TWO(shl, OWN_SHL)
TWO(lshr, OWN_LSHR)
TWO(ashr, OWN_ASHR)
TWO(fadd, OWN_FADD)
TWO(fsub, OWN_FSUB)
TWO(fmul, OWN_FMUL)
TWO(fdiv, OWN_FDIV)
#undef TWO

LLVMValueRef own_build_neg(LLVMBuilderRef b, LLVMValueRef x, const char *name) {
  return own_build_sub(b, (LLVMValueRef)own_constant_of_all(VALUE(x)->type, 0), x, name);
}

LLVMValueRef own_build_not(LLVMBuilderRef b, LLVMValueRef x, const char *name) {
  return own_build_xor(b, x, (LLVMValueRef)own_constant_of_all(VALUE(x)->type, ~0ull), name);
}

LLVMValueRef own_build_fneg(LLVMBuilderRef b, LLVMValueRef x, const char *name) {
  (void)name;
  return own_build_refs(b, OWN_FNEG, VALUE(x)->type, 0, &x, 1);
}

/* The type of a comparison: i1, or a vector of it. */
static own_type_t *truth_of(const own_type_t *type) {
  own_type_t *truth = own_type_of(type->context, LLVMIntegerTypeKind, 1);
  return type->kind == LLVMVectorTypeKind ? own_vector_of(truth, type->lanes) : truth;
}

static bool are_bits(LLVMValueRef x) { return VALUE(x)->type->kind == LLVMVectorTypeKind && VALUE(x)->type->bits == 1; }

/* Bits of vectors, which masks hold, are compared by what is true of them: of signed ones 1 is the lesser. */
static LLVMValueRef build_compare_bits(LLVMBuilderRef b, LLVMIntPredicate how, LLVMValueRef x, LLVMValueRef y) {
  switch (how) {
    case LLVMIntNE: return own_build_xor(b, x, y, "");
    case LLVMIntUGT:
    case LLVMIntSLT: return own_build_and(b, x, own_build_not(b, y, ""), "");
    case LLVMIntULT:
    case LLVMIntSGT: return own_build_and(b, y, own_build_not(b, x, ""), "");
    case LLVMIntUGE:
    case LLVMIntSLE: return own_build_or(b, x, own_build_not(b, y, ""), "");
    case LLVMIntULE:
    case LLVMIntSGE: return own_build_or(b, y, own_build_not(b, x, ""), "");
    default: return own_build_not(b, own_build_xor(b, x, y, ""), "");
  }
}

LLVMValueRef own_build_icmp(LLVMBuilderRef b, LLVMIntPredicate how, LLVMValueRef x, LLVMValueRef y,
                            const char *name) {
  (void)name;
  if (are_bits(x)) return build_compare_bits(b, how, x, y);
  return own_build_refs(b, OWN_ICMP, truth_of(VALUE(x)->type), how, (LLVMValueRef[]){x, y}, 2);
}

LLVMValueRef own_build_fcmp(LLVMBuilderRef b, LLVMRealPredicate how, LLVMValueRef x, LLVMValueRef y,
                            const char *name) {
  (void)name;
  return own_build_refs(b, OWN_FCMP, truth_of(VALUE(x)->type), how, (LLVMValueRef[]){x, y}, 2);
}

/* y ^ (condition & (x ^ y)) */
static LLVMValueRef build_select_bits(LLVMBuilderRef b, LLVMValueRef condition, LLVMValueRef x, LLVMValueRef y) {
  if (!are_bits(condition)) condition = own_build_splat(b, condition, VALUE(x)->type);
  return own_build_xor(b, own_build_and(b, condition, own_build_xor(b, x, y, ""), ""), y, "");
}

LLVMValueRef own_build_select(LLVMBuilderRef b, LLVMValueRef condition, LLVMValueRef x, LLVMValueRef y,
                              const char *name) {
  (void)name;
  if (are_bits(x)) return build_select_bits(b, condition, x, y);
  return own_build_refs(b, OWN_SELECT, VALUE(x)->type, 0, (LLVMValueRef[]){condition, x, y}, 3);
}

/* Processors know integers and floats of 32 and 64 bits: narrower ones are those first, without loss. */
static LLVMValueRef build_to_float(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMTypeRef type) {
  LLVMTypeRef i32 = like(type, LLVMIntegerTypeKind, 32), f32 = like(type, LLVMFloatTypeKind, 32);
  own_build_cast_fn *widen = op == OWN_SITOFP ? own_build_sext : own_build_zext;
  if (VALUE(x)->type->bits < 32) x = widen(b, x, i32, ""), op = OWN_SITOFP;
  if (TYPE(type)->bits == 16) return own_build_fptrunc(b, own_build_refs(b, op, TYPE(f32), 0, &x, 1), type, "");
  return own_build_refs(b, op, TYPE(type), 0, &x, 1);
}

static LLVMValueRef build_to_integer(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMTypeRef type) {
  LLVMTypeRef i32 = like(type, LLVMIntegerTypeKind, 32), f32 = like(type, LLVMFloatTypeKind, 32);
  if (VALUE(x)->type->bits == 16) x = own_build_fpext(b, x, f32, "");
  if (TYPE(type)->bits < 32) return own_build_trunc(b, own_build_refs(b, OWN_FPTOSI, TYPE(i32), 0, &x, 1), type, "");
  return own_build_refs(b, op, TYPE(type), 0, &x, 1);
}

static LLVMValueRef build_cast(LLVMBuilderRef b, own_op_t op, LLVMValueRef x, LLVMTypeRef type) {
  if (op == OWN_FPTOSI || op == OWN_FPTOUI) return build_to_integer(b, op, x, type);
  if (op == OWN_SITOFP || op == OWN_UITOFP) return build_to_float(b, op, x, type);
  return VALUE(x)->type == TYPE(type) ? x : own_build_refs(b, op, TYPE(type), 0, &x, 1);
}

#define CAST(name, op)                                                                                        \
  LLVMValueRef own_build_##name(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef type, const char *unused) {     \
    (void)unused;                                                                                             \
    return build_cast(b, op, x, type);                                                                        \
  }
CAST(trunc, OWN_TRUNC)
CAST(zext, OWN_ZEXT)
CAST(sext, OWN_SEXT)
CAST(fptrunc, OWN_FPTRUNC)
CAST(fpext, OWN_FPEXT)
CAST(fptosi, OWN_FPTOSI)
CAST(fptoui, OWN_FPTOUI)
CAST(sitofp, OWN_SITOFP)
CAST(uitofp, OWN_UITOFP)
#undef CAST

/* Bits that are set, or zeros before the first one: processors count in 32 and 64 bits, and the former in any lanes. */
LLVMValueRef own_build_count(LLVMBuilderRef b, own_op_t op, LLVMValueRef x) {
  own_type_t *type = VALUE(x)->type;
  bool is_known = type->bits >= 32 || (op == OWN_CTPOP && type->kind == LLVMVectorTypeKind);
  if (!own_counts_bits()) BUILDER(b)->context->lacks = "an intrinsic";
  if (is_known) return own_build_refs(b, op, type, 0, &x, 1);
  LLVMTypeRef wide = like((LLVMTypeRef)type, LLVMIntegerTypeKind, 32);
  LLVMValueRef more = (LLVMValueRef)own_constant_of_all(TYPE(wide), op == OWN_CTLZ ? 32 - type->bits : 0);
  x = own_build_zext(b, x, wide, "");
  x = own_build_sub(b, own_build_refs(b, op, TYPE(wide), 0, &x, 1), more, "");
  return own_build_trunc(b, x, (LLVMTypeRef)type, "");
}

LLVMValueRef own_build_bitcast(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef type, const char *name) {
  const own_type_t *from = VALUE(x)->type;
  (void)name;
  if (from == TYPE(type)) return x;
  if (own_is_constant(VALUE(x)) && from->lanes == TYPE(type)->lanes) return own_api.ConstBitCast(x, type);
  return (LLVMValueRef)own_append(BUILDER(b), OWN_BITCAST, TYPE(type), (own_value_t *[]){VALUE(x)}, 1);
}

LLVMValueRef own_build_int_cast(LLVMBuilderRef b, LLVMValueRef x, LLVMTypeRef type, LLVMBool is_signed,
                                const char *name) {
  unsigned from = VALUE(x)->type->bits, to = TYPE(type)->bits;
  if (to < from) return own_build_trunc(b, x, type, name);
  return is_signed ? own_build_sext(b, x, type, name) : own_build_zext(b, x, type, name);
}
