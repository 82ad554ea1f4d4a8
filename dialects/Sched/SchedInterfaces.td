//===- SchedInterfaces.td - what an instruction answers -------------------===//
#ifndef ZC_DIALECTS_SCHED_SCHEDINTERFACES_TD
#define ZC_DIALECTS_SCHED_SCHEDINTERFACES_TD

include "mlir/IR/OpBase.td"

def Sched_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::zc::sched";
  let description = [{
    An operation that the runtime executes: it reads and writes buffers.
  }];
  let methods = [
    InterfaceMethod<"The buffers it reads.",
      "::llvm::SmallVector<::mlir::Value>", "getReads">,
    InterfaceMethod<[{
      The buffers it writes, every element of them.
    }], "::llvm::SmallVector<::mlir::Value>", "getWrites">,
    InterfaceMethod<[{
      The buffer that it may use while it runs, or null; what it holds before
      and after has no meaning.
    }], "::mlir::Value", "getScratch", (ins), [{}], [{ return {}; }]>
  ];
}

#endif // ZC_DIALECTS_SCHED_SCHEDINTERFACES_TD
