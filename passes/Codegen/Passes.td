//===- Passes.td - kernels to machine code --------------------------------===//
#ifndef ZC_PASSES_CODEGEN_PASSES_TD
#define ZC_PASSES_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerKernelsPass : Pass<"zc-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "build a function over a range of blocks for every kernel";
  let description = [{
    For every `sched.kernel` adds to the nested module `@zc.kernels` a function of
    its buffers (inputs, then the outputs that share none) and a range of
    blocks, and sets the kernel's `grid`. Chains of elementwise ops become one
    linalg.generic on memrefs; other ops contribute their linalg form.

    ```mlir
    sched.kernel @k { ^bb0(%x: tensor<1024x768xf32>):
      %0 = train.relu %x : ...
      train.yield %0 : ... }
    // adds
    func.func @k(%x: memref<1024x768xf32> {llvm.noalias},
                 %y: memref<1024x768xf32> {llvm.noalias},
                 %begin: index, %end: index) {
      scf.for %block = %begin to %end step %c1 { /* 16 rows */ }
      return }
    ```

    Where the target runs thread blocks, a block is what one thread computes, a few elements, or where that
    is much, what a team of threads computes, a row: `sched.threads` and
    `sched.block_per_thread` say so, and `grid` counts teams. There the body's parts
    that share no value have a function each, equal ones once, and that of the
    kernel has no body but `sched.parts`.
  }];
  let dependentDialects = ["::zc::train::TrainDialect", "::zc::sched::SchedDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect"];
}

def CascadeSumsPass : Pass<"zc-cascade-sums"> {
  let summary = "cut long float32 sums in short ones, added up in float64";
  let description = [{
    A linalg.generic on buffers whose outputs are sums, and in which one
    accumulator would take more than 128 terms (64 times as many along an
    innermost loop, which adds up side by side), becomes loops around a short
    sum. The split does not depend on the number of threads.

    ```mlir
    linalg.generic ins(%x : memref<4096x64xf32>) outs(%sum : memref<64xf32>)
    // becomes
    linalg.fill outs(%total : memref<64xf64>)
    scf.for %i = %c0 to %c4096 step %c128 {
      linalg.fill outs(%short : memref<64xf32>)
      linalg.generic ins(%x[%i..] : memref<128x64xf32>) outs(%short)
      /* %total += %short */
    }
    /* %sum += %total */
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
}

def ApproximateMathPass : Pass<"zc-approximate-math"> {
  let summary = "replace float32 exp, tanh, erf, log, ... by polynomials";
  let description = [{
    LLVM's vectoriser turns polynomials into vector code; calls of libm would
    leave the loop scalar. FloatMath.h says how exact they are. float64 is left
    alone.
    Conversions of bfloat16 become shifts and sums of integers.
  }];
  let options = [
    Option<"expandBFloat16", "expand-bfloat16", "bool", "true",
           "for processors that do not convert bfloat16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def CopyRowsPass : Pass<"zc-copy-rows"> {
  let summary = "copy neighbouring elements by one memref.copy";
  let description = [{
    A linalg.generic or linalg.copy that does nothing but copy one buffer's
    elements to another buffer becomes a memref.copy of each row that lies side
    by side in both, in loops over the rows: a call of memcpy. Tensors put one
    behind another have as many copies as there are tensors, and LLVM takes
    longer to make as much of their loops. Rows of less than 256 bytes stay.

    ```mlir
    linalg.copy ins(%x : memref<1x32x16xf32, strided<[512, 16, 1], offset: ?>>)
        outs(%y : memref<1x32x16xf32, strided<[16384, 16, 1], offset: ?>>)
    // becomes
    memref.copy %x, %y
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def ShareCodePass : Pass<"zc-share-code", "::mlir::ModuleOp"> {
  let summary = "one function for kernels that differ in sizes and strides";
  let description = [{
    Runs on the module whose nested modules hold kernels' functions in the LLVM
    dialect. Where at least four functions differ in numbers alone (bounds of
    loops, strides of rows; no strides within an innermost loop, no divisors),
    one of them stays and takes as arguments what differs. The others become its
    `sched.aliases`, each with its `sched.numbers`. Functions that add up in registers
    are left alone: LLVM orders such sums by how long they are.

    ```mlir
    llvm.func @a(%x: !llvm.ptr, ...) {sched.buffers = ...} { ... %c64 ... %c8 ... }
    llvm.func @b(%x: !llvm.ptr, ...) {sched.buffers = ...} { ... %c96 ... %c8 ... }
    // becomes
    llvm.func @a(%x: !llvm.ptr, ..., %0: i64) attributes {
        sched.numbers = array<i64: 64>,
        sched.aliases = [{name = "b", sched.numbers = array<i64: 96>, ...} ]} { ... }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def AddEntryPointsPass : Pass<"zc-add-entry-points", "::mlir::ModuleOp"> {
  let summary = "give every kernel the one signature the runtime knows";
  let description = [{
    Runs on the nested module after lowering to LLVM. `@k` becomes a private
    function; a new `@k(ptr buffers, i64 begin, i64 end)` loads the pointers,
    inputs first and then outputs as `sched.buffers` on the function says, and
    calls it: arguments, unlike loaded pointers, can be `noalias`. A constant
    `@k.signature` holds the grid, the number of buffers and the bytes of each,
    as `sched.signature` says: the runtime calls nothing that disagrees. The
    numbers of `sched.numbers` are passed behind the range of blocks.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def DistributeThreadsPass
    : Pass<"zc-distribute-threads", "::mlir::ModuleOp"> {
  let summary = "turn kernel functions into GPU kernels of many threads";
  let description = [{
    Replaces the module @zc.kernels that `--zc-lower-kernels` left for such a
    target by a gpu.module of that name. Where each thread has a block of its own, it
    runs the function on it. Else the threads of a team run it together: loops
    of linalg ops are divided among them, reductions are combined through
    shuffles and shared memory, what is stored once one thread stores, and
    barriers stand between writing and reading. Temporaries become shared
    memory. Arguments are all buffers of a launch, inputs first. Where a kernel has
    parts that share no value (`sched.parts`), each has teams of its own, and equal
    parts, which differ in their buffers only, have one code. A function that says
    itself which thread does what (`sched.own_threads`) is taken as it is.

    ```mlir
    func.func @k(%x: memref<64x768xf32>, %y: memref<64xf32>, %begin: index,
                 %end: index) attributes {sched.threads = 256 : i64, ...}
    // becomes
    gpu.module @zc.kernels {
      gpu.func @k(%x: memref<64x768xf32>, %y: memref<64xf32>)
          workgroup(%partial: memref<256xf32, 3>) kernel { ... } }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect",
    "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
    "::mlir::affine::AffineDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"];
}

def LowerDeviceMathPass : Pass<"zc-lower-device-math"> {
  let summary = "roots, absolute values, roundings as instructions";
  let description = [{
    Functions that PTX has instructions for become LLVM's intrinsics; powers, and
    exp and log of float64, become arithmetic. The float64 functions that need
    CUDA's libdevice are left.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::arith::ArithDialect"];
}

#endif // ZC_PASSES_CODEGEN_PASSES_TD
