/* FFTW's planner is not thread-safe: one lock for the process serialises all use of it. Execution
 * needs no lock. Single and double precision are two libraries with parallel names. */
#include "ops/kernels/libs/fftw.h"

#include <pthread.h>

#include "base/dl.h"

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

void fftw_lock(void) { pthread_mutex_lock(&planner); }
void fftw_unlock(void) { pthread_mutex_unlock(&planner); }

/* Names begin with fftw_ for double precision, fftwf_ for single. */
hr_status_t fftw_library_open(bool is_double, fftw_library_t *out_library) {
  static const char *const names[] = {
      "plan_guru64_dft", "plan_guru64_dft_r2c", "plan_guru64_dft_c2r", "execute",
      "execute_dft",     "execute_dft_r2c",     "execute_dft_c2r",     "destroy_plan"};
  fftw_library_t *l = out_library;
  void **slots[] = {(void **)&l->dft,         (void **)&l->dft_r2c,     (void **)&l->dft_c2r,
                    (void **)&l->execute,     (void **)&l->execute_dft, (void **)&l->execute_r2c,
                    (void **)&l->execute_c2r, (void **)&l->destroy_plan};
  char symbol[40];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(symbol, sizeof symbol, "fftw%s_%s", is_double ? "" : "f", names[i]);
    HR_TRY(hr_dl_symbol(is_double ? HR_LIBRARY_FFTW : HR_LIBRARY_FFTWF, symbol, slots[i]));
  }
  return NULL;
}
