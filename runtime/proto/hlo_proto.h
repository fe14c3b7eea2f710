/* XLA's protos of HLO programs, from and to the IR: HloModuleProto (what JAX's
 * as_serialized_hlo_module_proto gives), HloProto (dumps), HloModuleProtoWithConfig, HloSnapshot
 * and HloUnoptimizedSnapshot (of which the program is read). */
#ifndef PROTO_HLO_PROTO_H
#define PROTO_HLO_PROTO_H

#include "base/buffer.h"
#include "ir/module.h"

/* Do the bytes look like one of these protos? They carry no mark, but begin with a field and are no
 * text. */
bool hlo_proto_is(hr_str_t bytes);

/* Reads module->source, which must live as long as the module: its strings point there.
 * Errors: INVALID, with the computation and the instruction. */
hr_status_t read_hlo_proto(hlo_module_t *module);
/* An OpSharding alone; the result lives in the module's arena. */
hr_status_t hlo_proto_read_sharding(hlo_module_t *module, hr_str_t bytes,
                                    const hlo_sharding_t **out_sharding);

typedef enum hlo_proto_form {
  HLO_PROTO_MODULE,
  HLO_PROTO_HLO
} hlo_proto_form_t; /* HloModuleProto, HloProto */

/* Everything that the text can say is kept; what XLA's messages have no field for goes to fields
 * that XLA passes over. Cost: a few bytes per number; literals are copied once for each message
 * around them. */
hr_status_t write_hlo_proto(const hlo_module_t *module, hlo_proto_form_t form,
                            hr_buffer_t **out_buffer);

#endif
