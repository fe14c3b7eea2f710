/* Data for the profiler of the framework: executions and compilations of the plugin, and the steps
 * of programs. While a profile is taken, a program whose devices are all in this process is
 * executed by its twin, compiled for a world whose clients trace; other executions have no
 * overhead.
 * Thread: any. */
#ifndef PJRT_PROFILE_H
#define PJRT_PROFILE_H

#include <stdatomic.h>

#include "base/text.h"
#include "pjrt/client/pjrt_world.h"

#define PJRT_PROFILE_HOST (-1) /* in place of a device id: activities of the process */

extern atomic_bool pjrt_profile_on;
static inline bool pjrt_profile_is_on(void) {
  return __builtin_expect(atomic_load_explicit(&pjrt_profile_on, memory_order_relaxed), false);
}

/* Begins a profile; drops earlier events. */
void pjrt_profile_start(void);
/* Ends the profile after all launched executions have ended. */
void pjrt_profile_stop(void);
/* Records an activity of a device, by id, from begin_ns until now. No effect without a profile, or
 * if memory runs out. `name` is copied. */
void pjrt_profile_note(int device, const char *name, uint64_t begin_ns);

/* Register and unregister worlds whose clients trace. */
void pjrt_profile_add_world(pjrt_world_t *world);
void pjrt_profile_remove_world(pjrt_world_t *world);

/* Appends the profile as an XSpace (xplane.proto of the profiler). Errors: NO_MEMORY. */
hr_status_t pjrt_profile_write(hr_strbuf_t *text);

#endif
