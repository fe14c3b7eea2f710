/* A function that a program calls by name:
 *   cc -shared -fPIC -o collatz.so collatz.c
 *   hlorun --plugin ./collatz.so --input 0='s32[4]{1,7,27,97}' collatz.hlo */
#include <stdint.h>

/* (s32[4] steps, s32[4] highest) of s32[4] start: how many steps to 1, and the highest number on
 * the way. */
void collatz(void *out, void **in) {
  const int32_t *start = in[0];
  int32_t *steps = ((void **)out)[0], *highest = ((void **)out)[1];
  for (int i = 0; i < 4; i++) {
    int64_t n = start[i], most = n;
    for (steps[i] = 0; n > 1; steps[i]++) {
      n = n % 2 ? 3 * n + 1 : n / 2;
      most = n > most ? n : most;
    }
    highest[i] = (int32_t)most;
  }
}
