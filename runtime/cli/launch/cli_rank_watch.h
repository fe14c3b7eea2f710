/* Watches the ranks that mpirun has started on this host, from the process that started mpirun.
 * Finds ranks that have ended, also if mpirun does not notice (it may hang when a rank dies before
 * MPI has started), and without mpirun's messages, which --quiet hides. Ranks on other hosts are
 * not watched. */
#ifndef CLI_RANK_WATCH_H
#define CLI_RANK_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_rank_watch cli_rank_watch_t;

/* Starts to watch the children of that process. NULL if memory runs out; all functions accept NULL
 * and then find nothing. Owner: the caller. */
cli_rank_watch_t *cli_rank_watch_create(pid_t launcher);
void cli_rank_watch_destroy(cli_rank_watch_t *watch);

/* Sleeps until a rank or the launcher ends, a signal arrives, or for `ms`. Also adds new ranks. */
void cli_rank_watch_wait(cli_rank_watch_t *watch, int ms);
/* Finds new ranks and stopped ones. */
void cli_rank_watch_look(cli_rank_watch_t *watch);
/* Number of ranks that have been seen. */
int cli_rank_watch_count(const cli_rank_watch_t *watch);
/* True if the launcher and all ranks of this host have an action for the signal, which does not end
 * them; also if that cannot be known. */
bool cli_rank_watch_takes(const cli_rank_watch_t *watch, int signal_number);
/* Results of the last cli_rank_watch_look: the lowest rank that was not stopped, -1: none; a line
 * on standard error for each stopped one. */
int cli_rank_watch_first_running(const cli_rank_watch_t *watch);
void cli_rank_watch_tell_stopped(const cli_rank_watch_t *watch);
/* The first rank that ended without reporting its exit code (cli_exit_code.h); -1: none. */
int cli_rank_watch_lost(const cli_rank_watch_t *watch);
/* Finds new ranks and those that have ended, without a wait; returns cli_rank_watch_lost. */
int cli_rank_watch_find_lost(cli_rank_watch_t *watch);
/* The folder of the launcher's files; NULL: not known, as no rank has been seen. */
const char *cli_rank_watch_session(const cli_rank_watch_t *watch);
/* True if the launcher was seen alive and has ended. */
bool cli_rank_watch_launcher_ended(const cli_rank_watch_t *watch);
/* The launcher is ending the ranks: if only one of them was never seen, it is the lost one. */
void cli_rank_watch_note_termination(cli_rank_watch_t *watch);
/* Waits at most `ms` for the launcher to end, then calls `warn`, ends it by SIGKILL, and removes
 * its folder of files. */
void cli_rank_watch_end_launcher(const cli_rank_watch_t *watch, int ms, void (*warn)(void));
/* After the launcher has ended: waits at most `ms` for the ranks to end, kills the others, and
 * removes files that the launcher has left. */
void cli_rank_watch_finish(cli_rank_watch_t *watch, int ms);

#endif
