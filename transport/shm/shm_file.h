/* The file whose memory the processes of a machine share (layout: shm.h). Functions set or read the
 * members of tp_shm_t from `fd` to `heap_bytes`; they are called by one thread, before other
 * threads know the tp_shm_t. */
#ifndef TP_SHM_FILE_H
#define TP_SHM_FILE_H

#include "transport/shm/shm.h"

#define TP_SHM_CONTROL_BLOCKS 8192 /* most groups and pipes */

/* Folder of the file. NONE: a memfd, which needs no space in a file system. */
typedef enum tp_shm_dir {
  TP_SHM_DIR_NONE,
  TP_SHM_DIR_SHARED,    /* /dev/shm */
  TP_SHM_DIR_TEMPORARY, /* $TMPDIR, or /tmp */
  TP_SHM_DIR_COUNT
} tp_shm_dir_t;

/* Sizes of the parts of a file for `local_size` processes; a limit of addresses (ulimit -v) counts.
 */
void tp_shm_file_choose_sizes(tp_shm_t *shm, int local_size);
size_t tp_shm_rank_states_bytes(const tp_shm_t *shm);
char *tp_shm_heap_start(const tp_shm_t *shm, int local); /* in the mapping */

/* The name of the file that the process with this random number creates. */
void tp_shm_file_name(tp_shm_t *shm, uint64_t number, tp_shm_dir_t dir);
/* Create and open set shm->fd, to -1 where that fails. A memfd is opened through the descriptor
 * `process_fd` of the process that created it. */
void tp_shm_file_create(tp_shm_t *shm, tp_shm_dir_t dir);
void tp_shm_file_open(tp_shm_t *shm, tp_shm_dir_t dir, int process, int process_fd);

/* Maps the file with the sizes that its creator chose, and locks the byte that says that this
 * process lives. False, with errno: it cannot be mapped. */
bool tp_shm_file_map(tp_shm_t *shm);
void tp_shm_file_unmap(tp_shm_t *shm); /* also closes it */

/* Memory for bytes [at, at + size_bytes) of a shared file, so that a write to them cannot end in
 * SIGBUS. 0, or an errno: ENOSPC where the file system is full. */
int tp_shm_file_reserve(int fd, uint64_t at, uint64_t size_bytes);

#endif
