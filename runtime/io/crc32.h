/* CRC-32 of zip files, like zlib's crc32_z, at memory bandwidth on processors with carry-less
 * multiplication. Thread: any. */
#ifndef HR_IO_CRC32_H
#define HR_IO_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t hr_crc32(uint32_t crc, const void *bytes, size_t size);

#endif
