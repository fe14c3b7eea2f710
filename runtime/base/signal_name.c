#include "base/signal_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *hr_signal_name(int number, char into[HR_SIGNAL_NAME]) {
  const char *short_name = number > 0 && number < NSIG ? sigabbrev_np(number) : NULL;
  if (short_name)
    snprintf(into, HR_SIGNAL_NAME, "SIG%s", short_name);
  else if (number >= SIGRTMIN && number <= SIGRTMAX)
    snprintf(into, HR_SIGNAL_NAME, "SIGRTMIN+%d", number - SIGRTMIN);
  else
    snprintf(into, HR_SIGNAL_NAME, "signal %d", number);
  return into;
}
