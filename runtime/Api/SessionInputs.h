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
  /// Lists the inputs of the artifact's training and evaluation; the rank is
  /// fed only those of its role. The artifact must live longer.
  SessionInputs(const Artifact &artifact, const Mesh &mesh, int rank);

  /// The inputs of all roles.
  const std::vector<NamedTensor> &all() const { return inputs; }
  /// The samples of a step; 0: nothing counts them.
  int64_t batch() const { return theBatch; }
  /// How many of them this rank computes.
  int64_t ownBatch() const { return theBatch / shares; }
  /// The samples of one evaluation, and of one of its micro-batches; at
  /// least 1.
  int64_t evaluatedBatch() const { return evaluated * evaluatedParts; }
  int64_t evaluatedMicroBatch() const { return evaluated; }

  /// Fails with a message for people where there is no such input, or type or
  /// shape are others.
  Status check(const std::string &name, const GivenTensor &tensor) const;
  /// Takes a tensor for an input. Where check() fails nothing changes.
  Status set(const std::string &name, GivenTensor tensor);
  /// Forgets what was given. Fails where there is no such input.
  Status clear(const std::string &name);

  /// A feed of what was set, for `order` of so many micro-batches; it lives
  /// until the next call of that order. Where labels may miss, zeros are fed
  /// for them.
  Result<OrderFeed *> bind(const plan::Order &order, uint32_t microBatches,
                           bool labelsMayMiss);

  /// How many samples the given tensors have, of the inputs that `order` feeds;
  /// fails where they differ. 0: none of them counts samples.
  Result<int64_t> countSamples(const plan::Order &order) const;

  /// Says which of `given` samples make up a step, in its order: all of them,
  /// or this rank's own, where the caller has given those alone; then others'
  /// places say nothing. Fails where it is another number.
  Result<std::vector<int64_t>> samplesOfStep(int64_t given,
                                             uint32_t microBatches) const;
  /// Whether every label that `order` feeds was given.
  bool hasLabels(const plan::Order &order) const;

private:
  /// A feed for an order, and for which types and shapes it was made.
  struct Bound {
    std::optional<OrderFeed> feed;
    std::string signature;
  };

  void add(const plan::Role &of, const plan::Order &order,
           uint32_t microBatches);
  const NamedTensor *find(const std::string &name) const;
  std::string signatureOf() const;
  std::shared_ptr<DataFile> borrow() const;
  std::vector<const plan::Input *> inputsOf(const plan::Order &order) const;

  const plan::Role &role;
  const Mesh &mesh;
  const int rank;
  int64_t theBatch = 0;
  int64_t evaluated = 1, evaluatedParts = 1; // samples of one, and how many
  int64_t shares = 1, share = 0; // that ranks have of a batch; this rank's
  std::vector<NamedTensor> inputs;
  std::map<std::string, NpyArray> given;
  std::string signature; // of them
  bool isChanged = true; // since the last bind()
  std::map<const plan::Order *, Bound> bound;
};

} // namespace zc

#endif // ZC_RUNTIME_API_SESSIONINPUTS_H
