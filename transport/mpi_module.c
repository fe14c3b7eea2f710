/* Finds and loads the module that talks to MPI. */
#include "transport/mpi_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define MODULE_FILE "transport_mpi.so"

static void *load_from(const char *folder, const char *subfolder, hr_text_t *tried) {
  char path[PATH_MAX];
  int size = snprintf(path, sizeof path, "%s%s/%s", folder, subfolder, MODULE_FILE);
  if (size < 0 || (size_t)size >= sizeof path) return NULL;
  if (access(path, R_OK) != 0) {
    hr_text_printf(tried, "%s%s", tried->size ? ", " : "", path);
    return NULL;
  }
  /* Open MPI's own plugins look for its symbols among the global ones. */
  void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!module) hr_text_printf(tried, "%s%s", tried->size ? ", " : "", dlerror());
  return module;
}

/* Folder of the running executable; false if it cannot be told. */
static bool executable_folder(char folder[PATH_MAX]) {
  ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  if (size <= 0) return false;
  folder[size] = 0;
  char *slash = strrchr(folder, '/');
  if (slash) *slash = 0;
  return slash != NULL;
}

static void *load_module(hr_text_t *tried) {
  void *module = NULL;
  const char *chosen = getenv("HLORUN_MODULE_DIR");
  if (chosen && *chosen) module = load_from(chosen, "", tried);
  char beside[PATH_MAX];
  if (!module && executable_folder(beside)) {
    static const char *const subfolders[] = {"/.libs", "", "/../.libs", "/../lib/hlorun"};
    for (size_t i = 0; i < sizeof subfolders / sizeof *subfolders && !module; i++)
      module = load_from(beside, subfolders[i], tried);
  }
  return module ? module : load_from(HLORUN_PKGLIBDIR, "", tried);
}

hr_status_t tp_mpi_open(tp_endpoint_t **out_endpoint) {
  hr_text_t tried;
  hr_text_init(&tried);
  void *module = load_module(&tried);
  hr_status_t st = NULL;
  if (!module) st = hr_error(HR_UNAVAILABLE, "cannot load " MODULE_FILE ": %s", tried.data ? tried.data : "");
  hr_text_deinit(&tried);
  if (st) return st;
  tp_mpi_module_open_fn open = (tp_mpi_module_open_fn)dlsym(module, TP_MPI_MODULE_ENTRY);
  if (!open) return hr_error(HR_UNAVAILABLE, MODULE_FILE " has no " TP_MPI_MODULE_ENTRY ": %s", dlerror());
  /* MPI cannot be unloaded and started again, so the module stays. */
  static tp_mpi_host_t host = {.version = TP_MPI_MODULE_VERSION, .alloc = hr_alloc, .free = hr_free,
                               .error = hr_error_from};
  host.launcher_world_size = tp_launcher_world_size();
  return open(&host, out_endpoint);
}
