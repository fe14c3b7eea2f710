/* CRC-32C (Castagnoli), the check sum of TensorFlow's checkpoints. Thread: any. */
#ifndef TF_CRC32C_H
#define TF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t size);

/* As the files store it: rotated and shifted, so that sums of data with sums in it differ. */
static inline uint32_t crc32c_masked(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

#endif
