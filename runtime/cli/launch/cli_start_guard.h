/* Names the rank that ends while MPI is starting under an mpirun of the user's. Open MPI's mpirun
 * names only ranks that end later, and its own end may be a deadlock (4.1.4, in
 * PMIx_server_finalize).
 *
 * Ranks 0 and 1 each start a process that looks after all ranks of the machine until MPI has
 * started; it is not confined by --sandbox, which hides other processes. No effect under other
 * launchers, and on several hosts, where mpirun ends ranks by processes of its own. */
#ifndef CLI_START_GUARD_H
#define CLI_START_GUARD_H

/* At the start of the command: if mpirun ends this process while MPI is starting, it lingers, so
 * that others still see which rank was the first to end. Also under `hlorun -n` over mpirun. */
void cli_start_guard_linger(void);
/* Starts the process. Called before the sandbox is entered and threads are started. */
void cli_start_guard_open(void);
/* From here on ranks that have ended are named, and an mpirun that hangs is killed. */
void cli_start_guard_begin(void);
/* MPI has started, or this process ends with a message of its own. */
void cli_start_guard_close(void);

#endif
