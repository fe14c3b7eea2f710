/* Types and constants of own code, one object for all that are equal. */
#include "jit/own_ir.h"

#include <string.h>

const uint8_t own_op_flags[OWN_OP_COUNT] = {
#define OWN_OP(id, intrinsic, flags) flags,
#include "jit/own_ops.def"
#undef OWN_OP
};

void *own_alloc(own_context_t *context, size_t size_bytes) {
  void *memory = context->spare;
  if (!context->status) context->status = hr_arena_zeroed(&context->arena, size_bytes ? size_bytes : 1, &memory);
  if (!context->status) return memory;
  hr_assert(size_bytes <= sizeof context->spare);
  return memset(context->spare, 0, sizeof context->spare);
}

static own_type_t *find_type(own_context_t *context, own_type_t wanted) {
  for (own_type_t *type = context->types; type; type = type->next)
    if (type->kind == wanted.kind && type->bits == wanted.bits && type->lanes == wanted.lanes &&
        type->count == wanted.count && type->element == wanted.element)
      return type;
  own_type_t *made = own_alloc(context, sizeof *made);
  *made = wanted, made->context = context;
  if (context->status) return made;
  made->next = context->types;
  return context->types = made;
}

own_type_t *own_type_of(own_context_t *context, LLVMTypeKind kind, unsigned bits) {
  return find_type(context, (own_type_t){.kind = kind, .bits = bits, .lanes = 1});
}

own_type_t *own_vector_of(own_type_t *element, unsigned lanes) {
  return find_type(element->context, (own_type_t){.kind = LLVMVectorTypeKind, .bits = element->bits, .lanes = lanes,
                                                  .element = element});
}

static uint64_t lane_mask(const own_type_t *type) { return type->bits >= 64 ? ~0ull : (1ull << type->bits) - 1; }

static unsigned constant_bucket(const own_type_t *type, const uint64_t *lanes, bool is_poison) {
  uint64_t hash = (uint64_t)(uintptr_t)type >> 4 ^ is_poison;
  for (unsigned i = 0; i < type->lanes; i++) hash = (hash ^ lanes[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
  return hash % OWN_CONSTANT_BUCKETS;
}

own_value_t *own_constant(own_type_t *type, const uint64_t *lanes, bool is_poison) {
  own_context_t *context = type->context;
  size_t bytes = type->lanes * sizeof *lanes;
  uint64_t *kept = own_alloc(context, bytes);
  for (unsigned i = 0; i < type->lanes; i++) kept[i] = lanes[i] & lane_mask(type);
  unsigned bucket = constant_bucket(type, kept, is_poison);
  for (own_value_t *value = context->constants[bucket]; value && !context->status; value = value->next)
    if (value->type == type && value->is_poison == is_poison && memcmp(value->lanes, kept, bytes) == 0) return value;
  own_value_t *made = own_alloc(context, sizeof *made);
  *made = (own_value_t){.type = type, .op = OWN_CONSTANT, .lanes = kept, .is_poison = is_poison};
  if (context->status) return made;
  made->next = context->constants[bucket];
  return context->constants[bucket] = made;
}

own_value_t *own_constant_of_all(own_type_t *type, uint64_t lane) {
  uint64_t lanes[1024];
  hr_assert(type->lanes <= 1024);
  for (unsigned i = 0; i < type->lanes; i++) lanes[i] = lane;
  return own_constant(type, lanes, false);
}
