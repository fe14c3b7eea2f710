#include "base/dl.h"

#include <dlfcn.h>
#include <pthread.h>

typedef struct library {
  const char *what;
  const char *files[4]; /* in order of preference, up to a NULL */
  void (*opened)(void *handle);
  void *handle;
} library_t;

/* OpenBLAS would use a thread per core, which the processes of one machine have already shared out. */
static void keep_to_one_thread(void *handle) {
  void (*set_threads)(int) = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
  if (set_threads) set_threads(1);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static library_t libraries[HR_LIBRARY_COUNT] = {
    [HR_LIBRARY_LAPACK] = {"LAPACK", {"libopenblas.so.0", "liblapack.so.3", NULL}, keep_to_one_thread, NULL},
    [HR_LIBRARY_FFTW] = {"FFTW", {"libfftw3.so.3", NULL}, NULL, NULL},
    [HR_LIBRARY_FFTWF] = {"FFTW for floats", {"libfftw3f.so.3", NULL}, NULL, NULL},
};

static hr_status_t open_library(library_t *library) {
  for (int i = 0; library->files[i] && !library->handle; i++)
    library->handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
  if (!library->handle)
    return hr_error(HR_UNAVAILABLE, "this program needs %s, but none of its files (%s%s%s) can be opened: install it",
                    library->what, library->files[0], library->files[1] ? ", " : "",
                    library->files[1] ? library->files[1] : "");
  if (library->opened) library->opened(library->handle);
  return NULL;
}

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
