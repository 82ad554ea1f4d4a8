//===- Traffic.td - the data that a collective sends ----------------------===//
#ifndef ZC_DIALECTS_INTERFACES_TRAFFIC_TD
#define ZC_DIALECTS_INTERFACES_TRAFFIC_TD

include "mlir/IR/EnumAttr.td"

def Traffic : I32Enum<"Traffic", "a kind of traffic", [
    I32EnumCase<"Gradients", 0, "gradients">,
    I32EnumCase<"Parameters", 1, "parameters">,
    I32EnumCase<"Activations", 2, "activations">,
    I32EnumCase<"Statistics", 3, "statistics">,
    I32EnumCase<"Scalars", 4, "scalars">]> {
  let cppNamespace = "::zc";
}

#endif // ZC_DIALECTS_INTERFACES_TRAFFIC_TD
