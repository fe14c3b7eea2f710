/* Selection of the vector loops of scan_lines_tiles.h, which is compiled once per vector width.
 * Signed and unsigned sums and products share one loop. */
#include "ops/kernels/window/scan_lines.h"

#include <math.h>

#include "ops/kernels/elementwise/scalar.h"

#define VECTOR_FILE "ops/kernels/window/scan_lines_tiles.h"
#include "ops/kernels/simd/simd_foreach.h"

#define LOOP(op, dtype, name) \
  if (wanted == HLO_##op && of == HR_##dtype) return SIMD_FOREACH(name)
#define LOOPS(dtype, name, bits)          \
  LOOP(ADD, dtype, bits##_add);           \
  LOOP(MULTIPLY, dtype, bits##_multiply); \
  LOOP(MAXIMUM, dtype, name##_maximum);   \
  LOOP(MINIMUM, dtype, name##_minimum)

scan_lines_fn scan_lines_find(hlo_opcode_t wanted, hr_dtype_t of) {
  LOOPS(F32, f32, f32);
  LOOPS(F64, f64, f64);
  LOOPS(S32, s32, u32);
  LOOPS(U32, u32, u32);
  LOOPS(S64, s64, u64);
  LOOPS(U64, u64, u64);
  return NULL;
}
