/* A plane of the profiler's XSpace: lines of events; events refer to names by numbers.
 * Thread: one at a time. */
#ifndef PJRT_XPLANE_H
#define PJRT_XPLANE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

typedef struct pjrt_xline {
  const char *name;
  uint64_t begin_ns; /* begin of its first event, time 0 of the line's events */
  hr_strbuf_t events;
} pjrt_xline_t;

typedef struct pjrt_xplane {
  hr_arena_t arena;
  hr_map_t numbers; /* number of each name, from 1 */
  HR_VEC(const char *) names;
  HR_VEC(pjrt_xline_t) lines;
  uint64_t realtime_offset_ns; /* added to all times */
} pjrt_xplane_t;

void pjrt_xplane_init(pjrt_xplane_t *plane, uint64_t realtime_offset_ns);
void pjrt_xplane_deinit(pjrt_xplane_t *plane);
/* Appends an event to a line, created if it is new. Names live as long as the plane. Events of a
 * line may come in any order, but at most a day before the first. Errors: NO_MEMORY. */
hr_status_t pjrt_xplane_add(pjrt_xplane_t *plane, const char *line, const char *name,
                            uint64_t begin_ns, uint64_t took_ns);
/* Appends the plane to an XSpace; nothing if it has no lines. */
hr_status_t pjrt_xplane_write(const pjrt_xplane_t *plane, const char *name, int64_t id,
                              hr_strbuf_t *text);

#endif
