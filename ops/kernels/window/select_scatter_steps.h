/* Select-and-scatter of floats for one width of vectors and one type (simd_foreach_real.h). Every
 * element of the window is written, the selected ones changed. */

typedef SIMD_REAL SIMD_NAME(lanes)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
/* Integers of that size. */
typedef __typeof__(_Generic((SIMD_REAL)0, float
                            : (int32_t)0, double
                            : (int64_t)0)) SIMD_NAME(integer);
typedef SIMD_NAME(integer) SIMD_NAME(choices) __attribute__((vector_size(SIMD_BYTES)));

/* Selects and adds a vector at a time. Returns the first lane that is left. */
#define DEFINE_STEPS(direction, keeps)                                                   \
  SIMD_TARGET static int64_t SIMD_NAME(steps_##direction)(const select_block_t *block) { \
    typedef SIMD_NAME(lanes) lanes_t;                                                    \
    typedef SIMD_NAME(choices) choices_t;                                                \
    enum { STEP = SIMD_BYTES / sizeof(SIMD_REAL) };                                      \
    int64_t l = 0;                                                                       \
    for (; l + STEP <= block->lanes; l += STEP) {                                        \
      const SIMD_REAL *operand = (const SIMD_REAL *)block->operand + l;                  \
      lanes_t source = *(const lanes_t *)((const SIMD_REAL *)block->source + l);         \
      lanes_t best = *(const lanes_t *)(operand + block->offsets[0]);                    \
      choices_t chosen = {0}, number = {0};                                              \
      for (int64_t p = 1; p < block->count; p++) {                                       \
        lanes_t next = *(const lanes_t *)(operand + block->offsets[p]);                  \
        choices_t kept = (choices_t)(best keeps next);                                   \
        number += 1;                                                                     \
        best = (lanes_t)(((choices_t)best & kept) | ((choices_t)next & ~kept));          \
        chosen = (chosen & kept) | (number & ~kept);                                     \
      }                                                                                  \
      number = (choices_t){0};                                                           \
      for (int64_t p = 0; p < block->count; p++, number += 1) {                          \
        lanes_t *to = (lanes_t *)((SIMD_REAL *)block->out + l + block->offsets[p]);      \
        choices_t is = (choices_t)(chosen == number);                                    \
        lanes_t sum = *to + source;                                                      \
        *to = (lanes_t)(((choices_t)sum & is) | ((choices_t)*to & ~is));                 \
      }                                                                                  \
    }                                                                                    \
    return l;                                                                            \
  }
DEFINE_STEPS(ge, >=)
DEFINE_STEPS(gt, >)
DEFINE_STEPS(le, <=)
DEFINE_STEPS(lt, <)
#undef DEFINE_STEPS
