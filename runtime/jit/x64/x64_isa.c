/* The processors that the back end supports, and what differs between them. */
#include "jit/x64/x64.h"
#include "jit/x64/x64_code.h"
#include "jit/x64/x64_expand.h"

const kir_target_t x64_avx512_target = {.simplifies = true, .expand = x64_expand};
const kir_target_t x64_avx2_target = {.simplifies = true, .expand = x64_expand_avx2};

/* By permutes_bytes and counts_bits. */
#define AVX512(permutes, counts)                                                                \
  {                                                                                             \
    .has_evex = true, .vector_bits = 512, .full_width = 2, .scratch_vector = 29,                \
    .hoisted_max = 10, .spilled_max = {[X64_GPR] = 0.3, [X64_VECTOR] = 0.3, [X64_MASK] = 0.15}, \
    .permutes_bytes = permutes, .counts_bits = counts                                           \
  }
static const x64_isa_t avx512[2][2] = {{AVX512(false, false), AVX512(false, true)},
                                       {AVX512(true, false), AVX512(true, true)}};
static const x64_isa_t avx2 = {.vector_bits = 256,
                               .full_width = 1,
                               .scratch_vector = 13,
                               .hoisted_max = 4,
                               .spills_long = true,
                               .spilled_max = {[X64_GPR] = 0.6, [X64_VECTOR] = 2, [X64_MASK] = 1}};

const kir_target_t *x64_kir_target(const jit_target_t *target) {
#if defined(__x86_64__)
  if (target->has_masks && target->vector_bytes == 64) return &x64_avx512_target;
  bool has_counts = __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("lzcnt");
  bool is_avx2 = target->vector_bytes == 32 && target->has_fma && target->has_f16 && has_counts;
  return is_avx2 ? &x64_avx2_target : NULL;
#else
  (void)target;
  return NULL;
#endif
}

bool x64_is_supported(const jit_target_t *target) { return x64_kir_target(target) != NULL; }

#if defined(__x86_64__)
const x64_isa_t *x64_isa(const kir_module_t *module) {
  if (module->target == &x64_avx2_target) return &avx2;
  bool permutes = __builtin_cpu_supports("avx512vbmi");
  bool counts = __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bitalg");
  return &avx512[permutes][counts];
}
#else
const x64_isa_t *x64_isa(const kir_module_t *module) {
  (void)module;
  return &avx2;
}
#endif
