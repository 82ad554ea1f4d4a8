// zc.hpp: zc.h for C++17, in one header. A failure is thrown as zc::Error.
#ifndef ZC_RUNTIME_API_ZC_HPP
#define ZC_RUNTIME_API_ZC_HPP

#include <zc.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace zc {
inline namespace api_1 {

/// What a function of zc.h reported.
class Error : public std::runtime_error {
public:
  Error(zc_status status, const char *text)
      : std::runtime_error(text), theStatus(status) {}
  zc_status status() const { return theStatus; }

private:
  zc_status theStatus;
};

/// The element type of a C++ type; there is none for others.
template <typename T> struct TypeOf;
template <> struct TypeOf<float> {
  static constexpr zc_type value = ZC_FLOAT32;
};
template <> struct TypeOf<double> {
  static constexpr zc_type value = ZC_FLOAT64;
};
template <> struct TypeOf<bool> { static constexpr zc_type value = ZC_BOOL; };
template <> struct TypeOf<int8_t> { static constexpr zc_type value = ZC_INT8; };
template <> struct TypeOf<uint8_t> {
  static constexpr zc_type value = ZC_UINT8;
};
template <> struct TypeOf<int16_t> {
  static constexpr zc_type value = ZC_INT16;
};
template <> struct TypeOf<uint16_t> {
  static constexpr zc_type value = ZC_UINT16;
};
template <> struct TypeOf<int32_t> {
  static constexpr zc_type value = ZC_INT32;
};
template <> struct TypeOf<uint32_t> {
  static constexpr zc_type value = ZC_UINT32;
};
template <> struct TypeOf<int64_t> {
  static constexpr zc_type value = ZC_INT64;
};
template <> struct TypeOf<uint64_t> {
  static constexpr zc_type value = ZC_UINT64;
};

/// A tensor of a session.
struct Tensor {
  std::string name;
  zc_type type = ZC_FLOAT32;
  zc_tensor_kind kind = ZC_INPUT;
  std::vector<int64_t> dims;
  int batchDim = -1; // which dim counts samples; -1: none

  int64_t count() const {
    int64_t all = 1;
    for (int64_t dim : dims)
      all *= dim;
    return all;
  }
};

struct Options {
  uint64_t seed = 0;
  int threads = 0;
  std::string offloadDir;
  /// As --tune FILE; empty: the usual file; none: by rule.
  std::optional<std::string> tune;
  /// Gets messages for people; must not throw.
  std::function<void(zc_log_level, const std::string &)> log;
  /// One of the ranks that a launcher has started, or of the application's.
  bool byLauncher = false;
  std::optional<zc_transport> transport;
  double timeout = 0; // seconds; 0: 600
  /// Memory is taken by prepare() alone.
  bool later = false;
  /// Hears how far work has come; returns a wish to stop, or 0. Must not throw.
  std::function<int32_t(zc_phase, int64_t done, int64_t total)> progress;
};

/// An opened artifact; see zc.h for what each function does. It can be moved,
/// not copied.
class Session {
public:
  explicit Session(const std::string &artifact, Options options = {})
      : callbacks(std::make_unique<Callbacks>()) {
    callbacks->log = std::move(options.log);
    callbacks->progress = std::move(options.progress);
    zc_open_options given = ZC_OPEN_OPTIONS_INIT;
    given.seed = options.seed;
    given.threads = options.threads;
    given.offload_dir =
        options.offloadDir.empty() ? nullptr : options.offloadDir.c_str();
    given.launcher = options.byLauncher;
    given.timeout = options.timeout;
    if (options.transport)
      given.transport = &*options.transport;
    given.later = options.later;
    given.tune = options.tune ? options.tune->c_str() : nullptr;
    if (callbacks->log) {
      given.log = &Session::tell;
      given.log_context = callbacks.get();
    }
    if (callbacks->progress) {
      given.progress = &Session::hear;
      given.progress_context = callbacks.get();
    }
    zc_session *made = nullptr;
    zc_status status = zc_open(artifact.c_str(), &given, &made);
    handle.reset(made);
    check(status);
  }

  void prepare() { check(zc_prepare(get())); }

  std::vector<Tensor> inputs() const {
    return list(zc_input_count(get()), zc_input_info);
  }
  std::vector<Tensor> outputs() const {
    return list(zc_output_count(get()), zc_output_info);
  }
  std::vector<Tensor> states() const {
    return list(zc_state_count(get()), zc_state_info);
  }
  int64_t batch() const { return zc_batch(get()); }
  int64_t rankBatch() const { return zc_rank_batch(get()); }
  int rank() const { return zc_rank(get()); }
  int ranks() const { return zc_ranks(get()); }

  /// Borrows the elements until the input is given anew.
  template <typename T>
  void setInput(const std::string &name, const std::vector<int64_t> &dims,
                const T *data) {
    check(zc_set_input(get(), name.c_str(), TypeOf<T>::value,
                       int32_t(dims.size()), dims.data(), data));
  }
  /// Copies them.
  template <typename T>
  void copyInput(const std::string &name, const std::vector<int64_t> &dims,
                 const T *data) {
    check(zc_copy_input(get(), name.c_str(), TypeOf<T>::value,
                        int32_t(dims.size()), dims.data(), data));
  }

  void clearInput(const std::string &name) {
    check(zc_clear_input(get(), name.c_str()));
  }

  /// Samples of files, and which of them the next steps take.
  void setData(const std::string &path, int tokenBits = 0) {
    check(zc_set_data(get(), path.c_str(), tokenBits));
  }
  int64_t sampleCount() const { return zc_sample_count(get()); }
  void select(const std::vector<int64_t> &samples) {
    check(zc_select(get(), samples.data(), samples.size()));
  }
  /// Held-out samples, for evaluateData(); metrics as "top5,f1".
  void setEvalData(const std::string &path, const std::string &metrics = {},
                   int tokenBits = 0) {
    check(zc_set_eval_data(get(), path.c_str(), tokenBits, metrics.c_str()));
  }
  void evaluateData() { check(zc_eval_data(get())); }

  /// Returns the step's loss.
  double step() {
    check(zc_step(get()));
    return metric("loss");
  }
  int64_t stepsDone() const { return zc_steps_done(get()); }
  void evaluate() { check(zc_eval(get())); }
  /// Of the last evaluation; it lives until the next one.
  const void *output(const std::string &name) {
    const void *data = zc_output_data(get(), name.c_str());
    if (!data)
      check(ZC_NOT_FOUND);
    return data;
  }
  double metric(const std::string &name) {
    double value = 0;
    check(zc_metric(get(), name.c_str(), &value));
    return value;
  }

  void setLearningRate(double rate) {
    check(zc_set_learning_rate(get(), rate));
  }
  void setSetting(const std::string &name, double value) {
    check(zc_set_setting(get(), name.c_str(), value));
  }
  void setSeed(uint64_t seed) { check(zc_set_seed(get(), seed)); }

  Tensor state(const std::string &name) {
    zc_tensor_info info = ZC_TENSOR_INFO_INIT;
    check(zc_find_state(get(), name.c_str(), &info));
    return make(info);
  }
  /// Fails where the state has another size.
  template <typename T> std::vector<T> getState(const std::string &name) {
    std::vector<T> values(size_t(state(name).count()));
    check(zc_get_state(get(), name.c_str(), values.data(),
                       values.size() * sizeof(T)));
    return values;
  }
  template <typename T>
  void setState(const std::string &name, const std::vector<T> &values) {
    check(zc_set_state(get(), name.c_str(), values.data(),
                       values.size() * sizeof(T)));
  }

  void save(const std::string &dir, int64_t keep = 0) {
    check(zc_save(get(), dir.c_str(), keep));
  }
  void resume(const std::string &path) {
    check(zc_resume(get(), path.c_str()));
  }
  void loadWeights(const std::string &path) {
    check(zc_load_weights(get(), path.c_str()));
  }
  void exportWeights(const std::string &path) {
    check(zc_export_weights(get(), path.c_str()));
  }

  /// For what zc.h has besides.
  zc_session *get() const { return handle.get(); }

private:
  struct Close {
    void operator()(zc_session *session) const { zc_close(&session); }
  };

  void check(zc_status status) const {
    if (status != ZC_OK)
      throw Error(status, zc_last_error(get()));
  }
  static Tensor make(const zc_tensor_info &info) {
    return {info.name,
            info.type,
            info.kind,
            {info.dims, info.dims + info.rank},
            info.batch_dim};
  }
  template <typename Info>
  std::vector<Tensor> list(size_t count, Info info) const {
    std::vector<Tensor> all;
    for (size_t i = 0; i < count; ++i) {
      zc_tensor_info one = ZC_TENSOR_INFO_INIT;
      check(info(get(), i, &one));
      all.push_back(make(one));
    }
    return all;
  }
  struct Callbacks {
    decltype(Options::log) log;
    decltype(Options::progress) progress;
  };
  static void tell(void *context, zc_log_level level, const char *text) {
    static_cast<Callbacks *>(context)->log(level, text);
  }
  static int32_t hear(void *context, zc_phase phase, int64_t done,
                      int64_t total) {
    return static_cast<Callbacks *>(context)->progress(phase, done, total);
  }

  std::unique_ptr<Callbacks> callbacks; // outlive the handle
  std::unique_ptr<zc_session, Close> handle;
};

} // namespace api_1
} // namespace zc

#endif // ZC_RUNTIME_API_ZC_HPP
