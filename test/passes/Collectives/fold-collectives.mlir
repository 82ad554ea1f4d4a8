// RUN: zc-opt %s --zc-fold-collectives --zc-verify-sharding | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  // Tests that of a sum only the part is made that somebody reads, with what was
  // said of the sum.
  // CHECK-LABEL: func.func @scatter
  // CHECK-NEXT: %[[PART:.*]] = dist.reduce_scatter %arg0 {axes = ["dp"], dim = 1 : i64, dist.results = [#dist.sharding<_,dp>], traffic = "gradients", train.gradients = array<i64: 0>}
  // CHECK-NEXT: return %[[PART]]
  func.func @scatter(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_ unreduced dp>})
      -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<_,dp>}) {
    %0 = dist.all_reduce %x {axes = ["dp"], traffic = "gradients", train.gradients = array<i64: 0>, dist.results = [#dist.sharding<_,_>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dist.slice %0 {axes = ["dp"], dim = 1 : i64, dist.results = [#dist.sharding<_,dp>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }

  // Tests that a sum that somebody reads whole stays.
  // CHECK-LABEL: func.func @both
  // CHECK-NEXT: dist.all_reduce
  // CHECK-NEXT: dist.slice
  func.func @both(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_ unreduced dp>})
      -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<_,_>}, tensor<4x8xf32> {dist.sharding = #dist.sharding<_,dp>}) {
    %0 = dist.all_reduce %x {axes = ["dp"], traffic = "gradients", dist.results = [#dist.sharding<_,_>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dist.slice %0 {axes = ["dp"], dim = 1 : i64, dist.results = [#dist.sharding<_,dp>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  }

  // Tests that a sum of parts that are gathered is one sum.
  // CHECK-LABEL: func.func @gather
  // CHECK-NEXT: dist.all_reduce %arg0 {axes = ["tp"], dist.results = [#dist.sharding<_>], traffic = "activations"}
  // CHECK-NEXT: return
  func.func @gather(%x: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>})
      -> (tensor<8xf32> {dist.sharding = #dist.sharding<_>}) {
    %0 = dist.reduce_scatter %x {axes = ["tp"], dim = 0 : i64, traffic = "activations", dist.results = [#dist.sharding<tp>]} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.all_gather %0 {axes = ["tp"], dim = 0 : i64, traffic = "activations", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }

  // Tests that what goes there and back does not go.
  // CHECK-LABEL: func.func @back
  // CHECK-NEXT: return %arg0, %arg1
  func.func @back(%x: tensor<8xf32> {dist.sharding = #dist.sharding<tp>}, %y: tensor<8xf32>)
      -> (tensor<8xf32> {dist.sharding = #dist.sharding<tp>}, tensor<8xf32> {dist.sharding = #dist.sharding<_>}) {
    %0 = dist.all_gather %x {axes = ["tp"], dim = 0 : i64, traffic = "activations", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.slice %0 {axes = ["tp"], dim = 0 : i64, dist.results = [#dist.sharding<tp>]} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = dist.slice %y {axes = ["dp"], dim = 0 : i64, dist.results = [#dist.sharding<dp>]} : (tensor<8xf32>) -> tensor<8xf32>
    %3 = dist.all_gather %2 {axes = ["dp"], dim = 0 : i64, traffic = "activations", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %3 : tensor<8xf32>, tensor<8xf32>
  }

  // Tests that sums along two axes are one.
  // CHECK-LABEL: func.func @axes
  // CHECK-NEXT: dist.all_reduce %arg0 {axes = ["tp", "dp"], dist.results = [#dist.sharding<>], traffic = "scalars"}
  // CHECK-NEXT: return
  func.func @axes(%x: tensor<f32> {dist.sharding = #dist.sharding<unreduced dp+tp>})
      -> (tensor<f32> {dist.sharding = #dist.sharding<>}) {
    %0 = dist.all_reduce %x {axes = ["tp"], traffic = "scalars", dist.results = [#dist.sharding<unreduced dp>]} : (tensor<f32>) -> tensor<f32>
    %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "scalars", dist.results = [#dist.sharding<>]} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }

  // Tests that three terms of an input's gradient are added up, then reduced
  // once.
  // CHECK-LABEL: func.func @terms
  // CHECK-NEXT: %[[TWO:.*]] = train.add %arg0, %arg1 {dist.operands = [#dist.sharding<_ unreduced tp>, #dist.sharding<_ unreduced tp>], dist.results = [#dist.sharding<_ unreduced tp>]}
  // CHECK-NEXT: %[[THREE:.*]] = train.add %[[TWO]], %arg2
  // CHECK-NEXT: %[[SUM:.*]] = dist.all_reduce %[[THREE]]
  // CHECK-NEXT: return %[[SUM]]
  func.func @terms(%q: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>},
                   %k: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>},
                   %v: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>})
      -> (tensor<8xf32> {dist.sharding = #dist.sharding<_>}) {
    %0 = dist.all_reduce %q {axes = ["tp"], traffic = "activations", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.all_reduce %k {axes = ["tp"], traffic = "activations", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = dist.all_reduce %v {axes = ["tp"], traffic = "activations", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %3 = train.add %0, %1 {dist.operands = [#dist.sharding<_>, #dist.sharding<_>], dist.results = [#dist.sharding<_>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %4 = train.add %3, %2 {dist.operands = [#dist.sharding<_>, #dist.sharding<_>], dist.results = [#dist.sharding<_>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %4 : tensor<8xf32>
  }

  // Tests that a sum that is to stay whole does, though one part of it is read.
  // CHECK-LABEL: func.func @whole
  // CHECK-NEXT: %[[SUM:.*]] = dist.all_reduce %arg0 {{.*}}stays_whole
  // CHECK-NEXT: dist.slice %[[SUM]]
  func.func @whole(%x: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced dp>})
      -> (tensor<8xf32> {dist.sharding = #dist.sharding<dp>}) {
    %0 = dist.all_reduce %x {axes = ["dp"], stays_whole, traffic = "gradients", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.slice %0 {axes = ["dp"], dim = 0 : i64, dist.results = [#dist.sharding<dp>]} : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }

  // Tests that one sum in place of two stays whole where the first does.
  // CHECK-LABEL: func.func @whole_axes
  // CHECK-NEXT: dist.all_reduce %arg0 {axes = ["tp", "dp"], {{.*}}stays_whole
  // CHECK-NEXT: return
  func.func @whole_axes(%x: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced dp+tp>})
      -> (tensor<8xf32> {dist.sharding = #dist.sharding<_>}) {
    %0 = dist.all_reduce %x {axes = ["tp"], stays_whole, traffic = "gradients", dist.results = [#dist.sharding<_ unreduced dp>]} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.all_reduce %0 {axes = ["dp"], traffic = "gradients", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }

  // Tests that a sum of terms stays whole where one of the sums does, whichever
  // that is.
  // CHECK-LABEL: func.func @whole_terms
  // CHECK: train.add %arg0, %arg1
  // CHECK-NEXT: dist.all_reduce {{.*}}stays_whole
  // CHECK: train.add %arg2, %arg3
  // CHECK-NEXT: dist.all_reduce {{.*}}stays_whole
  func.func @whole_terms(%a: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>},
                         %b: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>},
                         %c: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>},
                         %d: tensor<8xf32> {dist.sharding = #dist.sharding<_ unreduced tp>})
      -> (tensor<8xf32> {dist.sharding = #dist.sharding<_>}, tensor<8xf32> {dist.sharding = #dist.sharding<_>}) {
    %0 = dist.all_reduce %a {axes = ["tp"], stays_whole, traffic = "gradients", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.all_reduce %b {axes = ["tp"], traffic = "gradients", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = train.add %0, %1 {dist.operands = [#dist.sharding<_>, #dist.sharding<_>], dist.results = [#dist.sharding<_>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %3 = dist.all_reduce %c {axes = ["tp"], traffic = "gradients", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %4 = dist.all_reduce %d {axes = ["tp"], stays_whole, traffic = "gradients", dist.results = [#dist.sharding<_>]} : (tensor<8xf32>) -> tensor<8xf32>
    %5 = train.add %3, %4 {dist.operands = [#dist.sharding<_>, #dist.sharding<_>], dist.results = [#dist.sharding<_>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %2, %5 : tensor<8xf32>, tensor<8xf32>
  }
}
