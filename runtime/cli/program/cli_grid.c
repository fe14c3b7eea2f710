/* Finds the grid of a program: in text it is in a header line, found without parsing; bytecode,
 * protos and programs with meshes are read whole. The cost is one pass over the lines up to the
 * header, else that of a reader. Sizes above INT16_MAX count as 1. */
#include "cli/program/cli_grid.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "cli/program/cli_programs.h"
#include "io/gzip.h"
#include "read/read.h"

/* The number after `name=` ("name = ") in the module's header line; 1 if absent. */
static int header_number(hr_str_t line, const char *name) {
  const char *at = memmem(line.data, line.size, name, strlen(name));
  if (!at) return 1;
  long value = strtol(at + strlen(name), NULL, 10);
  return value >= 1 && value <= INT16_MAX ? (int)value : 1;
}

/* Lines are not NUL-terminated. */
static bool begins(hr_str_t line, const char *word) {
  size_t size = strlen(word);
  return line.size >= size && memcmp(line.data, word, size) == 0;
}

/* Meshes of Shardy may have devices that the header does not count. */
static bool read_header(hr_str_t line, cli_grid_t *out_grid) {
  bool is_hlo = begins(line, "HloModule");
  const char *replicas = is_hlo ? "replica_count=" : "mhlo.num_replicas = ";
  const char *partitions = is_hlo ? "num_partitions=" : "mhlo.num_partitions = ";
  out_grid->replicas = header_number(line, replicas);
  out_grid->partitions = header_number(line, partitions);
  return !is_hlo || !memmem(line.data, line.size, "xla.sdy.meshes", 14);
}

/* Comments and blank lines may precede the header. Text ends at a zero byte: the rest of a file, or
 * all of it, may be huge and sparse. */
bool cli_grid_of_text(hr_str_t text, cli_grid_t *out_grid, const char **out_end) {
  const char *at = text.data, *end = at + strnlen(at, text.size);
  *out_grid = (cli_grid_t){1, 1};
  *out_end = NULL;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    hr_str_t line = {at, (size_t)((stop ? stop : end) - at)};
    if (begins(line, "HloModule") || begins(line, "module ")) {
      *out_end = at;
      return read_header(line, out_grid);
    }
    at += line.size + 1;
  }
  return false;
}

/* Errors are ignored: the run reads the program again and reports them. */
static cli_grid_t read_whole_grid(const char *path) {
  cli_grid_t grid = {1, 1};
  hlo_module_t *module = NULL;
  hr_status_t st = read_structure_file(path, &module);
  spmd_options_t spmd = {.stop_after_propagate = true};
  if (!st) st = spmd_run(module, &spmd);
  if (!st && module->replica_count <= INT16_MAX && module->num_partitions <= INT16_MAX)
    grid = (cli_grid_t){(int)module->replica_count, (int)module->num_partitions};
  hr_status_release(st);
  hlo_module_destroy(module);
  return grid;
}

/* GSPMD's annotations may have devices that the header does not count. */
static bool has_devices(hr_str_t text) {
  static const char *const marks[] = {
      "sharding={devices=", "sharding={{devices=", "SPMDFullToShardShape"};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (memmem(text.data, text.size, marks[i], strlen(marks[i]))) return true;
  return false;
}

/* For text only the first lines are read, for other forms a reader is needed. */
cli_grid_t cli_grid_of_file(const char *path) {
  cli_grid_t grid = {1, 1};
  const char *header;
  hr_buffer_t *bytes;
  hr_status_t st = gzip_map_file(path, &bytes);
  if (st) {
    hr_status_release(st);
    return grid;
  }
  hr_str_t text = {hr_buffer_data(bytes), hr_buffer_size(bytes)};
  text.size = strnlen(text.data, text.size);
  bool found = cli_grid_of_text(text, &grid, &header);
  if (found && grid.replicas == 1 && grid.partitions == 1) found = !has_devices(text);
  hr_buffer_release(bytes);
  return found ? grid : read_whole_grid(path);
}

/* --- global programs --- */

spmd_options_t cli_grid_partitioning(const hr_options_t *options, int64_t world) {
  int64_t replicas = (int64_t)hr_option_int(options, HR_OPTION_NUM_REPLICAS, 0);
  if (!world) world = (int64_t)hr_option_int(options, HR_OPTION_PROCESSES, 0);
  bool divides = replicas > 1 && world % replicas == 0;
  return (spmd_options_t){.device_count = divides ? world / replicas : world,
                          .replica_count = replicas,
                          .mesh = hr_option_text(options, HR_OPTION_MESH),
                          .sharding = hr_option_text(options, HR_OPTION_SHARDING),
                          .gather_limit = hr_option_int(options, HR_OPTION_GATHER_LIMIT, 0)};
}

/* Reads the program anew and reduces its mesh to `world` processes, 0: not reduced. *out_devices is
 * 0 if that fails, and for a program that is not global. */
static hr_status_t reduce_mesh(const hr_options_t *options, int64_t world, int64_t *out_devices) {
  hlo_module_t *module = NULL;
  spmd_options_t spmd = cli_grid_partitioning(options, world);
  spmd.device_count = world;
  spmd.stop_after_propagate = true;
  *out_devices = 0;
  hr_status_t st = read_structure_file(options->operands.data[0], &module);
  bool is_global = !st && !spmd_is_partitioned(module) && spmd_is_global(module, &spmd);
  if (is_global) st = spmd_run(module, &spmd);
  if (is_global && !st) *out_devices = module->num_partitions;
  hlo_module_destroy(module);
  return st;
}

/* On one process, annotations are ignored, but for those of manual computations. */
static bool fits(const hr_options_t *options, int64_t world) {
  int64_t devices;
  hr_status_t st = reduce_mesh(options, world, &devices);
  bool can = !st && (devices == world || world == 1);
  hr_status_release(st);
  return can;
}

hr_status_t cli_grid_worlds(hr_arena_t *arena, const hr_options_t *options, const int **out_worlds,
                            int *out_count) {
  int64_t devices = 0;
  int *worlds;
  *out_count = 0;
  if (options->operands.count == 1) hr_status_release(reduce_mesh(options, 0, &devices));
  if (devices > INT16_MAX) devices = 0;
  HR_TRY(HR_NEW_ARRAY(arena, devices + 1, &worlds));
  for (int64_t world = devices; world > 0; world--)
    if (devices % world == 0 && fits(options, world)) worlds[(*out_count)++] = (int)world;
  *out_worlds = worlds;
  return NULL;
}

/* --- the world of a command --- */

/* Processes cannot read a pipe or standard input a second time. */
static bool is_read_once(const char *path) {
  struct stat info;
  return strcmp(path, "-") == 0 || stat(path, &info) || !S_ISREG(info.st_mode);
}

/* The product of the sizes in "data=4,model=2"; 1 for other texts, which the run reports. */
static int world_of_mesh(const char *mesh) {
  int64_t world = 1;
  for (const char *at = strchr(mesh, '='); at; at = strchr(at + 1, '=')) {
    long size = strtol(at + 1, NULL, 10);
    if (size < 1 || size > INT16_MAX || world * size > INT16_MAX) return 1;
    world *= size;
  }
  return (int)world;
}

/* 1 for several programs on the command line: they require -n. */
int cli_grid_world(const hr_options_t *options) {
  if (hr_option_is_given(options, HR_OPTION_PROGRAM)) return cli_programs_last_rank(options) + 1;
  if (options->operands.count != 1 || is_read_once(options->operands.data[0])) return 1;
  const char *mesh = hr_option_text(options, HR_OPTION_MESH);
  if (mesh) return world_of_mesh(mesh);
  cli_grid_t grid = cli_grid_of_file(options->operands.data[0]);
  int64_t world = (int64_t)grid.replicas * grid.partitions;
  return world <= INT16_MAX ? (int)world : 1;
}
