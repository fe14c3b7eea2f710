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

/* --- lanes that lie apart ---------------------------------------------------------------------------------------- */

static bool is_power(unsigned lanes) { return (lanes & (lanes - 1)) == 0; }

/* Is there an instruction for elements at these places, or none in pieces either? */
static bool can_spread(const own_type_t *type, const own_value_t *pointers) {
  const own_value_t *index = pointers->op == OWN_GEP ? pointers->args[1] : NULL;
  bool has_index = index && index->type->lanes == type->lanes;
  return !has_index || (is_power(type->lanes) && type->bits >= 32 && index->type->bits >= 32 && own_width(type) >= 128);
}

static LLVMValueRef place_in(LLVMBuilderRef b, const own_type_t *element, LLVMValueRef array, LLVMValueRef index) {
  own_type_t *bits = own_type_of(element->context, LLVMIntegerTypeKind, element->bits);
  return own_build_gep(b, (LLVMTypeRef)bits, array, &index, 1, "");
}

static LLVMValueRef number_of(const own_type_t *type, unsigned lane) {
  return (LLVMValueRef)own_constant_of_all(own_type_of(type->context, LLVMIntegerTypeKind, 64), lane);
}

static LLVMValueRef load_in(LLVMBuilderRef b, const own_type_t *element, LLVMValueRef array, LLVMValueRef index) {
  own_type_t *bits = own_type_of(element->context, LLVMIntegerTypeKind, element->bits);
  return own_build_load(b, (LLVMTypeRef)bits, place_in(b, element, array, index), "");
}

/* Memory of the function's own, from which lanes are read one by one. */
static LLVMValueRef kept_lanes(LLVMBuilderRef b, LLVMValueRef vector) {
  LLVMValueRef room = own_build_alloca(b, (LLVMTypeRef)VALUE(vector)->type, "");
  own_build_store(b, vector, room);
  return room;
}

/* Element `lane` of indices that are kept, as 64 bits. */
static LLVMValueRef index_at(LLVMBuilderRef b, const own_type_t *index, LLVMValueRef kept, LLVMValueRef lane) {
  LLVMTypeRef wide = (LLVMTypeRef)own_type_of(index->context, LLVMIntegerTypeKind, 64);
  return own_build_sext(b, load_in(b, index, kept, lane), wide, "");
}

static LLVMValueRef gather_one_by_one(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef array, LLVMValueRef indices) {
  const own_type_t *index = VALUE(indices)->type->element, *element = TYPE(type)->element;
  LLVMValueRef from = kept_lanes(b, indices), to = own_build_alloca(b, type, "");
  for (unsigned i = 0; i < TYPE(type)->lanes; i++) {
    LLVMValueRef lane = number_of(element, i), at = index_at(b, index, from, lane);
    own_build_store(b, load_in(b, element, array, at), place_in(b, element, to, lane));
  }
  return own_build_load(b, type, to, "");
}

/* Lanes that are not wanted read the array's first element. */
LLVMValueRef own_build_gather(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef *args) {
  own_value_t *pointers = VALUE(args[0]), *mask = VALUE(args[2]);
  if (can_spread(TYPE(type), pointers)) return own_build_refs(b, OWN_GATHER, TYPE(type), 0, args, 4);
  LLVMValueRef array = (LLVMValueRef)pointers->args[0], index = (LLVMValueRef)pointers->args[1];
  LLVMValueRef first = (LLVMValueRef)own_constant_of_all(VALUE(index)->type, 0);
  index = own_build_select(b, (LLVMValueRef)mask, index, first, "");
  LLVMValueRef made = gather_one_by_one(b, type, array, index);
  return own_build_select(b, (LLVMValueRef)mask, made, args[3], "");
}

/* Lanes that are not wanted are written to memory that nobody reads. */
LLVMValueRef own_build_scatter(LLVMBuilderRef b, LLVMValueRef *args) {
  own_value_t *values = VALUE(args[0]), *pointers = VALUE(args[1]), *mask = VALUE(args[3]);
  own_type_t *nothing = own_type_of(BUILDER(b)->context, LLVMVoidTypeKind, 0);
  if (can_spread(values->type, pointers)) return own_build_refs(b, OWN_SCATTER, nothing, 0, args, 4);
  const own_type_t *element = values->type->element, *index = pointers->args[1]->type->element;
  LLVMValueRef from = kept_lanes(b, args[0]), indices = kept_lanes(b, (LLVMValueRef)pointers->args[1]), made = NULL;
  LLVMValueRef nowhere = own_build_alloca(b, (LLVMTypeRef)values->type, "");
  for (unsigned i = 0; i < values->type->lanes; i++) {
    LLVMValueRef lane = number_of(element, i), at = index_at(b, index, indices, lane);
    LLVMValueRef to = place_in(b, element, (LLVMValueRef)pointers->args[0], at);
    to = own_build_select(b, own_build_extract(b, (LLVMValueRef)mask, lane, ""), to, nowhere, "");
    made = own_build_store(b, load_in(b, element, from, lane), to);
  }
  return made;
}
