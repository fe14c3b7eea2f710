// libhlorun for C++17: hlorun.h with objects that release themselves, and failures as exceptions.
//
//   hlorun::client client;
//   hlorun::program program = client.load("f.hlo");
//   auto results = program.run({hlorun::buffer::of<float>({3}, {1, 2, 3})});
//   const float *values = results[0].data<float>();
//
// Errors:  hlorun::error, with the exit code of hlorun_status_exit_code() and the whole report.
// Owner:   objects are references to counted objects of the library: copies share, the last one
//          releases. A moved-from object holds nothing and may only be assigned or destroyed.
// Thread:  as hlorun.h. Distinct objects may be used by distinct threads.
#ifndef HLORUN_HPP
#define HLORUN_HPP

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hlorun.h"

namespace hlorun {

// A failure of the library; what() is one line.
class error : public std::runtime_error {
 public:
  error(const std::string &message, int exit_code, std::string report)
      : std::runtime_error(message), exit_code_(exit_code), report_(std::move(report)) {}
  // 1 mismatch, 2 usage, 3 invalid program, 4 processes disagree, 5 a peer or a file, 6 timed out.
  int exit_code() const noexcept { return exit_code_; }
  // Location, message and notes, several lines.
  const std::string &report() const noexcept { return report_; }

 private:
  int exit_code_;
  std::string report_;
};

namespace detail {

inline void check(hlorun_status_t status) {
  if (!status) return;
  std::string message = hlorun_status_message(status);
  int exit_code = hlorun_status_exit_code(status);
  char *text = hlorun_status_format(status);
  std::string report = text ? text : message;
  std::free(text);
  hlorun_status_release(status);
  throw error(message, exit_code, report);
}

// Text that the library allocated.
inline std::string take(char *text) {
  std::string copy = text ? text : "";
  std::free(text);
  return copy;
}

template <typename T>
constexpr const char *dtype_name() {
  if constexpr (std::is_same_v<T, bool>) return "pred";
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_same_v<T, std::complex<float>>) return "c64";
  if constexpr (std::is_same_v<T, std::complex<double>>) return "c128";
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr const char *names[2][4] = {{"s8", "s16", "s32", "s64"}, {"u8", "u16", "u32", "u64"}};
    constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return names[std::is_unsigned_v<T>][width];
  }
  return nullptr;
}

} // namespace detail

inline std::string version() { return hlorun_version(); }

// An array, or a token. Results of programs, and arguments.
class buffer {
 public:
  buffer() = default;
  // Takes over a reference.
  explicit buffer(hlorun_buffer_t *reference) : reference_(reference, hlorun_buffer_release) {}

  // Copies elements, row-major, of a type that C++ has.
  template <typename T>
  static buffer of(const std::vector<int64_t> &dims, const std::vector<T> &elements) {
    size_t count = 1;
    for (int64_t size : dims) count *= static_cast<size_t>(size);
    if (count != elements.size())
      throw std::invalid_argument("elements do not fill the dimensions");
    return copy(detail::dtype_name<T>(), dims, elements.data());
  }
  // Copies dense row-major bytes of any type: "bf16", "s4", ...
  static buffer copy(const char *dtype, const std::vector<int64_t> &dims, const void *bytes) {
    hlorun_buffer_t *made = nullptr;
    detail::check(hlorun_buffer_create(dtype, static_cast<int>(dims.size()), dims.data(),
                                       const_cast<void *>(bytes), nullptr, nullptr, &made));
    return buffer(made);
  }
  // Uses the caller's bytes, which stay as they are until `release` is called, by whatever thread
  // drops the last reference.
  static buffer borrow(const char *dtype, const std::vector<int64_t> &dims, void *bytes,
                       std::function<void()> release) {
    auto context = std::make_unique<std::function<void()>>(std::move(release));
    hlorun_buffer_t *made = nullptr;
    detail::check(hlorun_buffer_create(dtype, static_cast<int>(dims.size()), dims.data(), bytes,
                                       call_release, context.get(), &made));
    context.release();
    return buffer(made);
  }

  std::string dtype() const { return hlorun_buffer_dtype(get()); }
  std::vector<int64_t> dims() const {
    const int64_t *first = hlorun_buffer_dims(get());
    return std::vector<int64_t>(first, first + hlorun_buffer_rank(get()));
  }
  size_t size_bytes() const { return hlorun_buffer_size_bytes(get()); }
  const void *bytes() const { return hlorun_buffer_data(get()); }
  // The elements, if they are of this type.
  template <typename T>
  const T *data() const {
    if (dtype() != detail::dtype_name<T>())
      throw std::invalid_argument("array is of type " + dtype());
    return static_cast<const T *>(bytes());
  }
  hlorun_buffer_t *get() const noexcept { return reference_.get(); }
  explicit operator bool() const noexcept { return get() != nullptr; }

 private:
  static void call_release(void *context, void *, size_t) {
    std::unique_ptr<std::function<void()>> release(static_cast<std::function<void()> *>(context));
    if (*release) (*release)();
  }
  std::shared_ptr<hlorun_buffer_t> reference_;
};

// One asynchronous execution.
class execution {
 public:
  execution(hlorun_execution_t *run, std::shared_ptr<hlorun_program_t> program)
      : run_(run, hlorun_execution_release), program_(std::move(program)) {}
  bool is_done() const { return hlorun_execution_is_done(run_.get()); }
  // Waits, and moves the results out; once.
  std::vector<buffer> await() {
    std::vector<hlorun_buffer_t *> raw(
        static_cast<size_t>(hlorun_program_result_count(program_.get())), nullptr);
    detail::check(hlorun_execution_await(run_.get(), raw.data()));
    return std::vector<buffer>(raw.begin(), raw.end());
  }

 private:
  std::unique_ptr<hlorun_execution_t, void (*)(hlorun_execution_t *)> run_;
  std::shared_ptr<hlorun_program_t> program_;
};

// A compiled program. May be shared by threads.
class program {
 public:
  explicit program(hlorun_program_t *reference) : reference_(reference, hlorun_program_release) {}
  int num_replicas() const { return hlorun_program_num_replicas(get()); }
  int num_partitions() const { return hlorun_program_num_partitions(get()); }
  int param_count() const { return hlorun_program_param_count(get()); }
  int result_count() const { return hlorun_program_result_count(get()); }
  std::string param_name(int k) const { return text(hlorun_program_param_name(get(), k)); }
  std::string param_shape(int k) const { return text(hlorun_program_param_shape(get(), k)); }
  std::string result_shape(int k) const { return text(hlorun_program_result_shape(get(), k)); }
  // One argument for each flattened parameter; an empty buffer for a token.
  std::vector<buffer> run(const std::vector<buffer> &arguments) const {
    std::vector<hlorun_buffer_t *> raw(static_cast<size_t>(result_count()), nullptr);
    std::vector<hlorun_buffer_t *> in = raw_of(arguments);
    detail::check(hlorun_execute(get(), in.data(), nullptr, raw.data()));
    return std::vector<buffer>(raw.begin(), raw.end());
  }
  execution start(const std::vector<buffer> &arguments) const {
    hlorun_execution_t *started = nullptr;
    std::vector<hlorun_buffer_t *> in = raw_of(arguments);
    detail::check(hlorun_execute_start(get(), in.data(), nullptr, &started));
    return execution(started, reference_);
  }
  hlorun_program_t *get() const noexcept { return reference_.get(); }

 private:
  static std::string text(const char *found) {
    if (!found) throw std::out_of_range("no such parameter or result");
    return found;
  }
  std::vector<hlorun_buffer_t *> raw_of(const std::vector<buffer> &arguments) const {
    if (arguments.size() != static_cast<size_t>(param_count()))
      throw std::invalid_argument("found " + std::to_string(arguments.size()) +
                                  " arguments, the program has " + std::to_string(param_count()) +
                                  " parameters");
    std::vector<hlorun_buffer_t *> raw;
    for (const buffer &argument : arguments) raw.push_back(argument.get());
    return raw;
  }
  std::shared_ptr<hlorun_program_t> reference_;
};

inline hlorun_client_options_t client_options() {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  return options;
}
inline hlorun_program_options_t program_options() {
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  return options;
}

// One rank of the grid.
class client {
 public:
  explicit client(const hlorun_client_options_t &options = client_options()) {
    hlorun_client_t *made = nullptr;
    detail::check(hlorun_client_create(&options, &made));
    reference_.reset(made, release_in_order);
  }
  // Clients of this process that are each other's peers; each needs a thread of its own.
  static std::vector<client> create_local(int count,
                                          hlorun_client_options_t options = client_options()) {
    std::vector<hlorun_client_t *> made(count > 0 ? static_cast<size_t>(count) : 0, nullptr);
    options.world = HLORUN_WORLD_THREADS;
    detail::check(hlorun_clients_create_local(&options, count, made.data()));
    std::vector<client> clients;
    for (hlorun_client_t *one : made) clients.push_back(client(one));
    return clients;
  }
  int rank() const { return hlorun_client_rank(get()); }
  int world_size() const { return hlorun_client_world_size(get()); }
  program load(const std::string &path,
               const hlorun_program_options_t &options = program_options()) const {
    hlorun_program_t *made = nullptr;
    detail::check(hlorun_program_load(get(), path.c_str(), &options, &made));
    return program(made);
  }
  program load_bytes(const std::string &name, const std::string &bytes,
                     const hlorun_program_options_t &options = program_options()) const {
    hlorun_program_t *made = nullptr;
    detail::check(hlorun_program_load_bytes(get(), name.c_str(), bytes.data(), bytes.size(),
                                            &options, &made));
    return program(made);
  }
  void barrier() const { detail::check(hlorun_client_barrier(get())); }
  void cancel(const std::string &reason) const { hlorun_client_cancel(get(), reason.c_str()); }
  void resume() const { detail::check(hlorun_client_resume(get())); }
  // The table of kernels, and the same as JSON; of a client that traces.
  std::string explain() const {
    char *table = nullptr;
    detail::check(hlorun_client_explain(get(), &table));
    return detail::take(table);
  }
  std::string explain_json() const {
    char *json = nullptr;
    detail::check(hlorun_client_explain_json(get(), &json));
    return detail::take(json);
  }
  hlorun_client_t *get() const noexcept { return reference_.get(); }

 private:
  explicit client(hlorun_client_t *reference) : reference_(reference, release_in_order) {}
  static void release_in_order(hlorun_client_t *reference) { hlorun_client_release(reference, 0); }
  std::shared_ptr<hlorun_client_t> reference_;
};

} // namespace hlorun

#endif
