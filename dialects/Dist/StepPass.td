//===- StepPass.td - the passes of a step ---------------------------------===//
#ifndef ZC_DIALECTS_DIST_STEPPASS_TD
#define ZC_DIALECTS_DIST_STEPPASS_TD

include "mlir/IR/EnumAttr.td"

def Dist_StepPass : I32Enum<"StepPass", "a pass of a step", [
    I32EnumCase<"Forward", 0, "forward">,
    I32EnumCase<"Backward", 1, "backward">]> {
  let cppNamespace = "::zc::dist";
}

#endif // ZC_DIALECTS_DIST_STEPPASS_TD
