//===- LibraryCalls.cpp - calls as libraries take them --------------------===//
#include "compiler/Export/LibraryCalls.h"

#include "compiler/Export/CallDescription.h"

using namespace mlir;

namespace zc {

Status exportLibraryCall(sched::LibraryCallOp op, const ProgramExport &program,
                         plan::LibraryCall &call) {
  StringRef name = op.getOp().split('.').second;
  const kernels::CallKind *kind = kernels::findCallKind(name);
  if (!kind)
    return makeError(StatusCode::Internal, "no runtime has the library call '",
                     op.getLibrary().str(), "' for '", op.getOp().str(), "'");
  if (std::string error = checkOpAttributes(op.getConfig(), *kind);
      !error.empty())
    return makeError(StatusCode::Internal, "library call '",
                     op.getLibrary().str(), "' for '", op.getOp().str(),
                     "': ", error);
  call.set_op(name.str());
  for (Value input : op.getInputs())
    call.add_inputs(program.getIndex(input));
  for (Value output : op.getOutputs())
    call.add_outputs(program.getIndex(output));
  if (op.getWorkspace())
    call.set_workspace(program.getIndex(op.getWorkspace()));
  for (kernels::CallAttribute &each :
       describeAttributes(op.getConfig(), *kind)) {
    plan::CallAttribute &attribute = *call.add_attributes();
    attribute.set_name(std::move(each.name));
    attribute.mutable_integers()->Add(each.integers.begin(),
                                      each.integers.end());
    attribute.set_number(each.number);
    attribute.set_text(std::move(each.text));
  }
  return Status();
}

} // namespace zc
