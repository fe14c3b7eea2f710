/* Objects that end with an arena: what its memory cannot hold, such as those of other libraries. */
#ifndef HR_BASE_ARENA_OWN_H
#define HR_BASE_ARENA_OWN_H

#include "base/arena.h"

/* `destroy` is called when the arena is freed, reset, or rewound to a mark made before; the last
 * object first.
 * Cost:   a block of the arena: for few objects.
 * Errors: NO_MEMORY; the object is then the caller's still. */
hr_status_t hr_arena_own(hr_arena_t *arena, void *object, void (*destroy)(void *object));

#endif
