// RUN: zc-opt %s --zc-lower-kernels | FileCheck %s

// Tests that an elementwise kernel is one linalg.generic over blocks of rows, and
// that an output which shares its input's buffer is no argument.
// CHECK-LABEL: sched.kernel @chain attributes {grid = 64 : i64
// CHECK: func.func @chain([[X:%[a-z0-9]+]]: memref<1024x768xf32> {llvm.noalias}, %[[B:.*]]: memref<768xf32> {llvm.noalias},
// CHECK-SAME: index, %{{.*}}: index) attributes {sched.buffers = array<i32: 0, 1>, sched.signature = array<i64: 64, 3145728, 3072, 3145728>}
// CHECK: scf.for
// CHECK: %[[ROWS:.*]] = memref.subview [[X]][%{{.*}}, 0] [16, 768] [1, 1]
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[ROWS]], %[[B]] : {{.*}}) outs(%[[ROWS]]
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK-NOT: linalg.generic
sched.kernel @chain attributes {shared = array<i64: 0, 0>} {
^bb0(%x: tensor<1024x768xf32>, %b: tensor<768xf32>):
  %0 = train.broadcast %b {dims = array<i64: 1>} : (tensor<768xf32>) -> tensor<1024x768xf32>
  %1 = train.add %x, %0 : (tensor<1024x768xf32>, tensor<1024x768xf32>) -> tensor<1024x768xf32>
  %2 = train.relu %1 : (tensor<1024x768xf32>) -> tensor<1024x768xf32>
  train.yield %2 : tensor<1024x768xf32>
}

// Tests that a sum over rows is cut into columns, each computed whole.
// CHECK: func.func @columns([[X:%[a-z0-9]+]]: memref<1024x768xf32>
// CHECK: memref.subview [[X]][0, %{{.*}}] [1024, 64] [1, 1]
sched.kernel @columns {
^bb0(%x: tensor<1024x768xf32>):
  %0 = train.reduce "sum" %x {dims = array<i64: 0>} : (tensor<1024x768xf32>) -> tensor<768xf32>
  train.yield %0 : tensor<768xf32>
}

// Tests that what a reduction adds up is computed in its loops, also where it is
// stored in 16 bits and read at another place.
// CHECK: func.func @sums_of_products([[X:%[a-z0-9]+]]: memref<1024x768xbf16> {{{[^}]*}}}, [[Y:%[a-z0-9]+]]: memref<768xf32> {{{[^}]*}}}, [[S:%[a-z0-9]+]]: memref<1024xf32>
// CHECK-NOT: memref.alloca
// CHECK: %[[ROWS:.*]] = memref.subview [[X]][%{{.*}}, 0] [64, 768] [1, 1]
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: ins(%[[ROWS]], [[Y]] :
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
sched.kernel @sums_of_products {
^bb0(%x: tensor<1024x768xbf16>, %y: tensor<768xf32>):
  %0 = train.broadcast %y {dims = array<i64: 1>} : (tensor<768xf32>) -> tensor<1024x768xf32>
  %1 = train.convert %x : (tensor<1024x768xbf16>) -> tensor<1024x768xf32>
  %2 = train.mul %1, %0 : (tensor<1024x768xf32>, tensor<1024x768xf32>) -> tensor<1024x768xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 1>} : (tensor<1024x768xf32>) -> tensor<1024xf32>
  train.yield %3 : tensor<1024xf32>
}

// Tests that a value is not rounded while it stays in registers, but where a
// product will read what the tensor of 16 bits holds.
// CHECK: func.func @rounded_operand(
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[ROUND:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK: %[[FACTOR:.*]] = arith.extf %[[ROUND]] : bf16 to f32
// CHECK-NOT: arith.extf
// CHECK: %[[STORED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK: linalg.yield %[[STORED]], %[[SUM]], %[[FACTOR]]
sched.kernel @rounded_operand {
^bb0(%x: tensor<1024xbf16>, %y: tensor<1024xbf16>):
  %0 = train.add %x, %y : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  %1 = train.convert %0 : (tensor<1024xbf16>) -> tensor<1024xf32>
  %2 = train.convert %0 {rounds_operand} : (tensor<1024xbf16>) -> tensor<1024xf32>
  train.yield %0, %1, %2 : tensor<1024xbf16>, tensor<1024xf32>, tensor<1024xf32>
}

// Tests that a statistic that nobody reads takes no memory: with 8192 queries and
// keys it would leave no room for a row of scores on a GPU.
// CHECK: func.func @attention_alone(
// CHECK-NOT: memref.alloca() {{.*}} : memref<{{.*}}x512xf32>
// CHECK: memref.alloca() {{.*}} : memref<512xf32>
// CHECK-NEXT: memref.alloca() {{.*}} : memref<f32>
// CHECK-NOT: memref.alloca
// CHECK: return
sched.kernel @attention_alone {
^bb0(%q: tensor<2x512x4x16xf32>):
  %0:2 = train.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  train.yield %0#0 : tensor<2x512x4x16xf32>
}

// Tests that rows are summed before what shares their buffer is written over them,
// and that dims which neither the sums nor the loops tell apart are one.
// CHECK: func.func @sums_and_update([[G:%[a-z0-9]+]]: memref<256x72xf32> {{{[^}]*}}}, %{{[a-z0-9]+}}: memref<256xf32>
// CHECK: %[[ROWS:.*]] = memref.subview [[G]][%{{.*}}, 0] [128, 72] [1, 1]
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: ins(%[[ROWS]] :
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: outs(%[[ROWS]] :
// CHECK: math.exp
sched.kernel @sums_and_update attributes {shared = array<i64: 0, 0>} {
^bb0(%g: tensor<256x8x3x3xf32>):
  %0 = train.exp %g : (tensor<256x8x3x3xf32>) -> tensor<256x8x3x3xf32>
  %1 = train.reduce "sum_square" %g {dims = array<i64: 1, 2, 3>} : (tensor<256x8x3x3xf32>) -> tensor<256xf32>
  train.yield %0, %1 : tensor<256x8x3x3xf32>, tensor<256xf32>
}

// Tests that a sum over copies of a value that no buffer spans reads a stored
// block: what is read would not say how far the loops go.
// CHECK: func.func @sum_of_copies([[Y:%[a-z0-9]+]]: memref<768xf32>
// CHECK: [[COPIES:%[a-z0-9_]+]] = memref.alloca()
// CHECK: linalg.generic
// CHECK-SAME: outs([[COPIES]] :
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: ins([[COPIES]] :
sched.kernel @sum_of_copies {
^bb0(%y: tensor<768xf32>):
  %0 = train.constant dense<2.0> : tensor<768x32xf32>
  %1 = train.broadcast %y {dims = array<i64: 0>} : (tensor<768xf32>) -> tensor<768x32xf32>
  %2 = train.mul %1, %0 : (tensor<768x32xf32>, tensor<768x32xf32>) -> tensor<768x32xf32>
  %3 = train.reduce "sum" %2 {dims = array<i64: 1>} : (tensor<768x32xf32>) -> tensor<768xf32>
  train.yield %3 : tensor<768xf32>
}

// Tests that of a square value and its transpose, which are computed in one loop
// nest, only a dim that stays in place is cut.
// CHECK: func.func @square({{.*}}sched.signature = array<i64: 2, 131072, 131072, 131072>}
// CHECK: linalg.generic
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : memref<4x64x64xf32, {{.*}}>, memref<4x64x64xf32
sched.kernel @square {
^bb0(%x: tensor<8x64x64xf32>):
  %0 = train.sigmoid %x : (tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %1 = train.mul %x, %0 : (tensor<8x64x64xf32>, tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %2 = train.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  train.yield %0, %2 : tensor<8x64x64xf32>, tensor<8x64x64xf32>
}

// Tests that a softmax keeps its rows whole.
// CHECK: func.func @rows([[X:%[a-z0-9]+]]: memref<64x4x512xf32>
// CHECK: memref.subview [[X]][%{{.*}}, 0, 0] [8, 4, 512]
sched.kernel @rows {
^bb0(%x: tensor<64x4x512xf32>):
  %0 = train.softmax %x {dim = 2 : i64} : (tensor<64x4x512xf32>) -> tensor<64x4x512xf32>
  train.yield %0 : tensor<64x4x512xf32>
}

// Tests that dims which nothing tells apart are one row, whose code is the same
// for any length: also where no good block divides it (@prime_rows).
// CHECK: func.func @filter(%[[X:.*]]: memref<1xf32> {llvm.noalias}, %{{.*}}: memref<f32> {llvm.noalias}, %{{.*}}: memref<1xf32>
// CHECK-SAME: attributes {sched.aliases = [{name = "short_filter", sched.buffers = array<i32: 0, 1, 2>, sched.signature = array<i64: 6, 24, 4, 24>}], {{.*}}sched.signature = array<i64: 2359296, 9437184, 4, 9437184>}
// CHECK: scf.for %[[I:.*]] =
// CHECK: memref.subview %[[X]][%{{.*}}] [1] [1]
// CHECK-NOT: @short_filter
sched.kernel @filter {
^bb0(%x: tensor<512x512x3x3xf32>, %f: tensor<f32>):
  %0 = train.broadcast %f {dims = array<i64>} : (tensor<f32>) -> tensor<512x512x3x3xf32>
  %1 = train.constant dense<2.0> : tensor<512x512x3x3xf32>
  %2 = train.mul %x, %0 : (tensor<512x512x3x3xf32>, tensor<512x512x3x3xf32>) -> tensor<512x512x3x3xf32>
  %3 = train.mul %2, %1 : (tensor<512x512x3x3xf32>, tensor<512x512x3x3xf32>) -> tensor<512x512x3x3xf32>
  train.yield %3 : tensor<512x512x3x3xf32>
}

sched.kernel @short_filter {
^bb0(%x: tensor<2x3xf32>, %f: tensor<f32>):
  %0 = train.broadcast %f {dims = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
  %1 = train.constant dense<2.0> : tensor<2x3xf32>
  %2 = train.mul %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = train.mul %2, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  train.yield %3 : tensor<2x3xf32>
}

// Tests that columns of an input are read by one code wherever they begin; that
// what is read elsewhere too stays where it is.
// CHECK: func.func @first_columns(%[[X:.*]]: memref<8x6xf32>
// CHECK-SAME: sched.aliases = [{name = "other_columns", sched.buffers = array<i32: 0, 1>, sched.shifts = array<i64: 16, 0>, sched.signature = array<i64: 1, 192, 64>}]
// CHECK: memref.subview %[[X]][0, 0] [8, 2] [1, 1]
// CHECK-NOT: @other_columns
// CHECK: func.func @two_columns
// CHECK: memref.subview %{{.*}}[0, 4] [8, 2] [1, 1]
sched.kernel @first_columns {
^bb0(%x: tensor<8x6xf32>):
  %0 = train.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  %1 = train.exp %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  train.yield %1 : tensor<8x2xf32>
}
sched.kernel @other_columns {
^bb0(%x: tensor<8x6xf32>):
  %0 = train.slice %x {offsets = array<i64: 0, 4>, strides = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  %1 = train.exp %0 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  train.yield %1 : tensor<8x2xf32>
}
sched.kernel @two_columns {
^bb0(%x: tensor<8x6xf32>):
  %0 = train.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  %1 = train.slice %x {offsets = array<i64: 0, 4>, strides = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  %2 = train.add %0, %1 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  train.yield %2 : tensor<8x2xf32>
}

// Tests that a broadcast along some dims keeps these apart from the others, and
// that dims of size 1 which it repeats are dropped.
// CHECK: func.func @partly(%{{.*}}: memref<12x80xf32> {llvm.noalias}, %{{.*}}: memref<80xf32> {llvm.noalias}
sched.kernel @partly {
^bb0(%x: tensor<3x4x8x10xf32>, %b: tensor<1x8x10xf32>):
  %0 = train.broadcast %b {dims = array<i64: 1, 2, 3>} : (tensor<1x8x10xf32>) -> tensor<3x4x8x10xf32>
  %1 = train.add %x, %0 : (tensor<3x4x8x10xf32>, tensor<3x4x8x10xf32>) -> tensor<3x4x8x10xf32>
  train.yield %1 : tensor<3x4x8x10xf32>
}

// Tests that an argument that is spread in two ways stays as it is.
// CHECK: func.func @two_ways(%{{.*}}: memref<4x4x2xf32> {llvm.noalias}, %{{.*}}: memref<4xf32> {llvm.noalias}
sched.kernel @two_ways {
^bb0(%x: tensor<4x4x2xf32>, %b: tensor<4xf32>):
  %0 = train.broadcast %b {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x4x2xf32>
  %1 = train.broadcast %b {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<4x4x2xf32>
  %2 = train.add %0, %1 : (tensor<4x4x2xf32>, tensor<4x4x2xf32>) -> tensor<4x4x2xf32>
  %3 = train.add %2, %x : (tensor<4x4x2xf32>, tensor<4x4x2xf32>) -> tensor<4x4x2xf32>
  train.yield %3 : tensor<4x4x2xf32>
}

// CHECK: func.func @prime_rows(%{{.*}}: memref<1xf32>
sched.kernel @prime_rows {
^bb0(%x: tensor<16411x1x2xf32>):
  %0 = train.neg %x : (tensor<16411x1x2xf32>) -> tensor<16411x1x2xf32>
  train.yield %0 : tensor<16411x1x2xf32>
}

// Tests that tensors put one behind another are copied in long rows: all that
// lies side by side in an input is one. If there are few such rows, the dims
// behind the one that grows are one, so that threads find rows to share.
// CHECK: func.func @concatenation([[A:%[a-z0-9]+]]: memref<8x3136xf32> {{{[^}]*}}}, [[B:%[a-z0-9]+]]: memref<8x1568xf32> {{{[^}]*}}}, [[C:%[a-z0-9]+]]: memref<8x4704xf32>
// CHECK: memref.subview %{{.*}}[0, 3136] [2, 1568] [1, 1]
sched.kernel @concatenation {
^bb0(%a: tensor<8x64x7x7xf32>, %b: tensor<8x32x7x7xf32>):
  %0 = train.concat %a, %b {dim = 1 : i64} : (tensor<8x64x7x7xf32>, tensor<8x32x7x7xf32>) -> tensor<8x96x7x7xf32>
  train.yield %0 : tensor<8x96x7x7xf32>
}
// CHECK: func.func @few_rows([[A:%[a-z0-9]+]]: memref<2x64x49xf32> {{{[^}]*}}}, [[B:%[a-z0-9]+]]: memref<2x32x49xf32> {{{[^}]*}}}, [[C:%[a-z0-9]+]]: memref<2x96x49xf32>
sched.kernel @few_rows {
^bb0(%a: tensor<2x64x7x7xf32>, %b: tensor<2x32x7x7xf32>):
  %0 = train.concat %a, %b {dim = 1 : i64} : (tensor<2x64x7x7xf32>, tensor<2x32x7x7xf32>) -> tensor<2x96x7x7xf32>
  train.yield %0 : tensor<2x96x7x7xf32>
}
