/* The compiler of generated code: requests, division into modules, cache, compilation, loading.
 *
 * jit_request returns the kernel of a key, planning it when it is new. jit_finish divides the
 * pending kernels into modules of similar work, enough for every worker to have a few, looks each
 * module up in the object cache by the concatenation of its kernels' keys, compiles what is
 * missing, stores it, and links all objects into the process. Kernels that only regions contain
 * get no function of their own. */
#include "jit/jit.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "jit/compile_pool.h"
#include "jit/jit_parts.h"

/* Nodes of a module: at least enough to pay for its overhead, at most few enough to share out. */
#define MODULE_WORK_LEAST 80.0
#define MODULE_WORK_MOST 400.0

hr_status_t jit_create(const jit_options_t *options, jit_t **out_jit) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(jit_t), &memory));
  jit_t *jit = memory;
  jit->options = *options;
  hr_arena_init(&jit->arena);
  hr_map_init(&jit->kernels);
  *out_jit = jit;
  return NULL;
}

static void clear_pending(jit_t *jit) {
  for (size_t i = 0; i < jit->pending.count; i++) hr_arena_deinit(&jit->pending.data[i]->arena);
  jit->pending.count = 0;
}

/* Unmaps all code: no kernel may run any more. */
void jit_destroy(jit_t *jit) {
  if (!jit) return;
  clear_pending(jit);
  for (size_t i = 0; i < jit->objects.count; i++) jit_object_unload(jit->objects.data[i]);
  HR_VEC_FREE(&jit->pending);
  HR_VEC_FREE(&jit->objects);
  hr_map_deinit(&jit->kernels);
  hr_arena_deinit(&jit->arena);
  hr_free(jit);
}

jit_counts_t jit_counts(const jit_t *jit) { return jit->counts; }

/* --- requests --------------------------------------------------------------------------------- */

/* A declined kernel stays in the map, so that its key is not planned again. */
static hr_status_t create_kernel(jit_t *jit, jit_key_t key, const jit_fusion_t *fusion, int part,
                                 const jit_buffer_list_t *buffers, jit_kernel_t **out_kernel) {
  const jit_place_t *place = &fusion->place;
  jit_kernel_t *kernel;
  HR_TRY(HR_NEW(&jit->arena, &kernel));
  HR_TRY(HR_VEC_RESERVE(&jit->pending, jit->pending.count + 1));
  kernel->key = key;
  if (place->producer_grid) kernel->schedule.producer_grid = *place->producer_grid;
  kernel->schedule.leaves_caches = place->leaves_caches;
  HR_TRY(hr_map_put(&jit->kernels, key, kernel, NULL));
  hr_status_t st = jit_kernel_plan(&jit->arena, jit_target_host(), fusion, part, buffers, kernel);
  if (st) kernel->state.is_declined = true;
  HR_TRY(st);
  if (!kernel->state.is_declined) jit->pending.data[jit->pending.count++] = kernel;
  *out_kernel = kernel;
  return NULL;
}

/* The key's text goes to the jit's arena, and is taken back if the kernel exists. */
hr_status_t jit_request(jit_t *jit, hr_arena_t *arena, const jit_fusion_t *fusion, int part,
                        jit_kernel_t **out_kernel, jit_buffer_list_t *out_buffers) {
  jit_key_t key;
  hr_arena_mark_t before = hr_arena_mark(&jit->arena);
  HR_TRY(jit_kernel_key(arena, &jit->arena, jit_target_host(), fusion, part, &key, out_buffers));
  jit->counts.requests++;
  *out_kernel = hr_map_get(&jit->kernels, key);
  if (*out_kernel && !(*out_kernel)->state.is_dropped)
    hr_arena_rewind(&jit->arena, before);
  else
    HR_TRY(create_kernel(jit, key, fusion, part, out_buffers, out_kernel));
  (*out_kernel)->state.uses++;
  return NULL;
}

/* --- code ------------------------------------------------------------------------------------- */

/* Kernels first[m] .. first[m + 1] - 1 are module m. */
typedef struct build {
  jit_t *jit;
  int kernel_count;
  jit_kernel_t **kernels; /* kernels that are functions */
  int module_count;
  int *first;
  jit_key_t *keys;
  hr_buffer_t **objects;
  int missing_count, *missing; /* modules that the cache lacks */
} build_t;

static double kernel_work(const jit_kernel_t *kernel) { return kernel->state.node_work + 20; }

/* A module's worth of work, so that every worker has a few. */
static double module_work(const build_t *build) {
  double work = 0;
  for (int i = 0; i < build->kernel_count; i++) work += kernel_work(build->kernels[i]);
  work /= 2 * hr_workers_count(build->jit->options.workers);
  return work < MODULE_WORK_LEAST  ? MODULE_WORK_LEAST
         : work > MODULE_WORK_MOST ? MODULE_WORK_MOST
                                   : work;
}

/* Kernels in order; a module ends when it has its share of the work. */
static hr_status_t divide_modules(build_t *build, hr_arena_t *arena) {
  double work = 0, most = module_work(build);
  HR_TRY(HR_NEW_ARRAY(arena, build->kernel_count + 1, &build->first));
  for (int i = 0; i < build->kernel_count; i++) {
    if (!build->module_count || work >= most) {
      build->first[build->module_count++] = i;
      work = 0;
    }
    work += kernel_work(build->kernels[i]);
  }
  build->first[build->module_count] = build->kernel_count;
  HR_TRY(HR_NEW_ARRAY(arena, build->module_count, &build->keys));
  HR_TRY(HR_NEW_ARRAY(arena, build->module_count, &build->missing));
  return HR_NEW_ARRAY(arena, build->module_count, &build->objects);
}

/* The key of a module: its kernels' keys in order. The kernels are named by their positions. */
static hr_status_t make_module_key(build_t *build, hr_arena_t *arena, int m) {
  jit_key_state_t state;
  jit_key_start(&state, jit_target_host()->host);
  for (int i = build->first[m]; i < build->first[m + 1]; i++) {
    jit_kernel_t *kernel = build->kernels[i];
    jit_key_add(&state, kernel->key.data, kernel->key.size);
    snprintf(kernel->name, sizeof kernel->name, "kernel%d", i - build->first[m]);
  }
  return jit_key_end(&state, arena, &build->keys[m]);
}

/* Lists the modules that the cache lacks in `missing`. */
static hr_status_t find_cached(build_t *build, hr_arena_t *arena) {
  for (int m = 0; m < build->module_count; m++) HR_TRY(make_module_key(build, arena, m));
  HR_TRY(
      jit_cache_find(build->jit->options.cache, build->keys, build->module_count, build->objects));
  for (int m = 0; m < build->module_count; m++)
    if (!build->objects[m]) build->missing[build->missing_count++] = m;
  build->jit->counts.modules_cached += build->module_count - build->missing_count;
  return NULL;
}

/* Stores compiled modules. Other processes may wait for the missing modules, so their locks are
 * released also after a failure. */
static void store_missing(build_t *build) {
  jit_cache_t *cache = build->jit->options.cache;
  for (int i = 0; i < build->missing_count; i++) {
    int m = build->missing[i];
    const hr_buffer_t *object = build->objects[m];
    if (object)
      jit_cache_store(cache, build->keys[m], hr_buffer_data(object), hr_buffer_size(object));
  }
  if (build->missing_count) jit_cache_release(cache);
}

/* Builds the kernels of one missing module. */
static hr_status_t write_module(void *context, int index, jit_code_t *code) {
  build_t *build = context;
  int m = build->missing[index];
  for (int i = build->first[m]; i < build->first[m + 1]; i++)
    HR_TRY(jit_kernel_write(build->kernels[i], code));
  return NULL;
}

/* All kernels of the module are simple. */
static bool is_quick(void *context, int index) {
  const build_t *build = context;
  int m = build->missing[index];
  for (int i = build->first[m]; i < build->first[m + 1]; i++)
    if (!jit_kernel_is_simple(build->kernels[i])) return false;
  return true;
}

/* A file that cannot be written does not fail the compilation. */
static void dump_module(void *context, int index, const char *ending, const char *text) {
  build_t *build = context;
  char path[4096], name[HR_DIGEST_TEXT];
  jit_key_name(build->keys[build->missing[index]], name);
  snprintf(path, sizeof path, "%s/code_%.16s.%s", build->jit->options.dump_to, name, ending);
  hr_status_release(hr_file_write_all(path, text, strlen(text)));
}

static hr_status_t compile_missing(build_t *build, hr_arena_t *arena) {
  hr_buffer_t **made;
  const jit_options_t *options = &build->jit->options;
  jit_compile_options_t how = {.workers = options->workers,
                               .target = jit_target_host(),
                               .is_quick = is_quick,
                               .dump = options->dump_to ? dump_module : NULL,
                               .dump_context = build};
  if (!build->missing_count) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, build->missing_count, &made));
  HR_TRY(jit_compile_modules(&how, build->missing_count, write_module, build, made));
  for (int i = 0; i < build->missing_count; i++) build->objects[build->missing[i]] = made[i];
  return NULL;
}

static hr_status_t load_module(build_t *build, int m) {
  jit_t *jit = build->jit;
  jit_object_t *object;
  char name[64];
  HR_TRY(HR_VEC_RESERVE(&jit->objects, jit->objects.count + 1));
  HR_TRY(jit_object_load(hr_buffer_data(build->objects[m]), hr_buffer_size(build->objects[m]),
                         &object));
  jit->objects.data[jit->objects.count++] = object;
  jit->counts.code_bytes += jit_object_code_bytes(object);
  for (int i = build->first[m]; i < build->first[m + 1]; i++) {
    jit_kernel_t *kernel = build->kernels[i];
    for (int p = 0; p < kernel->schedule.phase_count; p++) {
      jit_kernel_phase_name(kernel, p, name);
      HR_TRY(jit_object_find(object, name, (void **)&kernel->schedule.phases[p].run));
    }
    kernel->state.is_ready = true;
  }
  return NULL;
}

static hr_status_t collect_used_kernels(build_t *build, hr_arena_t *arena) {
  const jit_t *jit = build->jit;
  HR_TRY(HR_NEW_ARRAY(arena, jit->pending.count + 1, &build->kernels));
  for (size_t i = 0; i < jit->pending.count; i++) {
    jit_kernel_t *kernel = jit->pending.data[i];
    kernel->state.is_dropped = kernel->state.uses == 0;
    if (!kernel->state.is_dropped) build->kernels[build->kernel_count++] = kernel;
  }
  return NULL;
}

static hr_status_t build_code(build_t *build, hr_arena_t *arena) {
  HR_TRY(collect_used_kernels(build, arena));
  HR_TRY(divide_modules(build, arena));
  hr_status_t st = find_cached(build, arena);
  if (!st) st = compile_missing(build, arena);
  store_missing(build);
  HR_TRY(st);
  for (int m = 0; m < build->module_count; m++) HR_TRY(load_module(build, m));
  return NULL;
}

hr_status_t jit_finish(jit_t *jit) {
  hr_arena_t arena;
  build_t build = {.jit = jit};
  double start_s = hr_clock_s();
  if (!jit->pending.count) return NULL;
  hr_arena_init(&arena);
  hr_status_t st = build_code(&build, &arena);
  for (int m = 0; build.objects && m < build.module_count; m++) hr_buffer_release(build.objects[m]);
  jit->counts.kernels += build.kernel_count;
  jit->counts.modules += build.module_count;
  clear_pending(jit);
  hr_arena_deinit(&arena);
  jit->counts.compile_ms += 1e3 * (hr_clock_s() - start_s);
  return hr_status_note(st, "while generating code");
}
