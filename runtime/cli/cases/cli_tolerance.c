/* Tolerances from --rtol, --atol and --ulp. */
#include "cli/cases/cli_tolerance.h"

hlo_tolerance_t cli_tolerance_from_options(const hr_options_t *options) {
  hlo_tolerance_t tolerance = hlo_tolerance_default();
  tolerance.rtol = hr_option_real(options, HR_OPTION_RTOL, -1);
  tolerance.atol = hr_option_real(options, HR_OPTION_ATOL, -1);
  const hr_option_given_t *ulp = hr_option_find(options, HR_OPTION_ULP);
  if (ulp) tolerance.ulp = (int64_t)ulp->integer;
  return tolerance;
}
