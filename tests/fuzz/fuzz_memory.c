/* Runs random programs (memory_programs.h) in both engines with their arrays between fences
 * (HLORUN_CHECK=memory), each twice with other bytes beside the arrays, the second time with some
 * arguments given away. Found are: accesses beyond arrays, bytes beside arrays that were written,
 * results that depend on what is beside arrays, crashes, internal errors, programs that take longer
 * than 20 s, and results of integers that are not those of the other engine.
 *
 *   fuzz_memory FIRST_SEED COUNT [SECONDS]     "N programs, N failed, ..." as the last line; exit
 * code 1 if any failed fuzz_memory --print SEED                   the program fuzz_memory --one
 * SEED                     runs it in this process
 *
 * Batches of programs run in a child: where one ends it, the next begins with the seed after. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fence.h"
#include "base/status.h"
#include "hlorun.h"
#include "memory_programs.h"

enum { BATCH = 5000, LONGEST_SECONDS = 20, ENGINES = 2, MOST_RESULTS = 8 };

typedef struct counts {
  uint64_t seed; /* seed of the program that runs */
  uint64_t done, failed, refused, stopped,
      ran; /* stopped: with a status that a program may end with */
} counts_t;

static counts_t *counts; /* shared with children */
static char folder[] = "/tmp/fuzz-memory-XXXXXX";

static bool fail(uint64_t seed, const char *engine, const char *what, hlorun_status_t status) {
  char *report = status ? hlorun_status_format(status) : NULL;
  printf("FAILED: seed %lu, %s: %s\n%s", (unsigned long)seed, engine, what, report ? report : "");
  fflush(stdout);
  free(report);
  return false;
}

/* --- arguments --- */

static size_t bytes_of(const char *dtype) {
  if (*dtype == 'p' || dtype[1] == '8') return 1;
  if (dtype[1] == '1' || *dtype == 'b') return 2;
  return strchr(dtype, '6') ? 8 : 4;
}

/* Small numbers, and the ends of the type. */
static uint64_t index_bits(uint64_t *random, size_t size) {
  static const int64_t numbers[] = {0, 0,  1,  1, 2,  2,    3,     4,      5,
                                    6, -1, -2, 7, 64, 1000, -1000, 1 << 20};
  uint64_t n = program_random(random) % 22;
  int bits = 8 * (int)size;
  if (n < sizeof numbers / sizeof *numbers) return (uint64_t)numbers[n];
  if (n == 18) return UINT64_MAX >> (65 - bits); /* the largest */
  if (n == 19) return (uint64_t)1 << (bits - 1); /* the smallest */
  if (n == 20) return UINT64_MAX >> (65 - bits) & ~(uint64_t)7;
  return program_random(random);
}

static void fill(const program_param_t *param, uint64_t *random, unsigned char *to, int64_t count) {
  size_t size = bytes_of(param->dtype);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = param->is_index ? index_bits(random, size) : program_random(random);
    if (i < param->honest_count) bits = (uint64_t)param->honest[i];
    if (*param->dtype == 'p') bits &= 1;
    memcpy(to + (size_t)i * size, &bits, size);
  }
}

static hlorun_status_t make_argument(const program_param_t *param, uint64_t *random,
                                     hlorun_buffer_t **out) {
  static _Alignas(64) unsigned char bytes[1 << 24];
  int64_t count = 1;
  for (int d = 0; d < param->rank; d++) count *= param->dims[d];
  if ((size_t)count * 16 > sizeof bytes)
    return hr_error(HR_INTERNAL, "the generator made a parameter too large");
  fill(param, random, bytes, count);
  return hlorun_buffer_create(param->dtype, param->rank, param->dims, bytes, NULL, NULL, out);
}

static hlorun_status_t make_arguments(const program_t *program, uint64_t seed,
                                      hlorun_buffer_t **args) {
  uint64_t random = ~seed;
  for (int p = 0; p < program->param_count; p++) args[p] = NULL;
  for (int p = 0; p < program->param_count; p++)
    HR_TRY(make_argument(&program->params[p], &random, &args[p]));
  return NULL;
}

static void release_all(hlorun_buffer_t **buffers, int count) {
  for (int i = 0; i < count; i++) hlorun_buffer_release(buffers[i]);
}

/* --- runs --- */

/* What both runs of an engine gave. */
typedef struct outcome {
  int code; /* exit code of the status */
  int count;
  hlorun_buffer_t *results[MOST_RESULTS];
} outcome_t;

static bool is_equal(const hlorun_buffer_t *a, const hlorun_buffer_t *b) {
  size_t size = hlorun_buffer_size_bytes(a);
  return size == hlorun_buffer_size_bytes(b) &&
         (!size || !memcmp(hlorun_buffer_data(a), hlorun_buffer_data(b), size));
}

static bool are_equal(const outcome_t *a, const outcome_t *b, bool of_integers) {
  for (int r = 0; r < a->count && r < b->count; r++) {
    const char *dtype = hlorun_buffer_dtype(a->results[r]);
    bool counts = !of_integers || *dtype == 's' || *dtype == 'u' || *dtype == 'p';
    if (counts && !is_equal(a->results[r], b->results[r])) return false;
  }
  return true;
}

static void release_outcome(outcome_t *outcome) { release_all(outcome->results, outcome->count); }

/* A status that the values may lead to: sizes that are not those declared. */
static bool is_expected(hlorun_status_t status) { return hr_status_code(status) != HR_INTERNAL; }

/* Runs the program on fresh arguments, some of them donated; errors of the program are an
 * outcome, internal errors a failure. */
static bool run_once(hlorun_program_t *loaded, const program_t *program, uint64_t seed,
                     const char *engine, bool donates, outcome_t *out) {
  hlorun_buffer_t *args[PROGRAM_MOST_PARAMS];
  bool donate[PROGRAM_MOST_PARAMS] = {false};
  hlorun_status_t status = make_arguments(program, seed, args);
  for (int p = 0; p < program->param_count && donates; p++) donate[p] = (seed >> p % 32 & 1) != 0;
  if (!status) status = hlorun_execute(loaded, args, donates ? donate : NULL, out->results);
  for (int p = 0; p < program->param_count; p++)
    if (!donate[p]) hlorun_buffer_release(args[p]);
  out->code = hlorun_status_exit_code(status);
  out->count = status ? 0 : hlorun_program_result_count(loaded);
  bool is_fine = !status || is_expected(status);
  if (!is_fine) fail(seed, engine, "internal error", status);
  hlorun_status_release(status);
  return is_fine;
}

static bool run_twice(hlorun_program_t *loaded, const program_t *program, uint64_t seed,
                      const char *engine, outcome_t *out) {
  outcome_t again;
  if (!run_once(loaded, program, seed, engine, false, out)) return false;
  if (program->has_feeds) return true; /* the feed goes on: other values */
  hr_fence_repaint();
  bool is_fine = run_once(loaded, program, seed, engine, true, &again);
  if (is_fine && (out->code != again.code || !are_equal(out, &again, false)))
    is_fine = fail(seed, engine,
                   "other results with other bytes beside the arrays, or with arguments given away",
                   NULL);
  release_outcome(&again);
  return is_fine;
}

/* Programs may be refused as invalid; that is counted. */
static bool load(hlorun_client_t *client, const program_t *program, uint64_t seed,
                 const char *engine, hlorun_program_t **out_program) {
  hlorun_program_options_t options;
  char infeed[64];
  hlorun_program_options_init(&options);
  snprintf(infeed, sizeof infeed, "file:%s/in.hlf", folder);
  options.infeed = program->has_feeds ? infeed : NULL;
  options.outfeed = program->has_feeds ? "file:/dev/null" : NULL;
  *out_program = NULL;
  hlorun_status_t status = hlorun_program_load_bytes(client, "fuzz.hlo", program->text.data,
                                                     program->text.size, &options, out_program);
  if (!status) return true;
  counts->refused++;
  if (getenv("FUZZ_SHOW_REFUSED")) fail(seed, engine, "refused", status);
  bool is_fine = is_expected(status) || fail(seed, engine, "internal error", status);
  hlorun_status_release(status);
  return is_fine;
}

/* The compiled engine does not compute what no result needs: sizes that lie there end the reference
 * engine alone. */
static bool compare_engines(const outcome_t *reference, const outcome_t *compiled, uint64_t seed,
                            bool is_exact) {
  if (reference->code != compiled->code && (compiled->code || reference->code != 3))
    return fail(seed, "both", "other exit codes", NULL);
  if (is_exact && !are_equal(reference, compiled, true))
    return fail(seed, "both", "other results", NULL);
  return true;
}

static const char *const engine_names[ENGINES] = {"reference", "compiled"};

/* Loads and runs the program in all engines, between guard pages before or after it, and compares
 * what they give. */
static bool run_program(hlorun_client_t **clients, uint64_t seed) {
  program_t program;
  outcome_t outcomes[ENGINES] = {{0}};
  bool is_fine = true, both = true, was_loaded = false;
  program_make(seed, &program);
  hr_fence_set_mode(seed % 2 ? HR_FENCE_END : HR_FENCE_START);
  for (int e = 0; e < ENGINES && is_fine; e++) {
    hlorun_program_t *loaded;
    is_fine = load(clients[e], &program, seed, engine_names[e], &loaded);
    both = both && loaded;
    was_loaded = was_loaded || loaded;
    if (loaded)
      is_fine = is_fine && run_twice(loaded, &program, seed, engine_names[e], &outcomes[e]);
    hlorun_program_release(loaded);
  }
  if (is_fine && both)
    is_fine = compare_engines(&outcomes[0], &outcomes[1], seed, program.is_exact);
  counts->ran += both && !outcomes[0].code;
  counts->stopped += both && outcomes[0].code;
  for (int e = 0; e < ENGINES; e++) release_outcome(&outcomes[e]);
  hr_strbuf_deinit(&program.text);
  return is_fine;
}

/* --- the world --- */

static void increment(void *out, void **in) {
  for (int i = 0; i < PROGRAM_CUSTOM_COUNT; i++)
    ((uint32_t *)out)[i] = ((const uint32_t *)in[0])[i] + 1;
}

/* Values of an infeed of s32[4]. */
static void write_feed(void) {
  char path[64];
  snprintf(path, sizeof path, "%s/in.hlf", folder);
  FILE *file = fopen(path, "wb");
  for (int n = 0; file && n < 100; n++) {
    const uint32_t counts_of_array[] = {1, 0};
    const char name[16] = "s32";
    const int64_t dims[] = {4};
    const int32_t values[] = {n, -n, INT32_MAX, INT32_MIN};
    fwrite("HLF1", 1, 4, file);
    fwrite(&(uint32_t){1}, 1, 4, file);
    fwrite(name, 1, sizeof name, file);
    fwrite(counts_of_array, 1, sizeof counts_of_array, file);
    fwrite(dims, 1, sizeof dims, file);
    fwrite(values, 1, sizeof values, file);
  }
  if (file) fclose(file);
}

static void die(hlorun_status_t status) {
  char *report = hlorun_status_format(status);
  fprintf(stderr, "%s", report);
  exit(2);
}

static void make_clients(hlorun_client_t **clients) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  options.threads = 1;
  options.bind = HLORUN_BIND_NONE;
  hlorun_status_t status = hlorun_register_custom_call(PROGRAM_CUSTOM_CALL, increment);
  for (int e = 0; e < ENGINES && !status; e++) {
    options.engine = e ? HLORUN_ENGINE_COMPILED : HLORUN_ENGINE_REFERENCE;
    status = hlorun_client_create(&options, &clients[e]);
  }
  if (status) die(status);
}

static void run_batch(uint64_t first, uint64_t end) {
  hlorun_client_t *clients[ENGINES];
  make_clients(clients);
  for (uint64_t seed = first; seed < end; seed++) {
    counts->seed = seed;
    alarm(LONGEST_SECONDS);
    counts->failed += !run_program(clients, seed);
    counts->done++;
  }
  alarm(0);
  for (int e = 0; e < ENGINES; e++) hlorun_client_release(clients[e], 0);
}

/* Returns the first seed that is still to be run. */
static uint64_t run_child(uint64_t first, uint64_t end) {
  int how;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    run_batch(first, end);
    exit(0);
  }
  if (child < 0 || waitpid(child, &how, 0) != child) exit(2);
  if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return end;
  printf("FAILED: seed %lu: %s %d\n", (unsigned long)counts->seed,
         WIFSIGNALED(how) ? "signal" : "exit code",
         WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
  counts->failed++;
  counts->done++;
  return counts->seed + 1;
}

static void run_range(uint64_t first, uint64_t count, double seconds) {
  double begin = hr_clock_s();
  for (uint64_t seed = first; seed < first + count && (!seconds || hr_clock_s() - begin < seconds);)
    seed = run_child(seed, first + count - seed > BATCH ? seed + BATCH : first + count);
  printf(
      "%lu programs from %lu on, %lu failed; %lu ran, %lu ended with a status, %lu refusals; "
      "%.0f programs/s\n",
      (unsigned long)counts->done, (unsigned long)first, (unsigned long)counts->failed,
      (unsigned long)counts->ran, (unsigned long)counts->stopped, (unsigned long)counts->refused,
      (double)counts->done / (hr_clock_s() - begin));
}

static int print_program(uint64_t seed) {
  program_t program;
  program_make(seed, &program);
  fputs(program.text.data, stdout);
  hr_strbuf_deinit(&program.text);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "--print") == 0) return print_program(strtoull(argv[2], NULL, 10));
  counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (counts == MAP_FAILED || !mkdtemp(folder)) return 2;
  setenv("HLORUN_CACHE", "none", 1);
  setenv("HLORUN_CHECK", "memory", 1);
  write_feed();
  if (strcmp(argv[1], "--one") == 0)
    run_batch(strtoull(argv[2], NULL, 10), strtoull(argv[2], NULL, 10) + 1);
  else
    run_range(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
              argc > 3 ? atof(argv[3]) : 0);
  char path[64];
  snprintf(path, sizeof path, "%s/in.hlf", folder);
  unlink(path);
  rmdir(folder);
  return counts->failed != 0;
}
