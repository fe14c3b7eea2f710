#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 64
#define ROUNDS 64

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t round_constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static uint32_t big_endian(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void expand(const unsigned char *block, uint32_t words[ROUNDS]) {
  for (int t = 0; t < 16; t++) words[t] = big_endian(block + 4 * t);
  for (int t = 16; t < ROUNDS; t++) {
    uint32_t a = words[t - 2], b = words[t - 15];
    words[t] = (rotate(a, 17) ^ rotate(a, 19) ^ a >> 10) + words[t - 7] +
               (rotate(b, 7) ^ rotate(b, 18) ^ b >> 3) + words[t - 16];
  }
}

/* s: the working variables a to h. */
static void compress(uint32_t state[8], const unsigned char *block) {
  uint32_t words[ROUNDS], s[8];
  expand(block, words);
  memcpy(s, state, sizeof s);
  for (int t = 0; t < ROUNDS; t++) {
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t first = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choice +
                     round_constants[t] + words[t];
    uint32_t second = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

void hr_sha256_init(hr_sha256_t *sha) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  *sha = (hr_sha256_t){.size_bytes = 0};
  memcpy(sha->state, first, sizeof first);
}

void hr_sha256_add(hr_sha256_t *sha, const void *bytes, size_t size_bytes) {
  const unsigned char *at = bytes;
  size_t used = sha->size_bytes % BLOCK_BYTES;
  sha->size_bytes += size_bytes;
  while (size_bytes) {
    size_t part = size_bytes < BLOCK_BYTES - used ? size_bytes : BLOCK_BYTES - used;
    memcpy(sha->block + used, at, part);
    at += part;
    size_bytes -= part;
    used = (used + part) % BLOCK_BYTES;
    if (!used) compress(sha->state, sha->block);
  }
}

void hr_sha256_text(hr_sha256_t *sha, char into[HR_SHA256_TEXT]) {
  unsigned char end[BLOCK_BYTES + 8] = {0x80};
  uint64_t bits = sha->size_bytes * 8;
  size_t used = sha->size_bytes % BLOCK_BYTES, zeros = (BLOCK_BYTES + 55 - used) % BLOCK_BYTES;
  for (int i = 0; i < 8; i++) end[1 + zeros + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
  hr_sha256_add(sha, end, 1 + zeros + 8);
  for (int i = 0; i < 8; i++) snprintf(into + 8 * i, 9, "%08x", sha->state[i]);
}
