/* StableHLO (with CHLO, func, check and the rest) from the MLIR tree to the IR. */
#ifndef STABLEHLO_STABLEHLO_H
#define STABLEHLO_STABLEHLO_H

#include "ir/module.h"
#include "mlir/mlir.h"

/* Reads the value of mhlo.sharding: HLO text, or the bytes of an OpSharding. The result lives in
 * the module's arena. */
typedef hr_status_t (*stablehlo_read_sharding_fn)(hlo_module_t *module, hr_str_t sharding,
                                                  const hlo_sharding_t **out_sharding);

/* What an instruction of `op` says beyond its StableHLO, as the exporter notes it in the words of
 * HLO text: attributes and extras, ", name=value" each. All of it lives in the module's arena. */
typedef struct stablehlo_frontend_attrs {
  hlo_extra_t extra;
  int attr_count;
  const hlo_attr_t *attrs;
} stablehlo_frontend_attrs_t;

/* How the pieces that are HLO text are read; the callers have the reader. */
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

/* Who is told about a function that the entry does not reach and that breaks a rule which
 * StableHLO's own verifier does not know. */
typedef struct stablehlo_doubts {
  void (*report)(void *context, hr_str_t function, hr_status_t status);
  void *context;
} stablehlo_doubts_t;

/* Verifies every function, whether the entry reaches it or not. With `doubts`, such
 * functions are reported there and are no failure: they never run. Errors: as above, and those of
 * hlo_verify. */
hr_status_t stablehlo_verify(const mlir_module_t *from, const stablehlo_readers_t *readers,
                             const stablehlo_doubts_t *doubts);

/* The inverse: fills the empty tree `to` with the program as StableHLO, CHLO and func. Tuples
 * dissolve into several values. The module is verified. Errors: UNSUPPORTED with the instruction
 * that StableHLO has no form for. */
hr_status_t stablehlo_export(const hlo_module_t *from, mlir_module_t *to);

#endif
