//===- ProgramOps.td - state, fused regions -------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_PROGRAMOPS_TD
#define ZC_DIALECTS_TRAIN_PROGRAMOPS_TD

include "dialects/Interfaces/NamedEnum.td"
include "dialects/Train/StateKind.td"
include "dialects/Train/TrainDialect.td"

def Train_StateOp : Train_Op<"state", [Symbol]> {
  let summary = "a tensor that outlives a program: weight, statistic, moment, scalar";
  let description = [{
    All programs of a module share the states. `kind` is one of parameter,
    copy (of the float32 `parameter` in 16 bits, which @copy makes), constant, statistic, optimizer, scalar, accumulator (a sum over the
    micro-batches of a step), flight (what a micro-batch of a pipeline keeps from
    one program to the next; it has no initial value). The initial value is `value` (small
    data), or bytes in a file (`source = {file = "model.onnx.data",
    offset = 0 : i64, length = 4096 : i64}`; with the flag `transposed`, those
    of the transposed matrix), or what @init returns for it:
    zeros, or what `draw` says: `{constant = 1.0}` everywhere, or random numbers,
    `{uniform = 0.125, index = 3}` in [-0.125, 0.125) or `{normal = 0.02,
    index = 3}` of that standard deviation; `index` sets draws apart.
    A state of kind parameter is trained. `aliases` are further ONNX initializers
    that are this tensor (tied weights); `decay = false` exempts it from weight
    decay. An optimizer state names its `parameter` and its `slot`.

    Memory: `offset` is where it lies in its region, or in a slot of its ring.
    `offloaded`: it lies in the second memory, and comes for what uses it;
    `host_update`: there the host computes its new values.

    Divisions: `unit` is the vector in which this state lies, from element
    `unit_offset` on. `per_rank`: every rank of a mesh keeps rows of its own;
    other meshes cannot use it. `holders`: the roles of a pipeline that hold a
    parameter, where several do. `unit_stage`: of a gathered unit, the stage that
    it is of, where units of a role's stages take turns in one place.

    Pipelines: a flight state lies in `ring`; it is what `messages` send or
    receive ({id, peer, gradient, ...}). `delay`: how many steps older than the
    newest the version is that forwards read. A state that stands for a version
    of another, `version_of`, has no place of its own; it is `version_age` steps
    older than the newest, or, at -1, the one that the step writes.

    Optimizer: `group` holds the settings by which a parameter's update differs
    from the others', `{lr_scale = 0.1 : f64, weight_decay = 0.0 : f64}`.

    Ranks: how a state is divided is `dist.sharding`, an attribute of the dist
    dialect, which knows this one. `blocks` lists, for each dim, the sizes of the
    blocks that are divided each by itself: in programs, of every block the first
    part comes before of every block the second. `why` says who divided it, for
    reports. A scalar with `coordinate` holds the rank's coordinate on that axis.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
      NamedEnumAttr<Train_StateKind>:$kind,
      OptionalAttr<ElementsAttr>:$value, OptionalAttr<DictionaryAttr>:$source,
      OptionalAttr<StrArrayAttr>:$aliases,
      OptionalAttr<StrAttr>:$parameter, OptionalAttr<StrAttr>:$slot,
      OptionalAttr<DictionaryAttr>:$draw,
      DefaultValuedAttr<BoolAttr, "true">:$decay,
      OptionalAttr<I64Attr>:$offset, UnitAttr:$offloaded, UnitAttr:$host_update,
      OptionalAttr<FlatSymbolRefAttr>:$unit, OptionalAttr<I64Attr>:$unit_offset,
      UnitAttr:$per_rank, OptionalAttr<DenseI64ArrayAttr>:$holders,
      OptionalAttr<I64Attr>:$unit_stage,
      OptionalAttr<StrAttr>:$ring, OptionalAttr<ArrayAttr>:$messages,
      DefaultValuedAttr<I64Attr, "0">:$delay,
      OptionalAttr<FlatSymbolRefAttr>:$version_of,
      OptionalAttr<I64Attr>:$version_age,
      OptionalAttr<DictionaryAttr>:$group,
      OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr,
          "a list of array<i64>">>:$blocks,
      OptionalAttr<StrAttr>:$why, OptionalAttr<StrAttr>:$coordinate);
  let assemblyFormat = "$sym_name $kind `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// The whole tensor's type, where the state is a rank's part of it.
    ::mlir::RankedTensorType getWholeType();
    /// Whether the initial value is known at compile time.
    bool hasInitialValue() { return getValue() || getSource(); }
  }];
}

def Train_FusedOp : Train_Op<"fused", [Pure, IsolatedFromAbove,
    SingleBlock]> {
  let summary = "ops that one kernel computes";
  let description = [{
    Formed by passes/Fusion; from then on the values that exist are fixed: what is
    inside never reaches memory. Without `library` the kernel is generated from
    the ops' linalg forms; with it ("onednn.matmul"), the back end's pattern calls
    a library with at most `workspace_bytes` of scratch memory, and the region
    says what the call computes. `shared_buffers` lists pairs (operand, result)
    that may use the same memory; a library works in place there.

    Schedules and reports go by what the results are. `gradients` lists those
    that are gradients of parameters, `kept_gradients` those that are kept until
    all others are there. `staging`: the results are on their way to other ranks.
    `late`: it runs behind the last op with kept gradients. `of_other_ranks`:
    recomputation keeps the results, for they are made of tensors of other ranks,
    which would be kept in their place. `running_sum`: it adds to a sum that grows
    turn by turn.

    A call may compute several ops of the region: `joined` then says what follows
    from no single one of them, by the kind of call: `{norm = {addend}}`. Its
    operands and results are the region's.

    `recomputed`: it computes values again, or decodes them, and not before the op
    in front of it, for its results are wanted late. `offloaded` lists the results
    that lie in the second memory while nothing uses them. A
    collective that is `async` runs beside the ops that follow, until one reads its
    result. The result of one that is `prefetched` is read long after its operand
    is there, so that it begins as gathers of states do, a few ahead of its
    reader.
  }];
  let arguments = (ins Variadic<Train_Tensor>:$inputs,
      OptionalAttr<StrAttr>:$library,
      DefaultValuedAttr<I64Attr, "0">:$workspace_bytes,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$shared_buffers,
      OptionalAttr<DictionaryAttr>:$joined, UnitAttr:$recomputed,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$offloaded,
      UnitAttr:$async, UnitAttr:$prefetched,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$gradients,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$kept_gradients,
      UnitAttr:$staging, UnitAttr:$late, UnitAttr:$of_other_ranks,
      UnitAttr:$running_sum);
  let extraClassDeclaration = [{
    /// Says of its results what `other` says of its own, which they stand for.
    void takeFactsOf(FusedOp other);
    /// Says of its results what the marks of `op`, one of no region, say of its
    /// own; of `gradients` nothing, which have other numbers.
    void takeMarksOf(::mlir::Operation *op);
    /// The entry of `joined`; null: nothing of this kind is joined.
    ::mlir::DictionaryAttr getJoined(::llvm::StringRef kind);
    /// Sets that entry.
    void join(::llvm::StringRef kind, ::mlir::DictionaryAttr what);
  }];
  let results = (outs Variadic<Train_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` "
                       "functional-type(operands, results) $body";
  let hasVerifier = 1;
}

def Train_YieldOp : Train_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "the values a fused region or a kernel leaves in memory";
  let arguments = (ins Variadic<Train_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // ZC_DIALECTS_TRAIN_PROGRAMOPS_TD
