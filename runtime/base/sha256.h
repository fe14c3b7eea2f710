/* SHA-256 of bytes, for what must not be mistaken for something else, even on purpose.
 * Thread: one at a time. Source: FIPS 180-4, section 6.2. */
#ifndef HR_BASE_SHA256_H
#define HR_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define HR_SHA256_TEXT 65 /* bytes of the digest in hexadecimal, with the NUL */

typedef struct hr_sha256 {
  uint32_t state[8];
  uint64_t size_bytes;
  unsigned char block[64]; /* bytes that do not fill a block yet */
} hr_sha256_t;

void hr_sha256_init(hr_sha256_t *sha);
void hr_sha256_add(hr_sha256_t *sha, const void *bytes, size_t size_bytes);
void hr_sha256_text(hr_sha256_t *sha, char into[HR_SHA256_TEXT]); /* ends the message */

#endif
