/* CRC-32C by the processor's instruction where there is one (8 bytes each), else by a table of the
 * 256 remainders, made at the first use. The polynomial is 0x1edc6f41, reflected. */
#include "tf/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
}

static uint32_t crc_by_table(uint32_t crc, const unsigned char *at, size_t size) {
  pthread_once(&table_once, make_table);
  for (size_t i = 0; i < size; i++) crc = (crc >> 8) ^ table[(crc ^ at[i]) & 255];
  return crc;
}

#ifdef __x86_64__
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

uint32_t crc32c(const void *bytes, size_t size) {
  const unsigned char *at = bytes;
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return ~crc_by_instruction(~0u, at, size);
#endif
  return ~crc_by_table(~0u, at, size);
}
