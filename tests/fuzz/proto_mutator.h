/* Changed copies of serialised protocol buffers, for fuzz targets whose input is one. */
#ifndef TESTS_FUZZ_PROTO_MUTATOR_H
#define TESTS_FUZZ_PROTO_MUTATOR_H

#include "fuzz_driver.h"

/* One change of the message; `other` is not used. As fuzz_material_t.mutate. */
void proto_mutate(fuzz_bytes_t *bytes, const fuzz_bytes_t *other);

#endif
