/* Internal: a program of the embedding API, compiled for a client, with its machine. */
#ifndef HLORUN_API_PROGRAM_H
#define HLORUN_API_PROGRAM_H

#include "api_client.h"
#include "base/fp_mode.h"
#include "comm/peers/channel_transfers.h"
#include "compiler.h"
#include "exec/compiled.h"
#include "feed/feeds.h"
#include "shape_specializations.h"

struct hlorun_program {
  int references;
  hlorun_client_t *client;
  compiled_program_t compiled;
  hlorun_program_t *owner;   /* owner of the shared `compiled`; NULL: this program */
  bool is_running;           /* within an execution; guarded by the client's lock */
  hr_fp_mode_t callers_mode; /* floating-point mode of the executing thread before the execution */
  exec_machine_t *machine;   /* reference engine; NULL: compiled engine */
  exec_compiled_t *fast;     /* compiled engine; NULL: reference engine */
  bool shares_arrays;        /* the plans of all ranks have the same shared arrays */
  specializations_t
      *specializations; /* with `machine`: compiled copies per sizes of arguments; NULL: none */
  exec_probe_files_t *probe_files; /* NULL: none */
  exec_channels_t *channels;
  exec_verify_t *verify; /* NULL: not requested */
  exec_feeds_t *feeds;
  int param_count, result_count; /* flattened */
  const char **param_shapes, **result_shapes, **param_names;
  const hlo_shape_t **param_leaves; /* shape of each parameter */
  const hlo_instr_t **param_instrs; /* the parameter of the entry that each is a part of */
  bool *all_params;                 /* true per parameter: donates all */
};

/* Fills in names and shapes of the flattened parameters and results, in the plan's arena. Errors:
 * NO_MEMORY. */
hr_status_t api_program_describe(hlorun_program_t *program);
/* Name of the program, in the arena, with its place in the user's source if the metadata have one:
 * "jit_step (train.py:41)". */
hr_status_t api_program_title(const hlo_module_t *module, hr_arena_t *arena,
                              const char **out_title);

#endif
