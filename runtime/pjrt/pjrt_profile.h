/* What the profiler of the framework is told: executions and compilations of the plugin, and the
 * steps of programs. While a profile is taken, a program whose devices are all of this process is
 * executed by a twin of it, compiled for a world whose clients trace; nothing else pays for it.
 * Thread: any. */
#ifndef PJRT_PROFILE_H
#define PJRT_PROFILE_H

#include <stdatomic.h>

#include "base/text.h"
#include "pjrt/pjrt_world.h"

#define PJRT_PROFILE_HOST (-1) /* in place of a device: what the process itself does */

extern atomic_bool pjrt_profile_on;
static inline bool pjrt_profile_is_on(void) {
  return __builtin_expect(atomic_load_explicit(&pjrt_profile_on, memory_order_relaxed), false);
}

/* Begins a profile; what was noted before is dropped. */
void pjrt_profile_start(void);
/* Ends it, once all that was launched is over. */
void pjrt_profile_stop(void);
/* Notes what a device, by its id, has done from then until now. No effect without a profile, or
 * where memory runs out. `name` is copied. */
void pjrt_profile_note(int device, const char *name, uint64_t begin_ns);

/* Worlds whose clients trace; one that ends must not be read. Guarded by a mutex inside. */
void pjrt_profile_add_world(pjrt_world_t *world);
void pjrt_profile_remove_world(pjrt_world_t *world);

/* Appends the profile as an XSpace (xplane.proto of the profiler). Errors: NO_MEMORY. */
hr_status_t pjrt_profile_write(hr_strbuf_t *text);

#endif
