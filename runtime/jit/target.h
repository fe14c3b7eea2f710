/* The processor that code is made for: this machine's. */
#ifndef JIT_TARGET_H
#define JIT_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct jit_target {
  int vector_bytes; /* of the widest vectors that pay: 64, 32 or 16 */
  int vector_count; /* of vector registers: 16 or 32 */
  bool has_fma;     /* a * b + c, rounded once, is one instruction */
  bool has_masks;   /* masked loads and stores cost no more than plain ones (AVX-512) */
  bool has_gather;
  bool divides_slowly; /* a guess of 1 / x made better is quicker than a division (AVX-512 of Intel)
                        */
  bool has_f16;        /* conversions between f16 and f32 */
  char host[192]; /* processor and features: code made under the same text runs here; for cache keys
                   */
} jit_target_t;

/* This machine; HLORUN_VECTOR=16|32|64 makes vectors narrower, with the features that go with them.
 * Thread: any. */
const jit_target_t *jit_target_host(void);
/* The same machine with vectors of no more than so many bytes, for tests: what an older processor
 * would run. */
jit_target_t jit_target_narrowed(int vector_bytes);

#endif
