/* Cryptographic hashes: BLAKE2b (RFC 7693), to identify files, programs and agreements of
 * processes; SipHash-1-3 with a secret key per process, for hash tables whose keys come from a
 * program's text.
 * Thread: any; a state belongs to one thread at a time. */
#ifndef HR_BASE_DIGEST_H
#define HR_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HR_DIGEST_TEXT 33 /* bytes of a digest as text, with the NUL */

/* 128 bits: a collision takes about 2^64 attempts. */
typedef struct hr_digest {
  uint64_t words[2];
} hr_digest_t;

/* Incremental hashing: hr_digest_start, hr_digest_add for each piece, hr_digest_end. Pieces are
 * concatenated. */
typedef struct hr_digest_state {
  uint64_t chain[8];         /* chaining value */
  uint64_t hashed_bytes;     /* bytes compressed into chain */
  size_t buffered_bytes;     /* bytes in buffer */
  unsigned char buffer[128]; /* the last, perhaps incomplete block */
} hr_digest_state_t;

void hr_digest_start(hr_digest_state_t *state);
void hr_digest_add(hr_digest_state_t *state, const void *bytes, size_t size_bytes);
hr_digest_t hr_digest_end(hr_digest_state_t *state);

hr_digest_t hr_digest_of(const void *bytes, size_t size_bytes);
static inline bool hr_digest_equal(hr_digest_t a, hr_digest_t b) {
  return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}
/* 32 hexadecimal digits, the usual text form of a 16-byte BLAKE2b. */
void hr_digest_text(hr_digest_t digest, char text[HR_DIGEST_TEXT]);

/* Keyed hash for tables: differs between processes and runs. */
uint64_t hr_hash_secret(const void *bytes, size_t size_bytes);

#endif
