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
  /// 1 where it counts, 0 where not, of `losses`' type; null: all count.
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
  /// Which dim of the labels is dim `logitsDim` of the logits; -1: none.
  virtual int64_t labelDim(mlir::RankedTensorType logits, int64_t logitsDim) {
    return logitsDim;
  }
  /// Labels the host accepts ([min, max, ignored]); empty: any.
  virtual llvm::SmallVector<int64_t>
  labelRange(mlir::RankedTensorType logits) = 0;

  virtual SampleLosses build(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value logits, mlir::Value labels,
                             bool wantCorrect) = 0;
};

/// `classAxis` INT64_MIN: 1 for logits of 2, 4 or 5 dims, the last for 3.
std::unique_ptr<Loss> makeSoftmaxCrossEntropy(int64_t classAxis,
                                              int64_t ignoreIndex);
std::unique_ptr<Loss> makeMeanSquaredError();
/// Of labels in [0, 1], and without overflow, as PyTorch's
/// binary_cross_entropy_with_logits.
std::unique_ptr<Loss> makeBinaryCrossEntropy();
/// The output is the loss: the model computes it from its inputs.
std::unique_ptr<Loss> makeOwnLoss();

/// Sum of all elements, a tensor of no dims.
mlir::Value sumAll(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_LOSSES_H
