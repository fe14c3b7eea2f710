/* Prints the version of each library, as the library reports it. Libraries that are loaded on
 * demand are opened here too, which takes some tens of milliseconds; MPI is loaded but not
 * initialised. */
#include "cli/cli_build.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>
#include <zlib.h>

#include "base/dl.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/arrays/cli_extensions.h"
#include "hlorun.h"
#include "topo/topo.h"

#define VERSION_MAX 96

typedef char version_t[VERSION_MAX];

/* --- linked libraries --- */

/* Linked libraries are always present; only their versions are needed. */
static bool find_libuv(version_t into) {
  snprintf(into, VERSION_MAX, "%s", uv_version_string());
  return true;
}

/* The version of the loaded library, not of its headers: major, minor and release in 16, 8 and 8
 * bits. */
static bool find_hwloc(version_t into) {
  unsigned version = hwloc_get_api_version();
  snprintf(into, VERSION_MAX, "%u.%u.%u", version >> 16, version >> 8 & 255, version & 255);
  return true;
}

/* The version of the library that is loaded. */
static bool find_zlib(version_t into) {
  snprintf(into, VERSION_MAX, "%s", zlibVersion());
  return true;
}

/* --- libraries opened at run time --- */

/* A library that is not installed is not a failure here. */
static bool find_symbol(hr_library_t library, const char *symbol, void **out_address) {
  hr_status_t st = hr_dl_symbol(library, symbol, out_address);
  hr_status_release(st);
  return !st;
}

/* The number in "fftw-3.3.10-sse2-avx". */
static bool find_fftw(version_t into) {
  void *version;
  if (!find_symbol(HR_LIBRARY_FFTW, "fftw_version", &version)) return false;
  const char *number = strpbrk(version, "0123456789");
  if (!number) return false;
  snprintf(into, VERSION_MAX, "%.*s", (int)strcspn(number, "-"), number);
  return true;
}

/* LAPACK's own version, not that of the library that contains it. */
static bool find_lapack(version_t into) {
  int major = 0, minor = 0, patch = 0;
  void *address;
  if (!find_symbol(HR_LIBRARY_LAPACK, "ilaver_", &address)) return false;
  ((void (*)(int *, int *, int *))address)(&major, &minor, &patch);
  snprintf(into, VERSION_MAX, "%d.%d.%d", major, minor, patch);
  return true;
}

/* dnnl_version() gives a struct that begins with three ints. */
static bool find_onednn(version_t into) {
  typedef struct {
    int major, minor, patch;
  } dnnl_number_t;
  void *address;
  if (!find_symbol(HR_LIBRARY_DNNL, "dnnl_version", &address)) return false;
  const dnnl_number_t *number = ((const dnnl_number_t *(*)(void))address)();
  snprintf(into, VERSION_MAX, "%d.%d.%d", number->major, number->minor, number->patch);
  return true;
}

/* NULL if the module was not built or not installed. */
static void *open_module(const char *file, int flags) {
  void *module = NULL;
  hr_status_release(hr_dl_module(file, flags, &module));
  return module;
}

/* The module begins with its version, "hlorun's LLVM's"; without it there may be LLVM's library. */
static bool find_llvm(version_t into) {
  void *module = open_module("jit_llvm.so", RTLD_LAZY | RTLD_LOCAL);
  const char *const *version = module ? dlsym(module, "hlorun_llvm_module") : NULL;
  if (version && *version) {
    const char *number = strrchr(*version, ' ');
    snprintf(into, VERSION_MAX, "%s (own module)", number ? number + 1 : *version);
    return true;
  }
#ifdef HLORUN_LLVM_FILE
  snprintf(into, VERSION_MAX, "%s", HLORUN_LLVM_FILE);
  return dlopen(HLORUN_LLVM_FILE, RTLD_LAZY | RTLD_LOCAL) != NULL;
#else
  return false;
#endif
}

/* The first line of MPI's version text: "Open MPI v4.1.4, package: ...". */
static bool find_mpi(version_t into) {
  typedef int version_fn(char *, int *);
  char text[8192] = "";
  int size = 0;
  void *module = open_module("transport_mpi.so", RTLD_LAZY | RTLD_LOCAL);
  version_fn *version = module ? (version_fn *)dlsym(module, "MPI_Get_library_version") : NULL;
  if (!version || version(text, &size)) return false;
  snprintf(into, VERSION_MAX, "%.*s", (int)strcspn(text, ",\n"), text);
  return true;
}

/* The first mpirun in PATH, which the launcher uses, too. */
static bool find_mpirun(version_t into) {
  const char *path = getenv("PATH");
  char file[4096];
  for (const char *at = path ? path : ""; *at;) {
    size_t size = strcspn(at, ":");
    snprintf(file, sizeof file, "%.*s/mpirun", (int)size, at);
    if (access(file, X_OK) == 0) {
      snprintf(into, VERSION_MAX, "%.90s", file);
      return true;
    }
    at += size + (at[size] == ':');
  }
  return false;
}

/* --- the lists --- */

static const struct part {
  const char *name, *purpose, *missing;
  bool (*find)(version_t into);
  bool has_version; /* for --version */
} parts[] = {
    {"libuv", "events, feeds", "", find_libuv, true},
    {"hwloc", "cores and caches", "", find_hwloc, true},
    {"zlib", "compressed archives", "", find_zlib, true},
    {"FFTW", "Fourier transforms", "", find_fftw, true},
    {"LLVM", "generated code beside the built-in x86-64 back end",
     "simple kernels are still generated; others run as reference kernels", find_llvm, true},
    {"oneDNN", "convolutions and products of narrow types", "own kernels do this work", find_onednn,
     true},
    {"LAPACK", "qr, eigh, svd, cholesky, ...", "programs with these ops do not run: libopenblas0",
     find_lapack, true},
    {"MPI", "processes on several hosts", "-n works on this host alone: libopenmpi-dev, then build",
     find_mpi, true},
    {"mpirun", "starting them", "--hosts does not work: openmpi-bin", find_mpirun, false},
};
#define PART_COUNT (sizeof parts / sizeof *parts)

/* Standard output, in one piece. */
static hr_status_t print_and_free(hr_strbuf_t *text) {
  hr_status_t st = cli_print(text);
  hr_strbuf_deinit(text);
  return st;
}

/* The format of the first line is stable: scripts parse it. */
hr_status_t cli_print_version(void) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "hlorun %s\n", hlorun_version());
  for (size_t i = 0; i < PART_COUNT; i++) {
    version_t version;
    if (!parts[i].has_version) continue;
    bool found = parts[i].find(version);
    hr_strbuf_printf(&text, "%s %s\n", parts[i].name, found ? version : "is not here");
  }
  return print_and_free(&text);
}

/* Marks as in a task list: [x] present, [ ] missing. */
hr_status_t cli_check_build(void) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "hlorun %s\n", hlorun_version());
  for (size_t i = 0; i < PART_COUNT; i++) {
    version_t version;
    bool found = parts[i].find(version);
    if (found)
      hr_strbuf_printf(&text, "[x] %-7s %-28s %s\n", parts[i].name, version, parts[i].purpose);
    else
      hr_strbuf_printf(&text, "[ ] %-7s %-28s %s; without it: %s\n", parts[i].name, "missing",
                       parts[i].purpose, parts[i].missing);
  }
  return print_and_free(&text);
}

/* --- the machine --- */

hr_status_t cli_print_topology(const hr_options_t *options) {
  static const char *const pictures[] = {".svg", NULL};
  const char *path = hr_option_text(options, HR_OPTION_PRINT_TOPOLOGY);
  int count;
  hr_strbuf_t text;
  if (!topo_speaks_for_host(&count)) return NULL;
  count = (int)hr_option_int(options, HR_OPTION_PROCESSES, (uint64_t)count);
  if (!path || !*path) return topo_print_shares(stdout, count);
  HR_TRY(cli_check_extension(options, HR_OPTION_PRINT_TOPOLOGY, pictures));
  hr_strbuf_init(&text);
  hr_status_t st = topo_draw_shares(&text, count);
  if (!st) st = hr_strbuf_finish(&text);
  if (!st) st = hr_file_write_all(path, text.data, text.size);
  hr_strbuf_deinit(&text);
  return st;
}
