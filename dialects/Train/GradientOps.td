//===- GradientOps.td - what only says how gradients flow -----------------===//
#ifndef ZC_DIALECTS_TRAIN_GRADIENTOPS_TD
#define ZC_DIALECTS_TRAIN_GRADIENTOPS_TD

include "dialects/Train/ElementwiseBase.td"

// Not differentiable, and no fault where a parameter reaches it. Gone when
// gradients are built, so few files know it.
def Train_StopGradientOp : Train_ElementwiseOp<"stop_gradient", "Joint",
    [SameOperandsAndResultType]> {
  let summary = "x, a constant to gradients";
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_FloatTensor:$result);
}

#endif // ZC_DIALECTS_TRAIN_GRADIENTOPS_TD
