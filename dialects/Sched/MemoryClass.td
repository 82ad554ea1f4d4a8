//===- MemoryClass.td - what a transient buffer is for --------------------===//
#ifndef ZC_DIALECTS_SCHED_MEMORYCLASS_TD
#define ZC_DIALECTS_SCHED_MEMORYCLASS_TD

include "mlir/IR/EnumAttr.td"

def Sched_MemoryClass : I32Enum<"MemoryClass", "a memory class", [
    I32EnumCase<"Activations", 0, "activations">,
    I32EnumCase<"Gradients", 1, "gradients">,
    I32EnumCase<"Communication", 2, "communication">,
    I32EnumCase<"Workspace", 3, "workspace">,
    I32EnumCase<"Offloaded", 4, "offloaded">]> {
  let cppNamespace = "::zc::sched";
}

def Sched_OutputKind : I32Enum<"OutputKind", "a kind of output", [
    I32EnumCase<"Output", 0, "output">, I32EnumCase<"Metric", 1, "metric">]> {
  let cppNamespace = "::zc::sched";
}

#endif // ZC_DIALECTS_SCHED_MEMORYCLASS_TD
