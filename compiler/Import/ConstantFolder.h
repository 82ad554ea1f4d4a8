// Computes nodes whose operands are all known: what exporters write to compute
// shapes, masks and position tables.
#ifndef ZC_COMPILER_IMPORT_CONSTANTFOLDER_H
#define ZC_COMPILER_IMPORT_CONSTANTFOLDER_H

#include "compiler/Import/HostTensor.h"
#include "compiler/OnnxModel/Proto.h"

namespace zc {

/// One node with its operands; an absent optional operand is null.
struct FoldRequest {
  const proto::NodeProto &node;
  llvm::ArrayRef<const HostTensor *> inputs;
  int64_t sinceVersion = 0;

  const HostTensor *getInput(size_t index) const {
    return index < inputs.size() ? inputs[index] : nullptr;
  }
  const proto::AttributeProto *getAttribute(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name, int64_t absent) const;
  std::string getString(llvm::StringRef name, llvm::StringRef absent) const;
  /// The integers of attribute `name`, or of operand `index` (opsets moved many
  /// lists from one to the other); nothing when neither is there.
  std::optional<std::vector<int64_t>> getInts(llvm::StringRef name,
                                              size_t index) const;
};

/// The results, or nothing when the folder does not know the operator, its
/// operands do not fit, or a result would be unreasonably large.
using FoldResults = std::optional<std::vector<HostTensor>>;

bool canFold(const proto::NodeProto &node);
FoldResults fold(const FoldRequest &request);

/// `tensor` as `dataType`, as ONNX's Cast.
HostTensor castTo(const HostTensor &tensor, int32_t dataType);

/// Results of more elements are left to run time.
constexpr int64_t kMaxFoldedElements = int64_t(1) << 24;
/// All results together that are no shapes: as many elements as take 512 MiB,
/// and some for each of the weights', but no more than take 2 GiB. A small file
/// does not take the memory of a large one; what is beyond is left to run time
/// too.
constexpr int64_t kLeastKeptElements = int64_t(1) << 26;
constexpr int64_t kMaxKeptElements = int64_t(1) << 28;
constexpr int64_t kKeptElementsOfEach = 4;

// The operators by family, each in a file of its own.
using FoldFunction = FoldResults (*)(const FoldRequest &);
struct FoldEntry {
  const char *op;
  FoldFunction function;
};
llvm::ArrayRef<FoldEntry> getElementwiseFolders();
llvm::ArrayRef<FoldEntry> getMovementFolders();
llvm::ArrayRef<FoldEntry> getCreationFolders();
llvm::ArrayRef<FoldEntry> getReductionFolders();
llvm::ArrayRef<FoldEntry> getSelectionFolders();

/// `axis` counted from the front; nothing unless -size <= axis < size.
std::optional<int64_t> normalizeAxis(int64_t axis, size_t size);

inline FoldResults one(HostTensor tensor) {
  std::vector<HostTensor> results;
  results.push_back(std::move(tensor));
  return results;
}

} // namespace zc

#endif
