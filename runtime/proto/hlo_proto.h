/* Conversion of XLA's protos from and to the IR: HloModuleProto (JAX's
 * as_serialized_hlo_module_proto), HloProto (dumps), HloModuleProtoWithConfig, HloSnapshot and
 * HloUnoptimizedSnapshot (reading of the program only). */
#ifndef PROTO_HLO_PROTO_H
#define PROTO_HLO_PROTO_H

#include "base/buffer.h"
#include "ir/module.h"

/* True if the bytes look like one of these protos, which have no magic number: they begin with a
 * tag of fields 1 to 3 and contain bytes that do not occur in text. Cost: the first 64 kB. */
bool hlo_proto_is(hr_str_t bytes);

/* Reads module->source, which must live as long as the module: its strings point there.
 * Errors: INVALID, with the computation and the instruction. */
hr_status_t read_hlo_proto(hlo_module_t *module);
/* An OpSharding alone; the result lives in the module's arena. */
hr_status_t hlo_proto_read_sharding(hlo_module_t *module, hr_str_t bytes,
                                    const hlo_sharding_t **out_sharding);

/* A ShapeProto alone, appended to the text. */
hr_status_t hlo_proto_write_shape(const hlo_shape_t *shape, hr_strbuf_t *out);

/* Reads the arguments of the HloSnapshot in module->source. The module owns the values; the count
 * is 0 for other protos. Errors: INVALID. */
hr_status_t hlo_proto_read_arguments(hlo_module_t *module, hlo_value_t ***out_values,
                                     int *out_count);

typedef enum hlo_proto_form {
  HLO_PROTO_MODULE,     /* HloModuleProto */
  HLO_PROTO_HLO,        /* HloProto */
  HLO_PROTO_WITH_CONFIG /* HloModuleProtoWithConfig */
} hlo_proto_form_t;

/* Writes everything that HLO text can express. Fields that XLA's messages lack get field numbers
 * that XLA skips.
 * Cost:   literals are copied once per enclosing message.
 * Errors: NO_MEMORY.
 * Owner:  the caller releases *out_buffer. */
hr_status_t write_hlo_proto(const hlo_module_t *module, hlo_proto_form_t form,
                            hr_buffer_t **out_buffer);

#endif
