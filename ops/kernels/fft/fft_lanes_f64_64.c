/* fft_lanes for double and vectors of 64 bytes: AVX-512. */
#include <math.h>
#include <string.h>

#include "ops/kernels/fft/fft_lanes_plan.h"
#include "ops/kernels/simd/simd_square.h"

#if HR_HAS_CLONES
#pragma GCC optimize("O3,fp-contract=fast")
#pragma GCC target("arch=x86-64-v4")
#define T double
#define BYTES 64
#define CODE fft_lanes_code_f64_64
#include "ops/kernels/fft/fft_lanes_template.h"
#endif
