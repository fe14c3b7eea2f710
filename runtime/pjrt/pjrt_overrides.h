/* Options of XLA that a program of the framework is compiled with (env_option_overrides). */
#ifndef PJRT_OVERRIDES_H
#define PJRT_OVERRIDES_H

#include "base/arena.h"
#include "proto/proto_wire.h"

/* Checks names and values as XLA does: serialized entries of CompileOptionsProto.
 * Errors: INVALID for a name that no option of XLA has, and for a value of another kind. */
hr_status_t pjrt_overrides_check(hr_arena_t *arena, proto_list_t overrides);

#endif
