/* Calls of the C API in any order, as the bytes say: programs that are loaded (whole or damaged),
 * buffers of any shape, executions with arguments that fit or not, donated, started and awaited,
 * cancellation, saved and damaged states. Every call ends with a status; nothing crashes, leaks or
 * reports an internal error. What the header forbids is not done (references that were given up).
 * With -DHR_FUZZING -fsanitize=fuzzer it is a target of libFuzzer; else a program, see
 * fuzz_driver.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "fuzz_client.h"
#include "fuzz_driver.h"
#include "hlorun.h"

enum { SLOTS = 4, MOST_PARAMS = 8, MOST_RESULTS = 8, MOST_BYTES = 1 << 16 };

static const char *const programs[] = {
    "HloModule a\nENTRY e {\n  x = f32[2,3] parameter(0)\n  y = f32[2,3] parameter(1)\n"
    "  s = f32[2,3] add(x, y)\n  ROOT t = (f32[2,3], f32[3,2]) tuple(s, f32[3,2] reshape(s))\n}\n",
    "HloModule b, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n"
    "  x = s32[4] parameter(0)\n  ROOT y = s32[4] negate(x)\n}\n",
    "HloModule c\nENTRY e {\n  low = f32[] constant(0)\n  high = f32[] parameter(0)\n"
    "  ROOT r = f32[8] rng(low, high), distribution=rng_uniform\n}\n",
    "HloModule d\nENTRY e {\n  x = f32[<=8] parameter(0)\n  z = f32[] constant(0)\n"
    "  ROOT y = f32[<=8] multiply(x, x)\n}\n",
    "func.func @main(%a: tensor<?x2xf32>) -> tensor<?x2xf32> {\n"
    "  %0 = stablehlo.tanh %a : tensor<?x2xf32>\n  return %0 : tensor<?x2xf32>\n}\n",
    "HloModule f\nENTRY e {\n  x = pred[3] parameter(0)\n  t = token[] after-all()\n"
    "  ROOT y = (pred[3], token[]) tuple(x, t)\n}\n",
};
#define PROGRAM_COUNT (sizeof programs / sizeof *programs)

typedef struct world {
  const uint8_t *at, *end;
  hlorun_client_t *client;
  hlorun_program_t **kept; /* whole programs that the client has loaded before; PROGRAM_COUNT */
  hlorun_program_t *programs[SLOTS];
  hlorun_buffer_t *buffers[SLOTS];
  hlorun_execution_t *executions[SLOTS];
  int result_counts[SLOTS]; /* number of results of each execution */
} world_t;

/* The next byte of the input; 0 after its end. */
static unsigned take(world_t *world) { return world->at < world->end ? *world->at++ : 0; }

static int64_t take_size(world_t *world) {
  static const int64_t odd[] = {-1, INT64_MAX, INT64_MIN, (int64_t)1 << 45, (int64_t)1 << 62};
  unsigned byte = take(world);
  return byte < 250 ? byte % 9 : odd[byte % 5];
}

/* --- calls --- */

static void drop_program(world_t *world, unsigned slot) {
  bool is_kept = false;
  for (size_t p = 0; p < PROGRAM_COUNT; p++) is_kept |= world->programs[slot] == world->kept[p];
  if (!is_kept) hlorun_program_release(world->programs[slot]);
  world->programs[slot] = NULL;
}

/* Most loads are of whole programs without options: those are compiled once for all inputs, which
 * takes far longer than the other calls. */
static void load_kept(world_t *world, unsigned slot, size_t number) {
  hlorun_program_t **kept = &world->kept[number];
  const char *source = programs[number];
  if (!*kept)
    fuzz_is_fine(
        hlorun_program_load_bytes(world->client, "fuzz", source, strlen(source), NULL, kept));
  drop_program(world, slot);
  world->programs[slot] = *kept;
}

static void load(world_t *world, unsigned slot) {
  char text[1024];
  size_t number = take(world) % PROGRAM_COUNT;
  const char *source = programs[number];
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  size_t size = strlen(source);
  memcpy(text, source, size);
  unsigned changes = take(world);
  if (changes < 128) {
    load_kept(world, slot, number);
    return;
  }
  for (unsigned n = changes > 200 ? changes % 4 : 0; n; n--)
    text[take(world) * 4 % size] = (char)take(world);
  if (changes == 128) options.num_replicas = (int)take_size(world);
  if (changes == 129) options.sharding = "in0=x;out0=-";
  if (changes == 130) options.mesh = "x=2";
  if (changes == 131) options.infeed = "tcp:";
  drop_program(world, slot);
  fuzz_is_fine(hlorun_program_load_bytes(world->client, "fuzz", text, size, &options,
                                         &world->programs[slot]));
}

static void make_buffer(world_t *world, unsigned slot) {
  static const char *const dtypes[] = {"f32",  "s32",   "pred", "s4",    "bf16", "c64",
                                       "f8e4", "token", "",     "f32[]", "u64"};
  static uint64_t data[MOST_BYTES / 8];
  int64_t dims[8];
  unsigned kind = take(world);
  int rank = kind > 250 ? (int)take_size(world) : (int)(kind % 4);
  size_t count = 1;
  for (int d = 0; d < 8; d++) dims[d] = take_size(world);
  if (take(world) % 4) { /* often what a program wants */
    rank = 2;
    dims[0] = 2;
    dims[1] = 3;
  }
  for (int d = 0; d < rank && d < 8; d++)
    count *= dims[d] >= 0 && dims[d] < 9 ? (size_t)dims[d] : 0;
  if (count * 16 > sizeof data) return;
  if (rank > 8) return; /* the caller's list would be too short */
  hlorun_buffer_release(world->buffers[slot]);
  world->buffers[slot] = NULL;
  const char *dtype = dtypes[take(world) % (sizeof dtypes / sizeof *dtypes)];
  if (fuzz_is_fine(
          hlorun_buffer_create(dtype, rank, dims, data, NULL, NULL, &world->buffers[slot])))
    fuzz_is_fine(hlorun_buffer_share(world->client, &world->buffers[slot]));
}

/* A buffer of the parameter's shape, by its text; NULL for what this cannot make. */
static hlorun_buffer_t *fitting(world_t *world, const hlorun_program_t *program, int param) {
  static uint64_t data[MOST_BYTES / 8];
  const char *shape = hlorun_program_param_shape(program, param);
  char dtype[16];
  int64_t dims[8];
  int rank = 0;
  hlorun_buffer_t *buffer = NULL;
  const char *open = strchr(shape, '[');
  if (!open || open - shape >= (int)sizeof dtype) return NULL;
  snprintf(dtype, sizeof dtype, "%.*s", (int)(open - shape), shape);
  for (const char *at = open + 1; *at && *at != ']' && rank < 8; at += strcspn(at, ",]")) {
    if (*at == ',') at++;
    bool is_bound = at[0] == '<' || at[0] == '?';
    dims[rank++] = is_bound ? (int64_t)(take(world) % 9) : strtoll(at, NULL, 10);
  }
  fuzz_is_fine(hlorun_buffer_create(dtype, rank, dims, data, NULL, NULL, &buffer));
  return buffer;
}

typedef struct arguments {
  hlorun_buffer_t *list[MOST_PARAMS];
  bool donate[MOST_PARAMS];
  int count;
} arguments_t;

/* Each a reference of its own. */
static void choose_arguments(world_t *world, const hlorun_program_t *program, arguments_t *args) {
  args->count = hlorun_program_param_count(program);
  if (args->count > MOST_PARAMS) fuzz_fail("more parameters than any program has");
  unsigned wrong = take(world), donated = take(world);
  for (int k = 0; k < args->count; k++) {
    bool is_wrong = (wrong >> k & 1) && wrong > 128;
    hlorun_buffer_t *other = world->buffers[take(world) % SLOTS];
    args->list[k] = is_wrong ? hlorun_buffer_retain(other) : fitting(world, program, k);
    args->donate[k] = donated >> k & 1;
  }
}

static void drop_arguments(const arguments_t *args) {
  for (int k = 0; k < args->count; k++)
    if (!args->donate[k]) hlorun_buffer_release(args->list[k]);
}

static void keep_results(world_t *world, hlorun_buffer_t **results, int count) {
  for (int r = 0; r < count; r++) {
    unsigned slot = take(world) % SLOTS;
    hlorun_buffer_release(world->buffers[slot]);
    world->buffers[slot] = results[r];
  }
}

static void execute(world_t *world, hlorun_program_t *program) {
  hlorun_buffer_t *results[MOST_RESULTS] = {NULL};
  arguments_t args;
  if (!program) return;
  choose_arguments(world, program, &args);
  if (fuzz_is_fine(hlorun_execute(program, args.list, args.donate, results)))
    keep_results(world, results, hlorun_program_result_count(program));
  drop_arguments(&args);
}

static void start(world_t *world, hlorun_program_t *program, unsigned slot) {
  arguments_t args;
  if (!program) return;
  hlorun_execution_release(world->executions[slot]);
  world->executions[slot] = NULL;
  choose_arguments(world, program, &args);
  fuzz_is_fine(hlorun_execute_start(program, args.list, args.donate, &world->executions[slot]));
  world->result_counts[slot] = hlorun_program_result_count(program);
  drop_arguments(&args);
}

static void await(world_t *world, unsigned slot) {
  hlorun_buffer_t *results[MOST_RESULTS] = {NULL};
  if (!world->executions[slot]) return;
  hlorun_execution_is_done(world->executions[slot]);
  if (fuzz_is_fine(hlorun_execution_await(world->executions[slot], results)))
    keep_results(world, results, world->result_counts[slot]);
}

/* Saves a state, and loads it or any other buffer. */
static void move_state(world_t *world, hlorun_program_t *program, unsigned slot) {
  if (!program) return;
  hlorun_buffer_t *state = NULL;
  if (fuzz_is_fine(hlorun_program_save_state(program, &state))) {
    hlorun_buffer_release(world->buffers[slot]);
    world->buffers[slot] = state;
  }
  const hlorun_buffer_t *other = world->buffers[take(world) % SLOTS];
  if (other) fuzz_is_fine(hlorun_program_load_state(program, other));
}

static void ask(const world_t *world, const hlorun_program_t *program, int index) {
  int64_t dims[16], starts[16];
  hlorun_program_figures_t figures;
  hlorun_program_param_name(program, index);
  hlorun_program_param_shape(program, index);
  hlorun_program_result_shape(program, index);
  if (program) hlorun_program_get_figures(program, &figures);
  if (program) hlorun_program_part(program, index & 1, index, index, dims, starts);
  hlorun_client_rank(world->client);
}

static void one_call(world_t *world) {
  unsigned call = take(world), slot = take(world) % SLOTS;
  hlorun_program_t *program = world->programs[take(world) % SLOTS];
  switch (call % 10) {
    case 0:
      load(world, slot);
      break;
    case 1:
    case 2:
      execute(world, program);
      break;
    case 3:
      make_buffer(world, slot);
      break;
    case 4:
      start(world, program, slot);
      break;
    case 5:
      await(world, slot);
      break;
    case 6:
      move_state(world, program, slot);
      break;
    case 7:
      ask(world, program, (int)take_size(world));
      break;
    case 8:
      hlorun_client_cancel(world->client, call & 16 ? NULL : "by the fuzzer");
      break;
    default:
      fuzz_is_fine(hlorun_client_resume(world->client));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hlorun_client_t *clients[2];
  static hlorun_program_t *kept[2][PROGRAM_COUNT];
  if (!clients[0]) clients[0] = fuzz_client(HLORUN_ENGINE_COMPILED);
  if (!clients[1]) clients[1] = fuzz_client(HLORUN_ENGINE_REFERENCE);
  if (!size) return 0;
  world_t world = {.at = data + 1,
                   .end = data + size,
                   .client = clients[data[0] & 1],
                   .kept = kept[data[0] & 1]};
  while (world.at < world.end) one_call(&world);
  for (int s = 0; s < SLOTS; s++) {
    hlorun_execution_release(world.executions[s]);
    drop_program(&world, (unsigned)s);
    hlorun_buffer_release(world.buffers[s]);
  }
  fuzz_is_fine(hlorun_client_resume(world.client));
  return 0;
}

#ifndef HR_FUZZING

/* Loads a program, then calls at random. */
static fuzz_bytes_t builtin_calls(int index) {
  char bytes[160];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)fuzz_random_below(256);
  const char load_first[] = {(char)index, 0, 0, 0, (char)(index / 2), 0};
  memcpy(bytes, load_first, sizeof load_first);
  return fuzz_copy(bytes, sizeof bytes);
}

static void mutate(fuzz_bytes_t *bytes, const fuzz_bytes_t *other) {
  (void)other;
  for (uint64_t n = fuzz_random_below(40); n && bytes->size > 6; n--)
    bytes->data[6 + fuzz_random_below(bytes->size - 6)] = (char)fuzz_random_below(256);
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {
      .own = builtin_calls, .own_count = 2 * PROGRAM_COUNT, .mutate = mutate, .rounds = 3000};
  return fuzz_main(argc, argv, &material);
}

#endif
