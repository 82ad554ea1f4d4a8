//===- SchedAttrs.td - what runs a program --------------------------------===//
#ifndef ZC_DIALECTS_SCHED_SCHEDATTRS_TD
#define ZC_DIALECTS_SCHED_SCHEDATTRS_TD

include "dialects/Sched/SchedDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Sched_LinkAttr : AttrDef<Sched_Dialect, "Link"> {
  let mnemonic = "link";
  let summary = "links between neighbouring ranks of a described machine";
  let description = [{
    Blocks of `ranks` neighbouring ranks are joined by links. `bytes` is what one
    rank sends and receives at once, in bytes per second, `seconds` the latency of
    a message.
  }];
  let parameters = (ins "int64_t":$ranks, "::mlir::FloatAttr":$seconds,
                        "::mlir::FloatAttr":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sched_MachineAttr : AttrDef<Sched_Dialect, "Machine"> {
  let mnemonic = "machine";
  let summary = "the rates of a machine that is described, not at hand";
  let description = [{
    Per second: `flops` of products, `bytes` of memory, `copy` bytes to and from
    the second memory. `launch`: seconds of each kernel besides. `links` are
    `#sched.link`, innermost first, each of a multiple of the ranks of the one
    before. `ways` are the algorithms that collectives may take, as cluster files
    name them. `axes` are the mesh's, from the outermost machines inwards, with
    their `sizes`; none: there is one rank.
  }];
  let parameters = (ins
      StringRefParameter<"of the cluster file">:$name,
      "::mlir::FloatAttr":$flops,
      "::mlir::FloatAttr":$bytes,
      "::mlir::FloatAttr":$copy,
      "::mlir::FloatAttr":$launch,
      "::mlir::ArrayAttr":$links,                            // of LinkAttr
      "::mlir::ArrayAttr":$ways,                             // of StringAttr
      OptionalParameter<"::mlir::ArrayAttr">:$axes, // of StringAttr
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$sizes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sched_TargetAttr : AttrDef<Sched_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the machine that a module is compiled for";
  let description = [{
    On a module as `sched.target`. Passes ask the `Target` that is made of it
    (passes/Target/Target.h); whatever changes what they do is a parameter here.

    `device`: "cpu" or "cuda". `threads`: the most that a kernel may use, which
    workspaces are planned for. `features`: of all instruction sets that code is
    made for, as LLVM spells them. `libraries`: which library calls may be used,
    as `--libraries` has it. `machine`: rates and links of a described machine;
    without it the device's own are taken.

    ```mlir
    module attributes {sched.target = #sched.target<device = "cpu", threads = 2,
        features = ["avx512bw"], libraries = "all,-onednn.convolution">} {
    ```
  }];
  let parameters = (ins
      StringRefParameter<"cpu or cuda">:$device,
      DefaultValuedParameter<"int64_t", "1">:$threads,
      OptionalParameter<"::mlir::ArrayAttr">:$features, // of StringAttr
      StringRefParameter<"as --libraries", [{"all"}]>:$libraries,
      OptionalParameter<"::zc::sched::MachineAttr">:$machine);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // ZC_DIALECTS_SCHED_SCHEDATTRS_TD
