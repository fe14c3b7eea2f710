/* CRC-32 by folding (Gopal et al. 2009): 64 bytes at a time are kept as four polynomials of 128
 * bits, each multiplied by x^512 and added to the next bytes. At the end the four are folded into
 * one, and zlib continues with its 16 bytes, as the CRC of a message depends on its remainder
 * alone. Constants are x^n mod P, bit-reflected, for n = 512 +- 32 and 128 +- 32. Other processors
 * use zlib's function. */
#include "io/crc32.h"

#include <string.h>
#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define FOLD_BYTES 64
#define FOLD_MIN 256 /* below this zlib is as fast */
#define WITH_PCLMUL __attribute__((target("pclmul,sse4.1")))

static WITH_PCLMUL inline __m128i fold(__m128i sum, __m128i factors, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(sum, factors, 0x00);
  __m128i high = _mm_clmulepi64_si128(sum, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static WITH_PCLMUL inline __m128i load(const unsigned char *at) {
  return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Reduces whole blocks of 64 bytes to 16 bytes that have the same remainder. */
static WITH_PCLMUL void fold_blocks(uint32_t crc, const unsigned char *at, size_t blocks,
                                    unsigned char into[16]) {
  const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i sums[4];
  for (int k = 0; k < 4; k++) sums[k] = load(at + 16 * k);
  sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128((int)~crc));
  for (size_t b = 1; b < blocks; b++)
    for (int k = 0; k < 4; k++)
      sums[k] = fold(sums[k], by_512, load(at + b * FOLD_BYTES + (size_t)(16 * k)));
  for (int k = 1; k < 4; k++) sums[k] = fold(sums[k - 1], by_128, sums[k]);
  _mm_storeu_si128((__m128i *)(void *)into, sums[3]);
}

uint32_t hr_crc32(uint32_t crc, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  if (size >= FOLD_MIN && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
    unsigned char folded[16];
    size_t blocks = size / FOLD_BYTES;
    fold_blocks(crc, at, blocks, folded);
    at += blocks * FOLD_BYTES;
    size -= blocks * FOLD_BYTES;
    crc = (uint32_t)crc32_z(~0u, folded, sizeof folded); /* ~0 after zlib's inversion: from 0 */
  }
  return (uint32_t)crc32_z(crc, at, size);
}
#else
uint32_t hr_crc32(uint32_t crc, const void *bytes, size_t size) {
  return (uint32_t)crc32_z(crc, bytes, size);
}
#endif
