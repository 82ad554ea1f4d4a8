//===- SchedAttrs.td - what runs a program --------------------------------===//
#ifndef ZC_DIALECTS_SCHED_SCHEDATTRS_TD
#define ZC_DIALECTS_SCHED_SCHEDATTRS_TD

include "dialects/Sched/SchedDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Sched_TargetAttr : AttrDef<Sched_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the machine that a module is compiled for";
  let description = [{
    On a module as `sched.target`. Passes ask the `Target` that is made of it
    (passes/Target/Target.h); whatever changes what they do is a parameter here.

    `device`: "cpu" or "cuda". `threads`: the most that a kernel may use, which
    workspaces are planned for. `features`: of all instruction sets that code is
    made for, as LLVM spells them. `libraries`: which library calls may be used,
    as `--libraries` has it.

    ```mlir
    module attributes {sched.target = #sched.target<device = "cpu", threads = 2,
        features = ["avx512bw"], libraries = "all,-onednn.convolution">} {
    ```
  }];
  let parameters = (ins
      StringRefParameter<"cpu or cuda">:$device,
      DefaultValuedParameter<"int64_t", "1">:$threads,
      OptionalParameter<"::mlir::ArrayAttr">:$features, // of StringAttr
      StringRefParameter<"as --libraries", [{"all"}]>:$libraries);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // ZC_DIALECTS_SCHED_SCHEDATTRS_TD
