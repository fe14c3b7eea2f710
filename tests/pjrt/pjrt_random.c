/* Random sequences of calls of the plugin, right and wrong ones, by several threads at once.
 * argv: PLUGIN [FIRST_SEED [SEQUENCES [CALLS]]]. Prints "N passed, N failed".
 *
 * The threads share a table of buffers. Each buffer holds one number in all its elements, so that a
 * result is known from the numbers of its arguments, whatever the order of the calls. A slot of the
 * table may be used by several threads; who wants to destroy its buffer waits until it is alone, as
 * the interface asks of its callers. Deletions and donations, though, may come at any moment.
 * A sequence passes if no random_call crashes or hangs, and no value is wrong; refusals are
 * expected. Not tried: pointers to objects that were destroyed, which no plugin can tell from
 * others. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/pjrt/random_calls.h"
#include "tests/pjrt/random_slots.h"

/* Programs of one device: what each makes of its arguments. The third one may overwrite its own;
 * the fourth is large enough for the thread of the device. */
static char *const texts[PROGRAMS] = {
    "module @add { func.func public @main(%a: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<6xf32> {"
    " %0 = stablehlo.add %a, %b : tensor<6xf32> return %0 : tensor<6xf32> } }",
    "module @copy { func.func public @main(%a: tensor<6xf32>) -> tensor<6xf32> {"
    " return %a : tensor<6xf32> } }",
    "module @negate { func.func public @main(%a: tensor<6xf32> {tf.aliasing_output = 0 : i32}) -> "
    "tensor<6xf32> { %0 = stablehlo.negate %a : tensor<6xf32> return %0 : tensor<6xf32> } }",
    "module @wide { func.func public @main(%a: tensor<6xf32>) -> tensor<6xf32> {"
    " %z = stablehlo.constant dense<0.0> : tensor<f32>"
    " %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<6xf32>) -> tensor<20000x6xf32>"
    " %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [0] :"
    " (tensor<20000x6xf32>, tensor<f32>) -> tensor<6xf32> return %1 : tensor<6xf32> } }"};

/* What one thread does in a sequence. */
typedef struct caller {
  pthread_t thread;
  uint64_t state;
  int calls;
} caller_t;

static void *run_calls(void *context) {
  caller_t *caller = context;
  for (int i = 0; i < caller->calls; i++) random_make_call(&caller->state);
  return NULL;
}

/* A failure leaves the seed, with which it can be had again, as far as threads allow. */
static bool run_sequence(uint64_t seed, int calls) {
  caller_t callers[THREADS];
  int before = random_wrong_values();
  alarm(TIME_LIMIT_S);
  for (int i = 0; i < THREADS; i++) {
    callers[i] =
        (caller_t){.state = seed * 0x9e3779b97f4a7c15ull + (uint64_t)i + 1, .calls = calls};
    pthread_create(&callers[i].thread, NULL, run_calls, &callers[i]);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(callers[i].thread, NULL);
  for (int i = 0; i < SLOTS; i++) {
    if (slots[i].buffer) random_drop(PJRT_INDEX_Buffer_Destroy, slots[i].buffer);
    slots[i].buffer = NULL;
  }
  bool is_right = random_wrong_values() == before;
  if (!is_right) printf("FAILED: seed %llu: wrong values\n", (unsigned long long)seed);
  return is_right;
}

/* --- beginning and end --- */

static bool begin(void) {
  const pjrt_named_t option = {.struct_size = sizeof option,
                               .name = "devices",
                               .name_size = 7,
                               .kind = PJRT_NAMED_INT64,
                               .int64 = 2,
                               .value_size = 1};
  pjrt_client_create_args_t create = {
      .struct_size = sizeof create, .options = &option, .option_count = 1};
  if (!random_call_function(api->functions[PJRT_INDEX_Client_Create], &create)) return false;
  client = create.client;
  for (int i = 0; i < 2; i++) {
    pjrt_lookup_args_t lookup = {.struct_size = sizeof lookup, .client = client, .id = i};
    if (!random_call_function(api->functions[PJRT_INDEX_Client_LookupDevice], &lookup))
      return false;
    devices[i] = lookup.device;
  }
  for (int i = 0; i < SLOTS; i++) pthread_rwlock_init(&slots[i].lock, NULL);
  for (int p = 0; p < PROGRAMS; p++) {
    pjrt_program_t program = {.struct_size = sizeof program,
                              .code = texts[p],
                              .code_size = strlen(texts[p]),
                              .format = "mlir",
                              .format_size = 4};
    pjrt_client_compile_args_t compile = {
        .struct_size = sizeof compile, .client = client, .program = &program};
    if (!random_call_function(api->functions[PJRT_INDEX_Client_Compile], &compile)) return false;
    programs[p] = compile.executable;
  }
  return true;
}

int main(int argc, char **argv) {
  void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!plugin) {
    printf("cannot load the plugin: %s\n", argc > 1 ? dlerror() : "no path");
    return 99;
  }
  api = ((const pjrt_api_t *(*)(void))dlsym(plugin, "GetPjrtApi"))();
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int sequences = argc > 3 ? atoi(argv[3]) : 200;
  int calls = argc > 4 ? atoi(argv[4]) : 60;
  int failed = 0;
  if (!begin()) {
    printf("the client cannot be made\n");
    return 99;
  }
  for (int i = 0; i < sequences; i++) failed += !run_sequence(first + (uint64_t)i, calls);
  for (int p = 0; p < PROGRAMS; p++) random_drop(PJRT_INDEX_LoadedExecutable_Destroy, programs[p]);
  random_drop(PJRT_INDEX_Client_Destroy, client);
  printf("%d passed, %d failed\n", sequences - failed, failed);
  return failed != 0;
}
