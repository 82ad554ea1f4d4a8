//===- SchedDialect.td ----------------------------------------------------===//
#ifndef ZC_DIALECTS_SCHED_SCHEDDIALECT_TD
#define ZC_DIALECTS_SCHED_SCHEDDIALECT_TD

include "dialects/Interfaces/MarkedDialect.td"

def Sched_Dialect : MarkedDialect {
  let name = "sched";
  let cppNamespace = "::zc::sched";
  let summary = "a rank's programs: instructions on buffers, in order";
  let description = [{
    The last rung of the ladder, nearly one to one with the manifest of an
    artifact. A module holds the states (`train.state`), the generated kernels
    (`sched.kernel`) and the programs (`sched.program`). The order of the
    operations of a program is the order of execution.

    Buffers are contiguous memrefs. A *root* is a state, an input or an
    allocation; everything else is a view of one root. A buffer is written at
    most once: an instruction that works in place reads one buffer and writes
    another view of the same root, and from then on only the new one may be read.

    Allocation gives every `train.state` its `offset`, and the module discardable
    attributes: `sched.persistent_bytes` and `sched.offloaded_bytes` (i64). The
    offset of a state of kind flight is in a slot of its ring, and `sched.rings`
    on the module has the bytes of each ring's slots. A `train.state` that is
    `offloaded` lies in the second memory space (host memory beside a GPU, a file
    beside a CPU), which only copies reach, and kernels of the host. One that has
    `host_update`, too, is updated there.

    `sched.target` on a module says what runs it (`#sched.target`).
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = marks # [{ void registerAttributes(); }];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // ZC_DIALECTS_SCHED_SCHEDDIALECT_TD
