/* Digests, against those that another implementation made of the same bytes; hashes that a
 * program's text cannot steer. */
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tests/lib/unit.h"

/* Digests of bytes i % 251; Python: hashlib.blake2b(..., digest_size=16). */
static const struct {
  size_t size_bytes;
  const char *text;
} known[] = {
    {0, "cae66941d9efbd404e4d88758ea67670"},   {1, "7025e075d5e2f6cde3cc051a31f07660"},
    {3, "a75c0b0d97360c1ba783496eb6a0395a"},   {127, "28b1296c7d4807883de6ee4ec04dcc0a"},
    {128, "a74787004ef589e31149183900d0294a"}, {129, "aaf1b0371f6d4ee49ee4fb5ddd9c49ef"},
    {256, "1142c504dcd26338b7cbcf41424540d0"}, {1000, "bca120dfd89cd95d82898473a5b01c90"},
};

static void test_known_digests(void) {
  unsigned char bytes[1000];
  char text[HR_DIGEST_TEXT];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i % 251);
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    hr_digest_text(hr_digest_of(bytes, known[k].size_bytes), text);
    CU_ASSERT_STRING_EQUAL(text, known[k].text);
  }
}

static void test_pieces(void) {
  unsigned char bytes[700];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7);
  hr_digest_t whole = hr_digest_of(bytes, sizeof bytes);
  for (size_t piece = 1; piece < 300; piece += 13) {
    hr_digest_state_t state;
    hr_digest_start(&state);
    for (size_t at = 0; at < sizeof bytes; at += piece)
      hr_digest_add(&state, bytes + at, sizeof bytes - at < piece ? sizeof bytes - at : piece);
    CU_ASSERT_TRUE(hr_digest_equal(hr_digest_end(&state), whole));
  }
}

#define NAMES 64

/* Names whose second word is the state that the first one leaves behind: hr_hash_bytes forgets
 * both. */
static void make_names(uint64_t names[NAMES][3]) {
  for (uint64_t i = 0; i < NAMES; i++) {
    __uint128_t product = (__uint128_t)(sizeof names[0] * UINT64_C(0x9E3779B97F4A7C15) ^ i) *
                          UINT64_C(0xA0761D6478BD642F);
    names[i][0] = i;
    names[i][1] = (uint64_t)product ^ (uint64_t)(product >> 64);
    names[i][2] = 0;
  }
}

static void test_names_of_equal_hash(void) {
  uint64_t names[NAMES][3], steered = 0;
  int equal = 0;
  make_names(names);
  for (int i = 1; i < NAMES; i++) {
    steered +=
        hr_hash_bytes(names[i], sizeof names[i], 0) == hr_hash_bytes(names[0], sizeof names[0], 0);
    equal += hr_hash_secret(names[i], sizeof names[i]) == hr_hash_secret(names[0], sizeof names[0]);
  }
  CU_ASSERT_EQUAL(steered, NAMES - 1);
  CU_ASSERT_EQUAL(equal, 0);
}

CU_TestInfo suite_digest[] = {{"digests of known bytes", test_known_digests},
                              {"a digest of pieces is that of the whole", test_pieces},
                              {"names of equal hash", test_names_of_equal_hash},
                              CU_TEST_INFO_NULL};
