/* Executables: a program loaded for the devices of a world, and the data about it that the
 * framework requests. A loaded executable and its executable are one object.
 * Owner:  refcounted; executions hold a reference.
 * Thread: immutable except for atomic members and those guarded by a mutex of the client. */
#ifndef PJRT_EXECUTABLE_H
#define PJRT_EXECUTABLE_H

#include <stdatomic.h>

#include "api/api_program.h"
#include "pjrt/program/pjrt_options.h"
#include "pjrt/client/pjrt_world.h"

/* One leaf of the program's result. */
typedef struct pjrt_result {
  const hlo_shape_t *shape;       /* shape of one device's part */
  int memory_kind;                /* a PJRT_MEMORY number */
  const struct pjrt_order *order; /* memory order wanted by the framework; NULL: row-major */
  bool is_copy;                   /* an earlier result is the same value: this one is a copy */
  int argument; /* index of the argument that is returned as the result, copied unless it is
                   donated; -1: the result is computed */
} pjrt_result_t;

/* What the framework requests of parameters and results, as the lists of the interface; made when
 * the executable is, in its arena. */
typedef struct pjrt_executable_lists {
  int *result_types;    /* numbers of pjrt_types.def */
  int64_t *result_dims; /* sizes of all results, one result after the other */
  size_t *result_ranks; /* dimensions of each result */
  const char **param_memory_kinds, **result_memory_kinds;
  size_t *param_memory_kind_sizes, *result_memory_kind_sizes;
  const pjrt_logical_id_t *logical_ids;   /* by local position in the world */
  const struct pjrt_order **param_orders; /* declared memory orders of arguments, never NULL */
  void **result_layouts;                  /* memory orders of results, never NULL */
  pjrt_named_t costs[3];                  /* "flops", "transcendentals", "bytes accessed" */
  const char **result_shardings, **param_shardings; /* serialized OpSharding */
  size_t *result_sharding_sizes, *param_sharding_sizes;
} pjrt_executable_lists_t;

struct pjrt_executable {
  atomic_int references;
  atomic_bool is_deleted;
  atomic_long average_ns; /* average duration of recent executions; 0: none yet */
  pjrt_client_t *client;
  pjrt_topology_t *topology;  /* owner of `client`; NULL: a client of the framework */
  pjrt_executable_t *renewed; /* replacement for a new world after `world` broke, or NULL; guarded
                                 by the client's launch_mutex */
  pjrt_executable_t *traced;  /* twin for a world that traces, or NULL; guarded by the client's
                                 launch_mutex */
  pjrt_world_t *world;
  hlorun_program_t **programs;        /* by local position in the world */
  struct pjrt_transform **transforms; /* transformations of the program; in the arena */
  int transform_count;
  bool is_transformed; /* a transformation has changed the program */
  hr_arena_t arena;
  pjrt_options_t options;
  hr_str_t code, options_bytes; /* as given by the framework; in the arena */
  hr_str_t partitioned; /* the program of one partition, a HloModuleProtoWithConfig, made at the
                           first request; guarded by the client's mutex */
  const char *name;     /* name of the module, NUL-terminated */
  char fingerprint[HR_DIGEST_TEXT]; /* digest of the program, its grid and devices, and hlorun's
                                       version, in hexadecimal */
  char interface[HR_DIGEST_TEXT];   /* digest of place and shapes (pjrt_agree.h) */
  const char *place;                /* name and place of the program, for messages */
  int param_count, result_count;    /* leaves of the entry's parameters and result */
  const hlo_shape_t **params;       /* NULL for tokens, which the framework does not pass */
  pjrt_result_t *results;
  bool *donated;      /* per parameter: the program may overwrite it */
  bool has_donations; /* some parameter is donated */
  bool has_orders;    /* some argument or result has another order than row-major */
  bool has_copies;    /* some result is another result or an argument */
  bool is_small;      /* little data, no loops: execution likely takes less than a thread switch */
  bool calls_python;  /* it has callbacks of JAX */
  pjrt_executable_lists_t lists;
};

/* Compiles for the devices of the options, in a world that traces if `is_traced`.
 * Owner: copies code and options.
 * Errors:  INVALID, UNSUPPORTED with the place in the program; USAGE for devices. */
hr_status_t pjrt_executable_compile(pjrt_client_t *client, hr_str_t code, hr_str_t options,
                                    bool is_traced, pjrt_executable_t **out_executable);
/* A new reference; the same object. */
pjrt_executable_t *pjrt_executable_retain(pjrt_executable_t *executable);
void pjrt_executable_release(pjrt_executable_t *executable); /* accepts NULL */

/* The executable to launch: itself, or its replacement if its world is broken. Owner: the
 * executable. Errors: as pjrt_executable_compile. */
hr_status_t pjrt_executable_current(pjrt_executable_t *executable, pjrt_executable_t **out_current);

/* The executable to launch while a profile is taken: its twin for a world that traces, if all
 * devices are in this process. Owner: the executable. Errors: as pjrt_executable_compile. */
hr_status_t pjrt_executable_profiled(pjrt_executable_t *executable,
                                     pjrt_executable_t **out_profiled);

/* Lists of serialized shardings for parameters and results, in the arena. */
hr_status_t pjrt_executable_describe_shardings(pjrt_executable_t *executable);
/* Appends a serialized OpSharding over `devices` devices, for a value of `rank` dimensions; NULL is
 * replicated. The arena is scratch memory. */
hr_status_t pjrt_sharding_write(const hlo_sharding_t *sharding, int rank, int64_t devices,
                                hr_arena_t *arena, hr_strbuf_t *text);
/* The framework as the host of the partitioner (partition/host.h), for custom calls of programs
 * that it has traced in this process. */
extern const struct spmd_host pjrt_partitioner_host; /* pjrt_partitioner.c */
/* Its members for calls that the framework divides; signatures of spmd_host_t.
 * pjrt_custom_partitioner.c */
struct spmd_host_call;
bool pjrt_divides(void *context, hr_str_t target);
hr_status_t pjrt_divide(void *context, struct spmd_host_call *call);
/* Its member for transformations; `context` is the executable. pjrt_transform.c */
hr_status_t pjrt_transform(void *context, hlo_module_t *module, hlo_module_t **out_changed);
/* Retains the transformations that are currently registered, or those of `like`, an executable that
 * is compiled again (NULL: none), until pjrt_transforms_release. */
hr_status_t pjrt_transforms_retain(pjrt_executable_t *executable, const pjrt_executable_t *like);
void pjrt_transforms_release(pjrt_executable_t *executable);
/* Gives instructions names that are unique in the module, as XLA requires; in the IR they are
 * unique in a computation. pjrt_optimized.c */
hr_status_t pjrt_rename_instrs(hlo_module_t *module);

/* The figures of the cost analysis; needs params and results. */
hr_status_t pjrt_executable_describe_costs(pjrt_executable_t *executable);
/* Text `index` of a module's attribute that has one text per argument or result, separated by
 * semicolons; "": none. */
hr_str_t pjrt_place_text(const hlo_module_t *module, const char *name, int index);
/* The layouts of arguments and results, in the arena; sets the orders of the results. */
hr_status_t pjrt_executable_describe_layouts(pjrt_executable_t *executable);

/* The compiled program of the first local device. The modules of its peers are alike. */
static inline const compiled_program_t *pjrt_executable_compiled(
    const pjrt_executable_t *executable) {
  return &executable->programs[0]->compiled;
}

#endif
