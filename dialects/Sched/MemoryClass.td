//===- MemoryClass.td - kinds of buffers, outputs and collectives ---------===//
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

// The collectives of the dist dialect on parts, by their names there.
def Sched_CollectiveKind : I32Enum<"CollectiveKind", "a kind of collective", [
    I32EnumCase<"AllReduce", 0, "all_reduce">,
    I32EnumCase<"AllGather", 1, "all_gather">,
    I32EnumCase<"ReduceScatter", 2, "reduce_scatter">,
    I32EnumCase<"AllToAll", 3, "all_to_all">,
    I32EnumCase<"Broadcast", 4, "broadcast">,
    I32EnumCase<"Reduce", 5, "reduce">,
    I32EnumCase<"Gather", 6, "gather">,
    I32EnumCase<"Scatter", 7, "scatter">,
    I32EnumCase<"SendReceive", 8, "send_receive">]> {
  let cppNamespace = "::zc::sched";
}

#endif // ZC_DIALECTS_SCHED_MEMORYCLASS_TD
