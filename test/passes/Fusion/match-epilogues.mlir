// RUN: zc-opt %s --split-input-file --zc-annotate-target="device=cuda libraries=all,cublaslt.relu-bits,cublaslt.sums" --zc-form-regions --zc-select-library-calls --zc-match-epilogues | FileCheck %s
// RUN: zc-opt %s --split-input-file --zc-annotate-target=device=cuda --zc-form-regions --zc-select-library-calls --zc-match-epilogues=activations=false | FileCheck %s --check-prefix=LINEAR
// RUN: zc-opt %s --split-input-file --zc-annotate-target=device=cuda --zc-form-regions --zc-select-library-calls --zc-match-epilogues | FileCheck %s --check-prefix=EXACT

// Tests bias and the tanh form of GELU, whose operand the backward keeps, behind
// a product that is read as another shape; and a residual.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.*]]: tensor<32x16xbf16>, %[[W:.*]]: tensor<24x16xbf16>, %[[B:.*]]: tensor<24xbf16>, %[[R:.*]]: tensor<4x8x24xbf16>)
// CHECK: %[[Y:.*]]:2 = train.fused(%[[X]], %[[W]], %[[B]]) {joined = {epilogue = {activation = "gelu", auxiliary, bias}}, library = "cublaslt.matmul"
// CHECK: %[[P:.*]] = train.matmul
// CHECK: %[[V:.*]] = train.broadcast %{{.*}} {dims = array<i64: 1>} : (tensor<24xbf16>) -> tensor<32x24xbf16>
// CHECK: %[[S:.*]] = train.add %[[P]], %[[V]]
// CHECK: %[[G:.*]] = train.gelu %[[S]] {tanh}
// CHECK: train.yield %[[G]], %[[S]]
// CHECK: %[[M:.*]] = train.reshape %[[R]] : (tensor<4x8x24xbf16>) -> tensor<32x24xbf16>
// CHECK: train.fused(%[[X]], %[[W]], %[[M]], %[[B]]) {joined = {epilogue = {addend, bias}}, library = "cublaslt.matmul"
// CHECK-NOT: train.fused
// LINEAR-LABEL: func.func @forward
// LINEAR: joined = {epilogue = {bias}}
// LINEAR: train.fused
// LINEAR-NEXT: ^bb0
// LINEAR-NEXT: train.gelu
func.func @forward(%x: tensor<32x16xbf16>, %w: tensor<24x16xbf16>, %b: tensor<24xbf16>, %r: tensor<4x8x24xbf16>)
    -> (tensor<4x8x24xbf16>, tensor<4x8x24xbf16>, tensor<4x8x24xbf16>) {
  %p = train.matmul %x, %w {transpose_rhs} : (tensor<32x16xbf16>, tensor<24x16xbf16>) -> tensor<32x24xbf16>
  %v = train.reshape %p : (tensor<32x24xbf16>) -> tensor<4x8x24xbf16>
  %c = train.broadcast %b {dims = array<i64: 2>} : (tensor<24xbf16>) -> tensor<4x8x24xbf16>
  %s = train.add %v, %c : (tensor<4x8x24xbf16>, tensor<4x8x24xbf16>) -> tensor<4x8x24xbf16>
  %g = train.gelu %s {tanh} : (tensor<4x8x24xbf16>) -> tensor<4x8x24xbf16>
  %p2 = train.matmul %x, %w {transpose_rhs} : (tensor<32x16xbf16>, tensor<24x16xbf16>) -> tensor<32x24xbf16>
  %v2 = train.reshape %p2 : (tensor<32x24xbf16>) -> tensor<4x8x24xbf16>
  %s2 = train.add %v2, %c : (tensor<4x8x24xbf16>, tensor<4x8x24xbf16>) -> tensor<4x8x24xbf16>
  %t = train.add %r, %s2 : (tensor<4x8x24xbf16>, tensor<4x8x24xbf16>) -> tensor<4x8x24xbf16>
  return %g, %s, %t : tensor<4x8x24xbf16>, tensor<4x8x24xbf16>, tensor<4x8x24xbf16>
}

// -----

// Tests that of GELU by erf, and of GELU in float32, only the bias is taken, which
// leaves their operands in memory anyway.
// CHECK-LABEL: func.func @other_forms
// CHECK: %[[S:.*]] = train.fused({{.*}}joined = {epilogue = {bias}}
// CHECK: %[[G:.*]] = train.fused(%[[S]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: train.gelu %{{[^{]*}} : (tensor<32x24xf32>)
// CHECK: joined = {epilogue = {bias}}
// CHECK: train.gelu %{{.*}} {tanh} : (tensor<32x8xf32>)
// CHECK: joined = {epilogue = {activation = "relu", bias}}
func.func @other_forms(%x: tensor<32x16xf32>, %w: tensor<16x24xf32>, %b: tensor<24xf32>, %w2: tensor<16x8xf32>, %b2: tensor<8xf32>)
    -> (tensor<32x24xf32>, tensor<32x24xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>) {
  %p = train.matmul %x, %w : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
  %c = train.broadcast %b {dims = array<i64: 1>} : (tensor<24xf32>) -> tensor<32x24xf32>
  %s = train.add %p, %c : (tensor<32x24xf32>, tensor<32x24xf32>) -> tensor<32x24xf32>
  %g = train.gelu %s : (tensor<32x24xf32>) -> tensor<32x24xf32>
  %c2 = train.broadcast %b2 {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<32x8xf32>
  %p2 = train.matmul %x, %w2 : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %s2 = train.add %p2, %c2 : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %g2 = train.gelu %s2 {tanh} : (tensor<32x8xf32>) -> tensor<32x8xf32>
  %p3 = train.matmul %x, %w2 : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %s3 = train.add %p3, %c2 : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %r3 = train.relu %s3 : (tensor<32x8xf32>) -> tensor<32x8xf32>
  return %g, %s, %g2, %s2, %r3 : tensor<32x24xf32>, tensor<32x24xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>
}

// -----

// Tests the gradients: GELU's behind the product with the next weight, sums of
// what it gives with it, and sums of a factor of a weight's gradient.
// CHECK-LABEL: func.func @backward
// CHECK-SAME: (%[[D:.*]]: tensor<32x16xbf16>, %[[W:.*]]: tensor<16x24xbf16>, %[[S:.*]]: tensor<4x8x24xbf16>, %[[X:.*]]: tensor<32x8xbf16>
// CHECK: %[[M:.*]] = train.reshape %[[S]] : (tensor<4x8x24xbf16>) -> tensor<32x24xbf16>
// CHECK: %[[G:.*]]:2 = train.fused(%[[D]], %[[W]], %[[M]]) {gradients = array<i64: 1>, joined = {epilogue = {activation = "gelu_grad", auxiliary, sums = "columns"}}
// CHECK: %[[GRAD:.*]] = train.gelu_grad
// CHECK: %[[SUM:.*]] = train.reduce "sum" %[[GRAD]] {dims = array<i64: 0>} : (tensor<32x24xbf16>) -> tensor<24xf32>
// CHECK: %[[ROUND:.*]] = train.convert %[[SUM]]
// CHECK: train.yield %[[GRAD]], %[[ROUND]]
// CHECK: train.fused(%[[G]]#0, %[[X]]) {gradients = array<i64: 0>, library = "cublaslt.matmul"
// CHECK: train.fused(%[[D]], %[[X]]) {gradients = array<i64: 0, 1>, joined = {epilogue = {sums = "lhs"}}
// CHECK: train.fused(%[[X]], %[[D]]) {{{.*}}gradients = array<i64: 0>
// Nobody asked for the sums: they are kernels of their own.
// EXACT-LABEL: func.func @backward
// EXACT: joined = {epilogue = {activation = "gelu_grad", auxiliary}}
// EXACT-NOT: sums =
func.func @backward(%d: tensor<32x16xbf16>, %w: tensor<16x24xbf16>, %s: tensor<4x8x24xbf16>, %x: tensor<32x8xbf16>)
    -> (tensor<24xbf16>, tensor<24x8xbf16>, tensor<16x8xbf16>, tensor<16xbf16>, tensor<8x16xbf16>) {
  %p = train.matmul %d, %w : (tensor<32x16xbf16>, tensor<16x24xbf16>) -> tensor<32x24xbf16>
  %v = train.reshape %p : (tensor<32x24xbf16>) -> tensor<4x8x24xbf16>
  %g = train.gelu_grad %s, %v {tanh} : (tensor<4x8x24xbf16>, tensor<4x8x24xbf16>) -> tensor<4x8x24xbf16>
  %f = train.reduce "sum" %g {dims = array<i64: 0, 1>} : (tensor<4x8x24xbf16>) -> tensor<24xf32>
  %db = train.convert %f {train.gradients = array<i64: 0>} : (tensor<24xf32>) -> tensor<24xbf16>
  %g2 = train.reshape %g : (tensor<4x8x24xbf16>) -> tensor<32x24xbf16>
  %dw = train.matmul %g2, %x {transpose_lhs, train.gradients = array<i64: 0>} : (tensor<32x24xbf16>, tensor<32x8xbf16>) -> tensor<24x8xbf16>
  %d3 = train.reshape %d : (tensor<32x16xbf16>) -> tensor<4x8x16xbf16>
  %f2 = train.reduce "sum" %d3 {dims = array<i64: 0, 1>} : (tensor<4x8x16xbf16>) -> tensor<16xf32>
  %db2 = train.convert %f2 {train.gradients = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xbf16>
  %dw2 = train.matmul %d, %x {transpose_lhs, train.gradients = array<i64: 0>} : (tensor<32x16xbf16>, tensor<32x8xbf16>) -> tensor<16x8xbf16>
  %dw3 = train.matmul %x, %d {transpose_lhs, train.gradients = array<i64: 0>} : (tensor<32x8xbf16>, tensor<32x16xbf16>) -> tensor<8x16xbf16>
  return %db, %dw, %dw2, %db2, %dw3 : tensor<24xbf16>, tensor<24x8xbf16>, tensor<16x8xbf16>, tensor<16xbf16>, tensor<8x16xbf16>
}

// -----

// Tests that of a ReLU in float16 only the bias is taken.
// CHECK-LABEL: func.func @relu_of_halves
// CHECK: joined = {epilogue = {bias}}
// CHECK-NOT: "relu"
func.func @relu_of_halves(%x: tensor<16x16xf16>, %w: tensor<16x16xf16>, %b: tensor<16xf16>) -> (tensor<16x16xf16>, tensor<16x16xf16>) {
  %p = train.matmul %x, %w : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %c = train.broadcast %b {dims = array<i64: 1>} : (tensor<16xf16>) -> tensor<16x16xf16>
  %s = train.add %p, %c : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %r = train.relu %s : (tensor<16x16xf16>) -> tensor<16x16xf16>
  return %r, %s : tensor<16x16xf16>, tensor<16x16xf16>
}

// -----

// Tests that rows of 12 elements are not kept by the library.
// CHECK-LABEL: func.func @narrow_rows
// CHECK: joined = {epilogue = {bias}}
// CHECK: train.gelu %{{.*}} {tanh} : (tensor<32x12xbf16>)
func.func @narrow_rows(%x: tensor<32x16xbf16>, %w: tensor<16x12xbf16>, %b: tensor<12xbf16>) -> (tensor<32x12xbf16>, tensor<32x12xbf16>) {
  %p = train.matmul %x, %w : (tensor<32x16xbf16>, tensor<16x12xbf16>) -> tensor<32x12xbf16>
  %c = train.broadcast %b {dims = array<i64: 1>} : (tensor<12xbf16>) -> tensor<32x12xbf16>
  %s = train.add %p, %c : (tensor<32x12xbf16>, tensor<32x12xbf16>) -> tensor<32x12xbf16>
  %g = train.gelu %s {tanh} : (tensor<32x12xbf16>) -> tensor<32x12xbf16>
  return %g, %s : tensor<32x12xbf16>, tensor<32x12xbf16>
}

// -----

// Tests what stays: a product that others read too, a sum that is not rounded to
// the product's type, a bias of another dim.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: epilogue
func.func @left_alone(%x: tensor<16x16xbf16>, %w: tensor<16x16xbf16>, %b: tensor<16xbf16>)
    -> (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16xf32>, tensor<16x16xbf16>) {
  %p = train.matmul %x, %w : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %s = train.add %p, %x : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %q = train.matmul %p, %w {transpose_lhs} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %f = train.reduce "sum" %p {dims = array<i64: 0>} : (tensor<16x16xbf16>) -> tensor<16xf32>
  %c = train.broadcast %b {dims = array<i64: 0>} : (tensor<16xbf16>) -> tensor<16x16xbf16>
  %t = train.mul %q, %c : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  return %s, %t, %f, %q : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16xf32>, tensor<16x16xbf16>
}

// -----

// Tests that a ReLU leaves bits for its gradient, which is selected by them
// behind the product with the next weight; a second one reads the same bits.
// CHECK-LABEL: func.func @relu_gradient
// CHECK-SAME: (%[[X:.*]]: tensor<32x16xbf16>, %[[W:.*]]: tensor<16x128xbf16>, %[[B:.*]]: tensor<128xbf16>, %[[D:.*]]: tensor<32x16xbf16>)
// CHECK: %[[R:.*]]:2 = train.fused(%[[X]], %[[W]], %[[B]]) {joined = {epilogue = {activation = "relu", auxiliary, bias}}, library = "cublaslt.matmul"{{.*}} -> (tensor<32x128xbf16>, tensor<32x16xi8>)
// CHECK: %[[RELU:.*]] = train.relu
// CHECK: %[[ABOVE:.*]] = train.compare "ge" %{{.*}}, %
// CHECK: %[[BITS:.*]] = train.pack_bits %[[ABOVE]] {dim = 1 : i64}
// CHECK: train.yield %[[RELU]], %[[BITS]]
// CHECK: train.fused(%[[D]], %[[W]], %[[R]]#1) {joined = {epilogue = {activation = "relu_grad", auxiliary, sums = "columns"}}, library = "cublaslt.matmul"
// CHECK: %[[P:.*]] = train.matmul
// CHECK: %[[SET:.*]] = train.unpack_bits %{{.*}} {dim = 1 : i64} : (tensor<32x16xi8>) -> tensor<32x128xi1>
// CHECK: %[[G:.*]] = train.select %[[SET]], %[[P]], %
// CHECK: train.reduce "sum" %[[G]]
// CHECK: train.fused(%[[D]], %[[W]], %[[R]]#1) {joined = {epilogue = {activation = "relu_grad", auxiliary}}, library = "cublaslt.matmul"
// EXACT-NOT: "relu_grad"
// LINEAR-LABEL: func.func @relu_gradient
// LINEAR-NOT: "relu_grad"
// LINEAR-NOT: pack_bits
func.func @relu_gradient(%x: tensor<32x16xbf16>, %w: tensor<16x128xbf16>, %b: tensor<128xbf16>, %d: tensor<32x16xbf16>)
    -> (tensor<4x8x128xbf16>, tensor<4x8x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>) {
  %zero = train.constant dense<0.0> : tensor<4x8x128xbf16>
  %zero2 = train.constant dense<0.0> : tensor<32x128xbf16>
  %p = train.matmul %x, %w : (tensor<32x16xbf16>, tensor<16x128xbf16>) -> tensor<32x128xbf16>
  %c = train.broadcast %b {dims = array<i64: 1>} : (tensor<128xbf16>) -> tensor<32x128xbf16>
  %s = train.add %p, %c : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xbf16>
  %r = train.relu %s : (tensor<32x128xbf16>) -> tensor<32x128xbf16>
  %v = train.reshape %r : (tensor<32x128xbf16>) -> tensor<4x8x128xbf16>
  %q = train.matmul %d, %w : (tensor<32x16xbf16>, tensor<16x128xbf16>) -> tensor<32x128xbf16>
  %q3 = train.reshape %q : (tensor<32x128xbf16>) -> tensor<4x8x128xbf16>
  %a = train.compare "gt" %v, %zero : (tensor<4x8x128xbf16>, tensor<4x8x128xbf16>) -> tensor<4x8x128xi1>
  %g = train.select %a, %q3, %zero : (tensor<4x8x128xi1>, tensor<4x8x128xbf16>, tensor<4x8x128xbf16>) -> tensor<4x8x128xbf16>
  %f = train.reduce "sum" %g {dims = array<i64: 0, 1>} : (tensor<4x8x128xbf16>) -> tensor<128xf32>
  %db = train.convert %f : (tensor<128xf32>) -> tensor<128xbf16>
  %q2 = train.matmul %d, %w : (tensor<32x16xbf16>, tensor<16x128xbf16>) -> tensor<32x128xbf16>
  %a2 = train.compare "gt" %r, %zero2 : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xi1>
  %g2 = train.select %a2, %q2, %zero2 : (tensor<32x128xi1>, tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xbf16>
  return %v, %g, %db, %g2 : tensor<4x8x128xbf16>, tensor<4x8x128xbf16>, tensor<128xbf16>, tensor<32x128xbf16>
}

// -----

// Tests ReLUs whose bits the library does not have: of rows of 64 elements, of
// no product; and a gradient where the other side is selected.
// CHECK-LABEL: func.func @relus_without_bits
// CHECK: joined = {epilogue = {activation = "relu"}}
// CHECK-NOT: "relu_grad"
func.func @relus_without_bits(%x: tensor<32x16xbf16>, %w: tensor<16x64xbf16>, %y: tensor<32x128xbf16>, %w2: tensor<16x128xbf16>)
    -> (tensor<32x64xbf16>, tensor<32x64xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>) {
  %zero = train.constant dense<0.0> : tensor<32x64xbf16>
  %zero2 = train.constant dense<0.0> : tensor<32x128xbf16>
  %p = train.matmul %x, %w : (tensor<32x16xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
  %r = train.relu %p : (tensor<32x64xbf16>) -> tensor<32x64xbf16>
  %n = train.matmul %r, %w {transpose_rhs} : (tensor<32x64xbf16>, tensor<16x64xbf16>) -> tensor<32x16xbf16>
  %q = train.matmul %n, %w : (tensor<32x16xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
  %a = train.compare "gt" %r, %zero : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<32x64xi1>
  %g = train.select %a, %q, %zero : (tensor<32x64xi1>, tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
  %r2 = train.relu %y : (tensor<32x128xbf16>) -> tensor<32x128xbf16>
  %n2 = train.matmul %r2, %w2 {transpose_rhs} : (tensor<32x128xbf16>, tensor<16x128xbf16>) -> tensor<32x16xbf16>
  %q2 = train.matmul %n2, %w2 : (tensor<32x16xbf16>, tensor<16x128xbf16>) -> tensor<32x128xbf16>
  %a2 = train.compare "gt" %r2, %zero2 : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xi1>
  %g2 = train.select %a2, %q2, %zero2 : (tensor<32x128xi1>, tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xbf16>
  %p3 = train.matmul %x, %w2 : (tensor<32x16xbf16>, tensor<16x128xbf16>) -> tensor<32x128xbf16>
  %r3 = train.relu %p3 : (tensor<32x128xbf16>) -> tensor<32x128xbf16>
  %n3 = train.matmul %r3, %w2 {transpose_rhs} : (tensor<32x128xbf16>, tensor<16x128xbf16>) -> tensor<32x16xbf16>
  %q3 = train.matmul %n3, %w2 : (tensor<32x16xbf16>, tensor<16x128xbf16>) -> tensor<32x128xbf16>
  %a3 = train.compare "gt" %r3, %zero2 : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xi1>
  %g3 = train.select %a3, %zero2, %q3 : (tensor<32x128xi1>, tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<32x128xbf16>
  return %r, %g, %g2, %g3 : tensor<32x64xbf16>, tensor<32x64xbf16>, tensor<32x128xbf16>, tensor<32x128xbf16>
}
