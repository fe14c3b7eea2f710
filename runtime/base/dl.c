/* Libraries opened on first use by dlopen, from a list of file names in order of preference, once
 * each, under a lock. Environment variables that a library reads when it is loaded (its threads,
 * its core type) are set around the call. */
#include "base/dl.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/executable.h"
#include "base/text.h"

typedef struct library {
  const char *what;
  const char *files[4]; /* in order of preference, up to a NULL */
  void *(*open)(const char *file);
  void *handle;
} library_t;

static void *open_plainly(const char *file) { return dlopen(file, RTLD_NOW | RTLD_LOCAL); }

/* The core type for OpenBLAS by the processor's instructions; NULL: its own choice, which goes by
 * models. Versions older than a processor take AMD's for one without AVX-512, and Intel's for a
 * Prescott with SSE3, whose kernels are several times slower. */
static const char *better_core(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "Haswell";
#endif
  return NULL;
}

/* OpenBLAS reads its settings while it is opened. It would start a thread per core, but the cores
 * are shared out already, among the processes of the machine and the workers of each. */
static void *open_blas(const char *file) {
  const char *core = getenv("OPENBLAS_CORETYPE") ? NULL : better_core();
  bool threads_told = getenv("OPENBLAS_NUM_THREADS");
  if (core) setenv("OPENBLAS_CORETYPE", core, 1);
  if (!threads_told) setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *handle = open_plainly(file);
  if (core) unsetenv("OPENBLAS_CORETYPE");
  if (!threads_told) unsetenv("OPENBLAS_NUM_THREADS");
  void (*set_threads)(int) =
      handle ? (void (*)(int))dlsym(handle, "openblas_set_num_threads") : NULL;
  if (set_threads) set_threads(1);
  return handle;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static library_t libraries[HR_LIBRARY_COUNT] = {
    [HR_LIBRARY_LAPACK] = {"LAPACK", {"libopenblas.so.0", "liblapack.so.3", NULL}, open_blas, NULL},
    [HR_LIBRARY_FFTW] = {"FFTW", {"libfftw3.so.3", NULL}, open_plainly, NULL},
    [HR_LIBRARY_FFTWF] = {"FFTW for floats", {"libfftw3f.so.3", NULL}, open_plainly, NULL},
    [HR_LIBRARY_DNNL] = {"oneDNN", {"libdnnl.so.2", NULL}, open_plainly, NULL},
};

/* A name without a slash is looked for by the system. */
void *hr_dl_open(const char *file, int flags, const char **out_reason) {
  struct stat info;
  if (strchr(file, '/') && stat(file, &info) == 0 && !S_ISREG(info.st_mode)) {
    *out_reason = "it is no regular file";
    return NULL;
  }
  void *library = dlopen(file, flags);
  if (!library) *out_reason = dlerror();
  return library;
}

/* Called with the lock held. The message names all files that were tried. */
static hr_status_t open_library(library_t *library) {
  for (int i = 0; library->files[i] && !library->handle; i++)
    library->handle = library->open(library->files[i]);
  if (!library->handle)
    return hr_error(
        HR_UNAVAILABLE,
        "this program needs %s, but none of its files (%s%s%s) can be opened: install it",
        library->what, library->files[0], library->files[1] ? ", " : "",
        library->files[1] ? library->files[1] : "");
  return NULL;
}

/* Libraries are never closed, so addresses stay valid. */
hr_status_t hr_dl_symbol(hr_library_t which, const char *symbol, void **out_address) {
  library_t *library = &libraries[which];
  pthread_mutex_lock(&lock);
  hr_status_t st = library->handle ? NULL : open_library(library);
  pthread_mutex_unlock(&lock);
  if (st) return st;
  void *address = dlsym(library->handle, symbol);
  if (!address) return hr_error(HR_UNAVAILABLE, "%s has no function '%s'", library->what, symbol);
  *out_address = address;
  return NULL;
}

/* An address without a symbol of its own was chosen by the resolver of an indirect function. */
hr_dl_found_t hr_dl_find_function(void *library, const char *name, void **out_address) {
  struct link_map *map = NULL, *owner = NULL;
  const ElfW(Sym) *symbol = NULL;
  Dl_info info;
  void *address = dlsym(library, name);
  if (!address) return HR_DL_NOTHING;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map)) return HR_DL_FOREIGN;
  if (!dladdr1(address, &info, (void **)&owner, RTLD_DL_LINKMAP) || owner != map)
    return HR_DL_FOREIGN;
  dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT);
  if (symbol && ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return HR_DL_DATA;
  *out_address = address;
  return HR_DL_FUNCTION;
}

/* --- modules ---------------------------------------------------------------------------------- */

typedef struct search {
  const char *file;
  int flags;
  hr_strbuf_t tried;
} search_t;

/* Notes the tried file for the message. */
static void *load_from(search_t *search, const char *folder, const char *subfolder) {
  char path[PATH_MAX];
  int size = snprintf(path, sizeof path, "%s%s/%s", folder, subfolder, search->file);
  if (size < 0 || (size_t)size >= sizeof path) return NULL;
  const char *separator = search->tried.size ? ", " : "";
  if (access(path, R_OK) != 0) {
    hr_strbuf_printf(&search->tried, "%s%s", separator, path);
    return NULL;
  }
  const char *reason;
  void *module = hr_dl_open(path, search->flags, &reason);
  if (!module) hr_strbuf_printf(&search->tried, "%s%s", separator, reason);
  return module;
}

static const char same_file = 0; /* an address in the file of this code */

static bool cut_file_name(char path[PATH_MAX]) {
  char *slash = strrchr(path, '/');
  if (slash) *slash = 0;
  return slash != NULL;
}

/* Folder of the running executable; false if it cannot be told. */
static bool executable_folder(char folder[PATH_MAX]) {
  return hr_executable_path(folder) && cut_file_name(folder);
}

/* Folder of the file that this code is in: the executable, a library, a plugin of another program.
 */
static bool code_folder(char folder[PATH_MAX]) {
  Dl_info info;
  if (!dladdr(&same_file, &info) || !info.dli_fname || !realpath(info.dli_fname, folder))
    return false;
  return cut_file_name(folder);
}

/* Build tree, install tree and package layouts. */
static void *load_beside(search_t *search, const char *folder) {
  static const char *const subfolders[] = {"/.libs", "", "/../.libs", "/../lib/hlorun", "/hlorun"};
  void *module = NULL;
  for (size_t i = 0; i < sizeof subfolders / sizeof *subfolders && !module; i++)
    module = load_from(search, folder, subfolders[i]);
  return module;
}

/* HLORUN_MODULE_DIR wins; secure_getenv ignores it in setuid programs. */
static void *load_module(search_t *search) {
  const char *chosen = secure_getenv("HLORUN_MODULE_DIR");
  char beside[PATH_MAX];
  void *module = chosen && *chosen ? load_from(search, chosen, "") : NULL;
  if (!module && code_folder(beside)) module = load_beside(search, beside);
  if (!module && executable_folder(beside)) module = load_beside(search, beside);
  return module;
}

hr_status_t hr_dl_module(const char *file, int flags, void **out_module) {
  search_t search = {.file = file, .flags = flags};
  hr_status_t st = NULL;
  hr_strbuf_init(&search.tried);
  void *module = load_module(&search);
  if (!module) module = load_from(&search, HLORUN_PKGLIBDIR, "");
  if (!module)
    st = hr_error(HR_UNAVAILABLE, "cannot load %s: %s", file,
                  search.tried.data ? search.tried.data : "");
  hr_strbuf_deinit(&search.tried);
  if (!st) *out_module = module;
  return st;
}
