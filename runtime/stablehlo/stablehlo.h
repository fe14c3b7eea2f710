/* Conversion of StableHLO (with CHLO, func, check and others) between the MLIR tree and the IR. */
#ifndef STABLEHLO_STABLEHLO_H
#define STABLEHLO_STABLEHLO_H

#include "ir/module.h"
#include "mlir/mlir.h"

/* Reads the value of mhlo.sharding: HLO text, or the bytes of an OpSharding. The result lives in
 * the module's arena. */
typedef hr_status_t (*stablehlo_read_sharding_fn)(hlo_module_t *module, hr_str_t sharding,
                                                  const hlo_sharding_t **out_sharding);

/* HLO attributes of an instruction that StableHLO cannot express, recorded by the exporter as HLO
 * text: attributes and extras, ", name=value" each. The results live in the module's arena. */
typedef struct stablehlo_frontend_attrs {
  hlo_extra_t extra;
  int attr_count;
  const hlo_attr_t *attrs;
} stablehlo_frontend_attrs_t;

/* Readers of pieces of HLO text, provided by the caller. */
typedef struct stablehlo_readers {
  stablehlo_read_sharding_fn sharding;
  hr_status_t (*note)(hlo_module_t *module, hlo_opcode_t op, hr_str_t text,
                      stablehlo_frontend_attrs_t *out_note);
  hr_status_t (*shape)(hlo_module_t *module, hr_str_t text, const hlo_shape_t **out_shape);
  hr_status_t (*header)(hlo_module_t *module,
                        hr_str_t text); /* "is_scheduled=true, ...", into the module */
  hr_status_t (*stack_frames)(hlo_module_t *module, hr_str_t text);
} stablehlo_readers_t;

/* Fills `module` with the program in `from`, whose @main (or only function) becomes the entry.
 * Regions that use values from outside get them as parameters; ops with several results become
 * tuples and their elements. Errors: INVALID, UNSUPPORTED with the op's place. */
hr_status_t stablehlo_import(const mlir_module_t *from, const stablehlo_readers_t *readers,
                             hlo_module_t *module);

/* Callback for functions that the entry does not reach and that violate a rule unknown to
 * StableHLO's own verifier. */
typedef struct stablehlo_doubts {
  void (*report)(void *context, hr_str_t function, hr_status_t status);
  void *context;
} stablehlo_doubts_t;

/* Verifies every function, whether the entry reaches it or not. With `doubts`, unreachable
 * functions that violate a rule are reported there and are no failure, as they never run. Errors:
 * as above, and those of hlo_verify. */
hr_status_t stablehlo_verify(const mlir_module_t *from, const stablehlo_readers_t *readers,
                             const stablehlo_doubts_t *doubts);

/* Number of functions, declarations included, of a module without an entry, which is a library; -1:
 * it has an entry. */
int stablehlo_library_size(const mlir_module_t *from);

/* The inverse: fills the empty tree `to` with the program as StableHLO, CHLO and func. Tuples are
 * dissolved into several values. The module must be verified. Errors: UNSUPPORTED with the
 * instruction that StableHLO cannot express. */
hr_status_t stablehlo_export(const hlo_module_t *from, mlir_module_t *to);

#endif
