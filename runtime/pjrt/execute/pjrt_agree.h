/* Launches over several processes: checks that all of them launch the same program. */
#ifndef PJRT_AGREE_H
#define PJRT_AGREE_H

#include "pjrt/program/pjrt_executable.h"

/* Called before each execution of rank `local` of this process, in the order of the launches.
 * Returns at once if all devices are in this process. The framework's launch number is not
 * compared: without a coordinator each process starts at another number.
 * Cost:   a message of 260 bytes to one neighbour, and one from the other.
 * Errors: DISAGREE if the previous process launches another program, with both programs and places;
 * UNAVAILABLE if it has ended. */
hr_status_t pjrt_launches_agree(pjrt_executable_t *executable, int local);

/* Sets `place`, name and source location of the program, "jit_step (train.py:41)", or the name
 * alone without metadata, in the arena; and `interface`, the digest of place and shapes. */
hr_status_t pjrt_executable_describe_place(pjrt_executable_t *executable);

#endif
