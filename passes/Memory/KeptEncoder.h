//===- KeptEncoder.h - ways to keep a value in fewer bytes ------*- C++ -*-===//
//
// Between its last use in the forward and its first in the backward a value may
// lie encoded (Gist, Jain et al. 2018). An encoder builds the ops of an
// encoding; EncodeKept.h places them.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_MEMORY_KEPTENCODER_H
#define ZC_PASSES_MEMORY_KEPTENCODER_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>
#include <optional>
#include <vector>

namespace zc {

/// A value that the forward computes and the backward reads, and who reads it,
/// in program order, as it is or as another shape (train.reshape).
struct KeptValue {
  mlir::OpResult value;
  llvm::SmallVector<mlir::OpOperand *> forward, backward;

  mlir::RankedTensorType getType() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
};

/// One kind of encoding.
class KeptEncoder {
public:
  virtual ~KeptEncoder() = default;

  /// Called before the first value of a program.
  virtual void prepare(mlir::func::FuncOp program) {}

  /// Whether the value may be kept so, by its type, its maker and its readers.
  virtual bool accepts(const KeptValue &kept) const = 0;

  /// Whether what is kept is one tensor of the value's shape, made and read
  /// element by element: then it is made in the region that makes or reads the
  /// value anyway, and decoded in the regions that read it, where these are
  /// loop nests.
  virtual bool isElementwise() const = 0;

  /// The tensors that are kept instead of `value`. Elementwise encoders build
  /// train ops in a region; others regions of the program (makeRegion).
  virtual llvm::SmallVector<mlir::Value> encode(mlir::OpBuilder &builder,
                                                mlir::Location loc,
                                                mlir::Value value) const = 0;

  /// The value, of this type, back from what encode made; built as there.
  virtual mlir::Value decode(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::ValueRange encoded,
                             mlir::RankedTensorType type) const = 0;
};

using KeptEncoders = std::vector<std::unique_ptr<KeptEncoder>>;

/// The encodings in a list such as "bf16", in the order in which they are
/// tried; "none" is the empty list. Describes a bad list in `error`.
std::optional<KeptEncoders> parseEncodings(llvm::StringRef list,
                                           std::string &error);

/// The words of such a list.
llvm::SmallVector<llvm::StringRef> splitEncodings(llvm::StringRef list);

/// Whether such a list has encodings of fewer digits.
bool roundsValues(llvm::StringRef list);

/// The list without these; "none" if nothing is left.
std::string withoutRounding(llvm::StringRef list);

/// Keeps values of 32-bit floats in 16 bits; those that fp16 does not reach
/// become its largest ones.
std::unique_ptr<KeptEncoder> createBfloat16Encoder();
std::unique_ptr<KeptEncoder> createFloat16Encoder();

/// Keeps values of 32- and 16-bit floats in 8 bits, E4M3, without a scale: a
/// magnitude from 2^-6 to 448 is off by at most 2^-4 of itself, a lower one by
/// at most 2^-9, a higher one becomes 448; none but 0 becomes 0. Only those of
/// which the backward makes sums and products (RoundedReads.h).
std::unique_ptr<KeptEncoder> createFloat8Encoder();

/// Keeps one bit for an element of which the backward needs only the sign, and
/// one for a truth value. Bits are packed along the dim that suits best.
std::unique_ptr<KeptEncoder> createSignEncoder();
std::unique_ptr<KeptEncoder> createBitEncoder();

/// The share of elements that are not zero, if nobody says another.
inline constexpr double kSparseDensity = 0.6;

/// Keeps what a ReLU has made and a product or convolution of the backward
/// reads without its zeros. There is room for the share `density` of all
/// elements, and a run ends where it does not suffice.
std::unique_ptr<KeptEncoder> createSparseEncoder(double density);

/// Keeps of values that are the same on all ranks along `axis` a rank's own
/// part; the others' are gathered.
std::unique_ptr<KeptEncoder> createPartitionEncoder(llvm::StringRef axis);

/// A fused op of `inputs` whose region yields what `body` makes of its
/// arguments. Nothing shares buffers.
mlir::ValueRange
makeRegion(mlir::OpBuilder &builder, mlir::Location loc,
           mlir::ValueRange inputs,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &,
                                                             mlir::ValueRange)>
               body,
           llvm::StringRef library = "");

} // namespace zc

#endif // ZC_PASSES_MEMORY_KEPTENCODER_H
