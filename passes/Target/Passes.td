//===- Passes.td - what programs are compiled for -------------------------===//
#ifndef ZC_PASSES_TARGET_PASSES_TD
#define ZC_PASSES_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def AnnotateTargetPass : Pass<"zc-annotate-target", "::mlir::ModuleOp"> {
  let summary = "say what runs the module";
  let description = [{
    Sets `sched.target`, which later passes ask (passes/Target/Target.h). Fails
    on a library call that the device does not have, and on a cluster that there is
    none of, or that has too few devices, or devices of another kind.

    ```mlir
    module {
    // becomes, with device=cuda libraries=all,-cudnn.pooling
    module attributes {sched.target =
        #sched.target<device = "cuda", libraries = "all,-cudnn.pooling">} {
    ```
  }];
  let options = [
    Option<"device", "device", "std::string", "\"cpu\"", "cpu or cuda">,
    Option<"threads", "threads", "int64_t", "1",
           "threads of a rank, which workspaces are planned for">,
    ListOption<"features", "features", "std::string",
               "of all instruction sets that code is made for: avx512bw or avx2">,
    Option<"libraries", "libraries", "std::string", "\"all\"",
           "library calls that may be used, as --libraries has it">,
    Option<"cluster", "cluster", "std::string", "\"\"",
           "the described machine whose rates and links decide: a preset of "
           "tools/clusters or a file; none: the device's usual machine">,
    ListOption<"axes", "axes", "std::string",
               "with a cluster, the mesh's axes from the outermost machines "
               "inwards: dp=4">,
    Option<"allowsTf32", "tf32", "bool", "false",
           "with a cluster, products of float32 are as fast as tf32 is">
  ];
  let dependentDialects = ["::zc::sched::SchedDialect"];
}

#endif // ZC_PASSES_TARGET_PASSES_TD
