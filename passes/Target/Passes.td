//===- Passes.td - what programs are compiled for -------------------------===//
#ifndef ZC_PASSES_TARGET_PASSES_TD
#define ZC_PASSES_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def AnnotateTargetPass : Pass<"zc-annotate-target", "::mlir::ModuleOp"> {
  let summary = "say what runs the module";
  let description = [{
    Sets `sched.target`, which later passes ask (passes/Target/Target.h). Fails
    on a library call that the device does not have, and on a machine that is no
    `#sched.machine`.

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
               "of all instruction sets that code is made for: avx512bw">,
    Option<"libraries", "libraries", "std::string", "\"all\"",
           "library calls that may be used, as --libraries has it">,
    Option<"machine", "machine", "std::string", "\"\"",
           "rates and links of a described machine, a #sched.machine">
  ];
  let dependentDialects = ["::zc::sched::SchedDialect"];
}

#endif // ZC_PASSES_TARGET_PASSES_TD
