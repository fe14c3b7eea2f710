/* The processor that code is generated for: the host. */
#ifndef JIT_TARGET_H
#define JIT_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct jit_target {
  int vector_bytes;     /* width of vectors: 64, 32 or 16 */
  int vector_count;     /* number of vector registers: 16 or 32 */
  int interleave_count; /* most vectors that are computed together, as a chain of dependent
                           instructions leaves the processor idle: 1, or 4 with 32 registers, or
                           where LLVM orders them for 16 registers, else 2 with AVX2 */
  bool has_fma;         /* a * b + c, rounded once, is one instruction */
  bool has_masks;       /* masked loads and stores cost no more than plain ones (AVX-512) */
  bool has_gather;
  bool has_f16;            /* conversions between f16 and f32 */
  bool has_f16_arithmetic; /* on vectors of f16 (AVX512-FP16) */
  char host[192]; /* processor and features, for cache keys: equal texts run each other's code */
} jit_target_t;

/* Is all code left to LLVM (HLORUN_X64=0)? */
bool jit_target_wants_llvm(void);
/* This machine; HLORUN_VECTOR=16|32|64 makes vectors narrower, with the features that go with them.
 * Thread: any. */
const jit_target_t *jit_target_host(void);
/* The same machine with vectors of at most `vector_bytes`, for tests: the code of an older
 * processor. */
jit_target_t jit_target_narrowed(int vector_bytes);

#endif
