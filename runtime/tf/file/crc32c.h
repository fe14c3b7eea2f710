/* CRC-32C (Castagnoli), the check sum of TensorFlow's checkpoints. Thread: any. */
#ifndef TF_CRC32C_H
#define TF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The plain sum of the bytes; the sum of no bytes is 0. */
uint32_t crc32c(const void *bytes, size_t size);

/* The masked form that the files store, so that sums of data that contain sums are not degenerate.
 * The rotation is by 15 bits to the right and 0xa282ead8 is added modulo 2^32. Source: the masks
 * of LevelDB's table format, crc32c.h. */
static inline uint32_t crc32c_masked(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

#endif
