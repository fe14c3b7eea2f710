/* The ranks that mpirun has started on this host, seen by the process that started mpirun: which of
 * them has ended, also where mpirun does not notice (it may hang when a rank dies before MPI is
 * up), and without its messages, which --quiet hides. Ranks on other hosts are not seen. */
#ifndef CLI_RANK_WATCH_H
#define CLI_RANK_WATCH_H

#include <sys/types.h>

typedef struct cli_rank_watch cli_rank_watch_t;

/* Begins to watch the children of that process. NULL without memory: all functions accept that, and
 * see nothing. Owner: the caller. */
cli_rank_watch_t *cli_rank_watch_create(pid_t launcher);
void cli_rank_watch_destroy(cli_rank_watch_t *watch);

/* Sleeps until a rank or the launcher ends, a signal comes, or for `ms`; ranks that were started
 * since are watched from then on. */
void cli_rank_watch_wait(cli_rank_watch_t *watch, int ms);
/* Finds ranks that were started since, and those that are stopped. */
void cli_rank_watch_look(cli_rank_watch_t *watch);
/* Of the last look: the lowest rank that was not stopped, -1: none; and a line on standard error
 * for each that was. */
int cli_rank_watch_first_running(const cli_rank_watch_t *watch);
void cli_rank_watch_tell_stopped(const cli_rank_watch_t *watch);
/* The first rank that ended without telling its exit code (cli_exit_code.h); -1: none. */
int cli_rank_watch_lost(const cli_rank_watch_t *watch);
/* After the launcher has ended: waits `ms` at most for the ranks to end, and kills the others. */
void cli_rank_watch_finish(cli_rank_watch_t *watch, int ms);

#endif
