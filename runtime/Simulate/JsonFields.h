// A JSON object whose keys are all known: keys that are not read are refused.
#ifndef ZC_RUNTIME_SIMULATE_JSONFIELDS_H
#define ZC_RUNTIME_SIMULATE_JSONFIELDS_H

#include "runtime/Base/Status.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace zc {

/// Remembers the first error; fields that are read after it have their given
/// default.
class JsonFields {
public:
  using Json = nlohmann::json;

  /// `path` names the object in messages: "cluster.json: device".
  JsonFields(const Json &object, std::string path)
      : object(object), path(std::move(path)) {
    if (!object.is_object())
      fail("", "expected an object");
  }

  bool has(const char *key) {
    known.insert(key);
    return object.is_object() && object.contains(key);
  }

  /// A number in [least, most], which must be there.
  double number(const char *key, double least, double most = 1e30);
  double number(const char *key, double least, double most, double otherwise) {
    return has(key) ? number(key, least, most) : skip(key, otherwise);
  }
  int64_t integer(const char *key, int64_t least, int64_t most = INT64_MAX);
  int64_t integer(const char *key, int64_t least, int64_t most,
                  int64_t otherwise) {
    return has(key) ? integer(key, least, most) : skip(key, otherwise);
  }
  std::string text(const char *key);
  std::string text(const char *key, const std::string &otherwise) {
    return has(key) ? text(key) : skip(key, otherwise);
  }
  /// A list of so many numbers in [least, most], which must be there.
  std::vector<double> numbers(const char *key, double least, double most,
                              size_t count);
  /// Whatever it is; null where it is missing.
  const Json &any(const char *key);
  /// A list, empty where it is missing.
  const Json &list(const char *key);

  std::string pathOf(const std::string &key) const {
    return key.empty() ? path : path + "." + key;
  }
  void fail(const std::string &key, const std::string &why) {
    if (failure.ok())
      failure = makeError(StatusCode::InvalidArgument, pathOf(key), ": ", why);
  }

  /// Fails if a field was wrong or a key was not asked for.
  Status finish();

private:
  template <typename T> T skip(const char *key, T otherwise) {
    known.insert(key);
    return otherwise;
  }

  const Json &object;
  const std::string path;
  std::set<std::string> known;
  Status failure;
};

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_JSONFIELDS_H
