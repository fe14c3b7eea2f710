/* The log: lines by subsystem and level, marked with time, rank and host. Silent below `warn`
 * unless HLORUN_LOG says more: HLORUN_LOG=info,coll:trace. HLORUN_LOG_FILE=run.%r.log writes to a
 * file of each rank instead of standard error. A disabled line costs one comparison.
 * Thread: any; a line is written as a whole. */
#ifndef HR_BASE_LOG_H
#define HR_BASE_LOG_H

#include "base/status.h"

typedef enum hr_log_level {
  HR_LOG_NONE,
  HR_LOG_ERROR,
  HR_LOG_WARN,
  HR_LOG_INFO,
  HR_LOG_DEBUG,
  HR_LOG_TRACE
} hr_log_level_t;

typedef enum hr_log_subsystem {
#define LOG(id, name) HR_LOG_##id,
#include "base/log_subsystems.def"
#undef LOG
  HR_LOG_SUBSYSTEM_COUNT
} hr_log_subsystem_t;

extern uint8_t hr_log_levels[HR_LOG_SUBSYSTEM_COUNT];

#define hr_log_wants(subsystem, level) ((level) <= (hr_log_level_t)hr_log_levels[subsystem])
/* hr_log(HR_LOG_EXEC, HR_LOG_DEBUG, "step %d", step) */
#define hr_log(subsystem, level, ...) \
  (hr_log_wants(subsystem, level) ? hr_log_write((subsystem), (level), __VA_ARGS__) : (void)0)
void hr_log_write(hr_log_subsystem_t subsystem, hr_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the levels from a text such as HLORUN_LOG's; NULL: the default. Errors: USAGE with the
 * nearest word. */
hr_status_t hr_log_configure(const char *text);
/* Sets the identity of this process; host may be NULL. Opens `file` ("%r" becomes the rank; NULL:
 * standard error). Errors: UNAVAILABLE with the path. */
hr_status_t hr_log_open(const char *file, int rank, int world_size, const char *host);
void hr_log_close(void);
/* Bracket work that all processes do identically, such as reading one program: default warnings are
 * then printed by the first process only, without a rank. */
void hr_log_begin_collective(bool is_first);
void hr_log_end_collective(void);

#endif
