/* fft_lanes for float and vectors of 32 bytes: AVX2 and FMA. */
#include <math.h>
#include <string.h>

#include "ops/kernels/fft/fft_lanes_plan.h"
#include "ops/kernels/simd/simd_square.h"

#if HR_HAS_CLONES
#pragma GCC optimize("O3,fp-contract=fast")
#pragma GCC target("avx2,fma")
#define T float
#define BYTES 32
#define CODE fft_lanes_code_f32_32
#include "ops/kernels/fft/fft_lanes_template.h"
#endif
