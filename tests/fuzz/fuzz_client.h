/* What the fuzz targets that run programs share: a client, and what every status must be. */
#ifndef TESTS_FUZZ_FUZZ_CLIENT_H
#define TESTS_FUZZ_FUZZ_CLIENT_H

#include "hlorun.h"

/* Ends the target, as a crash does. */
void fuzz_fail(const char *what) __attribute__((noreturn));
/* Releases the status; true for success. A failure must be the input's, not the library's, and have
 * a message, an exit code and a text. */
bool fuzz_is_fine(hlorun_status_t status);
/* A client of one process and one thread, without a cache. */
hlorun_client_t *fuzz_client(hlorun_engine_t engine);

#endif
