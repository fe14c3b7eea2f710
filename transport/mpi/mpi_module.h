/* The interface between hlorun and the loadable module transport_mpi. The module links nothing of
 * hlorun: it gets all functions through this table, so that it works with the command, with the
 * library, and inside a plugin. */
#ifndef TP_MPI_MODULE_H
#define TP_MPI_MODULE_H

#include "transport/core/transport.h"

#define TP_MPI_MODULE_VERSION 9
#define TP_MPI_MODULE_ENTRY "tp_mpi_module_open"

typedef struct tp_mpi_host {
  int version;             /* TP_MPI_MODULE_VERSION */
  int launcher_world_size; /* 0: no launcher */
  int (*processor_limit)(int count);
  hr_status_t (*alloc)(size_t size_bytes, void **out_memory);
  void (*free)(void *memory);
  hr_status_t (*error)(const char *file, int line, hr_code_t code, const hr_pos_t *pos,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
} tp_mpi_host_t;

/* The module's only symbol. */
typedef hr_status_t (*tp_mpi_module_open_fn)(const tp_mpi_host_t *host,
                                             tp_endpoint_t **out_endpoint);
hr_status_t tp_mpi_module_open(const tp_mpi_host_t *host, tp_endpoint_t **out_endpoint);

#endif
