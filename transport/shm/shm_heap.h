/* A process's heap in shared memory: pieces from the front of a range of addresses. Their list is
 * in private memory, where no other process can damage it. The file grows before memory is touched,
 * so that a full file system causes a NULL result and not a signal. */
#ifndef TP_SHM_HEAP_H
#define TP_SHM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tp_shm_heap tp_shm_heap_t;
struct tp_shm;

/* Addresses [start, start + size_bytes) of the mapping of `fd` at `base`. False: no memory. */
bool tp_shm_heap_create(int fd, char *base, char *start, uint64_t size_bytes,
                        tp_shm_heap_t **out_heap);
void tp_shm_heap_destroy(tp_shm_heap_t *heap); /* accepts NULL */
void *tp_shm_heap_alloc(tp_shm_heap_t *heap, size_t size_bytes);
int tp_shm_heap_error(const tp_shm_heap_t *heap);         /* errno of the last NULL result */
void tp_shm_heap_free(tp_shm_heap_t *heap, void *memory); /* accepts NULL */

void tp_shm_staging_destroy(struct tp_shm *shm); /* frees the staging memory of `shm` */

#endif
