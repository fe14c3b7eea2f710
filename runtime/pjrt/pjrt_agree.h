/* Launches over several processes: do all of them launch the same program? */
#ifndef PJRT_AGREE_H
#define PJRT_AGREE_H

#include "pjrt/pjrt_executable.h"

/* Called before each execution of a rank, which is number `local` of this process's, in the order
 * of the launches. It returns at once where all devices are of this process. The framework's number
 * of a launch is not compared: without a coordinator each process counts from a number of its own.
 * Cost:   a message of 260 bytes to one neighbour, and one from the other.
 * Errors: DISAGREE if the process before this one launches another program, with both programs and
 *         places; UNAVAILABLE if it has ended. */
hr_status_t pjrt_launches_agree(pjrt_executable_t *executable, int local);

/* Name and place in the source of the caller, "jit_step (train.py:41)", in the arena; the name
 * alone if the program does not say. With them, the digest of the program's interface. */
hr_status_t pjrt_executable_describe_place(pjrt_executable_t *executable);

#endif
