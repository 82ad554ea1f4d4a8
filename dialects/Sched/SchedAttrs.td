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

def Sched_RateAttr : AttrDef<Sched_Dialect, "Rate"> {
  let mnemonic = "rate";
  let summary = "how fast a described machine does one class of work";
  let description = [{
    `flops` per second of a class of work on factors of a type. Classes and types
    are called what cluster files call them: `matmul`, `convolution`, `attention`,
    `attention_backward`, and `kernel`, which is generated code; `f32`, `f64`,
    `f16`, `bf16`, `f8`.
  }];
  let parameters = (ins StringRefParameter<"class of work">:$work,
                        StringRefParameter<"of the factors">:$type,
                        "::mlir::FloatAttr":$flops);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sched_MachineAttr : AttrDef<Sched_Dialect, "Machine"> {
  let mnemonic = "machine";
  let summary = "the rates of a described machine";
  let description = [{
    A cluster file's machine, as one rank has it. `rates` are `#sched.rate`; a type
    that a class does not list is as fast as its `f32`, and a class that is not
    listed as `kernel`, which is. Bytes per second: `bytes` of memory, `copy` to and
    from the second memory, `host` of a host's own memory. `copy_seconds` is the
    latency of such a copy, `launch` what each kernel takes besides. `links` are
    `#sched.link`, innermost first, each of a multiple of the ranks of the one
    before. `ways` are the algorithms that collectives may take, as cluster files
    name them. `axes` are the mesh's, from the outermost machines inwards, with
    their `sizes`; none: ranks stand side by side, along whatever axes.
  }];
  let parameters = (ins
      StringRefParameter<"of the cluster file">:$name,
      "::mlir::ArrayAttr":$rates,                            // of RateAttr
      "::mlir::FloatAttr":$bytes,
      "::mlir::FloatAttr":$copy,
      "::mlir::FloatAttr":$copy_seconds,
      "::mlir::FloatAttr":$host,
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
    as `--libraries` has it. `machine`: rates and links of the machine that
    `--cluster` names; without it those of the file of such devices' usual machine
    (tools/clusters/usual-cpu.json). Its axes are the mesh's.

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
