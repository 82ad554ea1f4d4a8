//===- Losses.h - loss functions as train ops -------------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_LOSSES_H
#define ZC_PASSES_AUTODIFF_LOSSES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <memory>

namespace zc {

/// The loss of every sample (or token, or element), before any mean.
struct SampleLosses {
  /// Loss of each; 0 where it does not count. Dim 0 counts samples where the
  /// logits' dim 0 does.
  mlir::Value losses;
  /// The weight of each in the mean, 0 where it does not count, of `losses`'
  /// type; null: 1 everywhere.
  mlir::Value weights;
  /// 1 where it counts, 0 where not, of `losses`' type; null: as `weights`.
  mlir::Value counts;
  /// Whether the prediction is right, 1 or 0, of `losses`' type; null where the
  /// loss has no such notion. Built only on request.
  mlir::Value correct;
  /// The dim of `losses` where the samples are; -1: there are none.
  int64_t batchDim = -1;
};

/// A loss function of `--loss`.
class Loss {
public:
  virtual ~Loss() = default;

  /// Why the loss cannot be of such logits; empty where it can.
  virtual std::string check(mlir::RankedTensorType logits) = 0;
  /// Why the loss of such logits, which pass, is hardly meant; empty: it may
  /// be.
  virtual std::string warn(mlir::RankedTensorType) { return ""; }
  /// Type of the labels for logits that pass; null: the loss takes none.
  virtual mlir::RankedTensorType labelType(mlir::RankedTensorType logits) = 0;
  /// The labels' dim that matches dim `logitsDim` of the logits, or -1.
  virtual int64_t labelDim(mlir::RankedTensorType logits, int64_t logitsDim) {
    return logitsDim;
  }
  /// Labels the host accepts ([min, max, ignored]); empty: any.
  virtual llvm::SmallVector<int64_t>
  labelRange(mlir::RankedTensorType logits) = 0;

  /// The most that one sample's weight in the mean can be.
  virtual double getMostWeight() { return 1; }

  virtual SampleLosses build(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value logits, mlir::Value labels,
                             bool wantCorrect) = 0;
};

/// Parameters of softmax cross-entropy, with PyTorch's meaning and defaults.
struct CrossEntropyOptions {
  /// INT64_MIN: 1 for logits of 2, 4 or 5 dims, the last for 3.
  int64_t classAxis = INT64_MIN;
  int64_t ignoreIndex = -100;
  /// From 0 to 1: the share of the target that is spread evenly over classes.
  double smoothing = 0;
  /// A weight for each class, by which the mean divides too; empty: all 1.
  llvm::SmallVector<double> classWeights;
};

std::unique_ptr<Loss> makeSoftmaxCrossEntropy(CrossEntropyOptions options);
std::unique_ptr<Loss> makeMeanSquaredError();
std::unique_ptr<Loss> makeMeanAbsoluteError();
/// d^2 / 2 for distances d up to `delta`, delta (d - delta / 2) beyond, as
/// PyTorch's huber_loss.
std::unique_ptr<Loss> makeHuber(double delta);
/// For labels in [0, 1], without overflow, as PyTorch's
/// binary_cross_entropy_with_logits. `positiveWeight` multiplies the term of
/// positive labels, `classWeights` (empty: all 1) the losses along the last
/// dim; the mean divides by the number of elements.
std::unique_ptr<Loss>
makeBinaryCrossEntropy(double positiveWeight,
                       llvm::SmallVector<double> classWeights);
/// The output is the loss: the model computes it from its inputs.
std::unique_ptr<Loss> makeOwnLoss();

/// Sum of all elements, a tensor of no dims.
mlir::Value sumAll(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_LOSSES_H
