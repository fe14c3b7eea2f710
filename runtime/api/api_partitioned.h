/* Internal: the program of one partition as XLA reads it, for whoever wants to look at it. */
#ifndef HLORUN_API_PARTITIONED_H
#define HLORUN_API_PARTITIONED_H

#include "base/buffer.h"
#include "base/text.h"

/* Reads a program and partitions it for `devices` processes. *out_proto is a
 * HloModuleProtoWithConfig, with names that are unique in the module.
 * Errors: those of reading and partitioning. Owner: the caller releases *out_proto. */
hr_status_t api_partitioned(hr_str_t code, int devices, hr_buffer_t **out_proto);

#endif
