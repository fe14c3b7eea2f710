/* Memory has two limits: (1) allocations that a program asks for are refused as if the machine had
 * no more memory (base/mem.h), with the place in the program; (2) the kernel refuses private
 * memory beyond the limit (RLIMIT_DATA, stacks of threads included), also to libraries. Shared
 * memory is not counted.
 * The time limit is a point of the monotonic clock in an environment variable, so that launching
 * and restarts count. Processes of other hosts have other clocks and count from their own start. A
 * timer on the event loop's thread ends the process at once, even while it reads or compiles. */
#include "cli/cli_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/mem.h"
#include "base/mem_limit.h"
#include "base/text.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_log_dir.h"
#include "transport/core/event_loop.h"
#include "transport/core/transport.h"

#define END_VARIABLE "HLORUN_TIME_END" /* HOST:NANOSECONDS */
#define EXIT_TIME 6
#define NS_PER_S 1e9
#define LONGEST_S 1e9 /* largest --max-time, about thirty years */

/* Parses a number of bytes with a binary unit, such as "512M". */
static bool parse_bytes(const char *text, uint64_t *out_bytes) {
  static const char units[] = "KMGT";
  char *end;
  double number = hr_strtod(text, &end);
  const char *unit = *end ? strchr(units, *end) : NULL;
  if (end == text || (*end && (!unit || end[1])) || !(number > 0)) return false;
  for (int i = 0; unit && i <= unit - units; i++) number *= 1024;
  if (number > 1e18) return false;
  *out_bytes = (uint64_t)number;
  return true;
}

static hr_status_t read_memory(const hr_options_t *options, uint64_t *out_bytes) {
  const char *text = hr_option_text(options, HR_OPTION_MAX_MEMORY);
  *out_bytes = 0;
  if (!text || parse_bytes(text, out_bytes)) return NULL;
  return hr_error(HR_USAGE, "--max-memory: '%s' is no size such as 512M or 8G", text);
}

static void read_host(char name[HOST_NAME_MAX + 1]) {
  if (gethostname(name, HOST_NAME_MAX)) name[0] = '\0';
  name[HOST_NAME_MAX] = '\0';
}

/* End on the monotonic clock; 0 if no process of this host has set one. */
static uint64_t read_end_ns(void) {
  const char *text = getenv(END_VARIABLE);
  const char *number = text ? strrchr(text, ':') : NULL;
  char host[HOST_NAME_MAX + 1];
  uint64_t end_ns;
  read_host(host);
  if (!number || !hr_str_equal((hr_str_t){text, (size_t)(number - text)}, hr_str_from(host)))
    return 0;
  return hr_parse_u64(number + 1, &end_ns) ? end_ns : 0;
}

hr_status_t cli_limits_begin(const hr_options_t *options) {
  uint64_t bytes;
  char host[HOST_NAME_MAX + 1], text[HOST_NAME_MAX + 24];
  double seconds = hr_option_real(options, HR_OPTION_MAX_TIME, 0);
  HR_TRY(read_memory(options, &bytes));
  if (!hr_option_is_given(options, HR_OPTION_MAX_TIME) || read_end_ns()) return NULL;
  if (!(seconds > 0 && seconds <= LONGEST_S))
    return hr_error(HR_USAGE, "--max-time: found %g seconds, want more than 0", seconds);
  read_host(host);
  snprintf(text, sizeof text, "%s:%" PRIu64, host, hr_clock_ns() + (uint64_t)(seconds * NS_PER_S));
  if (setenv(END_VARIABLE, text, 1)) return hr_error(HR_NO_MEMORY, "cannot set a variable");
  return NULL;
}

bool cli_limits_is_over(void) { return cli_limits_left_s() <= 0; }

double cli_limits_left_s(void) {
  uint64_t end_ns = read_end_ns(), now_ns = hr_clock_ns();
  if (!end_ns) return LONGEST_S;
  return end_ns > now_ns ? (double)(end_ns - now_ns) / NS_PER_S : 0;
}

static void end_now(void *context) {
  static char text[] = "error: the time of --max-time is over\n";
  (void)context;
  cli_exit_code_report(EXIT_TIME);
  bool speaks = tp_launcher_world_size() <= 1 || tp_launcher_rank() == 0;
  if (speaks) cli_log_dir_write(&(struct iovec){text, sizeof text - 1}, 1);
  _exit(EXIT_TIME);
}

static struct {
  tp_loop_t *loop; /* NULL: no timer */
  tp_source_t *timer;
  bool is_memory_limited;
  struct rlimit before; /* limit of memory without --max-memory */
} applied;

static hr_status_t start_timer(uint64_t end_ns) {
  uint64_t now_ns = hr_clock_ns();
  uint64_t left_ms = end_ns > now_ns ? (end_ns - now_ns) / 1000000 : 0;
  HR_TRY(tp_loop_acquire(&applied.loop));
  return tp_loop_timer(applied.loop, left_ms, 0, end_now, NULL, &applied.timer);
}

static hr_status_t limit_memory(uint64_t bytes, bool for_now) {
  struct rlimit limit = {bytes, bytes};
  applied.is_memory_limited = getrlimit(RLIMIT_DATA, &applied.before) == 0;
  if (applied.is_memory_limited && for_now) limit.rlim_max = applied.before.rlim_max;
  if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
  hr_mem_limit((size_t)bytes);
  if (setrlimit(RLIMIT_DATA, &limit) == 0) return NULL;
  return hr_error(HR_UNAVAILABLE, "--max-memory: %s", strerror(errno));
}

static hr_status_t apply(const hr_options_t *options, bool for_now) {
  uint64_t bytes, end_ns = read_end_ns();
  HR_TRY(read_memory(options, &bytes));
  if (bytes) HR_TRY(limit_memory(bytes, for_now));
  return end_ns ? start_timer(end_ns) : NULL;
}

hr_status_t cli_limits_apply(const hr_options_t *options) { return apply(options, false); }
hr_status_t cli_limits_apply_for_now(const hr_options_t *options) { return apply(options, true); }

void cli_limits_lift(void) {
  tp_source_stop(applied.timer);
  tp_loop_release(applied.loop);
  if (applied.is_memory_limited) setrlimit(RLIMIT_DATA, &applied.before);
  hr_mem_limit(0);
  memset(&applied, 0, sizeof applied);
}
