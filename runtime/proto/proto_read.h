/* Parts of the proto reader below the module: computations and header fields. */
#ifndef PROTO_READ_H
#define PROTO_READ_H

#include "proto/proto_parts.h"

/* proto_computation.c: adds the computation to the module. `schedule` has the ids of its
 * instructions in the order in which they run, or nothing. */
hr_status_t proto_read_computation(proto_reader_t *p, const proto_computation_t *in,
                                   const hr_ints_t *schedule);
/* Marks asynchronous ops that wrap one op, so that they print as OP-start, and hides their
 * computations. */
hr_status_t proto_mark_async(proto_reader_t *p);
/* Makes a name that HLO text can spell and that is not in `taken`, and enters it there with the
 * value `holder`. */
hr_status_t proto_make_name(proto_reader_t *p, hr_str_t wanted, hr_map_t *taken, void *holder,
                            hr_str_t *out_name);

/* proto_header.c: fields of the module other than computations */
hr_status_t proto_read_header(proto_reader_t *p, const proto_module_t *in);
hr_status_t proto_read_config(proto_reader_t *p, proto_list_t pieces);
void proto_write_header(hr_strbuf_t *out, const hlo_module_t *module);
/* HloModuleConfigProto of HloModuleProtoWithConfig: the entry's layout and the grid. */
void proto_write_run_config(hr_strbuf_t *out, const hlo_module_t *module);
void proto_write_program_shape(hr_strbuf_t *out, const hlo_computation_t *computation);

#endif
