/* The folder of mpirun's session files, which mpirun leaves behind when it is killed. */
#ifndef CLI_SESSION_FOLDER_H
#define CLI_SESSION_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#define CLI_SESSION_VARIABLE "OMPI_MCA_orte_tmpdir_base" /* names the folder to mpirun */

/* Makes a folder in $TMPDIR and names it to mpirun. False if the user has named one, or none can be
 * made: mpirun then uses that one, or its default. */
bool cli_session_folder_make(char path[PATH_MAX]);
/* Removes a folder with everything in it; links in it are not followed. */
void cli_session_folder_remove(const char *path);

#endif
