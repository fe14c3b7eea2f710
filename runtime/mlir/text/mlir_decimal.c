/* Decimal digits of floats as printed by MLIR. The number is written as an integer N times a power
 * of ten. Low decimal digits of a long N are dropped first, by a bound from its size in bits, and
 * the rest is rounded to the wanted number of digits. So the last digit is not always the nearest
 * one, and differs from printf's. */
#include <math.h>
#include <string.h>

#include "mlir/text/mlir_print.h"

/* 53 bits times 5^1074, in words of 32 bits, the lowest first. */
#define MAX_WORDS 84
#define MAX_DIGITS 800

typedef struct big {
  uint32_t words[MAX_WORDS];
  int count; /* without leading zeros */
} big_t;

/* Multiplies in place; the carry becomes a new word. */
static void multiply(big_t *big, uint32_t factor) {
  uint64_t carry = 0;
  for (int i = 0; i < big->count; i++) {
    carry += (uint64_t)big->words[i] * factor;
    big->words[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) big->words[big->count++] = (uint32_t)carry;
}

/* Divides in place and returns the remainder, the last decimal digit; O(words). */
static int divide_by_ten(big_t *big) {
  uint64_t rest = 0;
  for (int i = big->count - 1; i >= 0; i--) {
    rest = rest << 32 | big->words[i];
    big->words[i] = (uint32_t)(rest / 10);
    rest %= 10;
  }
  while (big->count && !big->words[big->count - 1]) big->count--;
  return (int)rest;
}

/* Position of the highest bit that is set, from 1; 0 for zero. */
static int bit_count(const big_t *big) {
  return big->count ? 32 * big->count - __builtin_clz(big->words[big->count - 1]) : 0;
}

/* value = N * 10^power. A negative binary exponent is traded for factors of 5: m * 2^-e = m * 5^e
 * * 10^-e. N has at most 53 bits times 5^1074, hence MAX_WORDS. */
static void make_big(double value, big_t *big, int *out_power) {
  int exponent;
  uint64_t odd = (uint64_t)ldexp(frexp(value, &exponent), 53);
  int zeros = __builtin_ctzll(odd);
  odd >>= zeros;
  exponent += zeros - 53;
  *big = (big_t){{(uint32_t)odd, (uint32_t)(odd >> 32)}, odd >> 32 ? 2 : 1};
  *out_power = exponent < 0 ? exponent : 0;
  for (; exponent > 0; exponent--) multiply(big, 2);
  for (; exponent < 0; exponent++) multiply(big, 5);
}

/* Drops low digits that do not affect the `wanted` first ones: a number of b bits has more than
 * 59/196 b digits. */
static void drop_digits(big_t *big, int wanted, int *power) {
  int needed = (wanted * 196 + 58) / 59;
  int bits = bit_count(big);
  if (bits <= needed) return;
  int dropped = (bits - needed) * 59 / 196;
  for (int i = 0; i < dropped; i++) divide_by_ten(big);
  *power += dropped;
}

/* Rounds digits (most significant first) to `wanted`, ties up, and removes trailing zeros. */
static int round_digits(char *digits, int count, int wanted, int *first_power) {
  bool up = count > wanted && digits[wanted] >= '5';
  if (count > wanted) count = wanted;
  while (up && count && digits[count - 1] == '9') count--;
  if (up && !count) {
    digits[count++] = '1';
    ++*first_power;
  } else if (up) {
    digits[count - 1]++;
  }
  while (count > 1 && digits[count - 1] == '0') count--;
  return count;
}

/* Digits come out least significant first, by division by ten, and are reversed. */
int mlir_decimal_digits(double value, int wanted, char digits[MLIR_DECIMAL_DIGITS],
                        int *out_power) {
  char reversed[MAX_DIGITS], ordered[MAX_DIGITS];
  big_t big;
  int power, count = 0;
  if (value == 0) {
    digits[0] = '0';
    *out_power = 0;
    return 1;
  }
  make_big(fabs(value), &big, &power);
  drop_digits(&big, wanted, &power);
  while (big.count && count < MAX_DIGITS) reversed[count++] = (char)('0' + divide_by_ten(&big));
  for (int i = 0; i < count; i++) ordered[i] = reversed[count - 1 - i];
  *out_power = power + count - 1;
  count = round_digits(ordered, count, wanted, out_power);
  memcpy(digits, ordered, (size_t)count);
  return count;
}
