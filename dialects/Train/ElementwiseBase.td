//===- ElementwiseBase.td - what elementwise ops have in common -----------===//
#ifndef ZC_DIALECTS_TRAIN_ELEMENTWISEBASE_TD
#define ZC_DIALECTS_TRAIN_ELEMENTWISEBASE_TD

include "dialects/Train/TrainDialect.td"

// Sharding rule, cost and linalg form follow from being elementwise; the op's
// source file holds buildScalar and, for a differentiable op, vjp. `linearity`
// is None, Joint or Separate (ShardingRule.h).
class Train_ElementwiseOp<string mnemonic, string linearity,
                          list<Trait> traits = []>
    : Train_TensorOp<mnemonic, !listconcat(
          [DeclareOpInterfaceMethods<ElementwiseOpInterface>,
           SameOperandsAndResultShape],
          traits)> {
  let extraClassDefinition = [{
    ::zc::ShardingRule $cppClass::getShardingRule() {
      return ::zc::ShardingRule::elementwise(getOperation(),
                                             ::zc::Linearity::}] # linearity # [{);
    }
    double $cppClass::getFlops() {
      return static_cast<double>(::zc::numElements(getResult().getType()));
    }
    void $cppClass::buildLinalg(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                ::mlir::ValueRange inputs,
                                ::mlir::ValueRange outputs) {
      buildElementwiseLinalg(getOperation(), builder, loc, inputs, outputs);
    }
  }];
}

#endif // ZC_DIALECTS_TRAIN_ELEMENTWISEBASE_TD
