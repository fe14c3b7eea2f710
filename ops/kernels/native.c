#include "ops/kernels/native.h"

#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  extern const op_native_t native_##native;
#include "ops/table/ops.def"
#undef OP

const op_native_t native_none = {"none", NULL, NULL};

const op_native_t *const op_natives[HLO_OPCODE_COUNT] = {
#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  &native_##native,
#include "ops/table/ops.def"
#undef OP
};
