/* Compile options of the interface: the device assignment. */
#ifndef PJRT_OPTIONS_H
#define PJRT_OPTIONS_H

#include "base/arena.h"
#include "base/text.h"

#define PJRT_MAX_DEVICES 1024 /* devices of one process, and of a program */

typedef struct pjrt_options {
  int num_replicas, num_partitions;
  int device_count; /* their product */
  int *devices;     /* ids by replica, then partition */
} pjrt_options_t;

/* Reads a serialized CompileOptionsProto; ignores options of code generation. Without an assignment
 * the devices are 0, 1, ...
 * Errors: INVALID for bytes that are no such message; UNSUPPORTED for arguments in tuples.
 * Owner: the arena. */
hr_status_t pjrt_options_read(hr_arena_t *arena, const char *bytes, size_t size_bytes,
                              pjrt_options_t *out_options);
/* The devices as a serialized DeviceAssignmentProto. */
hr_status_t pjrt_options_write_devices(const pjrt_options_t *options, hr_strbuf_t *text);

#endif
