/* Finds and loads the MPI module. */
#include "transport/mpi/mpi_module.h"

#include <dlfcn.h>

#include "base/dl.h"
#include "base/mem.h"
#include "base/processors.h"

#define MODULE_FILE "transport_mpi.so"

hr_status_t tp_mpi_open(tp_endpoint_t **out_endpoint) {
  void *module;
  /* Open MPI's plugins look up its symbols among the global ones. */
  HR_TRY(hr_dl_module(MODULE_FILE, RTLD_NOW | RTLD_GLOBAL, &module));
  tp_mpi_module_open_fn open = (tp_mpi_module_open_fn)dlsym(module, TP_MPI_MODULE_ENTRY);
  if (!open)
    return hr_error(HR_UNAVAILABLE, MODULE_FILE " has no " TP_MPI_MODULE_ENTRY ": %s", dlerror());
  /* MPI cannot be unloaded and restarted, so the module stays. */
  static tp_mpi_host_t host = {.version = TP_MPI_MODULE_VERSION,
                               .processor_limit = hr_processor_limit,
                               .alloc = hr_alloc,
                               .free = hr_free,
                               .error = hr_error_from};
  host.launcher_world_size = tp_launcher_world_size();
  return open(&host, out_endpoint);
}
