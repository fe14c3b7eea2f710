// runtime/hlorun.hpp: every member once, failures as exceptions, no leak of references.
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "hlorun.hpp"

static int passed, failed;

static void check(bool condition, const char *what, int line) {
  ++(condition ? passed : failed);
  if (!condition) std::printf("FAILED: line %d: %s\n", line, what);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

// The call throws an error with this exit code and text.
template <typename F>
static void refused(F call, int exit_code, const char *text, int line) {
  try {
    call();
    check(false, text, line);
  } catch (const hlorun::error &error) {
    check(error.exit_code() == exit_code, error.what(), line);
    check(error.report().find(text) != std::string::npos, error.what(), line);
  }
}
#define REFUSED(exit_code, text, call) refused([&] { call; }, exit_code, text, __LINE__)

static const char twice[] =
    "HloModule twice\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] add(x, x)\n}\n";
static const char sum[] =
    "HloModule sum, replica_count=2\nadd { a = f32[] parameter(0) b = f32[] parameter(1) "
    "ROOT c = f32[] add(a, b) }\nENTRY e { x = f32[3] parameter(0) "
    "ROOT y = f32[3] all-reduce(x), replica_groups={}, to_apply=add }\n";

static hlorun::client alone() {
  hlorun_client_options_t options = hlorun::client_options();
  options.world = HLORUN_WORLD_SINGLE;
  options.trace = true;
  return hlorun::client(options);
}

static void test_run(const hlorun::client &client) {
  hlorun::program program = client.load_bytes("twice", twice);
  CHECK(program.param_count() == 1 && program.result_count() == 1);
  CHECK(program.num_replicas() == 1 && program.num_partitions() == 1);
  CHECK(program.param_name(0) == "x" && program.param_shape(0) == "f32[3]");
  CHECK(program.result_shape(0) == "f32[3]");
  auto results = program.run({hlorun::buffer::of<float>({3}, {1, 2, 3})});
  CHECK(results.size() == 1 && results[0].data<float>()[2] == 6);
  CHECK(results[0].dims() == std::vector<int64_t>{3} && results[0].size_bytes() == 12);
  hlorun::execution run = program.start(results);
  auto again = run.await();
  CHECK(run.is_done() && again[0].data<float>()[0] == 4);
  REFUSED(2, "already been awaited", run.await());
  CHECK(client.explain().find("kernel") != std::string::npos);
  CHECK(client.explain_json().find("\"executions\"") != std::string::npos);
}

static void test_buffers(const hlorun::client &client) {
  int released = 0;
  alignas(64) float own[3] = {1, 2, 3};
  {
    hlorun::buffer borrowed = hlorun::buffer::borrow("f32", {3}, own, [&] { released++; });
    hlorun::buffer copy = borrowed;
    CHECK(copy.bytes() == own && released == 0);
    auto results = client.load_bytes("twice", twice).run({borrowed});
    CHECK(results[0].data<float>()[1] == 4);
  }
  CHECK(released == 1);
  CHECK(hlorun::buffer::of<int8_t>({2}, {1, 2}).dtype() == "s8");
  CHECK(hlorun::buffer::of<uint64_t>({}, {7}).dtype() == "u64");
  CHECK(hlorun::buffer::of<std::complex<float>>({1}, {{1, 2}}).dtype() == "c64");
  CHECK(!hlorun::buffer());
  REFUSED(2, "q99", hlorun::buffer::copy("q99", {1}, own));
}

static void test_failures(const hlorun::client &client) {
  REFUSED(3, "bad:", client.load_bytes("bad", "HloModule bad\nENTRY e { x = f32[ }"));
  REFUSED(5, "nowhere.hlo", client.load("nowhere.hlo"));
  hlorun::program program = client.load_bytes("twice", twice);
  REFUSED(2, "f32[3]", program.run({hlorun::buffer::of<float>({2}, {1, 2})}));
  bool thrown = false;
  try {
    program.run({});
  } catch (const std::invalid_argument &) {
    thrown = true;
  }
  CHECK(thrown);
  client.cancel("enough");
  REFUSED(5, "enough", program.run({hlorun::buffer::of<float>({3}, {1, 2, 3})}));
  client.resume();
  CHECK(program.run({hlorun::buffer::of<float>({3}, {1, 2, 3})}).size() == 1);
}

static void test_grid() {
  std::vector<hlorun::client> clients = hlorun::client::create_local(2);
  float sums[2] = {0, 0};
  std::vector<std::thread> threads;
  for (hlorun::client &one : clients)
    threads.emplace_back([&one, &sums] {
      float mine = static_cast<float>(one.rank() + 1);
      auto results =
          one.load_bytes("sum", sum).run({hlorun::buffer::of<float>({3}, {mine, mine, mine})});
      sums[one.rank()] = results[0].data<float>()[0];
      one.barrier();
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(clients[1].world_size() == 2 && sums[0] == 3 && sums[1] == 3);
}

static void throws(void *, void **in) {
  if (*static_cast<float *>(in[0]) == 1) throw std::out_of_range("index 7");
  if (*static_cast<float *>(in[0]) == 2) throw 42;
}

// An exception of a function of the caller becomes the failure of the execution.
static void test_exceptions(const hlorun::client &client) {
  CHECK(!hlorun_register_custom_call("throws", throws));
  hlorun::program program = client.load_bytes(
      "m", "HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n"
           "  ROOT y = f32[] custom-call(x), custom_call_target=\"throws\"\n}\n");
  REFUSED(5, "std::out_of_range: index 7", program.run({hlorun::buffer::of<float>({}, {1})}));
  REFUSED(5, "C++ exception of type int", program.run({hlorun::buffer::of<float>({}, {2})}));
  CHECK(program.run({hlorun::buffer::of<float>({}, {3})}).size() == 1);
}

int main() {
  CHECK(!hlorun::version().empty());
  {
    hlorun::client client = alone();
    CHECK(client.rank() == 0 && client.world_size() == 1);
    test_run(client);
    test_buffers(client);
    test_failures(client);
    test_exceptions(client);
  }
  test_grid();
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
