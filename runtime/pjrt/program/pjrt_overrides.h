/* XLA options with which the framework compiles a program (env_option_overrides). */
#ifndef PJRT_OVERRIDES_H
#define PJRT_OVERRIDES_H

#include "base/arena.h"
#include "proto/proto_wire.h"

/* Checks names and values of serialized entries of CompileOptionsProto, like XLA.
 * Errors: INVALID for an unknown name or a value of the wrong kind. */
hr_status_t pjrt_overrides_check(hr_arena_t *arena, proto_list_t overrides);

#endif
