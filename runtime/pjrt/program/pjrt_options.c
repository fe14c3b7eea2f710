/* CompileOptionsProto, as far as it says on which devices a program runs. The rest is XLA's own:
 * debug options, effort, layouts that are the default ones. */
#include "pjrt/program/pjrt_options.h"

#include "pjrt/program/pjrt_overrides.h"

/* The bound of the client, which also keeps products of the grid within an int. */

/* Entry [replica][partition] stands in list `partition`, at `replica`.
 * The proto has a list per partition, with its replicas; in hlorun's list the partition runs
 * fastest. */
static hr_status_t read_assignment(hr_arena_t *arena, const proto_device_assignment_t *assignment,
                                   pjrt_options_t *options) {
  proto_computation_devices_t column;
  hr_ints_t ids;
  if (assignment->replica_count != options->num_replicas ||
      assignment->computation_count != options->num_partitions ||
      assignment->computation_devices.count != options->num_partitions)
    return hr_error(HR_INVALID, "a device assignment of %lld x %lld for a grid of %d x %d",
                    (long long)assignment->replica_count, (long long)assignment->computation_count,
                    options->num_replicas, options->num_partitions);
  for (int p = 0; p < options->num_partitions; p++) {
    const hr_str_t *piece = &assignment->computation_devices.items[p];
    HR_TRY(PROTO_DECODE(arena, computation_devices, proto_piece(piece), &column));
    HR_TRY(proto_ints(arena, column.replica_device_ids, &ids));
    if (ids.count != options->num_replicas)
      return hr_error(HR_INVALID, "a device assignment of %lld replicas, want %d",
                      (long long)ids.count, options->num_replicas);
    for (int r = 0; r < options->num_replicas; r++)
      options->devices[r * options->num_partitions + p] = (int)ids.data[r];
  }
  return NULL;
}

/* Fields that are absent are 0 in a proto, and mean 1 here. */
static hr_status_t read_grid(const proto_build_options_t *build, pjrt_options_t *options) {
  int64_t replicas = build->num_replicas ? build->num_replicas : 1;
  int64_t partitions = build->num_partitions ? build->num_partitions : 1;
  if (replicas < 1 || partitions < 1 || replicas > PJRT_MAX_DEVICES ||
      partitions > PJRT_MAX_DEVICES || replicas * partitions > PJRT_MAX_DEVICES)
    return hr_error(HR_INVALID, "a grid of %lld x %lld devices, want at most %d",
                    (long long)replicas, (long long)partitions, PJRT_MAX_DEVICES);
  options->num_replicas = (int)replicas;
  options->num_partitions = (int)partitions;
  options->device_count = (int)(replicas * partitions);
  return NULL;
}

hr_status_t pjrt_options_read(hr_arena_t *arena, const char *bytes, size_t size_bytes,
                              pjrt_options_t *out_options) {
  hr_str_t text = {bytes, size_bytes};
  proto_compile_options_t message;
  proto_build_options_t build;
  proto_device_assignment_t assignment;
  HR_TRY(PROTO_DECODE(arena, compile_options, proto_piece(&text), &message));
  if (message.tupled_arguments)
    return hr_error(HR_UNSUPPORTED, "arguments in a tuple (parameter_is_tupled_arguments)");
  HR_TRY(pjrt_overrides_check(arena, message.overrides));
  HR_TRY(PROTO_DECODE(arena, build_options, message.build_options, &build));
  HR_TRY(read_grid(&build, out_options));
  HR_TRY(HR_NEW_ARRAY(arena, out_options->device_count, &out_options->devices));
  for (int i = 0; i < out_options->device_count; i++) out_options->devices[i] = i;
  if (!build.device_assignment.count) return NULL;
  HR_TRY(PROTO_DECODE(arena, device_assignment, build.device_assignment, &assignment));
  return read_assignment(arena, &assignment, out_options);
}

hr_status_t pjrt_options_write_devices(const pjrt_options_t *options, hr_strbuf_t *text) {
  proto_put_int(text, PROTO_device_assignment_replica_count, options->num_replicas);
  proto_put_int(text, PROTO_device_assignment_computation_count, options->num_partitions);
  for (int p = 0; p < options->num_partitions; p++) {
    size_t column = proto_open(text, PROTO_device_assignment_computation_devices);
    size_t ids = proto_open(text, PROTO_computation_devices_replica_device_ids);
    for (int r = 0; r < options->num_replicas; r++)
      proto_put_varint(text, (uint64_t)options->devices[r * options->num_partitions + p]);
    proto_close(text, ids);
    proto_close(text, column);
  }
  return hr_strbuf_finish(text);
}
