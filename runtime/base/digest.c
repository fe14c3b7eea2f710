/* BLAKE2b with 16-byte digests (RFC 7693, sections 2 and 3; no key), and SipHash-1-3 (Aumasson and
 * Bernstein 2012) under a secret of the process. Words are read as the machine stores them: digests
 * are those of the RFC on little-endian machines only. */
#include "base/digest.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define BLOCK_BYTES 128
#define DIGEST_BYTES 16

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

/* Permutations of the words of a block, one a round (RFC 7693, 2.7); rounds 10 and 11 use the first
 * two again. */
static const uint8_t schedule[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t rotate_right(uint64_t x, int by) { return x >> by | x << (64 - by); }
static uint64_t rotate_left(uint64_t x, int by) { return x << by | x >> (64 - by); }

/* BLAKE2b's G function (RFC 7693, 3.1), with rotations 32, 24, 16 and 63. */
static void mix_words(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = rotate_right(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = rotate_right(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = rotate_right(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotate_right(v[b] ^ v[c], 63);
}

/* BLAKE2b's F function: twelve rounds, columns then diagonals of the 4 x 4 state. */
static void compress(hr_digest_state_t *state, const unsigned char *block, bool is_last) {
  uint64_t v[16], m[16];
  memcpy(m, block, BLOCK_BYTES);
  memcpy(v, state->chain, sizeof state->chain);
  memcpy(v + 8, initial, sizeof initial);
  v[12] ^= state->hashed_bytes;
  if (is_last) v[14] = ~v[14];
  for (int round = 0; round < 12; round++) {
    const uint8_t *s = schedule[round % 10];
    for (int i = 0; i < 4; i++) mix_words(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
    for (int i = 0; i < 4; i++)
      mix_words(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]],
                m[s[9 + 2 * i]]);
  }
  for (int i = 0; i < 8; i++) state->chain[i] ^= v[i] ^ v[8 + i];
}

void hr_digest_start(hr_digest_state_t *state) {
  memset(state, 0, sizeof *state);
  memcpy(state->chain, initial, sizeof initial);
  state->chain[0] ^= 0x01010000 ^ DIGEST_BYTES; /* parameter block: no key, one leaf */
}

/* A full buffer is hashed only when more bytes come: the last block is compressed with its own
 * flag. */
void hr_digest_add(hr_digest_state_t *state, const void *bytes, size_t size_bytes) {
  const unsigned char *at = bytes;
  while (size_bytes) {
    if (state->buffered_bytes == BLOCK_BYTES) {
      state->hashed_bytes += BLOCK_BYTES;
      compress(state, state->buffer, false);
      state->buffered_bytes = 0;
    }
    size_t room = BLOCK_BYTES - state->buffered_bytes, part = size_bytes < room ? size_bytes : room;
    memcpy(state->buffer + state->buffered_bytes, at, part);
    state->buffered_bytes += part;
    at += part;
    size_bytes -= part;
  }
}

/* The last block is padded with zeros; the count of bytes tells its length. */
hr_digest_t hr_digest_end(hr_digest_state_t *state) {
  memset(state->buffer + state->buffered_bytes, 0, BLOCK_BYTES - state->buffered_bytes);
  state->hashed_bytes += state->buffered_bytes;
  compress(state, state->buffer, true);
  return (hr_digest_t){{state->chain[0], state->chain[1]}};
}

hr_digest_t hr_digest_of(const void *bytes, size_t size_bytes) {
  hr_digest_state_t state;
  hr_digest_start(&state);
  hr_digest_add(&state, bytes, size_bytes);
  return hr_digest_end(&state);
}

void hr_digest_text(hr_digest_t digest, char text[HR_DIGEST_TEXT]) {
  for (int i = 0; i < DIGEST_BYTES; i++)
    snprintf(text + 2 * i, 3, "%02x", (unsigned)(digest.words[i / 8] >> (i % 8 * 8) & 0xff));
}

/* --- tables --- */

static uint64_t secret[2];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

/* Early in boot the kernel may have no random numbers yet: time, process and address then serve. */
static void make_secret(void) {
  if (getrandom(secret, sizeof secret, GRND_NONBLOCK) == (ssize_t)sizeof secret) return;
  uint64_t guess[] = {hr_clock_realtime_ns(), (uint64_t)getpid(), (uintptr_t)&secret_once};
  memcpy(secret, hr_digest_of(guess, sizeof guess).words, sizeof secret);
}

/* SipRound; SipHash-1-3 does one of them per word and three at the end. */
static inline void sip_round(uint64_t v[4]) {
  v[0] += v[1];
  v[2] += v[3];
  v[1] = rotate_left(v[1], 13) ^ v[0];
  v[3] = rotate_left(v[3], 16) ^ v[2];
  v[0] = rotate_left(v[0], 32);
  v[2] += v[1];
  v[0] += v[3];
  v[1] = rotate_left(v[1], 17) ^ v[2];
  v[3] = rotate_left(v[3], 21) ^ v[0];
  v[2] = rotate_left(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  sip_round(v);
  v[0] ^= word;
}

/* The last word has the size in its top byte. */
uint64_t hr_hash_secret(const void *bytes, size_t size_bytes) {
  pthread_once(&secret_once, make_secret);
  const unsigned char *at = bytes;
  uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du,
                   secret[0] ^ 0x6c7967656e657261u, secret[1] ^ 0x7465646279746573u};
  uint64_t word, last = 0;
  for (size_t left = size_bytes; left >= 8; left -= 8, at += 8) {
    memcpy(&word, at, 8);
    sip_word(v, word);
  }
  if (size_bytes % 8) memcpy(&last, at, size_bytes % 8); /* `bytes` of the empty name may be NULL */
  sip_word(v, last | (uint64_t)size_bytes << 56);
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++) sip_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
