/* FFTW, opened when the first program needs it. The functions for floats are the same with other
 * pointer types. Thread: execution is safe from any; plans may be created and destroyed only
 * between fftw_lock and fftw_unlock. */
#ifndef HLO_OPS_FFTW_H
#define HLO_OPS_FFTW_H

#include <fftw3.h>

#include "base/status.h"

typedef struct fftw_library {
  fftw_plan (*dft)(int, const fftw_iodim64 *, int, const fftw_iodim64 *, void *, void *, int,
                   unsigned);
  fftw_plan (*dft_r2c)(int, const fftw_iodim64 *, int, const fftw_iodim64 *, void *, void *,
                       unsigned);
  fftw_plan (*dft_c2r)(int, const fftw_iodim64 *, int, const fftw_iodim64 *, void *, void *,
                       unsigned);
  void (*execute)(fftw_plan);
  void (*execute_dft)(fftw_plan, void *, void *);
  void (*execute_r2c)(fftw_plan, void *, void *);
  void (*execute_c2r)(fftw_plan, void *, void *);
  void (*destroy_plan)(fftw_plan);
} fftw_library_t;

/* Errors: UNAVAILABLE if the library is missing. */
hr_status_t fftw_library_open(bool is_double, fftw_library_t *out_library);
void fftw_lock(void);
void fftw_unlock(void);

#endif
