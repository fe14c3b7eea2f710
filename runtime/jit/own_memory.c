/* LLVM's functions that write what is done with memory and with lanes of vectors, on own code. */
#include "jit/own_build.h"

static uint64_t bytes_of(LLVMTypeRef type) {
  const own_type_t *t = TYPE(type);
  return (t->count ? t->count : 1) * ((uint64_t)t->lanes * t->bits + 7) / 8;
}

LLVMValueRef own_build_alloca(LLVMBuilderRef b, LLVMTypeRef type, const char *name) {
  own_value_t *made =
      own_append(BUILDER(b), OWN_ALLOCA, own_type_of(BUILDER(b)->context, LLVMPointerTypeKind, 64), NULL, 0);
  uint64_t *bytes = own_alloc(BUILDER(b)->context, sizeof *bytes);
  (void)name;
  *bytes = bytes_of(type);
  if (!BUILDER(b)->context->status) made->lanes = bytes;
  return (LLVMValueRef)made;
}

LLVMValueRef own_build_load(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef pointer, const char *name) {
  (void)name;
  return (LLVMValueRef)own_append(BUILDER(b), OWN_LOAD, TYPE(type), (own_value_t *[]){VALUE(pointer)}, 1);
}

LLVMValueRef own_build_store(LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef pointer) {
  own_type_t *nothing = own_type_of(BUILDER(b)->context, LLVMVoidTypeKind, 0);
  return (LLVMValueRef)own_append(BUILDER(b), OWN_STORE, nothing, (own_value_t *[]){VALUE(value), VALUE(pointer)}, 2);
}

/* The size of an element is kept as the predicate. */
LLVMValueRef own_build_gep(LLVMBuilderRef b, LLVMTypeRef element, LLVMValueRef pointer, LLVMValueRef *indices,
                           unsigned count, const char *name) {
  own_value_t *index = VALUE(indices[0]);
  own_type_t *type = VALUE(pointer)->type;
  (void)name;
  if (count != 1) BUILDER(b)->context->lacks = "address of several indices";
  if (index->type->kind == LLVMVectorTypeKind) type = own_vector_of(type, index->type->lanes);
  own_value_t *made = own_append(BUILDER(b), OWN_GEP, type, (own_value_t *[]){VALUE(pointer), index}, 2);
  made->predicate = (int)bytes_of(element);
  return (LLVMValueRef)made;
}

/* Of a lane that is not known yet: the vector is put into memory. */
static LLVMValueRef build_extract_at(LLVMBuilderRef b, LLVMValueRef vector, LLVMValueRef index) {
  own_type_t *type = VALUE(vector)->type;
  LLVMTypeRef i64 = (LLVMTypeRef)own_type_of(type->context, LLVMIntegerTypeKind, 64);
  LLVMTypeRef element = (LLVMTypeRef)type->element;
  LLVMValueRef place = own_build_alloca(b, (LLVMTypeRef)type, ""), lane = own_build_int_cast(b, index, i64, false, "");
  own_build_store(b, vector, place);
  return own_build_load(b, element, own_build_gep(b, element, place, &lane, 1, ""), "");
}

LLVMValueRef own_build_extract(LLVMBuilderRef b, LLVMValueRef vector, LLVMValueRef index, const char *name) {
  (void)name;
  if (own_is_constant(VALUE(vector)) && own_is_constant(VALUE(index)))
    return own_api.GetAggregateElement(vector, (unsigned)VALUE(index)->lanes[0]);
  if (!own_is_constant(VALUE(index))) return build_extract_at(b, vector, index);
  return (LLVMValueRef)own_append(BUILDER(b), OWN_EXTRACT, VALUE(vector)->type->element,
                              (own_value_t *[]){VALUE(vector), VALUE(index)}, 2);
}

LLVMValueRef own_build_splat(LLVMBuilderRef b, LLVMValueRef value, own_type_t *type) {
  own_type_t *i32 = own_type_of(type->context, LLVMIntegerTypeKind, 32), *places = own_vector_of(i32, type->lanes);
  LLVMValueRef none = own_api.GetPoison((LLVMTypeRef)type), zero = (LLVMValueRef)own_constant_of_all(i32, 0);
  LLVMValueRef first = own_build_insert(b, none, value, zero, "");
  return own_build_shuffle(b, first, none, (LLVMValueRef)own_constant_of_all(places, 0), "");
}

/* All lanes are the value; the one that is meant is chosen. */
static LLVMValueRef build_insert_at(LLVMBuilderRef b, LLVMValueRef vector, LLVMValueRef value, LLVMValueRef lane) {
  own_type_t *type = VALUE(vector)->type;
  LLVMTypeRef places = (LLVMTypeRef)own_vector_of(VALUE(lane)->type, type->lanes);
  uint64_t numbers[1024];
  hr_assert(type->lanes <= 1024);
  for (unsigned i = 0; i < type->lanes; i++) numbers[i] = i;
  LLVMValueRef all = own_build_splat(b, value, type), at = own_build_splat(b, lane, TYPE(places));
  LLVMValueRef is_it = own_build_icmp(b, LLVMIntEQ, at, (LLVMValueRef)own_constant(TYPE(places), numbers, false), "");
  return own_build_select(b, is_it, all, vector, "");
}

LLVMValueRef own_build_insert(LLVMBuilderRef b, LLVMValueRef vector, LLVMValueRef value, LLVMValueRef index,
                              const char *name) {
  own_value_t *args[] = {VALUE(vector), VALUE(value), VALUE(index)};
  (void)name;
  if (!own_is_constant(args[2]) || args[2]->lanes[0]) return build_insert_at(b, vector, value, index);
  return (LLVMValueRef)own_append(BUILDER(b), OWN_INSERT, args[0]->type, args, 3);
}

/* Lanes of 128 bits, which are a complex number each, as two lanes. */
static LLVMValueRef shuffle_pairs(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const own_value_t *mask) {
  own_type_t *i64 = own_type_of(mask->type->context, LLVMIntegerTypeKind, 64);
  LLVMTypeRef pairs = (LLVMTypeRef)own_vector_of(i64, 2 * VALUE(x)->type->lanes);
  LLVMTypeRef type = (LLVMTypeRef)own_vector_of(VALUE(x)->type->element, mask->type->lanes);
  uint64_t order[1024];
  hr_assert(mask->type->lanes <= 512);
  for (unsigned i = 0; i < 2 * mask->type->lanes; i++) order[i] = 2 * mask->lanes[i / 2] + i % 2;
  own_value_t *wider = own_constant(own_vector_of(mask->type->element, 2 * mask->type->lanes), order, false);
  y = VALUE(y)->is_poison ? own_api.GetPoison(pairs) : own_build_bitcast(b, y, pairs, "");
  x = own_build_shuffle(b, own_build_bitcast(b, x, pairs, ""), y, (LLVMValueRef)wider, "");
  return own_build_bitcast(b, x, type, "");
}

LLVMValueRef own_build_shuffle(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef mask,
                               const char *name) {
  own_type_t *type = own_vector_of(VALUE(x)->type->element, VALUE(mask)->type->lanes);
  (void)name;
  if (type->bits == 128) return shuffle_pairs(b, x, y, VALUE(mask));
  LLVMValueRef made = own_build_refs(b, OWN_SHUFFLE, type, 0, (LLVMValueRef[]){x, y, mask}, 3);
  if (VALUE(made)->op == OWN_SHUFFLE) VALUE(made)->lanes = VALUE(mask)->lanes;
  return made;
}
