// The inputs of a session: what the artifact asks for, and the arrays that a
// caller has given so far.
#ifndef ZC_RUNTIME_API_SESSIONINPUTS_H
#define ZC_RUNTIME_API_SESSIONINPUTS_H

#include "runtime/Driver/OrderFeed.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zc {

/// A tensor that is the caller's.
struct GivenTensor {
  plan::DataType type = plan::F32;
  std::vector<int64_t> dims;
  const char *data = nullptr;        // row-major
  std::shared_ptr<const void> owner; // null: the caller's, as long as needed
};

/// The elements, which the copy keeps.
Result<std::shared_ptr<std::string>> copyElements(const GivenTensor &tensor);

/// An input or an output, as the caller sees it: dims are of a whole step.
struct NamedTensor {
  std::string name;
  plan::DataType type = plan::F32;
  std::vector<int64_t> dims;
  int batchDim = -1;
  bool isLabel = false;
};

class SessionInputs {
public:
  /// Of the training and the evaluation of the artifact's role, which lives
  /// longer. One rank alone.
  SessionInputs(const Artifact &artifact, const Orders &orders);

  const std::vector<NamedTensor> &all() const { return inputs; }
  /// The samples of a step; 0: nothing counts them.
  int64_t batch() const { return theBatch; }

  /// Fails with a message for people where there is no such input, or type or
  /// shape are others.
  Status check(const std::string &name, const GivenTensor &tensor) const;
  /// Takes a tensor for an input. Where check() fails nothing changes.
  Status set(const std::string &name, GivenTensor tensor);
  /// Forgets what was given. Fails where there is no such input.
  Status clear(const std::string &name);

  /// A feed of what was set, for `order` of so many micro-batches; it lives
  /// until the next call of that order. `samples`: how many there must be; 0:
  /// any number. Where labels may miss, zeros are fed for them.
  Result<OrderFeed *> bind(const plan::Order &order, uint32_t microBatches,
                           bool labelsMayMiss, int64_t samples,
                           const Mesh &mesh);

  /// How many samples the given tensors have, of the inputs that `order` feeds;
  /// fails where they differ.
  Result<int64_t> countSamples(const plan::Order &order) const;
  /// Whether every label that `order` feeds was given.
  bool hasLabels(const plan::Order &order) const;

private:
  /// A feed for an order, and for which types and shapes it was made.
  struct Bound {
    std::optional<OrderFeed> feed;
    std::string signature;
  };

  void add(const plan::Order &order, uint32_t microBatches);
  const NamedTensor *find(const std::string &name) const;
  std::string signatureOf() const;
  std::shared_ptr<DataFile> borrow() const;
  std::vector<const plan::Input *> inputsOf(const plan::Order &order) const;

  const plan::Role &role;
  int64_t theBatch = 0;
  std::vector<NamedTensor> inputs;
  std::map<std::string, NpyArray> given;
  std::string signature; // of them
  bool isChanged = true; // since the last bind()
  std::map<const plan::Order *, Bound> bound;
};

} // namespace zc

#endif // ZC_RUNTIME_API_SESSIONINPUTS_H
