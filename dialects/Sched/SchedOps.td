//===- SchedOps.td - programs, buffers, instructions ----------------------===//
#ifndef ZC_DIALECTS_SCHED_SCHEDOPS_TD
#define ZC_DIALECTS_SCHED_SCHEDOPS_TD

include "dialects/Interfaces/NamedEnum.td"
include "dialects/Interfaces/Traffic.td"
include "dialects/Sched/MemoryClass.td"
include "dialects/Sched/SchedDialect.td"
include "dialects/Sched/SchedInterfaces.td"
include "dialects/Train/TrainDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/SymbolInterfaces.td"

// Static, row-major from its first byte on.
def Sched_Buffer : Type<
    CPred<"::zc::sched::isBufferType($_self)">,
    "contiguous memref of static shape", "::mlir::MemRefType">;

class Sched_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sched_Dialect, mnemonic, traits>;

class Sched_BufferOp<string mnemonic, list<Trait> traits = []>
    : Sched_Op<mnemonic, !listconcat([HasParent<"ProgramOp">], traits)>;

def Sched_Instruction
    : DeclareOpInterfaceMethods<Sched_InstructionOpInterface>;
def Sched_ScratchInstruction
    : DeclareOpInterfaceMethods<Sched_InstructionOpInterface, ["getScratch"]>;

//===----------------------------------------------------------------------===//
// At module level
//===----------------------------------------------------------------------===//

def Sched_KernelOp : Sched_Op<"kernel", [
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">,
    SingleBlock]> {
  let summary = "a kernel that passes/Codegen compiles";
  let description = [{
    The block arguments are the kernel's inputs and the operands of the
    terminating `train.yield` its outputs: at run time pointers, inputs first.
    `shared` lists pairs (input, output) that are the same memory. Codegen sets
    `grid`, the size of the range [0, grid) that may be computed in parts;
    `symbol` is the compiled function's name where it is not the op's. With `host`
    it is code for the processor that feeds the device.

    - (C1) the inputs are tensors, the terminator is `train.yield`
    - (C2) `shared` holds pairs of existing inputs and outputs of equal size;
      no input stands in two pairs
    - (C3) `grid` is positive
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$shared,
      OptionalAttr<I64Attr>:$grid, OptionalAttr<StrAttr>:$symbol,
      UnitAttr:$host);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getInputs() {
      return getBody().front().getArguments();
    }
    ::mlir::OperandRange getOutputs() {
      return getBody().front().getTerminator()->getOperands();
    }
    /// The name of the function in the code object.
    ::llvm::StringRef getFunctionName() {
      return getSymbol() ? *getSymbol() : getSymName();
    }
  }];
}

def Sched_ProgramOp : Sched_Op<"program", [
    Symbol, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">, NoTerminator,
    SingleBlock]> {
  let summary = "instructions in the order of their execution";
  let description = [{
    Allocation sets `transient_bytes`, the size of the region that the offsets of
    inputs and allocations lie in.

    - (C1) the block has no arguments and holds buffers and instructions only
    - (C2) names of inputs are unique, names of outputs too, and there is one
      `sched.state` a state
    - (C3) every `sched.wait` is for an async instruction that is under way
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<I64Attr>:$transient_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Sched_StateOp : Sched_BufferOp<"state", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the persistent buffer of a train.state";
  let description = [{
    Holds the old value when the program starts. The new one is written to a view
    of it.

    - (C1) names a `train.state` of the same shape and element type
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Sched_Buffer:$buffer);
  let assemblyFormat = "$state attr-dict `:` type($buffer)";
}

def Sched_InputOp : Sched_BufferOp<"input"> {
  let summary = "a buffer that the host writes before the program runs";
  let description = [{
    The attributes mean what they mean on a program's arguments
    (TrainDialect.td); `offset` is its place in the transient region.

    - (C1) `batch_dim` is a dim
    - (C2) `range` is (min, max) or (min, max, ignored), of an integer buffer
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$batch_dim,
      OptionalAttr<DenseI64ArrayAttr>:$range, UnitAttr:$label,
      UnitAttr:$sample_weight, OptionalAttr<I64Attr>:$offset);
  let results = (outs Sched_Buffer:$buffer);
  let assemblyFormat = "$name attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Sched_AllocOp : Sched_BufferOp<"alloc"> {
  let summary = "a buffer in the transient region";
  let description = [{
    One of class offloaded lies in the second memory space instead, behind the
    states that are there. With `offload` its value is to lie there while nothing
    uses it (--zc-offload).

    - (C1) no buffer of class offloaded has `offload`
  }];
  let arguments = (ins NamedEnumAttr<Sched_MemoryClass>:$memory_class,
                       OptionalAttr<I64Attr>:$offset, UnitAttr:$offload);
  let hasVerifier = 1;
  let results = (outs Sched_Buffer:$buffer);
  let assemblyFormat = "$memory_class attr-dict `:` type($buffer)";
}

def Sched_ViewOp : Sched_BufferOp<"view"> {
  let summary = "the same bytes as another buffer";
  let description = [{
    In another shape, or as the place of the value that an instruction writes
    over the old one; `memory_class`, where it stands, is the new value's. A part
    of the other begins at its element `offset`, and nothing writes through it.

    - (C1) both have elements of one type, and those of the view, from `offset`
      on, are in the source
    - (C2) a part begins at a multiple of the alignment, and an instruction that
      names it only reads (checked by the program)
  }];
  let arguments = (ins Sched_Buffer:$source,
                       OptionalAttr<NamedEnumAttr<Sched_MemoryClass>>:$memory_class,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Sched_Buffer:$buffer);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($buffer)";
  let hasVerifier = 1;
}

def Sched_OutputOp : Sched_BufferOp<"output"> {
  let summary = "a buffer that the host reads after the program ran";
  let description = [{
    - (C1) `batch_dim` is a dim
    - (C2) `token_order`, where ranks divide tokens in another order, is "zigzag"
  }];
  let arguments = (ins StrAttr:$name, Sched_Buffer:$buffer,
                       NamedEnumAttr<Sched_OutputKind>:$kind,
                       OptionalAttr<I64Attr>:$batch_dim,
                       OptionalAttr<StrAttr>:$token_order);
  let assemblyFormat = "$kind $name $buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// `label` is for people: the ops and where they come from. `flops` and `bytes`
// are the cost of one execution.
class Sched_InstructionOp<string mnemonic, list<Trait> traits>
    : Sched_BufferOp<mnemonic, traits> {
  dag costs = (ins OptionalAttr<StrAttr>:$label,
      DefaultValuedAttr<F64Attr, "0.0">:$flops,
      DefaultValuedAttr<F64Attr, "0.0">:$bytes);
}

def Sched_LaunchOp : Sched_InstructionOp<"launch", [
    AttrSizedOperandSegments, Sched_Instruction,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    With `host` it runs beside the device, on the processor that feeds it and on
    buffers of the second memory alone, on the stream of such launches. It begins
    as an async copy does, and when the async copies in front of it that write
    what it reads, or use what it writes, have ended; async copies behind it wait
    for it in the same way.

    - (C1) names a `sched.kernel` of these inputs and outputs
    - (C2) an input and an output have the same root exactly where the kernel
      shares them, and no two outputs have the same root
    - (C3) has `host` exactly where the kernel does, and then all its buffers lie
      in the second memory
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$kernel,
                            Variadic<Sched_Buffer>:$inputs,
                            Variadic<Sched_Buffer>:$outputs), costs,
                       (ins UnitAttr:$host));
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict
  }];
}

def Sched_LibraryCallOp : Sched_InstructionOp<"library_call", [
    AttrSizedOperandSegments, Sched_ScratchInstruction]> {
  let summary = "calls a library for one train op";
  let description = [{
    `op` names the train op, `config` holds its attributes, `inputs` are its
    operands and `outputs` its results. `shared` lists pairs (input, output) where
    the library works in place.

    - (C1) an input and an output have the same root exactly where `shared` says
      so; no output has that of another output or of the workspace
    - (C2) the workspace is a 1-d buffer of bytes
  }];
  let arguments = !con((ins StrAttr:$library, StrAttr:$op, DictionaryAttr:$config,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$shared,
                            Variadic<Sched_Buffer>:$inputs,
                            Variadic<Sched_Buffer>:$outputs,
                            Optional<Sched_Buffer>:$workspace), costs);
  let assemblyFormat = [{
    $library $op $config (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Sched_CollectiveOp : Sched_InstructionOp<"collective", [
    Sched_ScratchInstruction]> {
  let summary = "a collective among the ranks of a group";
  let description = [{
    `kind` names a collective of the dist dialect on parts; `axes`, `traffic`,
    `root`, `shift` and `holders` mean what they mean there. An all-reduce and a broadcast
    may write over their source.

    With `async` it runs beside the instructions that follow, on the stream of
    such collectives, which run one after another. It begins when all instructions
    in front of it that are not async have ended, and has ended behind a
    `sched.wait` for it or a later one, or with the program.

    - (C1) source and destination are of one type, and of the sizes that the kind
      asks for; roots differ but for an all-reduce or a broadcast
    - (C2) the workspace is a 1-d buffer of bytes of its own
  }];
  let arguments = !con((ins NamedEnumAttr<Sched_CollectiveKind>:$kind,
                            StrArrayAttr:$axes,
                            NamedEnumAttr<Traffic>:$traffic,
                            Sched_Buffer:$source, Sched_Buffer:$destination,
                            Optional<Sched_Buffer>:$workspace, UnitAttr:$async,
                            DefaultValuedAttr<I64Attr, "0">:$root,
                            DefaultValuedAttr<I64Attr, "1">:$shift,
                            OptionalAttr<DenseI64ArrayAttr>:$holders),
                       costs);
  let assemblyFormat = [{
    $kind $axes $traffic $source `to` $destination
    (`workspace` $workspace^ `:` type($workspace) `,`)? attr-dict `:`
    type($source) `to` type($destination)
  }];
  let hasVerifier = 1;
}

def Sched_WaitOp : Sched_BufferOp<"wait"> {
  let summary = "later instructions begin when an async one has ended";
  let description = [{
    `buffer` is what the instruction writes. All in front of it on its stream have
    ended then too.

    - (C1) an async instruction in front of it writes the buffer and has not been
      waited for (checked by the program)
  }];
  let arguments = (ins Sched_Buffer:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Sched_CopyOp : Sched_InstructionOp<"copy", [Sched_Instruction]> {
  let summary = "copies a buffer to another of its type";
  let description = [{
    With `async` it goes from one memory to the other and runs on the stream of
    its direction, as an async collective does on that of collectives. It begins
    behind copies of the other direction that share memory with it.

    - (C1) both have the same number of elements of one type, and different roots
  }];
  let arguments = !con((ins Sched_Buffer:$source, Sched_Buffer:$destination,
                            UnitAttr:$async),
                       costs);
  let assemblyFormat = [{
    $source `to` $destination attr-dict `:` type($source) `to`
    type($destination)
  }];
  let hasVerifier = 1;
}

#endif // ZC_DIALECTS_SCHED_SCHEDOPS_TD
