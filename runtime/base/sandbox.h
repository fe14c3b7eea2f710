/* Confinement of this process by the kernel, for programs that are not trusted: a list of files
 * (Landlock, Linux 5.13) and a filter of system calls (seccomp). Both last until the process ends,
 * and threads and children inherit them.
 * Source: landlock(7), seccomp(2). */
#ifndef HR_BASE_SANDBOX_H
#define HR_BASE_SANDBOX_H

#include <stdbool.h>

#include "base/status.h"

/* The files that a process may use from hr_sandbox_files_close on. */
typedef struct hr_sandbox_files {
  int ruleset; /* descriptor of Landlock; -1: none */
  int abi;     /* Landlock's version, which decides what it can forbid */
} hr_sandbox_files_t;

typedef enum hr_sandbox_access {
  HR_SANDBOX_READ,  /* a file, or all files of a folder */
  HR_SANDBOX_WRITE, /* reading and writing; in a folder also creating, renaming and removing files
                     */
} hr_sandbox_access_t;

/* Begins a list. `tcp`: connections over TCP stay allowed.
 * Errors: UNAVAILABLE the kernel has no Landlock, or it is switched off. */
hr_status_t hr_sandbox_files_open(bool tcp, hr_sandbox_files_t *out_files);
/* Adds a file or a folder; ignores a missing one. Errors: UNAVAILABLE. */
hr_status_t hr_sandbox_files_allow(const hr_sandbox_files_t *files, const char *path,
                                   hr_sandbox_access_t access);
/* Confines the calling thread, and the threads and processes that it will start, to the list; they
 * can send signals only among themselves. Releases `files`, also after a failure.
 * Thread: the only one of the process.
 * Errors: UNAVAILABLE. */
hr_status_t hr_sandbox_files_close(hr_sandbox_files_t *files);

/* Confines all threads: no new programs and processes, no access to other processes, no change of
 * the system (mounts, namespaces, keys, clocks, modules), no input to the terminal; no sockets
 * unless `sockets`. A call that is not allowed fails with EPERM.
 * Errors: UNAVAILABLE the kernel has no seccomp, or the filter is not known for this processor. */
hr_status_t hr_sandbox_calls(bool sockets);

#endif
