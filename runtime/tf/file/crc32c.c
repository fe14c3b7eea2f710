/* CRC-32C by the processor's instruction where there is one (8 bytes each), else by a table of the
 * 256 remainders, made at the first use. The polynomial is 0x1edc6f41, reflected. */
#include "tf/file/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* The table is indexed by the low byte of the running sum. Entry i is the remainder of the byte
 * i shifted out of the register, so that one look-up advances the sum by 8 bits. */
static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* The constant 0x82f63b78 is the polynomial 0x1edc6f41 with its 32 bits reversed, as the sum
 * takes the least significant bit of each byte first. */
static void make_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
}

/* The running sum comes in and goes out without the final complement, which crc32c() applies. */
static uint32_t crc_by_table(uint32_t crc, const unsigned char *at, size_t size) {
  pthread_once(&table_once, make_table);
  for (size_t i = 0; i < size; i++) crc = (crc >> 8) ^ table[(crc ^ at[i]) & 255];
  return crc;
}

#ifdef __x86_64__
/* SSE 4.2 has an instruction for exactly this polynomial, with the same bit order and without
 * the complements. memcpy loads the word, as the bytes of a tensor need not be aligned. */
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc,
                                                                     const unsigned char *at,
                                                                     size_t size) {
  uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = (uint32_t)wide;
  for (; size; at++, size--) crc = __builtin_ia32_crc32qi(crc, *at);
  return crc;
}
#endif

/* The register starts as all ones and the result is complemented, as RFC 3720 (iSCSI) defines
 * CRC-32C: the sum of "123456789" is 0xe3069283. */
uint32_t crc32c(const void *bytes, size_t size) {
  const unsigned char *at = bytes;
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return ~crc_by_instruction(~0u, at, size);
#endif
  return ~crc_by_table(~0u, at, size);
}
