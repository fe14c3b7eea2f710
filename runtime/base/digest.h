/* Hashes that nobody can steer: BLAKE2b (RFC 7693), by which files and agreements of processes are
 * named, and SipHash-1-3 under a secret of the process, by which tables spread names that a
 * program's text chooses. */
#ifndef HR_BASE_DIGEST_H
#define HR_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HR_DIGEST_TEXT 33 /* bytes of a digest as text, with the NUL */

/* 128 bits. Two texts of equal digest take 2^64 attempts to find. */
typedef struct hr_digest {
  uint64_t words[2];
} hr_digest_t;

/* hr_digest_start, hr_digest_add for each piece, hr_digest_end: of the pieces one after the other.
 */
typedef struct hr_digest_state {
  uint64_t chain[8];
  uint64_t hashed_bytes;
  size_t held_bytes;
  unsigned char cleanups[128];
} hr_digest_state_t;

void hr_digest_start(hr_digest_state_t *state);
void hr_digest_add(hr_digest_state_t *state, const void *bytes, size_t size_bytes);
hr_digest_t hr_digest_end(hr_digest_state_t *state);

hr_digest_t hr_digest_of(const void *bytes, size_t size_bytes);
static inline bool hr_digest_equal(hr_digest_t a, hr_digest_t b) {
  return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}
/* 32 hexadecimal digits, as other tools print BLAKE2b of 16 bytes. */
void hr_digest_text(hr_digest_t digest, char text[HR_DIGEST_TEXT]);

/* A hash for tables of this process: other processes, and other runs, have other ones. Thread: any.
 */
uint64_t hr_hash_secret(const void *bytes, size_t size_bytes);
/* A number of this process that nobody knows: the seed of other hashes for tables. */
uint64_t hr_hash_seed(void);

#endif
