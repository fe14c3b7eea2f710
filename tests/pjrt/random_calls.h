/* Random calls of the plugin. Thread: any. */
#ifndef HLO_TESTS_RANDOM_CALLS_H
#define HLO_TESTS_RANDOM_CALLS_H

#include <stdint.h>

/* Makes one call, drawn from the thread's generator. */
void random_make_call(uint64_t *state);
/* Number of wrong values that calls have found so far. */
int random_wrong_values(void);

#endif
